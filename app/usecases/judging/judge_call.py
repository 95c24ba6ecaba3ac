"""Judge one call: the chain of hooks first, then the rules on the arguments as they finally stand.

Hooks run outside of any transaction and may rewrite the call; no rule ever judges other arguments than those that would
run. Whoever wants people to be asked (a hook, the catalogue, the caller) can only make the answer stricter.
"""

from __future__ import annotations

import asyncio
import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from app.domain.call.exhibit import Offered, read_evidence
from app.domain.call.tool import checked
from app.domain.call.tool_call import ToolCall, call_digest, near_key
from app.domain.errors import BadArgumentsError, InvalidError
from app.domain.money.payment import payments_of
from app.domain.people.people import email_key
from app.domain.request.host_event import MOST_SENT, kept_event
from app.domain.request.redact import scrubbed
from app.domain.rules.policy import Ask, Deny, Policy, Ruling, rulings_of, tools_of
from app.domain.rules.strictest import Wish, at_least_ask, caller_wish, hook_wish, strictest
from app.domain.text.visible import named
from app.usecases.hooks.hook_records import noted, plain_text, scrub_of
from app.usecases.hooks.known_call import run_of
from app.usecases.hooks.run_hooks import Ran
from app.usecases.writing.clean import clean
from assent.hooks.contract.moments import Moment
from assent.hooks.engine.observer import Deed
from assent.hooks.engine.outcome import Decision, Outcome
from assent.hooks.engine.subject import same
from assent.hooks.ready.off_loop import off_loop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.call.submission import Submission
    from app.domain.call.tool import Tool
    from app.domain.money.payment import Payment
    from app.domain.text.canonical import JsonValue
    from app.domain.trail.audit import Record
    from app.ports import Clock
    from app.telemetry.spans import Spans
    from app.usecases.hooks.hook_records import Scrub
    from app.usecases.hooks.known_call import KnownCall
    from app.usecases.hooks.run_hooks import RunHooks
    from assent.hooks.contract.verdicts import Routing

MOST_SECONDS = 5.0
"""For checking the arguments of one call, the wait for other large ones before it included."""
CALLER = "caller"
REQUIRES_CONFIRMATION = "requires-confirmation"
CONFIRM_ALL_TOOLS = "confirm-all-tools"
"""The ids under which the caller, a tool's flag and an agent's flag ask."""


class Said(Struct, frozen=True, kw_only=True):
    """What the hooks give the agent's runtime along with the answer."""

    arguments: Mapping[str, JsonValue] | None = None
    """The arguments to run instead of those submitted; None: they stand."""
    context: tuple[str, ...] = ()
    hidden: bool = False
    route: Routing | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tags: Mapping[str, Any] = field(default_factory=dict[str, Any])


NOTHING_SAID = Said()


class Judged(Struct, frozen=True, kw_only=True, dict=True):  # a dict: what is asked of it several times is found once
    """One call, judged. `submitted` is the call before hooks rewrote it; `hook` is set when a hook denied it.

    `tool` is what the file says of the tool under all of its names; `scrub` hides its sensitive arguments in texts.
    """

    call: ToolCall
    submitted: ToolCall
    tool: Tool
    policy: Policy
    ruling: Ruling
    outcome: Outcome
    said: Said
    scrub: Scrub
    sub_agent: str | None = None
    evaluation_key: str | None = None
    unproven: str | None = None
    """Why the token that came with the call proved nothing."""
    hook: str | None = None
    fault: bool = False
    payments: tuple[Payment, ...] = ()
    offered: tuple[Offered, ...] = ()
    """The call's evidence with the content of its files."""
    predecessor_id: str | None = None
    """The expired request that is asked again with this call, by `asked_again_by`."""
    asked_again_by: str | None = None

    @cached_property
    def call_digest(self) -> str:
        """The name of the call as it would run."""
        return call_digest(self.call)

    @cached_property
    def near_key(self) -> str | None:
        """The name of what must be seen of the call; None where the file pins nothing of its tool."""
        return near_key(self.call, self.tool, self.payments)

    @cached_property
    def notes(self) -> tuple[Record, ...]:
        """What the trail is told of what the hooks noted besides judging."""
        call, outcome = self.call, self.outcome
        if not outcome.side_effects and not outcome.rewritten and outcome.route is None:
            return ()
        moment, digest = Moment.PRE_TOOL_USE, self.call_digest
        return tuple(
            noted(call.agent, call.session, moment, outcome, tool=call.tool, scrub=self.scrub, call_digest=digest)
        )


