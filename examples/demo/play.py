"""The demo without a person: every promise played and checked, in under a minute. The first that fails ends it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

from app.domain.card import Language
from app.domain.words import say
from examples.demo.hands import Cards, Hands
from examples.demo.orders import PAYMENTS
from examples.demo.stage import AGENT, CONFIG
from examples.scripted_model import explain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from examples.demo.stage import Stage, Visitor

_PATIENCE_SECONDS = 20.0
QUESTION = "Why is this more than the order?"
REASON = "The delivery is short by two tons; ask for a new invoice."


class NotSoError(Exception):
    """Something that the demo promises is not so."""


class Play:
    """The story, act by act."""

    def __init__(self, stage: Stage) -> None:
        """Play on one stage."""
        self._stage = stage
        self._hands = Hands(stage)
        self._cards = Cards(stage)
        self._started = time.monotonic()

    async def run(self) -> None:
        """Play it all. Raises NotSoError."""
        _title("A payment of ¥80,000, and everything dies while it waits")
        await self.survives()
        _title("A second one: a question, an answer, and a no with a reason")
        await self.denied()
        _title("A third one, and nobody answers")
        await self.expires()
        _title("What the audit trail says")
        await self.proven()
        seconds = time.monotonic() - self._started
        print(f"\nAll of it is so: {seconds:.0f} seconds.")

    # --- the acts -----------------------------------------------------------------------------------------------------

    async def survives(self) -> None:
        """Request, kill, click, start: it runs exactly once."""
        stage, hands, cards = self._stage, self._hands, self._cards
        wang, mallory = stage.visitors["wang"], stage.visitors["mallory"]
        async with _step("the gateway serves (a process of its own, on SQLite)"):
            await _until("the gateway answers", stage.trail.fetch)
        async with _step("the agent asks; the call is on hold, and a card is in Feishu and in Slack"):
            stage.ask_agent(PAYMENTS["large"].order("2026-0118"))
            request_id = await self._request(1)
            await _until("both cards are there", lambda: cards.live(request_id) == [True, True])
        feishu = str((cards.feishu(request_id) or {})["message_id"])
        async with _step("Mallory, who is in both chats, presses Approve: refused, and it still waits"):
            shown = await hands.press_feishu(mallory, feishu, "approve")
            _require(bool(shown.text) and shown.kind != "success", f"Mallory is refused, but she saw {shown}")
            await self._settled_as(request_id, "click.refused")
            _require(cards.live(request_id) == [True, True], "the cards still wait")
        async with _step("kill -9 the gateway, kill -9 the agent; the click of 王芳 finds nobody, Feishu says so"):
            await asyncio.gather(stage.gateway.kill(), stage.agent.kill())
            _require(stage.gateway.pid is None and stage.agent.pid is None, "both are dead")
            shown = await hands.press_feishu(wang, feishu, "approve")
            _require(shown.kind == "error", f"Feishu reports an error, not {shown}")
        async with _step("the gateway starts again; 王芳 presses Approve while the agent is still dead"):
            await stage.gateway.start()
            await _until("the gateway answers", stage.trail.fetch)
            shown = await hands.press_feishu(wang, feishu, "approve")
            _require(shown.kind == "success", f"the click is recorded, not {shown}")
            await self._settled_as(request_id, "request.approved")
            _require(not stage.ledger.entries(), "nothing is paid without the agent")
        async with _step(
            "the agent starts again, finds its approved call, and pays: exactly once, exactly as approved"
        ):
            await stage.agent.start()
            await self._settled_as(request_id, "execution.succeeded")
            self._require_paid_once(request_id)
        async with _step("both cards are settled, without buttons"):
            await _until("both cards are settled", lambda: cards.live(request_id) == [False, False])
        async with _step(
            "the very same signed click arrives again, and the agent dies and starts again: still one line"
        ):
            reply = await stage.feishu.deliver(stage.feishu.last_delivery)
            _require(reply.status == 200, f"a repeated click is answered, not {reply.status}")
            await stage.agent.kill()
            await stage.agent.start()
            await _until("the agent is back", lambda: stage.agent_log()[-1]["who"] == "started")
            self._require_paid_once(request_id)

    async def denied(self) -> None:
        """Ask and be answered, then deny in Slack, through the modal; the agent is told why."""
        stage, hands, cards = self._stage, self._hands, self._cards
        wang = stage.visitors["wang"]
        async with _step("the agent asks again; both cards are there"):
            stage.ask_agent(PAYMENTS["large"].order("2026-0119"))
            request_id = await self._request(2)
            await _until("both cards are there", lambda: cards.live(request_id) == [True, True])
        slack = str((cards.slack(request_id) or {})["ts"])
        async with _step("Wang asks a question in Slack; the agent answers, and both cards say so; nothing is decided"):
            await stage.slack.use(wang.slack, stage.slack.room.id, slack, say(Language.EN, "control.ask"))
            await self._fill_in(wang, QUESTION)
            await self._settled_as(request_id, "request.answered")
            said = explain("2026-0119")
            await _until("both cards have the answer", lambda: _on_all((cards.feishu, cards.slack), request_id, said))
            _require(cards.live(request_id) == [True, True], "the cards still wait")
        async with _step("Wang presses Deny; a modal asks why; she says why"):
            await hands.press_slack(wang, slack, "assent_deny")
            await self._fill_in(wang, REASON)
            await self._settled_as(request_id, "request.denied")
        async with _step("the agent is told no, and why; it does not pay"):
            await _until("the agent knows", lambda: any(REASON in line["what"] for line in stage.agent_log()))
            _require(len(stage.ledger.entries()) == 1, "a denied payment is not paid")
        async with _step("both cards are settled, the one in Feishu too"):
            await _until("both cards are settled", lambda: cards.live(request_id) == [False, False])

    async def expires(self) -> None:
        """Let a short deadline pass."""
        stage, cards = self._stage, self._cards
        async with _step("the agent asks; the rule gives ten seconds"):
            stage.ask_agent(PAYMENTS["foreign"].order("2026-0120"))
            request_id = await self._request(3)
            await _until("both cards are there", lambda: cards.live(request_id) == [True, True])
        async with _step("nobody answers: it expires, for silence is not consent; the agent is told"):
            await self._settled_as(request_id, "request.expired")
            await _until(
                "the agent knows", lambda: any("silence is not consent" in x["what"] for x in stage.agent_log())
            )
            _require(len(stage.ledger.entries()) == 1, "an expired payment is not paid")
        async with _step("both cards are settled"):
            await _until("both cards are settled", lambda: cards.live(request_id) == [False, False])

    async def proven(self) -> None:
        """Print the timeline and check it, the chain, the ledger, and what was ever shown."""
        stage = self._stage
        await self._settled_as(stage.trail.requests()[2], "card.retired", times=2)
        for line in stage.trail.lines():
            print(f"    {line['at']}  {'#' + line['request'] if line['request'] else '  '}  {line['what']}")
        first, second, third = stage.trail.requests()
        async with _step("each of the three has one end, in the right order"):
            self._require_order(first, "request.created", "request.approved", "grant.claimed", "execution.succeeded")
            talk = ("request.asked_back", "request.answered")
            self._require_order(second, "request.created", *talk, "request.denied")
            reminded = ("request.reminded", "request.reminded")  # at half of the ten seconds, and at nine of them
            self._require_order(third, "request.created", *reminded, "request.expired")
            for request_id in (first, second, third):
                _require(len(stage.trail.of(request_id, "card.posted")) == 2, "each has one card on each platform")
        async with _step("`assent audit verify` finds the chain unbroken"):
            await self._verify_chain()
        async with _step("the ledger has one line"):
            self._require_paid_once(first)
        async with _step("no account number was ever on a card, in a note, or in the trail"):
            seen = self._cards.everything_ever_shown() + str(stage.trail.events)
            for payment in PAYMENTS.values():
                _require(payment.account not in seen, "an account number was shown")

    async def _fill_in(self, visitor: Visitor, text: str) -> None:
        """Submit the modal that opens, with one text."""
        slack = self._stage.slack
        await _until("the modal is open", lambda: slack.modal_of(visitor.slack) is not None)
        modal = slack.modal_of(visitor.slack)
        shown = await self._hands.submit_slack(visitor, modal.id if modal else "", text)
        _require(shown.kind != "error", f"what was typed is taken, not {shown}")

    # --- what is looked at --------------------------------------------------------------------------------------------

    async def _request(self, number: int) -> str:
        async def made() -> bool:
            await self._stage.trail.fetch()
            return len(self._stage.trail.requests()) >= number

        await _until(f"request {number} stands", made)
        return self._stage.trail.requests()[number - 1]

    async def _settled_as(self, request_id: str, kind: str, *, times: int = 1) -> None:
        async def told() -> bool:
            await self._stage.trail.fetch()
            return len(self._stage.trail.of(request_id, kind)) >= times

        await _until(f"the trail says {kind}", told)

    def _require_order(self, request_id: str, *kinds: str) -> None:
        seen = [str(event["kind"]) for event in self._stage.trail.of(request_id)]
        story = [kind for kind in seen if not kind.startswith(("card.", "click."))]
        _require(story == list(kinds), f"the story is {kinds}, not {story}")

    def _require_paid_once(self, request_id: str) -> None:
        entries, wanted = self._stage.ledger.entries(), PAYMENTS["large"]
        _require(len(entries) == 1, f"the ledger has one line, not {len(entries)}")
        approved = (wanted.payee, wanted.amount, wanted.currency, "2026-0118", wanted.account)
        paid = tuple(entries[0][name] for name in ("payee", "amount", "currency", "invoice", "account"))
        _require(paid == approved, f"what was approved was paid, not {paid}")
        claims = self._stage.trail.of(request_id, "grant.claimed")
        _require(len(claims) == 1 and claims[0]["actor"] == f"agent:{AGENT}", "the agent took the approval once")
        granted = cast("dict[str, object]", claims[0]["facts"])["grant"]
        _require(entries[0]["grant"] == granted, "the line names the grant of the approval")

    async def _verify_chain(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._stage.assent,
            "audit",
            "verify",
            "--config",
            str(CONFIG),
            env=dict(self._stage.environ),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        said = output.decode(errors="replace").strip()
        await self._stage.trail.fetch()
        _require(process.returncode == 0, f"the chain is unbroken, not: {said}")
        _require(said.startswith(f"{len(self._stage.trail.events)} events"), f"all events were verified, not: {said}")


def _on_all(places: Iterable[Callable[[str], object]], request_id: str, text: str) -> bool:
    return all(text in json.dumps(card(request_id), ensure_ascii=False) for card in places)


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise NotSoError(what)


async def _until(what: str, so: Callable[[], object]) -> None:
    """Look until it is so, twenty times a second."""
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        seen = so()
        if await seen if asyncio.iscoroutine(seen) else seen:
            return
        if time.monotonic() > end:
            raise NotSoError(f"{what}: not within {_PATIENCE_SECONDS:.0f} seconds")
        await asyncio.sleep(0.05)


@asynccontextmanager
async def _step(sentence: str) -> AsyncIterator[None]:
    """Say what is going on, and then that it is done and how long it took."""
    back = "\r" if sys.stdout.isatty() else ""
    if back:
        print(f"  … {sentence}", end="", flush=True)
    started = time.monotonic()
    try:
        yield
    except BaseException:
        print(f"{back}  ✗ {sentence}", flush=True)
        raise
    print(f"{back}  ✓ {sentence}  ({time.monotonic() - started:.1f} s)", flush=True)


def _title(text: str) -> None:
    print(f"\n{text}", flush=True)
