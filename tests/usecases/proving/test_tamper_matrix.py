"""The tamper matrix: each edit is made on a whole trail with the database's own rights, and named with its place."""

from __future__ import annotations

from asyncio import to_thread
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.storage.engine.transaction import EVERY_ORG
from app.storage.trail.head_file import find_heads, write_heads
from app.usecases.proving.verify_trail import VerifyTrail
from tests.fixtures.tampering import Stranger, as_row, changed
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.domain.trail.audit import AuditEvent
    from tests.fixtures.gateway import Gateway


@dataclass(slots=True)
class Crime:
    """What every edit works on: a story with an end of each kind, and where it is in the trail."""

    g: Gateway
    stranger: Stranger
    head_file: Path
    events: list[AuditEvent]
    ids: dict[str, str]
    keys: dict[str, str]

    def seq(self, kind: str, of: str | None = None) -> int:
        """Return the number of the last event of a kind, of one of the requests."""
        wanted = self.ids.get(of or "")
        return max(e.seq for e in self.events if e.record.kind == kind and (of is None or e.request_id == wanted))

    @property
    def end(self) -> int:
        """Return the number of the last event."""
        return self.events[-1].seq

    def relinked(self, change: Callable[[AuditEvent], AuditEvent]) -> tuple[int, str]:
        """Write the whole chain anew, with some events changed."""
        return self.stranger.rewrite([change(event) for event in self.events])

    async def verify(self, **expect: Any) -> list[tuple[int, str]]:
        """Return the faults."""
        found = await VerifyTrail(store=self.g.container.store, head_file=self.head_file)("acme", **expect)
        return list(found.faults)


async def _story(g: Gateway, head_file: Path) -> Crime:
    ids: dict[str, str] = {}
    tools = {"paid": "pay_two", "denied": "by_api", "open": "by_api", "issued": "by_api", "waits": "by_api"}
    for name, tool in tools.items():
        ids[name] = (await g.ask(tool, {"n": name, "account": "DE02"}, session="s1"))["id"]
    asked = {name: await g.read({"id": of}) for name, of in ids.items()}
    await g.decide(asked["paid"], who="alice@acme.example")
    await g.decide(asked["paid"], who="bob@acme.example")
    assert (await g.claim(asked["paid"])).status_code == 200
    await g.report(asked["paid"])
    await g.decide(asked["denied"], "deny")
    await g.decide(asked["issued"])
    await g.decide(asked["waits"])
    assert (await g.claim(asked["waits"])).status_code == 200
    assert (await g.report(asked["waits"], "pending_elsewhere")).status_code == 200
    await g.container.switches.set_read_only("acme", on=True, reason="audit", by="olga@acme.example")
    revoked = await g.container.keys.create(org="acme", scope=_scope("auditor"), label="old")
    await g.container.keys.revoke("acme", revoked.key.id)
    live = g.keys["acme/agent:shop"].split("_")[1]
    heads = await g.container.store.read(find_heads, org=EVERY_ORG)
    await to_thread(write_heads, head_file, heads)
    events, _ = await g.container.read.trail("acme", after=-1, most=1000)
    keys = {"revoked": revoked.key.id, "live": live}
    return Crime(g=g, stranger=await to_thread(Stranger, g), head_file=head_file, events=events, ids=ids, keys=keys)


def _scope(name: str) -> Any:
    from app.domain.identity.api_key import Scope

    return Scope(name)


# Each edit says where it must be found first.
EDITS: dict[str, Callable[[Crime], int]] = {}


def edit(found: Callable[[Crime], int]) -> Callable[[Crime], int]:
    """Put an edit into the matrix, under its name."""
    EDITS[found.__name__.removeprefix("_").replace("_", " ")] = found
    return found


@edit
def _01_one_byte_of_a_value(c: Crime) -> int:
    seq = c.seq("request.created", "open")
    c.stranger(f"UPDATE audit_events SET facts = replace(facts, 'by_api', 'by_apj') WHERE org = 'acme' AND seq = {seq}")
    return seq