class JudgeCall:
    """The use case."""

    def __init__(self, *, hooks: RunHooks, clock: Clock, spans: Spans | None = None) -> None:
        """Take what it works on; `spans` where the process traces."""
        self._hooks = hooks
        self._clock = clock
        self._spans = spans

    async def look_up(self, submission: Submission) -> KnownCall:
        """Return what is known of a call before anything judges it. Raises InvalidError, UnavailableError."""
        return await self._hooks.look_up(run_of(submission))

    async def __call__(self, submission: Submission, known: KnownCall | None = None) -> Judged:
        """Judge a call. It changes nothing but what hooks count. `known`: it was looked up already.

        Raises UnknownToolError, BadArgumentsError, InvalidError, UnavailableError: the tool must not run.
        """
        if self._spans is None:
            return await self._judge(submission, known)
        with self._spans.judging(submission.tool, submission.agent, submission.call_id):
            return await self._judge(submission, known)

    async def _judge(self, submission: Submission, known: KnownCall | None) -> Judged:
        known = known or await self.look_up(submission)
        tools = tools_of(known.loaded.policy, submission.tool)
        arguments, host_event, offered = await self._checked(tools, submission, known)
        submitted = _call(submission, arguments, host_event, offered)
        if known.loaded.hooks or known.switches or submission.metadata:
            ran = await self._run_hooks(submission, known, submitted)
        else:  # the file declares no hook, and the built-in guard has nothing to say while no switch is on
            ran = Ran(outcome=Outcome(args=submitted.arguments), metadata={}, tags={})
        judged = _Judging(submission, submitted, known, tools, ran).judge(self._clock.now())
        return replace(judged, offered=offered) if offered else judged

    async def _run_hooks(self, submission: Submission, known: KnownCall, submitted: ToolCall) -> Ran:
        return await self._hooks.run(
            run_of(submission),
            known,
            Moment.PRE_TOOL_USE,
            called_as=submission.tool,
            args=submitted.arguments,
            call_id=submission.call_id or "",
            claim=submission.claim or "",
        )

    async def _checked(
        self, tools: tuple[Tool, ...], submission: Submission, known: KnownCall
    ) -> tuple[dict[str, JsonValue], str | None, tuple[Offered, ...]]:
        """Check the arguments, large ones off the loop. What took its time is refused, for nobody has checked it.

        Besides, return what is kept of what the program sent, and the evidence.
        """

        def check(given: tuple[object, object]) -> tuple[dict[str, JsonValue], str | None, tuple[Offered, ...]]:
            arguments = checked(tools, given[0])
            kept = _kept_event(submission, arguments, known) if submission.host_event else None
            return arguments, kept, _offered(submission, arguments, known) if submission.evidence else ()

        given = submission.arguments, submission.evidence
        if submission.is_small:
            return check(given)
        try:
            async with asyncio.timeout(MOST_SECONDS):
                return await off_loop(check, given)
        except TimeoutError:
            why = f"they could not be checked within {MOST_SECONDS:g} seconds"
            raise BadArgumentsError(f"the arguments: {why}", path="", why=why) from None


