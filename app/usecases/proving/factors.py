"""Second factors: two sides set one up, its codes are looked at once, and anyone may see who has one.

An administrator invites, the person redeems the invitation with their own approver's key, and the first code of their
app confirms it: neither of the two can do it alone. A factor that is being replaced holds until then.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import structlog

from app.domain.errors import AssentError, ForbiddenError, InvalidError, LockedError, NotFoundError
from app.domain.identity.factor import Factor, FactorStatus
from app.domain.identity.passkey import Passkey, is_sealed, seal_passkey
from app.domain.identity.seals import BadTokenError, Seals
from app.domain.identity.totp import matching_steps, setup_uri
from app.domain.people.people import email_key
from app.domain.trail.audit import Kind, Record
from app.policies.marks.faults import near
from app.storage.identity.attempts import forget_failures, locked_until
from app.storage.identity.console_sessions import end_everywhere
from app.storage.identity.factors import drop_factor, list_factors, lock_factor, put_factor
from app.storage.identity.passkeys import drop_passkey, list_passkeys, seal_again
from app.usecases.proving.second_factor import bound_to, count_wrong, locked, totp_subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

log = structlog.get_logger(__name__)

Done = TypeVar("Done")

INVITATION_HOLDS = timedelta(hours=24)
FIRST_CODE_WITHIN = timedelta(hours=1)
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: none is taken for another
_CODE_LETTERS = 16  # 80 bits
_SECRET_BYTES = 20  # RFC 4226 recommends 160 bits
_NO_INVITATION = "this invitation is wrong, used or too old: ask an administrator for another one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """What an administrator hands to a person, over a way that is not the approver's key; it is shown this once."""

    person: str
    code: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """What goes into the person's app; it is shown this once."""

    secret: str = field(repr=False)
    uri: str = field(repr=False)
    confirm_by: datetime


