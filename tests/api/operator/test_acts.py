"""Whoever reads the log sees each act in a line of its own: who, which request, how it ended, how long it took."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any, Self

import pytest
from pydantic import BaseModel

from app.telemetry import logs
from app.telemetry.logs import _ActFormatter, hide_secrets_of, log_acts  # pyright: ignore[reportPrivateUsage] - the lines as they are written
from tests.fixtures.specs import a_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.gateway import Gateway


class Lines(logging.Handler):
    """What was logged of acts, as JSON."""

    def __init__(self, log_format: str = "json") -> None:
        super().__init__()
        self.setFormatter(_ActFormatter(log_format))
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.extend(self.format(record).splitlines())

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.said) if line["event"] == event]

    def __enter__(self) -> Self:
        acts = logging.getLogger("assent.acts")
        self.before = acts.handlers, acts.level, acts.propagate
        acts.handlers, acts.propagate = [self], False
        acts.setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        acts = logging.getLogger("assent.acts")
        acts.handlers, acts.propagate = self.before[0], self.before[2]
        acts.setLevel(self.before[1])


@pytest.fixture
def lines() -> Iterator[Lines]:
    with Lines() as kept:
        yield kept


async def test_each_act_of_a_requests_life_is_a_line_with_who_which_and_how_long(
    gateway: Gateway, lines: Lines
) -> None:
    request = await gateway.ask()
    await gateway.press(request, "U_NOBODY")
    await gateway.press(request)
    await gateway.claim(request)
    await gateway.report(request)
    await gateway.quiet()

    told = {
        (line["event"], line.get("actor"))
        for line in map(json.loads, lines.said)
        if line.get("request") == request["id"]
    }
    assert told >= {
        ("request.created", "agent:shop"),
        ("click.refused", "account:U_NOBODY"),
        ("request.approved", "alice@acme.example"),
        ("grant.claimed", "agent:shop"),
        ("execution.succeeded", "agent:shop"),
    }
    (refused,) = lines.of("click.refused")
    assert refused["channel"] == "chat"
    assert refused["why"] == "unmapped"
    calls = {line["route"]: line for line in lines.of("call.answered")}
    claim = calls["/v1/requests/{request_id}/claim"]
    assert (claim["actor"], claim["org"], claim["request"], claim["status"]) == (
        "agent:shop",
        "acme",
        request["id"],
        200,
    )
    assert claim["ms"] > 0
    assert "/v1/requests" in calls
    assert all("DE0" not in line for line in lines.said), "no argument of a call"


async def test_a_call_keeps_its_name_and_its_trace_and_gets_one_where_it_has_none(
    gateway: Gateway, lines: Lines
) -> None:
    agent = await gateway.key("agent:shop")
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    named = {"x-request-id": "run-7.step:2", "traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    kept = await gateway.http.post("/v1/requests/req_x/cancel", headers={**agent, **named}, json={})
    assert kept.headers["x-request-id"] == "run-7.step:2"
    await asyncio.sleep(0)  # answers of one turn of the loop are logged together
    assert [(line["call"], line["trace"]) for line in lines.of("call.answered")] == [("run-7.step:2", trace)]

    bad = {"x-request-id": "a b\t" + "x" * 100, "traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}
    given = await gateway.http.post("/v1/requests/req_x/cancel", headers={**agent, **bad}, json={})
    other = await gateway.http.post("/v1/requests/req_x/cancel", headers=agent, json={})
    await asyncio.sleep(0)
    assert given.headers["x-request-id"].startswith("call_")
    assert given.headers["x-request-id"] != other.headers["x-request-id"]
    assert "trace" not in lines.of("call.answered")[-1]


@pytest.mark.parametrize(
    "hostile", ["a\nforged", "a b", "\x1b[2J", "x" * 500, "sk-ant-" + "a1B2" * 8, "", "ключ\u202e"]
)
def test_what_is_no_plain_word_or_looks_like_a_secret_is_left_out(lines: Lines, hostile: str) -> None:
    log_acts([("call.answered", {"actor": hostile, "status": 200})])
    (line,) = lines.of("call.answered")
    assert "actor" not in line
    assert line["status"] == 200


def test_on_a_console_a_line_has_the_same_facts() -> None:
    with Lines("console") as lines:
        log_acts([("call.answered", {"actor": "agent:shop", "request": None, "ms": 1.5})])
    (line,) = lines.said
    assert line.endswith("[info     ] call.answered" + " " * 18 + "actor=agent:shop ms=1.5")


def test_a_word_that_was_said_is_left_out_once_a_platform_calls_it_a_secret(lines: Lines) -> None:
    log_acts([("call.answered", {"actor": "magpie-4711"})])
    hide_secrets_of([a_spec("magpie", BaseModel, secret_shapes=(r"magpie-\d+",))])
    log_acts([("call.answered", {"actor": "magpie-4711"})])
    before, after = lines.of("call.answered")
    assert before["actor"] == "magpie-4711"
    assert "actor" not in after


def test_no_more_than_so_many_words_are_kept_for_plain(lines: Lines) -> None:
    log_acts([("call.answered", {"actor": f"agent:{each}"}) for each in range(5000)])
    assert len(lines.of("call.answered")) == 5000
    assert 0 < len(logs._plain) <= 4096


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_the_instant_of_a_line_has_microseconds_even_where_there_are_none(
    log_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs.time, "time", lambda: 1_772_359_200.0)
    with Lines(log_format) as lines:
        log_acts([("call.answered", {"status": 200})])
    (line,) = lines.said
    assert "2026-03-01T10:00:00.000000Z" in line
