"""`Hooks`: everything about hooks in one object, with a method for each moment.

hooks = Hooks(known_tools=["read_file", "pay"])
hooks.add(CommandGuard())

@hooks.pre_tool_use(tools="pay", priority=GUARD)
def not_on_fridays(ctx: HookContext) -> HookResult | None:
return deny("payments rest on Fridays") if ctx.timestamp.weekday() == 4 else None

async with hooks.session(agent="payer", user="wang@acme.example") as session:
...
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, overload

from assent.hooks.contract.moments import Moment
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.function_hook import FunctionHook
from assent.hooks.engine.observer import HookEvent, Observer, print_event
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.hook import Hook, Names, OnError
    from assent.hooks.contract.verdicts import HookResult
    from assent.hooks.engine.observer import OnEvent, Tracer
    from assent.hooks.engine.outcome import Outcome
    from assent.hooks.engine.registry import Registered
    from assent.hooks.session.session import OnStep, Sandboxing

SyncJudge = Callable[["HookContext"], "HookResult | None"]
AsyncJudge = Callable[["HookContext"], Awaitable["HookResult | None"]]
S = TypeVar("S", bound=SyncJudge)
A = TypeVar("A", bound=AsyncJudge)


class Registrar:
    """Registers functions for one moment: as a decorator, with settings or without.

    A function takes the `HookContext` and returns a `HookResult`, or None for no opinion. A plain (not async) one runs
    on the agent's own thread; given a `timeout` (seconds) it gets a thread, and is cut off when the time is over.
    """

    def __init__(self, hooks: Hooks, moment: Moment) -> None:
        self._hooks = hooks
        self._moment = moment

    @overload
    def __call__(self, function: A, /) -> A: ...
    @overload
    def __call__(self, function: S, /) -> S: ...
    @overload
    def __call__(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        agents: Names | None = None,
        priority: int | None = None,
        timeout: float | None = None,
        on_error: OnError | str | None = None,
        id: str | None = None,
    ) -> _Decorator: ...
    def __call__(self, function: Any = None, /, **settings: Any) -> Any:
        """Register a function; see the class."""
        return self._register(function, settings)

    def _register(self, function: Any, settings: dict[str, Any]) -> Any:
        decorator = _Decorator(self._hooks, self._moment, settings)
        return decorator if function is None else decorator(function)


class ToolRegistrar(Registrar):
    """Registers functions for a moment that is about a tool: they may be for some tools only."""

    @overload
    def __call__(self, function: A, /) -> A: ...
    @overload
    def __call__(self, function: S, /) -> S: ...
    @overload
    def __call__(
        self,
        /,
        *,
        tools: Names | None = None,
        name: str | None = None,
        description: str | None = None,
        agents: Names | None = None,
        priority: int | None = None,
        timeout: float | None = None,
        on_error: OnError | str | None = None,
        id: str | None = None,
    ) -> _Decorator: ...
    def __call__(self, function: Any = None, /, **settings: Any) -> Any:
        """Register a function; see the class."""
        return self._register(function, settings)


class _Decorator:
    def __init__(self, hooks: Hooks, moment: Moment, settings: dict[str, Any]) -> None:
        self._hooks, self._moment, self._settings = hooks, moment, dict(settings)

    @overload
    def __call__(self, function: A, /) -> A: ...
    @overload
    def __call__(self, function: S, /) -> S: ...
    def __call__(self, function: Any, /) -> Any:
        """Register the function and give it back as it is."""
        settings = dict(self._settings)
        hook = FunctionHook(
            self._moment,
            function,
            name=settings.pop("name", None),
            description=settings.pop("description", None),
            threaded=settings.get("timeout") is not None,
        )
        self._hooks.add(hook, **settings)
        return function


class Hooks:
    """A registry, a decorator for each moment, and sessions that run them. See the module's example.

    `known_tools` and `known_agents` are what matchers are checked against; `aliases` adds runtime names of tools
    (`{"my_shell": "exec"}`). `verbose` prints one line on standard error for each block, rewrite and tag; `on_event`
    gets the same as `HookEvent`s; `tracer` is an OpenTelemetry tracer, which gets a span for each hook. `sandboxes`
    runs routed calls; without it they are denied.
    """

    def __init__(
        self,
        *,
        known_tools: Iterable[str] | None = None,
        known_agents: Iterable[str] | None = None,
        aliases: Mapping[str, str] | None = None,
        verbose: bool = False,
        on_event: OnEvent | None = None,
        tracer: Tracer | None = None,
        sandboxes: Sandboxing | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.registry = HookRegistry(known_tools=known_tools, known_agents=known_agents, aliases=aliases)
        self.observer = Observer(on_event=_both(print_event if verbose else None, on_event), tracer=tracer)
        self.sandboxes = sandboxes
        self.clock = clock or _utc_now

    @classmethod
    def from_file(cls, path: str | Path, **settings: Any) -> Hooks:
        """Return the hooks of a file: the `hooks:` of assent.yaml as YAML (`assent[files]`) or JSON, with no gateway.

        `settings` are the constructor's. Raises DeclarationError (a ValueError) for whatever is not understood, with
        its place, and OSError.
        """
        from assent.hooks.declared.build import DeclarationError, build
        from assent.hooks.declared.hook_file import read_hook_file

        hooks = cls(**settings)
        for index, each in enumerate(read_hook_file(path)):
            try:
                hooks.registry.add(
                    build(each),
                    id=each.id,
                    tools=each.tools or None,
                    agents=each.agents or None,
                    priority=each.priority,
                    timeout=each.timeout,
                    on_error=each.on_error,
                    origin=each.origin,
                )
            except ValueError as error:
                raise DeclarationError(f"hooks[{index}]", str(error)) from error
        return hooks

    # --- registering --------------------------------------------------------------------------------------------------

    def add(self, hook: Hook, **settings: Any) -> str:
        """Register a hook object; settings and errors are `HookRegistry.add`'s. Returns its id."""
        return self.registry.add(hook, **settings)

    def remove(self, id: str) -> None:  # noqa: A002 - the word of the field
        """Take a hook out. Raises KeyError."""
        self.registry.remove(id)

    def get(self, moment: Moment | str, *, tool: str = "", agent: str = "") -> tuple[Registered, ...]:
        """Return what would run, in order."""
        return self.registry.get(moment, tool=tool, agent=agent)

    def list(self) -> tuple[Registered, ...]:
        """Return all hooks."""
        return self.registry.list()

    def clear(self) -> None:
        """Take all hooks out."""
        self.registry.clear()

    @property
    def session_start(self) -> Registrar:
        """A session begins, new or resumed: add context to its first prompt."""
        return Registrar(self, Moment.SESSION_START)

    @property
    def user_prompt_submit(self) -> Registrar:
        """A user said something: block it, rewrite it, tag it, add context."""
        return Registrar(self, Moment.USER_PROMPT_SUBMIT)

    @property
    def pre_model_request(self) -> Registrar:
        """A request is about to go to the model: change anything in it."""
        return Registrar(self, Moment.PRE_MODEL_REQUEST)

    @property
    def pre_tool_use(self) -> ToolRegistrar:
        """A tool is about to run: allow, deny, rewrite, ask, route."""
        return ToolRegistrar(self, Moment.PRE_TOOL_USE)

    @property
    def post_tool_use(self) -> ToolRegistrar:
        """A tool has run: replace, withhold or hide its result."""
        return ToolRegistrar(self, Moment.POST_TOOL_USE)

    @property
    def post_tool_use_failure(self) -> ToolRegistrar:
        """A tool has failed: replace or withhold what the model is told of it."""
        return ToolRegistrar(self, Moment.POST_TOOL_USE_FAILURE)

    @property
    def pre_compact(self) -> Registrar:
        """The history is about to be shortened."""
        return Registrar(self, Moment.PRE_COMPACT)

    @property
    def stop(self) -> Registrar:
        """The agent has finished: `go_on(…)` sends it back, once in a turn."""
        return Registrar(self, Moment.STOP)

    @property
    def subagent_stop(self) -> Registrar:
        """A sub-agent has finished."""
        return Registrar(self, Moment.SUBAGENT_STOP)

    @property
    def session_end(self) -> Registrar:
        """A session ends; `ctx.reason` says why."""
        return Registrar(self, Moment.SESSION_END)

    # --- running ------------------------------------------------------------------------------------------------------

    async def run(self, ctx: HookContext, *, lineage: tuple[str, ...] = ()) -> Outcome:
        """Run one moment's chain for the agent of `ctx`, and for the agents that it descends from (`lineage`)."""
        hooks = self.registry.get(ctx.moment, tool=ctx.called_as or ctx.tool_name, agent=(ctx.agent, *lineage))
        return await run_chain(hooks, ctx, self.observer)

    def session(
        self,
        *,
        agent: str = "",
        session: str = "",
        user: str = "",
        org: str = "",
        cwd: str = "",
        resumed: bool = False,
        on_step: OnStep | None = None,
    ) -> Session:
        """Open a run of an agent: `async with hooks.session(…) as session`. It runs the moments in the right order.

        `on_step` gets `WillCall`, `Suspended`, `Settled` and `Observed` as they happen; so does `session.steps()`.
        """
        return Session(
            self, agent=agent, session=session, user=user, org=org, cwd=cwd, resumed=resumed, on_step=on_step
        )


def _utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the agent's own process: its clock, unless it gives another


def _both(first: OnEvent | None, second: OnEvent | None) -> OnEvent | None:
    if first is None or second is None:
        return first or second

    def tell(event: HookEvent) -> None:
        first(event)
        second(event)

    return tell
