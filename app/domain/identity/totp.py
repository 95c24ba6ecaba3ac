"""Second factors: the six digits of an authenticator app (TOTP, RFC 6238: SHA-1, 30 seconds)."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from pyotp import TOTP

if TYPE_CHECKING:
    from datetime import datetime

STEP_SECONDS = 30
ISSUER = "Assent"
_SKEW = 1  # steps by which a phone's clock may be off, either way


def step_at(at: datetime) -> int:
    """Return the number of the step that an instant lies in."""
    return int(at.timestamp()) // STEP_SECONDS


def matching_steps(secret: str, code: str, *, at: datetime) -> tuple[int, ...]:
    """Return the steps around an instant whose code this is, the earliest first; none: it is wrong.

    Every step is looked at, whatever the others say, and compared in constant time.
    """
    totp, now = TOTP(secret), step_at(at)
    matches = [
        (step, hmac.compare_digest(totp.generate_otp(step).encode(), code.encode()))
        for step in range(now - _SKEW, now + _SKEW + 1)
    ]
    return tuple(step for step, same in matches if same)


def setup_uri(secret: str, *, org: str, person: str) -> str:
    """Return the ``otpauth://`` address that an authenticator app reads, from a QR code or as it is."""
    app = TOTP(secret, name=person, issuer=f"{ISSUER} {org}")
    return app.provisioning_uri()  # pyright: ignore[reportUnknownMemberType] - its **kwargs have no type
