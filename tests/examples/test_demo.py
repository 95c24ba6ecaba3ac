"""The demo keeps its promises when nobody watches, says so when it does not, and its page really presses buttons."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest
import yaml
from playwright.async_api import expect

from app.domain.trail.audit import Kind
from examples.demo import __main__ as program
from examples.demo.act import NotSoError
from examples.demo.act_waiting import Waiting
from examples.demo.orders import PAYMENTS
from examples.demo.page import Page, serve_page
from examples.demo.play import Play
from examples.demo.stage import AGENT, CONFIG, ROOT, Stage
from examples.demo.trail import BEHIND_THE_SCENES, told
from examples.payment_ledger import Ledger
from examples.screenshots import PHONE, find_chromium, open_page
from tests.fixtures.demo_stage import SECONDS, stage
from tests.fixtures.patience import HANGS
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.process

__all__ = ["stage"]

puts_a_database_up = pytest.mark.may_block  # the demo's stage migrates its database before anything else runs
needs_chromium = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


async def until(so: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not so():  # noqa: ASYNC110 - other processes and files set no event
            await asyncio.sleep(0.05)


@pytest.mark.heavy
@requirement("S-29", "S-31", "F-09")
@pytest.mark.timeout(300)
def test_the_demo_plays_itself_and_finds_everything_so() -> None:
    environ = {**os.environ, "PYTHONUTF8": "1"}
    played = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--auto"],
        cwd=ROOT, env=environ, capture_output=True, encoding="utf-8", timeout=280, check=False,
    )  # fmt: skip

    assert played.returncode == 0, played.stdout + played.stderr
    assert "✗" not in played.stdout
    assert played.stdout.strip().splitlines()[-1].startswith("All of it is so")
    for promised in ("over the payee's budget", "each line is paid once", "types a wrong code", "nobody knows", "once"):
        assert any(promised in line for line in played.stdout.splitlines() if "✓" in line)


@pytest.mark.heavy
def test_the_demo_prints_one_link_and_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONUTF8": "1", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "examples.demo"], cwd=ROOT, env=environ, stdout=subprocess.PIPE, encoding="utf-8"
    ) as demo:
        assert demo.stdout is not None
        link = next(line.split()[-1] for line in demo.stdout if "http://" in line)
        page = httpx2.get(link, trust_env=False, timeout=HANGS)
        with httpx2.stream("GET", f"{link}/events", trust_env=False) as events:
            picture = json.loads(next(events.iter_lines()).removeprefix("data: "))
        children = [int(picture[name]["state"].removeprefix("pid ")) for name in ("gateway", "agent", "executor")]
        demo.send_signal(signal.SIGINT)
        ended_with = demo.wait(timeout=SECONDS)

    assert "<title>Assent" in page.text
    assert ended_with == 0
    assert list(tmp_path.iterdir()) == []
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


@puts_a_database_up
def test_a_demo_that_is_not_so_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def nothing_is_so(_: Play) -> None:
        raise NotSoError("the ledger has one line, not 2")

    monkeypatch.setattr(Play, "run", nothing_is_so)

    assert program.main(["--auto"]) == 1
    assert "NOT SO: the ledger has one line, not 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"amount": 80_001}, "what was approved was paid"),
        ({"account": "6222020200112230000"}, "what was approved was paid"),
        ({"grant": "gra_another"}, "names the grant"),
        ({"twice": True}, "one line for invoice 2026-0118, not 2"),
        ({"invoice": "2026-0119"}, "one line for invoice 2026-0118, not 0"),
    ],
)
def test_a_payment_that_is_not_the_approved_one_is_noticed(
    tmp_path: Path, change: dict[str, Any], fault: str | None
) -> None:
    wanted = PAYMENTS["large"]
    payment: dict[str, Any] = {
        "grant": "gra_1", "payee": wanted.payee, "amount": wanted.amount, "currency": wanted.currency,
        "invoice": "2026-0118", "account": wanted.account,
    } | {name: value for name, value in change.items() if name != "twice"}  # fmt: skip
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for _ in range(2 if "twice" in change else 1):
        ledger.pay(**payment)
    claims = [{"actor": f"agent:{AGENT}", "facts": {"grant": "gra_1"}}]
    trail = SimpleNamespace(of=lambda *_: claims)
    waiting = Waiting(cast("Stage", SimpleNamespace(paid=ledger.entries, trail=trail)))

    if fault is None:
        waiting.require_paid_once("req_1")
    else:
        with pytest.raises(NotSoError, match=fault):
            waiting.require_paid_once("req_1")


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind.value not in BEHIND_THE_SCENES])
def test_every_event_of_the_trail_is_told_as_a_sentence(kind: Kind) -> None:
    event = {"kind": kind.value, "actor": "wang@acme.example", "facts": {"channel": "pay-slack", "reason": "no"}}

    assert " " in told(event, {})
    assert kind.value not in told(event, {})


def test_the_trail_calls_people_what_the_cards_call_them() -> None:
    people = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["people"]
    wang = Stage().visitors["wang"]
    approved = {"kind": "request.approved", "actor": wang.email, "facts": {"channel": "pay-feishu", "assurance": "L1"}}

    assert people[wang.email]["name"] == wang.name
    assert told(approved, {wang.email: wang.name}) == "王芳 Wang Fang approved on Feishu at L1; that was enough"


# --- the agent --------------------------------------------------------------------------------------------------------


@requirement("F-07")
@puts_a_database_up
@pytest.mark.heavy
async def test_an_agent_that_was_dead_during_the_denial_is_told_no_and_asks_nobody_again(stage: Stage) -> None:
    wang = stage.visitors["wang"]
    stage.ask_agent(PAYMENTS["large"].order("2026-0500"))
    await until(lambda: stage.feishu.view(stage.chat))
    await stage.agent.kill()
    message_id = str(stage.feishu.view(stage.chat)[0]["message_id"])
    press = await stage.feishu.deny(wang.feishu, message_id, "Not this month.")
    assert press.error is None

    await stage.agent.start()
    await until(lambda: any("Not this month." in line["what"] for line in stage.agent_log()))
    await until(lambda: stage.agent_log()[-1]["who"] == "assistant")

    await stage.trail.fetch()
    assert len(stage.trail.requests()) == 1
    assert stage.ledger.entries() == []


@puts_a_database_up
async def test_a_small_payment_is_allowed_by_a_rule_and_nobody_is_asked(stage: Stage) -> None:
    stage.ask_agent(PAYMENTS["small"].order("2026-0600"))
    await until(stage.ledger.entries)

    await stage.trail.fetch()
    assert stage.trail.requests() == []
    assert stage.feishu.view(stage.chat) == []
    assert "call.allowed" in {event["kind"] for event in stage.trail.events}


@puts_a_database_up
@pytest.mark.heavy
async def test_the_agents_log_shows_no_account_number(stage: Stage) -> None:
    stage.ask_agent(PAYMENTS["small"].order("2026-0700"))
    await until(stage.ledger.entries)

    log = json.dumps(stage.agent_log(), ensure_ascii=False)
    assert "bank_account=•••" in log
    assert PAYMENTS["small"].account not in log


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"host": "evil.example", "content-type": "application/json"}, "{}", 400),
        ({"host": "127.0.0.1", "content-type": "text/plain"}, '{"act": "kill", "what": "agent"}', 415),
        ({"host": "127.0.0.1", "content-type": "application/json"}, '{"act": "delete"}', 400),
        ({"host": "127.0.0.1", "content-type": "application/json"}, '{"act": "kill", "what": "init"}', 400),
        ({"host": "127.0.0.1", "content-type": "application/json"}, "[]", 400),
    ],
)
async def test_another_site_can_press_nothing_and_strange_acts_are_refused(
    headers: dict[str, str], body: str, status: int
) -> None:
    page = Page(Stage())  # a stage that was never put up: nothing may be reached
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(page.app), base_url="http://127.0.0.1") as client:
        answer = await client.post("/act", headers=headers, content=body)

    assert answer.status_code == status


@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_approve_pressed_in_the_page_lets_the_agent_pay_and_settles_both_cards(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        feishu, slack = page.locator("#feishu"), page.locator("#slack")
        await expect(feishu.get_by_role("button", name="Approve", exact=True)).to_be_visible(timeout=20_000)
        await slack.get_by_role("button", name="Approve", exact=True).click()
        dialog = page.get_by_role("dialog", name="Approve this?")
        await expect(dialog).to_contain_text("It runs once, exactly as shown.")
        assert stage.ledger.entries() == []
        await dialog.get_by_role("button", name="Approve", exact=True).click()

        await expect(page.locator("#ledger .paid")).to_contain_text("80,000 CNY", timeout=20_000)
        await expect(feishu.get_by_role("button")).to_have_count(0, timeout=20_000)
        await expect(slack.get_by_role("button")).to_have_count(0, timeout=20_000)
        await expect(page.locator("#trail")).to_contain_text("王芳 Wang Fang approved on Slack")
        await expect(slack).to_contain_text("Approved by 王芳 Wang Fang")
        await expect(slack).to_contain_text("80,000 CNY")
        await expect(page.locator(".unknown")).to_have_count(0)
    assert len(stage.ledger.entries()) == 1


@pytest.mark.heavy
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_a_reason_typed_in_feishu_survives_the_pages_updates_and_reaches_the_agent(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        box = page.locator("#feishu input[name=reason]")
        await box.fill("金额不对")
        await page.locator(".person", has_text="Mallory").click()
        await page.locator("#feishu").get_by_role("button", name="Approve", exact=True).click()
        await expect(page.locator("#trail")).to_contain_text("the account is nobody who is known", timeout=20_000)
        await page.locator(".person", has_text="Wang Fang").click()
        await expect(box).to_have_value("金额不对")
        await page.locator("#feishu").get_by_role("button", name="Deny", exact=True).click()

        await expect(page.locator("#log")).to_contain_text("金额不对", timeout=20_000)
        await expect(page.locator("#hint")).to_contain_text("Denied")
    assert stage.ledger.entries() == []


@pytest.mark.heavy
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_an_order_behind_a_waiting_one_is_seen_at_once_and_carried_out_afterwards(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url) as page:
        approve = page.locator("#feishu").get_by_role("button", name="Approve", exact=True)
        await expect(approve).to_be_visible(timeout=20_000)
        await expect(page.locator("#queue")).to_be_empty()
        await page.locator("#ask-small").click()
        await expect(page.locator("#queue")).to_have_text("1 order waits: the agent is busy with #1.")
        await page.locator("#kill-agent").click()
        await page.locator("#ask-small").click()
        await expect(page.locator("#queue")).to_have_text("2 orders wait: the agent is not running.")
        await page.locator("#start-agent").click()
        await approve.click()

        await expect(page.locator("#ledger .paid")).to_have_count(3, timeout=20_000)
        await expect(page.locator("#queue")).to_be_empty()
        await expect(page.locator("#hint")).to_contain_text("A rule allowed this one", timeout=20_000)
        await expect(page.locator("#hint")).to_contain_text("It is paid", timeout=20_000)
        await expect(page.locator("#steps li.skipped")).to_have_text(["–On hold, cards sent", "–A person decides"])


@pytest.mark.heavy
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_a_page_that_is_still_open_when_the_demo_ends_says_so(stage: Stage) -> None:
    async with AsyncExitStack() as served:
        url = await served.enter_async_context(serve_page(stage))
        async with open_page(url) as page:
            await expect(page.locator("#slack").get_by_role("button", name="Approve", exact=True)).to_be_visible(
                timeout=20_000
            )
            await served.aclose()

            await expect(page.locator("#hint")).to_have_text("The demo has ended.")
            await expect(page.locator("main")).to_have_attribute("inert", "")


@pytest.mark.heavy
@needs_chromium
@puts_a_database_up
@pytest.mark.timeout(120)
async def test_on_a_phone_a_card_shows_what_is_asked_above_its_buttons(stage: Stage) -> None:
    async with serve_page(stage) as url, open_page(url, (PHONE[0], 560)) as page:
        for pane, headline in (("#feishu", ".fs-title"), ("#slack", ".sl-section")):
            await expect(page.locator(pane).get_by_role("button").first).to_be_visible(timeout=20_000)
            await page.wait_for_timeout(700)  # the smooth scroll ends; the browser tells nobody when
            frame = await page.locator(pane).bounding_box()
            first = await page.locator(f"{pane} {headline}").first.bounding_box()
            assert frame is not None
            assert first is not None
            assert frame["y"] <= first["y"] <= frame["y"] + frame["height"] / 2
