"""Do what else somebody wants on a request's page: the same verbs as from a card and by the API, by the same ways.

As with a vote, what the form's page showed must still be so, and what is sent twice is done once.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import outcome_sentence
from app.domain.card.editing import FieldFaultError, edited_arguments
from app.domain.card.form import MOST
from app.domain.errors import ConflictError, DigestMismatchError, InvalidError, LockedError, StepUpNeededError
from app.domain.identity.press import parse_press, stands
from app.domain.identity.seals import BadTokenError
from app.domain.lifecycle.lifecycle import advance
from app.domain.lifecycle.step import Refusal
from app.domain.lifecycle.wishes import Wish
from app.domain.people.people import email_key
from app.domain.request.action import VERB_OF, Action, Blank
from app.domain.request.decision import Evidence
from app.domain.request.request import CONSOLE, State
from app.domain.rules.name_of import name_of
from app.domain.text.canonical import canonical
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.storage.requests.seen_before import seen_before, was_seen
from app.usecases.asking.reopen import Expired, expired
from app.usecases.cards.compose import labels_of
from app.usecases.cards.secret_texts import without_secrets
from app.usecases.console.decide_page import Refused, proof_told, refusal_to_look, what_became, who_was_faster
from app.usecases.console.other_forms import unseen_in
from app.usecases.deciding.consult import Consulted, consult
from app.usecases.deciding.edit import Edition, EditRefused
from app.usecases.deciding.extend import more_time
from app.usecases.proving.proof import NOTHING_GIVEN
from app.usecases.voters.may_ask_for import may_ask_for
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from app.domain.errors import AssentError
    from app.domain.identity.press import Press
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.asking.reopen import AskedAgain, Reopen
    from app.usecases.console.sessions import Right
    from app.usecases.deciding.edit import EditMade
    from app.usecases.deciding.edit_api import EditByApi
    from app.usecases.proving.proof import Given

_DOOR = "console other"
"""Where it is remembered, for a quarter of an hour, that this very form was sent before."""

_PLAINLY = {
    Refusal.BARRED: "barred",
    Refusal.EDITED: "barred_editor",
    Refusal.UNSUITABLE: "unsuitable",
    Refusal.TOO_OFTEN: "too_often",
    Refusal.TOO_EARLY: "too_often",
    Refusal.TOO_SOON: "too_soon",
    Refusal.NO_QUESTION: "no_question",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherWanted:
    """What was sent: the verb, the seal of its form, what was filled in."""

    action: Action
    press: str
    fields: Mapping[str, str] = field(repr=False)
    given: Given = NOTHING_GIVEN

    def mark(self) -> str:
        """Name this very sending."""
        said = json.dumps([self.press, self.action.value, sorted(self.fields.items())])
        return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change that is to be judged: of what, to what, and with the form that wanted it."""

    digest: str
    arguments: Mapping[str, JsonValue] = field(repr=False)
    press: Press


class _Sent(Struct, frozen=True, kw_only=True):
    """A form before a locked request, in its unit of work."""

    tx: Tx
    request: ConfirmationRequest
    now: datetime
    policy: Policy
    language: Language
    person: str
    wanted: OtherWanted

    def refused(self, key: str, press: Press | None = None, **values: object) -> Refused:
        """Say why nothing was done, in the reader's language."""
        return Refused(sentence=say(self.language, key, **values), press=press)


class Again(Struct, frozen=True, kw_only=True):
    """It was asked again, as another request."""

    request_id: str
    sentence: str


