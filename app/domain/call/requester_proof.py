"""What proves who asked: an issuer's token that the caller handed over with the call, and that was checked.

It says that this person signed in there, for whom, and when; and that the caller held the token. It does not say that
the person wanted this very call: a token is bound to none. Of the token itself nothing is kept but a digest, by which
the calls that came with the same one are known.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


class RequesterProof(Struct, frozen=True, kw_only=True):
    """Who asked, as an issuer of the file says. `person` is their e-mail, as people are compared."""

    person: str
    issuer: str  # its address
    subject: str
    signed_at: datetime  # when the token was made
    until: datetime  # when it is over; what was asked before that stays proved
    token: str  # SHA-256
    actor: str | None = None  # for whom it was exchanged (RFC 8693): who the agent is to the issuer

    @property
    def where(self) -> str:
        """Where they signed in, as people know it: the issuer's host."""
        return urlsplit(self.issuer).hostname or self.issuer

    def facts(self) -> dict[str, Any]:
        """Return it as it is stored, bound by the digest, and told to the trail."""
        return {
            "person": self.person,
            "issuer": self.issuer,
            "subject": self.subject,
            "signed_at": self.signed_at.isoformat(),
            "until": self.until.isoformat(),
            "token": self.token,
            "actor": self.actor,
        }


def proof_from(facts: Mapping[str, Any]) -> RequesterProof:
    """Read it back. Raises ValueError, KeyError and TypeError for anything else."""
    known: dict[str, Any] = {**facts}
    for name in ("signed_at", "until"):
        known[name] = datetime.fromisoformat(known[name])
    return RequesterProof(**known)
