"""One request as a story: what happened when, the card as it is stored, and what to do about an unknown outcome.

Whoever may look at the request may read its story, and whoever may read the trail. That it was looked at is in the
trail, once in a while, as for the page on which it is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import instant_text
from app.domain.errors import NotFoundError, UnauthenticatedError
from app.domain.request.request import CONSOLE, UNCERTAIN_STATES, ExecutionStatus, State
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.storage.cards.accounts import list_of_person
from app.storage.cards.deliveries import list_deliveries
from app.storage.requests.requests import find_request
from app.storage.requests.seen_before import seen_before, was_seen
from app.storage.trail.audit_chain import list_of_request
from app.usecases.console.glance import MayDo, glance_of
from app.usecases.console.office.timeline import timeline_of
from app.usecases.console.rights import Page
from app.usecases.console.sessions import pages_of, refusal_for
from app.usecases.executing.claim import Caller
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.reading.review import may_look
from app.usecases.reading.review_sheet import sheet_for

if TYPE_CHECKING:
    from app.domain.errors import AssentError
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.cards.accounts import KnownAccount
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.glance import Glance
    from app.usecases.console.office.timeline import Timeline
    from app.usecases.console.sessions import Right
    from app.usecases.executing.reconcile import Reconcile
    from app.usecases.reading.review_sheet import Sheet

MOST_NOTE = 1_000
"""Characters of the evidence on which an outcome is settled."""

_LOOKED = "console look"  # as the page on which it is decided remembers it


class Copy(Struct, frozen=True, kw_only=True):
    """One copy of the card: where, which revision, since when, and how it stands there."""

    where: str
    revision: int
    at: str
    stands: str


class RequestPage(Struct, frozen=True, kw_only=True):
    """The page. Every text is visible, masked and in the reader's language."""

    sheet: Sheet
    glance: Glance
    timeline: Timeline
    copies: tuple[Copy, ...]
    unheard: tuple[str, ...]  # who is to hear how it ends, and can be told in no chat
    pages: frozenset[Page]
    decides: bool  # whether the page on which it is decided is open to the reader
    uncertain: bool  # whether nobody knows what became of it
    may_settle: bool
    read_at: str


class RequestStory:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, reconcile: Reconcile) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._reconcile = reconcile

    async def show(self, right: Right, request_id: str, language: Language) -> RequestPage:
        """Return the page. Raises UnauthenticatedError, ForbiddenError and NotFoundError."""
        policy = self._book.current(right.org).policy
        looked = f"{right.name}:{request_id}"

        def unit(tx: Tx) -> tuple[RequestPage, bool] | AssentError:
            request, now = find_request(tx, request_id), tx.now()
            if now >= right.until or right.request_id is not None:
                return UnauthenticatedError()
            pages = pages_of(right)
            if request is None:  # one who may not look hears nothing of what there is
                return NotFoundError()
            decides = may_look(request, policy, right.person, now=now)
            if not decides and Page.TRAIL not in pages:
                return NotFoundError()
            events = list_of_request(tx, request_id)
            pause = pause_shown(tx, request)
            uncertain = request.state in UNCERTAIN_STATES
            page = RequestPage(
                sheet=sheet_for(request, events, policy, language, reader=right.person, pause=pause),
                glance=glance_of(request, policy, language, now=now, may=MayDo()),
                timeline=timeline_of(request, events, language, now=now),
                copies=tuple(_copy(each, policy) for each in list_deliveries(tx, request_id)),
                unheard=_unheard(tx, request, policy),
                pages=pages,
                decides=decides,
                uncertain=uncertain,
                may_settle=uncertain and Page.SETTLE in pages,
                read_at=instant_text(now, policy.zone),
            )
            return page, was_seen(tx, _LOOKED, looked)

        def note(tx: Tx) -> None:
            if not seen_before(tx, _LOOKED, looked):
                facts = {"via": CONSOLE, "digest": page.sheet.digest}
                tx.append(Record(kind=Kind.REVIEWED, actor=right.person, facts=facts), request_id=request_id)

        page, is_noted = await self._store.read(unit, org=right.org, long=True)
        if not is_noted:
            await self._store.write(note, org=right.org)
        return page

    async def settle(self, right: Right, request_id: str, *, ran: bool, note: str) -> State:
        """Settle an unknown outcome by evidence, as the person of the session; nothing runs because of it.

        Raises what `show` and `Reconcile` raise; ForbiddenError for whom `rights` does not let.
        """
        policy = self._book.current(right.org).policy

        def may(tx: Tx) -> AssentError | bool:
            refused, request = refusal_for(tx, right, Page.SETTLE), find_request(tx, request_id)
            if refused is not None:
                return refused
            if request is None or not (
                Page.TRAIL in pages_of(right) or may_look(request, policy, right.person, now=tx.now())
            ):
                return NotFoundError()  # nobody settles what they may not read
            return True

        await self._store.read(may, org=right.org)
        status = ExecutionStatus.SUCCEEDED if ran else ExecutionStatus.FAILED
        settled = await self._reconcile(
            Caller(org=right.org, by=right.person),
            request_id=request_id,
            status=status,
            result=None,
            error=None if ran else note,
            note=note,
        )
        return settled.state


def _unheard(tx: Tx, request: ConfirmationRequest, policy: Policy) -> tuple[str, ...]:
    silent = [who for who in request.hearers if not any(_reaches(each) for each in list_of_person(tx, who).values())]
    return tuple(visible(name_of(policy, who)) for who in silent)


def _reaches(known: KnownAccount) -> bool:
    return known.account.status.reachable


def _copy(delivery: Delivery, policy: Policy) -> Copy:
    whose = f" · {visible(delivery.person)}" if delivery.person else ""
    return Copy(
        where=f"{visible(delivery.channel)} · {visible(delivery.chat_id)}{whose}",
        revision=delivery.revision,
        at=instant_text(delivery.posted_at, policy.zone) if delivery.posted_at else "",
        stands=delivery.status.value,
    )