class DoOther:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, edit: EditByApi, reopen: Reopen) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals
        self._edit = edit
        self._reopen = reopen

    async def __call__(
        self, right: Right, request_id: str, wanted: OtherWanted, language: Language
    ) -> Refused | Again | None:
        """Carry out what was sent; None: it is done, or was before.

        Raises UnauthenticatedError for a session that is over, NotFoundError for another request than its own,
        ForbiddenError for who may no longer look, and UnavailableError.
        """

        def unit(tx: Tx) -> tuple[Refused | _Change | Expired | None] | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            policy = self._book.current(right.org).policy
            refused = refusal_to_look(right, request, request_id, policy, now)
            if refused is not None:
                return refused
            sent = _Sent(
                tx=tx, request=request, now=now, policy=policy, language=language, person=right.person, wanted=wanted
            )
            return (self._done(sent, right),)

        [done] = await self._store.write(unit, org=right.org, about=request_id)
        if isinstance(done, Expired):
            return _told_again(await self._reopen.again(done), language)
        return await self._changed(right, request_id, done, wanted, language) if isinstance(done, _Change) else done

    def _done(self, sent: _Sent, right: Right) -> Refused | _Change | Expired | None:
        wanted, request = sent.wanted, sent.request
        try:
            press = parse_press(self._seals, wanted.press, session=right.name, request_id=request.id)
        except BadTokenError:
            return sent.refused("console.old_form")
        if was_seen(sent.tx, _DOOR, wanted.mark()):
            return None
        if press.stood != stands(request):
            if wanted.action is Action.EDIT and _is_changed_so(sent):
                return None
            faster = who_was_faster(request, press, sent.policy, sent.language)
            return sent.refused("console.stale", faster=faster)
        if wanted.action is Action.EDIT:
            return _change(sent, press)
        if wanted.action is Action.REOPEN:
            return _expired(sent, press)
        done = _extended(sent, press) if wanted.action is Action.EXTEND else _consulted(sent, press)
        if isinstance(done, Refused):
            return done
        if done.refusal is None:
            seen_before(sent.tx, _DOOR, wanted.mark())
        return None if done.refusal in {None, Refusal.REPEATED} else _told(sent, done, press)

    async def _changed(
        self, right: Right, request_id: str, change: _Change, wanted: OtherWanted, language: Language
    ) -> Refused | None:
        evidence = Evidence(channel=CONSOLE, shown_at=change.press.drawn_at)
        edition = Edition(by=right.person, evidence=evidence, arguments=change.arguments)
        try:
            made = await self._edit.made(
                org=right.org, request_id=request_id, digest=change.digest, wanted=edition, given=wanted.given
            )
        except DigestMismatchError:
            return Refused(sentence=say(language, "console.stale", faster=say(language, "console.faster.moved")))
        except (StepUpNeededError, LockedError) as error:
            return Refused(sentence=proof_told(error, language), press=change.press)
        except (InvalidError, ConflictError) as error:
            return Refused(sentence=say(language, "click.edit_refused", why=visible(error.detail)), press=change.press)
        return _what_became_of_change(made, self._book.current(right.org).policy, language, change.press)


def _change(sent: _Sent, press: Press) -> Refused | _Change:
    """Read the changed call out of the form; who may change it is asked where it is changed."""
    unseen = unseen_in(sent.request, sent.policy, sent.language)
    if unseen:
        return sent.refused("console.only_deny.hidden", press, fields=", ".join(unseen))
    try:
        arguments = _arguments(sent)
    except FieldFaultError as fault:
        labels = labels_of(sent.policy.tools.get(sent.request.call.tool), sent.language)
        return sent.refused(f"click.{fault.key}", press, field=labels.get(fault.field, fault.field))
    return _Change(digest=sent.request.digest, arguments=arguments, press=press)


def _arguments(sent: _Sent) -> dict[str, JsonValue]:
    request = sent.request
    tool, shown = sent.policy.tools.get(request.call.tool), without_secrets(request.call.arguments)
    return edited_arguments(request, tool, sent.wanted.fields, shown=shown)


def _is_changed_so(sent: _Sent) -> bool:
    """Say whether this very change stands already: sent twice, or the first answer was lost on its way."""
    try:
        arguments = _arguments(sent)
    except FieldFaultError:
        return False
    stands_so = canonical(arguments) == canonical(dict(sent.request.call.arguments))
    return stands_so and sent.request.edited_by == sent.person


def _extended(sent: _Sent, press: Press) -> Consulted:
    request, policy, person = sent.request, sent.policy, sent.person
    evidence = Evidence(channel=CONSOLE, shown_at=press.drawn_at)
    if not may_ask_for(request, person, policy, sent.now):
        sent.tx.append(refused_click(evidence, why="not_eligible", person=person), request_id=request.id)
        return Consulted(request=request, refusal=Refusal.NOT_ELIGIBLE)
    step = advance(request, more_time(request, policy, by=person, evidence=evidence), now=sent.now)
    return Consulted(request=carry_out(sent.tx, request, step), refusal=step.refusal)


