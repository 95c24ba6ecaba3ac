"""What `assent doctor` sees of the channels: what each says of itself, and whether it knows who may be asked."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.abilities.renewal import RenewingChannel
from app.bulkhead.building import ChannelUnbuiltError, build_channel
from app.bulkhead.calls import ChannelFaultyError, ChannelHangsError
from app.cli.doctor.managers import look_at_managers
from app.cli.doctor.members import look_at_members
from app.clock import SystemClock
from app.domain.errors import AssentError
from app.domain.identity.seals import Seals
from app.identifiers import RandomIds
from app.ports import AccountStatus, ChannelRefusedError, ChannelUnavailableError, Finding, Severity
from app.storage.make_store import dialect_for, make_store
from app.usecases.platforms.renew_access import MEND, RenewAccess
from app.workers.supervisor import Supervisor
from channels import registry
from migrations.state import NEWEST, find_present

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from app.policies.file.policy_book import PolicyBook
    from app.ports import Account, Channel
    from app.settings import Settings


async def look_at_channels(book: PolicyBook, settings: Settings, active: dict[str, set[str] | None]) -> list[Finding]:
    """Look at every channel of every org. `active` gets who of each org has an account; None where one did not say."""
    found: list[Finding] = []
    active |= {org: set[str]() for org in book.orgs()}
    channels = _build(book, active, found)
    async with _access(settings) as access:
        for org, channel in channels:
            try:
                known = await _one(book, org, channel, access=access, found=found)
                active[org] = _union(active[org], known)
            except (ChannelUnavailableError, ChannelRefusedError, AssentError) as error:
                active[org] = None
                found += _interrupted(channel.name, error, found)
            finally:
                await channel.close()
    return found


def _build(book: PolicyBook, active: dict[str, set[str] | None], found: list[Finding]) -> list[tuple[str, Channel]]:
    """Build every channel; one that cannot be built is a finding, and its people are not known."""
    platforms = registry.platforms()
    channels: list[tuple[str, Channel]] = []
    for org in book.orgs():
        loaded = book.current(org)
        for name, given in loaded.channel_settings.items():
            try:
                channels.append((org, build_channel(platforms, loaded.kind_of(name), name, given)))
            except ChannelUnbuiltError as error:
                active[org] = None
                what = f"{name}: it cannot be built: {error.why}"
                found.append(Finding(severity=Severity.ERROR, what=what, mend=error.mend))
    return channels


def _interrupted(channel: str, error: Exception, found: list[Finding]) -> list[Finding]:
    """Say why a channel was not looked at to the end, unless its own findings have said it."""
    if any(str(error) in finding.what for finding in found):
        return []
    mend = "mend this and ask again: its people were not all looked up"
    return [Finding(severity=Severity.ERROR, what=f"{channel}: {error}", mend=mend)]


def _union(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    return None if one is None or other is None else one | other


@asynccontextmanager
async def _access(settings: Settings) -> AsyncGenerator[RenewAccess | None]:
    """Keep the channels' access as a gateway does: what is got here is stored, or nothing is got."""
    if await asyncio.to_thread(_present, settings.database_url) != NEWEST:
        yield None
        return
    seals, clock, supervisor = Seals([each.get_secret_value() for each in settings.secret]), SystemClock(), Supervisor()
    store = make_store(dialect_for(settings.database_url, clock), RandomIds(), seals=seals)
    store.start()
    access = RenewAccess(store=store, seals=seals, clock=clock, ids=RandomIds(), later=supervisor.later)
    try:
        yield access
    finally:
        await access.finish()
        await supervisor.stop()
        await store.stop()


def _present(url: str) -> str | None:
    try:
        return find_present(url)
    except Exception:  # noqa: BLE001 - what the driver says is a finding already
        return None


async def _one(
    book: PolicyBook, org: str, channel: Channel, *, access: RenewAccess | None, found: list[Finding]
) -> set[str] | None:
    """Add to what was found, step by step: a platform that does not answer hides nothing of what it did say.

    Return whom it knows, None if it did not say.
    """
    if isinstance(channel, RenewingChannel) and channel.first_renewal is not None and access is None:
        what = f"{channel.name}: its access is got when a gateway first starts: not before there is where to keep it"
        found.append(Finding(severity=Severity.WARNING, what=what, mend="start the gateway, and ask again"))
        return None
    if access is not None:
        access.serve(org, channel)
    found += [replace(finding, what=f"{channel.name}: {finding.what}") for finding in await channel.examine()]
    found += await _renewals(channel, access)
    active: dict[str, Account] = {}
    unsure: list[str] = []
    found += await _people(book, org, channel, active, unsure)
    directory = book.current(org).policy.directory
    found += await look_at_managers(directory, channel, active)
    found += await look_at_members(directory, channel, active)
    return None if unsure else set(active)


async def _renewals(channel: Channel, access: RenewAccess | None) -> list[Finding]:
    """Say whose access can be renewed no more, or could not when it was last tried."""
    troubles = [each for each in await access.look() if each.channel == channel.name] if access is not None else []
    return [
        Finding(
            severity=Severity.ERROR if each.lost else Severity.WARNING,
            what=f"{channel.name}: its access cannot be renewed{'' if each.lost else ' now'}: {each.why}",
            mend=MEND if each.lost else "see the gateway's log; it is tried again",
        )
        for each in troubles
    ]


async def _people(
    book: PolicyBook,
    org: str,
    channel: Channel,
    active: dict[str, Account] | None = None,
    unsure: list[str] | None = None,
) -> list[Finding]:
    """Everyone who may be asked must be someone the platform knows; those who are, are added to `active`.

    Over whom the channel's package fails is added to `unsure`: the others are asked about all the same.
    """
    found: list[Finding] = []
    faults: dict[str, list[str]] = {}
    withheld: dict[str, int] = {}
    for person in book.current(org).policy.directory.people.values():
        try:
            account = await channel.look_up(email=person.email, account_id=person.accounts.get(channel.kind, ""))
        except ChannelHangsError:
            raise  # and would for each of them
        except ChannelFaultyError as error:
            faults.setdefault(error.why, []).append(person.email)
            continue
        if account is not None and account.status is AccountStatus.UNKNOWN:
            withheld[account.withheld] = withheld.get(account.withheld, 0) + 1
        elif account is None or account.status is not AccountStatus.ACTIVE:
            how = account.status.value if account else "unknown there"
            what = f"{channel.name}: {person.email} cannot decide here: {how}"
            mend = f"name the account under people: {person.email}: {{{channel.kind}: …}}, or correct the e-mail"
            found.append(Finding(severity=Severity.WARNING, what=what, mend=mend))
        elif active is not None:
            active[person.email] = account
    for why, people in faults.items():
        who = people[0] if len(people) == 1 else f"{people[0]} and {len(people) - 1} more"
        what = f"{channel.name}: {who} cannot be looked up, and so cannot decide here: {why}"
        found.append(Finding(severity=Severity.ERROR, what=what, mend="mend or upgrade the channel's package"))
    if unsure is not None:
        unsure += [each for people in faults.values() for each in people]
    found += [
        Finding(
            severity=Severity.ERROR,
            what=f"{channel.name}: {count} of the approvers cannot decide here: whether they are active is withheld",
            mend=why or "see what the app may read of people",
        )
        for why, count in withheld.items()
    ]
    return found
