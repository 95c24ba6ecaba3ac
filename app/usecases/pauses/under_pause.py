"""What a pause does to what stands already: its cards say so, and where people want that, it is ended.

The pause itself is committed before any of this begins, and nothing that is done here makes it safer: a claim reads the
switches in its own transaction. So this may be cut off at any row, and be done again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from app.domain.lifecycle.execution import revoke
from app.domain.lifecycle.lifecycle import Withdrawn, advance
from app.domain.lifecycle.step import Refusal
from app.domain.request.request import GrantStatus, Status
from app.storage.cards.deliveries import list_deliveries, mark_outdated
from app.storage.cards.outbox import Errand, enqueue
from app.storage.requests.requests import lock_request
from app.storage.requests.stoppable import START, Standing, list_issued, list_pending
from app.storage.sessions.switches import list_switches
from app.usecases.pauses.pauses import first_binding, pauses_of, scope_of
from app.usecases.sessions.lineage import names_above
from app.usecases.writing.carry_out import carry_out

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from app.domain.call.switch import Switch
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_BATCH = 200
"""Requests that are looked at together."""
MOST_CARDS = 1_000
"""Requests whose cards are shown anew because of one switch; others say it when they next change."""
_LONGEST_REASON = 200


class Ended(Struct, frozen=True, kw_only=True):
    """How many requests were ended so far. `more`: there may be others; the same again goes on."""

    cancelled: int = 0
    revoked: int = 0
    more: bool = False

    @property
    def total(self) -> int:
        """All of them."""
        return self.cancelled + self.revoked


class _Page(Protocol):
    def __call__(self, tx: Tx, *, after: tuple[int, str], most: int) -> list[Standing]: ...


class UnderPause:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def show(self, org: str, switch: Switch) -> int:
        """Let the cards of what a pause binds, or bound until now, say how it stands; return how many were asked to.

        Those with the nearest deadlines come first, up to `MOST_CARDS`.
        """
        shown = 0
        async for batch in self._bound(org, switch, list_pending):
            left = batch[: MOST_CARDS - shown]
            await asyncio.gather(*(self._store.write(_show_anew(each.request_id), org=org) for each in left))
            shown += len(left)
            if shown >= MOST_CARDS:
                break
        return shown

    async def end(
        self, org: str, switch: Switch, *, by: str, most: int | None = None, told: Callable[[Ended], None] | None = None
    ) -> Ended:
        """End what a pause binds: what waits for people is cancelled, approvals that nobody used are revoked.

        `by` stands in the trail of each, and as who ended it. It stops where the pause is lifted meanwhile, and after
        `most` of them. `told` hears of every batch.
        """
        ended = Ended()
        for page in (list_pending, list_issued):
            async for batch in self._bound(org, switch, page):
                if most is not None and ended.total >= most:
                    return replace(ended, more=True)
                taken = batch if most is None else batch[: most - ended.total]
                units = (_end(each.request_id, switch, by) for each in taken)
                done = await asyncio.gather(
                    *(
                        self._store.write(unit, org=org, about=each.request_id)
                        for unit, each in zip(units, taken, strict=True)
                    )
                )
                if None in done:
                    return ended  # it was lifted
                cancelled, revoked = done.count(Status.CANCELLED), done.count(GrantStatus.REVOKED)
                ended = Ended(cancelled=ended.cancelled + cancelled, revoked=ended.revoked + revoked)
                if told is not None:
                    told(ended)
                if len(taken) < len(batch):
                    return replace(ended, more=True)
        return ended

    async def _bound(self, org: str, switch: Switch, page: _Page) -> AsyncGenerator[list[Standing]]:
        """Yield what a pause binds, batch by batch."""
        after = START
        while True:
            start = after

            def look(tx: Tx, start: tuple[int, str] = start) -> tuple[list[Standing], list[Standing]]:
                found = page(tx, after=start, most=_BATCH)
                return found, [each for each in found if _binds(tx, switch, each)]

            found, bound = await self._store.read(look, org=org, long=True)
            if bound:
                yield bound
            if len(found) < _BATCH:
                return
            after = found[-1].place


def _binds(tx: Tx, switch: Switch, each: Standing) -> bool:
    above = names_above(tx, each.agent, each.session) if switch.agent and each.session is not None else ()
    return first_binding((switch,), (each.agent, *above), each.tool) is not None


def _show_anew(request_id: str) -> Callable[[Tx], None]:
    def unit(tx: Tx) -> None:
        for delivery in list_deliveries(tx, request_id):
            if delivery.message is not None:
                mark_outdated(tx, delivery)
                enqueue(tx, Errand.REFRESH, delivery.carrier_id or delivery.id, delivery.channel)

    return unit


def _end(request_id: str, switch: Switch, by: str) -> Callable[[Tx], Status | GrantStatus | Refusal | None]:
    """Return the unit that ends one request: as what, or why it was not; None: the pause does not stand any more."""

    def unit(tx: Tx) -> Status | GrantStatus | Refusal | None:
        locked = lock_request(tx, request_id)
        if not any((each.agent, each.tool) == (switch.agent, switch.tool) for each in pauses_of(list_switches(tx))):
            return None
        if locked is None:
            return Refusal.SETTLED
        request, now = locked
        if request.status is Status.PENDING:
            step = advance(request, Withdrawn(by=by, reason=_why(switch)), now=now)
            carry_out(tx, request, step)
            return step.refusal or Status.CANCELLED
        step = revoke(request, why=_why(switch), lost=(), now=now, by=by)
        after = carry_out(tx, request, step).grant
        return GrantStatus.REVOKED if step.refusal is Refusal.REVOKED and after is not None else Refusal.SETTLED

    return unit


def _why(switch: Switch) -> str:
    said = " ".join((switch.reason or "").split())
    said = said if len(said) <= _LONGEST_REASON else f"{said[: _LONGEST_REASON - 1]}…"
    return f"{scope_of(switch)} was paused, with all that waited{f' ({said})' if said else ''}"
