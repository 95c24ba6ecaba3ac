"""What the first screen of a request says to one reader, and what that reader may do about it."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import agreed, instant_text
from app.domain.card.shown_call import ShownCall
from app.domain.card.typed import typed_total
from app.domain.lifecycle.execution import may_take_back
from app.domain.lifecycle.lifecycle import refusal_of
from app.domain.lifecycle.step import Refusal
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.quorum import count
from app.domain.request.request import CONSOLE, State
from app.domain.words.say import say
from app.domain.words.span_text import span_text
from app.storage.identity.attempts import locked_until
from app.storage.identity.passkeys import list_passkeys
from app.usecases.cards.compose import terms_for
from app.usecases.cards.outcome_facts import outcome_facts
from app.usecases.console.history import history_of
from app.usecases.console.why import why_asked
from app.usecases.deciding.decide import why_outdated
from app.usecases.proving.may_count import approval_by, voters_when
from app.usecases.proving.second_factor import has_factor, totp_subject
from app.usecases.proving.step_up import locked_out
from app.usecases.voters.electorate import voters_shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.domain.card.card import Fact
    from app.domain.card.shown_call import Terms
    from app.domain.request.decision import Decision
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.transaction import Tx

_READERS = {Refusal.BARRED: "barred", Refusal.EDITED: "edited"}


class MayDo(Struct, frozen=True, kw_only=True):
    """What a reader may do. `why_not` says why there is no Approve, or nothing at all to press."""

    approve: bool = False
    deny: bool = False
    withdraw: bool = False
    voted: Verdict | None = None
    why_not: str | None = None


class Glance(Struct, frozen=True, kw_only=True):
    """The first screen. Every text is visible, masked and in the reader's language; none is markup."""

    pending: bool
    left: str  # "27 min left"; "" once it is settled
    seconds: int  # the same, to be counted down
    until: datetime
    by: str  # the same in the org's zone; without the day where it is today
    then: str  # what happens if nobody does anything
    amounts: tuple[Fact, ...]
    payees: tuple[Fact, ...]
    history: tuple[str, ...]
    why: str
    progress: str  # "1 of 2 approvals · finance"
    ran: tuple[Fact, ...]
    may: MayDo
    level: Assurance
    typed_amount: bool  # whether the amount can be typed in the place of the code
    code: str
    live: bool  # whether it may still move


def glance_at(
    tx: Tx, request: ConfirmationRequest, loaded: LoadedPolicy, language: Language, *, reader: str, now: datetime
) -> Glance:
    """Look at a request for one reader."""
    policy = loaded.policy
    terms = terms_for(request, policy, language)
    unseen = ShownCall(request, terms).unseen()
    return glance_of(
        request,
        policy,
        language,
        now=now,
        may=may_do(tx, request, loaded, language, reader=reader, now=now, unseen=unseen),
        history=history_of(tx, request, policy, terms) if request.state is State.PENDING else (),
    )


def glance_of(
    request: ConfirmationRequest,
    policy: Policy,
    language: Language,
    *,
    now: datetime,
    may: MayDo,
    history: tuple[str, ...] = (),
) -> Glance:
    """Compose the first screen of a request. Pure."""
    terms = terms_for(request, policy, language)
    amounts, payees = ShownCall(request, terms).large()
    pending = request.state is State.PENDING
    tool = policy.tools.get(request.call.tool)
    return Glance(
        pending=pending,
        left=left_text(request.expires_at - now, language) if pending else "",
        seconds=max(0, int((request.expires_at - now).total_seconds())),
        until=request.expires_at,
        by=_by(request.expires_at, now, terms),
        then=say(language, "console.then.payment" if request.payments else "console.then"),
        amounts=amounts,
        payees=payees,
        history=history,
        why=why_asked(request, policy, terms),
        progress=progress_text(request, policy, terms),
        ran=outcome_facts(request, tool, terms),
        may=may,
        level=request.assurance,
        typed_amount=typed_total(request) is not None,
        code=request.code,
        live=pending or request.state in {State.APPROVED, State.EXECUTING},
    )


