"""The demo's payments: the page offers each kind, the model understands them, and a false one is noticed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from playwright.async_api import expect

from app.domain.text.language import Language
from examples.demo import act
from examples.demo.act import NotSoError, until
from examples.demo.act_executor import INVOICE, Enforced
from examples.demo.orders import BATCH, BUTTONS, DROP, PAYMENTS, WIRE
from examples.demo.page import serve_page
from examples.demo.trail import told
from examples.screenshots import open_page
from examples.scripted_model import DROP as DROP_TABLE
from examples.scripted_model import PAY_BATCH, Message, answer
from examples.scripted_model import WIRE as WIRE_TOOL
from tests.examples.test_demo import needs_chromium, puts_a_database_up
from tests.examples.test_demo import until as seen
from tests.fixtures.demo_stage import stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

    from examples.demo.stage import Stage

__all__ = ["stage"]

PATIENCE = 90_000


# --- what is noticed --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "claims", "fault"),
    [
        ({}, 1, None),
        ({"amount": "120,000.01"}, 1, "what was approved was paid"),
        ({"payee": "Meridian Too1ing"}, 1, "what was approved was paid"),
        ({"grant": "gra_another"}, 1, "the bank's key is the grant"),
        ({"invoice": "2026-0161"}, 1, "one payment for invoice 2026-0160, not 0"),
        ({"twice": True}, 1, "one payment for invoice 2026-0160, not 2"),
        ({}, 2, "taken once, not 2 times"),
    ],
)
def test_a_wire_that_is_not_the_approved_one_is_noticed(change: dict[str, Any], claims: int, fault: str | None) -> None:
    entry = {
        "grant": "gra_1", "payee": WIRE.payee, "amount": "120,000.00", "currency": "CNY", "invoice": INVOICE,
    } | {name: value for name, value in change.items() if name != "twice"}  # fmt: skip
    claimed = [{"actor": "key:executor", "facts": {"grant": "gra_1"}}] * claims
    trail = SimpleNamespace(of=lambda *_: claimed)
    paid = [entry] * (2 if "twice" in change else 1)
    enforced = Enforced(cast("Stage", SimpleNamespace(paid=lambda: paid, trail=trail)))

    if fault is None:
        enforced.require_paid_once("req_1")
    else:
        with pytest.raises(NotSoError, match=fault):
            enforced.require_paid_once("req_1")


async def test_what_does_not_come_to_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(act, "_PATIENCE_SECONDS", 0.0)

    with pytest.raises(NotSoError, match="the bank has booked it: not within 0 seconds"):
        await until("the bank has booked it", lambda: False)


def test_a_wrong_code_and_the_executor_are_told_as_what_they_are() -> None:
    facts = {"channel": "pay-feishu", "why": "wrong_code"}
    wrong = {"kind": "click.refused", "actor": "wang@acme.example", "facts": facts}
    taken = {"kind": "grant.claimed", "actor": "key:abc", "facts": {}}

    why = "what was typed does not stand on the card"
    assert told(wrong, {"wang@acme.example": "王芳"}) == f"王芳 pressed on Feishu; it did not count ({why})"
    assert told(taken, {}) == "The executor took the approval and began to run it"


# --- the agent --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("button", BUTTONS)
def test_the_model_understands_every_order_that_the_page_offers(button: str, language: Language) -> None:
    for order in BUTTONS[button].orders:
        said = order.order("2026-0900", language)
        call = answer([Message(role="user", text=said)])

        assert call.arguments is not None, said
        assert call.text in said
        if order is DROP:
            assert (call.tool, call.arguments) == (DROP_TABLE, {"table": "staging_0900"})
            continue
        wanted = call.arguments.get("lines", [call.arguments])
        assert all(line["payee"] in said for line in wanted)
        assert all(f"{int(str(line['amount']).split('.')[0]):,}" in said for line in wanted)
        assert (call.tool == PAY_BATCH) == (order is BATCH)
        assert (call.tool == WIRE_TOOL) == (order is WIRE)


@pytest.mark.process
@puts_a_database_up
@pytest.mark.heavy
async def test_an_agent_that_was_dead_while_the_executor_paid_is_told_its_result(stage: Stage) -> None:
    stage.ask_agent(WIRE.order("2026-0701"))
    await seen(lambda: stage.feishu.view(stage.chat))
    await stage.agent.kill()
    message_id = str(stage.feishu.view(stage.chat)[0]["message_id"])
    press = await stage.feishu.press(stage.visitors["wang"].feishu, message_id, "approve")
    assert press.error is None
    await seen(stage.bank.entries)

    await stage.agent.start()
    await seen(lambda: any("R-0001" in line["what"] for line in stage.agent_log() if line["who"] == "assistant"))

    assert stage.ledger.entries() == []
    assert [entry["invoice"] for entry in stage.bank.entries()] == ["2026-0701"]


# --- the page ---------------------------------------------------------------------------------------------------------


async def press_approve(page: Page) -> Locator:
    approve = page.locator("#feishu").get_by_role("button", name="Approve", exact=True)
    await expect(approve).to_be_visible(timeout=PATIENCE)
    await approve.click()
    return approve


async def approve_in_feishu(page: Page) -> None:
    """Approve, and wait until the card says so: on a slow day it is else this card that the next press finds."""
    await expect(await press_approve(page)).to_have_count(0, timeout=PATIENCE)


@pytest.mark.heavy
@pytest.mark.process
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_every_button_asks_for_what_it_says_in_both_languages(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        for key, button in BUTTONS.items():
            await expect(page.locator(f"#ask-{key}")).to_have_text(button.label, timeout=PATIENCE)
        await approve_in_feishu(page)
        await page.locator("#ask-split").click()
        await expect(page.locator("#slack")).to_contain_text("over budget payee-day", timeout=PATIENCE)
        await approve_in_feishu(page)
        await page.locator("#ask-batch").click()
        await expect(page.locator("#slack")).to_contain_text(f"¥{BATCH.total:,}.00 CNY", timeout=PATIENCE)
        await approve_in_feishu(page)

        await expect(page.locator("#ledger .paid")).to_have_count(1 + 5 + 3, timeout=PATIENCE)
        await expect(page.locator(".unknown")).to_have_count(0)


@pytest.mark.heavy
@requirement("S-29")
@pytest.mark.process
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_in_the_page_a_new_payee_takes_what_is_typed_and_not_a_click(stage: Stage) -> None:
    stranger = PAYMENTS["stranger"]
    async with serve_page(stage) as url, open_page(url) as page:
        await approve_in_feishu(page)
        await page.locator("#ask-stranger").click()
        typed = page.locator("#feishu input[name=approve_typed]")
        await typed.fill("WR0N-GC0D", timeout=PATIENCE)
        await press_approve(page)
        await expect(page.locator("#feishu-toasts .toast")).to_contain_text("Tries left: 2", timeout=PATIENCE)
        await expect(page.locator("#trail")).to_contain_text(
            "what was typed does not stand on the card", timeout=PATIENCE
        )
        assert [entry["payee"] for entry in stage.paid()] == [PAYMENTS["large"].payee]
        await page.locator("#slack").get_by_role("button", name="Approve", exact=True).click()
        form = page.get_by_role("dialog", name="Approve")
        await form.locator("input").fill("90,000")
        await form.get_by_role("button", name="Approve", exact=True).click()

        await expect(page.locator("#ledger")).to_contain_text(stranger.payee, timeout=PATIENCE)
    assert len(stage.paid()) == 2


@pytest.mark.heavy
@pytest.mark.process
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_an_executor_that_was_dead_during_the_approval_is_started_by_the_mouse_and_pays_once(
    stage: Stage,
) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        await approve_in_feishu(page)
        await page.locator("#kill-executor").click()
        await expect(page.locator(".machine.dead")).to_contain_text("Executor", timeout=PATIENCE)
        await page.locator("#ask-wire").click()
        await approve_in_feishu(page)
        await expect(page.locator("#hint")).to_contain_text("Start the executor", timeout=PATIENCE)
        assert stage.bank.entries() == []
        await page.locator("#start-executor").click()

        await expect(page.locator("#ledger")).to_contain_text("120,000.00 CNY", timeout=PATIENCE)
        await expect(page.locator("#slack")).to_contain_text("Result · Receipt", timeout=PATIENCE)
    assert [entry["receipt"] for entry in stage.bank.entries()] == ["R-0001"]
