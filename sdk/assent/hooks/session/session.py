"""A run of an agent with its moments in the right order: what a home-made loop needs, and no more.

async with hooks.session(agent="payer", user=user) as session:
prompt = await session.submit(text)                    # raises PromptBlockedError
while True:
reply = await ask_model(await session.model_request(request))
for call in reply.calls:
result = await session.call_tool(call.name, call.args, tools[call.name], call_id=call.id)
history.append(result.content)                 # also when it was refused: the model is told why
if not reply.calls and (more := await session.stop(reply.text)) is None:
break
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from assent.client.errors import AssentError
from assent.client.messages import RefusalCode, refusal
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.steps import OnStep
from assent.hooks.engine.outcome import Decision
from assent.hooks.session.tool_run import Sandboxing, ToolResult, ToolRun

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from datetime import datetime
    from types import TracebackType

    from assent.hooks.contract.model_request import ModelRequest
    from assent.hooks.contract.steps import Step
    from assent.hooks.engine.outcome import Outcome
    from assent.hooks.engine.registry import HookRegistry

__all__ = ["ModelRequestBlockedError", "OnStep", "Prompt", "PromptBlockedError", "Sandboxing", "Session"]


_log = logging.getLogger("assent.hooks")


class PromptBlockedError(AssentError):
    """A hook blocked the prompt: the model is not called, and the prompt stays out of the history."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(refusal(RefusalCode.PROMPT_BLOCKED, rule=outcome.by, reason=outcome.reason))
        self.outcome = outcome


class ModelRequestBlockedError(AssentError):
    """A hook blocked the request to the model: it must not be sent."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(refusal(RefusalCode.MODEL_REQUEST_BLOCKED, rule=outcome.by, reason=outcome.reason))
        self.outcome = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What goes into the history: the prompt as hooks left it, and what they add for the model."""

    text: str
    context: tuple[str, ...] = ()


class Chains(Protocol):
    """The hooks that a session runs: `assent.hooks.session.facade.Hooks`."""

    @property
    def registry(self) -> HookRegistry:
        """The hooks in their order."""
        ...

    @property
    def sandboxes(self) -> Sandboxing | None:
        """What runs routed calls."""
        ...

    def clock(self) -> datetime:
        """Return the time that hooks are told."""
        ...

    async def run(self, ctx: HookContext, *, lineage: tuple[str, ...] = ()) -> Outcome:
        """Run one moment's chain."""
        ...


