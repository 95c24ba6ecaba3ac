"""Who is above whom in the platform's address book, and what it says of that only with a scope.

One scope brings two fields of a person: their departments, of which everybody has one, and their direct manager, whom
not everybody has. So a manager without departments is no answer at all: both were withheld, silently as always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.abilities.directories import ReportsTo
from channels.feishu.details.members import list_people
from channels.feishu.details.people import PERSON_PREFIX

if TYPE_CHECKING:
    from channels.feishu.client import FeishuClient

REPORTING_SCOPE = "contact:user.department:readonly"
"""What the fields ``leader_user_id`` and ``department_ids`` need (获取用户组织架构信息)."""

WITHHELD = (
    "Feishu shows neither a manager nor a department of theirs: "
    f"grant {REPORTING_SCOPE} under Permissions & Scopes and publish a new version of the app"
)
_UNNAMED = "Feishu names the manager by no open_id"


async def list_managers(client: FeishuClient, open_ids: tuple[str, ...]) -> dict[str, ReportsTo]:
    """Say to whom these people report; who is not told of is left out. Raises what `list_people` raises."""
    return {str(person.open_id): _manager(person) for person in await list_people(client, open_ids)}


def _manager(person: Any) -> ReportsTo:
    named: object = person.leader_user_id
    if isinstance(named, str) and named.startswith(PERSON_PREFIX):
        return ReportsTo(account_id=named)
    if named is not None and named != "":
        return ReportsTo(withheld=_UNNAMED)
    departments: object = person.department_ids
    return ReportsTo() if isinstance(departments, list) and departments else ReportsTo(withheld=WITHHELD)
