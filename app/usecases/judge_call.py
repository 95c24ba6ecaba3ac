"""Judge one call: the chain of hooks first, then the rules on the arguments as they finally stand.

Hooks run outside of any transaction and may rewrite the call; no rule ever judges other arguments than those that would
run. Whoever wants people to be asked (a hook, the catalogue, the caller) can only make the answer stricter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from app.domain.errors import InvalidError
from app.domain.people import email_key
from app.domain.policy import Deny, Policy, Ruling, judge
from app.domain.redact import scrubbed
from app.domain.strictness import Wish, at_least_ask, strictest
from app.domain.tool import Tool, check_arguments
from app.domain.tool_call import ToolCall
from app.usecases.hook_records import plain_text
from app.usecases.run_hooks import AgentRun, RunHooks
from assent.hooks.moments import Moment
from assent.hooks.observer import Deed
from assent.hooks.outcome import Decision, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.canonical import JsonValue
    from app.ports import Clock
    from app.usecases.run_hooks import Ran
    from assent.hooks.verdicts import Routing

CALLER = "caller"
REQUIRES_CONFIRMATION = "requires-confirmation"
CONFIRM_ALL_TOOLS = "confirm-all-tools"
"""The ids under which the caller, a tool's flag and an agent's flag ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A call as the agent reports it. `org`, `agent` and `owner` come from its key, never from the body.

    `evaluation` may be True only for a key of that scope: the caller has looked. `can_route`: the agent's runtime can
    run a call in the sandbox that a hook sends it to.
    """

    org: str
    agent: str
    owner: str | None
    tool: str
    arguments: object
    session: str | None = None
    call_id: str | None = None
    requester: str | None = None
    claim: str | None = None
    idempotency_key: str | None = None
    parent_session: str | None = None
    parent_agent: str | None = None
    cwd: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    confirm: str | None = None
    """Why the caller wants people to be asked whatever the rules would allow."""
    evaluation: bool = False
    can_route: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the hooks give the agent's runtime along with the answer."""

    arguments: Mapping[str, JsonValue] | None = None
    """The arguments to run instead of those submitted; None: they stand."""
    context: tuple[str, ...] = ()
    hidden: bool = False
    route: Routing | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Mapping[str, Any] = field(default_factory=dict[str, Any])


