"""Who is above whom in the platform's address book, and what it says of that only with a scope.

One scope brings two fields of a person: their departments, of which everybody has one, and their direct manager, whom
not everybody has. So a manager without departments is no answer at all: both were withheld, silently as always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from app.directories import ReportsTo
from channels.feishu.details.failures import UNKNOWN_PERSON
from channels.feishu.details.people import PERSON_PREFIX

if TYPE_CHECKING:
    from channels.feishu.client import FeishuClient, Sdk

REPORTING_SCOPE = "contact:user.department:readonly"
"""What the fields ``leader_user_id`` and ``department_ids`` need (获取用户组织架构信息)."""

WITHHELD = (
    "Feishu shows neither a manager nor a department of theirs: "
    f"grant {REPORTING_SCOPE} under Permissions & Scopes and publish a new version of the app"
)
_UNNAMED = "Feishu names the manager by no open_id"


async def list_managers(client: FeishuClient, open_ids: tuple[str, ...]) -> dict[str, ReportsTo]:
    """Ask for at most fifty people at once; whom the app may not see, or the platform does not know, is left out.

    What an unknown one among them does to the others is not documented: where it fails them all, they are asked for one
    by one. Raises ChannelUnavailableError or ChannelRefusedError.
    """

    def call(sdk: Sdk, option: Any) -> Any:
        request = sdk.contact.BatchUserRequest.builder().user_ids(list(open_ids)).user_id_type("open_id").build()
        return sdk.client.contact.v3.user.batch(request, option)

    answer = await client.call(call, tolerates=UNKNOWN_PERSON)
    if answer is None:
        if len(open_ids) == 1:
            return {}
        found: dict[str, ReportsTo] = {}
        for open_id in open_ids:
            found |= await list_managers(client, (open_id,))
        return found
    listed: object = answer.data.items if answer.data is not None else None
    people = cast("list[Any]", listed) if isinstance(listed, list) else []
    return {str(each.open_id): _manager(each) for each in people if each is not None and each.open_id in open_ids}


def _manager(person: Any) -> ReportsTo:
    named: object = person.leader_user_id
    if isinstance(named, str) and named.startswith(PERSON_PREFIX):
        return ReportsTo(account_id=named)
    if named is not None and named != "":
        return ReportsTo(withheld=_UNNAMED)
    departments: object = person.department_ids
    return ReportsTo() if isinstance(departments, list) and departments else ReportsTo(withheld=WITHHELD)
