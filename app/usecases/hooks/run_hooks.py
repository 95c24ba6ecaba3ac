"""Run the chain of one moment for an agent anywhere: the org's hooks, its own, and those of the agents above it.

The chain runs outside of any transaction, for hooks take their time. What it did besides answering (a fault that was
let pass, facts for the audit, a denial) is told to the trail.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.domain.errors import ReadOnlyError
from app.hooks.org_hooks import READ_ONLY
from app.usecases.hooks.hook_records import noted, scrub_of, stopped
from app.usecases.hooks.turn_bag import as_fault, bounded, without_own
from app.usecases.sessions.lineage import Descent
from app.usecases.tools.tool_names import sensitive_of
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import TOOL_MOMENTS, Moment
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.observer import UNOBSERVED, Observer
from assent.hooks.engine.outcome import Decision, Outcome
from assent.hooks.ready.read_only import ReadOnlyGuard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.call.switch import Switch
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.trail.audit import Record
    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.hooks.hook_book import HookBook
    from app.usecases.hooks.hook_records import Scrub
    from app.usecases.pauses.switch import Switches
    from app.usecases.sessions.lineage import Lineage
    from assent.hooks.engine.registry import HookRegistry, Registered

MOST_BYTES_OF_A_RESULT = 1024 * 1024
"""The largest result or error of a tool that hooks look at; a larger one is withheld, unseen, if there are hooks."""
_RESULT_SIZE = "result-size"

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
    sub_agent: str | None = None
    """The agent acts through a sub-agent of this name: its hooks run as well."""
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
    """The agents besides this one whose hooks and rules bind it too: those above it, and its sub-agent."""
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

    async def __call__(
        self,
        run: AgentRun,
        moment: Moment,
        *,
        request_id: str | None = None,
        asked: Mapping[str, Any] | None = None,
        **subject: Any,
    ) -> Ran:
        """Run a moment's chain and tell the trail what it did.

        `subject` are the fields of HookContext that the moment is about; `request_id` connects what hooks note to a
        request, whose arguments are `asked`: what is sensitive of them stays out of the trail as well. Raises
        InvalidError for an impossible parent session, NotFoundError, UnavailableError.
        """
        ran = await self.run(run, moment, request_id=request_id or "", **subject)
        tool = str(subject.get("called_as", ""))
        versions = [each for each in (asked, subject.get("args"), ran.outcome.args) if each]
        scrub = scrub_of(versions, sensitive_of(ran.loaded.policy, tool))
        records = told(run, moment, ran.outcome, tool=tool, scrub=scrub)
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
        loaded, registry = self._hooks.current(run.org)
        line = await self._lineage.above(_descent(run))
        above = _besides(run.agent, line.agents, run.sub_agent)
        tool = str(subject.get("called_as", "")) if moment in TOOL_MOMENTS else ""
        chain = chain_of(registry, moment, tool, (run.agent, *above))
        given = without_own(run.metadata)
        await self._switches.refresh(run.org)
        if not chain or (_is_bare(chain) and self._switches.read_only(run.org, (run.agent, *above)) is None):
            outcome = Outcome(
                args=subject.get("args", {}),
                prompt=subject.get("prompt", ""),
                request=subject.get("request"),
                result=subject.get("result"),
            )
            return Ran(outcome=outcome, loaded=loaded, above=above, metadata=given, tags={})
        if _is_too_large(subject.get("result")) or _is_too_large(subject.get("error")):
            return Ran(outcome=_withheld(subject), loaded=loaded, above=above, metadata=given, tags={})
        bag = dict(given)
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
        outcome = await self._chain(chain, ctx, above)
        left, tags, dropped = bounded(given, bag)
        if dropped:
            outcome = as_fault(outcome, chain, moment, dropped)
        return Ran(outcome=outcome, loaded=loaded, above=above, metadata=left, tags=tags)

    async def find_pause(self, run: AgentRun, tool: str) -> Switch | None:
        """Return the pause that stops a call of `tool` for the agent, or for one that binds it; None if none does.

        Raises InvalidError for an impossible parent session, UnavailableError.
        """
        line = await self._lineage.above(_descent(run))
        await self._switches.refresh(run.org)
        return self._switches.pause(run.org, (run.agent, *_besides(run.agent, line.agents, run.sub_agent)), tool)

    async def refuse_read_only(self, request: ConfirmationRequest) -> None:
        """Refuse to hand out an approval of a call that must not run while read-only is on. Raises ReadOnlyError."""
        call = request.call
        _, registry = self._hooks.current(call.org)
        line = await self._lineage.above(Descent(org=call.org, agent=call.agent, session=call.session))
        agents = (call.agent, *line.agents)
        chain = chain_of(registry, Moment.PRE_TOOL_USE, call.tool, agents)
        guards = [entry for entry in chain if isinstance(entry.hook, ReadOnlyGuard)]
        await self._switches.refresh(call.org)
        ctx = HookContext(
            moment=Moment.PRE_TOOL_USE,
            timestamp=self._clock.now(),
            org=call.org,
            agent=call.agent,
            session=call.session or "",
            user=call.requester or "",
            tool_name=canonical_name(call.tool),
            called_as=call.tool,
            args=call.arguments,
            call_id=call.call_id or "",
        )
        outcome = await self._chain(guards, ctx, line.agents)
        if outcome.decision is Decision.DENY:
            raise ReadOnlyError(f"{outcome.reason} The approval stands until it lapses.", state=request.state.value)

    def named_agents(self, org: str) -> frozenset[str]:
        """Return the agents that the org's file names. Raises NotFoundError, UnavailableError."""
        loaded, _ = self._hooks.current(org)
        patterns = {pattern.text for rule in loaded.policy.rules for pattern in rule.agents if not pattern.is_glob}
        return frozenset({*loaded.agents, *patterns})

    async def _chain(self, chain: Sequence[Registered], ctx: HookContext, above: tuple[str, ...]) -> Outcome:
        token = ABOVE.set(above)
        try:
            return await run_chain(chain, ctx, self._observer)
        finally:
            ABOVE.reset(token)


