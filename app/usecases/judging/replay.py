"""Judge recorded calls by another file: which would now be asked, pass or be refused, and whom it would have paged.

Only reads. What people were asked about is recorded whole. Of a call that was allowed or refused at once the trail may
know the name alone: it is judged where no condition that is looked at reads an argument that is not there, and is
counted as untold otherwise. Calls of rules that say `record: false` are in no trail. Hooks are not run: what a hook
asked about then it asks about again, and what it refused stays refused. So do the warnings of then (a first payee, a
duplicate, a budget): who was paid before, and how much was spent, is not gone through again. What else made an answer
(standing approvals, the rules of agents above) is not replayed: where the very version that judged would now say
something else, that is why, and no change of the file's.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.requester_proof import proof_from
from app.domain.call.tool_call import ToolCall
from app.domain.errors import BadJsonError
from app.domain.people.assurance import Assurance
from app.domain.request.caution import CautionKind
from app.domain.rules.rule import Then
from app.domain.rules.strictest import Wish
from app.domain.text.canonical import parse_json
from app.domain.text.paths import values_at
from app.domain.trail.audit import Kind
from app.storage.engine.dialect import to_us
from app.usecases.judging.explain import ARGUMENTS, Explanation, explain
from app.usecases.judging.judge_call import CALLER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from datetime import datetime

    from app.domain.call.requester_proof import RequesterProof
    from app.domain.request.caution import Caution
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue
    from app.domain.trail.audit import AuditEvent
    from app.policies.file.policy_file import LoadedPolicy
    from app.usecases.reading.read import Read

_PAGE = 200
_TRAIL_PAGE = 1_000
_LAST_EVENTS = 5_000  # of the trail that are looked through for calls that nobody was asked about
_JUDGES_FOR = 4.0  # seconds for the last calls, on a page


class Recorded(Struct, frozen=True, kw_only=True):
    """One call as the record has it. `whole`: its arguments are known, but for the `hidden` ones."""

    at: datetime
    ref: str  # the request's id, or "#<seq>" of the trail
    call: ToolCall
    then: Then
    rule: str
    whole: bool = True
    hidden: tuple[str, ...] = ()
    wishes: tuple[Wish, ...] = ()
    cautions: tuple[Caution, ...] = ()
    version: str | None = None  # which judged it
    permitted: bool = False  # by a standing approval, or a broken glass
    blind: bool = False  # the `hidden` were taken out here: without them the arguments satisfy no schema


class Change(Struct, frozen=True, kw_only=True):
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
    warned: Counter[CautionKind] = field(default_factory=Counter[CautionKind])  # what made people be asked
    permitted: int = 0  # beforehand: nobody was asked what the rules would ask
    not_replayed: int = 0  # the very version that judged them would say something else
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

    async def last(self, loaded: LoadedPolicy, running: Policy, *, most: int) -> Replayed:
        """Judge the newest `most` calls, as far back as one look goes, and as many of them as a few seconds allow.

        For a text that somebody proposes: what the `running` file calls sensitive, and what was so for the request, is
        taken out before it is judged. Else a condition of the text would ask what stands there.
        """
        org, found = loaded.policy.org, list[Recorded | None]()
        _, head = await self._read.trail(org, after=-1, most=1)
        first = max(-1, head[0] - _LAST_EVENTS)
        since: datetime | None = None
        while events := (await self._read.trail(org, after=first, most=_TRAIL_PAGE))[0]:
            since = since or (events[0].at if events[0].seq > 0 else None)
            found += [_of_event(event) for event in events if _is_judged(event)]
            first = events[-1].seq
        before: tuple[int, str] | None = None
        asked: list[Recorded | None] = []
        while len(asked) < most and (
            page := await self._read.page(org, filters={}, only_open=False, before=before, most=_PAGE)
        ):
            asked += [_blinded(request, running) for request in page if since is None or request.created_at >= since]
            before = (to_us(page[-1].created_at), page[-1].id)
            if since is not None and page[-1].created_at < since:
                break
        newest = sorted((each for each in found + asked if each is not None), key=lambda each: each.at, reverse=True)
        replayed = Replayed(by_hooks=sum(each is None for each in found))
        await asyncio.to_thread(_count_newest, replayed, loaded, newest[:most])
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
                if event.at >= since and _is_judged(event):
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


def _is_judged(event: AuditEvent) -> bool:
    """Say whether an event tells of a call that rules answered at once.

    One that was refused because people had just denied it, or had paused it, was judged by no rule; one that a request
    was opened for is told by that.
    """
    record = event.record
    if event.request_id is not None:
        return False
    return record.kind in {Kind.ALLOWED, Kind.REFUSED} and not {"denied_request", "paused"} & set(record.facts)


def _count_newest(replayed: Replayed, loaded: LoadedPolicy, newest: Sequence[Recorded]) -> None:
    until = time.monotonic() + _JUDGES_FOR
    for recorded in newest:
        if time.monotonic() > until:
            break
        replayed.seen += 1
        _count(replayed, loaded, recorded)


def _blinded(request: ConfirmationRequest, running: Policy) -> Recorded:
    recorded = _of_request(request)
    tool = running.tools.get(request.call.tool)
    paths = tuple(dict.fromkeys((*request.sensitive, *(tool.sensitive if tool else ()))))
    seen = recorded.call.arguments
    held = [path for path in paths if any(True for _ in values_at(seen, path))]
    if not held:
        return recorded
    for path in held:
        seen = _without(seen, path.split("."))
    return replace(recorded, call=replace(recorded.call, arguments=seen), hidden=paths, blind=True)


def _without(value: Mapping[str, JsonValue], steps: Sequence[str]) -> dict[str, JsonValue]:
    """Return an object without what stands at a path, through every list on its way."""

    def cut(part: JsonValue, rest: Sequence[str]) -> JsonValue:
        if isinstance(part, list):
            return [cut(each, rest) for each in part]
        return _without(part, rest) if isinstance(part, dict) else part

    name, rest = steps[0], steps[1:]
    return {
        key: cut(part, rest) if key == name and rest else part for key, part in value.items() if key != name or rest
    }


def _count(replayed: Replayed, loaded: LoadedPolicy, recorded: Recorded) -> None:
    whole = recorded.whole and not recorded.blind
    now = explain(
        loaded, recorded.call, now=recorded.at, wishes=recorded.wishes, cautions=recorded.cautions, whole=whole
    )
    if not _told(loaded, recorded, now):
        replayed.untold[recorded.call.tool] += 1
        return
    if now.verdict is not recorded.then and recorded.version == loaded.policy.version:
        replayed.not_replayed += 1
        return
    replayed.pairs[recorded.then, now.verdict] += 1
    replayed.warned.update(now.warned)
    replayed.permitted += recorded.permitted
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
    by = request.allowed_by or ""
    return Recorded(
        at=request.created_at,
        ref=request.id,
        # As the agent made it, whatever people made of it.
        call=request.call if request.proposed is None else replace(request.call, arguments=request.proposed),
        then=Then.ALLOW if by.startswith("rule:") else Then.ASK,
        rule=rule,
        wishes=wishes,
        cautions=request.cautions,
        version=request.policy_version,
        permitted=by.startswith("standing:"),
    )


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
        proof=_proof(facts.get("requester_proof")),
    )
    return Recorded(
        at=event.at,
        ref=f"#{event.seq}",
        call=call,
        then=Then.ALLOW if event.record.kind is Kind.ALLOWED else Then.DENY,
        rule=str(facts.get("rule")),
        version=_text(facts.get("policy_version")),
        whole=arguments is not None,
        hidden=tuple(map(str, cast("list[object]", hidden))) if isinstance(hidden, list) else (),
    )


def _proof(recorded: object) -> RequesterProof | None:
    """Read what proved who asked; None where nothing did, or it cannot be read."""
    try:
        return proof_from(cast("Mapping[str, object]", recorded)) if isinstance(recorded, dict) else None
    except (ValueError, KeyError, TypeError):
        return None


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
