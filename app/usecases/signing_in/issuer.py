"""What an issuer says of itself, its keys, and its tokens: fetched within bounds, kept for a while, checked.

The library that checks signatures is imported when the first token comes.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast
from urllib.parse import urlencode, urlsplit

from app.domain.identity.provider import BadTokenClaimsError
from app.domain.text.addresses import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.identity.provider import Provider
    from app.ports import Clock

_KEPT_FOR = timedelta(minutes=10)
_ASKED_AGAIN_AFTER = timedelta(seconds=30)
_LEFT_ALONE_FOR = timedelta(seconds=5)
"""After it did not answer: whoever comes meanwhile is told so at once, instead of waiting for the same again."""
_LONGEST = 16_000  # characters of a token


class UnreachedError(Exception):
    """An issuer could not be asked, or answered what cannot be used; its text says why, for the log."""


class Fetch(Protocol):
    """Asks an address: no redirect, no proxy, a bounded answer in a bounded time, and no name that leads inside."""

    async def __call__(
        self, method: str, url: str, *, private: bool, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the body of an answer with status 200. Raises UnreachedError."""
        ...


@dataclass(slots=True, kw_only=True)
class _Known:
    """What an issuer said, and when. `keys` are those of its JWKS, as it wrote them."""

    at: datetime
    said: Mapping[str, Any]
    keys: Mapping[str, Any] | None = None
    keys_at: datetime | None = None


class Signed(NamedTuple):
    """What a token says that an issuer has signed, and of which type its header says that it is."""

    claims: Mapping[str, Any]
    typ: object


@dataclass(slots=True, kw_only=True)
class Issuers:
    """Asks them, each of them once at a time: however many calls come with its tokens, it answers for all of them."""

    fetch: Fetch
    clock: Clock
    _known: dict[str, _Known] = field(default_factory=dict[str, "_Known"])
    _asking: dict[str, asyncio.Lock] = field(default_factory=dict[str, "asyncio.Lock"])
    _failed: dict[str, datetime] = field(default_factory=dict[str, "datetime"])

    async def told_by(self, provider: Provider) -> Mapping[str, Any]:
        """Return what an issuer says of itself. Raises UnreachedError."""
        async with self._one(provider):
            return await self._told_by(provider)

    def leave_alone(self, provider: Provider) -> None:
        """Ask it nothing for a moment: it did not answer for as long as somebody could wait."""
        self._failed[provider.issuer] = self.clock.now()

    def _one(self, provider: Provider) -> asyncio.Lock:
        return self._asking.setdefault(provider.issuer, asyncio.Lock())

    async def _asked(self, provider: Provider, address: str) -> dict[str, Any]:
        """Return what stands at an address of an issuer that is not being left alone. Raises UnreachedError."""
        failed, now = self._failed.get(provider.issuer), self.clock.now()
        if failed is not None and timedelta(0) <= now - failed < _LEFT_ALONE_FOR:
            raise UnreachedError("it did not answer a moment ago")
        try:
            found = _object(await self.fetch("GET", address, private=provider.private))
        except UnreachedError:  # a caller that went away says nothing of the issuer
            self.leave_alone(provider)
            raise
        self._failed.pop(provider.issuer, None)
        return found

    async def _told_by(self, provider: Provider) -> Mapping[str, Any]:
        known, now = self._known.get(provider.issuer), self.clock.now()
        if known is None or not timedelta(0) <= now - known.at < _KEPT_FOR:
            address = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
            said = await self._asked(provider, address)
            if said.get("issuer") != provider.issuer:
                raise UnreachedError("it says that it is another issuer")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                _checked(said.get(name), provider, name)
            known = _Known(at=now, said=said)
            self._known[provider.issuer] = known
        return known.said

    async def token_for(self, provider: Provider, *, code: str, verifier: str, back: str) -> str:
        """Return the ID token that a code is good for. Raises UnreachedError."""
        said = await self.told_by(provider)
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier}
        headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
        ways = said.get("token_endpoint_auth_methods_supported")
        if isinstance(ways, list) and "client_secret_basic" not in ways:
            form |= {"client_id": provider.client_id, "client_secret": provider.secret}
        else:
            headers["authorization"] = _basic(provider)
        body = urlencode(form).encode()
        answer = _object(
            await self.fetch("POST", said["token_endpoint"], private=provider.private, body=body, headers=headers)
        )
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise UnreachedError("it gave no ID token")
        return token

    async def claims_of(self, provider: Provider, token: str) -> Mapping[str, Any]:
        """Return what a token says that this issuer has signed. Raises BadTokenClaimsError and UnreachedError."""
        return (await self.signed(provider, token)).claims

    async def signed(self, provider: Provider, token: str) -> Signed:
        """Return what a token says that this issuer has signed. Raises BadTokenClaimsError and UnreachedError."""
        if len(token) > _LONGEST or not token.isascii():
            raise BadTokenClaimsError("it is no token")
        found = await asyncio.to_thread(_read, token, await self._keys(provider), provider.algorithms)
        if found is None:  # the key may be a newer one
            found = await asyncio.to_thread(_read, token, await self._keys(provider, anew=True), provider.algorithms)
        if found is None:
            raise BadTokenClaimsError("none of the issuer's keys has signed it, in a way that the file accepts")
        return found

    async def count_keys(self, provider: Provider) -> int:
        """Return how many keys an issuer has that can sign a token. Raises UnreachedError."""
        return len(_usable(await self._keys(provider)))

    async def _keys(self, provider: Provider, *, anew: bool = False) -> Mapping[str, Any]:
        async with self._one(provider):
            said = await self._told_by(provider)
            known, now = self._known[provider.issuer], self.clock.now()
            holds = _ASKED_AGAIN_AFTER if anew else _KEPT_FOR
            if known.keys is None or known.keys_at is None or not timedelta(0) <= now - known.keys_at < holds:
                known.keys = await self._asked(provider, said["jwks_uri"])
                known.keys_at = now
            return known.keys