class _Judging:
    """One call whose hooks have run. One version of the file, the one that is known of it, judges the whole call."""

    def __init__(
        self, submission: Submission, submitted: ToolCall, known: KnownCall, tools: tuple[Tool, ...], ran: Ran
    ) -> None:
        self._submission = submission
        self._submitted = submitted
        self._known = known
        self._ran = ran
        self._outcome = ran.outcome
        self._policy = known.loaded.policy
        self._tools = tools
        self._tool = self._policy.whole_tool(submission.tool)

    def _scrub(self, text: str) -> str:
        """Take the sensitive arguments of the call out of a text, as sent and as rewritten."""
        return scrub_of((self._submitted.arguments, self._outcome.args), self._tool.sensitive)(text)

    def judge(self, now: datetime) -> Judged:
        outcome = self._outcome
        if outcome.decision is Decision.DENY:
            return self._denied(outcome.by, outcome.reason, fault=outcome.fault)
        call = self._submitted
        # What the hooks passed is what is judged, and what is to run.
        if outcome.args is not call.arguments and not same(outcome.args, call.arguments):
            try:
                call = replace(call, arguments=checked(self._tools, dict(outcome.args)))
            except InvalidError as error:
                why = f"it rewrote the arguments to what cannot be run: {error.detail}"
                return self._denied(_last(outcome, Deed.REWROTE), why, fault=True)
        ruling, wishes = self._by_the_rules(call, now), self._wishes()
        if isinstance(ruling, Deny) and ruling.unproven and self._submission.unproven is not None:
            told = f"The token that came with it proves nothing: {self._submission.unproven}."
            ruling = replace(ruling, reason=f"{ruling.reason} {told}")
        ruling = at_least_ask(ruling, wishes, self._policy) if wishes else ruling
        objection = None if isinstance(ruling, Deny) else self._objection(ruling)
        return objection or self._judged(call, ruling)

    def _by_the_rules(self, call: ToolCall, now: datetime) -> Ruling:
        """Judge by the rules: for the agent and for all that bind it besides, under each name of the tool."""
        own, *found = rulings_of(self._policy, call, now=now)
        for name in self._known.above:
            for tool, ruling in rulings_of(self._policy, replace(call, agent=name), now=now):
                found.append((name if tool == call.tool else f"{name} and {tool}", ruling))
        return strictest(own[1], found) if found else own[1]

    def _objection(self, ruling: Ruling) -> Judged | None:
        """Deny what the answer could not carry: a sandbox that the caller cannot use, a run without people."""
        outcome, submission = self._outcome, self._submission
        if outcome.route is not None:
            sandbox = f"it may only run in the sandbox {outcome.route.provider!r}"
            by = _last(outcome, Deed.ROUTED)
            if not submission.can_route:
                return self._denied(by, f"{sandbox}, and its runtime cannot send it there")
            if isinstance(ruling, Ask) and not submission.evaluation:
                why = (
                    f"{sandbox}, and people have to be asked about it: an approval cannot carry the sandbox to its run"
                )
                return self._denied(by, f"{why} ({ruling.reason})")
        if submission.evaluation and self._tool.enforced:  # whoever is told "allow" would run it without an executor
            why = "An evaluation run gets no approval, and this tool runs behind an executor, on an approval only."
            return self._judged(self._submitted, self._denial(CALLER, why))
        if not submission.evaluation or not isinstance(ruling, Ask):
            return None
        if self._tool.payment is not None:
            why = "An evaluation run asks nobody, and money is never paid unasked where people would be asked."
            return self._judged(self._submitted, self._denial(CALLER, why))
        if outcome.asks:
            why = "; ".join(asked.reason for asked in outcome.asks)
            return self._denied(outcome.asks[0].hook, f"an evaluation run asks nobody, and this guard asks: {why}")
        if submission.confirm is not None:
            why = "An evaluation run asks nobody, and the agent's side wants people to be asked."
            return self._judged(self._submitted, self._denial(CALLER, why))
        return None

    def _wishes(self) -> list[Wish]:
        """List who, besides the rules, wants people to be asked."""
        submission, tool, known = self._submission, self._tool, self._known
        # What is sensitive is hidden before words are quoted: a value of the call could be a quotation mark.
        wishes = [hook_wish(asked.hook, plain_text(self._scrub(asked.reason))) for asked in self._outcome.asks]
        if tool.requires_confirmation:
            why = f"The tool {named(tool.name)} always requires confirmation."
            wishes.append(Wish(by=REQUIRES_CONFIRMATION, reason=why))
        for name in known.agents:
            settings = known.loaded.agents.get(name)
            if settings is not None and settings.confirm_all_tools:
                wishes.append(
                    Wish(by=CONFIRM_ALL_TOOLS, reason=f"Every tool of the agent {named(name)} requires confirmation.")
                )
        if submission.confirm is not None:
            wishes.append(caller_wish(CALLER, self._scrub(submission.confirm)))
        return wishes

    def _denial(self, rule_id: str, why: str) -> Deny:
        reason = plain_text(self._scrub(why))
        return Deny(rule_id=rule_id, reason=reason, policy_version=self._policy.version, trace=(), record=True)

    def _denied(self, hook: str, why: str, *, fault: bool = False) -> Judged:
        judged = self._judged(self._submitted, self._denial(f"hook:{hook}", why))
        return replace(judged, hook=hook, fault=fault)

    def _judged(self, call: ToolCall, ruling: Ruling) -> Judged:
        ran, outcome = self._ran, self._outcome
        changed = call is not self._submitted
        said = Said(
            arguments=call.arguments if changed else None,
            context=outcome.context,
            hidden=outcome.hidden,
            route=None if isinstance(ruling, Deny) else _whole(outcome.route, call),
            metadata=ran.metadata,
            tags=ran.tags,
        )
        return Judged(
            call=call,
            submitted=self._submitted,
            tool=self._tool,
            policy=self._policy,
            ruling=ruling,
            outcome=outcome,
            said=said,
            scrub=self._scrub,
            sub_agent=self._submission.sub_agent,
            evaluation_key=self._submission.evaluation_key,
            unproven=self._submission.unproven,
            payments=payments_of(self._tool.payment, call.arguments) if self._tool.payment else (),
        )


