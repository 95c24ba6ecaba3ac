"""Who somebody is in Slack, and who is in a user group."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from app.ports import Account, AccountStatus, ChannelRefusedError, ChannelUnavailableError
from channels.slack.details.forms import PERSON_ID

if TYPE_CHECKING:
    from channels.slack.client import SlackClient

_UNKNOWN_PERSON: Final = frozenset({"users_not_found", "user_not_found", "user_not_visible"})
_GROUP: Final = re.compile(r"group:(S[A-Z0-9]{2,30})")


async def look_up(client: SlackClient, *, email: str, account_id: str, team: str) -> Account | None:
    """Ask for a person by id (``users.info``) or e-mail (``users.lookupByEmail``)."""
    method, query = ("users.info", {"user": account_id}) if account_id else ("users.lookupByEmail", {"email": email})
    try:
        answer = await client.call(method, query, verb="GET")
    except ChannelRefusedError as refusal:
        if any(refusal.why.startswith(f"{method}: {code}") for code in _UNKNOWN_PERSON):
            return None
        raise
    match answer.get("user"):
        case {"id": str(user_id)} as user:
            return _account(user_id, cast("dict[str, object]", user), team=team)
        case _:
            why = f"{method}: Slack's answer names nobody"
            raise ChannelUnavailableError(why)


async def group_members(client: SlackClient, source: str) -> tuple[str, ...]:
    """Return the account ids of a user group's people; none where the group is disabled.

    Raises ChannelUnavailableError or ChannelRefusedError.
    """
    named = _GROUP.fullmatch(source)
    if named is None:
        why = "a Slack user group is named by its id (group: S…); Slack has no departments"
        raise ChannelRefusedError(why)
    query = {"usergroup": named[1], "include_disabled": False}
    answer = await client.call("usergroups.users.list", query, verb="GET")
    listed = answer.get("users")
    members = cast("list[object]", listed) if isinstance(listed, list) else [None]
    people = tuple(member for member in members if isinstance(member, str) and PERSON_ID.fullmatch(member))
    if len(people) != len(members):
        why = "usergroups.users.list: Slack's answer names no people"
        raise ChannelUnavailableError(why)
    return people


def _account(user_id: str, user: dict[str, object], *, team: str) -> Account:
    tenant = str(user.get("team_id") or "")
    if user.get("deleted"):
        status = AccountStatus.DEACTIVATED
    elif user.get("is_bot") or user_id == "USLACKBOT":
        status = AccountStatus.BOT
    elif _is_guest(user) or tenant != team:
        status = AccountStatus.GUEST
    else:
        status = AccountStatus.ACTIVE
    return Account(tenant=tenant, account_id=user_id, status=status)


def _is_guest(user: dict[str, object]) -> bool:
    return any(user.get(mark) for mark in ("is_restricted", "is_ultra_restricted", "is_stranger"))
