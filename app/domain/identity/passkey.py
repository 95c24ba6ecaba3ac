"""Passkeys: keys that stay in a person's device, which signs what is put to it once it has recognised its person.

What is put to it is the hash of a *challenge*: a sealed text that says for whom, in which session, until when, and of
an approval what is approved. It is kept nowhere; that it works once is the store's business. The row of a passkey is
sealed as well, so that no key can be put into somebody's name in the database.
"""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from app.domain.identity.seals import BadTokenError

if TYPE_CHECKING:
    from app.domain.identity.seals import Seals

CHALLENGE_FOR = timedelta(minutes=5)
"""How long a challenge may be answered, once: shorter than used ones are remembered."""

_PURPOSE = "passkey"
_CHALLENGE = "passkey-challenge"
_VERSION = "c1"
_LONGEST = 2_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Passkey(Struct, frozen=True, kw_only=True):
    """One passkey. `id` is ours; `credential` is its name on the device, and `public_key` checks what it signs."""

    id: str
    org: str
    person: str
    credential: str  # base64url
    public_key: str  # base64url of a COSE key
    signs: int  # how many times it says that it has signed; 0 for ever: it does not count
    added_at: datetime
    used_at: datetime | None = None
    seal: str = ""


class Aim(StrEnum):
    """What a challenge is for."""

    ENROL = "enrol"
    SIGN_IN = "sign-in"
    APPROVE = "approve"
    ACT = "act"  # what else takes a second factor: `covers` says what


class Challenge(Struct, frozen=True, kw_only=True):
    """What a device is to sign. Of a sign-in nobody is known yet: `org`, `person` and `session` are empty."""

    aim: Aim
    org: str = ""
    person: str = ""
    session: str = ""
    covers: tuple[str, ...] = ()  # of an approval: the request, its digest, and how it stood
    nonce: str
    not_after: datetime


class Proven(Struct, frozen=True, kw_only=True):
    """A challenge that a passkey has answered rightly. That it was not answered before is still to be seen."""

    challenge: Challenge
    passkey: Passkey
    signs: int


def render_challenge(seals: Seals, challenge: Challenge) -> str:
    """Write a challenge as a sealed text of URL-safe characters."""
    micros = (challenge.not_after - _EPOCH) // timedelta(microseconds=1)
    parts = [
        challenge.aim.value,
        challenge.org,
        challenge.person,
        challenge.session,
        list(challenge.covers),
        challenge.nonce,
        micros,
    ]
    text = base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")
    key_id, mac = seals.seal(_CHALLENGE, text)
    return f"{_VERSION}.{key_id}.{text}.{mac}"


def parse_challenge(seals: Seals, token: str) -> Challenge:
    """Return what was sealed; whether it is over is asked of the store's clock. Raises BadTokenError."""
    parts = token.split(".")
    if len(token) > _LONGEST or not token.isascii() or len(parts) != 4 or parts[0] != _VERSION:
        raise BadTokenError("not a challenge of this gateway")
    _, key_id, text, mac = parts
    seals.verify_text(_CHALLENGE, text, key_id=key_id, mac=mac)  # before anything is decoded
    aim, org, person, session, covers, nonce, micros = json.loads(
        base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    )
    return Challenge(
        aim=Aim(aim),
        org=org,
        person=person,
        session=session,
        covers=tuple(covers),
        nonce=nonce,
        not_after=_EPOCH + timedelta(microseconds=micros),
    )


def signed_for(token: str) -> bytes:
    """Return what a device signs for a challenge."""
    return hashlib.sha256(token.encode()).digest()


def seal_passkey(seals: Seals, passkey: Passkey) -> str:
    """Return the seal over whose key a row is."""
    return ".".join(seals.seal(_PURPOSE, _said(passkey)))


def is_sealed(seals: Seals, passkey: Passkey) -> bool:
    """Say whether the gateway wrote this key into this person's name."""
    key_id, _, mac = passkey.seal.partition(".")
    try:
        seals.verify_text(_PURPOSE, _said(passkey), key_id=key_id, mac=mac)
    except BadTokenError:
        return False
    return True


def user_handle(seals: Seals, org: str, person: str) -> bytes:
    """Name a person to a device, by nothing that says who it is."""
    return bytes.fromhex(seals.seal(_PURPOSE, json.dumps(["user", org, person]))[1])


def rp_id(url: str | None) -> str | None:
    """Return for which site passkeys are made under an address.

    None: browsers make none there, because it is a bare IP address or comes over plain HTTP.
    """
    parts = urlsplit(url or "")
    host = parts.hostname or ""
    is_name = bool(host) and ":" not in host and not host.rpartition(".")[2].isdigit()
    is_near = host == "localhost" or host.endswith(".localhost")
    return host if is_name and (parts.scheme == "https" or is_near) else None


def _said(passkey: Passkey) -> str:
    return json.dumps([passkey.id, passkey.org, passkey.person, passkey.credential, passkey.public_key])
