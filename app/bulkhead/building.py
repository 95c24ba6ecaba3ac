"""Build a channel from its package: behind its bulkhead, and complete, or not at all.

What only some channels can do is told by the methods that they have: a bulkhead has no others.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from app.abilities.askable import AskableChannel
from app.abilities.directories import IdentifyingChannel, ReportingChannel
from app.abilities.renewal import Access, RenewingChannel
from app.bulkhead import checked
from app.bulkhead.calls import Failed, UnusableError, call_within, place_of
from app.bulkhead.channel import FITS, BulkheadChannel
from app.ports import BatchChannel, HttpAnswer, ListeningChannel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from app.abilities.directories import Member, ReportsTo
    from app.abilities.renewal import AccessKeeper
    from app.ports import Account, Channel, Inbound, MessageRef
    from app.spec import Spec

_LISTENER_ENDS: Final = 5.0
"""Seconds that a listener has to answer what it still holds: those that come with the gateway take three."""


class _Behind(BulkheadChannel):
    of: Any  # it has what the class below asks of it: see `behind_bulkhead`


class _Listening(_Behind):
    """See `ListeningChannel`."""

    @property
    def connected(self) -> bool:
        """Whether the connection stands; where the package fails to say, it does not."""
        try:
            return self.of.connected is True
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            self.bulkhead.fault("connected", error)
            return False

    async def listen(self, receive: Callable[[Inbound], Awaitable[HttpAnswer]]) -> None:
        """Receive clicks until cancelled. What is none is answered like a call that nobody proved."""

        async def looked_at(said: Inbound) -> HttpAnswer:
            try:
                inbound = checked.inbound(said)
            except UnusableError as error:
                self.bulkhead.fault("listen", error)
                return HttpAnswer(status=401)
            return await receive(inbound)

        came = await call_within(lambda: self.of.listen(looked_at), seconds=None, grace=_LISTENER_ENDS)
        if isinstance(came, Failed):
            raise self.bulkhead.fault("listen", came.error)


class _Batch(_Behind):
    """See `BatchChannel`."""

    async def look_up_all(self, emails: tuple[str, ...], /) -> Mapping[str, Account | None]:
        """Say which accounts these people have; whom the answer leaves out, the platform does not know."""
        told = await self.bulkhead.call("look_up_all", lambda: self.of.look_up_all(emails), checked.accounts)
        return {email: told.get(email) for email in emails}


class _Askable(_Behind):
    """See `AskableChannel`."""

    async def list_missing(self, refs: tuple[MessageRef, ...], /) -> frozenset[str]:
        """Say which messages are not there."""
        return await self.bulkhead.call("list_missing", lambda: self.of.list_missing(refs), checked.message_ids)


class _Identifying(_Behind):
    """See `IdentifyingChannel`."""

    @property
    def members_at_once(self) -> int:
        """One at least: nobody goes on by less."""
        return max(1, self.bulkhead.number("members_at_once", self.of))

    async def identify(self, accounts: tuple[str, ...], /) -> Mapping[str, Member]:
        """Say who these accounts are."""
        return await self.bulkhead.call("identify", lambda: self.of.identify(accounts), checked.members)


class _Reporting(_Behind):
    """See `ReportingChannel`."""

    @property
    def managers_at_once(self) -> int:
        """None where it is less than that."""
        return max(0, self.bulkhead.number("managers_at_once", self.of))

    async def reports_to(self, accounts: tuple[str, ...], /) -> Mapping[str, ReportsTo]:
        """Say to whom these accounts report."""
        return await self.bulkhead.call("reports_to", lambda: self.of.reports_to(accounts), checked.managers)


class _Renewing(_Behind):
    """See `RenewingChannel`."""

    @property
    def first_renewal(self) -> str | None:
        """As the package says."""
        return self.of.first_renewal

    def use_access(self, keeper: AccessKeeper, /) -> None:
        """Take the tokens from there."""
        try:
            self.of.use_access(keeper)
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            fault = self.bulkhead.fault("use_access", error)
        else:
            return
        raise fault

    async def renew(self, renewal: str, /) -> Access:
        """Spend a renewal token."""
        return await self.bulkhead.call("renew", lambda: self.of.renew(renewal), _access)


_ABILITIES: Final[tuple[tuple[type[Any], type[_Behind]], ...]] = (
    (ListeningChannel, _Listening),
    (BatchChannel, _Batch),
    (AskableChannel, _Askable),
    (IdentifyingChannel, _Identifying),
    (ReportingChannel, _Reporting),
    (RenewingChannel, _Renewing),
)


def behind_bulkhead(name: str, kind: str, of: Channel) -> BulkheadChannel:
    """Return the channel behind its bulkhead, with the abilities that it has."""
    able = tuple(behind for ability, behind in _ABILITIES if isinstance(of, ability))
    return _class_of(able)(name, kind, of)


@cache
def _class_of(able: tuple[type[_Behind], ...]) -> type[BulkheadChannel]:
    return (
        cast("type[BulkheadChannel]", type("BulkheadChannel", (*able, BulkheadChannel), {}))
        if able
        else BulkheadChannel
    )


def _access(said: object) -> Access:
    if not isinstance(said, Access):
        raise UnusableError(f"an Access is {type(said).__name__}")
    if not (checked.is_id(said.token, empty=True, most=4000) and checked.is_id(said.renewal, empty=True, most=4000)):
        raise UnusableError("a token of the Access is none")
    if not isinstance(said.lasts, timedelta):  # pyright: ignore[reportUnnecessaryIsInstance] - others write it
        raise UnusableError(f"Access.lasts is {type(said.lasts).__name__}")
    return said


class ChannelUnbuiltError(Exception):
    """A channel could not be built: its package failed at it, or built what is no channel.

    `channel` is its name, `why` what failed, never in the package's own words, and `mend` what to do.
    """

    def __init__(self, channel: str, why: str, *, mend: str) -> None:
        """Keep all three."""
        super().__init__(f"the channel {channel} cannot be built: {why}; {mend}")
        self.channel = channel
        self.why = why
        self.mend = mend


def mend_of(error: Exception) -> str:
    """Say what to do about a channel that could not be built, or not set up."""
    return error.mend if isinstance(error, ChannelUnbuiltError) else "assent doctor"


_METHODS: Final = (
    *("post", "find", "refresh", "notify", "announce", "look_up", "group_members"),
    *("read", "answer", "open_form", "tell", "examine", "warm_up", "close"),
)


def build_channel(platforms: Mapping[str, Spec], kind: str, name: str, settings: object) -> BulkheadChannel:
    """Return the channel of these settings. Raises ChannelUnbuiltError, or SpecRefusedError of the package."""
    spec = platforms[kind]
    package = str(getattr(spec.build, "__module__", kind)).partition(".")[0]
    mend = f"mend or upgrade the package {package}, or take the channel out of the file; the others go on without it"
    try:
        channel = spec.build(name, settings)
        lacking = [each for each in _METHODS if not callable(getattr(channel, each, None))]
        lacking += [each for each, fits in FITS.items() if not fits(getattr(channel, each, None))]
        if not lacking:
            return behind_bulkhead(name, kind, channel)
        why = f"the package {package} built one without a usable {', '.join(lacking)}"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anything: it is somebody else's package
        at = place_of(error, package)
        why = f"the package {package} failed in build: {type(error).__name__}{f' ({at})' if at else ''}"
    raise ChannelUnbuiltError(name, why, mend=mend)
