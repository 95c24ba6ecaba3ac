"""Compose the card of one delivery: the request as it stands, in its channel's language, with sealed buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from app.domain.call.tool import title_line
from app.domain.card.bare import bare
from app.domain.card.card import units
from app.domain.card.card_for import card_for, instant_text
from app.domain.card.own_approval import approval_told
from app.domain.card.shown_call import Terms
from app.domain.request.action import Action
from app.domain.request.quorum import count
from app.domain.request.request import Audience
from app.domain.rules.name_of import name_of
from app.domain.rules.policy import reason_apart
from app.domain.text.language import Language
from app.domain.text.visible import visible
from app.domain.words.reasons import reason_in
from app.domain.words.say import say
from app.storage.cards.deliveries import place_of
from app.usecases.cards.controls import controls_for
from app.usecases.cards.outcome_facts import outcome_facts
from app.usecases.cards.secret_texts import without_secrets
from app.usecases.voters.electorate import voters_shown
from app.usecases.writing.clean import clean

if TYPE_CHECKING:
    from app.domain.call.switch import Switch
    from app.domain.call.tool import Tool
    from app.domain.card.card import Card
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery

_LONGEST_REASON = 200


def compose(
    request: ConfirmationRequest,
    delivery: Delivery,
    channel: Channel,
    policy: Policy,
    seals: Seals,
    *,
    pause: Switch | None = None,
) -> Card:
    """Build the card that this delivery should show now. `pause`: people have stopped what it is about."""
    channel = _spoken(channel, policy, delivery.person)
    tokens = tally = None
    place = place_of(request, delivery)
    if not request.status.final:
        if delivery.audience is Audience.APPROVERS:
            tokens = (
                seals.token(Action.APPROVE, delivery.handle, place),
                seals.token(Action.DENY, delivery.handle, place),
            )
        tally = count(request.stages, request.decisions, voters_shown(request, policy))
    tool = policy.tools.get(request.call.tool)
    review = review_place(request, channel.language, policy.url)
    reading = review_place(request, channel.language, policy.url, reading=True)
    page = page_of(request, policy)
    terms = replace(terms_for(request, policy, channel.language), review=review, reading=reading, page=page)
    shown = around(replace(request, title=title_in(request, tool, channel.language)))
    shown = replace(shown, why=why_in(shown, policy, channel.language))
    told = approval_told(request, delivery.person, channel.language, policy.zone, page=page)
    asked = delivery.audience is Audience.REQUESTER and request.open_question is not None
    card = card_for(
        shown,
        terms,
        revision=delivery.revision,
        tally=tally,
        tokens=tokens,
        budget=channel.text_budget - units(told or ""),
        controls=controls_for(request, delivery, channel, policy, seals=seals, place=place),
        own=delivery.person is not None,
        headline=say(channel.language, "headline.question") if asked and not request.status.final else None,
        pause=pause_told(pause, policy) if pause is not None else None,
        results=outcome_facts(request, tool, terms),
    )
    if delivery.content_refused:
        card = bare(card, tool=request.call.tool if tool else None, review=review)
    if told is None:
        return card
    headline = say(channel.language, "approved.headline")
    return replace(card, headline=headline, warnings=(*card.warnings, told))


class InLanguage:
    """A channel as one person reads it: what it says to them is in their own language."""

    def __init__(self, channel: Channel, language: Language) -> None:
        """Take both."""
        self.of = channel
        self.language = language

    def __getattr__(self, name: str) -> object:
        """Return what is the channel's own."""
        return getattr(self.of, name)


def to_person(channel: Channel, policy: Policy, person: str | None) -> Channel:
    """Return the channel as somebody reads it: in their own language, if the file says which that is."""
    known = policy.directory.find(person) if person else None
    if known is None or known.language is None or known.language == channel.language.value:
        return channel
    return cast("Channel", InLanguage(channel, Language(known.language)))


