"""The hooks of a process, or of an org: added once, found fast, listed in the order in which they run.

Order: the approval gate stands between the hooks of priority 0 and above and those below; otherwise higher priority
first, and among equals whoever was registered first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.hooks.contract.hook import ApprovalGateHook, Hook, Names, OnError
from assent.hooks.contract.matcher import Matcher, matcher
from assent.hooks.contract.moments import OBSERVING, TOOL_MOMENTS, Moment
from assent.hooks.contract.tool_names import ALIASES, CANONICAL, canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST_TIMEOUT = 31 * 24 * 3600.0  # a gate waits for people as long as a request may stand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Registered:
    """A hook as it was registered: what `HookRegistry.list` shows and the chain runs."""

    id: str
    hook: Hook
    moment: Moment
    name: str
    description: str
    priority: int
    tools: Matcher | None
    agents: Matcher | None
    timeout: float
    on_error: OnError
    origin: str
    order: int

    @property
    def is_gate(self) -> bool:
        """Whether it asks people: behind it, nothing is rewritten."""
        return isinstance(self.hook, ApprovalGateHook)

    @property
    def rank(self) -> tuple[bool, bool, int, int]:
        """Where it stands in the chain."""
        behind = self.priority < 0 and not self.is_gate
        return behind, self.is_gate, -self.priority, self.order


class HookRegistry:
    """Hooks by id. Not for several threads at once."""

    def __init__(
        self,
        *,
        known_tools: Iterable[str] | None = None,
        known_agents: Iterable[str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """`known_tools` is the catalogue that matchers are checked against (None: it is not known).

        The canonical names of the shell and file tools are always known. `aliases` adds runtime names of tools.
        """
        self._aliases = {**ALIASES, **{_folded(name): tool for name, tool in (aliases or {}).items()}}
        self._known_tools = None if known_tools is None else {*known_tools, *CANONICAL}
        self._known_agents = None if known_agents is None else set(known_agents)
        self._hooks: dict[str, Registered] = {}
        self._siblings: dict[str, str] = {}
        self._added = 0
        self._chains: dict[tuple[Moment, str, tuple[str, ...]], tuple[Registered, ...]] = {}

    def canonical(self, tool: str) -> str:
        """Return the tool's canonical name."""
        return canonical_name(tool, self._aliases)

    def add(
        self,
        hook: Hook,
        *,
        id: str | None = None,  # noqa: A002 - the word of the field
        tools: Names | None = None,
        agents: Names | None = None,
        priority: int | None = None,
        timeout: float | None = None,
        on_error: OnError | str | None = None,
        origin: str = "",
    ) -> str:
        """Register a hook; what is given here overrides what the hook says of itself. Returns its id.

        Its sibling is registered with it, on the same terms, under the same id with `-failures` behind it.

        Raises TypeError for what is no hook, ValueError for a bad setting or an id that is taken, NeverMatchesError
        for a matcher that stands for no known tool or agent.
        """
        if not isinstance(hook, Hook):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise TypeError(f"{hook!r} is no hook: derive from one of the bases, or use the facade's decorators")
        name = hook.name or type(hook).__name__
        if id is not None and id in self._hooks:
            raise ValueError(f"the id {id!r} is taken (by {self._hooks[id].name}): ids are unique")
        self._added += 1
        entry = Registered(
            id=id or self._free_id(name),
            hook=hook,
            moment=hook.moment,
            name=name,
            description=hook.description,
            priority=hook.priority if priority is None else priority,
            tools=self._tools(hook, tools),
            agents=matcher(
                hook.agents if agents is None else agents, known=self._known_agents, fold=str, what="agents"
            ),
            timeout=_timeout(hook.timeout if timeout is None else timeout),
            on_error=_on_error(hook, on_error),
            origin=origin,
            order=self._added,
        )
        self._hooks[entry.id] = entry
        self._chains.clear()
        if hook.sibling is not None:
            self._siblings[entry.id] = self.add(
                hook.sibling,
                id=self._free_id(f"{entry.id}-failures"),
                tools=hook.tools if tools is None else tools,
                agents=hook.agents if agents is None else agents,
                priority=entry.priority,
                timeout=entry.timeout,
                on_error=entry.on_error,
                origin=origin,
            )
        return entry.id

    def remove(self, id: str) -> None:  # noqa: A002 - the word of the field
        """Take a hook out, and its sibling. Raises KeyError for an unknown id."""
        if id not in self._hooks:
            raise KeyError(f"no hook has the id {id!r}; there are: {', '.join(self._hooks) or 'none'}")
        del self._hooks[id]
        self._hooks.pop(self._siblings.pop(id, ""), None)
        self._chains.clear()

    def get(self, moment: Moment | str, *, tool: str = "", agent: str | tuple[str, ...] = "") -> tuple[Registered, ...]:
        """Return the hooks of a moment that are for this tool and agent, in the order in which they run.

        Several agents are a sub-agent and those that it descends from: it gets the hooks of all.
        """
        key = (Moment(moment), tool, agent if isinstance(agent, tuple) else (agent,))
        chain = self._chains.get(key)
        if chain is None:
            if len(self._chains) >= 10_000:  # names come from outside: they must not fill the memory
                self._chains.clear()
            found = [entry for entry in self._hooks.values() if self._is_for(entry, *key)]
            chain = self._chains[key] = tuple(sorted(found, key=lambda entry: entry.rank))
        return chain

    def list(self) -> tuple[Registered, ...]:
        """Return all hooks: by moment, then in the order in which they run."""
        moments = list(Moment)
        return tuple(sorted(self._hooks.values(), key=lambda entry: (moments.index(entry.moment), entry.rank)))

    def clear(self) -> None:
        """Take all hooks out."""
        self._hooks.clear()
        self._siblings.clear()
        self._chains.clear()

    def _is_for(self, entry: Registered, moment: Moment, tool: str, agents: tuple[str, ...]) -> bool:
        return (
            entry.moment is moment
            and (entry.tools is None or entry.tools.matches(self.canonical(tool), tool))
            and (entry.agents is None or entry.agents.matches(*agents))
        )

    def _tools(self, hook: Hook, tools: Names | None) -> Matcher | None:
        wanted = hook.tools if tools is None else tools
        if wanted is not None and hook.moment not in TOOL_MOMENTS:
            raise ValueError(f"{hook.moment} is about no tool: a hook there has no tool matcher")
        return matcher(wanted, known=self._known_tools, fold=self.canonical, what="tools")

    def _free_id(self, name: str) -> str:
        if name not in self._hooks:
            return name
        return next(each for each in (f"{name}-{n}" for n in range(2, len(self._hooks) + 3)) if each not in self._hooks)


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _timeout(seconds: float) -> float:
    if not 0 < seconds <= _LONGEST_TIMEOUT:
        raise ValueError(
            f"a hook's time limit is more than 0 and at most {_LONGEST_TIMEOUT:.0f} seconds, not {seconds}"
        )
    return seconds


def _on_error(hook: Hook, given: OnError | str | None) -> OnError:
    wanted = hook.on_error if given is None else OnError(given)
    if hook.moment in OBSERVING:
        if wanted in {OnError.DENY, OnError.ASK}:
            raise ValueError(f"at {hook.moment} nothing can be stopped: on_error can only be 'allow' there")
        return OnError.ALLOW
    if isinstance(hook, ApprovalGateHook) and wanted not in {None, OnError.DENY}:
        raise ValueError("an approval gate that fails lets nothing pass: its on_error can only be 'deny'")
    if wanted is OnError.ASK and hook.moment is not Moment.PRE_TOOL_USE:
        raise ValueError(f"people are asked about tool calls: on_error 'ask' is for PreToolUse, not {hook.moment}")
    return wanted or OnError.DENY
