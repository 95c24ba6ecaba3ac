"""Everything about one request, in words for one reader: what the review page shows. Pure.

The same card as everywhere, only without a budget; around it who decides, who said what, and the request's own trail.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.card.card import Fact
from app.domain.card.card_for import card_for, instant_text
from app.domain.card.request_warnings import warning_sentence, warnings_in
from app.domain.card.shown_call import ShownCall
from app.domain.money.amounts import CURRENCIES
from app.domain.request.host_event import event_in
from app.domain.request.quorum import count, steps
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.trail.told import told, way_told
from app.domain.words.say import say
from app.usecases.cards.compose import around, pause_told, terms_for, title_in, why_in
from app.usecases.cards.outcome_facts import place_facts
from app.usecases.reading.earlier import compared
from app.usecases.reading.evidence import exhibits_shown
from app.usecases.voters.electorate import voters_shown
from app.usecases.writing.clean import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.domain.card.card import Card
    from app.domain.card.shown_call import Terms
    from app.domain.request.decision import Decision
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.domain.trail.audit import AuditEvent
    from app.storage.sessions.switches import Switch
    from app.usecases.reading.earlier import Earlier
    from app.usecases.reading.evidence import ShownExhibit


class Entry(Struct, frozen=True, kw_only=True):
    """Something that was said or done."""

    at: str  # in the org's zone
    who: str
    text: str


class Sheet(Struct, frozen=True, kw_only=True):
    """What the page shows. Every text is visible, masked and in the reader's language; none is markup."""

    card: Card
    reader: str
    first: tuple[Fact, ...]  # who asks, and what must be seen beside amount and payee
    pinned: bool  # whether the file says what must be seen; else it is all of it
    until: str
    asked: tuple[Fact, ...]  # who, why, when, until when
    arguments: tuple[Fact, ...]  # every one, whole, as the tool gets it but for what is masked
    hidden: str | None  # how many values are masked
    place: tuple[Fact, ...]  # where it waits at the service that carries it out
    stages: tuple[Fact, ...]
    said: tuple[Entry, ...]
    record: tuple[Entry, ...]
    ids: tuple[Fact, ...]
    evidence: tuple[ShownExhibit, ...]
    earlier: Earlier | None  # what differs from the last call like it that people approved
    host_event: tuple[Fact, ...]  # what the agent's program sent to its hook
    zone: str
    digest: str

    @property
    def language(self) -> Language:
        """The reader's."""
        return self.card.language


def sheet_for(
    request: ConfirmationRequest,
    events: Sequence[AuditEvent],
    policy: Policy,
    language: Language,
    *,
    reader: str,
    pause: Switch | None = None,
    earlier: ConfirmationRequest | None = None,
) -> Sheet:
    """Compose the page of a request for one person. `events` are the request's own; `pause` is what binds it now.

    `earlier` is the last call like it that people approved, if the reader may see that one.
    """
    terms = terms_for(request, policy, language)
    titled = replace(request, title=title_in(request, policy.tools.get(request.call.tool), language))
    shown = around(replace(titled, call=replace(request.call, evidence=())))  # which stands apart here
    shown = replace(shown, why=why_in(shown, policy, language))
    card = card_for(shown, terms, revision=0, tally=None, tokens=None, budget=sys.maxsize)
    call = ShownCall(shown, terms)
    warned = warnings_in(call, pause=pause_told(pause, policy) if pause is not None else None)
    bare = replace(terms, money=(), payees=(), labels={})  # under the names and in the form that the tool gets
    whole = ShownCall(replace(shown, pinned=()), bare)
    hidden = call.count_hidden()
    return Sheet(
        card=replace(card, warnings=tuple(warning_sentence(each, terms) for each in warned), withheld=None),
        reader=_person(policy, reader),
        first=(card.facts[0], *(fact for fact in call.pinned() if not _is_in_the_amount(fact, request))),
        pinned=bool(request.pinned),
        until=instant_text(request.expires_at, policy.zone),
        asked=(*_asked(card, len(call.pinned())), *_times(request, terms)),
        arguments=whole.rest(),
        hidden=say(language, "review.hidden", count=hidden) if hidden else None,
        place=place_facts(request, language),
        stages=tuple(_stages(request, policy, terms)),
        said=tuple(_said(request, terms)),
        record=tuple(_told(event, policy, terms) for event in events),
        ids=(
            Fact(label=say(language, "review.code"), value=request.code),
            Fact(label=say(language, "review.digest"), value=request.digest),
            Fact(label=say(language, "review.request"), value=request.id),
            Fact(label=say(language, "review.policy"), value=request.policy_version),
        ),
        evidence=tuple(exhibits_shown(request, language)),
        earlier=compared(request, earlier, policy, language) if earlier is not None else None,
        host_event=tuple(_host_event(request, language)),
        zone=str(policy.zone),
        digest=request.digest,
    )


