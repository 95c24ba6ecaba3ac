"""The same warnings on every surface: card, review page, API, command line, and the line that a phone shows."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest

from app.cli.commands import app
from app.domain.request.caution import CautionKind
from app.domain.text.language import Language
from channels.feishu.card import render_card as render_feishu
from channels.slack.card import render as render_slack
from tests.fixtures.commands import Across, CliRunner
from tests.fixtures.gateway import open_gateway
from tests.fixtures.review_visits import Visitor
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

ALICE = "alice@acme.example"
FILE = """\
url: http://127.0.0.1:8080
org: acme
language: %s
default: deny
people:
  alice@acme.example: {name: Alice, memory: U_ALICE}
  olga@acme.example: {name: Olga, memory: U_OLGA}
groups: {finance: [alice@acme.example, olga@acme.example]}
channels: {chat: {type: memory, chat: C1, language: %s}}
calendar: {timezone: UTC, work: {mon-fri: "09:00-18:00"}}
payments: {duplicates: 10d, budgets: [{id: month, per: org, within: 30d, limit: {EUR: 100}}]}
tools:
  pay:
    title: "Pay {payee} {amount}"
    pin: [payee, amount]
    sensitive: [account]
    labels: {memo: {en: Memo, zh: 备注}}
    payment: {amount: amount, currency: currency, payee: payee, account: account, reference: reference}
rules:
  - id: pay
    tools: [pay]
    then: ask
    stages: [{of: [finance]}]
    channels: [chat, api]
    timeout: 30m
    remind: [0.2]
"""
CALL = {"payee": "Acme Ltd", "amount": "5000.00", "currency": "EUR", "account": "DE89370400440532013000", "memo": "x"}
HOSTILE: dict[str, dict[str, Any]] = {
    "turned around": {"payee": "Acme \u202e dtL"},
    "a look-alike payee": {"payee": "\u0440\u0430\u0443\u0440\u0430\u04cf"},
    "mixed letters": {"payee": "\u0410cme Ltd"},
    "a zero-width space": {"payee": "Ac\u200bme Ltd"},
    "a disguise within ASCII": {"payee": "PayPaI"},
    "right to left beside an amount": {"memo": "\u05d0 100"},
    "other digits": {"memo": "no 80\u0966"},
    "too many decimals": {"amount": "5000.001"},
    "a name of an argument": {"m\u0435mo": "x"},
    "a forged line": {"memo": "\u0410cme\n  WARNING  nothing to see\r\x1b[2K"},
    "longer than any card": {"memo": "m" * 20_000 + " \u0410cme"},
    "a look-alike in a sensitive value": {"account": "DE89\u0410370400440532013000"},
    "something of the shape of a secret": {"memo": "\u0410cme AKIAIOSFODNN7EXAMPLE"},
    "more than a card has room for": {"memo": " ".join(f"\u0410cme{number}" for number in range(9))},
    "more than an answer has room for": {"memo": " ".join(f"\u0410cme{number}" for number in range(60))},
    "a near copy": {"payee": "NEAR Ltd."},
    "plain": {},
}
NAMED = {"a near copy": ("near_denied", None), "longer than any card": ("unsearched", "memo")}
"""Warnings that must be among those of a call."""


@pytest.fixture(params=list(Language))
async def g(
    request: pytest.FixtureRequest, sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> AsyncIterator[Gateway]:
    """Run a gateway where everything is late, new and over its budget; platforms' cards are roomy."""
    folder = tmp_path / "orgs"
    folder.mkdir()
    (folder / "acme.yaml").write_text(FILE % (request.param, request.param))
    async with open_gateway(sqlite_url, folder, platform) as gateway:
        yield gateway


class Surfaces:
    """What each surface says of one request."""

    def __init__(self, g: Gateway, request: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self._g = g
        self._request = request
        self._monkeypatch = monkeypatch

    async def api(self, who: str = ALICE) -> list[str]:
        listed = (await self._g.call("GET", "/v1/requests", who=who)).json()["items"]
        read = await self._g.read(self._request, who=who)
        assert next(each for each in listed if each["id"] == read["id"])["warnings"] == read["warnings"]
        return [each["text"] for each in read["warnings"]]

    def card(self) -> list[str]:
        return list(self._g.card(self._request).card.warnings)

    async def page(self) -> list[str]:
        html = await Visitor(gateway=self._g).visit(self._request)
        [first] = re.findall(r'<p class="warning">(.*?)(?:<span>|</p>)', html, re.DOTALL) or [None]
        listed = re.search(r"<summary>(?:Look twice|请仔细核对) · (\d+)</summary><div><ul>(.*?)</ul>", html, re.DOTALL)
        if listed is None:
            return [] if first is None else [unescape(first)]
        told = [unescape(text) for text in re.findall(r"<li>(.*?)</li>", listed[2], re.DOTALL)]
        assert (unescape(first or ""), len(told)) == (told[0], int(listed[1])), (
            "the first of them is the page's one line"
        )
        return told

    async def commands(self) -> tuple[list[str], list[str], str]:
        """Return what `show` warns of, what `approve` warns of before it asks, and the line of `list`."""
        key = (await self._g.key(ALICE))["authorization"].removeprefix("Bearer ")
        whole, loop = httpx2.Client, asyncio.get_running_loop()

        async def run(*words: str, given: str | None = None) -> str:
            with self._monkeypatch.context() as patch:
                transport = Across(self._g, loop)
                patch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=transport))
                env = {"ASSENT_URL": "http://gateway.test/", "ASSENT_KEY": key}
                said = await asyncio.to_thread(CliRunner().invoke, app, ["requests", *words], input=given, env=env)
            return said.stdout

        shown = await run("show", self._request["id"])
        asked = await run("approve", self._request["id"], given="")
        listed = next(line for line in (await run("list")).splitlines() if self._request["id"] in line)
        marked = [line.partition("⚠ WARNING  ")[2] for line in asked.splitlines() if line.startswith("  ⚠ WARNING  ")]
        return list(_labelled(shown)), marked, listed

    def pushed(self) -> dict[str, int]:
        """Return how many warnings each line that a phone shows speaks of: those that it names, and how many more."""
        message = self._g.card(self._request)
        told = [notice.text for under, notice in self._g.platform.notices if under == message.ref]
        feishu = cast("Any", render_feishu(message.card))["config"]["summary"]["content"]
        lines = {"slack": render_slack(message.card)[0], "feishu": feishu, "reminder": told[-1]}
        return {name: _count(line) for name, line in lines.items()}