def _expired(sent: _Sent, press: Press) -> Expired | Refused:
    request, person = sent.request, sent.person
    if request.state is State.EXPIRED and may_ask_for(request, person, sent.policy, sent.now):
        return expired(sent.tx, request, person)
    evidence = Evidence(channel=CONSOLE, shown_at=press.drawn_at)
    sent.tx.append(refused_click(evidence, why="not_eligible", person=person), request_id=request.id)
    return sent.refused("click.not_eligible", press)


def _told_again(again: AskedAgain, language: Language) -> Again | Refused:
    if again.request is None:
        return Refused(sentence=say(language, f"click.{again.key}", reason=visible(again.reason)))
    key = "click.reopened_before" if again.before else "click.reopened"
    return Again(request_id=again.request.id, sentence=say(language, key, code=again.request.code))


def _consulted(sent: _Sent, press: Press) -> Consulted | Refused:
    wish = _wish(sent, press)
    if isinstance(wish, Refused):
        return wish
    evidence = Evidence(channel=CONSOLE, shown_at=press.drawn_at)
    return consult(sent.tx, sent.request, sent.now, sent.policy, wish, by=sent.person, evidence=evidence)


def _wish(sent: _Sent, press: Press) -> Wish | Refused:
    """Read what was filled in; or say what is missing, too long or unknown."""
    action, fields = sent.wanted.action, sent.wanted.fields
    blanks = VERB_OF[action].blanks
    if not blanks:
        return Wish(action=action)
    named = Blank.PERSON in blanks
    name = Blank.NOTE if named else next((each for each in fields if each.startswith(Blank.TEXT)), Blank.TEXT)
    text = fields.get(name, "").strip()
    if len(text) > MOST:
        return sent.refused("click.too_long", press, most=MOST)
    if not named:
        if not text:
            return sent.refused("click.text_needed", press)
        question = name.removeprefix(Blank.TEXT).removeprefix("_") or None
        return Wish(action=action, text=text, question_id=question)
    someone = fields.get(Blank.PERSON, "").strip()
    if not someone:
        return sent.refused("click.person_needed", press)
    whom = _find_person(sent.policy, someone)
    return Wish(action=action, whom=whom, text=text) if whom else sent.refused("click.unknown_person", press)


def _find_person(policy: Policy, named: str) -> str | None:
    """Return whom a field names: by e-mail, or by a name that only one of the file has."""
    known = policy.directory.find(named)
    if known is not None:
        return known.email
    alike = [each.email for each in policy.directory.people.values() if email_key(each.name) == email_key(named)]
    return alike[0] if len(alike) == 1 else None


def _told(sent: _Sent, done: Consulted, press: Press) -> Refused:
    if done.refusal is Refusal.SETTLED:
        return sent.refused("click.settled", outcome=_outcome(done.request, sent.policy, sent.language))
    key = _PLAINLY.get(done.refusal, "not_eligible") if done.refusal else "not_eligible"
    return sent.refused(f"click.{key}", press)


def _outcome(request: ConfirmationRequest, policy: Policy, language: Language) -> str:
    return outcome_sentence(request, language, lambda email: visible(name_of(policy, email)), policy.zone)


def _what_became_of_change(
    made: EditMade | EditRefused, policy: Policy, language: Language, press: Press
) -> Refused | None:
    """Say why nothing was changed, if nothing was; whether the editor's own vote counts, the page itself says."""
    if not isinstance(made, EditRefused):
        plain = None if made.changed else made.decided
        return what_became(plain, policy, language, press) if plain else None
    if made.builds_on is not None:
        person = visible(name_of(policy, made.builds_on))
        return Refused(sentence=say(language, "click.edit_builds_on", person=person), press=press)
    match made.refusal:
        case Refusal.SETTLED:
            key, values = "settled", {"outcome": _outcome(made.request, policy, language)}
        case Refusal.UNSUITABLE:
            key, values = "edit_unreachable", {}
        case Refusal.BARRED:
            key, values = "barred", {}
        case _:
            key, values = "not_eligible", {}
    return Refused(sentence=say(language, f"click.{key}", **values), press=press)