NOTHING_SAID = Said()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One call, judged. `submitted` is the call before hooks rewrote it; `hook` is set when a hook denied it."""

    call: ToolCall
    submitted: ToolCall
    tool: Tool
    policy: Policy
    ruling: Ruling
    outcome: Outcome
    said: Said
    hook: str | None = None
    fault: bool = False


class JudgeCall:
    """The use case."""

    def __init__(self, *, hooks: RunHooks, clock: Clock) -> None:
        """Take what it works on."""
        self._hooks = hooks
        self._clock = clock

    async def __call__(self, submission: Submission) -> Judged:
        """Judge a call. It changes nothing but what hooks count.

        Raises UnknownToolError, BadArgumentsError, InvalidError, UnavailableError: the tool must not run.
        """
        policy = self._hooks.policy(submission.org)
        tool = policy.get_tool(submission.tool)
        submitted = _call(submission, check_arguments(tool, submission.arguments))
        ran = await self._hooks.run(
            _run(submission),
            Moment.PRE_TOOL_USE,
            called_as=submission.tool,
            args=submitted.arguments,
            call_id=submission.call_id or "",
            claim=submission.claim or "",
        )
        policy = ran.loaded.policy  # the version whose hooks ran: one version judges the whole call
        tool = policy.get_tool(submission.tool)
        outcome = ran.outcome
        if outcome.decision is Decision.DENY:
            return self._denied(submitted, tool, policy, ran, by=outcome.by, why=outcome.reason, fault=outcome.fault)
        call = submitted
        if outcome.rewritten:
            try:
                call = replace(submitted, arguments=check_arguments(tool, dict(outcome.args)))
            except InvalidError as error:
                why = f"it rewrote the arguments to what cannot be run: {error.detail}"
                return self._denied(submitted, tool, policy, ran, by=_last_rewriter(outcome), why=why, fault=True)
        now = self._clock.now()
        inherited = [(name, judge(policy, replace(call, agent=name), now=now)) for name in ran.above]
        ruling = strictest(judge(policy, call, now=now), inherited)
        ruling = at_least_ask(ruling, _wishes(submission, tool, ran), policy)
        if outcome.route is not None and not submission.can_route and not isinstance(ruling, Deny):
            why = f"it may only run in the sandbox {outcome.route.provider!r}, and its runtime cannot send it there"
            by = next((each.hook for each in outcome.trace if each.deed is Deed.ROUTED), outcome.by)
            return self._denied(submitted, tool, policy, ran, by=by, why=why, fault=False)
        return Judged(
            call=call,
            submitted=submitted,
            tool=tool,
            policy=policy,
            ruling=ruling,
            outcome=outcome,
            said=_said(ran, call.arguments if outcome.rewritten else None),
        )

    def _denied(
        self, call: ToolCall, tool: Tool, policy: Policy, ran: Ran, *, by: str, why: str, fault: bool
    ) -> Judged:
        reason = plain_text(scrubbed(why, call.arguments, tool.sensitive))
        ruling = Deny(rule_id=f"hook:{by}", reason=reason, policy_version=policy.version, trace=(), record=True)
        said = replace(_said(ran, None), route=None)
        return Judged(
            call=call,
            submitted=call,
            tool=tool,
            policy=policy,
            ruling=ruling,
            outcome=ran.outcome,
            said=said,
            hook=by,
            fault=fault,
        )


def _run(submission: Submission) -> AgentRun:
    return AgentRun(
        org=submission.org,
        agent=submission.agent,
        session=submission.session,
        parent_session=submission.parent_session,
        parent_agent=submission.parent_agent,
        user=submission.requester,
        cwd=submission.cwd,
        metadata=submission.metadata,
    )


def _call(submission: Submission, arguments: dict[str, JsonValue]) -> ToolCall:
    return ToolCall(
        org=submission.org,
        agent=submission.agent,
        session=submission.session,
        call_id=submission.call_id,
        tool=submission.tool,
        arguments=arguments,
        requester=email_key(submission.requester) if submission.requester else None,
        owner=email_key(submission.owner) if submission.owner else None,
        claim=submission.claim,
    )


def _wishes(submission: Submission, tool: Tool, ran: Ran) -> list[Wish]:
    """List who, besides the rules, wants people to be asked."""
    wishes = [Wish(by=f"hook:{asked.hook}", reason=plain_text(asked.reason)) for asked in ran.outcome.asks]
    if tool.requires_confirmation:
        wishes.append(Wish(by=REQUIRES_CONFIRMATION, reason=f"The tool {tool.name} always requires confirmation."))
    for name in (submission.agent, *ran.above):
        settings = ran.loaded.agents.get(name)
        if settings is not None and settings.confirm_all_tools:
            wishes.append(Wish(by=CONFIRM_ALL_TOOLS, reason=f"Every tool of the agent {name} requires confirmation."))
    if submission.confirm is not None:
        words = " ".join(submission.confirm.split())
        wishes.append(Wish(by=CALLER, reason=f"The agent's side asks for confirmation (its own words): {words}"))
    arguments = cast("Mapping[str, JsonValue]", ran.outcome.args)
    return [replace(wish, reason=scrubbed(wish.reason, arguments, tool.sensitive)) for wish in wishes]


def _said(ran: Ran, arguments: Mapping[str, JsonValue] | None) -> Said:
    outcome = ran.outcome
    return Said(
        arguments=arguments,
        context=outcome.context,
        hidden=outcome.hidden,
        route=outcome.route,
        metadata=ran.metadata,
        tags=ran.tags,
    )


def _last_rewriter(outcome: Outcome) -> str:
    return next((each.hook for each in reversed(outcome.trace) if each.deed is Deed.REWROTE), outcome.by)
