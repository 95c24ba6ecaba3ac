"""Who is above whom, by SCIM: the manager whom an identity provider wrote into Slack's enterprise extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from app.abilities.directories import ReportsTo
from app.ports import ChannelUnavailableError
from channels.slack.details.failures import SCIM
from channels.slack.details.forms import PERSON_ID

if TYPE_CHECKING:
    from channels.slack.client import SlackClient

ENTERPRISE: Final = "urn:scim:schemas:extension:enterprise:1.0"
_UNNAMED: Final = "Slack's directory names the manager by no account: see what the identity provider writes there"


async def list_managers(client: SlackClient, accounts: tuple[str, ...]) -> dict[str, ReportsTo]:
    """Ask about each of these accounts; one that SCIM does not know is left out.

    Raises ChannelUnavailableError or ChannelRefusedError.
    """
    found: dict[str, ReportsTo] = {}
    for account in accounts:
        person = await client.read_directory(account)
        if person is None:
            continue
        if person.get("id") != account:
            why = f"{SCIM}: Slack's answer is not about whom was asked for"
            raise ChannelUnavailableError(why)
        found[account] = _manager(person)
    return found


def _manager(person: dict[str, object]) -> ReportsTo:
    """Read the extension; each of its parts may be absent, null or empty, and then there is no manager."""
    extension = person.get(ENTERPRISE)
    if _is_empty(extension):
        return ReportsTo()
    if not isinstance(extension, dict):
        return ReportsTo(withheld=_UNNAMED)
    manager = cast("dict[str, object]", extension).get("manager")
    if _is_empty(manager):
        return ReportsTo()
    if not isinstance(manager, dict):
        return ReportsTo(withheld=_UNNAMED)
    table = cast("dict[str, object]", manager)
    match table.get("managerId", table):
        case str(named) if PERSON_ID.fullmatch(named):
            return ReportsTo(account_id=named)
        case named:
            return ReportsTo() if _is_empty(named) else ReportsTo(withheld=_UNNAMED)


def _is_empty(part: object) -> bool:
    return part is None or part in ("", {})