def _descent(run: AgentRun) -> Descent:
    return Descent(
        org=run.org,
        agent=run.agent,
        session=run.session,
        parent_session=run.parent_session,
        parent_agent=run.parent_agent,
    )


def _besides(agent: str, above: Sequence[str], sub_agent: str | None) -> tuple[str, ...]:
    names = (sub_agent, *above) if sub_agent is not None else above
    return tuple(name for name in dict.fromkeys(names) if name != agent)


def _is_too_large(value: object) -> bool:
    match value:
        case None | bool() | int() | float():
            return False
        case str():
            return len(value) > MOST_BYTES_OF_A_RESULT
        case _:
            return len(json.dumps(value, ensure_ascii=False, default=str)) > MOST_BYTES_OF_A_RESULT


def _withheld(subject: Mapping[str, Any]) -> Outcome:
    why = f"the hooks here look at results of up to {MOST_BYTES_OF_A_RESULT} characters, and this one is larger"
    return Outcome(decision=Decision.DENY, by=_RESULT_SIZE, reason=why, fault=True, args=subject.get("args", {}))


def chain_of(registry: HookRegistry, moment: Moment, tool: str, agents: Sequence[str]) -> tuple[Registered, ...]:
    """Return the hooks for the first of `agents` and for all above it, each once, in the order in which they run."""
    if len(agents) == 1:
        return registry.get(moment, tool=tool, agent=agents[0])
    found = {entry.id: entry for agent in agents for entry in registry.get(moment, tool=tool, agent=agent)}
    return tuple(sorted(found.values(), key=lambda entry: entry.rank))


def _is_bare(chain: Sequence[Registered]) -> bool:
    """Say whether nothing but the built-in guard stands there, which has nothing to say while its switch is off."""
    return len(chain) == 1 and chain[0].id == READ_ONLY


def told(run: AgentRun, moment: Moment, outcome: Outcome, *, tool: str, scrub: Scrub) -> list[Record]:
    """Return what the trail is told of a chain: what its hooks noted, and who stopped the moment (if not a call)."""
    records = noted(run.agent, run.session, moment, outcome, tool=tool, scrub=scrub)
    if outcome.decision is Decision.DENY and moment is not Moment.PRE_TOOL_USE:
        records.append(stopped(run.agent, run.session, moment, outcome, tool=tool, scrub=scrub))
    return records
