"""What a platform's own directory says of people, beyond their accounts: who is above whom, and whose e-mail it is.

The platform speaks of accounts; which person of the file an account is, and whether the directory is believed at all,
is the core's to say. A channel whose platform has no such directory implements none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.ports import Account


class ReportsTo(Struct, frozen=True, kw_only=True):
    """Whom the directory names as somebody's manager, by account; "" where it says that there is none."""

    account_id: str = ""
    withheld: str = ""  # it does not say: what is missing, and how to mend that


@runtime_checkable
class ReportingChannel(Protocol):
    """A channel whose platform can be asked who somebody's manager is."""

    @property
    def managers_at_once(self) -> int:
        """About how many accounts one call can ask; 0: this channel's directory is not to be asked."""
        ...

    async def reports_to(self, accounts: tuple[str, ...], /) -> Mapping[str, ReportsTo]:
        """Say to whom each of these accounts reports. One of which the platform says nothing at all is left out.

        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        ...


class Member(Struct, frozen=True, kw_only=True):
    """Who an account is, where nobody wrote that down: how it stands, and the e-mail that the platform vouches for.

    `email` is "" where there is none, or none that is verified.
    """

    account: Account
    email: str = ""
    withheld: str = ""  # the platform does not say all of it: what is missing, and how to mend that


@runtime_checkable
class IdentifyingChannel(Protocol):
    """A channel whose platform says which verified e-mail an account has."""

    @property
    def members_at_once(self) -> int:
        """About how many accounts one call can ask."""
        ...

    async def identify(self, accounts: tuple[str, ...], /) -> Mapping[str, Member]:
        """Say who each of these accounts is. One that the platform does not know, or not as ours, is left out.

        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        ...