@edit
def _02_the_actor(c: Crime) -> int:
    seq = c.seq("request.denied", "denied")
    c.stranger(f"UPDATE audit_events SET actor = 'bob@acme.example' WHERE org = 'acme' AND seq = {seq}")
    return seq


@edit
def _03_the_time(c: Crime) -> int:
    seq = c.seq("request.denied", "denied")
    c.stranger(f"UPDATE audit_events SET at = at + 1 WHERE org = 'acme' AND seq = {seq}")
    return seq


@edit
def _04_a_row_in_the_middle_is_gone(c: Crime) -> int:
    c.stranger("DELETE FROM audit_events WHERE org = 'acme' AND seq = 5")
    return 5


@edit
def _05_the_last_rows_are_gone_and_the_head_is_set_back(c: Crime) -> int:
    kept = c.end - 3
    c.stranger(
        f"DELETE FROM audit_events WHERE org = 'acme' AND seq > {kept}",
        f"UPDATE audit_heads SET seq = {kept}, hash = '{c.events[kept].hash}' WHERE org = 'acme'",
    )
    return kept


@edit
def _06_cut_to_an_old_head_with_all_that_came_after(c: Crime) -> int:
    kept = c.seq("request.created", "paid") - 1
    of_acme = "WHERE org = 'acme'"
    made = [event.record.facts["key"] for event in c.events[kept + 1 :] if event.record.kind == "key.created"]
    c.stranger(
        *(f"DELETE FROM {name} {of_acme}" for name in ("decisions", "executions", "grants", "requests", "switches")),
        *(f"DELETE FROM api_keys {of_acme} AND id = '{key}'" for key in made),
        f"DELETE FROM audit_events {of_acme} AND seq > {kept}",
        f"UPDATE audit_heads SET seq = {kept}, hash = '{c.events[kept].hash}' {of_acme}",
    )
    return kept


@edit
def _07_a_forged_row(c: Crime) -> int:
    forged = replace(c.events[-1], id="evt_forged", seq=c.end + 1, prev_hash=c.events[-1].hash, request_version=None)
    c.stranger.add("audit_events", **as_row(forged))
    return c.end + 1


@edit
def _08_two_rows_swapped(c: Crime) -> int:
    move = "UPDATE audit_events SET seq = {} WHERE org = 'acme' AND seq = {}"
    c.stranger(move.format(-7, 6), move.format(6, 7), move.format(7, -7))
    return 6


@edit
def _09_a_row_twice(c: Crime) -> int:
    again = replace(c.events[-1], id="evt_again", seq=c.end + 1, request_version=None)
    c.stranger.add("audit_events", **as_row(again))
    return c.end + 1


@edit
def _10_a_row_in_another_org(c: Crime) -> int:
    c.stranger("UPDATE audit_events SET org = 'globex', seq = 999 WHERE org = 'acme' AND seq = 5")
    return 5


@edit
def _11_the_chain_written_anew_from_a_place_on(c: Crime) -> int:
    seq = c.seq("request.denied", "denied")
    c.relinked(lambda e: changed(e, lambda facts: facts.update(reason="no")) if e.seq == seq else e)
    c.stranger(f"UPDATE requests SET settled_reason = 'no', version = version + 1 WHERE id = '{c.ids['denied']}'")
    c.stranger(f"UPDATE requests SET version = version - 1 WHERE id = '{c.ids['denied']}'")
    c.stranger(f"UPDATE decisions SET reason = 'no' WHERE request_id = '{c.ids['denied']}'")
    return seq  # no gateway sealed such a row; and the head that the gateway noted is not there any more


@edit
def _13_the_noted_head_is_gone(c: Crime) -> int:
    c.head_file.unlink()
    return c.end


@edit
def _13_the_head_row_is_gone(c: Crime) -> int:
    c.stranger("DELETE FROM audit_heads WHERE org = 'acme'")
    return c.end


@edit
def _14_another_head(c: Crime) -> int:
    c.stranger(f"UPDATE audit_heads SET hash = '{'ab' * 32}' WHERE org = 'acme'")
    return c.end


