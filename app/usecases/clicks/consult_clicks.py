"""Take a click on one of the controls around a decision: open its form, or do what the form says, and answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.card.form import MOST
from app.domain.lifecycle.lifecycle import DeadlinePassed, advance
from app.domain.lifecycle.step import Refusal
from app.domain.lifecycle.wishes import Wish, may_begin
from app.domain.people.people import email_key
from app.domain.request.action import VERB_OF, VERBS, Action, Blank
from app.domain.rules.name_of import name_of
from app.domain.text.visible import is_blank, visible
from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.storage.requests.seen_before import seen_before
from app.usecases.cards.controls import form_for
from app.usecases.clicks.pressed import Received, refusal
from app.usecases.clicks.recognise import Recognised, person_of_account, recognise
from app.usecases.deciding.consult import UNENTITLED, PeopleNow, consult
from app.usecases.writing.carry_out import carry_out, plan_people

if TYPE_CHECKING:
    from app.domain.identity.seals import SealedClick, Seals
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.deciding.consult import Consulted

ACTIONS = (*(verb.action for verb in VERBS if verb.done), Action.MORE)
"""What `ConsultByClick` carries out."""

_NOT_DONE = {
    Refusal.BARRED: ("barred", ClickResult.REFUSED),
    Refusal.EDITED: ("barred_editor", ClickResult.REFUSED),
    Refusal.REPEATED: ("done_before", ClickResult.ALREADY),
    Refusal.UNSUITABLE: ("unsuitable", ClickResult.REFUSED),
    Refusal.TOO_OFTEN: ("too_often", ClickResult.REFUSED),
    Refusal.TOO_SOON: ("too_soon", ClickResult.ALREADY),
    Refusal.NO_QUESTION: ("no_question", ClickResult.ALREADY),
}


class ConsultByClick:
    """One `ClickTaker` for all of `ACTIONS`."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        return await self._store.write(lambda tx: self._unit(tx, channel, click, sealed), org=org)

    def _unit(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> Received:
        policy = self._book.current(tx.org).policy  # of this instant, not of when the click came in
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        request, pressed, action = known.request, known.pressed, sealed.action
        channel = pressed.channel  # as this person reads it
        if request.status.final or known.now >= request.expires_at:
            over = carry_out(tx, request, advance(request, DeadlinePassed(), now=known.now))
            return Received(outcome=pressed.showing(over).standing())
        form = form_for(action, request, policy, channel.language) if click.wants_form else None
        if form is not None or action is Action.MORE:
            people = PeopleNow(tx, request, known.now, policy, known.person)
            why = may_begin(request, action, known.person, people)
            if why is not None:
                return Received(outcome=_refuse_to_begin(tx, known, why))
        if form is not None:
            return pressed.asking(form)
        wish = _wish(tx, channel, click, action, policy)
        if isinstance(wish, ClickOutcome):
            return Received(outcome=wish)
        if seen_before(tx, channel.name, click.event_key):
            sentence = say(channel.language, "click.done_before")
            return Received(outcome=ClickOutcome(result=ClickResult.ALREADY, sentence=sentence, card=pressed.now))
        if action is Action.MORE:
            return Received(outcome=_more(tx, known))
        consulted = consult(tx, request, known.now, policy, wish, by=known.person, evidence=known.evidence)
        return Received(outcome=_answer(known, wish, consulted))


def _refuse_to_begin(tx: Tx, known: Recognised, why: Refusal) -> ClickOutcome:
    key, result = _NOT_DONE.get(why, ("not_eligible", ClickResult.REFUSED))
    return known.refuse(tx, key) if why in UNENTITLED else refusal(known.pressed.channel, key, result)


def _wish(tx: Tx, channel: Channel, click: Click, action: Action, policy: Policy) -> Wish | ClickOutcome:
    """Read what was filled in; or say what is missing, too long or unknown."""
    blanks = VERB_OF[action].blanks
    if not blanks:
        return Wish(action=action)
    named = Blank.PERSON in blanks
    name = Blank.NOTE if named else next((name for name in click.fields if name.startswith(Blank.TEXT)), Blank.TEXT)
    text = click.fields.get(name, "").strip().replace("\0", "\\u{0}")  # PostgreSQL's texts have no NUL
    if len(text) > MOST:
        sentence = say(channel.language, "click.too_long", most=MOST)
        return ClickOutcome(result=ClickResult.RETRY, sentence=sentence)
    if not named:
        if is_blank(text):
            return refusal(channel, "text_needed", ClickResult.RETRY)
        return Wish(action=action, text=text, question_id=name.removeprefix(Blank.TEXT).removeprefix("_") or None)
    someone = click.fields.get(Blank.PERSON, "").strip()
    if not someone:
        return refusal(channel, "person_needed", ClickResult.RETRY)
    whom = _find_person(tx, channel, policy, someone)
    return Wish(action=action, whom=whom, text=text) if whom else refusal(channel, "unknown_person", ClickResult.RETRY)


def _find_person(tx: Tx, channel: Channel, policy: Policy, named: str) -> str | None:
    """Return whom a field names: by the platform's account, by e-mail, or by a name that only one of the file has."""
    directory = policy.directory
    email = person_of_account(tx, channel, named)
    person = directory.find(email or named)
    if person is not None or email is not None:
        return person.email if person else None
    alike = [each.email for each in directory.people.values() if email_key(each.name) == email_key(named)]
    return alike[0] if len(alike) == 1 else None


def _more(tx: Tx, known: Recognised) -> ClickOutcome:
    """Plan the clicker's own copy, in this channel, with every control that they may use."""
    channel = known.pressed.channel
    if not plan_people(tx, known.request, [known.person], channels=[channel.name]):
        return refusal(channel, "more_failed", ClickResult.REFUSED)
    return ClickOutcome(result=ClickResult.RECORDED, sentence=say(channel.language, "click.more"))


def _answer(known: Recognised, wish: Wish, consulted: Consulted) -> ClickOutcome:
    """Say what became of it, and show the card as it is now."""
    channel, why = known.pressed.channel, consulted.refusal
    after = known.pressed.showing(consulted.request)
    if why is Refusal.SETTLED:
        return after.standing()
    if why is not None:
        return refusal(channel, *_NOT_DONE.get(why, ("not_eligible", ClickResult.REFUSED)))
    person = visible(name_of(known.pressed.policy, wish.whom)) if wish.whom else ""
    sentence = say(channel.language, f"click.{VERB_OF[wish.action].done}", person=person)
    return ClickOutcome(result=ClickResult.RECORDED, sentence=sentence, card=after.now)
