"""Verify a trail: its chain, that its rows say what its events say, and that it is the one that was there before.

A chain alone finds what was changed in it. What was changed beside it is found by playing the events again and holding
the rows against them; what was cut off, or written anew as a whole, by a head that was kept elsewhere: the gateway's
own file, or whatever the caller noted down.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.lifecycle.against_trail import differences, request_faults
from app.domain.lifecycle.replayed import Fault, Lacks, is_over, replay
from app.domain.lifecycle.replayed_org import MUST
from app.policies.file.recorded import version_of
from app.storage.engine.transaction import EVERY_ORG
from app.storage.exhibits.exhibits import exhibits_fault
from app.storage.identity.vault import DESTROYED
from app.storage.payments.spends import list_spent_of, why_miscounted
from app.storage.requests.request_lists import list_ids
from app.storage.requests.request_rows import request_from_rows
from app.storage.requests.requests import list_derived, list_rows_of
from app.storage.requests.sealing import LACKS, why_changed
from app.storage.tables.columns import MISREAD
from app.storage.tables.request_columns import REQUEST, why_unlike
from app.storage.trail.audit_chain import get_head, list_kept, list_of_requests
from app.storage.trail.cuts import count_left, list_cuts, why_unsealed
from app.storage.trail.head_file import HeadFileError, Heads, find_lost, list_stray_heads, read_heads
from app.storage.trail.restores import list_unsaid
from app.storage.trail.rows_beside import list_texts, rows_beside
from app.usecases.proving.trail_walk import Walk, walk_on
from app.usecases.proving.walk_segments import walk_segments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from app.domain.lifecycle.replayed import Replayed
    from app.domain.request.request import ConfirmationRequest
    from app.domain.trail.audit import AuditEvent
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Row, Tx
    from app.storage.trail.cuts import Cut

_ROWS = 256
_LOOKS = 3
"""How often what differs is looked at anew: a gateway that runs meanwhile writes rows between two looks."""


class Verified(Struct, frozen=True, kw_only=True):
    """How many events were walked, the newest one, what does not fit (the first place first), and by what else."""

    seen: int
    head: tuple[int, str]
    faults: tuple[Fault, ...]
    witness: str | None  # what of outside the database it was held against; None: nothing
    older: int = 0  # events before the bound that the caller set: neither they nor what only they tell was looked at
    cut: Cut | None = None  # behind which the walk began, or behind which the database's own part does
    segments: int = 0  # how many files were walked before that
    left: int = 0  # events that were cut off and are still there


def _say_nothing(_: int) -> None:
    """Nobody waits to hear it."""


_FOREIGN = ": put the old secret behind the new one, with a comma, or verify from the first event with --segments"


class VerifyTrail:
    """The use case."""

    def __init__(self, *, store: Store, head_file: Path | None) -> None:
        """Take what it works on; `head_file` is where the gateway notes how far the trail has come, if it does."""
        self._store = store
        self._path = head_file
        self._tell: Callable[[int], None] = _say_nothing

    async def __call__(
        self,
        org: str,
        *,
        expect: tuple[int, str] | None = None,
        most: int | None = None,
        segments: Path | None = None,
        tell: Callable[[int], None] = _say_nothing,
    ) -> Verified:
        """Verify an org's trail. `expect` is the (seq, hash) of an event that was noted down before.

        Of a trail of over `most` events the newest are walked, and the requests that they opened are held against
        them. Keys, switches, payees, permissions and the file's versions need the whole of it: they are left out.
        A trail that was cut is walked from its last cut on; with the folder of the `segments`, from its first event.
        `tell` hears again and again how many events were walked.
        """
        known, unreadable = await self._known()  # first: a gateway that runs writes it after the trail
        cuts, unlike = await self._cuts(org)
        walk = await self._begin(org, expect, most, cuts[-1] if cuts and segments is None else None)
        if unlike is not None:
            walk.stop(*unlike)
        self._tell = tell
        if segments is not None:
            walk.cut_until = cuts[-1].last if cuts else -1
            await walk_segments(walk, cuts, segments, org=org, seals=self._store.seals, tell=tell)
        await walk_on(self._store, org, walk, self._tell)
        faults = [*walk.faults, *self._cut_faults(org, walk, cuts, whole=segments is not None)]
        if unreadable is not None:
            faults.append(Fault(walk.last[0], unreadable))
        mine = known.orgs.get(org) if known is not None else None
        if known is not None and mine is not None:
            faults += await self._held_against(org, Heads(epoch=known.epoch, orgs={org: mine}), walk)
        elif self._path is not None and walk.has_served and expect is None and unreadable is None:
            gone = f"{self._path} says nothing of {org}: what was cut off is not noticed without it, or --expect"
            faults.append(Fault(walk.last[0], gone))
        if expect is not None and walk.last[0] < expect[0] and not walk.broken:
            faults.append(Fault(walk.last[0], f"the trail ends at event {walk.last[0]}, and you expect {expect[0]}"))
        faults += await self._of_nobody(org, walk)
        if not walk.broken and walk.older:
            faults += await self._opened(org, walk)
        elif not walk.broken:
            faults += [*await self._beside(org, walk), *await self._requests(org, walk)]
        witnesses = [str(self._path)] if mine is not None else []
        witnesses += ["the event that you expect"] if expect is not None else []
        in_order = tuple(sorted(faults, key=lambda fault: fault.seq))
        witness = " and ".join(witnesses) or None
        newest = cuts[-1] if cuts else None
        left = 0
        if newest is not None:
            left = await self._store.read(lambda tx: count_left(tx, newest.last), org=org, long=True)
        return Verified(
            seen=walk.seen,
            head=walk.last,
            faults=in_order,
            witness=witness,
            older=walk.older,
            cut=newest,
            segments=len(cuts) if segments is not None else 0,
            left=left,
        )

    async def _cuts(self, org: str) -> tuple[list[Cut], Fault | None]:
        try:
            return await self._store.read(list_cuts, org=org, long=True), None
        except MISREAD:
            return [], Fault(0, "the record of a cut is not what a gateway writes")

    def _cut_faults(self, org: str, walk: Walk, cuts: Sequence[Cut], *, whole: bool) -> list[Fault]:
        """Hold the records of cuts against their seals, and against the events that tell of them."""
        faults: list[Fault] = []
        for cut in cuts if whole else cuts[-1:]:
            known = self._store.seals is not None and cut.seal.partition(".")[0] in self._store.seals.key_ids
            unsealed = why_unsealed(org, cut, self._store.seals) if known or not whole else None
            if unsealed is not None:
                faults.append(Fault(cut.last, f"{unsealed}{'' if known else _FOREIGN}"))
            if not (walk.broken or walk.older) and walk.cuts.get(cut.last) != cut.facts():
                faults.append(Fault(cut.last, f"no event says of the cut at event {cut.last} what its record says"))
        if cuts and not whole and walk.expect is not None and walk.expect[0] < cuts[-1].last:
            until = f"event {walk.expect[0]} was cut off, with all until {cuts[-1].last}"
            faults.append(Fault(walk.expect[0], f"{until}: to find the one that you expect, say --segments"))
        return faults

    async def _begin(self, org: str, expect: tuple[int, str] | None, most: int | None, cut: Cut | None) -> Walk:
        """Begin where the bound says, behind an event that is taken for what it says it is; or behind the cut."""

        def look(tx: Tx) -> list[AuditEvent]:
            behind = get_head(tx)[0] - most if most is not None else -1
            return list_kept(tx, after=behind - 1, most=1) if behind > (cut.last if cut else -1) else []

        try:
            found = await self._store.read(look, org=org, long=True)
        except MISREAD:
            found = []  # the whole walk names it
        walk = Walk(expect=expect)
        if not found:
            if cut is not None:
                walk.cut_until = cut.last
                try:
                    walk.begin_behind(cut)
                except (ValueError, TypeError, KeyError, AttributeError):
                    walk.stop(cut.last, f"the record of the cut at event {cut.last} is not what a gateway writes")
            return walk
        return Walk(expect=expect, older=found[0].seq + 1, last=(found[0].seq, found[0].hash))

    async def _held_against(self, org: str, mine: Heads, walk: Walk) -> list[Fault]:
        try:
            lost = await self._store.read(lambda tx: find_lost(tx, mine), org=EVERY_ORG, long=True)
        except MISREAD:
            lost = "what the database says of how far it has come is not what a gateway writes"
        said = f"{self._path}: {lost}; if it was restored from a backup, `assent restored` says so first"
        return [Fault(min(walk.last[0], mine.orgs[org][0]), said)] if lost else []

    async def _of_nobody(self, org: str, walk: Walk) -> list[Fault]:
        """Name what is of no trail: the head of an org that has no event, a restore that none tells of."""

        def look(tx: Tx) -> tuple[list[str], list[str]]:
            unsaid = [] if walk.broken or walk.older else list_unsaid(tx, walk.beside.said, until=walk.first_at)
            return list_stray_heads(tx), unsaid

        end = walk.last[0]
        try:
            strays, unsaid = await self._store.read(look, org=EVERY_ORG, long=True)
        except MISREAD:
            return [Fault(end, f"after event {end}: the heads or the restores are not what a gateway writes")]
        heads = [f"{of} has the head of a trail, and no event" for of in strays if of != org]
        rows = [f"its row has a {name}, and no event of any org says so" for name in unsaid]
        return [Fault(end, f"after event {end}: {what}") for what in (*heads, *rows)]

    async def _known(self) -> tuple[Heads | None, str | None]:
        if self._path is None:
            return None, None
        try:
            return await asyncio.to_thread(read_heads, self._path), None
        except HeadFileError as error:
            return None, f"{self._path} cannot be read: {error}"

    async def _beside(self, org: str, walk: Walk) -> list[Fault]:
        """Hold keys, versions of the file, switches, standing permissions and payees against their events."""
        faults: list[Fault] = []
        for _ in range(_LOOKS):

            def look(tx: Tx) -> tuple[dict[str, object], dict[str, str]]:
                return rows_beside(tx, since=walk.first_at, said=walk.beside.said), list_texts(tx)

            stands, texts = await self._store.read(look, org=org, long=True)
            faults = differences(stands, walk.beside, "its row", must=MUST, end=walk.last[0])
            for version, text in texts.items():
                if version_of(text) != version:
                    said = walk.beside.said.get(f"policy {version}")
                    seq = said.seq if said else walk.last[0]
                    faults.append(Fault(seq, f"event {seq}: the text that is kept of policy {version} is another one"))
            if not faults:
                break
            await walk_on(self._store, org, walk, self._tell)
        return [*walk.beside.faults, *faults]

    async def _requests(self, org: str, walk: Walk) -> list[Fault]:
        """Hold every request against its events, a few hundred at a time."""
        faults: list[Fault] = []
        behind = ""
        while True:
            ids = await self._store.read(
                lambda tx, after=behind: list_ids(tx, behind=after, most=_ROWS), org=org, long=True
            )
            if not ids:
                return [*faults, *await self._missing(org, walk, dict(walk.asked)), *await self._ended(org, walk)]
            behind = ids[-1]
            back = [each for each in ids if each in walk.removed]
            faults += [Fault(walk.removed[each], _back(walk.removed[each], each)) for each in back]
            faults += await self._differing(org, ids, walk.last[0])
            for request_id in ids:
                walk.asked.pop(request_id, None)

    async def _opened(self, org: str, walk: Walk) -> list[Fault]:
        """Hold the requests that the walked events opened against their events."""
        faults: list[Fault] = []
        ids = list(walk.asked)
        for at in range(0, len(ids), _ROWS):
            some = ids[at : at + _ROWS]
            faults += await self._differing(org, some, walk.last[0])
            there = await self._store.read(lambda tx, some=some: list_rows_of(tx, some), org=org, long=True)
            faults += await self._missing(org, walk, {of: walk.asked[of] for of in some if not there.get(of)})
        return [*faults, *await self._ended(org, walk)]

    async def _missing(self, org: str, walk: Walk, gone: Mapping[str, int]) -> list[Fault]:
        """Say which rows are gone though no event says that they were removed, not even one of this moment."""
        if gone:
            await walk_on(self._store, org, walk, self._tell)
        return [Fault(seq, f"event {seq} asked {of}, and its row is gone") for of, seq in _kept(gone, walk)]

    async def _ended(self, org: str, walk: Walk) -> list[Fault]:
        """Play the events of what was removed: they must be sound, and it must have been over."""
        faults: list[Fault] = []
        for at in range(0, len(walk.ended), _ROWS):
            some = walk.ended[at : at + _ROWS]
            told = await self._store.read(lambda tx, some=some: list_of_requests(tx, some), org=org, long=True)
            for request_id, events in told.items():
                replayed, seq = replay(events), walk.removed[request_id]
                faults += replayed.faults
                if not is_over(replayed):
                    faults.append(Fault(seq, f"event {seq} says that {request_id} was removed, and it was not over"))
        return faults

    async def _differing(self, org: str, ids: Sequence[str], end: int) -> list[Fault]:
        """Compare requests with their events; what differs, a few times."""
        found = await self._compared(org, ids, end)
        for _ in range(_LOOKS - 1):
            if not found:
                break
            found = await self._compared(org, list(found), end)
        return [fault for of_one in found.values() for fault in of_one]

    async def _compared(self, org: str, ids: Sequence[str], end: int) -> dict[str, list[Fault]]:
        def look(tx: Tx) -> dict[str, list[Fault]]:
            events = list_of_requests(tx, ids)
            rows, derived = list_rows_of(tx, ids), list_derived(tx, ids)
            spent = list_spent_of(tx, ids)
            return {of: _faults(tx, rows.get(of), events[of], end, derived.get(of), spent.get(of, ())) for of in ids}

        found = await self._store.read(look, org=org, long=True)
        return {request_id: faults for request_id, faults in found.items() if faults}


def _back(seq: int, request_id: str) -> str:
    return f"event {seq} says that {request_id} was removed, and its row is there"


def _kept(gone: Mapping[str, int], walk: Walk) -> list[tuple[str, int]]:
    return [(of, seq) for of, seq in gone.items() if of not in walk.removed]


def _faults(  # noqa: PLR0917 - what one look has read of one request
    tx: Tx, rows: list[Row] | None, events: list[AuditEvent], end: int, derived: Row | None, spent: Sequence[Row]
) -> list[Fault]:
    if not rows:
        return []  # it was there a moment ago; that its event has no row is said of all in the end
    first, last = (events[0].seq, events[-1].seq) if events else (end, end)
    try:
        replayed = replay(events)
    except MISREAD:
        return [Fault(first, f"event {first}: what the trail says of {rows[0]['id']} is not what a gateway writes")]
    try:
        faults, request = _compared_faults(tx, rows, replayed, derived or {}, first=first, last=last)
        miscounted = why_miscounted(request, spent) if rows[0]["unread"] is None else None
    except MISREAD:
        return [Fault(last, f"event {last}: the row of {rows[0]['id']} is not as a gateway writes it")]
    return [*faults, Fault(first, f"event {first} asked {request.id}: {miscounted}")] if miscounted else faults


def _compared_faults(
    tx: Tx, rows: list[Row], replayed: Replayed, derived: Row, *, first: int, last: int
) -> tuple[list[Fault], ConfirmationRequest]:
    """Hold one request's rows against its events, against its seal, and against themselves."""
    unlike = why_unlike(rows)  # before anything is decrypted in place
    request = request_from_rows(tx, rows)
    destroyed = rows[0]["unread"] == DESTROYED
    found = request_faults(request, replayed, end=last, destroyed=destroyed)
    kept = REQUEST.derived.written(request)
    found += [
        Fault(last, f"event {last}: the row of {request.id} is found by the {name} {derived.get(name)}, not {value}")
        for name, value in kept.items()
        if derived and derived.get(name) != value
    ]
    changed = exhibits_fault(tx, request.id, request.call.evidence)  # of what was destroyed, nothing is known any more
    if changed:
        found.append(Fault(first, f"event {first} asked {request.id}: {changed}"))
    whys = [unlike] if found else [unlike, why_changed(tx, rows, request)]  # of what is said already, no more is
    for why in filter(None, whys):
        kind = Lacks if why.startswith(LACKS) else Fault
        found.append(kind(last, f"event {last}: the row of {request.id}: {why}"))
    return found, request
