"""From a request to what people and models read: the card, the answer to a click, the sentence for the model.

Here outside text becomes visible and sensitive values are masked, once, for every surface. Channels and the API never
format an argument themselves.
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING

from app.domain.card.budget import fitted, withheld
from app.domain.card.card import Buttons, Card, Control, Fact, Tone
from app.domain.card.editing import changes_for_model
from app.domain.card.request_warnings import fewer, in_short, warning_sentence, warnings_in
from app.domain.card.shown_call import ShownCall, Terms
from app.domain.card.typed import typed_field
from app.domain.people.assurance import Assurance
from app.domain.request.decision import Verdict
from app.domain.request.quorum import steps
from app.domain.request.request import GrantStatus, State
from app.domain.rules.policy import reason_apart
from app.domain.text.language import Language
from app.domain.text.masking import HIDDEN, masked
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.domain.words.span_text import span_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, tzinfo

    from app.domain.request.consultation import HandOver, Question
    from app.domain.request.quorum import Tally
    from app.domain.request.request import ConfirmationRequest

__all__ = ["HIDDEN", "Terms", "card_for", "masked", "message_for_model", "outcome_sentence"]

_TITLE_ASKED_AGAIN = 150  # characters of the title that fit into the second question of any platform

_TONE = {
    State.PENDING: Tone.WAITING,
    State.APPROVED: Tone.GOOD,
    State.EXECUTING: Tone.GOOD,
    State.SUCCEEDED: Tone.GOOD,
    State.FAILED: Tone.BAD,
    State.UNKNOWN: Tone.BAD,
    State.PENDING_ELSEWHERE: Tone.NEUTRAL,
    State.DENIED: Tone.BAD,
    State.EXPIRED: Tone.NEUTRAL,
    State.CANCELLED: Tone.NEUTRAL,
    State.UNDELIVERABLE: Tone.NEUTRAL,
    State.LAPSED: Tone.NEUTRAL,
}


def card_for(
    request: ConfirmationRequest,
    terms: Terms,
    *,
    revision: int,
    tally: Tally | None,
    tokens: tuple[str, str] | None,
    budget: int,
    controls: tuple[Control, ...] = (),
    own: bool = False,
    headline: str | None = None,
    pause: Mapping[str, str] | None = None,
    results: tuple[Fact, ...] = (),
) -> Card:
    """Build the card of a request as it stands.

    `tokens` are the sealed (approve, deny) of this place while the request is pending. `tally` is None once it is
    settled. `headline` stands in the place of the one that says how it stands; `pause` is warned of before all else.
    If the card cannot show every byte of the call within `budget` (`Card.size`), or must hide what must be seen, it has
    no Approve and says why.
    """
    pending = request.state is State.PENDING
    language = terms.language
    shown = ShownCall(request, terms)
    warned = warnings_in(shown, pause=pause) if pending else ()
    then = what_then(request, terms)
    until = say(language, "until.value", time=_by_the_clock(request, terms.zone), then=then)
    card = Card(
        request_id=request.id,
        revision=revision,
        language=language,
        tone=Tone.BAD if request.by_broken_glass else Tone.WARNED if warned else _TONE[request.state],
        headline=headline or _headline(request, language),
        title=request.title,
        tool=visible(request.call.tool),
        highlights=shown.highlights(),
        warnings=tuple(warning_sentence(each, terms) for each in fewer(warned)),
        warned=len(warned),
        caution=in_short(warned, language),
        facts=(*_asking(request, terms), *shown.pinned(), *shown.evidence(), *results),
        arguments=shown.rest(),
        hidden=say(language, "hidden", count=count) if (count := shown.count_hidden()) else None,
        agent_says=_claim(request, language),
        footer=f"{_footer(request, language)} · {_offset(request.created_at, terms.zone)}",
        outcome=None if pending else outcome_sentence(request, language, terms.name_of, terms.zone),
        progress=_progress(request, tally, terms) if pending and tally else None,
        withheld=None,
        deadline=request.expires_at if pending else None,
        until=Fact(label=say(language, "until"), value=until) if pending else None,
        then=then if pending else None,
        buttons=_buttons(request, language, tokens) if pending and tokens else None,
        changes=shown.changes(),
        dialogue=_dialogue(request, terms),
        details=_details(request, terms),
        controls=controls,
        own=own,
    )
    if card.buttons and not request.assurance.on_cards:
        where = ".page" if terms.page else ""
        review = say(language, "control.review")
        told = say(language, f"withheld.{request.assurance.value}{where}", request=request.id, control=review)
        card = withheld(card, told)
    if pending and (unseen := shown.unseen()):
        card = withheld(card, say(language, "withheld.hidden", fields=", ".join(unseen), review=terms.reading))
    return fitted(card, budget, review=terms.review)


def _headline(request: ConfirmationRequest, language: Language) -> str:
    how = say(language, f"headline.{request.state.value}")
    return say(language, "glass.headline", how=how) if request.by_broken_glass else how


def _asking(request: ConfirmationRequest, terms: Terms) -> tuple[Fact, ...]:
    language, agent, asker = terms.language, visible(request.call.agent), request.call.requester
    if request.call.sub_agent:
        agent = say(language, "asks.sub", agent=agent, sub_agent=visible(request.call.sub_agent))
    who = say(language, "asks.value", agent=agent)
    if asker:
        name, account = terms.name_of(asker), visible(asker)
        requester = account if name == account else f"{name} <{account}>"
        proof = request.call.proof
        who = say(language, "asks.for", agent=agent, requester=requester)
        if proof is not None:
            who = say(language, "asks.proved", agent=agent, requester=requester, issuer=visible(proof.where))
    why = visible(reason_apart(request.why)[0])
    return (Fact(label=say(language, "asks"), value=who), Fact(label=say(language, "why"), value=why))


def _details(request: ConfirmationRequest, terms: Terms) -> tuple[Fact, ...]:
    """Return what is for whoever looks closely: the rule with what tripped it, and the deadline to the second."""
    language, tripped = terms.language, visible(reason_apart(request.why)[1])
    rule = visible(request.rule_id or "")
    told = say(language, "rule.value", rule=rule, tripped=tripped) if rule and tripped else rule or tripped
    left = span_text(request.expires_at - request.created_at, language)
    at = say(language, "until.exact.value", time=instant_text(request.expires_at, terms.zone), left=left)
    earlier = dict.fromkeys(visible(each.values["request"]) for each in request.cautions if each.values.get("request"))
    return (
        *((Fact(label=say(language, "rule"), value=told),) if told else ()),
        *((Fact(label=say(language, "caution.request"), value=", ".join(earlier)),) if earlier else ()),
        *((Fact(label=say(language, "until.exact"), value=at),) if request.state is State.PENDING else ()),
    )


def what_then(request: ConfirmationRequest, terms: Terms) -> str:
    """Say what becomes of the call when nobody decides in time."""
    paid = bool(request.payments) or bool(terms.money and terms.payees)
    return say(terms.language, "console.then.payment" if paid else "console.then")


def _by_the_clock(request: ConfirmationRequest, zone: tzinfo) -> str:
    """Write the deadline as a clock shows it; with its day where that is not the day on which it was asked."""
    at, asked = request.expires_at.astimezone(zone), request.created_at.astimezone(zone)
    return f"{at:%H:%M}" if at.date() == asked.date() else f"{at:%m-%d %H:%M}"


def _claim(request: ConfirmationRequest, language: Language) -> Fact | None:
    if not request.call.claim:
        return None
    return Fact(label=say(language, "claim"), value=visible(request.call.claim))


def _dialogue(request: ConfirmationRequest, terms: Terms) -> tuple[Fact, ...]:
    """Return what was asked back and answered, and who handed their place over, in order."""
    said = [(each.at, _asked_back(each, terms)) for each in request.questions]
    said += [(each.at, (_handed_over(each, terms),)) for each in request.handovers]
    return tuple(fact for _, facts in sorted(said, key=lambda each: each[0]) for fact in facts)


def _handed_over(over: HandOver, terms: Terms) -> Fact:
    note = f" · “{visible(over.note)}”" if over.note else ""
    return Fact(
        label=say(terms.language, "dialogue.handed", person=terms.name_of(over.by)),
        value=say(terms.language, "dialogue.handed.to", person=terms.name_of(over.to), note=note),
    )


def _asked_back(question: Question, terms: Terms) -> tuple[Fact, ...]:
    language, text, answerer = terms.language, visible(question.text), question.answered_by
    label = say(language, "dialogue.asked", person=terms.name_of(question.by))
    if question.answer is None or answerer is None:
        return (Fact(label=label, value=say(language, "dialogue.open", text=text)),)
    agent = answerer.removeprefix("agent:")
    by = terms.name_of(agent) if agent == answerer else say(language, "dialogue.agent", agent=visible(agent))
    answer = Fact(label=say(language, "dialogue.answered", person=by), value=visible(question.answer))
    return (Fact(label=label, value=text), answer)


def _progress(request: ConfirmationRequest, tally: Tally, terms: Terms) -> str | None:
    """Say how many of how many have agreed in the step that is asked now, and who."""
    if not request.stages:
        return None
    language, level = terms.language, request.assurance
    people = _approving(request, language, terms.name_of)
    takes = [] if level is Assurance.L1 else [say(language, f"level.{level.value}")]
    by = [say(language, "progress.by", people=people)] if people else []
    return " · ".join([agreed(request, tally, terms), *takes, *by])


def agreed(request: ConfirmationRequest, tally: Tally, terms: Terms) -> str:
    """Say how many of how many have agreed, in each stage of the step that is asked now; "" where nobody is asked."""
    every = steps(request.stages)
    step = next((each for each in every if tally.stage in each), every[-1]) if every else frozenset[int]()
    asked = ((request.stages[index], tally.have[index]) for index in sorted(step))
    text = " + ".join(
        say(terms.language, "progress", have=have, need=stage.need, groups=", ".join(map(terms.name_of, stage.of)))
        for stage, have in asked
    )
    if len(every) < 2:
        return text
    return say(terms.language, "progress.step", step=every.index(step) + 1, steps=len(every), text=text)


def _footer(request: ConfirmationRequest, language: Language) -> str:
    footer, level = say(language, "footer", code=request.code, request=request.id), request.assurance
    return footer if level is Assurance.L1 else say(language, "footer.level", footer=footer, level=level.value)


def _approving(request: ConfirmationRequest, language: Language, name_of: Callable[[str], str]) -> str:
    """Name who has approved, and for whom."""
    given = {over.to: over.by for over in request.handovers}
    names = [
        say(language, "voted.for", person=name_of(each.person), absent=name_of(each.on_behalf_of))
        if each.on_behalf_of
        else say(language, "given.by", person=name_of(each.person), absent=name_of(given[each.person]))
        if each.person in given
        else say(language, "voted.alone", person=name_of(each.person))
        if request.is_alone(each.person)
        else name_of(each.person)
        for each in request.decisions
        if each.verdict is Verdict.APPROVE
    ]
    return ("、" if language is Language.ZH else ", ").join(names)


def _buttons(request: ConfirmationRequest, language: Language, tokens: tuple[str, str]) -> Buttons:
    approve, deny = tokens
    title = request.title if len(request.title) <= _TITLE_ASKED_AGAIN else ""
    return Buttons(
        approve=approve,
        deny=deny,
        approve_label=say(language, "approve"),
        deny_label=say(language, "deny"),
        reason_label=say(language, "deny.reason"),
        reason_hint=say(language, "deny.hint"),
        confirm_title=say(language, "confirm.title"),
        confirm_text=say(language, "confirm.text", title=title, code=request.code).lstrip(),
        cancel_label=say(language, "cancel"),
        typed=typed_field(request, language) if request.assurance is Assurance.L2 else None,
    )


def instant_text(at: datetime, zone: tzinfo) -> str:
    """Write an instant in a zone: 2026-03-01 18:30 UTC+8. Seconds only where there are some."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S}".removesuffix(":00") + f" {_offset(at, zone)}"


