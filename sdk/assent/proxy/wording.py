"""What a proxy answers by itself: results for the model, errors for the program, and notes of progress."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from assent.proxy.reading import Id, Object

INVALID_REQUEST = -32600
NOT_READ = -32700
_SMALL = 1e-6
"""So that the server's own progress, from 0 or 1 on, is always more than ours was."""


def result(call_id: Id, told: object) -> Object:
    """The answer that a call is done."""
    return {"jsonrpc": "2.0", "id": call_id, "result": told}


def error(call_id: Id | None, code: int, message: str) -> Object:
    """The answer that a message was not passed on: for the program, no model reads it."""
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}}


def texts(*said: str, failed: bool = False) -> Object:
    """A tool's result in words; older clients do not look at `resultType`."""
    content = [{"type": "text", "text": each} for each in said]
    return {"content": content, "isError": failed, "resultType": "complete"}


def refused(call_id: Id, message: str) -> Object:
    """The result of a call that does not run: one that the model reads, no error of the protocol."""
    return result(call_id, texts(message, failed=True))


def from_stored(call_id: Id, stored: Any, note: str) -> Object:
    """The result of a call that ran before, or in an executor; what is no result of MCP is told as JSON."""
    found: Object = cast("Object", stored) if isinstance(stored, dict) else {}
    if isinstance(found.get("content"), list):
        return result(call_id, {**found, "resultType": "complete"})
    said = [] if stored is None else [stored if isinstance(stored, str) else json.dumps(stored, ensure_ascii=False)]
    return result(call_id, texts(note, *said))


def with_notes(message: Object, notes: list[str]) -> Object:
    """A server's answer, and behind its own content what the model is told besides."""
    told = cast("Object", message["result"])
    content = told.get("content")
    mine = cast("list[Any]", texts(*notes)["content"])
    known = cast("list[Any]", content) if isinstance(content, list) else []
    return {**message, "result": {**told, "content": [*known, *mine]}}


def progress(token: object, count: int, tool: str) -> Object:
    """A note that people are asked, so that a client goes on waiting."""
    said = f"Waiting for people to approve {tool}."
    params = {"progressToken": token, "progress": round(count * _SMALL, 9), "message": said}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
