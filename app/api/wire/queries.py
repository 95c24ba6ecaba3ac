"""Query parameters, read strictly: an unknown or malformed one is named, never guessed around.

Every route has its path and its query looked at here before it is called (`app.api.wire.routes`).
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus, unquote_to_bytes

from msgspec import Struct

from app.domain.errors import InvalidError
from app.domain.request.request import State, Status
from app.usecases.reading.read import place_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request

    from app.domain.request.request import ConfirmationRequest

MOST_ITEMS = 200
_LATEST = 2**63 - 1  # what both databases can compare with
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def parameter(name: str, kind: str, description: str = "") -> dict[str, object]:
    """Describe a query parameter to OpenAPI."""
    return {"name": name, "in": "query", "required": False, "schema": {"type": kind}, "description": description}


PAGE_PARAMETERS = [
    parameter("limit", "integer", "items, 200 at most"),
    parameter("cursor", "string", "`next_cursor` of the page before"),
]


def refuse_illegible(request: Request) -> None:
    """Refuse a path or a query that is no UTF-8: different ones would be decoded to the same. Raises InvalidError."""
    path, query = request.scope.get("raw_path") or b"", request.scope["query_string"]
    if not _is_text(path):
        names = [name for name, value in request.path_params.items() if "\ufffd" in str(value)]
        raise InvalidError("the path is no percent-encoded UTF-8", path=f"path.{names[0]}" if names else "path")
    if _is_text(query):
        return
    for pair in query.split(b"&"):
        if not _is_text(pair):
            name = unquote_plus(pair.partition(b"=")[0].decode("latin-1"))
            raise InvalidError(f"{name} is no percent-encoded UTF-8", path=f"query.{name}")


def _is_text(raw: bytes) -> bool:
    if not raw.isascii():
        return False
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        return False
    return True


def refuse_unknown(request: Request, known: Collection[str]) -> None:
    """Refuse a parameter that a route does not have, and one that is there twice. Raises InvalidError with its name."""
    names = [name for name, _ in request.query_params.multi_items()]
    for at, name in enumerate(names):
        if name not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "there are none here"
            raise InvalidError(f"unknown parameter; {there}", path=f"query.{name}")
        if name in names[:at]:
            raise InvalidError("said twice", path=f"query.{name}")


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


def parse_key_alone(request: Request) -> str:
    """Return `idempotency_key`, which is asked for by itself. Raises InvalidError."""
    beside = sorted(request.query_params.keys() - {"idempotency_key"})
    if beside:
        raise InvalidError("a key names one request: leave this out", path=f"query.{beside[0]}")
    return text_of(request, "idempotency_key", most=200)


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
