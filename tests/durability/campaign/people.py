"""Approvers: they press buttons in Slack and decide with their keys, approve, deny, lower amounts, and leave things."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from channels.slack.simulator.simulator import CannotPressError
from tests.durability.gateway_process import PEOPLE

if TYPE_CHECKING:
    import random

    from channels.slack.simulator.simulator import Delivery
    from tests.durability.campaign.town import Town

_REFUSALS = {403, 409, 429, 503}  # 403: whoever changed a call does not approve it


@dataclass
class Approver:
    """One person."""

    town: Town
    email: str
    draw: random.Random
    thorough: bool = False
    """At the end: nothing is left lying."""
    pressed: list[Delivery] = field(default_factory=list[Any])
    troubled: int = 0
    """Presses after which the platform showed that nothing came back."""

    async def live(self) -> None:
        """Decide, until cancelled."""
        while True:
            await (self._at_the_chat if self.draw.random() < 0.4 else self._by_key)()
            await asyncio.sleep(self.draw.uniform(0.02, 0.1) if self.thorough else self.draw.uniform(0.1, 0.6))

    # --- with a key ---------------------------------------------------------------------------------------------------

    async def _by_key(self) -> None:
        who = self.email[:3]
        listed = await self.town.door.call(who, "GET", "/v1/requests?status=pending&limit=100")
        if listed is None or listed.status_code != 200:
            return
        found = [each for each in listed.json()["items"] if self.thorough or self._minds(each)]
        if not found:
            return
        request = self.draw.choice(found)
        verdict = "deny" if self.draw.random() < 0.12 else "approve"
        body: dict[str, Any] = {"verdict": verdict, "digest": request["digest"]}
        if verdict == "deny":
            body["reason"] = "not now"
        elif request["tool"] in {"payout", "wire"} and self.draw.random() < 0.15:
            body["arguments"] = {**request["arguments"], "amount": "79.50"}
        said = await self.town.door.call(who, "POST", f"/v1/requests/{request['id']}/decisions", body)
        if said is not None and said.status_code == 200:
            self.town.figures.voted.add((request["id"], self.email, verdict))
        elif said is not None and said.status_code not in _REFUSALS:
            self.town.figures.wrong.append(f"{who} {body}: {said.status_code} {said.text[:300]}")

    def _minds(self, request: dict[str, Any]) -> bool:
        """Whether somebody looks at it: cards are for the chat, and what is in a hurry mostly comes too late."""
        payee = request["arguments"].get("payee")
        return request["agent"] != "flood" and (
            payee == "Acme Ltd" or self.draw.random() < {"Card Ltd": 0.02, "Hasty Ltd": 0.1}.get(str(payee), 1.0)
        )

    # --- in the chat --------------------------------------------------------------------------------------------------

    async def _at_the_chat(self) -> None:
        slack, account = self.town.slack, PEOPLE[self.email]
        live = [ts for ts, message in slack.room.messages.items() if "assent_approve" in str(message.now.blocks)]
        if not live:
            return
        denies = self.draw.random() < 0.15
        self._chooses_a_gateway()
        try:
            action = "assent_deny" if denies else "assent_approve"
            self._note(await slack.click(account, slack.room.id, self.draw.choice(live), action))
            modal = slack.modal_of(account) if denies else None
            if modal is not None:
                self._chooses_a_gateway()
                self._note(await slack.submit_modal(account, modal.id, "not now"))
                modal.open = False
        except CannotPressError:  # it changed under the finger
            return

    def _chooses_a_gateway(self) -> None:
        replica = self.draw.choice(self.town.replicas)
        self.town.slack.callback_url = f"{replica.address}/v1/channels/pay-slack/callback"

    def _note(self, delivery: Delivery) -> None:
        self.pressed.append(delivery)
        self.troubled += bool(delivery.trouble)
