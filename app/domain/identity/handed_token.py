"""What a token proves that an agent hands over with a call: who asked for it, or nothing.

It is a person's ID token, made for a client of the file, or one that was exchanged for this very agent (RFC 8693): then
`act` names the agent, as the file does. Neither is bound to a call, so a token is good for as long as it lasts, and for
`max_age` at most. One that is bound to a key (`cnf`) proves nothing here: nobody has shown that key.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, cast

from app.domain.call.requester_proof import RequesterProof
from app.domain.identity.provider import BadTokenClaimsError, person_of, times_of
from app.domain.people.people import email_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.identity.provider import Handed, Provider
    from app.domain.people.people import Directory

_OF_PEOPLE = frozenset({"jwt"})
_EXCHANGED = frozenset({"jwt", "at+jwt"})
"""What a token's header may say that it is (`typ`); one of a sign-out, of a client or for another purpose says so."""
_LONGEST_ID = 255


def proof_in(
    claims: Mapping[str, Any],
    provider: Provider,
    directory: Directory,
    *,
    typ: object,
    token: str,
    agent: str,
    now: datetime,
) -> RequesterProof:
    """Return whom a token proves whose signature was checked. Raises BadTokenClaimsError."""
    terms = provider.handed
    if terms is None:
        raise BadTokenClaimsError("the file takes no requester's token of this issuer (sign_in, requesters)")
    if claims.get("iss") != provider.issuer:
        raise BadTokenClaimsError("it is of another issuer")
    actor = _actor(claims, provider, terms, agent)
    _of_a_sign_in(claims, typ, exchanged=actor is not None)
    _for_a_client(claims, terms, actor)
    made, ends = times_of(claims, now, oldest=terms.max_age)
    known = person_of(claims, provider, directory)
    return RequesterProof(
        person=email_key(known.email),
        issuer=provider.issuer,
        subject=str(claims["sub"]),
        signed_at=made,
        until=ends,
        token=_named(claims, token),
        actor=actor,
    )


def _actor(claims: Mapping[str, Any], provider: Provider, terms: Handed, agent: str) -> str | None:
    """Return for whom it was exchanged: this agent, and nobody else. None: for nobody, and the file wants no such."""
    wanted = terms.actors.get(agent)
    if "act" not in claims:
        if wanted is not None:
            raise BadTokenClaimsError("it was not exchanged for this agent, as the file wants it (act)")
        return None
    acting: object = claims["act"]
    said = cast("dict[str, object]", acting) if isinstance(acting, dict) else {}
    subject = said.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_ID:
        raise BadTokenClaimsError("it does not say who acts (act)")
    if said.get("iss", provider.issuer) != provider.issuer:
        raise BadTokenClaimsError("whoever acts is of another issuer (act)")
    if wanted is None:
        raise BadTokenClaimsError("the file does not say who this agent is to the issuer (sign_in, requesters, actors)")
    if subject != wanted:
        raise BadTokenClaimsError("it was exchanged for another agent (act)")
    return subject


def _of_a_sign_in(claims: Mapping[str, Any], typ: object, *, exchanged: bool) -> None:
    said = typ.lower().removeprefix("application/") if isinstance(typ, str) else typ
    if said is not None and said not in (_EXCHANGED if exchanged else _OF_PEOPLE):
        raise BadTokenClaimsError("it is a token for something else (typ)")
    if "events" in claims:
        raise BadTokenClaimsError("it tells of an event, and of no sign-in")
    if "cnf" in claims:
        raise BadTokenClaimsError("it is bound to a key that nobody has shown (cnf)")


def _for_a_client(claims: Mapping[str, Any], terms: Handed, actor: str | None) -> None:
    """Whom it is for, all of them, and whose request it was made at, are clients of the file; or the agent itself."""
    audience, party = claims.get("aud"), claims.get("azp")
    named = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    if not named or any(each not in terms.audiences for each in named):
        raise BadTokenClaimsError("it is for another client (aud)")
    if party is not None and party not in terms.audiences and (actor is None or party != actor):
        raise BadTokenClaimsError("it was made for another client (azp)")


def _named(claims: Mapping[str, Any], token: str) -> str:
    """Name a token, so that calls are known that came with the same one: by its own id, if it has one."""
    jti = claims.get("jti")
    own = f"{claims['iss']}\n{jti}" if isinstance(jti, str) and 0 < len(jti) <= _LONGEST_ID else token
    return hashlib.sha256(own.encode(errors="surrogatepass")).hexdigest()