def _read(token: str, keys: Mapping[str, Any], algorithms: tuple[str, ...]) -> Signed | None:
    """Return what a token says if one of the keys has signed it; None otherwise, whatever it is that is wrong."""
    from joserfc import jwt
    from joserfc.jwk import KeySet

    usable = _usable(keys)
    try:
        found = jwt.decode(token, KeySet.import_key_set({"keys": usable}), algorithms=list(algorithms))  # pyright: ignore[reportArgumentType]
    except Exception:  # noqa: BLE001 - the library answers hostile input with whatever its parsers raise
        return None
    return Signed(found.claims, found.header.get("typ"))


def _usable(keys: Mapping[str, Any]) -> list[Any]:
    listed = cast("list[Any]", keys["keys"]) if isinstance(keys.get("keys"), list) else []
    return [each for each in listed if _is_usable(each)]


def _is_usable(key: Any) -> bool:
    """Say whether a key of an issuer is one that signs; a shared secret never is."""
    if not isinstance(key, dict):
        return False
    said = cast("dict[str, Any]", key)
    return said.get("kty") in {"RSA", "EC"} and said.get("use", "sig") == "sig"


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UnreachedError("it answered no JSON object")
    return found  # pyright: ignore[reportUnknownVariableType] - it came from outside


def _checked(address: object, provider: Provider, name: str) -> None:
    parts = urlsplit(address) if isinstance(address, str) and address.isascii() and address.isprintable() else None
    plain = urlsplit(provider.issuer).scheme == "http"
    if parts is None or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise UnreachedError(f"its {name} is no address")
    if parts.scheme != "https" and not (plain and parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise UnreachedError(f"its {name} is not https")


def _basic(provider: Provider) -> str:
    from base64 import b64encode
    from urllib.parse import quote_plus

    pair = f"{quote_plus(provider.client_id)}:{quote_plus(provider.secret)}"  # RFC 6749, 2.3.1
    return f"Basic {b64encode(pair.encode()).decode()}"