@edit
def _14_the_head_of_no_org(c: Crime) -> int:
    c.stranger.add("audit_heads", org="elsewhere", seq=3, hash="ab" * 32)
    return c.end


@edit
def _15_a_revoked_key_lives_again(c: Crime) -> int:
    c.stranger(f"UPDATE api_keys SET revoked_at = NULL WHERE id = '{c.keys['revoked']}'")
    return c.seq("key.revoked")


@edit
def _15_a_key_of_another_person_and_scope(c: Crime) -> int:
    c.stranger(f"UPDATE api_keys SET scope = 'admin', agent = NULL WHERE id = '{c.keys['live']}'")
    return next(e.seq for e in c.events if e.record.facts.get("key") == c.keys["live"])


@edit
def _15_a_key_that_lives_on(c: Crime) -> int:
    c.stranger(f"UPDATE api_keys SET expires_at = 9999999999999999 WHERE id = '{c.keys['live']}'")
    return next(e.seq for e in c.events if e.record.facts.get("key") == c.keys["live"])


@edit
def _15_a_key_that_nobody_made(c: Crime) -> int:
    made = c.stranger.ask(f"SELECT * FROM api_keys WHERE id = '{c.keys['live']}'")[0]
    c.stranger.add("api_keys", **{**made, "id": "mallory", "scope": "admin", "agent": None})
    return c.end


@edit
def _16_other_arguments_under_the_digest(c: Crime) -> int:
    of = c.ids["issued"]
    c.stranger(f"""UPDATE requests SET arguments = '{{"n":1,"account":"DE66"}}' WHERE id = '{of}'""")
    return c.seq("request.created", "issued")


@edit
def _16_another_text_of_the_policy(c: Crime) -> int:
    c.stranger("UPDATE policies SET text = replace(text, 'need: 2', 'need: 1') WHERE org = 'acme'")
    return c.seq("policy.loaded")


@edit
def _17_another_code_on_the_card(c: Crime) -> int:
    c.stranger(f"UPDATE requests SET code = 'AAAA-AAAA' WHERE id = '{c.ids['open']}'")
    return c.seq("request.created", "open")


@edit
def _18_an_execution_without_a_grant(c: Crime) -> int:
    run = c.stranger.ask("SELECT * FROM executions")[0]
    c.stranger.add("executions", **{**run, "id": "exe_x", "request_id": c.ids["issued"], "grant_id": "gra_x"})
    return c.seq("request.created", "issued")


@edit
def _19_an_approval_without_a_vote(c: Crime) -> int:
    of, like = c.ids["open"], c.ids["issued"]
    same = f"SELECT settled_at FROM requests WHERE id = '{like}'"
    c.stranger(
        f"UPDATE requests SET status = 'approved', state = 'approved', settled_at = ({same}), settled_by = 'x' "
        f"WHERE id = '{of}'"
    )
    grant = c.stranger.ask(f"SELECT * FROM grants WHERE request_id = '{like}'")[0]
    c.stranger.add("grants", **{**grant, "id": "gra_y", "request_id": of})
    return c.seq("request.created", "open")


@edit
def _19_denied_is_approved(c: Crime) -> int:
    of = c.ids["denied"]
    c.stranger(
        f"UPDATE requests SET status = 'approved', state = 'approved' WHERE id = '{of}'",
        f"UPDATE decisions SET verdict = 'approve' WHERE request_id = '{of}'",
    )
    return c.seq("request.denied", "denied")


@edit
def _20_a_vote_of_somebody_who_gave_none(c: Crime) -> int:
    vote = c.stranger.ask(f"SELECT * FROM decisions WHERE request_id = '{c.ids['issued']}'")[0]
    c.stranger.add("decisions", **{**vote, "id": "dec_x", "person": "dave@acme.example", "request_id": c.ids["open"]})
    return c.seq("request.created", "open")


@edit
def _20_a_vote_of_somebody_else(c: Crime) -> int:
    c.stranger(f"UPDATE decisions SET person = 'carol@acme.example' WHERE request_id = '{c.ids['issued']}'")
    return c.seq("request.approved", "issued")


