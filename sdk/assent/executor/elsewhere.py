"""What in a service's answer says that it asks its own people: 202, 402 or 403 with the id of an approval.

Services name it differently (`error.approval_request`, `approval: {id}`, `status: pending_approval` beside an `id`);
what is looked for are names and codes that speak of an approval, and an id that belongs to them. An answer that
speaks of one without saying which is no refusal either: nobody knows then what becomes of the call.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 6
_MOST = 500  # objects that are looked at
_SPEAKS = re.compile(r"approv|maker.?checker|second.?signature|four.?eyes|dual.?control|复核|审批", re.IGNORECASE)
_WAITING = re.compile(rf"(?<!dis)(?<!not_)(?<!un)(?:{_SPEAKS.pattern})(?!ed\b)", re.IGNORECASE)
_OVER = re.compile(r"denied|rejected|declined|expired|cancell?ed|disapproved", re.IGNORECASE)
_NAMES = frozenset(
    f"{of}{kind}{end}"
    for of in ("approval", "pendingapproval", "payoutapproval", "paymentapproval")
    for kind in ("", "request")
    for end in ("", "id", "reference", "ref")
)
"""Members that hold an approval, or its id, without their underscores and capitals."""
_FLAGS = frozenset({"approvalrequired", "requiresapproval", "needsapproval", "pendingapproval", "awaitingapproval"})
_SAID_IN = ("code", "type", "status", "state", "reason", "error", "message", "detail", "title")
_CODES = ("code", "type", "status", "state")
_LINKS = ("link", "url", "href", "approval_url", "approval_link", "dashboard_url", "hosted_url")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """An answer that speaks of an approval; `id` is None where it does not say of which.

    `coded`: it says so to programs, in a code or a member of its own, and not only in words for people.
    """

    id: str | None
    link: str | None = None
    coded: bool = True


def waits_in(answer: Any) -> Waits | None:
    """Look for an approval in a service's JSON. None: it speaks of none, or of one that is over."""
    speaks: Waits | None = None
    for each in _objects(answer):
        found = _told(each)
        if found is not None and found.id is not None:
            return found
        if found is not None and (speaks is None or found.coded):
            speaks = found
    return speaks


def _told(each: dict[str, Any]) -> Waits | None:
    """Return what one object says by itself, in its members' names or in its codes."""
    codes = [each[name] for name in _CODES if isinstance(each.get(name), str)]
    if any(_OVER.search(code) for code in codes):
        return None
    named = [(name, value) for name, value in each.items() if _plain(name) in _NAMES and value]
    for name, value in named:
        found = _named(name, value)
        if found is not None:
            return Waits(id=found, link=_link(value) or _link(each))
    flagged = any(value is True and _plain(name) in _FLAGS for name, value in each.items())
    if flagged or any(_WAITING.search(code) for code in codes):
        return Waits(id=_id_of(each), link=_link(each))
    if named:
        return Waits(id=None)
    said = (each[name] for name in _SAID_IN if isinstance(each.get(name), str))
    return Waits(id=None, coded=False) if any(_SPEAKS.search(text) for text in said) else None


def speaks_of_one(text: str) -> bool:
    """Say whether an answer that is no JSON speaks of an approval."""
    return _SPEAKS.search(text) is not None


def _objects(answer: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of an answer, the outer ones first, and no more than is bearable."""
    left: deque[tuple[Any, int]] = deque([(answer, 0)])
    for _ in range(_MOST):
        if not left:
            return
        value, depth = left.popleft()
        if isinstance(value, dict):
            found = cast("dict[str, Any]", value)  # decoded JSON: the keys of an object are strings
            yield found
            inner = list(found.values())
        else:
            inner = cast("list[Any]", value if isinstance(value, list) else [])
        if depth < _DEEPEST:
            left.extend((each, depth + 1) for each in inner[:_MOST])


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _named(name: str, value: Any) -> str | None:
    """Return the id that a member holds: it is one, or its object has one. `approval: "required"` is none."""
    if isinstance(value, dict):
        return _id_of(cast("dict[str, Any]", value))
    if isinstance(value, str) and (any(char.isdigit() for char in value) or _plain(name).endswith("id")):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _id_of(value: dict[str, Any]) -> str | None:
    found = value.get("id")
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) and found else None


def _link(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    found = cast("dict[str, Any]", value)
    links = (found.get(name) for name in _LINKS)
    return next((link for link in links if isinstance(link, str) and link), None)
