"""The audit log: one record a call, provable and unreadable."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.ready.audit_log import REQUEST_ID, AuditLog, AuditLogFailure, digest
from tests.sdk.ready.moments import after, failed

if TYPE_CHECKING:
    from pathlib import Path

WHOSE = {"org": "acme", "agent": "shop", "session": "s-1", "user": "wang@acme.example"}
ARGS = {"payee": "Acme Ltd", "amount": 80000, "password": "letmein"}
SAFE = st.integers(-(2**53) + 1, 2**53 - 1)
VALUES = st.recursive(
    st.none() | st.booleans() | SAFE | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


async def test_a_call_is_one_record_with_digests_and_its_request() -> None:
    records: list[Any] = []
    hook = AuditLog(sink=records.append)
    ctx = after({"ref": 7}, args=ARGS, call_id="toolu_1", called_as="Read", duration=0.25, request_id="req_1", **WHOSE)
    assert await hook.execute(ctx) is None
    assert records == [
        {
            **WHOSE,
            "time": "2026-03-01T12:00:00+00:00",
            "tool": "read",
            "called_as": "Read",
            "call_id": "toolu_1",
            "outcome": "succeeded",
            "duration": 0.25,
            "args_sha256": hashlib.sha256(rfc8785.dumps(ARGS)).hexdigest(),
            "result_sha256": hashlib.sha256(b'{"ref":7}').hexdigest(),
            "request_id": "req_1",
        }
    ]


async def test_the_request_is_also_found_in_the_turns_bag() -> None:
    records: list[Any] = []
    await AuditLog(sink=records.append).execute(after("ok", metadata={REQUEST_ID: "req_2"}))
    await AuditLog(sink=records.append).execute(after("ok"))
    assert [record["request_id"] for record in records] == ["req_2", None]


async def test_a_failed_call_is_recorded_in_the_same_place_without_its_secrets() -> None:
    records: list[Any] = []
    hook = AuditLog(sink=records.append).sibling
    assert hook is not None
    await hook.execute(failed("login failed: password=hunter2!", args=ARGS))
    assert records[0]["outcome"] == "failed"
    assert records[0]["error"] == "login failed: password=[redacted: secret value]"
    assert "args" not in records[0]


async def test_arguments_are_recorded_only_on_demand_and_redacted() -> None:
    records: list[Any] = []
    odd = {**ARGS, "when": {"a", "b"} & {"a"}, "iban": "DE02"}
    await AuditLog(sink=records.append, arguments=True, fields=["iban"]).execute(after("ok", args=odd))
    assert records[0]["args"] == {
        "payee": "Acme Ltd",
        "amount": 80000,
        "password": "[redacted: secret value]",
        "when": "{'a'}",
        "iban": "[redacted: field iban]",
    }


@pytest.fixture
def filed(tmp_path: Path) -> AuditLog:
    """A log in a file; made before the loop runs, for the folder is looked at."""
    return AuditLog(path=str(tmp_path / "calls.jsonl"))


@pytest.fixture
def filed_failures(filed: AuditLog) -> AuditLogFailure:
    """Its sibling."""
    assert isinstance(filed.sibling, AuditLogFailure)
    return filed.sibling


async def test_records_are_appended_to_a_file_a_line_each_however_many_come_at_once(
    filed: AuditLog, filed_failures: AuditLogFailure, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(filed.execute, after("x" * 5000, call_id=f"c-{number}", cwd="第一行\n"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["call_id"] for line in lines} == {f"c-{number}" for number in range(50)}
    assert path.stat().st_mode & 0o777 == 0o600
    await filed_failures.execute(failed("late"))
    assert len(path.read_text().splitlines()) == 51


async def test_without_a_place_of_its_own_it_goes_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "assent.audit"):
        await AuditLog().execute(after("two\nlines", call_id="c\n1"))
    (record,) = caplog.records
    assert record.name == "assent.audit"
    assert json.loads(record.message)["call_id"] == "c\n1"
    assert "\n" not in record.message


async def test_a_sink_may_be_asynchronous() -> None:
    records: list[Any] = []

    async def sink(record: Any) -> None:
        await anyio.lowlevel.checkpoint()
        records.append(record)

    await AuditLog(sink=sink).execute(after("ok"))
    assert len(records) == 1


async def test_a_sink_that_fails_does_not_keep_the_result_from_the_model() -> None:
    def broken(record: Any) -> None:
        raise OSError("disk full")

    registry = HookRegistry()
    registry.add(AuditLog(sink=broken))
    outcome = await run_chain(registry.get("PostToolUse", tool="read"), after("the result"))
    assert outcome.decision is Decision.ALLOW
    assert outcome.result == "the result"
    assert any("disk full" in str(event) for event in outcome.trace)


@given(VALUES)
def test_a_digest_is_that_of_the_canonical_form(value: Any) -> None:
    assert digest(value) == hashlib.sha256(rfc8785.dumps(value)).hexdigest()


@pytest.mark.parametrize(
    "number",
    [-0.0, 1e-5, 1e-6, 1.5e-6, 1.234e-6, 1e-7, 1.25e-7, 0.5, 100.0, 1e20, 1.5e20, 1e21, 1.25e21, 5e-324, 1.7e308, -2.5],
)
def test_a_number_stands_in_a_digest_as_the_standard_writes_it(number: float) -> None:
    assert digest(number) == hashlib.sha256(rfc8785.dumps(number)).hexdigest()


def test_a_digest_is_had_of_anything() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    for value in (Odd(), {"\ud800": "\udfff"}, float("nan"), float("inf"), 10**400, {1: 2}, b"x", deep, circle):
        assert len(digest(value)) == 64
    assert digest({"a": 1, "b": 2.0}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"path": "/nowhere/at/all/calls.jsonl"},
            "path: '/nowhere/at/all/calls.jsonl' is no file in an existing folder",
        ),
        ({"path": "/tmp"}, "path: '/tmp' is no file"),
        ({"path": "calls.jsonl", "sink": print}, "path, sink: give one"),
        ({"arguments": "redacted"}, "arguments: give true or false"),
        ({"fields": "iban"}, "fields: give a list"),
    ],
)
def test_a_bad_option_is_named_with_its_mend(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AuditLog(**options)
