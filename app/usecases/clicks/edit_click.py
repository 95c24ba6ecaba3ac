"""Approve with changes on a card: open the form, read what was filled in, and say what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.editing import FieldFaultError, edit_form, edited_arguments
from app.domain.errors import ConflictError, InvalidError
from app.domain.lifecycle.step import Refusal
from app.domain.people.assurance import Assurance
from app.domain.request.request import Status
from app.domain.rules.name_of import name_of
from app.domain.text.canonical import canonical
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.storage.requests.seen_before import seen_before, was_seen
from app.usecases.cards.compose import labels_of, to_person
from app.usecases.cards.secret_texts import without_secrets
from app.usecases.clicks.pressed import Received, refusal
from app.usecases.clicks.recognise import Recognised, recognise, spoken_to
from app.usecases.deciding.edit import ATTEMPTS, Edition, EditMade, EditRefused, approve_as_it_is, may_edit

if TYPE_CHECKING:
    from app.domain.identity.seals import SealedClick, Seals
    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.deciding.edit import Edit, JudgedEdition


_STEP_UP = {
    Assurance.L1: "edited_press",  # the call as it was took more than a click
    Assurance.L2: "edited_step_up",
    Assurance.L3: "edited_factor",
    Assurance.L4: "edited_factor",
}


class _Begun(Struct, frozen=True, kw_only=True):
    """A request that may be changed by whoever pressed, and what the form wants it to be."""

    request: ConfirmationRequest
    edition: Edition


class _Wanted(Struct, frozen=True, kw_only=True):
    """What was judged, and the digest of the request that it is a change of."""

    digest: str
    judged: JudgedEdition


class EditByClick:
    """The `ClickTaker` of Action.EDIT."""

    def __init__(self, *, edit: Edit, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._edit = edit
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        reader = channel
        for _ in range(ATTEMPTS):
            begun = await self._store.write(lambda tx: self._begin(tx, channel, click, sealed), org=org)
            if isinstance(begun, Received):
                return begun
            reader = to_person(channel, self._book.current(org).policy, begun.edition.by)
            try:
                judged = await self._edit.judged(begun.request, begun.edition)
            except (InvalidError, ConflictError) as error:
                sentence = say(reader.language, "click.edit_refused", why=visible(error.detail))
                return Received(outcome=ClickOutcome(result=ClickResult.RETRY, sentence=sentence))
            wanted = _Wanted(digest=begun.request.digest, judged=judged)
            received = await self._write(org, channel, click, sealed, wanted)
            if received is not None:
                return received
        return Received(outcome=refusal(reader, "edit_again", ClickResult.RETRY))

    def _begin(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> _Begun | Received:
        loaded = self._book.current(tx.org)
        policy = loaded.policy
        if was_seen(tx, channel.name, click.event_key):
            reader = spoken_to(tx, channel, click, policy)
            return Received(outcome=refusal(reader, "done_before", ClickResult.ALREADY))
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        request, channel = known.request, known.pressed.channel
        refused = may_edit(tx, request, known.now, policy, person=known.person, evidence=known.evidence)
        if refused is not None:
            return _refused(known, refused)
        tool = policy.tools.get(request.call.tool)
        shown = without_secrets(request.call.arguments)
        form = edit_form(request, tool, channel.language, shown=shown)
        if form is None or _is_withheld(known):
            key = "edit_none" if form is None else "edit_withheld" if request.assurance.on_cards else "step_up"
            return Received(outcome=known.refuse(tx, key))
        if click.wants_form:
            return known.pressed.asking(form)
        try:
            arguments = edited_arguments(request, tool, click.fields, shown=shown)
        except FieldFaultError as fault:
            labels = labels_of(tool, channel.language)
            sentence = say(channel.language, f"click.{fault.key}", field=labels.get(fault.field, fault.field))
            return Received(outcome=ClickOutcome(result=ClickResult.RETRY, sentence=sentence))
        edition = Edition(by=known.person, evidence=known.evidence, arguments=arguments)
        if canonical(arguments) != canonical(dict(request.call.arguments)):
            return _Begun(request=request, edition=edition)
        seen_before(tx, channel.name, click.event_key)
        return _made(known, approve_as_it_is(tx, request, known.now, loaded, edition))

    async def _write(
        self, org: str, channel: Channel, click: Click, sealed: SealedClick, wanted: _Wanted
    ) -> Received | None:
        def unit(tx: Tx) -> Received | None:
            policy = self._book.current(tx.org).policy
            # Anew: meanwhile somebody may have decided, or changed the call; then this card is no longer the live one.
            known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
            if not isinstance(known, Recognised):
                return Received(outcome=known)
            if known.request.digest != wanted.digest or known.person != wanted.judged.edition.by:
                return Received(outcome=known.refuse(tx, "stale"))
            done = self._edit.write(tx, known.request, known.now, wanted.judged)
            if done is None:
                return None
            if isinstance(done, EditRefused):
                return _refused(known, done)
            seen_before(tx, channel.name, click.event_key)
            return _made(known, done)

        return await self._store.write(unit, org=org)


def _made(known: Recognised, made: EditMade) -> Received:
    """Say that the call was changed, and whether the editor's own approval counts."""
    after = known.pressed.showing(made.request)
    decided = made.decided
    if not made.changed and decided is not None:
        return Received(outcome=known.pressed.answer(decided))
    if decided is not None and decided.refusal is None:
        if made.request.status is Status.APPROVED:
            return Received(outcome=_said(known, "edited", made))
        index = min(decided.tally.stage, len(made.request.stages) - 1)
        need, have = made.request.stages[index].need, decided.tally.have[index]
        sentence = say(known.pressed.channel.language, "click.edited_counted", have=have, need=need)
        return Received(outcome=ClickOutcome(result=ClickResult.RECORDED, sentence=sentence, card=after.now))
    keys = {
        Refusal.BARRED: "edited_other",
        Refusal.EDITED: "edited_other",
        Refusal.TOO_SOON: "edited_read_first",
        Refusal.STEP_UP: _STEP_UP[made.request.assurance],
    }
    return Received(outcome=_said(known, keys.get(made.own, "edited_waits") if made.own else "edited_waits", made))


def _said(known: Recognised, key: str, made: EditMade) -> ClickOutcome:
    sentence = say(known.pressed.channel.language, f"click.{key}")
    return ClickOutcome(result=ClickResult.RECORDED, sentence=sentence, card=known.pressed.showing(made.request).now)


def _refused(known: Recognised, refused: EditRefused) -> Received:
    """Say why nothing was changed."""
    channel = known.pressed.channel
    match refused.refusal:
        case Refusal.SETTLED:
            return Received(outcome=known.pressed.showing(refused.request).standing())
        case Refusal.UNSUITABLE if refused.builds_on is not None:
            person = visible(name_of(known.pressed.policy, refused.builds_on))
            sentence = say(channel.language, "click.edit_builds_on", person=person)
            return Received(outcome=ClickOutcome(result=ClickResult.RETRY, sentence=sentence))
        case Refusal.UNSUITABLE:
            return Received(outcome=refusal(channel, "edit_unreachable", ClickResult.RETRY))
        case Refusal.BARRED:
            return Received(outcome=refusal(channel, "barred", ClickResult.REFUSED))
        case _:
            return Received(outcome=refusal(channel, "not_eligible", ClickResult.REFUSED))


def _is_withheld(known: Recognised) -> bool:
    """Whether this card has no Approve: what nobody can see whole there, nobody approves there, changed or not."""
    buttons = known.pressed.itself().buttons
    return buttons is not None and buttons.approve is None
