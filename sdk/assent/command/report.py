"""After the tool: tell the gateway what became of a claimed call. Whatever fails here, the agent is not disturbed.

The hook that claimed is another process, long gone; the claim is found again by its id, which follows from the session
and the call. Where the host gives calls no id, the gateway finds it by session, tool and arguments. What the tool
returned stays with the agent: the report says that it succeeded or failed, and the first words of an error.
"""

from __future__ import annotations

import time

from assent.command.exchange import MINIMAL, exchange, quote
from assent.command.identity import load_identity
from assent.command.shapes import as_list, as_object, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from assent.command.hosts.event import Event
    from assent.command.identity import Identity
    from assent.command.options import Options

_LONGEST_ERROR = 300
_PAGES = 5


def report(options: Options, event: Event, *, within: float) -> int:
    """Report the outcome of this event's call, if it was claimed; returns 0."""
    end = time.monotonic() + within
    try:
        identity, claim_id, outcome = load_identity(options.config), event.claim_id(), _outcome(event)
        if claim_id is None:
            _settle_by_call(identity, event, outcome, end)
            return 0
        request_id = _find(identity, event.session or "", claim_id, end)
        if request_id is not None:
            path = f"/v1/requests/{quote(request_id)}/outcome"
            body = {"claim_id": claim_id, **outcome}
            exchange(identity, "POST", path, body, headers=MINIMAL, within=_left(end))
    except Exception:  # noqa: BLE001 - the tool has run; nothing here may reach the model
        return 0  # the lease will mark it unknown, where people can see it
    return 0


def withdraw(options: Options, event: Event, *, within: float) -> int:
    """The session is over: withdraw what still waits for people, so that nobody approves for nobody; returns 0."""
    end = time.monotonic() + within
    try:
        identity = load_identity(options.config)
        for item in _open(identity, event.session, end) if event.session else ():
            if item.get("state") == "pending":
                path = f"/v1/requests/{quote(str(item['id']))}/cancel"
                body = {"reason": "the agent's session is over"}
                exchange(identity, "POST", path, body, headers=MINIMAL, within=_left(end))
    except Exception:  # noqa: BLE001 - nobody is there to be told
        return 0  # it expires by itself
    return 0


def _settle_by_call(identity: Identity, event: Event, outcome: dict[str, Any], end: float) -> None:
    """For a call without an id: told as the moment that it is, the gateway finds what was claimed for it."""
    if event.session is None:
        return
    body: dict[str, Any] = {"session_id": event.session, "tool_name": event.tool, "tool_input": event.arguments}
    moment = "PostToolUse"
    if outcome["status"] != "succeeded":
        moment = "PostToolUseFailure"
        body |= {"error": outcome["error"], "is_interrupt": outcome["status"] == "unknown"}
    exchange(identity, "POST", f"/v1/hooks/{moment}", body, within=_left(end))


def _left(end: float) -> float:
    return max(0.05, end - time.monotonic())


def _outcome(event: Event) -> dict[str, Any]:
    error = event.raw.get("error")
    if event.kind == "ran":
        place, success = event.host.went_wrong
        found = _at(event.raw, place)
        if not found or found == success:
            return {"status": "succeeded", "result": None, "error": None}
        error = found
    status = "unknown" if event.raw.get("is_interrupt") is True else "failed"
    told = text(as_object(error), "message") or error
    return {"status": status, "result": None, "error": str(told)[:_LONGEST_ERROR] if told else None}


def _at(raw: dict[str, Any], place: str) -> object:
    found: object = raw if place else None
    for name in place.split("."):
        found = (as_object(found) or {}).get(name)
    return found


def _find(identity: Identity, session: str, claim_id: str, end: float) -> str | None:
    """The open request whose execution carries this claim; None for a call that nobody was asked about."""
    for item in _open(identity, session, end):
        execution = as_object(item.get("execution"))
        if execution and execution.get("claim_id") == claim_id:
            return str(item["id"])
    return None


def _open(identity: Identity, session: str, end: float) -> Iterator[dict[str, Any]]:
    path = f"/v1/requests?open=true&limit=100&session={quote(session)}"
    cursor = ""
    for _ in range(_PAGES):
        page = exchange(identity, "GET", path + cursor, within=_left(end))
        yield from (item for item in map(as_object, as_list(page.get("items"))) if item)
        following = page.get("next_cursor")
        if not isinstance(following, str) or not following:
            return
        cursor = f"&cursor={quote(following)}"
