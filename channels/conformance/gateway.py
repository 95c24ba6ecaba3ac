"""What stands behind the callback while the suite runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.ports import (
    CallbackRejectedError,
    Challenge,
    Click,
    ClickOutcome,
    ClickResult,
    HttpAnswer,
    Ignored,
    InboundCall,
)
from channels.conformance.cards import REASON, SETTLED

if TYPE_CHECKING:
    from channels.conformance.harness import Harness


class StandInGateway:
    """What stands behind the callback: it records clicks and gives the answer it was told to give."""

    def __init__(self, harness: Harness) -> None:
        """Stand behind this harness."""
        self.harness = harness
        self.clicks: list[Click] = []
        self.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="Your vote counts.", card=SETTLED)
        harness.receive = self.receive

    async def receive(self, call: InboundCall) -> HttpAnswer:
        """Take one call of the platform, as `app.api` does."""
        try:
            inbound = self.harness.channel.read(call, now=self.harness.clock.now())
        except CallbackRejectedError:
            return HttpAnswer(status=401)
        match inbound:
            case Challenge():
                return inbound.answer
            case Ignored():
                return HttpAnswer()
            case Click() if inbound.wants_form:
                await self.harness.channel.open_form(inbound, REASON)
                return HttpAnswer()
            case Click():
                self.clicks.append(inbound)
                answer = self.harness.channel.answer(inbound, self.outcome)
                await self.harness.channel.tell(inbound, self.outcome)
                return answer
        raise AssertionError(inbound)
