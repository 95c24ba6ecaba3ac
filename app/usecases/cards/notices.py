"""The words of a notice, found when it is sent: what it is about may be over by then."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.card.card import warned_mark
from app.domain.card.card_for import outcome_sentence, what_then
from app.domain.card.own_approval import approval_told
from app.domain.card.request_warnings import in_short, warnings_of
from app.domain.request.quorum import count, steps
from app.domain.request.request import SEEN, DeliveryStatus
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.trail.notes import ANSWER, APPROVED, ENDED, QUESTION, REMINDER, parse_note
from app.domain.words.say import say
from app.ports import Notice
from app.storage.cards.accounts import list_of_channel
from app.usecases.cards.compose import around, page_of, pause_told, terms_for, title_in, to_person
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.voters.electorate import voters_of
from assent.hooks.ready.redact import redact

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.card.shown_call import Terms
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery
    from app.storage.cards.outbox import OutboxRow
    from app.storage.engine.transaction import Tx


def notice_for(  # noqa: PLR0917 - what a card is made of, and the row
    tx: Tx, row: OutboxRow, request: ConfirmationRequest, delivery: Delivery, channel: Channel, policy: Policy
) -> Notice | None:
    """Return what to say under a card, or None if there is nothing to say any more."""
    kind, about = parse_note(row.note or "")
    channel = to_person(channel, policy, delivery.person)
    request = replace(request, title=title_in(request, policy.tools.get(request.call.tool), channel.language))
    if kind == APPROVED:
        told = approval_told(
            request,
            delivery.person,
            channel.language,
            policy.zone,
            title=_clean(request.title),
            page=page_of(request, policy),
        )
        return Notice(text=told, mentions=(), key=_key_of(row, delivery)) if told else None
    if kind == ENDED:
        return _end(row, request, delivery, channel, policy, state=about)
    if request.status.final or delivery.message is None or delivery.status is not DeliveryStatus.LIVE:
        return None
    now = tx.now()
    terms = terms_for(request, policy, channel.language)
    text = _reminder(request, channel, terms, now) if kind == REMINDER else _text(kind, about, request, channel, policy)
    if text is None:
        return None
    if delivery.carrier_id is not None and kind != REMINDER:  # several requests share the card above it
        text = f"{_clean(request.title)} · {text}"
    if kind != QUESTION:  # that one is for the agent's side
        text = f"{_alert(tx, request, channel, policy)}{text}"
    mentions = tuple[str, ...]()
    if kind == REMINDER:
        people = outstanding(request, policy, now=now)
        if delivery.person is not None and delivery.person not in people:
            return None  # they have said what they had to say, or are not asked yet
        mentions = _accounts(tx, channel.name, people) if delivery.person is None else ()
    return Notice(text=text, mentions=mentions, key=_key_of(row, delivery))


def _end(
    row: OutboxRow, request: ConfirmationRequest, delivery: Delivery, channel: Channel, policy: Policy, *, state: str
) -> Notice | None:
    """Say how it ended, as long as it stands so: what came of it since has a note of its own."""
    if request.state.value != state or delivery.message is None or delivery.status not in SEEN:
        return None
    language = channel.language
    request = around(request)
    how = outcome_sentence(request, language, lambda email: visible(name_of(policy, email, language)), policy.zone)
    return Notice(text=f"{request.title} · {how}", mentions=(), key=_key_of(row, delivery))


def _alert(tx: Tx, request: ConfirmationRequest, channel: Channel, policy: Policy) -> str:
    """Say how many warnings the card above has: a phone shows the notice without it."""
    pause = pause_shown(tx, request)
    told = pause_told(pause, policy) if pause is not None else None
    warned = warnings_of(request, terms_for(request, policy, channel.language), pause=told)
    return warned_mark(in_short(warned, channel.language))


def _key_of(row: OutboxRow, delivery: Delivery) -> str:
    return f"note-{hashlib.sha256(f'{row.id}/{delivery.revision}'.encode()).hexdigest()[:40]}"


def outstanding(request: ConfirmationRequest, policy: Policy, *, now: datetime) -> frozenset[str]:
    """Return who may decide in the step that is asked now and has not said anything yet."""
    voters = voters_of(request, policy, now=now)
    at = count(request.stages, request.decisions, voters).stage
    asked = next((step for step in steps(request.stages) if at in step), frozenset[int]())
    spoken = {decision.person for decision in request.decisions}
    acting = frozenset(delegate for (delegate, _), places in voters.acting.items() if places & asked)
    return frozenset[str]().union(acting, *(voters.stages[index] for index in asked)) - spoken


def _text(kind: str, question_id: str, request: ConfirmationRequest, channel: Channel, policy: Policy) -> str | None:
    language = channel.language
    question = next((each for each in request.questions if each.id == question_id), None)
    match kind:
        case _ if kind == QUESTION and question is not None and question.answer is None:
            person = visible(name_of(policy, question.by))
            return say(language, "notice.question", person=person, text=_clean(visible(question.text)))
        case _ if kind == ANSWER and question is not None and question.answer is not None:
            return say(language, "notice.answer", text=_clean(visible(question.answer)))
        case _:
            return None


def _reminder(request: ConfirmationRequest, channel: Channel, terms: Terms, now: datetime) -> str | None:
    """Say how much time is left, at the moment at which it is said; None: there is none."""
    seconds = int((request.expires_at - now).total_seconds())
    if seconds <= 0:
        return None
    return say(
        channel.language,
        "notice.time_left",
        left=time_left(seconds, channel.language),
        then=what_then(request, terms),
        title=_clean(request.title),
    )


def time_left(seconds: int, language: Language) -> str:
    """Say a span in its two largest units, rounded down: less is promised than there is."""
    counts = ((seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    first = next((place for place, (count, _) in enumerate(counts) if count), len(counts) - 1)
    said = [(count, unit) for count, unit in counts[first : first + 2] if count and (unit != "s" or first == 3)]
    return " ".join(f"{count} {say(language, f'unit.{unit}')}" for count, unit in said)


def _clean(text: str) -> str:
    """Take what has the shape of a secret out of a text: a chat is no place for one."""
    return str(redact(text)[0])


def _accounts(tx: Tx, channel: str, people: frozenset[str]) -> tuple[str, ...]:
    """Return the accounts of people that hear of things, in a channel."""
    return tuple(
        sorted(
            known.account.account_id
            for known in list_of_channel(tx, channel)
            if known.person in people and known.account.status.reachable
        )
    )
