"""What the pages for who looks after it all can do, built together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.usecases.console.office.admin_page import Administration
from app.usecases.console.office.proposed_file import ProposedFile
from app.usecases.console.office.pulse_page import Pulse
from app.usecases.console.office.request_page import RequestStory
from app.usecases.console.office.rules_page import Rules
from app.usecases.console.office.trail_page import TrailSearch
from app.usecases.console.office.verify_now import VerifyNow
from app.usecases.executing.reconcile import Reconcile
from app.usecases.permits.standing import StandingApprovals

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from app.domain.identity.seals import Seals
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.usecases.proving.factors import Factors
    from app.usecases.reading.keys import Keys


class Office(Struct, frozen=True, kw_only=True):
    """One field a use case."""

    story: RequestStory
    trail: TrailSearch
    verify: VerifyNow
    pulse: Pulse
    rules: Rules
    proposed: ProposedFile
    admin: Administration


def build_office(
    store: Store,
    book: PolicyBook,
    seals: Seals,
    *,
    head_file: Path | None,
    later: Callable[[Coroutine[object, object, None]], None],
    factors: Factors,
    keys: Keys,
) -> Office:
    """Build them."""
    return Office(
        story=RequestStory(store=store, book=book, reconcile=Reconcile(store=store)),
        trail=TrailSearch(store=store, book=book),
        pulse=Pulse(store=store, book=book),
        rules=Rules(store=store, book=book, standing=StandingApprovals(store=store, book=book)),
        proposed=ProposedFile(store=store, book=book),
        verify=VerifyNow(store=store, book=book, head_file=head_file, later=later),
        admin=Administration(store=store, book=book, seals=seals, factors=factors, keys=keys),
    )