def _call(
    submission: Submission, arguments: dict[str, JsonValue], host_event: str | None, offered: tuple[Offered, ...]
) -> ToolCall:
    return ToolCall(
        org=submission.org,
        agent=submission.agent,
        session=submission.session,
        call_id=submission.call_id,
        tool=submission.tool,
        arguments=arguments,
        requester=email_key(submission.requester) if submission.requester else None,
        owner=submission.owner,
        claim=submission.claim,
        sub_agent=submission.sub_agent,
        host_event=host_event,
        evidence=tuple([each.exhibit for each in offered]),
        proof=submission.proof,
    )


def _kept_event(submission: Submission, arguments: dict[str, JsonValue], known: KnownCall) -> str:
    """Return what the program sent, without the call's sensitive values and what has the shape of a secret."""
    told = submission.host_event or ""
    sensitive = known.loaded.policy.whole_tool(submission.tool).sensitive
    return kept_event(clean(told[:MOST_SENT]), arguments, sensitive, had=len(told))


def _offered(submission: Submission, arguments: dict[str, JsonValue], known: KnownCall) -> tuple[Offered, ...]:
    """Return the evidence, its titles and names without sensitive values and secrets. Raises InvalidError."""
    sensitive = known.loaded.policy.whole_tool(submission.tool).sensitive
    return read_evidence(submission.evidence, told=lambda text: scrubbed(clean(text), arguments, sensitive))


def _whole(route: Routing | None, call: ToolCall) -> Routing | None:
    """Name the command that the sandbox runs: it is the call's own `command`, which hooks and rules have judged."""
    command = call.arguments.get("command")
    return dataclasses.replace(route, command=command) if route is not None and isinstance(command, str) else route


def _last(outcome: Outcome, deed: Deed) -> str:
    return next((each.hook for each in reversed(outcome.trace) if each.deed is deed), outcome.by)
