"""Who is above whom, by SCIM: the manager whom an identity provider wrote into Slack's enterprise extension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from app.directories import ReportsTo
from app.ports import ChannelUnavailableError
from channels.slack.details.failures import SCIM
from channels.slack.details.forms import PERSON_ID

if TYPE_CHECKING:
    from channels.slack.client import SlackClient

ENTERPRISE: Final = "urn:scim:schemas:extension:enterprise:1.0"
_NOBODY: Final = (None, "", {})
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
    match person.get(ENTERPRISE):
        case {"manager": {"managerId": str(named)}} if PERSON_ID.fullmatch(named):
            return ReportsTo(account_id=named)
        case {"manager": {"managerId": named}} | {"manager": named} if named not in _NOBODY:
            return ReportsTo(withheld=_UNNAMED)
        case {} | None | "":
            return ReportsTo()
        case _:
            return ReportsTo(withheld=_UNNAMED)