def may_do(
    tx: Tx,
    request: ConfirmationRequest,
    loaded: LoadedPolicy,
    language: Language,
    *,
    reader: str,
    now: datetime,
    unseen: Sequence[str] = (),
    factor: bool | None = None,
) -> MayDo:
    """Say what a reader may do about a request at this instant; what is pressed is asked again of `decide`.

    `factor`: whether the reader has a second one, where that is known already.
    """
    mine = next((each for each in request.decisions if each.person == reader), None)
    if request.state is not State.PENDING or now >= request.expires_at:
        return _may_stop(request, language, mine, now)
    if mine is not None:
        said = "approved" if mine.verdict is Verdict.APPROVE else "denied"
        return MayDo(withdraw=True, voted=mine.verdict, why_not=say(language, f"console.you_{said}"))
    voters = voters_when(tx, request, now, loaded.policy, speaking=reader)
    best = approval_by(request, now, voters, person=reader, evidence=Evidence(channel=CONSOLE, assurance=Assurance.L3))
    refusal = refusal_of(request, best, voters)
    if refusal is Refusal.OVER_LIMIT:
        return MayDo(deny=True, why_not=say(language, "console.only_deny"))
    if refusal is not None:
        return MayDo(why_not=say(language, f"console.only_read.{_READERS.get(refusal, 'not_eligible')}"))
    if why_outdated(tx, request, best, voters, loaded, now=now) is not None:
        return MayDo(deny=True, why_not=say(language, "console.only_deny.outdated"))
    if unseen:
        return MayDo(deny=True, why_not=say(language, "console.only_deny.hidden", fields=", ".join(unseen)))
    if request.assurance.of_each is Assurance.L3 and not (has_factor(tx, reader) if factor is None else factor):
        return MayDo(deny=True, why_not=say(language, "console.no_factor"))
    until = _locked_until(tx, request, reader)
    told = say(language, "console.locked", minutes=math.ceil((until - now) / timedelta(minutes=1))) if until else None
    return MayDo(approve=until is None, deny=True, why_not=told)


def _locked_until(tx: Tx, request: ConfirmationRequest, reader: str) -> datetime | None:
    """Return until when nothing is looked at that goes with this reader's approval; a passkey has no such lock."""
    if request.assurance is Assurance.L1:
        return None
    until = locked_out(tx, request, reader)
    if until is not None or request.assurance.of_each is not Assurance.L3 or list_passkeys(tx, email_key(reader)):
        return until
    return locked_until(tx, totp_subject(email_key(reader)))


def _may_stop(request: ConfirmationRequest, language: Language, mine: Decision | None, now: datetime) -> MayDo:
    """Say what whoever approved can still do once it is approved."""
    if mine is None or mine.verdict is not Verdict.APPROVE:
        return MayDo()
    if may_take_back(request, mine.person, now=now):
        return MayDo(withdraw=True, voted=mine.verdict, why_not=say(language, "console.take_back"))
    is_late = request.state is State.EXECUTING
    return MayDo(voted=mine.verdict, why_not=say(language, "console.too_late") if is_late else None)


def left_text(left: timedelta, language: Language) -> str:
    """Say how long people still have, in its two largest units."""
    if left.total_seconds() <= 0:
        return say(language, "console.over")
    seconds = left.total_seconds()
    finest = next((unit for unit, from_ in ((3600, 86400), (60, 60)) if seconds >= from_), 1)
    return say(language, "console.left", left=span_text(left - left % timedelta(seconds=finest), language))


def _by(until: datetime, now: datetime, terms: Terms) -> str:
    day, _, rest = instant_text(until.replace(second=0, microsecond=0), terms.zone).partition(" ")
    return rest if day == instant_text(now, terms.zone).partition(" ")[0] else f"{day} {rest}"


def progress_text(request: ConfirmationRequest, policy: Policy, terms: Terms) -> str:
    """Say how many of how many have approved, in each stage of the step that is asked now, as cards say it."""
    return agreed(request, count(request.stages, request.decisions, voters_shown(request, policy)), terms)
