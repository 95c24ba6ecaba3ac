"""From a request to what people and models read: the card, the answer to a click, the sentence for the model.

Here outside text becomes visible and sensitive values are masked, once, for every surface. Channels and the API never
format an argument themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.card import Buttons, Card, Fact, Language, Tone
from app.domain.request import State
from app.domain.tool import money_text, steps_of, values_at
from app.domain.visible import visible, visible_value
from app.domain.words import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime, timedelta

    from app.domain.canonical import JsonValue
    from app.domain.quorum import Tally
    from app.domain.request import ConfirmationRequest

HIDDEN = "•••"

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


def masked(arguments: Mapping[str, JsonValue], sensitive: Collection[str]) -> dict[str, JsonValue]:
    """Return the arguments with everything at or under a sensitive dotted path hidden.

    Paths are compared key by key: an argument that is literally called ``a.b`` is not the ``b`` of ``a``.
    """
    hidden = {steps_of(path) for path in sensitive}

    def shown(value: JsonValue, path: tuple[str, ...]) -> JsonValue:
        if path in hidden:
            return HIDDEN
        match value:
            case dict():
                return {key: shown(item, (*path, key)) for key, item in value.items()}
            case list():
                return [shown(item, path) for item in value]
            case _:
                return value

    return {key: shown(value, (key,)) for key, value in arguments.items()}


def card_for(
    request: ConfirmationRequest,
    *,
    language: Language,
    revision: int,
    tally: Tally | None,
    tokens: tuple[str, str] | None,
    budget: int,
    name_of: Callable[[str], str],
    money: Collection[str] = (),
) -> Card:
    """Build the card of a request as it stands.

    `tokens` are the sealed (approve, deny) of this place while the request is pending. `tally` is None once it is
    settled. Values at the dotted paths in `money` are shown with their thousands apart. If the card cannot show every
    byte of the call within `budget` characters, it has no Approve and says why.
    """
    pending = request.state is State.PENDING
    card = Card(
        request_id=request.id,
        revision=revision,
        language=language,
        tone=_TONE[request.state],
        headline=say(language, f"headline.{request.state.value}"),
        title=request.title,
        tool=visible(request.call.tool),
        facts=_facts(request, language, pending=pending, money=money),
        arguments=_arguments(request, money),
        agent_says=_claim(request, language),
        footer=say(language, "footer", code=request.code, request=request.id),
        outcome=None if pending else outcome_sentence(request, language, name_of),
        progress=_progress(request, language, tally, name_of) if pending and tally else None,
        withheld=None,
        deadline=request.expires_at if pending else None,
        buttons=_buttons(language, tokens) if pending and tokens else None,
    )
    return _fitted(card, budget)


def _facts(
    request: ConfirmationRequest, language: Language, *, pending: bool, money: Collection[str]
) -> tuple[Fact, ...]:
    shown = masked(request.call.arguments, request.sensitive)
    facts = [
        Fact(label=visible(path), value=", ".join(_value(value, money=path in money) for _, value in found))
        for path in request.pinned
        if (found := list(values_at(shown, path)))
    ]
    agent = visible(request.call.agent)
    who = (
        say(language, "asks.for", agent=agent, requester=visible(request.call.requester))
        if request.call.requester
        else say(language, "asks.value", agent=agent)
    )
    facts.append(Fact(label=say(language, "asks"), value=who))
    facts.append(Fact(label=say(language, "why"), value=visible(request.why)))
    if pending:  # the last of the facts: a channel that shows deadlines in its own way looks for it there
        left = _span(request.expires_at - request.created_at, language)
        until = say(language, "until.value", time=f"{request.expires_at:%Y-%m-%d %H:%M:%S}", left=left)
        facts.append(Fact(label=say(language, "until"), value=until))
    return tuple(facts)


def _arguments(request: ConfirmationRequest, money: Collection[str]) -> tuple[Fact, ...]:
    """Show every argument that is not a fact already.

    Only a pin of one key shows a whole argument. One that goes deeper shows a part of it, so its argument stays here;
    and an argument whose own name holds a dot is no pin's, it stands in quotation marks to tell it from a path.
    """
    shown = masked(request.call.arguments, request.sensitive)
    whole = {path for path in request.pinned if len(steps_of(path)) == 1}
    return tuple(
        Fact(
            label=f'"{visible(name)}"' if "." in name else visible(name),
            value=_value(value, money="." not in name and name in money),
        )
        for name, value in shown.items()
        if name not in whole
    )


def _value(value: JsonValue, *, money: bool) -> str:
    return (money and money_text(value)) or visible_value(value)


def _claim(request: ConfirmationRequest, language: Language) -> Fact | None:
    if not request.call.claim:
        return None
    return Fact(label=say(language, "claim"), value=visible(request.call.claim))


def _progress(
    request: ConfirmationRequest, language: Language, tally: Tally, name_of: Callable[[str], str]
) -> str | None:
    if not request.stages:
        return None
    index = min(tally.stage, len(request.stages) - 1)
    stage = request.stages[index]
    text = say(language, "progress", have=tally.have[index], need=stage.need, groups=", ".join(stage.of))
    people = [name_of(decision.person) for decision in request.decisions]
    return f"{text} · {say(language, 'progress.by', people=', '.join(people))}" if people else text


def _buttons(language: Language, tokens: tuple[str, str]) -> Buttons:
    approve, deny = tokens
    return Buttons(
        approve=approve,
        deny=deny,
        approve_label=say(language, "approve"),
        deny_label=say(language, "deny"),
        reason_label=say(language, "deny.reason"),
        reason_hint=say(language, "deny.hint"),
        confirm_title=say(language, "confirm.title"),
        confirm_text=say(language, "confirm.text"),
        cancel_label=say(language, "cancel"),
    )


def _fitted(card: Card, budget: int) -> Card:
    """Keep a card within its platform's budget: the agent's prose goes first, then the arguments with Approve."""
    if card.size() <= budget:
        return card
    bare = replace(card, agent_says=None)
    if bare.size() <= budget:
        return bare  # the agent's prose is a claim, not part of what is approved
    note = say(card.language, "withheld", size=card.size(), budget=budget)
    room = max(budget // 2 - sum(len(fact.label) for fact in card.facts), 400)
    facts = tuple(replace(fact, value=_cut(fact.value, room // max(len(card.facts), 1))) for fact in card.facts)
    buttons = replace(card.buttons, approve=None) if card.buttons else None
    return replace(bare, title=_cut(card.title, 300), facts=facts, arguments=(), withheld=note, buttons=buttons)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[:room]}… [{len(text) - room} more characters]"


def outcome_sentence(request: ConfirmationRequest, language: Language, name_of: Callable[[str], str]) -> str:
    """Say how a settled request ended: who, what, when. A person is named only for a vote that was cast in time."""
    settlement = request.settlement
    if settlement is None:
        return say(language, f"headline.{request.state.value}")
    note = f" · “{visible(settlement.reason)}”" if settlement.reason else ""
    by = "、".join if language is Language.ZH else ", ".join
    people = [d.person for d in request.decisions] if request.grant else [settlement.by]
    return say(
        language,
        f"outcome.{request.state.value}",
        by=by(name_of(person) for person in people),
        at=f"{settlement.at:%Y-%m-%d %H:%M}",
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