def _offset(at: datetime, zone: tzinfo) -> str:
    local = f"{at.astimezone(zone):%z}"
    hours, minutes = local[:3], local[3:5]
    return "UTC" if local == "+0000" else f"UTC{int(hours):+d}" + (f":{minutes}" if minutes != "00" else "")


def outcome_sentence(
    request: ConfirmationRequest, language: Language, name_of: Callable[[str], str], zone: tzinfo = UTC
) -> str:
    """Say how a settled request ended: who, what, when. A person is named only for a vote that was cast in time."""
    settlement = request.settlement
    if settlement is None:
        return say(language, f"headline.{request.state.value}")
    if request.allowed_by is not None:
        return _allowed_sentence(request, request.allowed_by, settlement.at, language, zone)
    note = f" · “{visible(settlement.reason)}”" if settlement.reason else ""
    by = _approving(request, language, name_of) if request.grant else name_of(settlement.by)
    return say(
        language,
        f"outcome.{request.state.value}",
        by=by,
        at=_on_a_day(settlement.at, zone),
        note=note,
    )


def _on_a_day(at: datetime, zone: tzinfo) -> str:
    """Write an instant by the org's clock; which zone that is stands below, with the ids."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def _allowed_sentence(
    request: ConfirmationRequest, allowed_by: str, at: datetime, language: Language, zone: tzinfo
) -> str:
    """Say by what a call was let through about which nobody was asked."""
    kind, _, name = allowed_by.partition(":")
    told, when = visible(name), _on_a_day(at, zone)
    if request.by_broken_glass:  # some platforms show this sentence in the place of the headline
        return say(language, f"glass.{request.state.value}", name=told, at=when)
    by = say(language, f"allowed.by.{kind}", name=told)
    return say(language, f"allowed.{request.state.value}", by=by, at=when)


_FINAL = "It did not run. Do not retry it, rephrase it, or try to reach the same end another way."

_FOR_MODEL = {
    State.PENDING: "Waiting for a person's approval (request {id}, code {code}) until {until:%Y-%m-%d %H:%M:%S} UTC. "
    "It has not run.",
    State.APPROVED: "Approved (request {id}); it may be claimed once.",
    State.EXECUTING: "Approved and claimed (request {id}); its outcome was not reported yet. Do not run it again.",
    State.SUCCEEDED: "Approved; it ran once and succeeded (request {id}). Do not run it again.",
    State.FAILED: "Approved; it ran once and failed (request {id}): {error}. Running it again needs a new approval.",
    State.UNKNOWN: "Approved and started once, but whether it ran is not known (request {id}). Do not run it again.",
    State.PENDING_ELSEWHERE: "Approved and sent once (request {id}); the service that carries it out asks its own "
    "people now, as {elsewhere}. That is no refusal: it may still be done. Do not repeat it, and do not try to reach "
    "the same end another way.",
    State.DENIED: "A person denied this call (request {id}){reason}. " + _FINAL,
    State.EXPIRED: "Nobody decided in time (request {id}). Silence is not consent. " + _FINAL,
    State.CANCELLED: "The request was withdrawn (request {id}){reason}. " + _FINAL,
    State.UNDELIVERABLE: "No approver could be reached (request {id}). " + _FINAL,
    State.LAPSED: "The approval was not used in time and has lapsed (request {id}). It did not run. "
    "A new call asks again.",
}


_RUNS_CHANGED = " A person changed its arguments: {changes}. What was approved and handed out is the changed call."
_CHANGED = {
    State.PENDING: " A person changed its arguments: {changes}. What people decide about now is the changed call.",
    State.APPROVED: " A person changed its arguments: {changes}. What is approved, and will run, is the changed call.",
    State.EXECUTING: _RUNS_CHANGED,
    State.SUCCEEDED: _RUNS_CHANGED,
    State.FAILED: _RUNS_CHANGED,
    State.UNKNOWN: _RUNS_CHANGED,
    State.PENDING_ELSEWHERE: _RUNS_CHANGED,
}


_BY_EXECUTOR = {
    State.APPROVED: "Approved (request {id}); the executor of this tool runs it. Do not run it yourself, and do not "
    "ask again: wait for its outcome.",
    State.EXECUTING: "Approved, and the executor of this tool runs it now (request {id}). Do not run it yourself, and "
    "do not ask again: wait for its outcome.",
}
"""Where the agent's side runs nothing at all."""