class Factors:
    """Invite, redeem, confirm, remove, list."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def invite(
        self, org: str, person: str, *, by: str, proof: Callable[[Tx], AssentError | None] = lambda _: None
    ) -> Invitation:
        """Let a person set a factor up, or another one in the place of theirs. A newer invitation ends an older one.

        `proof` looks, in the same unit, whether whoever invites may. Raises InvalidError for whom the file does not
        know, and what `proof` returns.
        """
        who = self._known(org, person)
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LETTERS))
        sealed = ".".join(self._seals.seal("invitation", _named(org, who, code)))

        def unit(tx: Tx) -> datetime | AssentError:
            refused = proof(tx)
            if refused is not None:
                return refused
            now = tx.now()
            until = now + INVITATION_HOLDS
            before = lock_factor(tx, who)
            blank = Factor(person=who, status=FactorStatus.INVITED, set_by=by, set_at=now)
            status = FactorStatus.ACTIVE if before is not None and before.is_active else FactorStatus.INVITED
            put_factor(
                tx,
                replace(before or blank, status=status, new_secret=None, invite_hash=sealed, invite_until=until),
                is_new=before is None,
            )
            tx.append(Record(kind=Kind.FACTOR_INVITED, actor=by, facts={"person": who, "until": until.isoformat()}))
            return until

        until = await self._store.write(unit, org=org)
        return Invitation(person=who, code="-".join(code[at : at + 4] for at in range(0, 16, 4)), expires_at=until)

    async def redeem(self, org: str, person: str, code: str) -> Enrolment:
        """Begin a factor with an invitation, which is thereby used. `person` was identified by their own key.

        Raises ForbiddenError, and LockedError after too many wrong codes.
        """
        who = email_key(person)
        secret = base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()
        hidden = self._seals.hide(secret, bound=bound_to(org, who))

        def unit(tx: Tx) -> datetime | AssentError:
            factor = lock_invited(tx, self._seals, who, code)
            if isinstance(factor, AssentError):
                return factor
            confirm_by = tx.now() + FIRST_CODE_WITHIN
            status = FactorStatus.ACTIVE if factor.is_active else FactorStatus.ENROLLED
            begun = replace(factor, status=status, new_secret=hidden, invite_hash=None, invite_until=confirm_by)
            put_factor(tx, begun, is_new=False)
            return confirm_by

        confirm_by = await self._written(org, who, unit)
        return Enrolment(secret=secret, uri=setup_uri(secret, org=org, person=who), confirm_by=confirm_by)

    async def confirm(self, org: str, person: str, totp: str) -> Factor:
        """Take a factor into use with its first code; only now does the one before it end.

        Raises ForbiddenError, NotFoundError where none waits for its first code, and LockedError.
        """
        who = email_key(person)
        subject = totp_subject(who)

        def unit(tx: Tx) -> Factor | AssentError:
            factor = lock_factor(tx, who)
            if factor is None or factor.new_secret is None or _over(factor, tx.now()):
                return NotFoundError("nothing of yours waits for a first code: redeem an invitation first")
            until = locked_until(tx, subject)
            if until is not None:
                return locked(tx, until)
            try:
                secret = self._seals.read_hidden(factor.new_secret, bound=bound_to(org, who))
            except BadTokenError:
                return ForbiddenError("what was begun cannot be read any more: ask an administrator for an invitation")
            steps = matching_steps(secret, totp, at=tx.now())
            if not steps:
                wrong = "that is not the code that the app should show now: try the next one"
                return _turned_away(tx, who, subject, why="wrong_totp", sentence=wrong)
            forget_failures(tx, subject)
            active = Factor(
                person=who,
                status=FactorStatus.ACTIVE,
                secret=self._seals.hide(secret, bound=bound_to(org, who)),
                set_by=who,
                set_at=tx.now(),
                last_step=steps[-1],  # that code has done its work
            )
            put_factor(tx, active, is_new=False)
            tx.append(Record(kind=Kind.FACTOR_ADDED, actor=who, facts={"person": who, "replaced": factor.is_active}))
            return active

        return await self._written(org, who, unit)

    async def remove(self, org: str, person: str, *, by: str, passkey: str | None = None) -> None:
        """Take a person's factors away, with any invitation; or one `passkey` alone. It ends the person's sessions.

        Raises NotFoundError.
        """
        who, known = email_key(person), self._book.current(org).policy.directory.find(person)

        def unit(tx: Tx) -> AssentError | None:
            gone = [each for each in list_passkeys(tx, who) if passkey in {None, each.id} and drop_passkey(tx, each)]
            for each in gone:
                facts = {"person": who, "passkey": each.id}
                tx.append(Record(kind=Kind.PASSKEY_REMOVED, actor=by, facts=facts))
            if passkey is None and drop_factor(tx, who):
                tx.append(Record(kind=Kind.FACTOR_REMOVED, actor=by, facts={"person": who}))
            elif not gone:
                what = "a second factor or an invitation" if passkey is None else "this passkey"
                return NotFoundError(f"nobody of this name has {what}")
            # A device that is lost may be signed in, too; and whoever has it, on another one by now.
            if ended := end_everywhere(tx, person if known is None else known.email):
                tx.append(Record(kind=Kind.SIGNED_OUT_BY, actor=by, facts={"person": who, "sessions": ended}))
            return None

        await self._store.write(unit, org=org)

    async def list(self, org: str) -> list[Factor]:
        """Return who has an app's, or is about to; nothing of it is for showing but the dates."""
        return await self._store.read(list_factors, org=org)

    async def list_passkeys(self, org: str) -> list[Passkey]:
        """Return everybody's passkeys."""
        return await self._store.read(list_passkeys, org=org)

    async def renew_seals(self) -> None:
        """Hide every org's secrets under the newest key, so that an older master secret can be dropped."""
        for org in self._book.orgs():
            if any(_is_older(each, self._seals) for each in await self.list(org)):
                await self._store.write(lambda tx: _renewed(tx, self._seals), org=org)
            if any(each.seal != _sealed_now(each, self._seals) for each in await self.list_passkeys(org)):
                await self._store.write(lambda tx: _sealed_anew(tx, self._seals), org=org)

    def _known(self, org: str, person: str) -> str:
        directory = self._book.current(org).policy.directory
        if directory.find(person) is None:
            hint = near(person, [known.email for known in directory.people.values()], what="people")
            raise InvalidError(f"{person} is not under people in the configuration; {hint}", path="person")
        return email_key(person)

    async def _written(self, org: str, person: str, unit: Callable[[Tx], Done | AssentError]) -> Done:
        try:
            return await self._store.write(unit, org=org)
        except LockedError:
            log.warning("approver.locked", org=org, person=person, what="second factor")
            raise


