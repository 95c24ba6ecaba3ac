"""Signing in by way of an issuer of the file: OpenID Connect's code flow, bound to one browser and to one issuer.

What was begun is a sealed cookie of that browser, which nobody else can read: the state, the nonce and the proof of the
code (PKCE). It is good once, for ten minutes, and for the address of that issuer alone.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import structlog
from msgspec import Struct

from app.domain.errors import AssentError, NotFoundError, UnauthenticatedError, UnavailableError
from app.domain.identity.passkey import rp_id
from app.domain.identity.provider import BadTokenClaimsError, person_in, via_of
from app.domain.identity.seals import BadTokenError
from app.storage.requests.seen_before import seen_before
from app.usecases.console.sessions import begin_session
from app.usecases.signing_in.issuer import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.identity.provider import Provider
    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Begun
    from app.usecases.signing_in.issuer import Issuers

log = structlog.get_logger(__name__)

BEGUN_FOR = timedelta(minutes=10)
"""How long somebody may take at the issuer: shorter than used answers are remembered."""

_USED = "console oidc"
_BOUND = ("oidc-begun",)
_LONGEST = 2_000


class Way(Struct, frozen=True, kw_only=True):
    """Where a browser goes to sign in, and the cookie that it comes back with."""

    url: str
    cookie: str


class _Begun(Struct, frozen=True, kw_only=True):
    org: str
    name: str
    state: str
    nonce: str
    verifier: str
    until: float


class Elsewhere:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, clock: Clock, issuers: Issuers) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals
        self._clock = clock
        self._issuers = issuers

    def offered(self, host: str) -> list[tuple[str, Provider]]:
        """Return who signs people in, as (org, issuer), where pages are reached under this host."""
        return [(org, each) for org, loaded in self._reached(host) for each in loaded.providers]

    def takes_passkeys(self, host: str) -> bool:
        """Say whether browsers can make passkeys for the pages that are reached under this host."""
        return any(rp_id(loaded.policy.url) is not None for _, loaded in self._reached(host))

    def _reached(self, host: str) -> list[tuple[str, LoadedPolicy]]:
        loaded = {org: self._book.current(org) for org in self._book.orgs()}
        here = [org for org in loaded if len(loaded) == 1 or urlsplit(loaded[org].policy.url or "").hostname == host]
        return [(org, loaded[org]) for org in here]

    def policy_of(self, org: str) -> Policy:
        """Return the configuration of an org. Raises UnauthenticatedError."""
        try:
            return self._book.current(org).policy
        except NotFoundError:
            raise UnauthenticatedError from None

    async def begin(self, org: str, name: str) -> Way:
        """Send a browser to an issuer. Raises UnauthenticatedError for none of the file, and UnavailableError."""
        policy, provider = self.policy_of(org), self._provider(org, name)
        try:
            said = await self._issuers.told_by(provider)
        except UnreachedError as error:
            log.warning("sign_in.unreached", org=org, issuer=provider.issuer, why=str(error))
            raise UnavailableError("whoever signs people in does not answer") from None
        begun = _Begun(
            org=org,
            name=name,
            state=secrets.token_urlsafe(24),
            nonce=secrets.token_urlsafe(24),
            verifier=secrets.token_urlsafe(48),
            until=(self._clock.now() + BEGUN_FOR).timestamp(),
        )
        proof = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": _back(policy, org, name),
            "scope": "openid email profile" + (" groups" if "groups" in (said.get("scopes_supported") or ()) else ""),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": proof,
            "code_challenge_method": "S256",
        }
        address = str(said["authorization_endpoint"])
        parts = [begun.org, begun.name, begun.state, begun.nonce, begun.verifier, begun.until]
        cookie = self._seals.hide(json.dumps(parts), bound=_BOUND)
        return Way(url=f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}", cookie=cookie)

    async def finish(self, org: str, name: str, said: Mapping[str, str], cookie: str) -> Begun:
        """Take what an issuer sent a browser back with, and begin a session. Raises UnauthenticatedError.

        Whoever brought it is not told what was wrong; the log is.
        """
        try:
            return await self._finished(org, name, said, cookie)
        except (BadTokenClaimsError, UnreachedError) as error:
            log.warning("sign_in.refused", org=org, name=name, why=str(error))
            raise UnauthenticatedError from None

    async def _finished(self, org: str, name: str, said: Mapping[str, str], cookie: str) -> Begun:
        begun, now = self._opened(cookie), self._clock.now()
        if (begun.org, begun.name) != (org, name) or now.timestamp() >= begun.until:
            raise BadTokenClaimsError("it was begun with another issuer, or too long ago")
        if not hmac.compare_digest(said.get("state", "").encode(), begun.state.encode()):
            raise BadTokenClaimsError("this browser did not begin it (state)")
        policy, provider = self.policy_of(org), self._provider(org, name)
        named = (await self._issuers.told_by(provider)).get("authorization_response_iss_parameter_supported") is True
        if (named or "iss" in said) and said.get("iss") != provider.issuer:
            raise BadTokenClaimsError("another issuer answered (iss)")
        if "error" in said or not said.get("code"):
            raise BadTokenClaimsError("the issuer refused")
        back = _back(policy, org, name)
        token = await self._issuers.token_for(provider, code=said["code"], verifier=begun.verifier, back=back)
        claims = await self._issuers.claims_of(provider, token)
        person_in(claims, provider, policy.directory, nonce=begun.nonce, now=now)  # which says in the log why not

        def unit(tx: Tx) -> Begun | AssentError:
            if seen_before(tx, _USED, begun.nonce):
                return UnauthenticatedError()
            try:  # by the file of this very moment
                directory = self.policy_of(org).directory
                known = person_in(claims, provider, directory, nonce=begun.nonce, now=now)
            except BadTokenClaimsError:
                return UnauthenticatedError()
            return begin_session(tx, self._seals, known.person, via=via_of(name), groups=known.groups)

        return await self._store.write(unit, org=org)

    def _opened(self, cookie: str) -> _Begun:
        try:
            text = self._seals.read_hidden(cookie[:_LONGEST], bound=_BOUND)
        except BadTokenError:
            raise BadTokenClaimsError("this browser has begun nothing") from None
        org, name, state, nonce, verifier, until = json.loads(text)
        return _Begun(org=org, name=name, state=state, nonce=nonce, verifier=verifier, until=until)

    def _provider(self, org: str, name: str) -> Provider:
        try:
            found = [each for each in self._book.current(org).providers if each.name == name]
        except NotFoundError:
            found = []
        if not found:
            raise UnauthenticatedError
        return found[0]


def _back(policy: Policy, org: str, name: str) -> str:
    return f"{policy.url}/sign-in/from/{org}/{name}"
