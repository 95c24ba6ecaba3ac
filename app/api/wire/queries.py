"""Query parameters, read strictly: an unknown or malformed one is named, never guessed around."""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import InvalidError
from app.domain.request.request import State, Status
from app.usecases.reading.read import place_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from app.domain.request.request import ConfirmationRequest

MOST_ITEMS = 200
_NAMES = frozenset({"status", "state", "agent", "session", "open", "limit", "cursor"})
_PAGED = ("limit", "cursor")
_LATEST = 2**63 - 1  # what both databases can compare with
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def parameter(name: str, kind: str, description: str = "") -> dict[str, object]:
    """Describe a query parameter to OpenAPI."""
    return {"name": name, "in": "query", "required": False, "schema": {"type": kind}, "description": description}


PAGE_PARAMETERS = [
    parameter("limit", "integer", "items, 200 at most"),
    parameter("cursor", "string", "`next_cursor` of the page before"),
]


def number_of(request: Request, name: str, *, most: float) -> float | None:
    """Return a number that is not negative, cut at `most`; None where it is left out. Raises InvalidError."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise InvalidError(f"{name} is a number that is not negative", path=f"query.{name}")
    return min(number, most)


def version_of(request: Request) -> int | None:
    """Return `since`, the version of a request that its caller knows. Raises InvalidError."""
    since = number_of(request, "since", most=2**31)
    return None if since is None else int(since)


def text_of(request: Request, name: str, *, most: int) -> str:
    """Return a text that must be there, as a body's would. Raises InvalidError."""
    text = request.query_params.get(name, "")
    if not 1 <= len(text) <= most or "\x00" in text:
        raise InvalidError(f"{name} has 1 to {most} characters, and no NUL", path=f"query.{name}")
    return text


class ListQuery(Struct, frozen=True, kw_only=True):
    """Which requests are wanted."""

    filters: dict[str, str]
    only_open: bool
    before: tuple[int, str] | None
    most: int

    @staticmethod
    def parse(request: Request) -> ListQuery:
        """Read the query. Raises InvalidError with the parameter at fault."""
        query = request.query_params
        for name in query:
            if name not in _NAMES:
                raise InvalidError(f"unknown parameter; there are {', '.join(sorted(_NAMES))}", path=f"query.{name}")
        filters = {name: query[name] for name in ("status", "state", "agent", "session") if name in query}
        if filters.get("status", "pending") not in set(Status):
            raise InvalidError(f"status is one of {', '.join(Status)}", path="query.status")
        if filters.get("state", "pending") not in set(State):
            raise InvalidError(f"state is one of {', '.join(State)}", path="query.state")
        for name, value in filters.items():
            if "\x00" in value:
                raise InvalidError("a text with NUL is not accepted", path=f"query.{name}")
        only_open = _TRUTH.get(query.get("open", "false").lower())
        if only_open is None:
            raise InvalidError("open is true or false", path="query.open")
        limit = number_of(request, "limit", most=MOST_ITEMS)
        return ListQuery(
            filters=filters,
            only_open=only_open,
            before=_parse_cursor(query.get("cursor")),
            most=max(1, int(limit if limit is not None else 50)),
        )


def cursor_behind(request: ConfirmationRequest) -> str:
    """Name the place in the list behind a request."""
    return cursor_at(*place_of(request))


def _parse_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    (at,), request_id = _place(cursor, numbers=1)
    return at, request_id


def parse_permit_page(request: Request) -> tuple[tuple[int, int, str] | None, int]:
    """Return behind which place a page of permits begins, and how many it has at most. Raises InvalidError."""
    for name in request.query_params:
        if name not in _PAGED:
            raise InvalidError(f"unknown parameter; there are {', '.join(_PAGED)}", path=f"query.{name}")
    cursor, limit = request.query_params.get("cursor"), number_of(request, "limit", most=MOST_ITEMS)
    most = max(1, int(limit if limit is not None else 50))
    if cursor is None:
        return None, most
    (first, at), permit_id = _place(cursor, numbers=2)
    return (first, at, permit_id), most


def cursor_at(*place: object) -> str:
    """Name a place in a list."""
    return base64.urlsafe_b64encode(":".join(map(str, place)).encode()).decode()


def _place(cursor: str, *, numbers: int) -> tuple[tuple[int, ...], str]:
    try:
        *parts, last = base64.urlsafe_b64decode(cursor.encode()).decode().split(":", numbers)
        place = tuple(map(int, parts)), last
    except (ValueError, binascii.Error, UnicodeDecodeError):
        place = (), ""
    counted = len(place[0]) == numbers and all(0 <= each <= _LATEST for each in place[0])
    if not counted or "\x00" in place[1]:
        raise InvalidError("not a cursor of ours", path="query.cursor")
    return place
