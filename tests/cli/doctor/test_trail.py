"""What `assent doctor` says of the trail: as `assent audit verify`, bounded, and with what it did not look at."""

from __future__ import annotations

import json
from asyncio import to_thread
from typing import TYPE_CHECKING

import pytest

from app.cli.doctor import records
from app.cli.doctor.records import look_at_records
from app.ports import Severity
from app.storage.engine.transaction import EVERY_ORG
from app.storage.trail.head_file import find_heads, write_heads
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from app.ports import Finding
    from tests.fixtures.gateway import Gateway

pytestmark = pytest.mark.may_block  # the doctor reads files, and its loop serves nobody else


async def of_the_trail(g: Gateway, head_file: Path | None) -> list[Finding]:
    found = await look_at_records(g.container.store, g.container.book, "acme", head_file=head_file)
    return [finding for finding in found if "the trail" in finding.what]


@requirement("S-64")
async def test_what_audit_verify_names_the_doctor_names_too(either_gateway: Gateway, tmp_path: Path) -> None:
    g = either_gateway
    request = await g.ask("by_api")
    await g.decide(request, "deny")
    heads = tmp_path / "kept.head"
    await to_thread(write_heads, heads, await g.container.store.read(find_heads, org=EVERY_ORG))
    [whole] = await of_the_trail(g, heads)
    assert whole.severity is Severity.OK
    assert whole.what.endswith("events, and the rows say the same")
    stranger = await to_thread(Stranger, g)
    await to_thread(stranger, f"UPDATE requests SET status = 'cancelled' WHERE id = '{request['id']}'")
    [edited] = await of_the_trail(g, heads)
    assert edited.severity is Severity.ERROR
    assert f"the row of {request['id']} says cancelled" in edited.what
    await to_thread(stranger.put_back)
    kept = json.loads(heads.read_text())
    kept["orgs"]["acme"][0] += 3
    heads.write_text(json.dumps(kept))  # as if the tail had been cut off, and the head set back
    [cut] = await of_the_trail(g, heads)
    assert cut.severity is Severity.ERROR
    assert f"{heads}: " in cut.what


@requirement("S-64")
async def test_of_a_long_trail_it_looks_at_the_end_and_says_what_it_did_not_look_at(
    either_gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = either_gateway
    old = await g.ask("by_api", {"n": 1})
    await g.decide(old, "deny")
    new = await g.ask("by_api", {"n": 2})
    await g.decide(new, "deny")
    events, _ = await g.container.read.trail("acme", after=-1, most=1000)
    begins = next(event.seq for event in events if event.request_id == new["id"])
    monkeypatch.setattr(records, "MOST_EVENTS", len(events) - begins)
    [whole] = await of_the_trail(g, None)
    assert whole.severity is Severity.OK
    assert f"the newest {len(events) - begins} events of the trail are unbroken" in whole.what
    assert f"not looked at, for their number: the {begins} before" in whole.what
    assert "`assent audit verify` does" in whole.what
    stranger = await to_thread(Stranger, g)
    for of, found in ((old, False), (new, True)):
        await to_thread(stranger, f"UPDATE requests SET status = 'cancelled' WHERE id = '{of['id']}'")
        [said] = await of_the_trail(g, None)
        assert (said.severity is Severity.ERROR) is found, said.what
        await to_thread(stranger.put_back)
    for at, found in ((begins - 2, False), (begins + 1, True)):
        await to_thread(stranger, f"UPDATE audit_events SET actor = 'nobody' WHERE org = 'acme' AND seq = {at}")
        [said] = await of_the_trail(g, None)
        assert (f"event {at} was changed" in said.what) is found, said.what
        await to_thread(stranger.put_back)
    await to_thread(stranger, *(f"DELETE FROM {name} WHERE {of} = '{new['id']}'" for name, of in GONE))
    [said] = await of_the_trail(g, None)
    assert f"event {begins} asked {new['id']}, and its row is gone" in said.what


GONE = (("decisions", "request_id"), ("requests", "id"))
