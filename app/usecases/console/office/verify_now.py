"""Verify the trail from a page: one walk at a time in this gateway, beside its other work; the page asks how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from app.domain.card.card_for import instant_text
from app.domain.errors import AssentError
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.usecases.console.rights import Page
from app.usecases.console.sessions import refusal_for
from app.usecases.proving.verify_trail import VerifyTrail

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime
    from pathlib import Path

    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right
    from app.usecases.proving.verify_trail import Verified

log = structlog.get_logger(__name__)

MOST_FAULTS = 20


@dataclass(slots=True, kw_only=True)
class Walked:
    """How far a walk came, and what it found once it is over."""

    began: datetime
    seen: int = 0
    found: Verified | None = None
    failed: bool = False


class WalkedPage(Struct, frozen=True, kw_only=True):
    """The same for a page."""

    began: str
    seen: int
    running: bool
    failed: bool
    head: str = ""
    witness: str = ""
    cut: bool = False
    faults: tuple[str, ...] = ()
    more: int = 0


class VerifyNow:
    """The use case. What it knows is of this gateway and since it started: nothing of it is stored but that it ran."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        head_file: Path | None,
        later: Callable[[Coroutine[object, object, None]], None],
    ) -> None:
        """Take what it works on; `later` runs a walk beside everything else."""
        self._store = store
        self._book = book
        self._verify = VerifyTrail(store=store, head_file=head_file)
        self._later = later
        self._walks: dict[str, Walked] = {}

    async def begin(self, right: Right) -> None:
        """Begin to walk, unless somebody's walk is under way. Raises UnauthenticatedError and ForbiddenError."""

        def unit(tx: Tx) -> datetime | AssentError:
            refused = refusal_for(tx, right, Page.TRAIL)
            if refused is not None:
                return refused
            tx.append(Record(kind=Kind.TRAIL_READ, actor=right.person, facts={"search": "", "form": "verify"}))
            return tx.now()

        if self._is_walking():
            return
        began = await self._store.write(unit, org=right.org)
        if self._is_walking():  # somebody else's press came through meanwhile
            return
        walk = self._walks[right.org] = Walked(began=began)
        self._later(self._walk(right.org, walk))

    def _is_walking(self) -> bool:
        return any(walk.found is None and not walk.failed for walk in self._walks.values())

    async def _walk(self, org: str, walk: Walked) -> None:
        def tell(seen: int) -> None:
            walk.seen = seen

        try:
            walk.found = await self._verify(org, tell=tell)
        except AssentError as error:
            walk.failed = True
            log.warning("trail.not_verified", org=org, why=error.code)
        finally:
            walk.failed = walk.found is None

    def shown(self, org: str) -> WalkedPage | None:
        """Return how an org's last walk stands; None: there was none in this gateway."""
        walk = self._walks.get(org)
        if walk is None:
            return None
        began = instant_text(walk.began, self._book.current(org).policy.zone)
        found = walk.found
        if found is None:
            return WalkedPage(began=began, seen=walk.seen, running=not walk.failed, failed=walk.failed)
        return WalkedPage(
            began=began,
            seen=found.seen,
            running=False,
            failed=False,
            head=f"{found.head[0]} {found.head[1]}",
            witness=visible(found.witness or ""),
            cut=found.cut is not None,
            faults=tuple(visible(fault.text) for fault in found.faults[:MOST_FAULTS]),
            more=max(0, len(found.faults) - MOST_FAULTS),
        )
