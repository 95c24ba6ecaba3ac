"""The live card that a click names, and the sentences with which a click is answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.domain.lifecycle import Refusal
from app.domain.present import outcome_sentence
from app.domain.request import Status
from app.domain.words import say
from app.ports import ClickOutcome, ClickResult
from app.usecases.compose import compose
from app.usecases.decide import Decided, name_of

if TYPE_CHECKING:
    from app.domain.card import Card
    from app.domain.policy import Policy
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import Seals
    from app.ports import Channel
    from app.storage.deliveries import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedCard:
    """A card in its place, with the request that it shows and all that is needed to show it again."""

    request: ConfirmationRequest
    delivery: Delivery
    channel: Channel
    policy: Policy
    seals: Seals

    def showing(self, request: ConfirmationRequest) -> PressedCard:
        """Return the same card after its request has moved on."""
        return replace(self, request=request)

    def now(self) -> Card:
        """Return what the card should show now."""
        return compose(self.request, self.delivery, self.channel, self.policy, self.seals)

    def standing(self) -> ClickOutcome:
        """Say how the request stands already, and show it."""
        outcome = outcome_sentence(
            self.request, self.channel.language, lambda email: name_of(self.policy, email), self.policy.zone
        )
        sentence = say(self.channel.language, "click.settled", outcome=outcome)
        return ClickOutcome(result=ClickResult.ALREADY, sentence=sentence, card=self.now())

    def answer(self, decided: Decided) -> ClickOutcome:
        """Say to the clicker what became of their verdict."""
        after = self.showing(decided.request)
        match decided.refusal:
            case None:
                return after.recorded(decided)
            case Refusal.SETTLED:
                return after.standing()
            case Refusal.REPEATED:
                return refusal(self.channel, "repeated", ClickResult.ALREADY)
            case Refusal.BARRED:
                return refusal(self.channel, "barred", ClickResult.REFUSED)
            case _:
                return refusal(self.channel, "not_eligible", ClickResult.REFUSED)

    def recorded(self, decided: Decided) -> ClickOutcome:
        """Say that a verdict counts, and how far the request has come."""
        index = min(decided.tally.stage, len(self.request.stages) - 1)
        values = {"have": decided.tally.have[index], "need": self.request.stages[index].need}
        key = {Status.APPROVED: "approved", Status.DENIED: "denied"}.get(self.request.status, "counted")
        sentence = say(self.channel.language, f"click.{key}", **values)
        return ClickOutcome(result=ClickResult.RECORDED, sentence=sentence, card=self.now())


def refusal(channel: Channel, key: str, result: ClickResult) -> ClickOutcome:
    """Say why a click does not count, in the channel's language."""
    return ClickOutcome(result=result, sentence=say(channel.language, f"click.{key}"))
