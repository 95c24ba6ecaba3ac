"""C1: what it takes to build and render one card, from the stored request to the platform's JSON."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.call.tool_call import ToolCall
from app.domain.card.card_for import card_for
from app.domain.card.shown_call import Terms
from app.domain.request.quorum import Stage, Tally
from app.domain.request.request import ConfirmationRequest
from app.domain.text.language import Language
from app.usecases.cards.compose import without_secrets
from benchmarks.results import Row, below, times
from benchmarks.run import known
from channels.feishu import card as feishu
from channels.slack import card as slack

if TYPE_CHECKING:
    from app.domain.card.card import Card
    from benchmarks.run import Run

_LIMIT = 1e-3
_NOW = datetime(2026, 3, 1, tzinfo=UTC)
_ARGUMENTS = {
    "payee": "恒通钢铁 Hengtong Steel",
    "amount": 80_000,
    "currency": "CNY",
    "invoice": "2026-0118",
    "bank_account": "6222020200112233445",
    "memo": "Steel for the March delivery, lot 7. " * 8,
    "lines": [{"item": f"beam {number}", "price": 4_000, "count": 2} for number in range(10)],
}


async def measure_cards(run: Run) -> list[Row]:
    """C1: a payment with ten lines, for Slack and for Feishu; beside them, writing the same call as JSON."""
    count = int(400 * min(1.0, run.sizes.seconds)) or 1
    taken = await run.medians(
        "C1 card",
        "µs",
        {"slack": lambda: _slack(count), "feishu": lambda: _feishu(count), "json": lambda: _json(count)},
        scale=1e6,
    )
    bare = taken["json"]
    return [
        _row("C1", "a card for Slack, built and rendered", known(taken["slack"]), bare),
        _row("C1b", "the same for Feishu", known(taken["feishu"]), bare),
    ]


async def _slack(count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        slack.render(_card(number, Language.EN, slack.TEXT_BUDGET))
    return (time.perf_counter() - began) / count


async def _feishu(count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        feishu.render_content(_card(number, Language.ZH, feishu.TEXT_BUDGET))
    return (time.perf_counter() - began) / count


async def _json(count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        json.dumps({**_ARGUMENTS, "invoice": f"2026-{number}"}, ensure_ascii=False, indent=2)
    return (time.perf_counter() - began) / count


def _card(number: int, language: Language, budget: int) -> Card:
    arguments = {**_ARGUMENTS, "invoice": f"2026-{number}"}  # each is new: nothing that remembers texts can help
    request = replace(_REQUEST, call=replace(_REQUEST.call, arguments=arguments))
    terms = Terms(
        language=language, name_of=str, money=("amount", "lines.price"), visible_arguments=without_secrets(arguments)
    )
    tally = Tally(have=(0,), stage=0, met=False)
    return card_for(request, terms, revision=1, tally=tally, tokens=("y" * 80, "n" * 80), budget=budget)


_REQUEST = ConfirmationRequest(
    id="req_1",
    call=ToolCall(
        org="acme",
        agent="payer",
        session="s",
        call_id="c",
        tool="oa__purchase_pay",
        arguments=_ARGUMENTS,
        requester="li@acme.example",
        owner=None,
        claim="The supplier ships today only if this is paid before noon.",
    ),
    call_digest="",
    digest="",
    nonce="",
    code="K7QM-3XWA",
    title="Pay 恒通钢铁 Hengtong Steel 80,000 CNY",
    pinned=("payee", "amount", "currency", "invoice"),
    sensitive=("bank_account",),
    rule_id="large",
    policy_version="p1",
    why="Payments over 50,000 need finance. (args.amount = 80000)",
    stages=(Stage(of=("finance",), need=2),),
    channels=("chat",),
    claim_within=timedelta(minutes=10),
    lease=timedelta(minutes=5),
    created_at=_NOW,
    expires_at=_NOW + timedelta(hours=2),
)


def _row(goal: str, title: str, value: float, bare: float | None) -> Row:
    return Row(
        id=goal,
        title=title,
        measured=f"{value * 1e6:.0f} µs",
        reference=f"the call as indented JSON {known(bare) * 1e6:.0f} µs",
        ratio=times(value, bare),
        must=(below(value, _LIMIT, f"{_LIMIT * 1e3:g} ms"),),
        figures={"assent": value, "json": bare},
    )