def lock_invited(tx: Tx, seals: Seals, person: str, code: str) -> Factor | AssentError:
    """Return a person's row, locked, if the code is their invitation's; a wrong one is counted. It is not used up."""
    factor, subject = lock_factor(tx, person), f"invitation:{person}"
    until = locked_until(tx, subject)
    if until is not None:
        return locked(tx, until)
    if factor is None or not _is_invited(tx, seals, factor, code):
        return _turned_away(tx, person, subject, why="wrong_invitation", sentence=_NO_INVITATION)
    forget_failures(tx, subject)
    return factor


def use_invitation(tx: Tx, factor: Factor) -> None:
    """Use an invitation up for what is no secret of an app: an app's that holds, or was begun, stays as it is."""
    if factor.secret is None and factor.new_secret is None:
        drop_factor(tx, factor.person)
    else:
        put_factor(tx, replace(factor, invite_hash=None, invite_until=None), is_new=False)


def without_factor(tx: Tx, people: Iterable[str]) -> list[str]:
    """Return who of these people has no second factor that works, in order: they can approve nothing at L3."""
    have = {factor.person for factor in list_factors(tx) if factor.is_active}
    have |= {passkey.person for passkey in list_passkeys(tx)}
    return sorted({email_key(person) for person in people} - have)


def _is_invited(tx: Tx, seals: Seals, factor: Factor, code: str) -> bool:
    if factor.invite_hash is None or _over(factor, tx.now()):
        return False
    key_id, _, mac = factor.invite_hash.partition(".")
    try:
        seals.verify_text("invitation", _named(tx.org, factor.person, _plain(code)), key_id=key_id, mac=mac)
    except BadTokenError:
        return False
    return True


def _turned_away(tx: Tx, person: str, subject: str, *, why: str, sentence: str) -> AssentError:
    """Count a wrong code of somebody who sets a factor up."""
    tried = count_wrong(tx, person, subject, why=why)
    return locked(tx, tried.until) if tried.until is not None else ForbiddenError(sentence, left=tried.left)


def _renewed(tx: Tx, seals: Seals) -> None:
    for each in list_factors(tx):
        factor = lock_factor(tx, each.person) if _is_older(each, seals) else None
        if factor is not None:
            bound = bound_to(tx.org, factor.person)
            put_factor(
                tx,
                replace(
                    factor,
                    secret=_again(seals, factor.secret, bound),
                    new_secret=_again(seals, factor.new_secret, bound),
                ),
                is_new=False,
            )


def _sealed_now(passkey: Passkey, seals: Seals) -> str:
    """Return a passkey's seal with the newest key; of one that nobody sealed, what it has."""
    return seal_passkey(seals, passkey) if is_sealed(seals, passkey) else passkey.seal


def _sealed_anew(tx: Tx, seals: Seals) -> None:
    for each in list_passkeys(tx):
        seal_again(tx, each, _sealed_now(each, seals))


def _again(seals: Seals, hidden: str | None, bound: tuple[str, ...]) -> str | None:
    """Hide a secret under the newest key; one that cannot be read stays as it is, and works no more than before."""
    if hidden is None:
        return None
    try:
        return seals.hide(seals.read_hidden(hidden, bound=bound), bound=bound)
    except BadTokenError:
        return hidden


def _is_older(factor: Factor, seals: Seals) -> bool:
    return any(hidden is not None and not seals.is_newest(hidden) for hidden in (factor.secret, factor.new_secret))


def _over(factor: Factor, now: datetime) -> bool:
    return factor.invite_until is None or now >= factor.invite_until


def _named(org: str, person: str, code: str) -> str:
    return f"{org}\n{person}\n{code}"


def _plain(code: str) -> str:
    """Return an invitation's code as it was made, however it was typed."""
    letters = "".join(code.split()).replace("-", "").upper()
    return letters.translate(str.maketrans("ILO", "110"))
