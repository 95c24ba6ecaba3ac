"""Run the chain of one moment for an agent anywhere: the org's hooks, its own, and those of the agents above it.

The chain runs outside of any transaction, for hooks take their time. What it did besides answering (a fault that was
let pass, facts for the audit, a denial) is told to the trail.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from app.domain.rules.policy import sensitive_of
from app.hooks.org_hooks import READ_ONLY
from app.usecases.hooks.hook_records import noted, scrub_of, stopped
from app.usecases.hooks.known_call import JUDGED
from app.usecases.hooks.turn_bag import as_fault, bounded, without_own
from app.usecases.pauses.strangers import agents_named
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import TOOL_MOMENTS, Moment
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.observer import UNOBSERVED, Observer
from assent.hooks.engine.outcome import Decision, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.rules.policy import Policy
    from app.domain.trail.audit import Record
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.hooks.hook_records import Scrub
    from app.usecases.hooks.known_call import AgentRun, KnownCall, LookUp
    from assent.hooks.engine.registry import Registered

MOST_BYTES_OF_A_RESULT = 1024 * 1024
"""The largest result or error of a tool that hooks look at; a larger one is withheld, unseen, if there are hooks."""
_RESULT_SIZE = "result-size"


class Ran(Struct, frozen=True, kw_only=True):
    """What a chain came to."""

    outcome: Outcome
    metadata: dict[str, Any]
    tags: dict[str, Any]
    """What the hooks of this moment set in the bag."""


class RunHooks:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        look_up: LookUp,
        clock: Clock,
        observer: Observer = UNOBSERVED,
    ) -> None:
        """Take what it works on. `observer` watches the hooks at work."""
        self._observer = observer
        self._store = store
        self.look_up = look_up
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
        known = await self.look_up(run)
        ran = await self.run(run, known, moment, request_id=request_id or "", **subject)
        tool = str(subject.get("called_as", ""))
        versions = [each for each in (asked, subject.get("args"), ran.outcome.args) if each]
        scrub = scrub_of(versions, sensitive_of(known.loaded.policy, tool))
        records = told(run, moment, ran.outcome, tool=tool, scrub=scrub)
        if records:

            def unit(tx: Tx) -> None:
                for record in records:
                    tx.append(record, request_id=request_id)

            await self._store.write(unit, org=run.org)
        return ran

    def policy(self, org: str) -> Policy:
        """Return the org's policy in force. Raises NotFoundError, UnavailableError."""
        return self.look_up.current(org).policy

    async def run(self, run: AgentRun, known: KnownCall, moment: Moment, **subject: Any) -> Ran:
        """Run a moment's chain and leave it to the caller to tell the trail."""
        tool = str(subject.get("called_as", "")) if moment in TOOL_MOMENTS else ""
        chain = known.registry.get(moment, tool=tool, agent=known.agents)
        given = without_own(run.metadata) if run.metadata else {}
        if not chain or (_is_bare(chain) and known.read_only is None):
            outcome = Outcome(
                args=subject.get("args", {}),
                prompt=subject.get("prompt", ""),
                request=subject.get("request"),
                result=subject.get("result"),
            )
            return Ran(outcome=outcome, metadata=given, tags={})
        if _is_too_large(subject.get("result")) or _is_too_large(subject.get("error")):
            return Ran(outcome=_withheld(subject), metadata=given, tags={})
        bag = dict(given)
        ctx = HookContext(
            moment=moment,
            timestamp=self._clock.now(),
            metadata=bag,
            org=run.org,
            agent=run.agent,
            session=run.session or "",
            parent_session=known.parent_session,
            user=run.user or "",
            cwd=run.cwd or "",
            tool_name=canonical_name(tool) if tool else "",
            **subject,
        )
        outcome = await self._chain(chain, ctx, known)
        left, tags, dropped = bounded(given, bag)
        if dropped:
            outcome = as_fault(outcome, chain, moment, dropped)
        return Ran(outcome=outcome, metadata=left, tags=tags)

    def named_agents(self, org: str) -> frozenset[str]:
        """Return the agents that the org's file names. Raises NotFoundError, UnavailableError."""
        return agents_named(self.look_up.current(org))

    async def _chain(self, chain: Sequence[Registered], ctx: HookContext, known: KnownCall) -> Outcome:
        token = JUDGED.set(known)
        try:
            return await run_chain(chain, ctx, self._observer)
        finally:
            JUDGED.reset(token)


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


def _is_bare(chain: Sequence[Registered]) -> bool:
    """Say whether nothing but the built-in guard stands there, which has nothing to say while its switch is off."""
    return len(chain) == 1 and chain[0].id == READ_ONLY


def told(run: AgentRun, moment: Moment, outcome: Outcome, *, tool: str, scrub: Scrub) -> list[Record]:
    """Return what the trail is told of a chain: what its hooks noted, and who stopped the moment (if not a call)."""
    records = noted(run.agent, run.session, moment, outcome, tool=tool, scrub=scrub)
    if outcome.decision is Decision.DENY and moment is not Moment.PRE_TOOL_USE:
        records.append(stopped(run.agent, run.session, moment, outcome, tool=tool, scrub=scrub))
    return records
