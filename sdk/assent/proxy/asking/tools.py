"""The tools of Assent as an MCP server. They advise: nothing here keeps an agent from doing what it was denied.

What the agent describes is the arguments of a call of its own kind, `mcp__assent__request_approval`. So people see a
description by the agent where they see one, and no approval of it can be spent on a tool that is really gated.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from assent.client.call import ToolCall
from assent.client.errors import GatewayError
from assent.client.messages import RefusalCode
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import Refused, Replayed
from assent.gate.permission import Executed, Permission
from assent.proxy.deferred import Deferred
from assent.proxy.wording import texts

if TYPE_CHECKING:
    from assent.gate.gate import Gate
    from assent.proxy.reading import Object

ASKED = "mcp__assent__request_approval"
_MOST_KNOWN = 1000
_ADVICE = (
    "This is advice that you asked for: you carry the action out yourself, and nothing but your word holds you to it."
)
_TEXT = {"type": "string", "minLength": 1}
_EXHIBIT: Object = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["link", "file"]},
        "url": {**_TEXT, "maxLength": 2000, "description": "of a link: https, in ASCII"},
        "title": {"type": "string", "maxLength": 120, "description": "of a link: what it is"},
        "name": {**_TEXT, "maxLength": 120, "description": "of a file"},
        "media_type": {"enum": ["application/pdf", "image/png", "image/jpeg"], "description": "of a file"},
        "content": {**_TEXT, "description": "of a file: base64"},
    },
    "required": ["kind"],
    "additionalProperties": False,
}
TOOLS: list[Object] = [
    {
        "name": "request_approval",
        "title": "Ask people for approval",
        "description": "Ask people whether you may do something, and wait for their answer. Describe one action, "
        "completely: what they approve is exactly that, once. If the answer is 'pending', call check_request later. "
        "Do the action only if the decision is 'approved' or 'allowed', with the details that the answer gives back, "
        "and then call report_outcome.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "action": {**_TEXT, "maxLength": 2000, "description": "what you want to do, in one sentence"},
                "details": {"type": "object", "description": "every fact of it: amounts, names, paths, commands"},
                "why": {"type": "string", "maxLength": 2000, "description": "your reason, shown as your own words"},
                "evidence": {
                    "type": "array",
                    "maxItems": 8,
                    "items": _EXHIBIT,
                    "description": "what they should look at besides: links, and small files",
                },
            },
            "required": ["action"],
            "additionalProperties": False,
        },
    },
    {
        "name": "check_request",
        "title": "See what people decided",
        "description": "See whether people have decided a request that was still pending; waits a while for them.",
        "inputSchema": {
            "type": "object",
            "properties": {"request_id": {**_TEXT, "maxLength": 200}},
            "required": ["request_id"],
            "additionalProperties": False,
        },
    },
    {
        "name": "report_outcome",
        "title": "Report what came of it",
        "description": "Report what came of an approved action. It is recorded as your own report.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "request_id": {**_TEXT, "maxLength": 200},
                "status": {"enum": ["succeeded", "failed", "unknown"]},
                "note": {"type": "string", "maxLength": 2000},
            },
            "required": ["request_id", "status"],
            "additionalProperties": False,
        },
    },
]


class BadArgumentsError(ValueError):
    """The arguments are not what the tool takes; the text says what is wrong."""


class Asking:
    """Carries the tools out. `deadline`: an answer comes by then, many clients wait a minute and no longer."""

    def __init__(self, gate: Gate, *, deadline: float, session: str) -> None:
        self._gate = gate
        self._deadline = deadline
        self._session = session
        self._made = 0
        self._taken: dict[str, Permission] = {}
        self._deferred = Deferred(gate)

    async def call(self, tool: str, arguments: Object) -> Object:
        """The tool's result. Raises `BadArgumentsError`; a refusal is a result."""
        match tool:
            case "request_approval":
                return await self._request(arguments)
            case "check_request":
                return await self._check(_text(arguments, "request_id", needed=True))
            case "report_outcome":
                return await self._report(arguments)
            case _:
                raise BadArgumentsError(f"there is no tool {tool!r}")

    async def _request(self, arguments: Object) -> Object:
        details = arguments.get("details", {})
        if not isinstance(details, dict):
            raise BadArgumentsError("'details' must be an object")
        if unknown := arguments.keys() - {"action", "details", "why", "evidence"}:
            raise BadArgumentsError(f"unknown: {', '.join(sorted(unknown))}")
        said: Object = {"action": _text(arguments, "action", needed=True), "details": cast("Object", details)}
        why = _text(arguments, "why")
        evidence = _evidence(arguments)
        self._made += 1
        call = ToolCall(ASKED, said, claim=why or None, call_id=f"{self._session}-{self._made}", evidence=evidence)
        found = await self._gate.obtain(call, deadline=self._deadline)
        self._deferred.note(found)
        return self._told(found)

    async def _check(self, request_id: str) -> Object:
        if request_id in self._taken:
            return self._told(self._taken[request_id])
        try:
            request = await self._gate.gateway.get(request_id)
        except GatewayError as fault:
            return texts(f"It could not be looked up: {fault}", failed=True)
        if request.tool != ASKED:
            return texts("That request is not one of request_approval's.", failed=True)
        return self._told(await self._gate.take_up(request, deadline=self._deadline))

    async def over(self) -> None:
        """The client is gone: withdraw what it was told to look up later."""
        await self._deferred.withdraw()

    def _told(self, found: Permission | Executed | Replayed | Refused) -> Object:
        match found:
            case Permission():
                return self._permitted(found)
            case Refused(code=RefusalCode.STILL_PENDING, request=request) if request is not None:
                note = "People have not decided yet. Call check_request with this id later; do not do it meanwhile."
                return _answer("pending", note, request_id=request.id, code=request.code)
            case Refused():
                request_id = found.request.id if found.request else None
                return _answer("refused", found.message, request_id=request_id)
            case Executed() | Replayed():
                return _answer("refused", "It was approved and reported before; ask again for another run.")

    def _permitted(self, found: Permission) -> Object:
        details = found.arguments.get("details", {})
        notes = " ".join([*([found.changes] if found.changes else ()), *found.context])
        if found.claimed is None:
            return _answer("allowed", f"{notes} {_ADVICE}".strip(), details=details)
        request_id = found.claimed.request_id
        while len(self._taken) >= _MOST_KNOWN:
            del self._taken[next(iter(self._taken))]
        self._taken[request_id] = found
        note = f"Approved for one run, with exactly these details. {notes} {_ADVICE} Then call report_outcome."
        more = {"action": found.arguments.get("action"), "details": details}
        return _answer("approved", " ".join(note.split()), request_id=request_id, **more)

    async def _report(self, arguments: Object) -> Object:
        request_id, status = _text(arguments, "request_id", needed=True), arguments.get("status")
        if status not in {"succeeded", "failed", "unknown"}:
            raise BadArgumentsError("'status' must be succeeded, failed or unknown")
        note = _text(arguments, "note")
        known = self._taken.pop(request_id, None)
        if known is None:
            return texts("Nothing is open under this id: it was not approved here, or reported before.", failed=True)
        outcome = OutcomeStatus(status)
        if outcome is OutcomeStatus.SUCCEEDED:
            await self._gate.settle(known, outcome, result={"reported_by_the_agent": note})
        else:
            await self._gate.settle(known, outcome, error=f"reported by the agent: {note}"[:500])
        return texts("Recorded, as your own report.")


def _answer(decision: str, note: str, **more: Any) -> Object:
    told = {"decision": decision, **{name: value for name, value in more.items() if value is not None}, "note": note}
    return {**texts(json.dumps(told, ensure_ascii=False)), "structuredContent": told}


def _evidence(arguments: Object) -> list[Object]:
    found = arguments.get("evidence", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast("list[object]", found)):
        raise BadArgumentsError("'evidence' must be a list of objects")
    return cast("list[Object]", found)  # what is in them the gateway looks at, and says what is wrong


def _text(arguments: Object, name: str, *, needed: bool = False) -> str:
    value = arguments.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or not value.strip() or len(value) > 2000:
        raise BadArgumentsError(f"'{name}' must be a text of 1 to 2000 characters")
    return value