_EMAILS = re.compile(r"[^\s,]+@[^\s,]+(?:, [^\s,]+@[^\s,]+)*")


def message_for_model(request: ConfirmationRequest) -> str:
    """Say to the model, shortly and finally, how its call stands, and what people changed of it. Names no approver."""
    changes = changes_for_model(request) if request.proposed is not None else ""
    told = _CHANGED[request.state].replace("{changes}", changes) if changes and request.state in _CHANGED else ""
    return _standing_for_model(request) + told


def message_for_claimer(request: ConfirmationRequest) -> str:
    """Say to the model whose runtime has just been handed the approval what it may run, and what people changed."""
    changes = changes_for_model(request) if request.proposed is not None else ""
    told = f"Approved (request {request.id}); it runs once, with the arguments that were approved."
    return told + _RUNS_CHANGED.replace("{changes}", changes) if changes else told


def _standing_for_model(request: ConfirmationRequest) -> str:
    if request.grant is not None and request.grant.status is GrantStatus.REVOKED:
        why = _EMAILS.sub("somebody who approved", visible(request.revoked_why or "no reason was given"))
        return f"The approval was taken back before it was used (request {request.id}): {why}. It did not run."
    settlement = request.settlement
    reason = f", saying: {visible(settlement.reason)}" if settlement and settlement.reason else ""
    execution = request.execution
    error = visible(execution.error) if execution and execution.error else "no error was given"
    elsewhere = visible(execution.elsewhere.id) if execution and execution.elsewhere else ""
    state = request.state
    words = (request.enforced and _BY_EXECUTOR.get(state)) or _FOR_MODEL[state]
    told = words.format(
        id=request.id,
        code=request.code,
        until=request.expires_at,
        reason=reason,
        error=error,
        elsewhere=elsewhere,
    )
    question = request.open_question if state is State.PENDING else None
    if question is None:
        return told
    text = visible(question.text).replace('"', "'")
    return f'{told} An approver asks (question {question.id}): "{text}" The question can be answered while it waits.'
