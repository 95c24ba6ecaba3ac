"""API keys: what each is for, whose it is, and how its secret is kept: a MAC over it and whose it is.

So no row can borrow the secret or the rights of another.

``k2.<key id>.<mac>`` is over the secret and the row. ``k1.<key id>.<hash>.<mac>`` is a hash from before, which was over
the secret alone, sealed to its row when a gateway first started with seals; it becomes a ``k2`` when the key is used.
Of a revoked key nothing is kept that a secret could open.
"""

from __future__ import annotations

import hmac
import json
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.identity.seals import BadTokenError

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.call.name_pattern import NamePattern
    from app.domain.identity.seals import Seals


class Scope(StrEnum):
    """What a key is for. They do not include one another: an admin's key cannot vote, an agent's can only ask.

    An evaluation key is an agent's that may also have its questions answered without people, run by run. An executor's
    is nobody's: it runs the calls of those enforced tools that it names, of every agent of its org, and sees nothing
    else.
    """

    AGENT = "agent"
    EVALUATION = "evaluation"
    APPROVER = "approver"
    EXECUTOR = "executor"
    AUDITOR = "auditor"
    ADMIN = "admin"


AGENTS = (Scope.AGENT, Scope.EVALUATION)
"""The scopes of keys that speak for an agent."""


READERS = tuple(scope for scope in Scope if scope is not Scope.EXECUTOR)
"""The scopes of keys that may read whatever concerns them: an executor sees what it is to run, and nothing else."""


class ApiKey(Struct, frozen=True, kw_only=True):
    """One key. `person` is the approver, or who answers for the agent; `tools` what an executor's key may run."""

    id: str
    org: str
    scope: Scope
    agent: str | None
    person: str | None
    label: str
    secret_hash: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    tools: tuple[NamePattern, ...] = ()
    last_used_at: datetime | None = None
    """As it was last noted: see `Keys.note_uses`."""

    def live(self, now: datetime) -> bool:
        """Whether the key works at `now`."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def holder(self) -> str:
        """Who holds it, as the trail names them."""
        return f"agent:{self.agent}" if self.agent is not None else self.person or f"key:{self.id}"

    def runs(self, tool: str) -> bool:
        """Whether this is an executor's key that may run a tool."""
        return any(pattern.matches(tool) for pattern in self.tools)


REVOKED = "revoked"
"""What stands in the place of a revoked key's hash: no secret opens it."""

_PURPOSE = "api-key"
_LENGTH_OF_OLD = 64


def hash_of_key(seals: Seals, key: ApiKey, secret: str) -> str:
    """Return what is kept of a key's secret."""
    key_id, mac = seals.seal(_PURPOSE, _text(key, secret))
    return f"k2.{key_id}.{mac}"


def sealed_as_it_is(seals: Seals, key: ApiKey) -> str | None:
    """Bind a hash from before to its row; None for any other."""
    if len(key.secret_hash) != _LENGTH_OF_OLD or "." in key.secret_hash:
        return None
    key_id, mac = seals.seal(_PURPOSE, _text(key, key.secret_hash))
    return f"k1.{key_id}.{key.secret_hash}.{mac}"


def opens(seals: Seals, key: ApiKey, secret: str) -> bool:
    """Say whether a secret is this key's."""
    parts = key.secret_hash.split(".")
    try:
        match parts:
            case ["k2", key_id, mac]:
                seals.verify_text(_PURPOSE, _text(key, secret), key_id=key_id, mac=mac)
            case ["k1", key_id, old, mac]:
                seals.verify_text(_PURPOSE, _text(key, old), key_id=key_id, mac=mac)
                return True in [hmac.compare_digest(old, candidate) for candidate in seals.key_hashes(secret)]
            case _:
                return False
    except BadTokenError:
        return False
    return True


def is_newest(seals: Seals, key: ApiKey) -> bool:
    """Say whether a key's hash was made with the newest secret."""
    return key.secret_hash.startswith(f"k2.{seals.key_ids[0]}.")


def sealed_under(key: ApiKey) -> str | None:
    """Return the id of the secret that a key's hash was made with; None if it does not say."""
    return sealed_as(key.secret_hash)


def sealed_as(secret_hash: str) -> str | None:
    """Return the id of the secret that a hash was made with; None if it does not say."""
    parts = secret_hash.split(".")
    return parts[1] if len(parts) > 1 else None


def _text(key: ApiKey, secret: str) -> str:
    ends = key.expires_at.isoformat() if key.expires_at else None
    tools = [pattern.text for pattern in key.tools]
    return json.dumps([key.id, key.org, key.scope.value, key.agent, key.person, tools, ends, secret])
