"""Who has what: roles, second factors, sessions, keys; and what an administrator does about it.

It acts by the same use cases as the command line, in the administrator's own name. What takes something away is asked
for once more on the page; what gives somebody more than they had (an invitation to a second factor) takes a fresh one
of the administrator's own, spent in the same unit. No sign-in link is made here: whoever sees one could sign in as
somebody else, and no role lets one person decide as two.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import instant_text
from app.domain.errors import NotFoundError
from app.domain.identity.api_key import sealed_under
from app.domain.people.people import email_key
from app.domain.people.roles import CLAIM, GIVEN, roles_of
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.domain.words.say import say
from app.storage.identity.api_keys import list_keys
from app.storage.identity.console_sessions import end_everywhere, list_open_sessions
from app.storage.identity.factors import list_factors
from app.storage.identity.passkeys import list_passkeys
from app.usecases.console.rights import Page
from app.usecases.console.sessions import pages_of, refusal_for
from app.usecases.proving.proof import prove_act
from app.usecases.reading.keys import USES_NOTED_EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from app.domain.errors import AssentError
    from app.domain.identity.api_key import ApiKey
    from app.domain.identity.factor import Factor
    from app.domain.identity.passkey import Passkey
    from app.domain.identity.seals import Seals
    from app.domain.people.roles import Role
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right
    from app.usecases.proving.factors import Factors, Invitation
    from app.usecases.proving.proof import Given
    from app.usecases.reading.keys import Keys

MOST_SHOWN = 20  # of each: with all that can be done about them, a page stays below 60 kB
_MOST_SESSIONS = 1_000


class PersonRow(Struct, frozen=True, kw_only=True):
    """One person of the file. `factor`: of an app; `passkeys` by our id and what is said of each."""

    email: str
    name: str
    roles: tuple[str, ...]
    factor: str
    has_factor: bool  # or an invitation
    passkeys: tuple[tuple[str, str], ...]
    sessions: int


class KeyRow(Struct, frozen=True, kw_only=True):
    """One key that works, without anything of its secret."""

    id: str
    scope: str
    whose: str
    label: str
    created: str
    ends: str
    used: str


class AdminPage(Struct, frozen=True, kw_only=True):
    """The page. `more` and `more_keys` are how many are not shown; `claims` the roles that issuers' groups give."""

    people: tuple[PersonRow, ...]
    more: int
    claims: tuple[tuple[str, str], ...]
    keys: tuple[KeyRow, ...]
    more_keys: int
    noted_minutes: int
    sought: str
    by_app: bool  # the administrator's own factors
    by_passkey: bool
    pages: frozenset[Page]
    read_at: str


class Administration:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, factors: Factors, keys: Keys) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals
        self._factors = factors
        self._keys = keys

    async def show(self, right: Right, language: Language, *, sought: str = "") -> AdminPage:
        """Return the page, of those whose name, e-mail, agent or key has `sought` in it.

        Raises UnauthenticatedError and ForbiddenError.
        """
        policy = self._book.current(right.org).policy

        def unit(tx: Tx) -> AdminPage | AssentError:
            return refusal_for(tx, right, Page.ADMIN) or _page(tx, right, policy, language, sought.strip()[:200])

        return await self._store.read(unit, org=right.org, long=True)

    async def may(self, right: Right) -> None:
        """Raise ForbiddenError or UnauthenticatedError for whoever is no administrator at this instant."""
        await self._store.read(lambda tx: refusal_for(tx, right, Page.ADMIN) or True, org=right.org)

    async def invite(self, right: Right, person: str, given: Given) -> Invitation:
        """Invite somebody to a second factor, with one of the administrator's own.

        Raises ForbiddenError, UnauthenticatedError, InvalidError, StepUpNeededError and LockedError.
        """

        def proof(tx: Tx) -> AssentError | None:
            covers = covers_invitation(person)
            return refusal_for(tx, right, Page.ADMIN) or prove_act(
                tx, self._seals, person=right.person, given=given, covers=covers
            )

        return await self._factors.invite(right.org, person, by=right.person, proof=proof)

    async def take_away(self, right: Right, person: str, *, passkey: str | None) -> None:
        """Take a person's second factors away, or one passkey; it signs them out. Raises as `may`, NotFoundError."""
        await self.may(right)
        await self._factors.remove(right.org, person, by=right.person, passkey=passkey)

    async def revoke(self, right: Right, key_id: str) -> None:
        """End a key of the org for good. Raises as `may`, NotFoundError."""
        await self.may(right)
        await self._keys.revoke(right.org, key_id, by=right.person)

    async def sign_out(self, right: Right, person: str) -> None:
        """End all sessions of a person, with what cards' links have opened. Raises as `may`, NotFoundError."""
        known = self._book.current(right.org).policy.directory.find(person)

        def unit(tx: Tx) -> AssentError | None:
            refused = refusal_for(tx, right, Page.ADMIN)
            if refused is not None:
                return refused
            if known is None:
                return NotFoundError()
            ended = end_everywhere(tx, known.email)
            facts = {"person": email_key(known.email), "sessions": ended}
            tx.append(Record(kind=Kind.SIGNED_OUT_BY, actor=right.person, facts=facts))
            return None

        await self._store.write(unit, org=right.org)


