"""What is sealed with the gateway's key: button tokens, short codes, API keys, the way to the review page.

A button token is ``a1.<key id>.<handle>.<action>.<mac>``: the handle is random and names one revision of one card in
one place; the MAC binds it to everything that a click must match. It carries no arguments and nothing that a person
could choose. A short code is eight Crockford characters of a MAC over the request's random nonce and digest: it cannot
be ground, because the nonce is not the agent's.

HMAC-SHA256 throughout, and AES-SIV (RFC 5297) for what must be read again: the secrets of second factors. Keys are
derived per purpose from the master secrets, the first of which seals and all of which still verify and read, so that a
rotation breaks no live card.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from msgspec import Struct

from app.domain.request.action import ACTIONS, VERB_OF, Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


MIN_SECRET = 32
"""Characters that a master secret must have at least."""

_PURPOSES = (
    "button",
    "code",
    "api-key",
    "review-link",
    "review-session",
    "console-press",
    "console-link",
    "console-session",
    "invitation",
    "passkey",
    "passkey-challenge",
    "oidc",
    "row",
    "trail",
    "restore",
)
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def mac_under(key: bytes) -> Callable[[str], bytes]:
    """Return what makes the HMAC-SHA256 of a text under a key: its state is prepared once, and copied for each text.

    A third less than `hmac.digest`, which also lets other threads run meanwhile: for so short a text that is no gift,
    since whoever let them has to wait until they let him (the store's lane spent a tenth of its time so).
    """
    prepared = hmac.new(key, digestmod="sha256")

    def mac(text: str) -> bytes:
        state = prepared.copy()
        state.update(text.encode())
        return state.digest()

    return mac


class WeakSecretError(ValueError):
    """A master secret is missing or too short."""


class BadTokenError(ValueError):
    """A button's token was not made by this gateway, for this card, in this place."""


class Place(Struct, frozen=True, kw_only=True):
    """Everything that a click must match: the token's MAC covers all of it."""

    org: str
    request_id: str
    digest: str
    revision: int
    channel: str
    chat_id: str


class SealedClick(Struct, frozen=True, kw_only=True):
    """A token's readable parts, not yet verified."""

    key_id: str
    handle: str
    action: Action
    mac: str


class Seals:
    """Makes and verifies what is sealed. Holds the keys; nothing else in the gateway sees them."""

    def __init__(self, secrets: Sequence[str]) -> None:
        """Take the master secrets, newest first. Raises WeakSecretError."""
        if not secrets or any(len(secret.strip()) < MIN_SECRET for secret in secrets):
            raise WeakSecretError(f"a master secret needs at least {MIN_SECRET} characters")
        self._keys = {_key_id(secret): secret.encode() for secret in secrets}
        self._newest = _key_id(secrets[0])
        self.key_ids = tuple(self._keys)
        """The public ids of the secrets, the newest first."""
        self._purposes = {
            (key_id, purpose): mac_under(hmac.digest(secret, f"assent.{purpose}.v1".encode(), "sha256"))
            for key_id, secret in self._keys.items()
            for purpose in _PURPOSES
        }
        # Deterministic, and safe so: what is hidden is random itself, and a nonce would be one thing more to get wrong.
        self._hiding = {
            key_id: AESSIV(hmac.digest(secret, b"assent.hide.v1", "sha512")) for key_id, secret in self._keys.items()
        }

    def token(self, action: Action, handle: str, place: Place) -> str:
        """Seal a button."""
        letter = VERB_OF[action].letter
        return f"a1.{self._newest}.{handle}.{letter}.{self._mac(self._newest, letter, handle, place)}"

    def verify(self, click: SealedClick, place: Place) -> None:
        """Check that a token belongs to this very place. Raises BadTokenError."""
        if click.key_id not in self._keys:
            raise BadTokenError("sealed with a key that is no longer accepted")
        letter = VERB_OF[click.action].letter
        if not hmac.compare_digest(click.mac, self._mac(click.key_id, letter, click.handle, place)):
            raise BadTokenError("the seal does not match this card")

    def code(self, *, nonce: str, digest: str) -> str:
        """Return the short code of a request: ``K7QM-3XWA``. The row keeps it, so a rotation does not change it."""
        raw = int.from_bytes(self._derive(self._newest, "code", f"{nonce}\n{digest}")[:5], "big")
        letters = "".join(_CROCKFORD[(raw >> shift) & 31] for shift in range(35, -1, -5))
        return f"{letters[:4]}-{letters[4:]}"

    def seal(self, purpose: str, text: str) -> tuple[str, str]:
        """Seal a text for one of the purposes: return the key's id and the MAC."""
        return self._newest, self._derive(self._newest, purpose, text).hex()

    def verify_text(self, purpose: str, text: str, *, key_id: str, mac: str) -> None:
        """Check that a text was sealed for this purpose. Raises BadTokenError."""
        if key_id not in self._keys or not mac.isascii():
            raise BadTokenError("sealed with a key that is no longer accepted")
        if not hmac.compare_digest(mac, self._derive(key_id, purpose, text).hex()):
            raise BadTokenError("the seal does not match")

    def hide(self, text: str, *, bound: Sequence[str]) -> str:
        """Encrypt a text under the newest key; only with exactly the same `bound` can it be read again."""
        hidden = self._hiding[self._newest].encrypt(text.encode(), [part.encode() for part in bound])
        return f"h1.{self._newest}.{base64.urlsafe_b64encode(hidden).decode()}"

    def read_hidden(self, hidden: str, *, bound: Sequence[str]) -> str:
        """Decrypt what `hide` made, under any of the keys. Raises BadTokenError."""
        parts = hidden.split(".")
        if len(parts) != 3 or parts[0] != "h1" or parts[1] not in self._hiding:
            raise BadTokenError("hidden with a key that is no longer accepted")
        try:
            raw = base64.b64decode(parts[2], altchars=b"-_", validate=True)
            return self._hiding[parts[1]].decrypt(raw, [part.encode() for part in bound]).decode()
        except (InvalidTag, ValueError):
            raise BadTokenError("hidden for somebody else, or changed") from None

    def is_newest(self, hidden: str) -> bool:
        """Say whether a text was hidden under the newest key."""
        return hidden.startswith(f"h1.{self._newest}.")

    def key_hashes(self, secret: str) -> tuple[str, ...]:
        """Return what an API key's secret is stored as: one hash per master secret, newest first."""
        return tuple(self._derive(key_id, "api-key", secret).hex() for key_id in self._keys)

    def _mac(self, key_id: str, letter: str, handle: str, place: Place) -> str:
        bound = (
            letter,
            handle,
            place.org,
            place.request_id,
            place.digest,
            str(place.revision),
            place.channel,
            place.chat_id,
        )
        # Length-prefixed, so that no two different places read the same.
        text = "".join(f"{len(part)}:{part}" for part in bound)
        return self._derive(key_id, "button", text)[:20].hex()

    def _derive(self, key_id: str, purpose: str, text: str) -> bytes:
        return self._purposes[key_id, purpose](text)


def parse_token(token: str) -> SealedClick:
    """Split a token into its parts. Raises BadTokenError if it has not the shape of one."""
    parts = token.split(".")
    if len(token) > 200 or len(parts) != 5 or parts[0] != "a1" or parts[3] not in ACTIONS:
        raise BadTokenError("not a button of this gateway")
    if not all(part.isascii() and part.isalnum() for part in parts):
        raise BadTokenError("not a button of this gateway")
    return SealedClick(key_id=parts[1], handle=parts[2], action=ACTIONS[parts[3]], mac=parts[4])


def _key_id(secret: str) -> str:
    return hashlib.sha256(b"assent.key-id.v1\x00" + secret.encode()).hexdigest()[:8]


def seal_ids(secrets: Iterable[str]) -> list[str]:
    """Return the public ids of master secrets, in their order: what every button and key was sealed with."""
    nowhere = Place(org="", request_id="", digest="", revision=0, channel="", chat_id="")
    return [parse_token(Seals([secret]).token(Action.DENY, "none", nowhere)).key_id for secret in secrets]
