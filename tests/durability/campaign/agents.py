"""Agents as real clients are: what they have asked stands in a notebook that outlives them, and they ask again.

A lost answer is asked for again under the same idempotency key. A denial because people have paused the agent is no
answer to the call: it is asked again later. An agent that is killed (its task is cancelled, its connection breaks)
comes back to what its notebook has.

What an agent runs itself it claims. Some run in two copies, which claim at once under an id each; some are impatient
and claim what nobody has approved, or under the digest of before a change. Whatever they are handed, they pay.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    import random

    from tests.durability.campaign.town import Town

KINDS = ("card", "card", "hasty", "small", "small", "wire", "wire", "key", "key", "key", "key", "withdrawn")
_PAYEES = {"card": "Card Ltd", "hasty": "Hasty Ltd"}
_FINAL = {"denied", "expired", "cancelled", "undeliverable", "lapsed", "succeeded", "failed", "unknown"}
PATIENCE = 20.0
"""Seconds for which an agent waits for one outcome before it turns to its next call; it comes back later."""


@dataclass(slots=True)
class Entry:
    """One call, as the agent's notebook has it."""

    reference: str
    kind: str
    agent: str
    request: dict[str, Any] | None = None
    first_digest: str = ""
    claims: list[str] = field(default_factory=list[str])
    """The ids under which the agent's copies claim it."""
    over: str = ""
    """How it ended, once the agent has been told."""

    @property
    def tool(self) -> str:
        """Return what is called."""
        return {"small": "payout_small", "wire": "wire"}.get(self.kind, "payout")

    @property
    def body(self) -> dict[str, Any]:
        """Return the submission."""
        payee = _PAYEES.get(self.kind, "Acme Ltd")
        arguments = {"payee": payee, "amount": "80.00", "currency": "CNY", "reference": self.reference}
        return {"tool": self.tool, "arguments": arguments, "session": f"s-{self.agent}"}


