"""Whoever signs people in for an org: an OpenID Connect issuer of the file, and what is believed of its tokens.

Checking what a token says is pure; that it was signed, and came from where it had to, is checked before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from app.domain.people.people import email_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.domain.identity.console_session import ConsoleSession
    from app.domain.people.people import Directory, Person

SKEW = timedelta(minutes=2)
"""By how much an issuer's clock may differ from ours."""

_OLDEST = timedelta(minutes=15)  # since a token was made: it is fetched the moment that its person has signed in
_MOST_GROUPS = 200
_LONGEST = 255
_WAY = "oidc:"


class Handed(Struct, frozen=True, kw_only=True):
    """Which of an issuer's tokens prove who asked for a call, where an agent hands them over.

    `audiences` are the clients that people sign in to; `actors` says who an agent is to the issuer, by its name here.
    """

    audiences: tuple[str, ...]
    actors: Mapping[str, str]
    max_age: timedelta


class BadTokenClaimsError(Exception):
    """A token does not say what it must. `why` is for the log, and for an agent that brought it; no browser is told."""

    def __init__(self, why: str) -> None:
        """Keep why."""
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One issuer. `host` is that of `issuer`; `subjects` pins people, by e-mail, to what the issuer calls them."""

    name: str
    issuer: str
    client_id: str
    secret: str = field(repr=False)
    label: str
    groups: str | None  # the claim that has them
    algorithms: tuple[str, ...]
    subjects: Mapping[str, str]
    private: bool
    handed: Handed | None = None  # None: no token of this issuer proves who asked


class SignedIn(Struct, frozen=True, kw_only=True):
    """Whom a token is of, and the groups that it says they are in."""

    person: str
    groups: tuple[str, ...]


def person_in(
    claims: Mapping[str, Any], provider: Provider, directory: Directory, *, nonce: str | None, now: datetime
) -> SignedIn:
    """Return of whom of the file a token is whose signature was checked. Raises BadTokenClaimsError."""
    _of_this(claims, provider, nonce)
    _of_now(claims, now)
    known = person_of(claims, provider, directory)
    return SignedIn(person=known.email, groups=_groups(claims, provider))


def person_of(claims: Mapping[str, Any], provider: Provider, directory: Directory) -> Person:
    """Return whom of the file a token names. Raises BadTokenClaimsError."""
    subject, email = claims.get("sub"), claims.get("email")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST:
        raise BadTokenClaimsError("it names nobody (sub)")
    pinned = {sub: person for person, sub in provider.subjects.items()}
    if subject in pinned:
        known = directory.find(pinned[subject])
    elif not isinstance(email, str) or len(email) > _LONGEST or claims.get("email_verified") is not True:
        raise BadTokenClaimsError("its e-mail is missing, or the issuer has not verified it")
    elif email_key(email) in {email_key(person) for person in provider.subjects}:
        raise BadTokenClaimsError("this person has another subject in the file")
    else:
        known = directory.find(email)
    if known is None:
        raise BadTokenClaimsError("the file does not have this person")
    return known


def via_of(name: str) -> str:
    """Return by which way a session began that this issuer stands for."""
    return f"{_WAY}{name}"


def claimed_by(session: ConsoleSession, providers: Collection[Provider]) -> tuple[str, ...] | None:
    """Return the groups that a session's person is in, by the issuer that said so; None: the file has it no more."""
    if not session.via.startswith(_WAY):
        return ()
    issuer = next((each for each in providers if via_of(each.name) == session.via), None)
    if issuer is None:
        return None
    return session.groups if issuer.groups else ()


def _of_this(claims: Mapping[str, Any], provider: Provider, nonce: str | None) -> None:
    if claims.get("iss") != provider.issuer:
        raise BadTokenClaimsError("it is of another issuer")
    audience, party = claims.get("aud"), claims.get("azp")
    named = audience if isinstance(audience, list) else [audience]  # pyright: ignore[reportUnknownVariableType] - it came from outside
    if provider.client_id not in named or (len(named) > 1 and party != provider.client_id):  # pyright: ignore[reportUnknownArgumentType]
        raise BadTokenClaimsError("it is for another client")
    if party is not None and party != provider.client_id:
        raise BadTokenClaimsError("it was made for another client")
    if nonce is not None and claims.get("nonce") != nonce:
        raise BadTokenClaimsError("it answers another sign-in")


def _of_now(claims: Mapping[str, Any], now: datetime) -> None:
    times_of(claims, now, oldest=_OLDEST)


def times_of(claims: Mapping[str, Any], now: datetime, *, oldest: timedelta) -> tuple[datetime, datetime]:
    """Return when a token was made and when it ends, if it holds now. Raises BadTokenClaimsError."""
    ends, made, starts = (_instant(claims, name) for name in ("exp", "iat", "nbf"))
    if ends is None or now - SKEW >= ends:
        raise BadTokenClaimsError("it is over, or does not say when it is")
    if made is None or now - made < -SKEW:
        raise BadTokenClaimsError("it does not say when it was made, or says a time to come")
    if now - made > oldest:
        raise BadTokenClaimsError("it was made too long ago")
    if starts is not None and now + SKEW < starts:
        raise BadTokenClaimsError("it holds only later")
    return made, ends


def _instant(claims: Mapping[str, Any], name: str) -> datetime | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**33:
        raise BadTokenClaimsError(f"its {name} is no time")
    return datetime.fromtimestamp(value, UTC)


def _groups(claims: Mapping[str, Any], provider: Provider) -> tuple[str, ...]:
    """Return the groups; anything but a list of names is none."""
    found: object = claims.get(provider.groups) if provider.groups else None
    if not isinstance(found, list) or len(found) > _MOST_GROUPS:  # pyright: ignore[reportUnknownArgumentType] - it came from outside
        return ()
    return tuple(each for each in found if isinstance(each, str) and 0 < len(each) <= _LONGEST)  # pyright: ignore[reportUnknownVariableType]