class Session:
    """One run of one agent. Made by `Hooks.session`, or by `subagent`, whose hooks and gate it then inherits."""

    def __init__(
        self,
        hooks: Chains,
        *,
        agent: str,
        session: str,
        user: str,
        org: str,
        cwd: str,
        resumed: bool,
        on_step: OnStep | None,
        parent: Session | None = None,
    ) -> None:
        self.id = session or f"s_{secrets.token_hex(16)}"
        self.agent = agent
        self.metadata: dict[str, Any] = {}
        """The bag of the present turn: hooks' tags, from moment to moment. SessionStart's are in every turn's."""
        self._tags: dict[str, Any] = {}
        self._hooks = hooks
        self._whose = {"user": user, "org": org, "cwd": cwd}
        self._resumed = resumed
        self._on_step = on_step
        self._parent = parent
        self.lineage: tuple[str, ...] = (*parent.lineage, parent.agent) if parent else ()
        """The agents that this run descends from, eldest first."""
        self._context: tuple[str, ...] = ()
        self._sent_back = False
        self._watchers: list[asyncio.Queue[Step | None]] = []

    async def __aenter__(self) -> Self:
        outcome = await self.run(Moment.SESSION_START, source="resumed" if self._resumed else "new")
        self._context = outcome.context
        self._tags = dict(self.metadata)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ended = "completed" if kind is None else "failed" if issubclass(kind, Exception) else "cancelled"
        try:
            await self.run(Moment.SESSION_END, reason=ended)
        finally:
            for watcher in self._watchers:
                watcher.put_nowait(None)

    async def submit(self, prompt: str) -> Prompt:
        """Begin a turn with what the user says. Raises PromptBlockedError: call no model, keep no history of it.

        What SessionStart hooks had to say is added to the session's first prompt.
        """
        self.metadata = dict(self._tags)
        self._sent_back = False
        outcome = await self.run(Moment.USER_PROMPT_SUBMIT, prompt=prompt)
        if outcome.decision is not Decision.ALLOW:
            raise PromptBlockedError(outcome)
        context, self._context = (*self._context, *outcome.context), ()
        return Prompt(text=outcome.prompt, context=context)

    async def model_request(self, request: ModelRequest) -> ModelRequest:
        """Return the request as hooks want it sent. Raises ModelRequestBlockedError."""
        outcome = await self.run(Moment.PRE_MODEL_REQUEST, request=request)
        if outcome.decision is not Decision.ALLOW or outcome.request is None:
            raise ModelRequestBlockedError(outcome)
        return outcome.request

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, Any],
        execute: Callable[..., Awaitable[Any] | Any],
        *,
        call_id: str = "",
        claim: str = "",
    ) -> ToolResult:
        """Run a tool, if it may run, and return what the model sees. Never raises for a refusal or the tool's fault.

        `execute` (sync or async) is called with the final arguments as keywords; inside it, `assent.current_grant()`
        is the approval's idempotency key. `call_id` is the model's own id of the call, unique
        in its session: a call that is made again after a crash then meets its earlier request. `claim` is what the
        agent has to say to the approvers.
        """
        return await ToolRun(self, name, args, call_id=call_id, claim=claim).carry_out(execute)

    async def stop(self, last_message: str = "") -> str | None:
        """The agent has finished: what a hook wants it to go on with instead, at most once in a turn; else None."""
        outcome = await self.run(Moment.STOP, last_message=last_message, sent_back=self._sent_back)
        if outcome.send_back is not None:
            self._sent_back = True
        return outcome.send_back

    async def compact(self, trigger: str = "") -> None:
        """The history is about to be shortened."""
        await self.run(Moment.PRE_COMPACT, reason=trigger)

    async def subagent_stop(self, last_message: str = "") -> None:
        """A sub-agent of this run has finished."""
        await self.run(Moment.SUBAGENT_STOP, last_message=last_message)

    def subagent(self, agent: str, *, session: str = "") -> Session:
        """Open a run beneath this one. It inherits this one's hooks and gate, and may add to them, never drop any."""
        return Session(
            self._hooks,
            agent=agent,
            session=session,
            resumed=False,
            on_step=self._on_step,
            parent=self,
            **self._whose,
        )

    async def steps(self) -> AsyncGenerator[Step]:
        """Yield what happens to tool calls from now on, until the session ends."""
        queue: asyncio.Queue[Step | None] = asyncio.Queue()
        self._watchers.append(queue)
        try:
            while (step := await queue.get()) is not None:
                yield step
        finally:
            self._watchers.remove(queue)

    # --- for the run of a tool ----------------------------------------------------------------------------------------

    @property
    def sandboxes(self) -> Sandboxing | None:
        """What runs routed calls."""
        return self._hooks.sandboxes

    def canonical(self, tool: str) -> str:
        """Return a tool's canonical name."""
        return self._hooks.registry.canonical(tool)

    def context(self, moment: Moment, **about: Any) -> HookContext:
        """Build what the hooks of a moment see."""
        return HookContext(
            moment=moment,
            timestamp=self._hooks.clock(),
            metadata=self.metadata,
            agent=self.agent,
            session=self.id,
            parent_session=self._parent.id if self._parent else "",
            **self._whose,
            **about,
        )

    def may_be_withheld(self, moment: Moment, tool: str) -> bool:
        """Say whether a hook of this moment may keep from the model what this tool comes to."""
        hooks = self._hooks.registry.get(moment, tool=tool, agent=(self.agent, *self.lineage))
        return any(entry.priority >= 0 for entry in hooks)

    async def run(self, moment: Moment, **about: Any) -> Outcome:
        """Run one moment's chain."""
        return await self._hooks.run(self.context(moment, **about), lineage=self.lineage)

    def tell(self, step: Step) -> None:
        """Tell whoever watches."""
        try:
            if self._on_step is not None:
                self._on_step(step)
        except Exception:  # noqa: BLE001 - whoever watches must not change what happens to the call
            _log.exception("a watcher of steps failed at %s", type(step).__name__)
        for watcher in self._watchers:
            watcher.put_nowait(step)
