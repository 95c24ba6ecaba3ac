"""Who calls: the key of a request, its scope, and how fast it may call."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import TYPE_CHECKING

from app.api.wire.bodies import only_header
from app.api.wire.queries import refuse_unknown
from app.domain.errors import (
    ForbiddenError,
    LackingSecretError,
    NotFoundError,
    TooManyError,
    UnauthenticatedError,
    WrongScopeError,
)
from app.domain.identity.api_key import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pydantic import SecretStr
    from starlette.requests import Request

    from app.domain.identity.api_key import ApiKey
    from app.usecases.reading.keys import Keys

_MOST_UNCHECKED = 10_000


class Pace:
    """A token bucket a caller: bursts are fine, floods are not."""

    def __init__(self, *, per_second: float, burst: float) -> None:
        """Take the rate."""
        self._rate = per_second
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> None:
        """Take one token. Raises TooManyError."""
        now = time.monotonic()
        left, at = self._buckets.get(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1:
            self._buckets[who] = (left, now)
            raise TooManyError(retry_after=max(1, round((1 - left) / self._rate)))
        if len(self._buckets) > 50_000:  # strangers must not fill the memory
            self._buckets.clear()
        self._buckets[who] = (left - 1, now)


class Access:
    """Authenticates every call of the API."""

    def __init__(
        self,
        *,
        keys: Keys,
        knows: Callable[[str, str], bool],
        pace: Pace,
        strangers: Pace,
        operations: str | None = None,
    ) -> None:
        """`strangers` paces failed attempts by address; `operations` is what opens the figures, None: they are open.

        `knows` says whether an org's file has a person now.
        """
        self._operations = operations
        self._keys = keys
        self._knows = knows
        self._pace = pace
        self._strangers = strangers
        self._unchecked: set[bytes] = set()

    def to_operations(self, request: Request) -> None:
        """Let a call see the gateway's figures and its description. Raises UnauthenticatedError, TooManyError."""
        if not self.is_operations(request):
            if not _authorization(request):  # whoever guesses is paced already
                self._strangers.take(_source(request))
            raise UnauthenticatedError

    def is_operations(self, request: Request) -> bool:
        """Say whether a call may see them. Raises TooManyError: an address has few guesses."""
        given = _authorization(request)
        scheme, _, text = given.partition(" ")
        token = text.strip() if scheme.lower() == "bearer" else ""
        if not self._operations or hmac.compare_digest(token.encode(), self._operations.encode()):
            return True
        if given:
            self._strangers.take(_source(request))
        return False

    def _pace_unchecked(self, source: str, text: str) -> None:
        """Count a key that may be good as one attempt of its address, however often it is tried; each other anew.

        So an agent that tries again is not locked out, and whoever guesses is. Raises TooManyError.
        """
        attempt = hashlib.sha256(f"{source}\n{text}".encode()).digest()
        if attempt not in self._unchecked:
            self._strangers.take(source)
            if len(self._unchecked) >= _MOST_UNCHECKED:  # strangers must not fill the memory
                self._unchecked.clear()
            self._unchecked.add(attempt)

    async def still_holds(self, request: Request) -> bool:
        """Say whether the key of a call that is still being answered works yet."""
        try:
            key = await self._keys.authenticate(_authorization(request).partition(" ")[2].strip())
        except (UnauthenticatedError, LackingSecretError):
            return False
        return not self._has_left(key)

    def _has_left(self, key: ApiKey) -> bool:
        """Say whether it is the key of an approver whom the org does not have any more."""
        return key.scope is Scope.APPROVER and not self._knows(key.org, str(key.person))

    async def __call__(self, request: Request, *scopes: Scope) -> ApiKey:
        """Return the caller's key. Raises UnauthenticatedError, WrongScopeError, TooManyError, NotFoundError.

        ForbiddenError: its person has left. LackingSecretError: whether it is one cannot be said here.
        InvalidError: there are two keys, or the query has what its route does not know.
        """
        given = _authorization(request)
        scheme, _, text = given.partition(" ")
        try:
            key = await self._keys.authenticate(text.strip() if scheme.lower() == "bearer" else "")
        except UnauthenticatedError:
            self._strangers.take(_source(request))
            raise UnauthenticatedError(_what_is_wrong(scheme, text)) from None
        except LackingSecretError:
            self._pace_unchecked(_source(request), text.strip())
            raise
        request.scope.setdefault("state", {})["key"] = key  # `request.state` makes two objects for it
        self._pace.take(key.id)
        if self._has_left(key):
            raise ForbiddenError(
                f"{key.person} is nobody of {key.org}'s file or groups: this key opens nothing, and is to be revoked"
            )
        if key.scope not in scopes:
            wanted = " or ".join(scope.value for scope in scopes)
            raise WrongScopeError(f"this needs a key of scope {wanted}; yours is {key.scope.value}")
        if "\x00" in request.scope["path"]:  # no id of ours has one, and PostgreSQL cannot even be asked for it
            raise NotFoundError
        known: Collection[str] | None = getattr(request.scope.get("route"), "known", None)
        if known is not None and request.scope["query_string"]:
            refuse_unknown(request, known)
        return key


def _what_is_wrong(scheme: str, text: str) -> str:
    """Say why nobody was recognised: of the header's form, which tells a stranger nothing, and of a key, no more."""
    if not scheme:
        return "there is no Authorization header: send `Authorization: Bearer ak_…`"
    if scheme.lower() != "bearer" or not text.strip():
        return "the Authorization header is not `Bearer ak_…`"
    return "this key is none of ours, or no longer: it is unknown, revoked, over, or of another ASSENT_SECRET"


def _source(request: Request) -> str:
    return request.client.host if request.client else "?"


def _authorization(request: Request) -> str:
    return only_header(request, b"authorization") or ""


def access_for(
    keys: Keys, knows: Callable[[str, str], bool], per_second: float, operations: SecretStr | None
) -> Access:
    """Pace callers by key, and strangers by address; `operations` guards the figures."""
    return Access(
        keys=keys,
        knows=knows,
        pace=Pace(per_second=per_second, burst=per_second * 2),
        strangers=Pace(per_second=1, burst=20),
        operations=operations.get_secret_value() if operations else None,
    )
