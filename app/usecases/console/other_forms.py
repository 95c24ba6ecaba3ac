"""What else somebody may do about a request on its page: a form for each verb of the table that is theirs now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import instant_text
from app.domain.card.form import Form
from app.domain.card.shown_call import ShownCall
from app.domain.lifecycle.lifecycle import advance
from app.domain.lifecycle.wishes import Wish, Wished, may_begin
from app.domain.people.assurance import Assurance
from app.domain.request.action import VERBS, Action, Blank, Verb
from app.domain.request.decision import Evidence
from app.domain.request.request import CONSOLE, State
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.cards.compose import terms_for
from app.usecases.cards.controls import form_for
from app.usecases.deciding.consult import PeopleNow
from app.usecases.deciding.edit import no_editor
from app.usecases.deciding.extend import more_time
from app.usecases.proving.second_factor import has_totp
from app.usecases.voters.may_ask_for import may_ask_for

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.storage.engine.transaction import Tx

OTHERS = tuple(verb for verb in VERBS if verb.done or verb.action in {Action.EDIT, Action.EXTEND, Action.REOPEN})
"""The verbs besides a vote that a page of a request carries out, in the order of the table."""

MOST_LISTED = 24
"""People of the file among whom one is picked from a list; where there are more, an e-mail or a name is typed.

Each of them is tried on the request: whoever stands in the list can really take the place.
"""


class Other(Struct, frozen=True, kw_only=True):
    """One form. `listed` are the people to pick from, as (e-mail, what is read); nothing: somebody is typed.

    `typed` and `totp`: whether it asks for the code, and for an app's digits, as an approval of this level takes.
    """

    action: Action
    form: Form
    listed: tuple[tuple[str, str], ...] = ()
    typed: bool = False
    totp: bool = False


def others_for(
    tx: Tx, request: ConfirmationRequest, policy: Policy, language: Language, *, reader: str, now: datetime
) -> tuple[Other, ...]:
    """Return what a reader may do besides voting, at this instant; what is sent is asked again of the verb itself."""
    if request.state is State.EXPIRED and may_ask_for(request, reader, policy, now):
        return (_plain(Action.REOPEN, language, say(language, "console.other.reopen")),)
    if request.state is not State.PENDING or now >= request.expires_at:
        return ()
    people = PeopleNow(tx, request, now, policy, reader)
    found = (_other(tx, request, policy, language, verb, people=people, by=reader, now=now) for verb in OTHERS)
    return tuple(each for each in found if each is not None)


def unseen_in(request: ConfirmationRequest, policy: Policy, language: Language) -> tuple[str, ...]:
    """Name what must be seen and is not shown: nobody approves that, changed or not."""
    return tuple(ShownCall(request, terms_for(request, policy, language)).unseen())


def _other(
    tx: Tx,
    request: ConfirmationRequest,
    policy: Policy,
    language: Language,
    verb: Verb,
    *,
    people: PeopleNow,
    by: str,
    now: datetime,
) -> Other | None:
    action = verb.action
    if action is Action.REOPEN:
        return None  # it still waits
    if action is Action.EDIT:
        return _edit(tx, request, policy, language, by=by, now=now)
    if action is Action.EXTEND:
        return _extend(request, policy, language, by=by, now=now)
    if may_begin(request, action, by, people) is not None:
        return None
    if not verb.blanks:
        plain = _plain(action, language, say(language, f"console.other.{action.value}"))
        return plain if _would(request, Wish(action=action), by, people, now) else None
    form = form_for(action, request, policy, language)
    if form is None or Blank.PERSON not in verb.blanks:
        return Other(action=action, form=form) if form else None
    everybody = policy.directory.people.values()
    if len(everybody) > MOST_LISTED:
        return Other(action=action, form=form)
    can = [each.email for each in everybody if _would(request, Wish(action=action, whom=each.email), by, people, now)]
    listed = sorted((visible(name_of(policy, email)), email) for email in can)
    return Other(action=action, form=form, listed=tuple((email, name) for name, email in listed)) if can else None


def _would(request: ConfirmationRequest, wish: Wish, by: str, people: PeopleNow, now: datetime) -> bool:
    """Say whether a wish would be carried out; nothing is."""
    wished = Wished(wish=wish, by=by, people=people, new_id=str, facts={})
    return advance(request, wished, now=now).refusal is None


def _extend(
    request: ConfirmationRequest, policy: Policy, language: Language, *, by: str, now: datetime
) -> Other | None:
    event = more_time(request, policy, by=by, evidence=Evidence(channel=CONSOLE))
    if not may_ask_for(request, by, policy, now) or advance(request, event, now=now).refusal is not None:
        return None
    note = say(language, "console.other.extend", until=instant_text(event.until, policy.zone))
    return _plain(Action.EXTEND, language, note)


def _edit(
    tx: Tx, request: ConfirmationRequest, policy: Policy, language: Language, *, by: str, now: datetime
) -> Other | None:
    """Offer a change to whoever may make one here: a passkey signs a call as it stands, so L3 takes an app's digits."""
    level = request.assurance
    form = form_for(Action.EDIT, request, policy, language)
    if form is None or no_editor(request, now, policy, person=by) or unseen_in(request, policy, language):
        return None
    totp = level.of_each is Assurance.L3
    if totp and not has_totp(tx, by):
        return None
    return Other(action=Action.EDIT, form=form, typed=level > Assurance.L1, totp=totp)


def _plain(action: Action, language: Language, note: str) -> Other:
    label = say(language, f"control.{action.value}")
    form = Form(title=label, submit=label, cancel=say(language, "cancel"), note=note, fields=())
    return Other(action=action, form=form)
