"""Run the chain of one moment for an agent anywhere: the org's hooks, its own, and those of the agents above it.

The chain runs outside of any transaction, for hooks take their time. What it did besides answering (a fault that was
let pass, facts for the audit, a denial) is told to the trail.
"""

from __future__ import annotations

from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.hooks.org_hooks import READ_ONLY
from app.usecases.hook_records import noted, stopped
from app.usecases.lineage import Descent
from assent.hooks.chain import run_chain
from assent.hooks.context import HookContext
from assent.hooks.moments import TOOL_MOMENTS, Moment
from assent.hooks.observer import UNOBSERVED, Observer
from assent.hooks.outcome import Decision, Outcome
from assent.hooks.tool_names import canonical_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.audit import Record
    from app.domain.policy import Policy
    from app.policies.policy_file import LoadedPolicy
    from app.ports import Clock
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.hook_book import HookBook
    from app.usecases.lineage import Lineage
    from app.usecases.switch import Switches
    from assent.hooks.registry import HookRegistry, Registered

_OWN = "assent."

ABOVE: ContextVar[tuple[str, ...]] = ContextVar("assent_agents_above", default=())
"""While a chain runs: the agents above the one that it runs for. The read-only guard binds whom they bind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """Whose moment it is: `org` and `agent` come from the key, the rest is what the agent's runtime says."""

    org: str
    agent: str
    session: str | None = None
    parent_session: str | None = None
    parent_agent: str | None = None
    user: str | None = None
    cwd: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """The bag of the turn: given by the runtime, and given back with the tags that hooks set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a chain came to, and for whom it ran."""

    outcome: Outcome
    loaded: LoadedPolicy
    above: tuple[str, ...]
    """The agents above this one, whose hooks and rules bind it too."""
    metadata: dict[str, Any]
    tags: dict[str, Any]
    """What the hooks of this moment set in the bag."""


class RunHooks:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        hooks: HookBook,
        lineage: Lineage,
        switches: Switches,
        clock: Clock,
        observer: Observer = UNOBSERVED,
    ) -> None:
        """Take what it works on. `observer` watches the hooks at work."""
        self._observer = observer
        self._store = store
        self._hooks = hooks
        self._lineage = lineage
        self._switches = switches
        self._clock = clock

    async def __call__(self, run: AgentRun, moment: Moment, *, request_id: str | None = None, **subject: Any) -> Ran:
        """Run a moment's chain and tell the trail what it did.

        `subject` are the fields of HookContext that the moment is about; `request_id` connects what hooks note to a
        request. Raises InvalidError for an impossible parent session, NotFoundError, UnavailableError.
        """
        ran = await self.run(run, moment, request_id=request_id or "", **subject)
        records = told(run, moment, ran.outcome, tool=str(subject.get("called_as", "")))
        if records:

            def unit(tx: Tx) -> None:
                for record in records:
                    tx.append(record, request_id=request_id)

            await self._store.write(unit, org=run.org)
        return ran

    def policy(self, org: str) -> Policy:
        """Return the org's policy in force. Raises NotFoundError, UnavailableError."""
        return self._hooks.current(org)[0].policy

    async def run(self, run: AgentRun, moment: Moment, **subject: Any) -> Ran:
        """Run a moment's chain and leave it to the caller to tell the trail."""
        descent = Descent(
            org=run.org,
            agent=run.agent,
            session=run.session,
            parent_session=run.parent_session,
            parent_agent=run.parent_agent,
        )
        loaded, registry = self._hooks.current(run.org)
        line = await self._lineage.above(descent)
        above = line.agents
        tool = str(subject.get("called_as", "")) if moment in TOOL_MOMENTS else ""
        chain = chain_of(registry, moment, tool, (run.agent, *above))
        given = _without_own(run.metadata)
        bag = dict(given)
        await self._switches.refresh(run.org)
        if not chain or (_is_bare(chain) and self._switches.read_only(run.org, (run.agent, *above)) is None):
            outcome = Outcome(
                args=subject.get("args", {}),
                prompt=subject.get("prompt", ""),
                request=subject.get("request"),
                result=subject.get("result"),
            )
            return Ran(outcome=outcome, loaded=loaded, above=above, metadata=given, tags={})
        if len(chain) > 1 and "args" in subject:  # a hook that changes them in place changes nothing but its own copy
            subject["args"] = deepcopy(subject["args"])
        ctx = HookContext(
            moment=moment,
            timestamp=self._clock.now(),
            metadata=bag,
            org=run.org,
            agent=run.agent,
            session=run.session or "",
            parent_session=line.parent[1] if line.parent else "",
            user=run.user or "",
            cwd=run.cwd or "",
            tool_name=canonical_name(tool) if tool else "",
            **subject,
        )
        token = ABOVE.set(above)
        try:
            outcome = await run_chain(chain, ctx, self._observer)
        finally:
            ABOVE.reset(token)
        left = _without_own(bag)
        tags = {name: value for name, value in left.items() if name not in given or given[name] != value}
        return Ran(outcome=outcome, loaded=loaded, above=above, metadata=left, tags=tags)


def chain_of(registry: HookRegistry, moment: Moment, tool: str, agents: Sequence[str]) -> tuple[Registered, ...]:
    """Return the hooks for the first of `agents` and for all above it, each once, in the order in which they run."""
    if len(agents) == 1:
        return registry.get(moment, tool=tool, agent=agents[0])
    found = {entry.id: entry for agent in agents for entry in registry.get(moment, tool=tool, agent=agent)}
    return tuple(sorted(found.values(), key=lambda entry: entry.rank))


def _is_bare(chain: Sequence[Registered]) -> bool:
    """Say whether nothing but the built-in guard stands there, which has nothing to say while its switch is off."""
    return len(chain) == 1 and chain[0].id == READ_ONLY


def _without_own(bag: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what the engine keeps in the bag for itself: no caller sets it, and none gets it."""
    return {name: value for name, value in bag.items() if not name.startswith(_OWN)}


def told(run: AgentRun, moment: Moment, outcome: Outcome, *, tool: str = "") -> list[Record]:
    """Return what the trail is told of a chain: what its hooks noted, and who stopped the moment (if not a call)."""
    records = noted(run.agent, run.session, moment, outcome, tool=tool)
    if outcome.decision is Decision.DENY and moment is not Moment.PRE_TOOL_USE:
        records.append(stopped(run.agent, run.session, moment, outcome, tool=tool))
    return records
