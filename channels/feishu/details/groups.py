"""Who is in a user group or a department of the platform's own address book: all of them, or an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from app.ports import ChannelRefusedError, ChannelUnavailableError
from channels.feishu.details.people import PERSON_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from channels.feishu.client import FeishuClient, Sdk

GROUP, DEPARTMENT = "group", "department"
GROUP_PAGE, DEPARTMENT_PAGE = 100, 50
"""The most that the platform gives at once."""

MAX_PAGES = 100
"""Five thousand people in a department: whoever needs more approvers has made a mistake."""

_ID = re.compile(r"[0-9A-Za-z_-]{1,128}", re.ASCII)


async def list_members(client: FeishuClient, source: str) -> tuple[str, ...]:
    """Return the open_ids of ``group:<id>`` or ``department:<od-…>``, sorted, each once.

    Direct members only: a department that is a member of the group, and a department's child departments, are not
    looked into, for the platform's lists do not hold their people. Raises ChannelRefusedError (also for a source of
    another form) or ChannelUnavailableError; part of a list is never returned.
    """
    kind, _, identity = source.partition(":")
    if kind not in {GROUP, DEPARTMENT} or _ID.fullmatch(identity) is None:
        raise ChannelRefusedError(f"{source!r} is neither group:<id> nor department:<open_department_id>")
    if kind == GROUP:
        members = await _pages(client, lambda sdk, option, page: _ask_group(sdk, option, identity, page))
    else:
        members = await _pages(client, lambda sdk, option, page: _ask_department(sdk, option, identity, page))
    return tuple(sorted(set(members)))


def _ask_group(sdk: Sdk, option: Any, group_id: str, page: str) -> Any:
    builder = sdk.contact.SimplelistGroupMemberRequest.builder().group_id(group_id).page_size(GROUP_PAGE)
    builder = builder.member_type("user").member_id_type("open_id")
    request = (builder.page_token(page) if page else builder).build()
    return sdk.client.contact.v3.group_member.simplelist(request, option)


def _ask_department(sdk: Sdk, option: Any, department_id: str, page: str) -> Any:
    builder = sdk.contact.FindByDepartmentUserRequest.builder().department_id(department_id).page_size(DEPARTMENT_PAGE)
    builder = builder.department_id_type("open_department_id").user_id_type("open_id")
    request = (builder.page_token(page) if page else builder).build()
    return sdk.client.contact.v3.user.find_by_department(request, option)


async def _pages(client: FeishuClient, ask: Callable[[Sdk, Any, str], Any]) -> list[str]:
    """Read a list to its end."""
    found: list[str] = []
    page = ""
    for _ in range(MAX_PAGES):
        answer = await client.call(lambda sdk, option, page=page: ask(sdk, option, page))
        listed: Any = answer.data
        members = _members(listed) if listed is not None else None
        if listed is None or members is None:
            raise ChannelUnavailableError("Feishu's answer holds no list")
        found += [_id_of(member) for member in members]
        more, token = listed.has_more, listed.page_token
        if more is False or (more is None and not token):
            return found
        if more is not True or not isinstance(token, str) or not token:
            raise ChannelUnavailableError("Feishu's list breaks off")
        page = token
    raise ChannelRefusedError(f"the list is longer than {MAX_PAGES} pages")


def _members(page: Any) -> list[Any] | None:
    """Return a page's entries, which the two lists name differently.

    One without any is empty, if it says at least that no other follows; None: it says nothing at all.
    """
    entries: list[Any] | None = page.memberlist if hasattr(page, "memberlist") else page.items
    return entries or (None if page.has_more is None else [])


def _id_of(member: Any) -> str:
    """Return a member's open_id. A list with a hole in it is not one."""
    open_id: object = getattr(member, "member_id", None) or getattr(member, "open_id", None)
    if not isinstance(open_id, str) or not open_id.startswith(PERSON_PREFIX):
        raise ChannelUnavailableError("Feishu's list names somebody without an open_id")
    return open_id
