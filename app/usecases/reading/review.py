"""Let one person read all of one request: the way to the page, the door, and what stands behind it.

The way is a link that works once, within minutes, for the person it was made for; it is made on a click of "See all of
it" or for a personal API key, goes to that person alone, and is kept nowhere. Using it opens a session for that one
request. Whether the person still may look is asked each time: on the click, at the door, and at every view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import ForbiddenError, InvalidError, LackingSecretError, NotFoundError, UnauthenticatedError
from app.domain.identity.review_link import LINK_FOR, Purpose, SignIn, parse_right, render_token
from app.domain.identity.seals import BadTokenError
from app.domain.people.people import email_key
from app.domain.request.request import API
from app.domain.trail.audit import Kind, Record
from app.domain.words.say import say
from app.storage.requests.requests import find_request, lock_request
from app.storage.requests.sealing import why_missing
from app.storage.requests.seen_before import seen_before
from app.usecases.voters.electorate import named_for, voters_of

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.errors import AssentError
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_DOOR = "review sign-in"
"""Where used links are remembered, beside the clicks of channels; no channel's name has a blank."""


class Way(Struct, frozen=True, kw_only=True):
    """A link to the page of one request. Whoever has it can use it, once: it is a secret until then."""

    url: str
    not_after: datetime


class Entered(Struct, frozen=True, kw_only=True):
    """An open session."""

    session: str
    request_id: str
    not_after: datetime


class Review:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, clock: Clock) -> None:
        """Take what it works on. `clock` only says early that a link is old; the store's own clock decides."""
        self._store = store
        self._book = book
        self._seals = seals
        self._clock = clock

    async def way(self, org: str, request_id: str, person: str) -> Way:
        """Return a link for whoever's key this is.

        Raises NotFoundError, ForbiddenError, and InvalidError where the file gives no address for pages.
        """

        def unit(tx: Tx) -> Way | AssentError:
            policy = self._book.current(org).policy
            request = find_request(tx, request_id)
            if request is None:
                return NotFoundError()
            if not may_look(request, policy, person, now=tx.now()):
                return ForbiddenError(say(policy.language, "click.no_view"))
            if policy.url is None:
                return InvalidError(say(policy.language, "click.review_off"), path="url")
            return self.link(tx, policy.url, request_id, person, API)

        return await self._store.read(unit, org=org)

    def door(self, link: str) -> Policy:
        """Return the configuration that a link stands under. Nothing is used up by asking.

        Raises UnauthenticatedError for a link that is not ours or over, and where there are no pages any more.
        """
        policy = self._policy(self._opened(Purpose.LINK, link, self._clock.now()).org)
        if policy.url is None:
            raise UnauthenticatedError
        return policy

    async def enter(self, link: str) -> Entered:
        """Use a link up: open its session, and say so in the trail, once.

        Raises UnauthenticatedError for a link that is not ours, over or used, and ForbiddenError for who may no longer.
        """

        def unit(tx: Tx, policy: Policy) -> Entered | AssentError:
            locked = lock_request(tx, right.request_id)  # of two at once, the second finds the link used
            if locked is None:
                missing = why_missing(tx, right.request_id)
                return missing if isinstance(missing, LackingSecretError) else UnauthenticatedError()
            request, now = locked
            try:
                self._opened(Purpose.LINK, link, now)
            except UnauthenticatedError as error:
                return error
            if not may_look(request, policy, right.person, now=now):
                return ForbiddenError()
            if seen_before(tx, _DOOR, right.nonce):
                return UnauthenticatedError()
            record = Record(kind=Kind.REVIEWED, actor=right.person, facts={"via": right.via, "digest": request.digest})
            tx.append(record, request_id=request.id)
            session = right.session(now=now)
            token = render_token(self._seals, Purpose.SESSION, session)
            return Entered(session=token, request_id=request.id, not_after=session.not_after)

        right = self._opened(Purpose.LINK, link, self._clock.now())
        return await self._store.write(lambda tx: unit(tx, self._policy(right.org)), org=right.org)

    def right_of(self, session: str) -> SignIn:
        """Return whose session this is, for which request, until when. Raises UnauthenticatedError.

        Early only: whether it is over, the store's own clock decides.
        """
        return self._opened(Purpose.SESSION, session, self._clock.now())

    def link(self, tx: Tx, base: str, request_id: str, person: str, via: str) -> Way:
        """Make a link for one person. It is kept nowhere."""
        not_after = tx.now() + LINK_FOR
        right = SignIn(
            org=tx.org, person=person, request_id=request_id, via=via, nonce=tx.ids.new("way"), not_after=not_after
        )
        token = render_token(self._seals, Purpose.LINK, right)
        return Way(url=f"{base}/sign-in?t={token}", not_after=not_after)

    def _opened(self, purpose: Purpose, token: str, now: datetime) -> SignIn:
        """Return what a token was sealed for. Raises UnauthenticatedError, whatever is wrong with it."""
        try:
            right = parse_right(self._seals, purpose, token, now=now)
            self._book.current(right.org)
        except (BadTokenError, NotFoundError):
            raise UnauthenticatedError from None
        return right

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy


def may_look(request: ConfirmationRequest, policy: Policy, person: str, *, now: datetime) -> bool:
    """Say whether a person of the file may see all of a request at this instant.

    Whoever may decide it, the requester, the agent's owner; and those of its groups who took part already, such as who
    changed the call or handed over.
    """
    known = policy.directory.find(person)
    if known is None:
        return False
    call = request.call
    if email_key(known.email) in {email_key(who) for who in (call.requester, call.owner) if who}:
        return True
    if known.email in voters_of(request, policy, now=now).entitled():
        return True
    members = named_for(call, (name for stage in request.stages for name in stage.of), policy)
    took_part = {request.edited_by, *(over.by for over in request.handovers), *(d.person for d in request.decisions)}
    return known.email in members & took_part
