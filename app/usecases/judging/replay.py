"""Judge recorded calls by another file: which would now be asked, pass or be refused, and whom it would have paged.

Only reads. What people were asked about is recorded whole. Of a call that was allowed or refused at once the trail may
know the name alone: it is judged where no condition that is looked at reads an argument that is not there, and is
counted as untold otherwise. Calls of rules that say `record: false` are in no trail. Hooks are not run: what a hook
asked about then it asks about again, and what it refused stays refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from app.domain.call.tool_call import ToolCall
from app.domain.errors import BadJsonError
from app.domain.people.assurance import Assurance
from app.domain.rules.rule import Then
from app.domain.rules.strictest import Wish
from app.domain.text.canonical import parse_json
from app.domain.trail.audit import Kind
from app.storage.engine.dialect import to_us
from app.usecases.judging.explain import ARGUMENTS, Explanation, explain
from app.usecases.judging.judge_call import CALLER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue
    from app.domain.trail.audit import AuditEvent
    from app.policies.file.policy_file import LoadedPolicy
    from app.usecases.reading.read import Read

_PAGE = 200
_TRAIL_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One call as the record has it. `whole`: its arguments are known, but for the `hidden` ones."""

    at: datetime
    ref: str  # the request's id, or "#<seq>" of the trail
    call: ToolCall
    then: Then
    rule: str
    whole: bool = True
    hidden: tuple[str, ...] = ()
    wishes: tuple[Wish, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A call whose answer would be another one."""

    recorded: Recorded
    now: Explanation


@dataclass(slots=True, kw_only=True)
class Replayed:
    """What came of it. `pairs` counts (then, now); `paged` how many cards each person would have had to look at."""

    seen: int = 0
    pairs: Counter[tuple[Then, Then]] = field(default_factory=Counter[tuple[Then, Then]])
    changes: list[Change] = field(default_factory=list[Change])
    untold: Counter[str] = field(default_factory=Counter[str])  # by tool: not enough of the arguments is recorded
    by_hooks: int = 0
    paged: Counter[str] = field(default_factory=Counter[str])
    channels: Counter[str] = field(default_factory=Counter[str])
    levels: Counter[str] = field(default_factory=Counter[str])  # of assurance above the lowest, of what would be asked


class Replay:
    """The use case."""

    def __init__(self, *, read: Read) -> None:
        """Take what it works on."""
        self._read = read

    async def __call__(self, loaded: LoadedPolicy, *, since: datetime, tell: Callable[[int], None]) -> Replayed:
        """Judge every call recorded since an instant by `loaded`; `tell` is told how many were, again and again."""
        replayed = Replayed()
        async for recorded in self._recorded(loaded.policy.org, since):
            replayed.seen += 1
            tell(replayed.seen)
            if recorded is None:
                replayed.by_hooks += 1
            else:
                _count(replayed, loaded, recorded)
        replayed.changes.sort(key=lambda change: change.recorded.at)
        return replayed

    async def _recorded(self, org: str, since: datetime) -> AsyncIterator[Recorded | None]:
        """Yield what is recorded; None for what a hook refused."""
        before: tuple[int, str] | None = None
        while page := await self._read.page(org, filters={}, only_open=False, before=before, most=_PAGE):
            for request in page:
                if request.created_at < since:
                    break
                yield _of_request(request)
            if page[-1].created_at < since:
                break
            before = (to_us(page[-1].created_at), page[-1].id)
        after = await self._seq_before(org, since)
        while events := (await self._read.trail(org, after=after, most=_TRAIL_PAGE))[0]:
            for event in events:
                record = event.record
                # A call that was refused because people had just denied it, or had paused it, was judged by no rule.
                unjudged = {"denied_request", "paused"} & set(record.facts)
                judged = record.kind in {Kind.ALLOWED, Kind.REFUSED} and not unjudged
                if judged and event.at >= since:
                    yield _of_event(event)
            after = events[-1].seq

    async def _seq_before(self, org: str, since: datetime) -> int:
        """Find the last event before an instant by halving: the trail has no gaps and is in order of time."""
        _, head = await self._read.trail(org, after=-1, most=1)
        low, high = -1, head[0]
        while low < high:
            middle = (low + high) // 2
            events, _ = await self._read.trail(org, after=middle, most=1)
            if events and events[0].at < since:
                low = middle + 1
            else:
                high = middle
        return low


def _count(replayed: Replayed, loaded: LoadedPolicy, recorded: Recorded) -> None:
    now = explain(loaded, recorded.call, now=recorded.at, wishes=recorded.wishes, whole=recorded.whole)
    if not _told(loaded, recorded, now):
        replayed.untold[recorded.call.tool] += 1
        return
    replayed.pairs[recorded.then, now.verdict] += 1
    if now.verdict is not recorded.then:
        replayed.changes.append(Change(recorded=recorded, now=now))
    replayed.paged.update(now.paged)
    replayed.channels.update(now.asking.channels if now.asking else ())
    if now.asking is not None and now.asking.assurance is not Assurance.L1:
        replayed.levels[now.asking.assurance.value] += 1


def _told(loaded: LoadedPolicy, recorded: Recorded, now: Explanation) -> bool:
    """Say whether the answer rests only on what is recorded."""
    if recorded.whole and not recorded.hidden:
        return True
    if now.rule == ARGUMENTS:
        return False
    rules = {rule.id: rule for rule in loaded.policy.rules}
    for step in now.trace:
        if step.tier is not None and not _amounts_are_recorded(loaded, recorded):
            return False
        rule = rules.get(step.rule_id)
        if rule is None or rule.when is None or not rule.is_for(recorded.call.agent) or "args" not in rule.when.needs:
            continue
        if not recorded.whole or not rule.when.reads:
            return False
        if any(_touches(read, hidden) for read in rule.when.reads for hidden in recorded.hidden):
            return False
    return True


def _amounts_are_recorded(loaded: LoadedPolicy, recorded: Recorded) -> bool:
    """Say whether the tier that answered was chosen by what is recorded."""
    tool = loaded.policy.tools.get(recorded.call.tool)
    fields = tool.payment if tool else None
    if not recorded.whole or fields is None:
        return False
    chosen = (fields.amount, fields.currency, fields.payee)
    return not any(_touches(path, hidden) for path in chosen for hidden in recorded.hidden)


def _touches(one: str, other: str) -> bool:
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _of_request(request: ConfirmationRequest) -> Recorded:
    rule = request.rule_id or ""
    asked = rule.startswith("hook:") or rule == CALLER  # the rules alone would not know of it
    wishes = (Wish(by=rule, reason=request.why),) if asked else ()
    return Recorded(at=request.created_at, ref=request.id, call=request.call, then=Then.ASK, rule=rule, wishes=wishes)


def _of_event(event: AuditEvent) -> Recorded | None:
    facts = event.record.facts
    if facts.get("hook"):
        return None
    arguments = _arguments(facts.get("arguments"))
    hidden = facts.get("hidden")
    call = ToolCall(
        org=event.org,
        agent=event.record.actor.removeprefix("agent:"),
        session=_text(facts.get("session")),
        call_id=_text(facts.get("call_id")),
        tool=str(facts.get("tool")),
        arguments=arguments or {},
        requester=_text(facts.get("requester")),
        owner=_text(facts.get("owner")),
        claim=None,
    )
    return Recorded(
        at=event.at,
        ref=f"#{event.seq}",
        call=call,
        then=Then.ALLOW if event.record.kind is Kind.ALLOWED else Then.DENY,
        rule=str(facts.get("rule")),
        whole=arguments is not None,
        hidden=tuple(map(str, cast("list[object]", hidden))) if isinstance(hidden, list) else (),
    )


def _arguments(recorded: object) -> dict[str, JsonValue] | None:
    """Read arguments that the trail keeps as JSON text, the sensitive ones left out; None where it has none."""
    if not isinstance(recorded, str):
        return None
    try:
        value = parse_json(recorded.encode())
    except BadJsonError:
        return None
    return value if isinstance(value, dict) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
