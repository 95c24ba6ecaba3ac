"""Passkeys: set up with an administrator's invitation, and used to approve and to sign in.

A device signs the hash of a challenge that says what it is for. What it answers is checked outside of the unit of work;
that it is answered once, and by no copy, inside of it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import structlog
from msgspec import Struct
from msgspec.structs import replace

from app.domain.errors import AssentError, ForbiddenError, InvalidError, NotFoundError, UnauthenticatedError
from app.domain.identity.passkey import (
    CHALLENGE_FOR,
    Aim,
    Challenge,
    Passkey,
    Proven,
    is_sealed,
    parse_challenge,
    render_challenge,
    rp_id,
    seal_passkey,
    signed_for,
    user_handle,
)
from app.domain.identity.press import parse_press
from app.domain.identity.seals import BadTokenError
from app.domain.people.people import email_key
from app.domain.request.decision import Evidence
from app.domain.request.request import CONSOLE
from app.domain.trail.audit import Kind, Record
from app.storage.engine.transaction import EVERY_ORG
from app.storage.identity.factors import find_factor
from app.storage.identity.passkeys import find_passkey, insert_passkey, list_passkeys
from app.storage.requests.requests import find_request
from app.storage.requests.seen_before import seen_before
from app.usecases.console.sessions import begin_session
from app.usecases.passkeys.answered import covered_by, use_answer
from app.usecases.passkeys.ceremony import (
    count_signed,
    creation_options,
    credential_in,
    made_key,
    request_options,
)
from app.usecases.proving.factors import lock_invited, use_invitation
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.identity.factor import Factor
    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Begun, Right

log = structlog.get_logger(__name__)

Made = TypeVar("Made")

_MADE = "passkey made"


class Asked(Struct, frozen=True, kw_only=True):
    """What a page gives to the browser (`options`), and gets back with its answer (`challenge`)."""

    options: dict[str, object]
    challenge: str


class Mine(Struct, frozen=True, kw_only=True):
    """What a person has: `possible` says whether passkeys are made where this gateway is reached."""

    totp: Factor | None
    passkeys: tuple[Passkey, ...]
    possible: bool


class Passkeys:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def mine(self, right: Right) -> Mine:
        """Return what the person of a session has."""
        who = email_key(right.person)

        def look(tx: Tx) -> Mine:
            possible = rp_id(self._policy(right.org).url) is not None
            return Mine(totp=find_factor(tx, who), passkeys=tuple(list_passkeys(tx, who)), possible=possible)

        return await self._store.read(look, org=right.org)

    async def begin(self, right: Right, code: str) -> Asked:
        """Say what a browser needs to make a passkey, to whom has an invitation. It is not used up yet.

        Raises ForbiddenError, LockedError, and InvalidError where browsers make none.
        """
        who = email_key(right.person)
        site = _site(self._policy(right.org))

        def unit(tx: Tx) -> tuple[Challenge, tuple[Passkey, ...]] | AssentError:
            factor = lock_invited(tx, self._seals, who, code)
            if isinstance(factor, AssentError):
                return factor
            return self._challenge(tx, Aim.ENROL, right), tuple(list_passkeys(tx, who))

        challenge, known = await self._store.write(unit, org=right.org)
        token = render_challenge(self._seals, challenge)
        handle = user_handle(self._seals, right.org, who)
        options = await _beside(
            partial(
                creation_options,
                site=site,
                challenge=signed_for(token),
                handle=handle,
                person=right.person,
                org=right.org,
                known=known,
            )
        )
        return Asked(options=options, challenge=token)

    async def enrol(self, right: Right, code: str, token: str, answer: str) -> Passkey:
        """Take a new passkey into use, and the invitation with it.

        Raises ForbiddenError, LockedError, and InvalidError where browsers make none.
        """
        who, policy = email_key(right.person), self._policy(right.org)
        challenge = self._answered(right, token, Aim.ENROL)
        made = partial(made_key, answer, challenge=signed_for(token), site=_site(policy), origin=origin_of(policy))
        credential, public_key, signs = await _beside(made)

        def unit(tx: Tx) -> Passkey | AssentError:
            factor = lock_invited(tx, self._seals, who, code)
            if isinstance(factor, AssentError):
                return factor
            now = tx.now()
            if now >= challenge.not_after or seen_before(tx, _MADE, challenge.nonce):
                return ForbiddenError("this took too long, or was sent twice: begin anew")
            blank = Passkey(
                id=tx.ids.new("pk"),
                org=tx.org,
                person=who,
                credential=credential,
                public_key=public_key,
                signs=signs,
                added_at=now,
            )
            passkey = replace(blank, seal=seal_passkey(self._seals, blank))
            use_invitation(tx, factor)
            insert_passkey(tx, passkey)
            tx.append(Record(kind=Kind.PASSKEY_ADDED, actor=who, facts={"person": who, "passkey": passkey.id}))
            return passkey

        if await self._store.read(lambda tx: find_passkey(tx, credential) is not None, org=EVERY_ORG):
            raise ForbiddenError("this passkey is somebody's already")
        return await self._store.write(unit, org=right.org)

    async def ask_approval(self, right: Right, request_id: str, press: str) -> Asked:
        """Say what a browser needs to have the approval signed that a page shows.

        Raises UnauthenticatedError for a form that is not of this session, and NotFoundError.
        """
        who = email_key(right.person)
        site = _site(self._policy(right.org))
        try:
            shown = parse_press(self._seals, press, session=right.name, request_id=request_id)
        except BadTokenError:
            raise UnauthenticatedError from None

        def look(tx: Tx) -> tuple[Challenge, tuple[Passkey, ...]] | AssentError:
            request = find_request(tx, request_id)
            if request is None or right.request_id not in {None, request_id}:
                return NotFoundError()
            covers = covered_by(request)
            if shown.stood not in covers:  # what was seen is signed, or nothing
                return ForbiddenError("it has moved on since")
            return self._challenge(tx, Aim.APPROVE, right, covers), tuple(list_passkeys(tx, who))

        challenge, known = await self._store.read(look, org=right.org)
        token = render_challenge(self._seals, challenge)
        options = await _beside(partial(request_options, site=site, challenge=signed_for(token), known=known))
        return Asked(options=options, challenge=token)

    async def proven(self, right: Right, request_id: str, token: str, answer: str) -> Proven:
        """Check what a passkey of the person signed for an approval in this session.

        What is wrong is in the trail. Raises ForbiddenError.
        """
        try:
            return await self._signed(self._answered(right, token, Aim.APPROVE), token, answer)
        except (ForbiddenError, UnauthenticatedError):
            record = refused_click(Evidence(channel=CONSOLE), why="wrong_passkey", person=right.person)
            about = request_id if right.request_id in {None, request_id} else None

            def note(tx: Tx) -> None:
                tx.append(record, request_id=about if about and find_request(tx, about) else None)

            await self._store.write(note, org=right.org)
            raise ForbiddenError("the passkey did not sign this") from None

    async def ask_act(self, right: Right, covers: tuple[str, ...]) -> Asked:
        """Say what a browser needs to have an act signed that takes a second factor. Raises InvalidError."""
        site = _site(self._policy(right.org))

        def look(tx: Tx) -> tuple[Challenge, tuple[Passkey, ...]]:
            known = tuple(list_passkeys(tx, email_key(right.person)))
            return self._challenge(tx, Aim.ACT, right, covers), known

        challenge, known = await self._store.read(look, org=right.org)
        token = render_challenge(self._seals, challenge)
        options = await _beside(partial(request_options, site=site, challenge=signed_for(token), known=known))
        return Asked(options=options, challenge=token)

    async def acted(self, right: Right, token: str, answer: str) -> Proven:
        """Check what a passkey of the person signed for an act in this session. Raises ForbiddenError."""
        try:
            return await self._signed(self._answered(right, token, Aim.ACT), token, answer)
        except UnauthenticatedError:
            raise ForbiddenError("the passkey did not sign this") from None

    async def ask_sign_in(self) -> Asked:
        """Say what a browser needs to have a sign-in signed, by whichever passkey its person chooses."""

        def look(tx: Tx) -> Challenge:
            return Challenge(aim=Aim.SIGN_IN, nonce=tx.ids.new("way"), not_after=tx.now() + CHALLENGE_FOR)

        token = render_challenge(self._seals, await self._store.read(look, org=EVERY_ORG))
        options = await _beside(partial(request_options, site="-", challenge=signed_for(token)))
        del options["rpId"]  # the site's own: whose passkey it is, is not known yet, nor therefore under which address
        return Asked(options=options, challenge=token)

    async def door(self, answer: str) -> Policy:
        """Return the configuration that the passkey of an answer stands under. Raises UnauthenticatedError."""
        return self._policy((await self._found(answer)).org)

    async def sign_in(self, token: str, answer: str) -> Begun:
        """Begin a session for the person of a passkey. Raises UnauthenticatedError."""
        try:
            challenge = parse_challenge(self._seals, token)
            proven = await self._signed(challenge, token, answer)
        except (BadTokenError, ForbiddenError, InvalidError):
            raise UnauthenticatedError from None
        passkey = proven.passkey

        def unit(tx: Tx) -> Begun | AssentError:
            known = self._policy(passkey.org).directory.find(passkey.person)
            why = use_answer(tx, proven, aim=Aim.SIGN_IN, person=passkey.person)
            if known is None or why is not None:
                evidence = Evidence(channel=CONSOLE)
                tx.append(refused_click(evidence, why=why or "nobody_of_the_file", person=passkey.person))
                return UnauthenticatedError()
            return begin_session(tx, self._seals, known.email, via="passkey")

        return await self._store.write(unit, org=passkey.org)

    async def _signed(self, challenge: Challenge, token: str, answer: str) -> Proven:
        """Check what a passkey signed. Raises ForbiddenError and UnauthenticatedError."""
        passkey = await self._found(answer)
        if challenge.org and (challenge.org, challenge.person) != (passkey.org, passkey.person):
            raise ForbiddenError("this passkey is somebody else's")
        policy = self._policy(passkey.org)
        check = partial(
            count_signed,
            answer,
            passkey,
            challenge=signed_for(token),
            site=_site(policy),
            origin=origin_of(policy),
        )
        return Proven(challenge=challenge, passkey=passkey, signs=await _beside(check))

    async def _found(self, answer: str) -> Passkey:
        try:
            credential = credential_in(answer)
        except ForbiddenError:
            raise UnauthenticatedError from None
        passkey = await self._store.read(lambda tx: find_passkey(tx, credential), org=EVERY_ORG)
        if passkey is None:
            raise UnauthenticatedError
        if not is_sealed(self._seals, passkey):
            log.error("passkey.forged", org=passkey.org, person=passkey.person, passkey=passkey.id)
            raise UnauthenticatedError
        try:
            self._policy(passkey.org)
        except NotFoundError:
            raise UnauthenticatedError from None
        return passkey

    def _answered(self, right: Right, token: str, aim: Aim) -> Challenge:
        """Return the challenge that was put to this very session. Raises ForbiddenError."""
        try:
            challenge = parse_challenge(self._seals, token)
        except BadTokenError:
            raise ForbiddenError("this is no challenge of ours") from None
        ours = (aim, right.org, email_key(right.person), right.name)
        if (challenge.aim, challenge.org, challenge.person, challenge.session) != ours:
            raise ForbiddenError("this challenge was put to somebody else")
        return challenge

    def _challenge(self, tx: Tx, aim: Aim, right: Right, covers: tuple[str, ...] = ()) -> Challenge:
        until: datetime = tx.now() + CHALLENGE_FOR
        return Challenge(
            aim=aim,
            org=right.org,
            person=email_key(right.person),
            session=right.name,
            covers=covers,
            nonce=tx.ids.new("way"),
            not_after=until,
        )

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy


def origin_of(policy: Policy) -> str:
    """Return the origin that pages have under the file's address."""
    parts = urlsplit(policy.url or "")
    port = "" if parts.port in {None, {"https": 443, "http": 80}.get(parts.scheme)} else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else str(parts.hostname)
    return f"{parts.scheme}://{host}{port}"


def _site(policy: Policy) -> str:
    """Return for which site passkeys are. Raises InvalidError where there are none."""
    site = rp_id(policy.url)
    if site is None:
        raise InvalidError("passkeys take an address of a name over https (`url` in assent.yaml)", path="url")
    return site


async def _beside(work: Callable[[], Made]) -> Made:
    """Run what imports the library, or reckons with keys, beside the loop."""
    return await asyncio.to_thread(work)
