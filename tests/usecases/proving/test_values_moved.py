"""An encrypted value opens only where it was put, under a key that still stands; what does not open runs nothing."""

from __future__ import annotations

import asyncio
from asyncio import to_thread
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from app.domain.errors import ConflictError
from app.storage.tables.request_columns import EXECUTION, REQUEST
from app.usecases.proving.destroy_values import DestroyValues
from app.usecases.proving.verify_trail import VerifyTrail
from tests.fixtures.editing import EDITING
from tests.fixtures.gateway import SECRET, open_gateway
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement
from tests.storage.rig import open_store
from tests.usecases.proving.test_values_at_rest import lived

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

NEW = "another-master-secret-of-the-tests-0123456789"


def _value(s: Stranger, of: str, column: str = "arguments") -> str:
    return s.ask(f"SELECT {column} AS v FROM requests WHERE id = '{of}'")[0]["v"]


def _put(s: Stranger, of: str, value: str, column: str = "arguments") -> None:
    s(f"UPDATE requests SET {column} = '{value}' WHERE id = '{of}'")


def _from_another_row(s: Stranger, of: str, other: str, _: str) -> None:
    _put(s, of, _value(s, other))


def _from_another_column(s: Stranger, of: str, _: str, __: str) -> None:
    _put(s, of, _value(s, of, "title"))


def _from_another_org(s: Stranger, of: str, _: str, strange: str) -> None:
    _put(s, of, _value(s, strange))


def _under_another_number(s: Stranger, of: str, _: str, __: str) -> None:
    """Make an older number of the present key: a copy of it, so that the number alone differs."""
    row = s.ask("SELECT * FROM value_keys WHERE org = 'acme'")[0]
    s.add("value_keys", **{**row, "number": row["number"] + 1})
    _put(s, of, _value(s, of).replace("e1.1.", "e1.2.", 1))


def _under_no_number(s: Stranger, of: str, _: str, __: str) -> None:
    _put(s, of, _value(s, of).replace("e1.1.", "e1.7.", 1))


def _with_a_flipped_bit(s: Stranger, of: str, _: str, __: str) -> None:
    value = _value(s, of)
    _put(s, of, value[:20] + ("A" if value[20] != "A" else "B") + value[21:])


def _shortened(s: Stranger, of: str, _: str, __: str) -> None:
    _put(s, of, _value(s, of)[:40])


@requirement("S-38")
@pytest.mark.parametrize(
    "edit",
    [
        _from_another_row, _from_another_column, _from_another_org, _under_another_number, _under_no_number,
        _with_a_flipped_bit, _shortened,
    ],
    ids=lambda edit: edit.__name__,
)  # fmt: skip
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_a_value_that_was_moved_or_changed_is_refused_and_alarmed_and_no_list_fails(
    database_url: str, config: Path, platform: MemoryPlatform, edit: Callable[[Stranger, str, str, str], None]
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request, other = [await g.ask("by_api", {"n": n, "account": "DE02"}) for n in (1, 2)]
        strange = await g.ask("any", {"n": 1, "account": "DE02"}, org="globex")
        for each in (request, other):
            assert (await g.decide(each)).status_code == 200
        stranger = await to_thread(Stranger, g)
        await to_thread(edit, stranger, request["id"], other["id"], strange["id"])
        keys = dict(g.keys)
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform) as g:
            g.keys |= keys
            for _ in range(2):
                refused = await g.claim(request)
                assert (refused.status_code, refused.json()["code"]) == (409, "unsealed")
            listed = (await g.call("GET", "/v1/requests")).json()
            shown = {each["id"]: each["arguments"] for each in listed["items"]}
            assert shown == {request["id"]: {"": "unreadable"}, other["id"]: {"n": 2, "account": "DE02"}}
            told = f"SELECT facts FROM audit_events WHERE kind = 'request.forged' AND request_id = '{request['id']}'"
            assert ["cannot be read" in row["facts"] for row in g.rows(told)] == [True], "it is said once, and why"
            said = await VerifyTrail(store=g.container.store, head_file=None)("acme")
            assert [fault for fault in said.faults if request["id"] in fault.text], said.faults
            assert (await g.claim(other, claim_id="claim-2")).json()["arguments"] == other["arguments"]
    alarms = {(line["event"], line["request"]) for line in logs if line["log_level"] == "critical"}
    assert alarms == {("value.unreadable", request["id"]), ("request.forged", request["id"])}