@edit
def _21_a_spent_grant_issued_again(c: Crime) -> int:
    of = c.ids["paid"]
    c.stranger(
        f"DELETE FROM executions WHERE request_id = '{of}'",
        f"UPDATE grants SET status = 'issued' WHERE request_id = '{of}'",
        f"UPDATE requests SET state = 'approved' WHERE id = '{of}'",
    )
    return c.seq("grant.claimed", "paid")


@edit
def _21_another_outcome(c: Crime) -> int:
    c.stranger(f"UPDATE executions SET status = 'failed' WHERE request_id = '{c.ids['paid']}'")
    return c.seq("execution.succeeded", "paid")


@edit
def _21_another_place_where_it_waits(c: Crime) -> int:
    c.stranger(f"UPDATE executions SET elsewhere_id = 'apr_other' WHERE request_id = '{c.ids['waits']}'")
    return c.seq("execution.pending_elsewhere", "waits")


@edit
def _21_another_link_to_where_it_waits(c: Crime) -> int:
    c.stranger(f"UPDATE executions SET elsewhere_link = 'https://evil.example/' WHERE request_id = '{c.ids['waits']}'")
    return c.seq("execution.pending_elsewhere", "waits")


@edit
def _21_a_place_for_what_waits_nowhere(c: Crime) -> int:
    c.stranger(f"UPDATE executions SET elsewhere_id = 'apr_other' WHERE request_id = '{c.ids['paid']}'")
    return c.seq("grant.claimed", "paid")


@edit
def _21_what_waits_elsewhere_has_failed(c: Crime) -> int:
    of = c.ids["waits"]
    c.stranger(
        f"UPDATE executions SET status = 'failed' WHERE request_id = '{of}'",
        f"UPDATE executions SET elsewhere_id = NULL, elsewhere_link = NULL WHERE request_id = '{of}'",
        f"UPDATE requests SET version = version + 1 WHERE id = '{of}'",
        f"UPDATE requests SET version = version - 1, state = 'failed' WHERE id = '{of}'",
    )
    return c.seq("execution.pending_elsewhere", "waits")


@edit
def _22_a_later_deadline(c: Crime) -> int:
    c.stranger(f"UPDATE requests SET expires_at = expires_at + 3600000000 WHERE id = '{c.ids['open']}'")
    return c.seq("request.created", "open")


@edit
def _22_a_grant_that_lives_on(c: Crime) -> int:
    c.stranger(f"UPDATE grants SET not_after = not_after + 3600000000 WHERE request_id = '{c.ids['issued']}'")
    return c.seq("request.approved", "issued")


@edit
def _22_approved_at_another_time(c: Crime) -> int:
    c.stranger(f"UPDATE requests SET settled_at = settled_at + 1 WHERE id = '{c.ids['issued']}'")
    return c.seq("request.approved", "issued")


@edit
def _22_the_state_by_which_it_is_found(c: Crime) -> int:
    c.stranger(f"UPDATE requests SET state = 'pending' WHERE id = '{c.ids['issued']}'")
    return c.seq("request.approved", "issued")


@edit
def _23_a_request_is_gone(c: Crime) -> int:
    of = c.ids["denied"]
    c.stranger(f"DELETE FROM decisions WHERE request_id = '{of}'", f"DELETE FROM requests WHERE id = '{of}'")
    return c.seq("request.created", "denied")


@edit
def _23_a_switch_is_off(c: Crime) -> int:
    c.stranger("UPDATE switches SET is_on = 0 WHERE org = 'acme'")
    return c.seq("switch.set")


@edit
def _24_a_restore_without_its_event(c: Crime) -> int:
    now = c.stranger.ask("SELECT max(created_at) AS at FROM requests")[0]["at"]
    c.stranger.add("restores", epoch=1, restored_by="mallory", restored_at=now + 1, reason="x")
    return c.end


@edit
def _24_a_restore_of_before_every_trail(c: Crime) -> int:
    c.stranger.add("restores", epoch=5, restored_by="mallory", restored_at=1, reason="x")
    return c.end


