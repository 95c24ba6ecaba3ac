"""What follows from a ruling, in the transaction that decides it: an answer at once, or a request with its cards.

First the call is weighed: what was spent, to whom (`weigh.py`), and what people denied before (`denied_before.py`)
can make the answer stricter, never laxer. Then a permission that two people gave beforehand may stand for asking them
again. What is left opens a request; where nobody has to be asked but only an executor may run the tool, the request is
approved as it opens, for an executor runs nothing without a grant.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.tool import title_line
from app.domain.call.tool_call import binding_digest
from app.domain.lifecycle.lifecycle import opened, permitted
from app.domain.people.people import RELATIONS
from app.domain.request.request import API, ConfirmationRequest
from app.domain.request.timetable import EPOCH
from app.domain.rules.policy import Allow, Ask, Deny, raised, why
from app.domain.rules.rule import Asking
from app.domain.trail.audit import Kind, Record
from app.storage.exhibits.exhibits import put_contents
from app.storage.refusals.denials import look_back
from app.usecases.asking.hold_cards import held, hold_cards
from app.usecases.judging.call_records import ruled
from app.usecases.judging.denied_before import denied_before, near_copies
from app.usecases.judging.judge_call import NOTHING_SAID, Said
from app.usecases.payments.weigh import spend, weigh
from app.usecases.permits.permit_before import permitted_before
from app.usecases.voters.electorate import named_for, nobody_left, related_to
from app.usecases.writing.carry_out import carry_out, open_request, plan_people

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.errors import TooManyError
    from app.domain.identity.seals import Seals
    from app.domain.request.caution import Caution
    from app.storage.engine.transaction import Tx
    from app.storage.refusals.denials import Denials, Sought
    from app.usecases.asking.quota import Place
    from app.usecases.judging.judge_call import Judged
    from app.usecases.permits.permit_before import Permitted


_RELATIONS = frozenset(RELATIONS)
_whom = attrgetter("of")


class Answered(Struct, frozen=True, kw_only=True):
    """Allowed or denied at once, by a rule or (`hook` is set) by a hook; `fault`: by a hook that failed."""

    allowed: bool
    rule_id: str | None
    reason: str
    hook: str | None = None
    fault: bool = False
    said: Said = NOTHING_SAID


class Asked(Struct, frozen=True, kw_only=True):
    """A request stands for the call. `attached`: it stood before, and nothing new was posted."""

    request: ConfirmationRequest
    attached: bool
    said: Said = NOTHING_SAID


class Opening:
    """One judged call, on which nothing stands yet, in one unit of work."""

    def __init__(
        self, tx: Tx, judged: Judged, seals: Seals, place: Place, *, sought: Sought, alone: bool = False
    ) -> None:
        """Read the clock: the request begins now. `sought` is what bears on it of what was denied before."""
        self._tx = tx
        self._judged = judged
        self._seals = seals
        self._place = place
        self._sought = sought
        self._alone = alone
        self._now = tx.now()

    def settle(self, ruling: Ask | Allow, targets: Mapping[str, str]) -> Answered | Asked | TooManyError:
        """Weigh the call and write what follows. `targets` maps each channel that may be asked to its cards' chat."""
        tx, judged, now = self._tx, self._judged, self._now
        found = look_back(tx, self._sought, now=now)
        cautions = near_copies(tx, judged, now=now, found=found)
        if judged.payments:
            cautions += weigh(tx, judged, now=now)
        match raised(ruling, cautions, judged.policy):
            case Deny() as refused:
                return self._turn_away(refused, ruled(judged, refused, allowed=False))
            case Allow() as allowed:
                record = ruled(judged, allowed, allowed=True)
                return self._allow(allowed, by=f"rule:{allowed.rule_id}", record=record)
            case Ask() as asked:
                return self._ask(asked, cautions, targets, found)

    def _ask(
        self, ruling: Ask, cautions: Sequence[Caution], targets: Mapping[str, str], found: Denials
    ) -> Answered | Asked | TooManyError:
        judged, tx = self._judged, self._tx
        denied = denied_before(tx, judged, ruling, found, of_digest=self._sought.call_digest)
        if denied is not None:
            return self._turn_away(*denied)
        may_stand = ruling.asking.standing is not None or ruling.asking.session is not None
        beforehand = may_stand or judged.policy.break_glass is not None
        permit = permitted_before(tx, judged, ruling, cautions, now=self._now) if beforehand else None
        if permit is not None:
            allowed = Allow(
                rule_id=ruling.rule_id,
                reason=permit.reason,
                policy_version=ruling.policy_version,
                trace=ruling.trace,
                record=True,
                otherwise=ruling.asking,
            )
            if permit.loud:
                return self._show(allowed, permit, cautions, targets)
            return self._allow(allowed, by=permit.by, record=permit.record, standing_id=permit.standing_id)
        nobody = nobody_left(ruling, judged.call, judged.policy)
        if nobody is not None:
            return self._turn_away(nobody, ruled(judged, nobody, allowed=False))
        request = self._build(ruling.asking, ruling.rule_id, why(ruling))
        request = replace(request, cautions=tuple(cautions)) if cautions else request
        full = self._place.take(tx, on_cards=any(name != API for name in ruling.asking.channels))
        if full is not None:
            return full  # nothing was written yet
        _begin(tx, request, judged, targets)
        _keep_files(tx, request, judged)
        self._spend(request.id)
        return Asked(request=request, attached=False)

    def _allow(self, ruling: Allow, *, by: str, record: Record, standing_id: str | None = None) -> Answered | Asked:
        """Let a call pass: at once, or, where only an executor may run it, as a request that is approved already."""
        tx, judged = self._tx, self._judged
        if not judged.tool.enforced:
            # So that none of them goes unnoticed: they are in no request's row.
            spent = {"spent": len(judged.payments)} if judged.payments and standing_id is None else {}
            for each in (replace(record, facts={**record.facts, **spent}) if spent else record, *judged.notes):
                tx.append(each)
            self._spend(None, standing_id)
            return Answered(allowed=True, rule_id=ruling.rule_id, reason=ruling.reason)
        request = replace(self._build(self._of_nobody(ruling), ruling.rule_id, ruling.reason), allowed_by=by)
        return self._approve(request, {}, record, standing_id)

    def _show(self, ruling: Allow, permit: Permitted, cautions: Sequence[Caution], targets: Mapping[str, str]) -> Asked:
        """Let a call pass under a broken glass: always as a request, with a card everywhere for everybody to see."""
        shown_on = dict.fromkeys((*(ruling.otherwise.channels if ruling.otherwise else ()), *permit.channels))
        asking = dataclasses.replace(self._of_nobody(ruling), channels=tuple(shown_on))
        request = self._build(asking, ruling.rule_id, ruling.reason)
        request = replace(request, allowed_by=permit.by, cautions=tuple(cautions))
        return self._approve(request, targets, permit.record, permit.standing_id)

    def _approve(
        self, request: ConfirmationRequest, targets: Mapping[str, str], record: Record, standing_id: str | None
    ) -> Asked:
        tx, judged = self._tx, self._judged
        open_request(tx, opened(request, sub_agent=judged.sub_agent), targets=targets)
        _keep_files(tx, request, judged)
        for each in (record, *judged.notes):
            tx.append(each, request_id=request.id)
        self._spend(request.id, standing_id)
        after = carry_out(tx, request, permitted(request, reason=request.why, now=tx.now()))
        return Asked(request=after, attached=False)

    def _spend(self, request_id: str | None, standing_id: str | None = None) -> None:
        if self._judged.payments:
            spend(self._tx, self._judged, request_id=request_id, standing_id=standing_id)

    def _of_nobody(self, ruling: Allow) -> Asking:
        """Return how a request is opened about which nobody is asked: its times are those of the rule."""
        asking = ruling.otherwise or self._judged.policy.ask or Asking(stages=(), channels=())
        cc = ruling.otherwise.cc if ruling.otherwise else ()
        return dataclasses.replace(asking, stages=(), channels=(), escalate=(), remind=(), fallback=(), cc=cc)

    def _turn_away(self, refusal: Deny, record: Record) -> Answered:
        """Refuse a call without asking anybody, and say so in the trail."""
        for each in (record, *self._judged.notes):
            self._tx.append(each)
        return Answered(allowed=False, rule_id=refusal.rule_id, reason=refusal.reason)

    def _build(self, asking: Asking, rule_id: str, reason: str) -> ConfirmationRequest:
        tx, judged, now = self._tx, self._judged, self._now
        call, tool = judged.call, judged.tool
        request_id, nonce = tx.ids.new("req"), tx.ids.new("n")
        expires_at = now + asking.timeout
        bound = binding_digest(
            call,
            request_id=request_id,
            nonce=nonce,
            policy_version=judged.policy.version,
            expires_at=expires_at,
            payments=judged.payments,
        )
        return ConfirmationRequest(
            id=request_id,
            call=call,
            call_digest=self._sought.call_digest,
            digest=bound,
            nonce=nonce,
            code=self._seals.code(nonce=nonce, digest=bound),
            title=title_line(tool, call.arguments, judged.policy.language.value),
            pinned=tool.pin,
            sensitive=tool.sensitive,
            rule_id=rule_id,
            policy_version=judged.policy.version,
            why=reason,
            stages=asking.stages,
            channels=asking.channels,
            claim_within=asking.claim_within,
            lease=asking.lease,
            created_at=now,
            expires_at=expires_at,
            predecessor_id=judged.predecessor_id,
            risk=asking.risk,
            fallback=asking.fallback,
            timers=tuple(replace(timer, at=timer.at + (now - EPOCH)) for timer in asking.timers),
            assurance=asking.assurance,
            cc=_hearing(asking, judged) if asking.cc else (),
            payments=judged.payments,
            near_key=judged.near_key,
            enforced=tool.enforced,
            alone=self._alone,
        )