def _asked(card: Card, pinned: int) -> tuple[Fact, ...]:
    """Return who asks and why: the facts of the card without its pinned arguments, which stand apart here."""
    return card.facts[: len(card.facts) - pinned]


def _is_in_the_amount(fact: Fact, request: ConfirmationRequest) -> bool:
    """Say whether a fact is the currency of the one payment, which stands beside its amount as well."""
    return len(request.payments) == 1 and fact.value == request.payments[0].currency and fact.value in CURRENCIES


def _times(request: ConfirmationRequest, terms: Terms) -> Iterator[Fact]:
    language = terms.language
    yield Fact(label=say(language, "review.asked_at"), value=instant_text(request.created_at, terms.zone))
    yield Fact(label=say(language, "until"), value=instant_text(request.expires_at, terms.zone))


def _host_event(request: ConfirmationRequest, language: Language) -> Iterator[Fact]:
    if request.call.host_event:
        told = visible(clean(event_in(request.call.host_event, language)))
        yield Fact(label=say(language, "review.host_event"), value=told)


def _stages(request: ConfirmationRequest, policy: Policy, terms: Terms) -> Iterator[Fact]:
    language = terms.language
    have = count(request.stages, request.decisions, voters_shown(request, policy)).have
    order = steps(request.stages)
    for index, stage in enumerate(request.stages):
        groups = ", ".join(terms.name_of(name) for name in stage.of)
        step = next(number for number, places in enumerate(order, start=1) if index in places)
        label = say(language, "review.stage" if len(order) == 1 else "review.stage.step", groups=groups, step=step)
        said = [say(language, "review.stage.value", have=have[index], need=stage.need)]
        if stage.denials > 1:
            said.append(say(language, "review.stage.denials", count=stage.denials))
        if stage.added_by is not None:
            said.append(say(language, "review.stage.added", person=terms.name_of(stage.added_by)))
        yield Fact(label=label, value=" · ".join(said))


def _said(request: ConfirmationRequest, terms: Terms) -> Iterator[Entry]:
    """Return votes and hand-overs in the order in which they came."""
    language = terms.language
    found = [(each.at, _vote(request, each, terms), each.reason) for each in request.decisions]
    for over in request.handovers:
        who = say(language, "review.said.hand_over", person=terms.name_of(over.by), to=terms.name_of(over.to))
        found.append((over.at, who, over.note))
    for at, who, text in sorted(found, key=lambda each: each[0]):
        yield Entry(at=instant_text(at, terms.zone), who=who, text=visible(clean(text)) if text else "")


def _vote(request: ConfirmationRequest, vote: Decision, terms: Terms) -> str:
    language = terms.language
    parts = [say(language, f"review.said.{vote.verdict.value}", person=terms.name_of(vote.person))]
    if vote.on_behalf_of:
        parts.append(say(language, "review.said.for", absent=terms.name_of(vote.on_behalf_of)))
    if request.is_alone(vote.person):
        parts.append(say(language, "review.said.alone"))
    over = next((over for over in reversed(request.handovers) if over.to == vote.person), None)
    if over is not None:
        parts.append(say(language, "review.said.handed", absent=terms.name_of(over.by)))
    parts.append(say(language, "review.said.on", channel=visible(way_told(vote.evidence.channel, language))))
    return " · ".join(parts)


def _told(event: AuditEvent, policy: Policy, terms: Terms) -> Entry:
    who = _actor(event.record.actor, policy, terms.language)
    text = told(event.record, terms.language, who=who, shown=lambda value: _fact(value, policy, terms), beside=True)
    return Entry(at=instant_text(event.at, terms.zone), who=who, text=text)


def _fact(value: object, policy: Policy, terms: Terms) -> str:
    text = str(value)
    if policy.directory.find(text) is not None:
        return _person(policy, text)
    try:
        at = datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        at = None
    return visible(clean(text)) if at is None or at.tzinfo is None else instant_text(at, terms.zone)


def _actor(actor: str, policy: Policy, language: Language) -> str:
    kind, colon, name = actor.partition(":")
    if actor == "system" or (colon and kind in {"rule", "standing"}):  # nobody did it; the sentence says why it was
        return say(language, "review.actor.system")
    if colon and kind in {"agent", "key", "account"}:
        return say(language, f"review.actor.{kind}", name=visible(name))
    return _person(policy, way_told(actor, language))


def _person(policy: Policy, email: str) -> str:
    name = name_of(policy, email)
    return visible(email if name == email else f"{name} <{email}>")
