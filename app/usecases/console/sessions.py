"""Who looks at the console: the links that begin a session, what a session opens, and its end.

A card's link opens one request for half an hour, and is kept nowhere. A sign-in link, made by an operator, opens all
that concerns one person, until the session is idle, old or ended. Both work once.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import AssentError, ForbiddenError, InvalidError, NotFoundError, UnauthenticatedError
from app.domain.identity.console_session import LASTS, id_in, new_session, opens_session
from app.domain.identity.provider import claimed_by
from app.domain.identity.review_link import SESSION_FOR, Purpose, SignIn, parse_right, render_token
from app.domain.identity.seals import BadTokenError
from app.domain.people.people import email_key
from app.domain.trail.audit import Kind, Record
from app.domain.words.say import say
from app.policies.marks.faults import near
from app.storage.engine.transaction import EVERY_ORG
from app.storage.identity.console_sessions import (
    end_everywhere,
    end_session,
    end_session_of,
    find_session,
    has_sessions,
    insert_session,
    left_at,
    list_sessions,
    see_session,
)
from app.storage.requests.request_lists import list_ids
from app.storage.requests.seen_before import seen_before
from app.usecases.console.rights import Page, pages_for, roles_for
from app.usecases.reading.review import Way

if TYPE_CHECKING:
    from app.domain.identity.console_session import ConsoleSession
    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.reading.review import Review

SIGN_IN_WITHIN = timedelta(minutes=10)
"""How long a sign-in link may be used, once: shorter than used ones are remembered."""

_DOOR = "console sign-in"
_SEEN_AGAIN = timedelta(minutes=1)
_AT_ANY_TIME = datetime.min.replace(tzinfo=UTC)  # before each link's own end


class Right(Struct, frozen=True, kw_only=True):
    """What a browser may look at: one person's requests, or one of them."""

    org: str
    person: str
    request_id: str | None  # None: all that concerns them
    name: str  # the session's own unguessable name
    until: datetime
    pages: frozenset[Page] = frozenset()  # what the file's roles open to the person, as of this visit


def pages_of(right: Right) -> frozenset[Page]:
    """Return what the person of a session may open; one request's session opens none."""
    return right.pages if right.request_id is None else frozenset()


def refusal_for(tx: Tx, right: Right, page: Page) -> AssentError | None:
    """Say why a session may not open a page at this instant; None if it may."""
    if tx.now() >= right.until:
        return UnauthenticatedError()
    if page not in pages_of(right):
        return ForbiddenError(roles=[role.value for role in roles_for(page)])
    return None


class Door(Struct, frozen=True, kw_only=True):
    """What a link opens, and to whom."""

    policy: Policy
    person: str
    is_whole: bool  # all that concerns the person, not one request


class Begun(Struct, frozen=True, kw_only=True):
    """An open session; `request_id` is what it opens, None: all that concerns the person."""

    session: str
    request_id: str | None
    lasts: timedelta