def _hearing(asking: Asking, judged: Judged) -> tuple[str, ...]:
    """Return who hears how it ends, of those who are there today."""
    return tuple(sorted(named_for(judged.call, asking.cc, judged.policy)))


def _keep_files(tx: Tx, request: ConfirmationRequest, judged: Judged) -> None:
    files = {number: each.content for number, each in enumerate(judged.offered, start=1) if each.content}
    if files:
        put_contents(tx, request.id, files)


def _begin(tx: Tx, request: ConfirmationRequest, judged: Judged, targets: Mapping[str, str]) -> None:
    """Write a request, with its cards: they go out at once, or when people are to be asked about such a call."""
    posting = hold_cards(tx, request, judged.policy) if judged.policy.attention.holds_cards else None
    due_at = posting.at if posting else request.created_at
    open_request(tx, opened(request, sub_agent=judged.sub_agent), targets=targets, due_at=due_at)
    # They need not be in the chat: whose manager somebody is is another question than who is asked together there.
    if not _RELATIONS.isdisjoint(chain.from_iterable(map(_whom, request.stages))):
        plan_people(tx, request, related_to(request.call, request.stages, judged.policy), due_at=due_at)
    if posting is not None and posting.held is not None:
        tx.append(held(posting, request), request_id=request.id)
    if judged.predecessor_id is not None and judged.asked_again_by is not None:
        facts = {"successor": request.id, "code": request.code}
        again = Record(kind=Kind.REOPENED, actor=judged.asked_again_by, facts=facts)
        tx.append(again, request_id=judged.predecessor_id)
    for note in judged.notes:
        tx.append(note, request_id=request.id)
