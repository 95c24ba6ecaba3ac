"""The demo without a person: every promise played and checked, in under a minute. The first that fails ends it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from examples.demo.act import Act, require, step
from examples.demo.act_console import InConsole
from examples.demo.act_executor import Enforced
from examples.demo.act_payments import Amounts
from examples.demo.act_waiting import Waiting
from examples.demo.orders import BATCH, PAYMENTS, SLICES

if TYPE_CHECKING:
    from examples.demo.stage import Stage

_PAID = 1 + 1 + 1 + (SLICES - 1) + len(BATCH.lines) + 1 + 1
_REQUEST = "request.created"
_RAN = ("request.approved", "grant.claimed", "execution.succeeded")


class Play(Act):
    """The story, act by act."""

    def __init__(self, stage: Stage) -> None:
        """Play on one stage."""
        super().__init__(stage)
        self._waiting, self._amounts, self._enforced = Waiting(stage), Amounts(stage), Enforced(stage)
        self._console = InConsole(stage)
        self._started = time.monotonic()

    async def run(self) -> None:
        """Play it all. Raises NotSoError."""
        for title, act in (
            ("A payment of ¥80,000, and everything dies while it waits", self._waiting.survives),
            ("A second one: a question, an answer, and a no with a reason", self._waiting.denied),
            ("A third one, and nobody answers", self._waiting.expires),
            ("A fourth one, decided in the console; and all of it in Chinese by one switch", self._console.decides),
            ("Small ones go by themselves, until they are too much together", self._amounts.tiers),
            ("Three invoices in one call: one card, one approval", self._amounts.batch),
            ("Somebody who was never paid: one level more than a click", self._amounts.stranger),
            ("No payment, and nobody but the agent's own owner to ask", self._console.alone),
            ("A wire that only the executor can make, and it is killed in the middle", self._enforced.unknown),
            ("What the audit trail says", self._proven),
        ):
            print(f"\n{title}", flush=True)
            await act()
        print(f"\nAll of it is so: {time.monotonic() - self._started:.0f} seconds.")

    async def _proven(self) -> None:
        """Print the timeline and check it, the chain, the ledger, and what was ever shown."""
        stage = self._stage
        requests = stage.trail.requests()
        await self._settled_as(requests[-1], "card.retired", times=2)
        for line in stage.trail.lines():
            print(f"    {line['at']}  {'#' + line['request'] if line['request'] else '  '}  {line['what']}")
        async with step("each of the nine has one end, in the right order"):
            stories = [
                _RAN,
                ("request.asked_back", "request.answered", "request.denied"),
                ("request.reminded", "request.reminded", "request.expired"),  # at half of the ten seconds, and at nine
                _RAN,
                ("request.denied",),
                _RAN,
                _RAN,
                _RAN,
                ("request.approved", "grant.claimed", "execution.unknown", "execution.reconciled"),
            ]
            require(len(requests) == len(stories), f"people were asked {len(stories)} times, not {len(requests)}")
            for request_id, story in zip(requests, stories, strict=True):
                self._require_order(request_id, _REQUEST, *story)
                posted = len(stage.trail.of(request_id, "card.posted"))
                told = 2 if request_id == self._console.alone_as else 0  # to whom approved with a second factor
                require(posted == 2 + told, f"each has one card on each platform, not {posted}")
        async with step("`assent audit verify` finds the chain unbroken"):
            await self._verify_chain()
        async with step(f"the ledgers have {_PAID} lines: what was approved or allowed, each once, and nothing else"):
            require(len(stage.paid()) == _PAID, f"the ledgers have {_PAID} lines, not {len(stage.paid())}")
            self._waiting.require_paid_once(requests[0])
            self._enforced.require_paid_once(requests[-1])
        async with step("no account number was ever on a card, in a note, or in the trail"):
            seen = self._cards.everything_ever_shown() + str(stage.trail.events)
            for payment in (*PAYMENTS.values(), *BATCH.lines):
                require(payment.account not in seen, "an account number was shown")

    def _require_order(self, request_id: str, *kinds: str) -> None:
        seen = [str(event["kind"]) for event in self._stage.trail.of(request_id)]
        story = [kind for kind in seen if not kind.startswith(("card.", "click.", "request.reviewed"))]
        require(story == list(kinds), f"the story is {kinds}, not {story}")

    async def _verify_chain(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._stage.assent,
            "audit",
            "verify",
            "--config",
            str(self._stage.config),
            env=dict(self._stage.environ),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        said = output.decode(errors="replace").strip()
        await self._stage.trail.fetch()
        require(process.returncode == 0, f"the chain is unbroken, not: {said}")
        require(said.startswith(f"{len(self._stage.trail.events)} events"), f"all events were verified, not: {said}")
