"""What `assent doctor` sees of a directory that is asked who is above whom: of how many people it tells that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.abilities.directories import ReportingChannel
from app.ports import ChannelRefusedError, ChannelUnavailableError, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.abilities.directories import ReportsTo
    from app.domain.people.people import Directory
    from app.ports import Account, Channel

_MOST_NAMED = 5


async def look_at_managers(directory: Directory, channel: Channel, active: Mapping[str, Account]) -> list[Finding]:
    """Ask about everybody who has an account here (`active`, by e-mail) and no manager in the file."""
    if not isinstance(channel, ReportingChannel) or channel.managers_at_once == 0:
        return []
    asked = {account.account_id: who for who, account in active.items() if directory.people[who].manager is None}
    try:
        told = await _ask(channel, tuple(asked))
    except (ChannelRefusedError, ChannelUnavailableError) as error:
        what = f"{channel.name}: who is above whom cannot be asked: {error.why}"
        mend = "mend this, or name a `manager` under people: until then the word stands for whom the file names alone"
        return [Finding(severity=Severity.ERROR, what=what, mend=mend)]
    owners = {account.account_id: who for who, account in active.items()}
    withheld = {account: answer.withheld for account, answer in told.items() if answer.withheld}
    known = {a for a, answer in told.items() if owners.get(answer.account_id, asked[a]) != asked[a]}
    return [
        *_known(channel.name, len(known), len(asked)),
        *_withheld(channel.name, withheld),
        *_unknown(
            channel.name, [who for account, who in asked.items() if account not in known and account not in withheld]
        ),
    ]


async def _ask(channel: ReportingChannel, accounts: tuple[str, ...]) -> dict[str, ReportsTo]:
    told: dict[str, ReportsTo] = {}
    for start in range(0, len(accounts), channel.managers_at_once):
        told |= await channel.reports_to(accounts[start : start + channel.managers_at_once])
    return told


def _known(channel: str, known: int, asked: int) -> list[Finding]:
    what = f"{channel}: its directory names the manager of {known} of {asked} people who have none in the file"
    return [Finding(severity=Severity.OK, what=what)]


def _withheld(channel: str, withheld: Mapping[str, str]) -> list[Finding]:
    if not withheld:
        return []
    what = f"{channel}: who the manager of {len(withheld)} people is, is withheld"
    return [Finding(severity=Severity.ERROR, what=what, mend=next(iter(withheld.values())))]


def _unknown(channel: str, people: list[str]) -> list[Finding]:
    if not people:
        return []
    more = f" and {len(people) - _MOST_NAMED} more" if len(people) > _MOST_NAMED else ""
    what = f"{channel}: no person of the file is named as manager of {', '.join(people[:_MOST_NAMED])}{more}"
    mend = "name one in the directory who is under people and has an active account there, or `manager` under people"
    return [Finding(severity=Severity.WARNING, what=what, mend=mend)]
