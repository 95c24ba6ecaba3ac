"""The simulated platform's user groups and departments, the two lists of their people, and who is above whom.

Both lists are paged and hold direct members only. What the platform answers for a group that it does not know is not
documented where we could read it; 40001 stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from channels.feishu.simulator.errors import ApiFaultError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from channels.feishu.simulator.state import Person

Json = dict[str, object]

GROUP_SCOPE, DEPARTMENT_SCOPE = "contact:group:readonly", "contact:department.organize:readonly"
MOST_OF_GROUP, MOST_OF_DEPARTMENT, MOST_OF_BATCH = 100, 50, 50


@dataclass(slots=True, kw_only=True)
class Department:
    """People who stand directly in it, by open_id, and the department above."""

    people: list[str]
    parent: str = ""
    in_range: bool = True  # whether the app may see it


@dataclass(slots=True, kw_only=True)
class Directory:
    """Everything that has members."""

    groups: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    departments: dict[str, Department] = field(default_factory=dict[str, Department])

    def list_group(self, group_id: str, query: Mapping[str, str]) -> Json:
        """Return a page of a user group's own people."""
        _refuse_unknown(query, {"page_size", "page_token", "member_id_type", "member_type"})
        if query.get("member_type") != "user" or query.get("member_id_type") != "open_id":
            raise ApiFaultError(40001, "only users by open_id are modelled here")
        people = self.groups.get(group_id)
        if people is None:
            raise ApiFaultError(40001, "invalid group_id")
        page, rest = _page(people, query, most=MOST_OF_GROUP)
        members = [{"member_id": each, "member_type": "user", "member_id_type": "open_id"} for each in page]
        return {"memberlist": members} | rest

    def list_department(self, query: Mapping[str, str]) -> Json:
        """Return a page of those who stand directly in a department."""
        known = {"page_size", "page_token", "user_id_type", "department_id_type", "department_id"}
        _refuse_unknown(query, known)
        if query.get("department_id_type", "open_department_id") != "open_department_id":
            raise ApiFaultError(40001, "only open_department_id is modelled here")
        if query.get("user_id_type", "open_id") != "open_id":
            raise ApiFaultError(40001, "only open_id is modelled here")
        department = self.departments.get(query.get("department_id", ""))
        if department is None or not department.in_range:
            raise ApiFaultError(40004, "no dept authority error", status=403)
        page, rest = _page(department.people, query, most=MOST_OF_DEPARTMENT)
        return {"items": [{"open_id": each} for each in page]} | rest


def batch_ids(query: Mapping[str, str]) -> list[str]:
    """Return the ids of users who are asked for together."""
    _refuse_unknown(query, {"user_ids", "user_id_type", "department_id_type"})
    if query.get("user_id_type", "open_id") != "open_id":
        raise ApiFaultError(40001, "only open_id is modelled here")
    ids = query.get("user_ids", "").split(",")
    if not ids[0] or len(ids) > MOST_OF_BATCH:
        raise ApiFaultError(40001, f"1 to {MOST_OF_BATCH} user_ids")
    return ids


def by_scope(person: Person, *, of_work: bool, above: bool) -> Json:
    """Return what two scopes bring of somebody: their mailbox; and their departments, and a manager if there is one."""
    told: Json = {"enterprise_email": person.mailbox} if of_work and person.mailbox else {}
    if above:
        told |= {"department_ids": list(person.departments)}
        told |= {"leader_user_id": person.leader} if person.leader else {}
    return told


def _page(people: list[str], query: Mapping[str, str], *, most: int) -> tuple[list[str], Json]:
    """Cut a page out; the token says where the next begins."""
    size = query.get("page_size", "20")
    if not size.isascii() or not size.isdigit() or not 1 <= int(size) <= most:
        raise ApiFaultError(40011, "page size is invalid")
    token = query.get("page_token", "")
    start = token.removeprefix("from-") if token else "0"
    if not start.isdigit() or int(start) > len(people) or (token and not token.startswith("from-")):
        raise ApiFaultError(40012, "page token is invalid error")
    end = int(start) + int(size)
    rest: Json = {"has_more": end < len(people)}
    if end < len(people):
        rest["page_token"] = f"from-{end}"
    return people[int(start) : end], rest


def _refuse_unknown(query: Mapping[str, str], allowed: set[str]) -> None:
    if not query.keys() <= allowed:
        raise ApiFaultError(40001, f"unknown parameters: {sorted(query.keys() - allowed)}")
