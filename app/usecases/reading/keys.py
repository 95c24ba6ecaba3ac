"""API keys: made once, shown once, stored as a keyed hash, revoked for good.

A key reads ``ak_<id>_<secret>_<checksum>``: the id finds its row, the secret is 256 random bits, and the checksum lets
a typo or a scanner's false alarm be told from a key without asking the database.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.name_pattern import NamePattern
from app.domain.call.trial_call import TRIAL_AGENT
from app.domain.errors import (
    AssentError,
    InvalidError,
    LackingSecretError,
    NotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from app.domain.identity.api_key import AGENTS, ApiKey, Scope, hash_of_key, is_newest, opens
from app.domain.people.people import email_key
from app.domain.text.visible import hides
from app.domain.trail.audit import Kind, Record
from app.storage.engine.transaction import EVERY_ORG
from app.storage.identity.api_keys import find_key, insert_key, list_keys, put_hash, put_use, revoke_key
from app.storage.identity.lacking_secrets import lacks_keys
from app.usecases.sessions.believed import Believed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_LOOKED_FOR = 10.0
"""Seconds for which it is believed whether live keys hang on a secret that lacks here: no stranger makes us look."""
USES_NOTED_EVERY = timedelta(minutes=5)
"""How old the last use of a key may be, as it is stored and shown."""


class NewKey(Struct, frozen=True, kw_only=True):
    """A key and its text, which is shown this once."""

    key: ApiKey
    text: str


class Keys:
    """Create, list, revoke, authenticate."""

    def __init__(self, *, store: Store, seals: Seals, clock: Clock) -> None:
        """Take what it works on."""
        self._store = store
        self._seals = seals
        self._clock = clock
        self._known = Believed[ApiKey]()
        self._revoked: set[str] = set()
        """Which were known as revoked once: whatever their rows say later, here none of them is alive again."""
        self._noted: dict[str, datetime] = {}
        self._lacks: tuple[float, bool] | None = None

    async def create(
        self,
        *,
        org: str,
        scope: Scope,
        label: str,
        agent: str | None = None,
        person: str | None = None,
        tools: Sequence[str] = (),
        lives_for: timedelta | None = None,
        by: str = "system",
    ) -> NewKey:
        """Make a key. `tools` are names and globs (``*``) of what an executor may run.

        Raises InvalidError if what the scope needs is missing.
        """
        if scope in AGENTS and not agent:
            raise InvalidError(f"a key of scope {scope.value} needs the agent's name", path="agent")
        if scope is Scope.APPROVER and not person:
            raise InvalidError("an approver's key needs the person's e-mail", path="person")
        for path, names in {"agent": [agent], "person": [person], "label": [label], "tools": tools}.items():
            if any(hides(name) or "\n" in name or "\t" in name for name in names if name):
                raise InvalidError(f"{path}: no line breaks, and no characters that nobody sees", path=path)
        if agent == TRIAL_AGENT:
            raise InvalidError("test cards ask in this name: no agent has it", path="agent")
        if scope is Scope.EXECUTOR and (agent or person):
            raise InvalidError("an executor's key is no agent's and no person's: leave both out", path="scope")
        if (scope is Scope.EXECUTOR) != bool(tools) or not all(tools):
            raise InvalidError("name the tools that an executor's key may run, and no others' (* is any)", path="tools")
        now = self._clock.now()
        key_id = base64.b32encode(secrets.token_bytes(10)).decode().lower()
        secret = base64.b32encode(secrets.token_bytes(32)).decode().lower().rstrip("=")
        key = ApiKey(
            id=key_id,
            org=org,
            scope=scope,
            agent=agent if scope in AGENTS else None,
            person=email_key(person) if person else None,
            label=label,
            secret_hash="",
            created_at=now,
            expires_at=now + lives_for if lives_for else None,
            revoked_at=None,
            tools=tuple(map(NamePattern, tools)),
        )
        key = replace(key, secret_hash=hash_of_key(self._seals, key, secret))
        facts = {"key": key.id, "scope": scope.value, "agent": key.agent, "person": key.person, "label": label}
        facts |= {"expires_at": key.expires_at.isoformat() if key.expires_at else None}
        record = Record(kind=Kind.KEY_CREATED, actor=by, facts={**facts, **({"tools": list(tools)} if tools else {})})

        def unit(tx: Tx) -> None:
            insert_key(tx, key)
            tx.append(record)

        await self._store.write(unit, org=org)
        return NewKey(key=key, text=f"ak_{key_id}_{secret}_{_checksum(key_id, secret)}")

    async def list(self, org: str) -> list[ApiKey]:
        """Return an org's keys."""
        return await self._store.read(list_keys, org=org)

    async def revoke(self, org: str, key_id: str, *, by: str = "system") -> None:
        """End a key for good. Raises NotFoundError."""

        def unit(tx: Tx) -> AssentError | None:
            if not revoke_key(tx, key_id):
                return NotFoundError("no such live key")
            tx.append(Record(kind=Kind.KEY_REVOKED, actor=by, facts={"key": key_id}))
            return None

        await self._store.write(unit, org=org)
        self._revoked.add(key_id)
        self._known.forget_all(lambda key: key.id == key_id)

    async def authenticate(self, text: str) -> ApiKey:
        """Return the key behind a bearer text. Raises UnauthenticatedError, always with the same words.

        LackingSecretError, for every text that reads like a key and opens nothing, while live keys hang on a secret
        that lacks here: it may be one of them. Said of those alone, it would tell a stranger which keys there are.
        """
        if not text.isascii():
            raise UnauthenticatedError
        fingerprint = hashlib.sha256(text.encode()).digest()
        now = self._clock.now()
        known = self._known.find(fingerprint, now)
        if known is not None and known.live(now):
            return known
        parts = text.split("_")
        if len(parts) != 4 or parts[0] != "ak" or not hmac.compare_digest(parts[3], _checksum(parts[1], parts[2])):
            raise UnauthenticatedError
        try:
            return await self._known.read(fingerprint, now, self._opened(parts[1], parts[2], now))
        except UnauthenticatedError:
            self._known.forget(fingerprint)
            raise LackingSecretError.of_keys() if await self._lacks_secrets() else UnauthenticatedError from None

    async def _opened(self, key_id: str, secret: str, now: datetime) -> ApiKey:
        """Read the key of a name, if it is live and its secret opens it."""
        key = await self._store.read(lambda tx: find_key(tx, key_id), org=EVERY_ORG)
        if key is not None and key.revoked_at is not None:
            self._revoked.add(key.id)
        if key is None or key.id in self._revoked or not opens(self._seals, key, secret) or not key.live(now):
            raise UnauthenticatedError
        return key if is_newest(self._seals, key) else await self._rehash(key, secret)

    async def note_uses(self) -> None:
        """Store when each key was last used here, of those that were since the last time.

        No call is held up by it: when a key was last read for a call is known anyway, to half a second.
        """
        uses: dict[str, dict[str, datetime]] = {}
        for at, key in self._known:
            if self._noted.get(key.id) != at:
                uses.setdefault(key.org, {})[key.id] = at
        for org, used in uses.items():

            def unit(tx: Tx, used: dict[str, datetime] = used) -> None:
                for key_id, at in sorted(used.items()):  # in one order: replicas note at the same time
                    put_use(tx, key_id, at)

            await self._store.write(unit, org=org)
            self._noted |= used

    async def _lacks_secrets(self) -> bool:
        at = time.monotonic()
        if self._lacks is None or at - self._lacks[0] > _LOOKED_FOR:
            self._lacks = at, await self._store.read(lacks_keys, org=EVERY_ORG)
        return self._lacks[1]

    async def _rehash(self, key: ApiKey, secret: str) -> ApiKey:
        """Keep a hash under the newest secret: a secret that is retired later ends no key that was used."""
        anew = replace(key, secret_hash=hash_of_key(self._seals, key, secret))
        with suppress(UnavailableError):  # it works as it is; there is a next time
            await self._store.write(lambda tx: put_hash(tx, key.id, anew.secret_hash), org=key.org)
        return anew


def _checksum(key_id: str, secret: str) -> str:
    return hashlib.sha256(f"{key_id}_{secret}".encode()).hexdigest()[:6]
