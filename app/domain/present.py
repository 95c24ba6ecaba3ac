"""From a request to what people and models read: the card, the answer to a click, the sentence for the model.

Here outside text becomes visible and sensitive values are masked, once, for every surface. Channels and the API never
format an argument themselves.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from app.domain.card import Buttons, Card, Fact, Language, Tone
from app.domain.decision import Verdict
from app.domain.fitting import fitted, withheld
from app.domain.masking import HIDDEN, masked
from app.domain.request import State
from app.domain.shown import ShownCall, Terms
from app.domain.visible import visible
from app.domain.words import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta, tzinfo

    from app.domain.quorum import Tally
    from app.domain.request import ConfirmationRequest

__all__ = ["HIDDEN", "Terms", "card_for", "masked", "message_for_model", "outcome_sentence"]

_TITLE_ASKED_AGAIN = 150  # characters of the title that fit into the second question of any platform

_TONE = {
    State.PENDING: Tone.WAITING,
    State.APPROVED: Tone.GOOD,
    State.EXECUTING: Tone.GOOD,
    State.SUCCEEDED: Tone.GOOD,
    State.FAILED: Tone.BAD,
    State.UNKNOWN: Tone.BAD,
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
) -> Card:
    """Build the card of a request as it stands.

    `tokens` are the sealed (approve, deny) of this place while the request is pending. `tally` is None once it is
    settled. If the card cannot show every byte of the call within `budget` (`Card.size`), or must hide what must be
    seen, it has no Approve and says why.
    """
    pending = request.state is State.PENDING
    language = terms.language
    shown = ShownCall(request, terms)
    span = say(language, "until.span", left=_span(request.expires_at - request.created_at, language))
    until = say(language, "until.value", time=_instant(request.expires_at, terms.zone), span=span)
    card = Card(
        request_id=request.id,
        revision=revision,
        language=language,
        tone=_TONE[request.state],
        headline=say(language, f"headline.{request.state.value}"),
        title=request.title,
        tool=visible(request.call.tool),
        highlights=shown.highlights(),
        warnings=shown.warnings() if pending else (),
        facts=(*_asking(request, terms), *shown.pinned()),
        arguments=shown.rest(),
        hidden=say(language, "hidden", count=count) if (count := shown.count_hidden()) else None,
        agent_says=_claim(request, language),
        footer=say(language, "footer", code=request.code, request=request.id),
        outcome=None if pending else outcome_sentence(request, language, terms.name_of, terms.zone),
        progress=_progress(request, tally, terms) if pending and tally else None,
        withheld=None,
        deadline=request.expires_at if pending else None,
        until=Fact(label=say(language, "until"), value=until) if pending else None,
        span=span if pending else None,
        buttons=_buttons(request, language, tokens) if pending and tokens else None,
    )
    if pending and (unseen := shown.unseen()):
        card = withheld(card, say(language, "withheld.hidden", fields=", ".join(unseen), review=terms.review))
    return fitted(card, budget, review=terms.review)


def _asking(request: ConfirmationRequest, terms: Terms) -> tuple[Fact, ...]:
    language, agent, asker = terms.language, visible(request.call.agent), request.call.requester
    who = say(language, "asks.value", agent=agent)
    if asker:
        name, account = terms.name_of(asker), visible(asker)
        requester = account if name == account else f"{name} <{account}>"
        who = say(language, "asks.for", agent=agent, requester=requester)
    why, rule = visible(request.why), request.rule_id
    if rule and rule not in why:
        why = say(language, "why.value", why=why, rule=visible(rule))
    return (Fact(label=say(language, "asks"), value=who), Fact(label=say(language, "why"), value=why))


def _claim(request: ConfirmationRequest, language: Language) -> Fact | None:
    if not request.call.claim:
        return None
    return Fact(label=say(language, "claim"), value=visible(request.call.claim))


def _progress(request: ConfirmationRequest, tally: Tally, terms: Terms) -> str | None:
    """Say how many of how many have agreed in the step that is asked now, and who."""
    if not request.stages:
        return None
    language = terms.language
    steps = [0]  # the step of each stage; joined stages are asked together
    for stage in request.stages[1:]:
        steps.append(steps[-1] + (not stage.joined))
    step = steps[min(tally.stage, len(steps) - 1)]
    text = " + ".join(
        say(language, "progress", have=have, need=stage.need, groups=", ".join(stage.of))
        for stage, have, of_step in zip(request.stages, tally.have, steps, strict=True)
        if of_step == step
    )
    if steps[-1]:
        text = say(language, "progress.step", step=step + 1, steps=steps[-1] + 1, text=text)
    people = _approving(request, language, terms.name_of)
    return f"{text} · {say(language, 'progress.by', people=people)}" if people else text


def _approving(request: ConfirmationRequest, language: Language, name_of: Callable[[str], str]) -> str:
    """Name who has approved, and for whom."""
    names = [
        say(language, "voted.for", person=name_of(each.person), absent=name_of(each.on_behalf_of))
        if each.on_behalf_of
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
    )


def _instant(at: datetime, zone: tzinfo) -> str:
    """Write an instant in a zone: 2026-03-01 18:30 UTC+8. Seconds only where there are some."""
    local = at.astimezone(zone)
    hours, minutes = f"{local:%z}"[:3], f"{local:%z}"[3:5]
    offset = "" if f"{local:%z}" == "+0000" else f"{int(hours):+d}" + (f":{minutes}" if minutes != "00" else "")
    return f"{local:%Y-%m-%d %H:%M:%S}".removesuffix(":00") + f" UTC{offset}"


def outcome_sentence(
    request: ConfirmationRequest, language: Language, name_of: Callable[[str], str], zone: tzinfo = UTC
) -> str:
    """Say how a settled request ended: who, what, when. A person is named only for a vote that was cast in time."""
    settlement = request.settlement
    if settlement is None:
        return say(language, f"headline.{request.state.value}")
    note = f" · “{visible(settlement.reason)}”" if settlement.reason else ""
    by = _approving(request, language, name_of) if request.grant else name_of(settlement.by)
    return say(
        language,
        f"outcome.{request.state.value}",
        by=by,
        at=_instant(settlement.at.replace(second=0, microsecond=0), zone),
        note=note,
    )


def _span(span: timedelta, language: Language) -> str:
    seconds = int(span.total_seconds())
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    said = [f"{count} {say(language, f'unit.{unit}')}" for count, unit in parts if count]
    return " ".join(said) or f"0 {say(language, 'unit.s')}"


_FINAL = "It did not run. Do not retry it, rephrase it, or try to reach the same end another way."

_FOR_MODEL = {
    State.PENDING: "Waiting for a person's approval (request {id}, code {code}) until {until}. It has not run.",
    State.APPROVED: "Approved (request {id}); it may be claimed once.",
    State.EXECUTING: "Approved and claimed (request {id}); its outcome was not reported yet. Do not run it again.",
    State.SUCCEEDED: "Approved; it ran once and succeeded (request {id}). Do not run it again.",
    State.FAILED: "Approved; it ran once and failed (request {id}): {error}. Running it again needs a new approval.",
    State.UNKNOWN: "Approved and started once, but whether it ran is not known (request {id}). Do not run it again.",
    State.DENIED: "A person denied this call (request {id}){reason}. " + _FINAL,
    State.EXPIRED: "Nobody decided in time (request {id}). Silence is not consent. " + _FINAL,
    State.CANCELLED: "The request was withdrawn (request {id}){reason}. " + _FINAL,
    State.UNDELIVERABLE: "No approver could be reached (request {id}). " + _FINAL,
    State.LAPSED: "The approval was not used in time and has lapsed (request {id}). It did not run. "
    "A new call asks again.",
}


def message_for_model(request: ConfirmationRequest) -> str:
    """Say to the model, shortly and finally, how its call stands. Names no approver."""
    settlement = request.settlement
    reason = f", saying: {visible(settlement.reason)}" if settlement and settlement.reason else ""
    error = visible(request.execution.error) if request.execution and request.execution.error else "no error was given"
    until: datetime = request.expires_at
    return _FOR_MODEL[request.state].format(
        id=request.id, code=request.code, until=f"{until:%Y-%m-%d %H:%M:%S} UTC", reason=reason, error=error
    )