@dataclass
class Agent:
    """One agent; it may be killed, and started again."""

    town: Town
    name: str
    draw: random.Random
    notebook: list[Entry] = field(default_factory=list[Entry])
    asks_more: bool = True
    _running: asyncio.Task[None] | None = None

    async def live(self) -> None:
        """Work until the last call is over; a killed one is started again."""
        while self.asks_more or self.unfinished():
            self._running = asyncio.ensure_future(self._work())
            try:
                await asyncio.wait({self._running})
            finally:
                self._running.cancel()
            if not self._running.cancelled():
                self._running.result()

    def kill(self) -> None:
        """End what it does at once, wherever it is; its notebook is on the disk."""
        if self._running is not None:
            self._running.cancel()

    def unfinished(self) -> list[Entry]:
        """Return the calls whose end it does not know."""
        return [entry for entry in self.notebook if not entry.over]

    async def _work(self) -> None:
        while self.asks_more or self.unfinished():
            waiting = self.unfinished()
            if self.asks_more and (len(waiting) < 8 or self.draw.random() < 0.2) and len(waiting) < 40:
                number = len(self.notebook)
                waiting = [Entry(f"INV-{self.name}-{number}", self.draw.choice(KINDS), self.name)]
                self.notebook += waiting
            await self._see_through(self.draw.choice(waiting))
            await asyncio.sleep(self.draw.uniform(0.05, 0.4))

    async def _see_through(self, entry: Entry) -> None:
        if entry.request is None and not await self._asked(entry):
            return
        assert entry.request is not None
        if self.draw.random() < 0.1:
            await self._asks_again(entry)
        if entry.kind == "withdrawn" and self.draw.random() < 0.5:
            await self.town.door.call(self.name, "POST", f"/v1/requests/{entry.request['id']}/cancel", {})
        await self._outcome(entry)

    async def _asked(self, entry: Entry) -> bool:
        """Submit it; False: nothing is known yet, or it may be asked again later."""
        answer = await self.town.door.call(self.name, "POST", "/v1/requests", entry.body, key=entry.reference)
        if answer is None or answer.status_code in {429, 503}:
            return False
        told = answer.json()
        if answer.status_code == 202:
            entry.request = told["request"]
            entry.first_digest = told["request"]["digest"]
            copies = self.draw.choice(["", "", "ab"]) or "a"
            entry.claims = [f"claim-{entry.reference}-{copy}" for copy in copies]
            self.town.figures.created[told["request"]["id"]] = entry.reference
            return True
        if answer.status_code == 200 and told.get("rule") != "paused":
            entry.over = f"denied at the gate by {told.get('rule')}"
            self.town.figures.wrong.append(f"{entry.reference}: {told}")
        elif answer.status_code != 200:
            self.town.figures.wrong.append(f"{entry.reference}: {answer.status_code} {answer.text[:300]}")
            entry.over = f"refused: {answer.status_code}"
        return False

    async def _asks_again(self, entry: Entry) -> None:
        """Do as one who does not know that it was asked, or carried out: the key stands for one request."""
        answer = await self.town.door.call(self.name, "POST", "/v1/requests", entry.body, key=entry.reference)
        assert entry.request is not None
        if answer is None or answer.status_code in {429, 503} or answer.json().get("rule") == "paused":
            return
        if answer.status_code != 202 or answer.json()["request"]["id"] != entry.request["id"]:
            self.town.figures.wrong.append(f"{entry.request['id']}: asked again, and told {answer.text[:300]}")

    async def _outcome(self, entry: Entry) -> None:
        assert entry.request is not None
        wait = self.draw.choice([0, 2, 5])
        path = f"/v1/requests/{entry.request['id']}"
        answer = await self.town.door.call(self.name, "GET", f"{path}?wait={wait}", wait=wait)
        if answer is None or answer.status_code != 200:
            return
        entry.request = answer.json()
        state = answer.json()["state"]
        if entry.kind == "wire" and state in {"approved", "executing"}:
            await self._pays(entry, answer.json()["digest"])
        elif entry.kind == "wire" and state == "pending" and self.draw.random() < 0.2:
            await self._pays(entry, self.draw.choice([answer.json()["digest"], entry.first_digest]))
        elif state in _FINAL and not (state == "unknown" and entry.kind == "wire" and not await self._settles(entry)):
            entry.over = state
            if self.draw.random() < 0.2:
                await self._asks_again(entry)

    # --- what it runs itself ------------------------------------------------------------------------------------------

    async def _pays(self, entry: Entry, digest: str) -> None:
        """Claim, pay under the grant's key, report: each of them again, until there is an answer."""
        assert entry.request is not None
        if entry.first_digest != entry.request["digest"] and self.draw.random() < 0.5:
            digest = entry.first_digest
        await asyncio.gather(*(self._pays_as(claim_id, entry, digest) for claim_id in entry.claims))

    async def _pays_as(self, claim_id: str, entry: Entry, digest: str) -> None:
        assert entry.request is not None
        path, figures = f"/v1/requests/{entry.request['id']}", self.town.figures
        body = {"digest": digest, "claim_id": claim_id}
        claimed = await self.town.door.call(self.name, "POST", f"{path}/claim", body)
        if claimed is None or claimed.status_code != 200:
            return
        figures.handed_out[entry.request["id"]].add(claim_id)
        if claimed.json()["digest"] != digest:
            figures.wrong.append(f"{entry.request['id']} was handed out under a digest of before its change")
        if await self._at_the_ledger(claimed.json()["arguments"], claimed.json()["grant_id"]):
            told = {"claim_id": claim_id, "status": "succeeded"}
            await self.town.door.call(self.name, "POST", f"{path}/outcome", told)

    async def _at_the_ledger(self, arguments: dict[str, Any], grant_id: str) -> bool:
        headers = {**self.town.ledger_headers, "idempotency-key": grant_id}
        try:
            async with httpx2.AsyncClient(base_url=self.town.ledger_url, timeout=5, trust_env=False) as ledger:
                paid = await ledger.post("/payments", json=arguments, headers=headers)
        except httpx2.HTTPError:
            return False
        return paid.status_code in {200, 201}

    async def _settles(self, entry: Entry) -> bool:
        """Look an unknown outcome up in the ledger; what has no record stays for people."""
        assert entry.request is not None
        grant = entry.request["grant"]["id"]
        try:
            async with httpx2.AsyncClient(base_url=self.town.ledger_url, timeout=5, trust_env=False) as ledger:
                found = await ledger.get(f"/payments/{grant}", headers=self.town.ledger_headers)
        except httpx2.HTTPError:
            return False
        if found.status_code == 404:
            return True
        body = {"status": "succeeded", "note": "the ledger has it"}
        path = f"/v1/requests/{entry.request['id']}/reconcile"
        settled = await self.town.door.call(self.name, "POST", path, body)
        return settled is not None and settled.status_code in {200, 409}
