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
    from app.domain.card.form import Form
    from channels.conformance.harness import Harness


class StandInGateway:
    """What stands behind the callback: it records clicks and gives the answer it was told to give."""

    def __init__(self, harness: Harness) -> None:
        """Stand behind this harness."""
        self.harness = harness
        self.clicks: list[Click] = []
        self.forms: dict[str, Form] = {}  # by token: what is opened where a form is asked for; else for a reason
        self.broken: list[Exception] = []  # what the channel raised and may not: a stand-in's server might swallow it
        self.outcome = ClickOutcome(result=ClickResult.RECORDED, sentence="Your vote counts.", card=SETTLED)
        harness.receive = self.receive

    async def receive(self, call: InboundCall) -> HttpAnswer:
        """Take one call of the platform, as `app.api` does."""
        try:
            return await self._receive(call)
        except Exception as error:
            self.broken.append(error)
            raise

    async def _receive(self, call: InboundCall) -> HttpAnswer:
        try:
            inbound = self.harness.channel.read(call, now=self.harness.clock.now())
        except CallbackRejectedError:
            return HttpAnswer(status=401)
        match inbound:
            case Challenge():
                return inbound.answer
            case Ignored():
                return inbound.answer
            case Click() if inbound.wants_form:
                await self.harness.channel.open_form(inbound, self.forms.get(inbound.token, REASON))
                return HttpAnswer()
            case Click():
                self.clicks.append(inbound)
                answer = self.harness.channel.answer(inbound, self.outcome)
                assert 200 <= answer.status < 300, "an error is answered, and the person sees the platform's own"
                await self.harness.channel.tell(inbound, self.outcome)
                return answer
        raise AssertionError(inbound)
