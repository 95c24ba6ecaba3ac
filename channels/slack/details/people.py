"""Who somebody is in Slack, and who is in a user group."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from app.abilities.directories import Member
from app.ports import Account, AccountStatus, ChannelRefusedError, ChannelUnavailableError
from channels.slack.details.forms import PERSON_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from channels.slack.client import SlackClient

_UNKNOWN_PERSON: Final = frozenset({"users_not_found", "user_not_found", "user_not_visible"})
_GUEST: Final = ("is_restricted", "is_ultra_restricted", "is_stranger")
_UNTOLD: Final = (
    "Slack does not tell a confirmed e-mail of the account: add the scope users:read.email and reinstall the app"
)
WORKSPACE_ID: Final = re.compile(r"[TE][A-Z0-9]{2,30}")
_GROUP: Final = re.compile(r"group:(S[A-Z0-9]{2,30})")


async def identify(client: SlackClient, accounts: tuple[str, ...], *, team: str) -> dict[str, Member]:
    """Ask who these accounts are (``users.info``), with their e-mails as far as Slack says that they are confirmed."""
    found: dict[str, Member] = {}
    for user_id in accounts:
        user = await _ask(client, "users.info", {"user": user_id})
        if user is not None and user.get("id") == user_id:
            found[user_id] = _member(_account(user_id, user, team=team), user)
    return found


def _member(account: Account, user: dict[str, object]) -> Member:
    """Read the e-mail that Slack has confirmed. One that it only has is none; of one it may also not say so much."""
    match user:
        case {"is_email_confirmed": True, "profile": {"email": str(email)}} if email:
            return Member(account=account, email=email, withheld=account.withheld)
        case {"is_email_confirmed": False}:
            return Member(account=account, withheld=account.withheld)
        case _:
            untold = _UNTOLD if account.status is AccountStatus.ACTIVE else ""
            return Member(account=account, withheld=account.withheld or untold)


async def _ask(client: SlackClient, method: str, query: dict[str, object]) -> dict[str, object] | None:
    """Ask about one person. None: Slack knows nobody by that."""
    try:
        answer = await client.call(method, query, verb="GET")
    except ChannelRefusedError as refusal:
        if any(refusal.why.startswith(f"{method}: {code}") for code in _UNKNOWN_PERSON):
            return None
        raise
    user = answer.get("user")
    return cast("dict[str, object]", user) if isinstance(user, dict) else {}


async def look_up(client: SlackClient, *, email: str, account_id: str, team: str) -> Account | None:
    """Ask for a person by id (``users.info``) or e-mail (``users.lookupByEmail``)."""
    method = "users.info" if account_id else "users.lookupByEmail"
    user = await _ask(client, method, {"user": account_id} if account_id else {"email": email})
    match user:
        case None:
            return None
        case {"id": str(user_id)} if PERSON_ID.fullmatch(user_id) and account_id in {"", user_id}:
            return _account(user_id, user, team=team)
        case _:
            why = f"{method}: Slack's answer names nobody"
            raise ChannelUnavailableError(why)


def own_team(identity: Mapping[str, object]) -> str:
    """Return our workspace by what ``auth.test`` says; of an app that is installed org-wide, the organisation.

    Raises ChannelUnavailableError.
    """
    for told in (identity.get("team_id"), identity.get("enterprise_id")):
        if isinstance(told, str) and WORKSPACE_ID.fullmatch(told):
            return told
        if told is not None:
            break
    why = "auth.test: Slack's answer names no workspace"
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
    """Read how somebody stands. Slack leaves out what is false; a mark of another form makes it unknown."""
    home = user.get("team_id")
    tenant = home if isinstance(home, str) and WORKSPACE_ID.fullmatch(home) else ""
    marks = {mark: user.get(mark) for mark in ("deleted", "is_bot", *_GUEST)}
    unclear = sorted(mark for mark, value in marks.items() if value is not None and not isinstance(value, bool))
    workspaces = _workspaces(user, tenant)
    withheld = ""
    if marks["deleted"] is True:
        status = AccountStatus.DEACTIVATED
    elif marks["is_bot"] is True or user_id == "USLACKBOT":
        status = AccountStatus.BOT
    elif any(marks[mark] is True for mark in _GUEST) or (workspaces and team not in workspaces):
        status = AccountStatus.GUEST
    elif unclear or not workspaces:
        status, withheld = (
            AccountStatus.UNKNOWN,
            f"Slack does not tell {', '.join(unclear or ['team_id'])} of the account",
        )
    else:
        status = AccountStatus.ACTIVE
    return Account(tenant=tenant, account_id=user_id, status=status, withheld=withheld)


def _workspaces(user: dict[str, object], home: str) -> set[str]:
    """Return where somebody is a member: of a Grid's people, every workspace of theirs and the organisation itself."""
    match user.get("enterprise_user"):
        case {"teams": list()} as grid:
            told = cast("dict[str, object]", grid)
            teams = [*cast("list[object]", told["teams"]), told.get("enterprise_id"), home]
        case _:
            teams = [home]
    return {team for team in teams if isinstance(team, str) and team}