def covers_invitation(person: str) -> tuple[str, ...]:
    """Return what a passkey signs for an invitation: for this person, and nobody else."""
    return ("invite", email_key(person))


def _page(tx: Tx, right: Right, policy: Policy, language: Language, sought: str) -> AdminPage:
    now = tx.now()
    factors = {each.person: each for each in list_factors(tx)}
    passkeys = list_passkeys(tx)
    open_for = Counter(email_key(each.person) for each in list_open_sessions(tx, most=_MOST_SESSIONS))
    told = _Told(policy, language, now, tx.seals.key_ids if tx.seals is not None else ())
    people = [
        told.person(each.email, factors.get(email_key(each.email)), passkeys, open_for)
        for each in policy.directory.people.values()
        if _has(sought, (each.email, each.name))
    ]
    people.sort(key=lambda row: (not row.roles, not row.has_factor, row.email))
    keys = [told.key(each) for each in reversed(list_keys(tx)) if each.live(now)]
    keys = [row for row in keys if _has(sought, (row.id, row.whose, row.label))]
    own = email_key(right.person)
    return AdminPage(
        people=tuple(people[:MOST_SHOWN]),
        more=max(0, len(people) - MOST_SHOWN),
        claims=tuple((role.value, visible(name.removeprefix(CLAIM))) for role, name in _by_claims(policy)),
        keys=tuple(keys[:MOST_SHOWN]),
        more_keys=max(0, len(keys) - MOST_SHOWN),
        noted_minutes=USES_NOTED_EVERY // timedelta(minutes=1),
        sought=sought,
        by_app=own in factors and factors[own].is_active,
        by_passkey=any(each.person == own for each in passkeys),
        pages=pages_of(right),
        read_at=instant_text(now, policy.zone),
    )


def _has(sought: str, texts: Iterable[str]) -> bool:
    return not sought or any(sought.casefold() in text.casefold() for text in texts)


def _by_claims(policy: Policy) -> list[tuple[Role, str]]:
    return [(role, name) for role, names in policy.roles.items() for name in names if name.startswith(CLAIM)]


class _Told(Struct, frozen=True):
    """How things are said on the page."""

    policy: Policy
    language: Language
    now: datetime
    key_ids: tuple[str, ...]  # of the secrets that keys may be kept under

    def person(self, email: str, factor: Factor | None, passkeys: list[Passkey], open_for: Counter[str]) -> PersonRow:
        who, known = email_key(email), self.policy.directory.find(email)
        given = roles_of(self.policy.directory, self.policy.roles, email)
        theirs = tuple((each.id, self._passkey(each)) for each in passkeys if each.person == who)
        return PersonRow(
            email=email,
            name=visible(known.name if known else email),
            roles=tuple(say(self.language, f"admin.role.{role.value}") for role in GIVEN if role in given),
            factor=self._factor(factor),
            has_factor=factor is not None or bool(theirs),
            passkeys=theirs,
            sessions=open_for[who],
        )

    def key(self, key: ApiKey) -> KeyRow:
        tools = ", ".join(pattern.text for pattern in key.tools)
        return KeyRow(
            id=key.id,
            scope=key.scope.value,
            whose=visible(" · ".join(filter(None, (key.agent, key.person, tools)))),
            label=visible(key.label),
            created=self._day(key.created_at),
            ends=self._end_of(key),
            used=instant_text(key.last_used_at.replace(second=0, microsecond=0), self.policy.zone)
            if key.last_used_at
            else say(self.language, "admin.unnoted"),
        )

    def _end_of(self, key: ApiKey) -> str:
        if sealed_under(key) not in self.key_ids:
            return say(self.language, "admin.dead")
        return self._day(key.expires_at) if key.expires_at else say(self.language, "admin.endless")

    def _factor(self, factor: Factor | None) -> str:
        if factor is None:
            return say(self.language, "admin.app.none")
        invited = factor.invite_hash is not None and factor.invite_until is not None and self.now < factor.invite_until
        told = [say(self.language, "admin.app.since", date=self._day(factor.set_at))] if factor.is_active else []
        if invited and factor.invite_until is not None:
            told.append(say(self.language, "admin.invited", at=instant_text(factor.invite_until, self.policy.zone)))
        return " · ".join(told) or say(self.language, "admin.app.begun")

    def _passkey(self, passkey: Passkey) -> str:
        used = self._day(passkey.used_at) if passkey.used_at else say(self.language, "admin.never")
        return say(self.language, "admin.passkey", date=self._day(passkey.added_at), used=used)

    def _day(self, at: datetime) -> str:
        return instant_text(at, self.policy.zone).partition(" ")[0]
