"""After the tool: tell the gateway what became of a claimed call. Whatever fails here, the agent is not disturbed.

The hook that claimed is another process, long gone; the claim is found again by its id, which follows from the session
and the call. What the tool returned stays with the agent: the report says that it succeeded or failed, and the first
words of an error.
"""

from __future__ import annotations

import time

from assent.command.exchange import exchange, quote
from assent.command.identity import load_identity
from assent.command.shapes import as_list, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.command.claude_code import Event
    from assent.command.identity import Identity
    from assent.command.options import Options

_LONGEST_ERROR = 300
_PAGES = 5


def report(options: Options, event: Event, *, within: float) -> int:
    """Report the outcome of this event's call, if it was claimed; returns 0."""
    end = time.monotonic() + within
    try:
        identity = load_identity(options.config)
        claim_id = event.claim_id()
        request_id = _find(identity, event.session, claim_id, end) if claim_id else None
        if request_id is not None:
            body = {"claim_id": claim_id, **_outcome(event)}
            exchange(
                identity,
                "POST",
                f"/v1/requests/{quote(request_id)}/outcome",
                body,
                within=max(0.05, end - time.monotonic()),
            )
    except Exception:  # noqa: BLE001 - the tool has run; nothing here may reach the model
        return 0  # the lease will mark it unknown, where people can see it
    return 0


def _outcome(event: Event) -> dict[str, Any]:
    if event.moment == "PostToolUse":
        return {"status": "succeeded", "result": None, "error": None}
    error = event.raw.get("error")
    status = "unknown" if event.raw.get("is_interrupt") is True else "failed"
    return {"status": status, "result": None, "error": str(error)[:_LONGEST_ERROR] if error else None}


def _find(identity: Identity, session: str, claim_id: str, end: float) -> str | None:
    """The open request whose execution carries this claim; None for a call that nobody was asked about."""
    path = f"/v1/requests?open=true&limit=100&session={quote(session)}"
    cursor = ""
    for _ in range(_PAGES):
        page = exchange(identity, "GET", path + cursor, within=max(0.05, end - time.monotonic()))
        for item in map(as_object, as_list(page.get("items"))):
            execution = as_object(item.get("execution")) if item else None
            if item and execution and execution.get("claim_id") == claim_id:
                return str(item["id"])
        following = page.get("next_cursor")
        if not isinstance(following, str) or not following:
            return None
        cursor = f"&cursor={quote(following)}"
    return None