class Sessions:
    """Make links, begin, look, end."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, clock: Clock, review: Review) -> None:
        """Take what it works on; `review` is the way in for one request."""
        self._store = store
        self._book = book
        self._seals = seals
        self._clock = clock
        self._review = review

    async def invite(self, org: str, person: str, *, by: str) -> Way:
        """Make a sign-in link for a person of the file.

        Raises InvalidError for whom the file does not know, and where it gives no address for pages.
        """
        policy = self._book.current(org).policy
        known = policy.directory.find(person)
        if known is None:
            hint = near(person, [each.email for each in policy.directory.people.values()], what="people")
            raise InvalidError(f"{person} is not under people in the configuration; {hint}", path="person")
        base = policy.url
        if base is None:
            raise InvalidError(say(policy.language, "click.review_off"), path="url")

        def unit(tx: Tx) -> Way:
            not_after = tx.now() + SIGN_IN_WITHIN
            right = SignIn(
                org=org, person=known.email, request_id="", via=by, nonce=tx.ids.new("way"), not_after=not_after
            )
            tx.append(Record(kind=Kind.LINK_MADE, actor=by, facts={"person": known.email}))
            token = render_token(self._seals, Purpose.CONSOLE, right)
            return Way(url=f"{base}/sign-in?t={token}", not_after=not_after)

        return await self._store.write(unit, org=org)

    async def first_link(self, org: str) -> tuple[str, str] | None:
        """Return whom the file names first, and a sign-in link for them, as long as nothing was asked for here yet.

        None once something was, once somebody has signed in, and where there are no pages or no people.
        """
        policy = self._book.current(org).policy
        first = next(iter(policy.directory.people.values()), None)
        if policy.url is None or first is None or not await self._store.read(_is_untouched, org=org):
            return None
        return first.email, (await self.invite(org, first.email, by="system")).url

    def door(self, link: str) -> Door:
        """Return what a link opens. Nothing is used up by asking. Raises UnauthenticatedError."""
        try:
            policy = self._review.door(link)
        except UnauthenticatedError:
            right = self._invited(link, self._clock.now())
            policy = self._policy(right.org)
            if policy.url is None:
                raise
            return Door(policy=policy, person=right.person, is_whole=True)
        right = parse_right(self._seals, Purpose.LINK, link, now=_AT_ANY_TIME)
        return Door(policy=policy, person=right.person, is_whole=False)

    async def another(self, door: Door, of_person: str) -> Right | None:
        """Return the session that a browser holds of somebody else than the one whose link to one request this is."""
        if door.is_whole:  # it begins a session in the place of the other
            return None
        with suppress(UnauthenticatedError):
            right = await self._of_session(of_person, used=False)
            return None if email_key(right.person) == email_key(door.person) else right
        return None

    def kind_of(self, link: str) -> Purpose | None:
        """Say what a link of ours was made for, also one that is used up or over; None: it is none of ours."""
        for purpose in (Purpose.LINK, Purpose.CONSOLE):
            with suppress(BadTokenError):
                parse_right(self._seals, purpose, link, now=_AT_ANY_TIME)
                return purpose
        return None

    async def enter(self, link: str) -> Begun:
        """Use a link up and begin its session. Raises UnauthenticatedError and ForbiddenError."""
        if not self.door(link).is_whole:
            entered = await self._review.enter(link)
            lasts = entered.not_after - self._clock.now()
            return Begun(session=entered.session, request_id=entered.request_id, lasts=lasts)

        def unit(tx: Tx) -> Begun | AssentError:
            try:
                right = self._invited(link, tx.now())
            except UnauthenticatedError as error:
                return error
            known = self._policy(right.org).directory.find(right.person)
            if known is None or seen_before(tx, _DOOR, right.nonce):  # of two at once, one finds it used
                return UnauthenticatedError()
            return begin_session(tx, self._seals, known.email, via=right.via)

        org = self._invited(link, self._clock.now()).org
        return await self._store.write(unit, org=org)

    async def right_of(self, of_link: str, of_person: str, *, used: bool = True) -> Right:
        """Return what a browser may look at that holds these; either may be "". Raises UnauthenticatedError.

        A browser that is signed in is that person's, whatever link of somebody else's was opened in it before.

        `used`: whether that keeps a session from being idle; a page that only stays open does not.
        """
        try:
            right = self._review.right_of(of_link)
            left = await self._store.read(lambda tx: left_at(tx, email_key(right.person)), org=right.org)
            if left is not None and right.not_after - SESSION_FOR <= left:
                raise UnauthenticatedError  # noqa: TRY301 - its person has signed out everywhere since
        except UnauthenticatedError:
            return await self._of_session(of_person, used=used)
        with suppress(UnauthenticatedError):
            signed_in = await self._of_session(of_person, used=used)
            if email_key(signed_in.person) != email_key(right.person):
                return signed_in
        return Right(
            org=right.org,
            person=right.person,
            request_id=right.request_id,
            name=right.nonce,
            until=right.not_after,
        )

    def policy_of(self, right: Right) -> Policy:
        """Return the configuration that a session stands under."""
        return self._policy(right.org)

    def seal_of(self, right: Right) -> str:
        """Return what proves that a form without a request is of a page of this session."""
        return ".".join(self._seals.seal("console-press", right.name))

    def is_sealed(self, right: Right, seal: str) -> bool:
        """Say whether a form is of a page of this session."""
        key_id, _, mac = seal.partition(".")
        try:
            self._seals.verify_text("console-press", right.name, key_id=key_id, mac=mac)
        except BadTokenError:
            return False
        return True

    async def end(self, right: Right, *, everywhere: bool) -> None:
        """End a session, or all of its person, on whichever device; then also what cards' links have opened."""

        def unit(tx: Tx) -> None:
            _say_ended(tx, right, end_everywhere(tx, right.person) if everywhere else end_session(tx, right.name))

        await self._store.write(unit, org=right.org)

    async def end_one(self, right: Right, session_id: str) -> None:
        """End one session of the same person, on another device."""
        await self._store.write(
            lambda tx: _say_ended(tx, right, end_session_of(tx, right.person, session_id)), org=right.org
        )

    async def mine(self, right: Right) -> list[ConsoleSession]:
        """Return the sessions that the person of a session has, the newest first."""
        return await self._store.read(lambda tx: list_sessions(tx, right.person), org=right.org)

    async def _of_session(self, text: str, *, used: bool) -> Right:
        session_id = id_in(text)
        if session_id is None:
            raise UnauthenticatedError

        def look(tx: Tx) -> tuple[ConsoleSession | None, datetime]:
            return find_session(tx, session_id), tx.now()

        found, now = await self._store.read(look, org=EVERY_ORG)
        if found is None or not opens_session(self._seals, found, text) or not found.live(now):
            raise UnauthenticatedError
        try:
            loaded = self._book.current(found.org)
        except NotFoundError:
            raise UnauthenticatedError from None
        known, groups = loaded.policy.directory.find(found.person), claimed_by(found, loaded.providers)
        if known is None or groups is None:
            raise UnauthenticatedError
        if used and now - found.seen_at >= _SEEN_AGAIN:
            await self._store.write(lambda tx: see_session(tx, found.id, tx.now()), org=found.org)
        return Right(
            org=found.org,
            person=known.email,
            request_id=None,
            name=found.id,
            until=found.not_after,
            pages=pages_for(loaded.policy, known.email, groups),
        )

    def _invited(self, link: str, now: datetime) -> SignIn:
        try:
            right = parse_right(self._seals, Purpose.CONSOLE, link, now=now)
            self._policy(right.org)
        except (BadTokenError, NotFoundError):
            raise UnauthenticatedError from None
        return right

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy


def _say_ended(tx: Tx, right: Right, ended: int) -> None:
    if ended:
        tx.append(Record(kind=Kind.SIGNED_OUT, actor=right.person, facts={"sessions": ended}))


def begin_session(tx: Tx, seals: Seals, person: str, *, via: str, groups: tuple[str, ...] = ()) -> Begun:
    """Begin a session of a person of the file, who was identified just now. It is always a new one."""
    session, text = new_session(seals, org=tx.org, person=person, via=via, now=tx.now(), groups=groups)
    insert_session(tx, session)
    tx.append(Record(kind=Kind.SIGNED_IN, actor=person, facts={"via": via}))
    return Begun(session=text, request_id=None, lasts=LASTS)


def _is_untouched(tx: Tx) -> bool:
    return not has_sessions(tx) and not list_ids(tx, behind="", most=1)
