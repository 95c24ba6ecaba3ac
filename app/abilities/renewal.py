"""Access to a platform that ends after some hours, and how a channel comes by the next.

Such a platform gives two tokens: one for access, and one with which the next two are got. The second can be used once.
So the pair is kept in the database, sealed, where every replica reads it; of several replicas one renews it; and a new
pair is stored before it is used. Whoever keeps it knows no platform, and a channel knows no database: they meet here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from app.ports import ChannelRefusedError

if TYPE_CHECKING:
    from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A pair as the platform gave it. Either token is "" where its answer lacks it; `lasts` is from that answer on."""

    token: str = field(repr=False)
    renewal: str = field(repr=False)
    lasts: timedelta


class RenewalSpentError(ChannelRefusedError):
    """The platform does not know this renewal token any more, or never did: only a person can give another one."""


class AccessKeeper(Protocol):
    """What a channel gets its access from."""

    async def token(self) -> str:
        """Return a token that is good now. Raises ChannelUnavailableError or ChannelRefusedError."""
        ...

    async def token_after(self, refused: str, /) -> str:
        """Return another one, the platform having refused this one as ended. Raises what `token` raises."""
        ...


@runtime_checkable
class RenewingChannel(Protocol):
    """A channel whose access may end."""

    @property
    def first_renewal(self) -> str | None:
        """The renewal token that the file gives. None: this channel's access does not end."""
        ...

    def use_access(self, keeper: AccessKeeper, /) -> None:
        """Take the tokens from here. Called once, before anything else."""
        ...

    async def renew(self, renewal: str, /) -> Access:
        """Spend a renewal token, with one call.

        Raises RenewalSpentError, ChannelRefusedError (the token is still good, what came with it is not), or
        ChannelUnavailableError.
        """
        ...
