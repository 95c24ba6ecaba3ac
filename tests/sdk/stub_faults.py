"""What the stand-in gateway does instead of answering."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import Callable

Fault: TypeAlias = str
"""A status, a refusal's code, or a name of `_ANSWERS` or `strike`; `lost` carries the call out and loses its answer."""

_REFUSALS = {"already_claimed", "grant_lapsed", "not_approved", "digest_mismatch", "paused"}
_PROBLEMS = {
    "wrong_scope": (403, "this needs a key of scope agent; yours is auditor"),
    "bad_arguments": (422, "amount: must be of type integer"),
    "bad_json": (422, "memo: a lone surrogate"),
    "unknown_tool": (422, "no tool of this name"),
}
_ANSWERS: dict[str, Callable[[], web.Response]] = {
    "nonsense": lambda: web.Response(text='{"decision": "allow"', content_type="application/json"),
    "doubled": lambda: web.Response(text='{"decision":"deny","decision":"allow"}', content_type="application/json"),
    "accepted": lambda: web.json_response({"decision": "allow"}, status=202),
    "plain": lambda: web.Response(text="allow"),
    "empty": web.Response,
    "list": lambda: web.json_response([{"decision": "allow"}]),
    "maybe": lambda: web.json_response({"decision": "maybe", "rule": None, "reason": "?", "message": "?"}),
    "redirect": lambda: web.Response(status=307, headers={"Location": "/elsewhere"}),
}


def problem(status: int, code: str, detail: str, **more: str) -> web.Response:
    body = {"type": f"urn:assent:problem:{code}", "title": code, "status": status, "detail": detail, "code": code}
    body |= more
    headers = {"Retry-After": "0"} if status in {429, 503} else {}
    return web.json_response(body, status=status, headers=headers, content_type="application/problem+json")


async def strike(fault: Fault, request: web.Request) -> web.Response:
    """Let a call meet its fault."""
    assert request.transport is not None
    if fault.isdigit():
        return problem(int(fault), "faulty", "told to fail")
    if fault in _PROBLEMS:
        status, detail = _PROBLEMS[fault]
        return problem(status, fault, detail)
    if fault in _REFUSALS:
        return problem(409, fault, "told to refuse")
    match fault:
        case "hang":
            await asyncio.Event().wait()
        case "reset":
            request.transport.abort()
            return web.Response()
        case "cut":
            request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + b'{"decision": "allow"}')
            request.transport.close()
            return web.Response()
        case _:
            pass
    return _ANSWERS[fault]()