def _labelled(shown: str) -> Iterator[str]:
    for line in shown.splitlines():
        label, _, text = line.strip().partition("  ")
        if label == "WARNING":
            yield text.strip()


def _count(line: str) -> int:
    said = re.match(r"(?:🔴 )?⚠️ (.+?)(?: \+(\d+))? · (?:Approval needed|待审批|⏰)", line)
    times = [re.search(r" ×(\d+)$", each) for each in said[1].split(" · ")] if said else []
    return sum(int(each[1]) if each else 1 for each in times) + int(said[2] or 0) if said else 0


def _and_more(texts: list[str]) -> tuple[list[str], int]:
    """Take apart the warnings that are said and how many more there are."""
    more = [re.search(r"(?:of this kind: |另有 )(\d+)(?:\.| 条同类警告)", text) for text in texts]
    kept = [text for text, said in zip(texts, more, strict=True) if said is None]
    return kept, sum(int(said[1]) for said in more if said)


async def _agree(g: Gateway, surfaces: Surfaces, what: str, *, least: int) -> None:
    """Make sure that every surface warns of what the page warns of, which has room for all."""
    page = await surfaces.page()
    api, more_in_api = _and_more(await surfaces.api())
    card, more_on_card = _and_more(surfaces.card())
    show, approve, line = await surfaces.commands()

    assert len(set(page)) == len(page) >= least, what
    assert api == page[: len(api)], what
    assert len(api) + more_in_api == len(page), what
    assert bool(more_in_api) == (what == "more than an answer has room for")
    assert card == page[: len(card)], what
    assert len(card) + more_on_card == len(page), what
    assert (_and_more(show)[0], _and_more(approve)[0]) == (api, api), what
    assert f"({len(page)} warnings)" in line, what
    assert surfaces.pushed() == dict.fromkeys(("slack", "feishu", "reminder"), len(page)), what
    assert not [text for text in page if "AKIA" in text or "0440" in text or not text.isprintable()], what


@requirement("S-69")
@pytest.mark.parametrize("third", range(3))  # each of them within a test's time, on a busy machine too
@pytest.mark.sampled(3)
async def test_every_surface_warns_of_the_same(g: Gateway, monkeypatch: pytest.MonkeyPatch, third: int) -> None:
    refused = await g.ask("pay", {**CALL, "payee": "Near Ltd"})
    assert (await g.decide(refused, "deny")).json()["state"] == "denied"
    asked = {what: await g.ask("pay", {**CALL, **changed}) for what, changed in list(HOSTILE.items())[third::3]}
    await g.advance(timedelta(minutes=7))  # all are reminded of

    for what, request in asked.items():
        least = 3 if what == "plain" else 4  # nobody paid this payee before, it is over the budget, and out of hours
        await _agree(g, Surfaces(g, request, monkeypatch), what, least=least)
        if what in NAMED:
            told = (await g.read(request, who=ALICE))["warnings"]
            assert NAMED[what] in [(each["kind"], each["field"]) for each in told]


@requirement("S-69", "S-49")
async def test_a_pause_is_warned_of_everywhere_and_agents_read_no_warning(
    g: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await g.ask("pay", {**CALL, "payee": "\u0410cme Ltd"})
    before = await g.read(request, who=ALICE)
    body = {"on": True, "tool": "pay", "reason": "an attack \u202e"}
    assert (await g.call("PUT", "/v1/switches/pause", body, who="admin")).status_code == 200
    await g.quiet()
    await g.advance(timedelta(minutes=7))

    await _agree(g, Surfaces(g, request, monkeypatch), "paused", least=5)
    after, agents = await g.read(request, who=ALICE), await g.read(request)
    assert after["warnings"][0]["kind"] == "paused"
    assert after["warnings"][1:] == before["warnings"]
    assert agents["warnings"] == [], "they are for people: what is known of payees is not the agent's to read"


@requirement("S-69", "S-49")
async def test_an_agent_is_told_why_people_are_asked_and_nothing_to_fit_below_it(g: Gateway) -> None:
    asked = await g.ask("pay", CALL)
    read = {who: await g.read(asked, who=who) for who in ("agent:shop", ALICE)}
    kinds = ["first_payee", "over_budget", "off_hours"]
    assert asked["warnings"] == read["agent:shop"]["warnings"] == []
    assert [each["kind"] for each in read[ALICE]["warnings"]][:3] == kinds
    for who, budget in {
        "agent:shop": {"budget", "span"},
        ALICE: {"budget", "span", "spent", "limit", "currency", "adds"},
    }.items():
        assert [each["kind"] for each in read[who]["cautions"]] == kinds
        assert set(read[who]["cautions"][1]["values"]) == budget
    assert asked["cautions"] == read["agent:shop"]["cautions"]
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert all(f"`{kind}`" in page for kind in CautionKind), "the page names each"