@edit
def _24_rows_that_no_gateway_writes(c: Crime) -> int:
    c.stranger(f"UPDATE requests SET arguments = 'no json' WHERE id = '{c.ids['open']}'")
    return c.seq("request.created", "open")


@requirement("S-64", "S-60")
@pytest.mark.heavy
async def test_every_edit_of_the_tamper_matrix_is_named_with_its_first_place(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    crime = await _story(either_gateway, tmp_path / "kept.head")
    noted = await to_thread(crime.head_file.read_bytes)
    assert await crime.verify() == [], "no false alarm"
    missed: dict[str, Any] = {}
    for name, make in EDITS.items():
        expected = await to_thread(make, crime)
        found = await crime.verify()
        await to_thread(crime.stranger.put_back)
        await to_thread(crime.head_file.write_bytes, noted)
        if not found or found[0][0] != expected:
            missed[name] = (expected, found)
    assert missed == {}
    assert await crime.verify() == []
    assert {name[:2] for name in EDITS} == {f"{number:02}" for number in range(1, 25)} - {"12"}, "12 is told below"


@requirement("S-64")
async def test_a_chain_written_anew_with_its_own_witness_is_found_by_a_head_kept_elsewhere(
    either_gateway: Gateway, tmp_path: Path
) -> None:
    crime = await _story(either_gateway, tmp_path / "kept.head")
    kept = crime.events[-1]
    expect = (kept.seq, kept.hash)
    assert await crime.verify(expect=expect) == []
    seq = crime.seq("switch.set")
    await to_thread(
        crime.relinked, lambda e: changed(e, lambda facts: facts.update(reason="none")) if e.seq == seq else e
    )
    await to_thread(crime.stranger, "UPDATE switches SET reason = 'none' WHERE org = 'acme'")
    await to_thread(write_heads, crime.head_file, await either_gateway.container.store.read(find_heads, org=EVERY_ORG))
    assert await crime.verify() == [], "whoever rewrites all of it, with the row and the file, leaves no trace"
    assert [place for place, _ in await crime.verify(expect=expect)] == [kept.seq]
    await to_thread(crime.head_file.unlink)
    assert [place for place, _ in await crime.verify(expect=expect)] == [kept.seq]
    await to_thread(crime.stranger.put_back)
    assert await crime.verify(expect=expect) == [], "without the file, a head kept elsewhere is enough"
    ends = await crime.verify(expect=(kept.seq + 5, kept.hash))
    assert [place for place, _ in ends] == [kept.seq]


@requirement("S-64")
async def test_an_event_that_only_reads_as_it_did_was_changed(either_gateway: Gateway, tmp_path: Path) -> None:
    crime = await _story(either_gateway, tmp_path / "kept.head")
    seq = crime.seq("switch.set")
    rewritten = f"UPDATE audit_events SET facts = facts || ' ' WHERE org = 'acme' AND seq = {seq}"
    await to_thread(crime.stranger, rewritten)
    found = await crime.verify()
    assert any(f"event {seq} was changed" in text for _, text in found), found


@requirement("S-64")
@pytest.mark.parametrize("number", ["at = at + 0.25", "request_version = 1e999"])
async def test_a_number_of_an_event_that_only_hashes_as_it_did_was_changed(
    gateway: Gateway, tmp_path: Path, number: str
) -> None:
    crime = await _story(gateway, tmp_path / "kept.head")
    seq = crime.seq("switch.set")
    await to_thread(crime.stranger, f"UPDATE audit_events SET {number} WHERE org = 'acme' AND seq = {seq}")
    found = await crime.verify()
    assert any(f"event {seq} was changed" in text for _, text in found), found


@requirement("S-60")
async def test_a_noted_head_that_cannot_be_read_is_a_fault(gateway: Gateway, tmp_path: Path) -> None:
    crime = await _story(gateway, tmp_path / "kept.head")
    await to_thread(crime.head_file.write_text, "{}")
    why = f"{crime.head_file} cannot be read: it is not what a gateway writes"
    assert [text for _, text in await crime.verify()] == [why]