def _spoken(channel: Channel, policy: Policy, person: str | None) -> Channel:
    """Return the channel in the language of a card: of whose own copy it is; else the chat's, whoever pressed."""
    return to_person(channel.of if isinstance(channel, InLanguage) else channel, policy, person)


def why_in(request: ConfirmationRequest, policy: Policy, language: Language) -> str:
    """Return why people are asked, in a language as far as the file and we have words for it."""
    reason, tripped = reason_apart(request.why)  # values are the call's, and nothing to translate
    said = reason_told(reason, policy, language)
    return f"{said} ({tripped})" if tripped else said


def reason_told(reason: str, policy: Policy, language: Language) -> str:
    """Return a ruling's reason in a language; the file's own ones as it has them, today."""
    return reason_in(reason, language, [each.reasons or {"": each.reason} for each in policy.rules if each.reason])


def terms_for(request: ConfirmationRequest, policy: Policy, language: Language) -> Terms:
    """Return how a request is put to people in a language, by what the file says of its tool today."""
    tool = policy.tools.get(request.call.tool)
    return Terms(
        language=language,
        name_of=lambda email: visible(name_of(policy, email, language)),
        zone=policy.zone,
        money=tool.money if tool else (),
        payment=tool.payment if tool else None,
        payees=tool.payee if tool else (),
        labels=labels_of(tool, language),
        visible_arguments=without_secrets(request.call.arguments),
        visible_proposed=without_secrets(request.proposed) if request.proposed is not None else None,
    )


def pause_told(pause: Switch, policy: Policy) -> dict[str, str]:
    """Tell since when nothing of this runs, by whom and why; it does not keep anybody from deciding."""
    why = " ".join(clean(visible(pause.reason or "")).split())
    return {
        "at": instant_text(pause.set_at.replace(second=0, microsecond=0), policy.zone),
        "by": visible(name_of(policy, pause.set_by)),
        "why": why if len(why) <= _LONGEST_REASON else f"{why[: _LONGEST_REASON - 1]}…",
    }


def labels_of(tool: Tool | None, language: Language) -> dict[str, str]:
    """Return what the file calls a tool's arguments in a language, by path."""
    named = tool.labels.items() if tool else ()
    return {path: labels[language.value] for path, labels in named if language.value in labels}


def title_in(request: ConfirmationRequest, tool: Tool | None, language: Language) -> str:
    """Return the request's sentence in a language, if the file has it so; else as it was asked."""
    if tool is None or language.value not in tool.titles:
        return request.title
    return title_line(tool, request.call.arguments, language.value)


def page_of(request: ConfirmationRequest, policy: Policy) -> str:
    """Return where people decide about a request on a page; "" where the file says no address."""
    return f"{policy.url}/r/{request.id}" if policy.url is not None else ""


def review_place(
    request: ConfirmationRequest, language: Language, url: str | None = None, *, reading: bool = False
) -> str:
    """Say where a call that no card can carry is seen whole: on the page at `url`; without one, through the API.

    `reading`: it can be seen there, and approved nowhere.
    """
    if url is None:
        return say(language, "withheld.review", request=request.id)
    return say(language, "withheld.page.read" if reading else "withheld.page", control=say(language, "control.review"))


def around(request: ConfirmationRequest) -> ConfirmationRequest:
    """Take what has the shape of a secret out of the texts around the call: a chat is no place for one.

    The arguments themselves stay: they are what is approved, and what is hidden of them is counted (`Terms`).
    """
    call, settlement = request.call, request.settlement
    return replace(
        request,
        call=replace(call, claim=clean(call.claim)) if call.claim else call,
        title=clean(request.title),
        why=clean(request.why),
        settlement=replace(settlement, reason=clean(settlement.reason))
        if settlement and settlement.reason
        else settlement,
        questions=tuple(
            replace(each, text=clean(each.text), answer=each.answer and clean(each.answer))
            for each in request.questions
        ),
        handovers=tuple(replace(each, note=each.note and clean(each.note)) for each in request.handovers),
    )
