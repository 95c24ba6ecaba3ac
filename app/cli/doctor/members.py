"""What `assent doctor` sees of groups whose members count by their verified e-mail: how many do, and why not all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from app.abilities.directories import IdentifyingChannel
from app.domain.people.people import email_key
from app.ports import ChannelRefusedError, ChannelUnavailableError, Finding, Severity
from app.usecases.platforms.know_members import TAKEN, UNVERIFIED, why_not

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.abilities.directories import Member
    from app.domain.people.people import Directory, GroupSource
    from app.ports import Account, Channel

_WHY = {
    TAKEN: "their e-mail is that of somebody under people who has another account there",
    UNVERIFIED: "the platform vouches for no e-mail of theirs of these domains",
    "inactive": "the account is a guest's, a bot's or deactivated",
}


async def look_at_members(directory: Directory, channel: Channel, active: Mapping[str, Account]) -> list[Finding]:
    """Look at each such group that this channel is asked for. `active` are the accounts of the file's people."""
    found: list[Finding] = []
    for name, source in directory.sources.items():
        if source.domains and source.channel == channel.name and isinstance(channel, IdentifyingChannel):
            try:
                found += await _look_at(name, source, directory, channel, active)
            except (ChannelRefusedError, ChannelUnavailableError) as error:
                what = f"{channel.name}: who is in {name} cannot be asked: {error.why}"
                mend = "mend this: until then nobody counts there who is not written down"
                found.append(Finding(severity=Severity.ERROR, what=what, mend=mend))
    return found


async def _look_at(
    name: str, source: GroupSource, directory: Directory, channel: Channel, active: Mapping[str, Account]
) -> list[Finding]:
    theirs = {account.account_id for account in active.values()}
    accounts = sorted(set(await channel.group_members(source.source)) - theirs)
    known = await _identify(channel, accounts)
    why = {account: why_not(member, source, directory) for account, member in known.items()}
    count = len({email_key(member.email) for account, member in known.items() if not why[account]})
    what = f"{channel.name}: in {name}, {count} of {len(accounts)} who are not under people count by their e-mail"
    found = [Finding(severity=Severity.OK, what=what)]
    if withheld := [member.withheld for member in known.values() if member.withheld]:
        what = f"{channel.name}: of {len(withheld)} in {name} it is withheld who they are"
        found.append(Finding(severity=Severity.ERROR, what=what, mend=withheld[0]))
    found += [
        Finding(
            severity=Severity.WARNING,
            what=f"{channel.name}: {many} in {name} do not count: {_WHY[each]}",
            mend="mend that there, write them down under people, or leave it: they decide nothing",
        )
        for each, many in sorted(Counter(why.values()).items())
        if each in _WHY
    ]
    return found


async def _identify(channel: Channel, accounts: list[str]) -> dict[str, Member]:
    known: dict[str, Member] = {}
    if isinstance(channel, IdentifyingChannel):
        for start in range(0, len(accounts), channel.members_at_once):
            known |= await channel.identify(tuple(accounts[start : start + channel.members_at_once]))
    return known
