"""One `tools/call`, from the client's line to what the server gets, and from the server's answer to the report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, cast

from assent.client.call import ToolCall
from assent.client.messages import RefusalCode
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import NOT_RUN, Refused, Replayed, said_by_tool
from assent.gate.permission import Executed, Permission
from assent.proxy import wording
from assent.proxy.deferred import Deferred
from assent.proxy.reading import UnreadableError, id_of, misread, written

if TYPE_CHECKING:
    from assent.gate.gate import Gate
    from assent.proxy.naming import Naming
    from assent.proxy.reading import Id, Line, Object

METHOD = "tools/call"
_NEVER_BEGUN = frozenset({-32700, -32600, -32601, -32602})
"""Errors of the protocol with which a server says that it did not even begin."""
_MOST_TO_CONTINUE = 256
_NAMELESS = "the server has not said its name; start the proxy with --name"


@dataclass(slots=True, kw_only=True)
class Leave:
    """A call that may run now: the line that the server gets, and what the model is told besides."""

    permission: Permission
    line: bytes
    asked: Object
    notes: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A call of a tool, as it was read."""

    id: Id
    tool: str
    arguments: Object
    message: Object
    params: Object
    line: Line

    @property
    def token(self) -> str | int | None:
        """Under which the client wants to hear of progress."""
        meta = self.params.get("_meta")
        found = cast("Object", meta).get("progressToken") if isinstance(meta, dict) else None
        return found if isinstance(found, str | int) and not isinstance(found, bool) else None


