"""The wishes of one agent: which wait for people, which the client carries out, and how each of them ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import anyio

from assent.client.call import ToolCall
from assent.client.log import warn
from assent.client.models import OutcomeStatus
from assent.gate.outcomes import NOT_RUN, Refused, Replayed, said_by_tool
from assent.gate.permission import Executed, Permission
from assent.proxy import wording
from assent.proxy.acp.wishes import read_wish
from assent.proxy.calls import MOST_OPEN
from assent.proxy.reading import Line, UnreadableError, asks, id_in, id_of, written

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from assent.gate.gate import Gate
    from assent.proxy.acp.wishes import Wish
    from assent.proxy.reading import Id, Object

    Send = Callable[[bytes], Awaitable[None]]

_REFUSED = -32000
_FAULT = "Not run here: the approval gate failed, or nobody waits for this any more."
_ENDS = {"completed": OutcomeStatus.SUCCEEDED, "failed": OutcomeStatus.FAILED}


class _Held:
    """One wish: it waits for people until `permission` is there, then for the client, or for the agent's own report."""

    __slots__ = ("permission", "scope", "wish")

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.scope = anyio.CancelScope()
        self.permission: Permission | None = None


class AcpCalls:
    """Lines of the client and of the agent. Only what the agent asks its client for is held; a task each."""

    def __init__(
        self,
        gate: Gate,
        group: TaskGroup,
        *,
        to_client: Send,
        to_server: Send,
        name: str,
        tools: tuple[str, ...] = (),
        session: str,
    ) -> None:
        self._gate = gate
        self._group = group
        self._to_client = to_client
        self._to_agent = to_server
        self._name = name
        self._tools = tools
        self._session = session
        self._open: dict[Id, _Held] = {}
        self._running: dict[tuple[str, str], Permission] = {}
        """What the agent was permitted and has not reported, by its session and its own id of the call."""
        self._made = 0
        self._busy = 0
        self._over = False
        self._idle = anyio.Event()

    # --- from the agent -----------------------------------------------------------------------------------------------

    async def from_server(self, raw: bytes) -> None:
        """Pass a line of the agent's on, or hold it."""
        if self._over or not raw.strip():
            return
        try:
            line = Line(raw)
            wishes = [read_wish(line, message, tools=self._tools) for message in line.messages]
        except UnreadableError as fault:
            named = id_in(raw)
            about = None if named in self._open else named
            await self._tell(wording.error(about, wording.NOT_READ, f"Not passed on by the approval gate: {fault}."))
            return
        for message in line.messages:
            self._heard(message)
        passing = [message for message, wish in zip(line.messages, wishes, strict=True) if wish is None]
        for wish in filter(None, wishes):
            await self._hold(wish)
        if len(passing) == len(line.messages):
            await self._to_client(raw)
        elif passing:
            await self._to_client(written(passing))

    async def _hold(self, wish: Wish) -> None:
        if wish.id in self._open or len(self._open) >= MOST_OPEN:
            why = "this id is open already, or too many are; this one was not passed on"
            await self._tell(wording.error(wish.id, wording.INVALID_REQUEST, why))
            return
        held = self._open[wish.id] = _Held(wish)
        self._made += 1
        self._start(self._through(held, f"{self._session}-{self._made}"))

    def _start(self, work: Awaitable[None]) -> None:
        async def counted() -> None:
            try:
                await work
            finally:
                self._busy -= 1
                if not self._busy:
                    self._idle.set()

        self._busy += 1
        self._group.start_soon(counted)

    def _heard(self, message: Object) -> None:
        """Hear from the agent how a call went that it was permitted."""
        params = message.get("params")
        if message.get("method") != "session/update" or not isinstance(params, dict):
            return
        session, told = cast("Object", params).get("sessionId"), cast("Object", params).get("update")
        update = cast("Object", told) if isinstance(told, dict) else {}
        status = _ENDS.get(str(update.get("status")))
        known = self._running.pop((str(session), str(update.get("toolCallId"))), None) if status else None
        if known is not None and status is not None:
            error = None if status is OutcomeStatus.SUCCEEDED else "the agent reported that the call failed"
            self._start(self._gate.settle(known, status, error=error))

    # --- a wish -------------------------------------------------------------------------------------------------------

    async def _through(self, held: _Held, call_id: str) -> None:
        wish = held.wish
        found: Any = None
        try:
            with held.scope:
                name = f"acp__{self._name}__{wish.tool}"
                cwd = wish.params.get("cwd")
                where = cwd if isinstance(cwd, str) else None
                call = ToolCall(name, wish.arguments, call_id=call_id, session=wish.session, cwd=where)
                found = await self._gate.obtain(call)
        except Exception as fault:  # noqa: BLE001 - one wish must not end the others
            warn("a wish of %s failed at the gate: %r", wish.tool, fault)
        if isinstance(found, Permission) and not held.scope.cancel_called:
            await self._permitted(held, found)
            return
        del self._open[wish.id]
        if isinstance(found, Permission):
            await self._not_run(found, "whoever made the call was gone")
        await self._refuse(wish, _told(found), cancelled=held.scope.cancel_called)

    async def _permitted(self, held: _Held, permission: Permission) -> None:
        wish = held.wish
        changed = json.dumps(permission.arguments, sort_keys=True) != json.dumps(wish.arguments, sort_keys=True)
        if not wish.asks_permission:
            held.permission = permission  # from here on the client may carry it out
            params = {**{n: v for n, v in wish.params.items() if n not in wish.arguments}, **permission.arguments}
            exact = not changed and not wish.line.inexact and not wish.line.batch
            await self._to_client(wish.line.raw if exact else written({**wish.message, "params": params}))
            return
        del self._open[wish.id]
        option = None if changed else wish.option("allow_once")
        if option is None:
            why = "people changed it, which the agent cannot be told" if changed else "no single permission was offered"
            await self._not_run(permission, why)
            await self._refuse(wish, why)
            return
        if wish.tool_call_id is None:
            await self._gate.settle(permission, OutcomeStatus.UNKNOWN, error="the agent gave the call no id")
        elif (lost := self._running.pop(place := (wish.session, wish.tool_call_id), None)) is not None:
            self._running[place] = permission
            await self._gate.settle(lost, OutcomeStatus.UNKNOWN, error="the agent asked again under the same id")
        else:
            self._running[place] = permission
        await self._tell(wording.result(wish.id, {"outcome": {"outcome": "selected", "optionId": option}}))

    async def _refuse(self, wish: Wish, message: str, *, cancelled: bool = False) -> None:
        if not wish.asks_permission:
            await self._tell(wording.error(wish.id, _REFUSED, message))
            return
        option = None if cancelled else wish.option("reject_once")
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        await self._tell(wording.result(wish.id, {"outcome": outcome}))

    async def _not_run(self, permission: Permission, why: str) -> None:
        await self._gate.settle(permission, OutcomeStatus.FAILED, error=f"{NOT_RUN}{why}")

    async def _tell(self, message: Object) -> None:
        try:
            await self._to_agent(written(message))
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    # --- from the client ----------------------------------------------------------------------------------------------

    async def from_client(self, raw: bytes | None) -> None:
        """Pass a line of the client's on; what it answers to a wish of ours is heard as well."""
        if raw is None:
            warn("the client wrote a line that is too long: it was not passed on")
            return
        try:
            messages = Line(raw).messages
        except UnreadableError:
            messages = []
        for message in messages:
            if message.get("method") == "session/cancel":
                self._cancel(message.get("params"))
            if asks(message) or (answered := id_of(message)) is None:
                continue
            held = self._open.get(answered)
            if held is None:
                continue
            if held.permission is None:
                warn("the client answered a wish that it was not handed: dropped")
                return
            del self._open[answered]
            self._start(self._carried_out(held.permission, message))
        await self._to_agent(raw)

    async def _carried_out(self, permission: Permission, answer: Object) -> None:
        fault = answer.get("error")
        if isinstance(fault, dict):
            said = said_by_tool(str(cast("Object", fault).get("message")))
            await self._gate.settle(permission, OutcomeStatus.FAILED, error=said)
        else:
            await self._gate.settle(permission, OutcomeStatus.SUCCEEDED, result=answer.get("result"))

    def _cancel(self, params: Any) -> None:
        session = cast("Object", params).get("sessionId") if isinstance(params, dict) else None
        for held in self._open.values():
            if held.wish.session == session and held.permission is None:
                held.scope.cancel()

    # --- ends ---------------------------------------------------------------------------------------------------------

    async def tick(self) -> None:
        """Do nothing: the protocol has no timer that would have to be kept from running out."""

    async def client_over(self) -> None:
        """The client is gone: nobody is there for what people might still approve."""
        self._over = True
        for held in self._open.values():
            if held.permission is None:
                held.scope.cancel()

    async def server_over(self) -> None:
        """The agent is gone: what it was permitted may have run."""
        await self.client_over()
        given = [held.permission for held in self._open.values() if held.permission is not None]
        for permission in [*given, *self._running.values()]:
            error = "the agent ended before it said what came of it"
            self._start(self._gate.settle(permission, OutcomeStatus.UNKNOWN, error=error))
        self._running.clear()
        for call_id in [call_id for call_id, held in self._open.items() if held.permission is not None]:
            del self._open[call_id]

    async def settled(self, *, within: float) -> None:
        """Wait until all is reported, so long at most."""
        with anyio.move_on_after(within):
            while self._busy:
                self._idle = anyio.Event()
                await self._idle.wait()


def _told(found: object) -> str:
    match found:
        case Refused(message=message) | Replayed(message=message):
            return message
        case Executed():
            return "Done: the executor of this tool ran the call. It does not run here."
        case _:
            return _FAULT
