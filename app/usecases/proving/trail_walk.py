"""A walk along a chain: how far it has come, and what of its events is remembered to hold rows against."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from app.domain.errors import UnsealedError
from app.domain.lifecycle.replayed import Fault, Replayed, Said
from app.domain.lifecycle.replayed_org import play
from app.domain.text.canonical import plain_canonical
from app.domain.trail.audit import Kind
from app.domain.trail.chain import GENESIS, first_fault_at
from app.storage.engine.dialect import to_us
from app.storage.tables.columns import MISREAD
from app.storage.trail.audit_chain import UnreadableEventError, get_head, list_about_keys, list_kept
from app.storage.trail.cuts import find_cut
from app.storage.trail.rows_beside import keys_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from app.domain.trail.audit import AuditEvent
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.trail.cuts import Cut

_PAGE = 2_000


def list_false_keys(tx: Tx) -> list[str]:
    """Return the keys whose rows are not what the trail says of them: whoever has the database alone made them so."""
    walk, cut = Walk(), find_cut(tx)
    try:
        if cut is not None:
            walk.begin_behind(cut)
        for event in list_about_keys(tx):
            play(walk.beside, event)
    except MISREAD:
        return list(keys_beside(tx))
    said = {name: each.value for name, each in walk.beside.said.items()}
    return [
        key_id
        for key_id, stands in keys_beside(tx).items()
        if f"key {key_id}" not in said or any(said.get(name, value) != value for name, value in stands.items())
    ]


@dataclass(slots=True, kw_only=True)
class Walk:
    """How far the chain was walked, and what of it is remembered."""

    expect: tuple[int, str] | None = None
    older: int = 0
    seen: int = 0
    last: tuple[int, str] = (-1, GENESIS)
    first_at: int = 0
    beside: Replayed = field(default_factory=Replayed)
    asked: dict[str, int] = field(default_factory=dict[str, int])
    removed: dict[str, int] = field(default_factory=dict[str, int])
    ended: list[str] = field(default_factory=list[str])
    """Of the removed those of which the database has every event."""
    cut_until: int = -1  # events until here are not in the database
    cuts: dict[int, Mapping[str, object]] = field(default_factory=dict[int, "Mapping[str, object]"])
    """What the trail says of its cuts, by the last event that each took."""
    has_served: bool = False
    faults: list[Fault] = field(default_factory=list[Fault])
    broken: bool = False  # the chain: what its events say cannot be relied on

    def take(self, events: Sequence[AuditEvent]) -> None:
        """Go on behind the last event."""
        fault = first_fault_at(events, after=self.last)
        if fault is not None:
            self.stop(*fault)
            return
        for event in events:
            self.first_at = self.first_at or to_us(event.at)
            kind = event.record.kind
            if kind is Kind.CREATED and event.request_id is not None:
                self.asked.setdefault(event.request_id, event.seq)
            elif kind is Kind.ROWS_REMOVED:
                self._take_removed(event)
            elif kind is Kind.TRAIL_CUT:
                self.cuts[cast("int", event.record.facts.get("last"))] = event.record.facts
            self.has_served |= kind is Kind.POLICY_LOADED
            play(self.beside, event)
            self._compare(event.seq, event.hash)
        self.seen += len(events)
        self.last = (events[-1].seq, events[-1].hash)

    def stop(self, seq: int, text: str) -> None:
        """Say where the chain is broken: nothing behind it is walked."""
        self.faults.append(Fault(seq, text))
        self.broken = True

    def begin_behind(self, cut: Cut) -> None:
        """Begin behind a cut, with what the events before it said. Raises ValueError if that cannot be read."""
        carried: dict[str, Any] = json.loads(cut.carried)
        self.last = cut.end
        self.first_at, self.has_served = int(carried["first_at"]), bool(carried["served"])
        self.beside.said = {name: Said(value, int(seq)) for name, (value, seq) in carried["said"].items()}
        self._compare(*cut.end)

    def carried(self) -> str:
        """Return what a walk that begins here must know."""
        said = {name: [each.value, each.seq] for name, each in self.beside.said.items()}
        return plain_canonical({"first_at": self.first_at, "served": self.has_served, "said": said}).decode()

    def _compare(self, seq: int, digest: str) -> None:
        if self.expect is not None and seq == self.expect[0] and digest != self.expect[1]:
            self.faults.append(Fault(seq, f"event {seq} is not the one that you expect: {digest}"))

    def _take_removed(self, event: AuditEvent) -> None:
        for request_id in cast("list[str]", event.record.facts.get("ids", [])):
            self.removed[request_id] = event.seq
            asked = self.asked.pop(request_id, None)
            if asked is not None and asked > self.cut_until:
                self.ended.append(request_id)


async def walk_on(store: Store, org: str, walk: Walk, tell: Callable[[int], None] = lambda _: None) -> None:
    """Walk the chain to its end, and look whether that is its head. `tell` hears how many events were walked."""

    def page(tx: Tx) -> tuple[list[AuditEvent], tuple[int, str] | None] | UnreadableEventError:
        try:
            head = get_head(tx)  # first: on PostgreSQL each statement sees a little more than the one before
        except UnsealedError:
            head = None
        try:
            return list_kept(tx, after=walk.last[0], most=_PAGE), head
        except UnreadableEventError as unreadable:
            return unreadable

    while not walk.broken:
        found = await store.read(page, org=org, long=True)
        if isinstance(found, UnreadableEventError):
            walk.stop(walk.last[0] + 1, str(found))
            return
        events, head = found
        if not events:
            if head != walk.last and not walk.faults:
                says = f"{head[0]} {head[1]}" if head is not None else "what no gateway writes"
                text = f"the chain ends at {walk.last[0]}, but its head says {says}"
                walk.faults.append(Fault(walk.last[0], text))
            return
        walk.take(events)
        tell(walk.seen)