class Judge:
    """Who is asked, about which tools, and what is known of calls that are not over."""

    def __init__(
        self,
        gate: Gate,
        naming: Naming,
        *,
        tools: tuple[str, ...] = (),
        deadline: float | None = None,
        folder: str | None = None,
    ) -> None:
        self.gate = gate
        self.naming = naming
        self._tools = tools
        self._deadline = deadline
        self._folder = folder
        self._to_continue: dict[str, Leave] = {}
        self._deferred = Deferred(gate)

    def read(self, line: Line, message: Object) -> Wanted | Object | None:
        """A call to judge; or, in its place, the answer to one that is refused as it is; None: it passes."""
        if message.get("method") != METHOD:
            return None
        call_id = id_of(message)
        if call_id is None:
            return wording.error(None, wording.INVALID_REQUEST, "a tools/call needs an id: a text or a number")
        try:
            return self._wanted(call_id, line, message)
        except UnreadableError as fault:
            return wording.refused(call_id, Refused(code=RefusalCode.BAD_ARGUMENTS, reason=str(fault)).message)

    def _wanted(self, call_id: Id, line: Line, message: Object) -> Wanted | None:
        told = message.get("params")
        if line.doubled:
            raise UnreadableError("a member stands twice")
        if not isinstance(told, dict):
            raise UnreadableError("'params' must be an object")
        params = cast("Object", told)
        misread(params)
        tool, arguments = params.get("name"), params.get("arguments")
        if not isinstance(tool, str) or not tool:
            raise UnreadableError("'name' must be a text")
        if arguments is not None and not isinstance(arguments, dict):
            raise UnreadableError("'arguments' must be an object")
        if self._tools and not any(fnmatchcase(tool, pattern) for pattern in self._tools):
            return None
        known = cast("Object", arguments) if arguments is not None else {}
        return Wanted(id=call_id, tool=tool, arguments=known, message=message, params=params, line=line)

    async def judged(self, wanted: Wanted, *, call_id: str, session: str | None = None) -> Leave | Object:
        """Leave to run it, once people have decided where they are asked; or the answer in its place."""
        if wanted.params.keys() & {"requestState", "inputResponses"}:
            continued = self._to_continue.pop(_place(wanted.params, wanted.params.get("requestState")), None)
            if continued is not None:
                return self._leave(wanted, continued.permission)
        name = self.naming.of(wanted.tool)
        if name is None:
            return wording.refused(wanted.id, Refused(code=RefusalCode.CALL_REFUSED, reason=_NAMELESS).message)
        call = ToolCall(name, wanted.arguments, call_id=call_id, session=session, cwd=self._folder)
        found = await self.gate.obtain(call, deadline=self._deadline)
        self._deferred.note(found, of=session)
        match found:
            case Permission():
                return self._leave(wanted, found)
            case Executed():
                return wording.from_stored(wanted.id, found.result, "Done: the executor of this tool ran the call.")
            case Replayed():
                return wording.from_stored(wanted.id, found.result, "Done before: it did not run again.")
            case Refused():
                return wording.refused(wanted.id, found.message)

    def _leave(self, wanted: Wanted, permission: Permission) -> Leave:
        given, asked = permission.arguments, wanted.arguments
        changed = given is not asked and json.dumps(given, sort_keys=True) != json.dumps(asked, sort_keys=True)
        line = wanted.line.raw
        if changed or wanted.line.inexact or wanted.line.batch:
            line = written({**wanted.message, "params": {**wanted.params, "arguments": permission.arguments}})
        notes = [*([permission.changes] if permission.changes else ()), *permission.context]
        return Leave(permission=permission, line=line, asked=wanted.params, notes=notes)

    def gone(self, wanted: Wanted, why: str) -> Object:
        """What the model is told of a call that the server never had; an executor may have it all the same."""
        name = self.naming.of(wanted.tool)
        if name is not None and self.gate.gateway.leaves_to_executors(name):
            return wording.refused(wanted.id, Refused(code=RefusalCode.LEFT_TO_EXECUTOR, reason=why).message)
        return wording.refused(wanted.id, f"Not run: {why}.")

    async def not_run(self, leave: Leave) -> None:
        """Report that the server was never handed the call."""
        error = f"{NOT_RUN}the program that made the call, or its server, was gone"
        await self.gate.settle(leave.permission, OutcomeStatus.FAILED, error=error)

    async def settle(self, leave: Leave, answer: Object | None, why: str = "") -> None:
        """Report what the server made of it; without an answer nobody knows, and `why` says how that came."""
        if answer is None:
            await self.gate.settle(leave.permission, OutcomeStatus.UNKNOWN, error=why)
        elif isinstance(answer.get("error"), dict):
            fault = cast("Object", answer["error"])
            known = fault.get("code") in _NEVER_BEGUN
            status = OutcomeStatus.FAILED if known else OutcomeStatus.UNKNOWN
            await self.gate.settle(leave.permission, status, error=said_by_tool(str(fault.get("message"))))
        elif isinstance(answer.get("result"), dict):
            await self._ended(leave, cast("Object", answer["result"]))
        else:
            await self.gate.settle(leave.permission, OutcomeStatus.UNKNOWN, error="the server's answer has no result")

    async def _ended(self, leave: Leave, told: Object) -> None:
        kind = told.get("resultType", "complete")
        if kind == "input_required":  # the client answers, and makes the call again with what the server noted of it
            await self._keep(leave, told.get("requestState"))
        elif kind != "complete" or isinstance(told.get("task"), dict):
            error = "the server goes on with it as a task; what comes of that is not seen here"
            await self.gate.settle(leave.permission, OutcomeStatus.UNKNOWN, error=error)
        elif told.get("isError") is True:
            await self.gate.settle(leave.permission, OutcomeStatus.FAILED, error=_said(told))
        else:
            result = {name: value for name, value in told.items() if name not in {"_meta", "resultType"}}
            await self.gate.settle(leave.permission, OutcomeStatus.SUCCEEDED, result=result)

    async def _keep(self, leave: Leave, state: Any) -> None:
        place = _place(leave.asked, state)
        lost = self._to_continue.pop(place, None)
        if lost is None and len(self._to_continue) >= _MOST_TO_CONTINUE:
            lost = self._to_continue.pop(next(iter(self._to_continue)))
        self._to_continue[place] = leave
        if lost is not None:
            await self.settle(lost, None, _NOT_CONTINUED)

    async def left(self, *, session: str | None = None) -> None:
        """The client, or one of its sessions, is gone: withdraw what it was told to come back to."""
        await self._deferred.withdraw(of=session)

    async def over(self) -> None:
        """Report the calls that the server had asked back about, and that were never continued; nobody is there."""
        while self._to_continue:
            _, leave = self._to_continue.popitem()
            await self.settle(leave, None, _NOT_CONTINUED)
        await self.left()


def not_known(call_id: Id, leave: Leave, why: str) -> Object:
    """What the model is told of a call that the server had, and that nobody will answer any more."""
    if why.startswith(NOT_RUN):
        return wording.refused(call_id, f"Not run: {why.removeprefix(NOT_RUN)}.")
    doubt = Refused(code=RefusalCode.OUTCOME_UNKNOWN, reason=why, request=leave.permission.request)
    return wording.refused(call_id, doubt.message)


_NOT_CONTINUED = "the server asked for more, and the call was not continued"


def _place(params: Object, state: Any) -> str:
    return json.dumps([params.get("name"), params.get("arguments") or {}, state], sort_keys=True)


def _said(told: Object) -> str | None:
    content = told.get("content")
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    texts = (cast("Object", part).get("text") for part in parts if isinstance(part, dict))
    return next((said_by_tool(text) for text in texts if isinstance(text, str)), None)
