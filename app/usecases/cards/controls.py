"""Which controls a card has besides Approve and Deny, each sealed, with the form that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from app.domain.card.card import Control
from app.domain.card.editing import edit_form
from app.domain.card.form import Field, FieldKind, Form
from app.domain.lifecycle.wishes import may_answer
from app.domain.people.people import email_key
from app.domain.request.action import VERB_OF, VERBS, Action, Blank, Who
from app.domain.request.request import Audience, State
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.cards.secret_texts import without_secrets
from assent.hooks.ready.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.identity.seals import Place, Seals
    from app.domain.request.consultation import Question
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery


def controls_for(
    request: ConfirmationRequest, delivery: Delivery, channel: Channel, policy: Policy, *, seals: Seals, place: Place
) -> tuple[Control, ...]:
    """Return the controls of one card. Where the platform opens no forms, a chat's card leads to a private one."""
    actions = _actions(request, delivery, channel, policy)
    forms = ((action, form_for(action, request, policy, channel.language)) for action in actions)
    return tuple(
        Control(
            action=action,
            label=say(channel.language, f"control.{action.value}"),
            token=seals.token(action, delivery.handle, place),
            form=form,
        )
        for action, form in forms
        if action is not Action.EDIT or form is not None  # there may be nothing to change
    )


def form_for(action: Action, request: ConfirmationRequest, policy: Policy, language: Language) -> Form | None:
    """Return the form that an action needs, or None if it needs none."""
    if action is Action.EDIT:
        return _edit_form(request, policy, language)
    verb = VERB_OF[action]
    if not verb.blanks:
        return None
    asked = request.open_question if action is Action.ANSWER else None
    note = say(language, f"form.{action.value}") if action is not Action.ANSWER else _quoted(asked)
    return _form(action, language, note, *(_field(blank, action, asked, language) for blank in verb.blanks))


def _field(blank: Blank, action: Action, asked: Question | None, language: Language) -> Field:
    match blank:
        case Blank.PERSON:
            return Field(name=blank.value, label=say(language, "form.person"), kind=FieldKind.PERSON)
        case Blank.NOTE:
            return Field(name=blank.value, label=say(language, "form.note"), kind=FieldKind.LINE, required=False)
        case Blank.TEXT:
            # It names the question: by the time that an answer comes, another one may be the open one.
            name = f"{blank.value}_{asked.id}" if asked else blank.value
            return Field(name=name, label=say(language, f"form.{action.value}.text"))
        case _:
            assert_never(blank)


def _quoted(asked: Question | None) -> str:
    return visible(str(redact(asked.text)[0])) if asked else ""


def _edit_form(request: ConfirmationRequest, policy: Policy, language: Language) -> Form | None:
    shown = without_secrets(request.call.arguments)
    return edit_form(request, policy.tools.get(request.call.tool), language, shown=shown)


def _form(action: Action, language: Language, note: str, *fields: Field) -> Form:
    label = say(language, f"control.{action.value}")
    return Form(title=label, submit=label, cancel=say(language, "cancel"), note=note, fields=fields)


def _actions(request: ConfirmationRequest, delivery: Delivery, channel: Channel, policy: Policy) -> Iterator[Action]:
    asks = delivery.audience is not Audience.REQUESTER or delivery.person == email_key(request.call.requester or "")
    if request.state is State.EXPIRED and asks:  # who only hears of it may not
        yield Action.REOPEN
    if request.status.final:
        return
    if delivery.audience is Audience.REQUESTER:
        if request.open_question is not None:
            yield Action.ANSWER
        yield from _always(Who.REQUESTER)
        return
    if policy.url is not None:
        yield Action.REVIEW
    if any(delivery.person in {None, decision.person} for decision in request.decisions):
        yield Action.WITHDRAW
    if not (channel.opens_forms or delivery.person is not None):
        yield Action.MORE
        return
    if delivery.person is not None and request.open_question is not None and may_answer(request, delivery.person):
        yield Action.ANSWER  # who asked for it and may, by its rule, decide it too
    yield from _always(Who.APPROVER)


def _always(who: Who) -> Iterator[Action]:
    """Return what every card of somebody offers while the request waits."""
    yield from (verb.action for verb in VERBS if verb.always and who in verb.who)
