"""The live card that a click names, and the sentences with which a click is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from app.domain.card.card_for import outcome_sentence
from app.domain.lifecycle.step import Refusal
from app.domain.request.decision import Verdict
from app.domain.request.request import Status
from app.domain.rules.name_of import name_of
from app.domain.words.say import say
from app.ports import ClickOutcome, ClickResult
from app.usecases.cards.compose import compose
from app.usecases.cards.message import Item, compose_message

if TYPE_CHECKING:
    from app.domain.call.switch import Switch
    from app.domain.card.card import Card
    from app.domain.card.form import Form
    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.ports import Channel
    from app.storage.cards.deliveries import Delivery
    from app.usecases.cards.message import Items
    from app.usecases.deciding.decide import Decided


_PLAINLY = {
    Refusal.BARRED: ("barred", ClickResult.REFUSED),
    Refusal.EDITED: ("barred_editor", ClickResult.REFUSED),
    Refusal.OUTDATED: ("outdated", ClickResult.REFUSED),
    Refusal.OVER_LIMIT: ("over_limit", ClickResult.REFUSED),
    Refusal.STEP_UP: ("step_up", ClickResult.REFUSED),
    Refusal.NO_VOTE: ("no_vote", ClickResult.ALREADY),
}
"""Which sentence a refusal is answered with, where the sentence says it all."""


class Received(Struct, frozen=True, kw_only=True):
    """What to answer. With `form` nothing was done yet: the person must fill it in first, and may."""

    outcome: ClickOutcome
    form: Form | None = None


class PressedCard(Struct, frozen=True, kw_only=True):
    """A card in its place, with the request that it shows and all that is needed to show it again.

    `shared` is all that is shown in the same message, itself included; nothing, where it is alone.
    """

    request: ConfirmationRequest
    delivery: Delivery
    channel: Channel
    policy: Policy
    seals: Seals
    shared: Items = ()
    pause: Switch | None = None  # what keeps the request from running

    def showing(self, request: ConfirmationRequest) -> PressedCard:
        """Return the same card after its request has moved on."""
        return replace(self, request=request)

    def itself(self) -> Card:
        """Return what the card should show now, without the others in its message."""
        return compose(self.request, self.delivery, self.channel, self.policy, self.seals, pause=self.pause)

    def now(self) -> Card:
        """Return what the card's message should show now: the card, and others that share it."""
        if not self.shared:
            return self.itself()
        mine = Item(request=self.request, delivery=self.delivery, pause=self.pause)
        items = [mine if each.delivery.id == self.delivery.id else each for each in self.shared]
        return compose_message(items, self.channel, self.policy, self.seals)

    def standing(self) -> ClickOutcome:
        """Say how the request stands already, and show it."""
        outcome = outcome_sentence(
            self.request, self.channel.language, lambda email: name_of(self.policy, email), self.policy.zone
        )
        sentence = say(self.channel.language, "click.settled", outcome=outcome)
        return ClickOutcome(result=ClickResult.ALREADY, sentence=sentence, card=self.now)

    def on_a_copy(self) -> ClickOutcome:
        """Say that nothing counts where this was pressed, and how the request stands; a settled one is shown there."""
        told = self.standing()
        sentence = say(self.channel.language, "click.copy", stands=told.sentence)
        return ClickOutcome(
            result=ClickResult.REFUSED, sentence=sentence, card=self.now if self.request.status.final else None
        )

    def asking(self, form: Form) -> Received:
        """Ask the person to fill a form in before anything is done."""
        return Received(outcome=ClickOutcome(result=ClickResult.RETRY, sentence=form.title, card=self.now), form=form)

    def answer(self, decided: Decided) -> ClickOutcome:
        """Say to the clicker what became of their verdict."""
        after = self.showing(decided.request)
        match decided.refusal:
            case None:
                return after.recorded(decided)
            case Refusal.SETTLED:
                return after.standing()
            case Refusal.REPEATED:
                key = "already_denied" if decided.verdict is Verdict.DENY else "repeated"
                return refusal(self.channel, key, ClickResult.ALREADY)
            case Refusal.TOO_SOON:
                return refusal(self.channel, "read_first", ClickResult.RETRY, seconds=decided.wait_seconds)
            case why:
                return refusal(self.channel, *_PLAINLY.get(why, ("not_eligible", ClickResult.REFUSED)))

    def recorded(self, decided: Decided) -> ClickOutcome:
        """Say that a verdict counts, and how far the request has come."""
        index = min(decided.tally.stage, len(self.request.stages) - 1)
        values = {"have": decided.tally.have[index], "need": self.request.stages[index].need}
        counted = {Verdict.DENY: "denial_counted", Verdict.APPROVE: "counted", None: "withdrawn"}[decided.verdict]
        settled = {Status.APPROVED: "approved", Status.DENIED: "denied"}.get(self.request.status, counted)
        key = settled if decided.verdict is not None else counted  # also what was approved can be taken back
        sentence = say(self.channel.language, f"click.{key}", **values)
        return ClickOutcome(result=ClickResult.RECORDED, sentence=sentence, card=self.now)


def refusal(channel: Channel, key: str, result: ClickResult, **values: object) -> ClickOutcome:
    """Say why a click does not count, in the channel's language."""
    return ClickOutcome(result=result, sentence=say(channel.language, f"click.{key}", **values))