@requirement("S-38")
async def test_whatever_cannot_be_read_fails_no_view_and_no_list(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    (config / "acme.yaml").write_text(EDITING, encoding="utf-8")
    async with open_gateway(database_url, config, platform) as g:
        requests = await lived(g)
        keys = dict(g.keys)
        stranger = await to_thread(Stranger, g)
        flipped: set[str] = set()
        for table, columns in (("requests", REQUEST), ("executions", EXECUTION)):
            for name in columns.hidden:
                text = f"{name} || 'AAAA'"  # another length: what was encrypted is another text
                stranger(f"UPDATE {table} SET {name} = {text} WHERE {name} LIKE 'e1.%'")
                rows = stranger.ask(f"SELECT id FROM {table} WHERE {name} LIKE 'e1.%'")
                flipped |= {name} if rows else set()
        assert flipped >= {"arguments", "title", "claim", "proposed", "questions", "result", "error"}
    async with open_gateway(database_url, config, platform) as g:
        g.keys |= keys
        listed = await g.call("GET", "/v1/requests")
        assert {each["id"] for each in listed.json()["items"]} == {each["id"] for each in requests}
        for request in requests:
            for who in ("agent:shop", "alice@acme.example", "auditor"):
                seen = await g.call("GET", f"/v1/requests/{request['id']}", who=who)
                assert (seen.status_code, seen.json()["arguments"]) == (200, {"": "unreadable"})


async def _whole(g: Gateway, name: str, n: int) -> dict[str, Any]:
    request = await g.ask("by_api", {"n": n, "of": name})
    assert (await g.decide(request)).status_code == 200
    claimed = await g.claim(request)
    assert claimed.json()["arguments"] == {"n": n, "of": name}
    assert (await g.report(request, result={"of": name})).status_code == 200
    return request


@requirement("S-38")
async def test_the_secret_is_rotated_under_load_and_no_value_is_touched(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    done: list[dict[str, Any]] = []
    over = asyncio.Event()

    async def load(g: Gateway) -> None:
        while not over.is_set() or len(done) < 6:
            done.append(await _whole(g, "old", len(done)))

    async def rotated() -> None:
        async with open_gateway(database_url, config, platform, secret=f"{NEW},{SECRET}") as newer:
            newer.keys |= keys
            done.extend([await _whole(newer, "new", n) for n in range(5)])

    async with open_gateway(database_url, config, platform, secret=f"{SECRET},{NEW}") as g:
        first = await _whole(g, "before", 0)
        keys = dict(g.keys)
        kept = g.rows("SELECT id, arguments FROM requests")
        under_load = asyncio.ensure_future(load(g))
        try:
            if not database_url.startswith("sqlite"):  # one process writes there: the next one begins when it has ended
                await rotated()
        finally:
            over.set()
            await under_load
    if database_url.startswith("sqlite"):
        await rotated()
    with capture_logs() as logs:
        async with open_gateway(database_url, config, platform, secret=NEW) as g:
            found = {row["id"]: row["arguments"] for row in g.rows("SELECT id, arguments FROM requests")}
            assert [found[row["id"]] for row in kept] == [row["arguments"] for row in kept], (
                "the values are as they were"
            )
            for request in [first, *done]:
                seen = await g.container.read.get("acme", request["id"], agent=None)
                assert seen.call.arguments == request["arguments"]
    assert not [line for line in logs if line["event"] in {"value.unreadable", "request.forged"}]


@requirement("S-38")
async def test_destroyed_values_are_read_by_nobody_and_the_trail_is_unbroken(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        request = await _whole(g, "gone", 1)
        strange = await g.ask("any", {"n": 1}, org="globex")
        waits = await g.ask("by_api", {"n": 2})
        destroy = DestroyValues(store=g.container.store)
        with pytest.raises(ConflictError, match="1 request is open"):
            await destroy("acme", by="olga@acme.example", reason="they left")
        await g.decide(waits, "deny")
        assert await destroy("acme", by="olga@acme.example", reason="they left") == [1]
        await g.container.seal_standing.refresh("acme")
        with capture_logs() as logs:
            seen = await g.read(request)
            listed = (await g.call("GET", "/v1/requests")).json()["items"]
        assert (seen["arguments"], seen["state"]) == ({"": "unreadable"}, "succeeded")
        assert len(listed) == 2
        assert not [line for line in logs if line["log_level"] == "critical"], "it is no alarm"
        assert (await g.read(strange, org="globex"))["arguments"] == {"n": 1}
        said = await VerifyTrail(store=g.container.store, head_file=None)("acme")
        assert said.faults == ()
        later = await _whole(g, "later", 3)
        keys = dict(g.keys)
    async with open_gateway(database_url, config, platform) as g:
        g.keys |= keys
        assert (await g.read(later))["arguments"] == later["arguments"]
        assert (await g.read(request))["arguments"] == {"": "unreadable"}
        assert g.rows("SELECT number FROM value_keys WHERE org = 'acme' AND wrapped IS NULL") == [{"number": 1}]
        stranger = await to_thread(Stranger, g)
        stranger("UPDATE value_keys SET wrapped = NULL WHERE org = 'globex'")
        said = await VerifyTrail(store=g.container.store, head_file=None)("globex")
        assert ["no event says so" in fault.text for fault in said.faults] == [True], "nobody destroys them unsaid"


@requirement("S-38")
async def test_a_tool_without_the_secret_settles_what_is_encrypted_and_keeps_it_as_it_is(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    from app.usecases.upkeep.restored import DeclareRestored

    async with open_gateway(database_url, config, platform) as g:
        waits, runs = await g.ask("by_api", {"n": 1}), await g.ask("by_api", {"n": 2})
        await g.decide(runs)
        assert (await g.claim(runs)).status_code == 200
        before = g.rows("SELECT id, arguments, title FROM requests ORDER BY id")
        keys = dict(g.keys)
    async with open_store(database_url) as store:
        assert [each.org for each in await DeclareRestored(store=store)(by="olga@acme.example", reason="a test")]
    async with open_gateway(database_url, config, platform) as g:
        g.keys |= keys
        assert g.rows("SELECT id, arguments, title FROM requests ORDER BY id") == before
        for request in (waits, runs):
            assert (await g.read(request))["arguments"] == request["arguments"]


@requirement("S-38")
async def test_what_cannot_be_read_is_not_sealed_anew_but_ended(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, config, platform) as g:
        waits, allowed, runs = [await g.ask("by_api", {"n": n}) for n in range(3)]
        for request in (allowed, runs):
            assert (await g.decide(request)).status_code == 200
        assert (await g.claim(runs)).status_code == 200
        before = g.rows("SELECT id, arguments, title FROM requests ORDER BY id")
    async with open_gateway(database_url, config, platform, secret=NEW) as g:
        assert await g.container.seal_standing.again("acme", by="olga@acme.example", reason="it is lost") == (0, 3)
        states = {row["id"]: row["state"] for row in g.rows("SELECT id, state FROM requests")}
        assert [states[each["id"]] for each in (waits, allowed, runs)] == ["cancelled", "lapsed", "unknown"]
        late = await g.ask("by_api", {"n": 4})
        assert (await g.decide(late)).status_code == 200
        assert (await g.claim(late)).json()["arguments"] == {"n": 4}, "what is new is encrypted with a key of its own"
    async with open_gateway(database_url, config, platform, secret=f"{NEW},{SECRET}") as g:
        after = {row["id"]: row for row in g.rows("SELECT id, arguments, title FROM requests")}
        assert [after[row["id"]] for row in before] == before
        assert (await g.read(waits))["arguments"] == {"n": 0}, "the secret is found again"
