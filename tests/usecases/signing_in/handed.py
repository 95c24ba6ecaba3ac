"""An issuer whose tokens agents hand over with their calls: it signs what it is told to, and counts who asks it."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from app.usecases.signing_in.issuer import UnreachedError
from tests.fixtures.second_factors import ALICE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.fixtures.gateway import Gateway, ManualClock

ISSUER = "https://login.acme.example/realms/acme"
PORTAL = "portal"
"""The client that people sign in to."""
AGENT = "0oa-shop"
"""Who the agent shop is to the issuer, where it exchanges tokens."""
PROVED = (
    "  - {id: proved, tools: [proved_*], then: ask, requester: verified, stages: [{of: [finance]}], channels: [api]}\n"
)


@cache
def a_key(kid: str = "1") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


@dataclass(slots=True)
class Issuer:
    """It signs; `keys` are those that it publishes."""

    clock: ManualClock
    key: RSAKey = field(default_factory=a_key)
    keys: list[Any] = field(default_factory=lambda: [a_key().as_dict(private=False)])
    away: bool = False
    hangs: bool = False
    answer: bytes | None = None
    asked: list[str] = field(default_factory=list[str])

    async def fetch(
        self, method: str, url: str, *, private: bool, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> bytes:
        self.asked.append(url.removeprefix(ISSUER))
        if self.hangs:
            await asyncio.Event().wait()
        if self.away:
            raise UnreachedError("no connection")
        if self.answer is not None:
            return self.answer
        if url.endswith("/.well-known/openid-configuration"):
            ends = {name: f"{ISSUER}/{name}" for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
            return json.dumps({"issuer": ISSUER, **ends}).encode()
        return json.dumps({"keys": self.keys}).encode()

    def claims(self, **more: Any) -> dict[str, Any]:
        """What a good token says, changed; `...` leaves a claim out."""
        now = int(self.clock.now().timestamp())
        said = {"iss": ISSUER, "aud": PORTAL, "sub": "00u1", "exp": now + 300, "iat": now, "jti": "t-1",
                "email": ALICE, "email_verified": True, **more}  # fmt: skip
        return {name: value for name, value in said.items() if value is not ...}

    def token(self, *, header: Mapping[str, Any] | None = None, signs_with: Any = None, **more: Any) -> str:
        head = {"alg": "RS256", "kid": "1", **(header or {})}
        head = {name: value for name, value in head.items() if value is not ...}
        return jwt.encode(head, self.claims(**more), signs_with or self.key, algorithms=["RS256", "RS512", "ES256"])


def part(said: Any) -> str:
    """Encode one part of a token."""
    return urlsafe_b64encode(json.dumps(said).encode()).rstrip(b"=").decode()


async def takes_tokens(gateway: Gateway, rules: str = PROVED, issuer: str = ISSUER, **requesters: Any) -> None:
    """Let the file take an issuer's tokens, and have a rule that demands one."""
    terms = {"audiences": [PORTAL], **requesters}
    entry = {"issuer": issuer, "client_id": "assent", "client_secret": "${CORP_SECRET}", "requesters": terms}
    gateway.container.book._environ = {"CORP_SECRET": "s3cret"}
    head = f"org: acme\nurl: https://assent.acme.example\nsign_in: {{corp: {json.dumps(entry)}}}\n"
    gateway.rewrite("org: acme\n", head)
    gateway.rewrite("tools:\n", "tools:\n  proved_pay: {}\n  proved_run: {}\n")
    gateway.rewrite("rules:\n", f"rules:\n{rules}")
    await gateway.reload()
