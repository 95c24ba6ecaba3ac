"""`deploy/alerts.yaml` and `deploy/dashboard.json`: every alert fires by its cause, every panel finds its figures.

What a gateway says is scraped from a running one; Prometheus' own engine judges it, where `promtool` is installed.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import UnavailableError
from app.domain.trail.audit import Kind
from app.ports import ChannelRefusedError, ChannelUnavailableError, Notice
from channels.slack import listener
from channels.slack.channel import SlackChannel
from channels.slack.settings import SlackSettings
from channels.slack.simulator.simulator import SlackSimulator
from channels.slack.simulator.state import Fault
from tests.deploy.programs import needs
from tests.deploy.prometheus import Check, Lasting, fires, grouped_by, judged, rules, selectors
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.patience import HANGS
from tests.fixtures.platforms import open_stage
from tests.fixtures.tampering import Stranger
from tests.places import ROOT
from tests.usecases.upkeep.test_replicas import beat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

    Cause = Callable[["Gateway"], Awaitable[str | None]]

DASHBOARD = ROOT / "deploy/dashboard.json"
PAGE = ROOT / "docs/operations.md"
GLASS = {"reason": "the payroll run is stuck", "tools": ["pay"], "minutes": 20}
CRISIS = """
break_glass: {of: [crisis], review: [finance], lasts: 30m, tools: [pay], channels: [chat-two]}
"""
MINUTES = 20
"""For which a cause lasts: longer than any alert waits."""
SIEM = """
webhooks:
  siem: {url: "http://127.0.0.1:9/hook", private: true, secret: "${SIEM}", kinds: ["*"]}
"""


def panels() -> list[dict[str, Any]]:
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]


def queries() -> list[tuple[str, str]]:
    """Return where each query of ours stands, and the query."""
    of_panels = [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]
    return [(name, rule["expr"]) for name, rule in rules().items()] + of_panels


async def scrape(g: Gateway) -> str:
    g.container.read._counted = None  # twice a minute at most: as if half of one had gone by
    return (await g.http.get("/metrics")).raise_for_status().text


# --- what needs no Prometheus -----------------------------------------------------------------------------------------


async def test_every_figure_and_label_that_a_query_names_is_one_of_the_gateways(gateway: Gateway) -> None:
    typed = set(re.findall(r"^# TYPE (\w+) ", await scrape(gateway), flags=re.MULTILINE))
    declared = {
        figure._name: {*figure._labelnames}
        for figure in vars(gateway.container.telemetry).values()
        if getattr(figure, "_name", "").startswith("assent_")
    }
    for place, query in queries():
        found = selectors(query)
        assert found, f"{place}: selects no figure"
        labels: set[str] = {"le", "job"}
        for name, compared in found:
            figure = re.sub(r"_(total|bucket|count|sum)$", "", name)
            labels |= declared.get(figure, set())
            assert {name, figure} & typed, f"{place}: {name}"
            assert set(compared) <= {*declared.get(figure, ()), "job"}, f"{place}: {query}"
        assert grouped_by(query) <= labels, f"{place}: {query}"
    kinds = {kind for _, query in queries() for kind in re.findall(r'kind=~?"([^"]+)"', query)}
    assert {one for each in kinds for one in each.split("|")} <= {kind.value for kind in Kind}


def test_each_alert_says_how_bad_it_is_and_what_to_do_and_the_page_has_its_place() -> None:
    page = PAGE.read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^\w -]", "", line[3:].lower()).replace(" ", "-") for line in page.splitlines() if line[:3] == "## "
    }
    for name, rule in rules().items():
        assert re.fullmatch(r"Assent[A-Z]\w+", name)
        assert rule["labels"]["severity"] in {"critical", "warning"}, name
        notes = rule["annotations"]
        assert set(notes) == {"summary", "description", "runbook"}, name
        place, _, anchor = notes["runbook"].partition("#")
        assert (place, anchor in anchors) == ("docs/operations.md", True), name
        used = set(re.findall(r"\$labels\.(\w+)", notes["summary"] + notes["description"]))
        assert used <= grouped_by(rule["expr"]), name


def test_each_panel_has_its_title_unit_and_place_and_takes_the_datasource_that_is_chosen() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    found = panels()
    assert len({panel["id"] for panel in found}) == len({panel["title"] for panel in found}) == len(found)
    [source] = [each for each in board["templating"]["list"] if each["type"] == "datasource"]
    assert (source["name"], source["query"]) == ("datasource", "prometheus")
    variables = {each["name"] for each in board["templating"]["list"]} | {"__rate_interval"}
    taken: set[tuple[int, int]] = set()
    for panel in found:
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        for holder in (panel, *panel["targets"]):
            assert holder["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs) > 0
        for target in panel["targets"]:
            assert set(re.findall(r"\$\{?(\w+)", target["expr"])) <= variables
            assert target["legendFormat"]
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, f"{panel['title']} lies on another"
        assert at["x"] + at["w"] <= 24
        taken |= cells


# --- what each alert is about, made to happen -------------------------------------------------------------------------


async def given_up(g: Gateway) -> None:
    g.platform.broken["chat"] = ChannelRefusedError("no such chat")
    await g.ask(arguments={"amount": 11})


async def stuck(g: Gateway) -> None:
    assert isinstance(g.clock, ManualClock)
    g.platform.broken["chat"] = ChannelUnavailableError("away")
    await g.ask(arguments={"amount": 12})
    g.clock.advance(timedelta(minutes=6))


async def unreached(g: Gateway) -> None:
    g.platform.broken["chat"] = ChannelUnavailableError("away")
    await g.ask(arguments={"amount": 13})


async def unknown(g: Gateway) -> None:
    request = await g.ask(arguments={"amount": 14})
    await g.decide(request)
    await g.claim(request)
    await g.report(request, "unknown", error="the line broke")


async def cut_off(g: Gateway) -> None:
    """An app's refresh token was spent elsewhere: Slack takes it from nobody else, and a channel is without access."""
    assert isinstance(g.clock, ManualClock)
    async with SlackSimulator(clock=g.clock) as slack:
        settings = slack.configuration() | slack.rotate_tokens()
        del settings["bot_token"]
        slack.rotate_tokens()
        channel = SlackChannel("pay-slack", SlackSettings.model_validate(settings), call_seconds=HANGS)
        g.container.renew_access.serve("acme", channel)
        with pytest.raises(ChannelRefusedError):
            await channel.announce(channel.chat_id, Notice(text="A word", mentions=(), key="word-1"))
        await g.container.renew_access.look()
        await channel.close()


async def rejected(g: Gateway) -> None:
    for _ in range(12):
        assert (await g.http.post("/v1/channels/chat/callback", content=b"{}")).status_code == 401


async def untaken(g: Gateway) -> None:
    assert isinstance(g.clock, ManualClock)
    await g.container.webhooks()
    g.clock.advance(timedelta(minutes=16))


async def lost(g: Gateway) -> None:
    """The database is set back to a copy of it behind the gateway's back, and the gateway connects anew."""
    file = g.url.removeprefix("sqlite:///")
    writer = g.container.store._writer
    serve = type(writer)._serve_batch

    def anew(lane: Any, jobs: Any) -> Any:
        if lane is writer:  # on its own thread: to close what another thread is reading from ends the interpreter
            lane._disconnect()
        return serve(lane, jobs)

    with closing(sqlite3.connect(":memory:")) as copy, closing(sqlite3.connect(file)) as live:
        live.backup(copy)
        await g.ask(arguments={"amount": 16})
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(writer), "_serve_batch", anew)
            copy.backup(live)
            await g.call("PUT", "/v1/switches/read-only", {"on": False}, who="admin")


async def broken_glass(g: Gateway) -> None:
    asked = await g.call("POST", "/v1/break-glass", GLASS, who="alice@acme.example")
    confirmed = {"digest": asked.json()["digest"]}
    broken = await g.call("POST", f"/v1/break-glass/{asked.json()['id']}/confirm", confirmed, who="bob@acme.example")
    assert broken.status_code == 200, broken.text


async def forged(g: Gateway) -> None:
    request = await g.ask(arguments={"amount": 15})
    stranger = Stranger(g)
    stranger(f"UPDATE requests SET lease = lease + 1 WHERE id = '{request['id']}'")
    assert (await g.decide(request)).json()["code"] == "unsealed"


async def undecided(g: Gateway) -> None:
    for n in range(6):
        await g.ask(arguments={"amount": 100 + n})
    await g.advance(timedelta(minutes=31))


async def differing(g: Gateway) -> None:
    (g.config / "acme.yaml").write_bytes(b"\xff\xfe not a text")
    await g.container.configuration.use_if_changed()
    await g.container.replicas()


@asynccontextmanager
async def held(g: Gateway) -> AsyncIterator[None]:
    """Let something else hold the file, as a forgotten shell does in the middle of a transaction."""
    holds, over = threading.Event(), threading.Event()
    holding = asyncio.create_task(asyncio.to_thread(_hold, g.url.removeprefix("sqlite:///"), holds, over))
    await asyncio.to_thread(holds.wait, HANGS)
    try:
        yield
    finally:
        over.set()
        await holding


def _hold(file: str, holds: threading.Event, over: threading.Event) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        holds.set()
        over.wait(HANGS)
        other.execute("ROLLBACK")


async def slow(g: Gateway) -> None:
    """Something else holds the file each time that the gateway wants to write."""
    for _ in range(3):
        async with held(g):
            written = asyncio.create_task(g.call("PUT", "/v1/switches/read-only", {"on": False}, who="admin"))
            await asyncio.sleep(0.4)  # as long as it takes: that is what is measured
        assert (await written).status_code == 200


async def failing(g: Gateway) -> None:
    """A table is not where the gateway knows it to be: somebody was at the schema by hand."""
    g.rows("ALTER TABLE decisions RENAME TO decisions_away")
    for _ in range(40):
        assert (await g.call("GET", "/v1/requests")).status_code == 503
    g.rows("ALTER TABLE decisions_away RENAME TO decisions")


async def unusable(g: Gateway) -> str:
    """Something else holds the file and does not let go: the gateway looks every three seconds.

    It is scraped meanwhile: whatever writes next finds that it is over.
    """
    async with held(g):
        await g.container.writes()
        assert g.container.store.trouble is not None
        return await scrape(g)


CAUSES: dict[str, Cause] = {
    "AssentCardsGivenUp": given_up,
    "AssentNobodyReached": given_up,
    "AssentOutboxStuck": stuck,
    "AssentChannelUnreached": unreached,
    "AssentOutcomeUnknown": unknown,
    "AssentChannelCutOff": cut_off,
    "AssentCallbacksRejected": rejected,
    "AssentWebhookFailing": untaken,
    "AssentForged": forged,
    "AssentNobodyDecides": undecided,
    "AssentCommitsSlow": slow,
    "AssentDatabaseErrors": failing,
    "AssentReplicasDiffer": differing,
    "AssentGlassBroken": broken_glass,  # from here on nobody is asked
    "AssentCommitsLost": lost,
    "AssentDatabaseUnusable": unusable,
}
"""Those that one gateway meets in turn, and goes on after each."""
APART = {"AssentGone", "AssentGatewayLost", "AssentBacklog", "AssentCallsFail", "AssentChannelDeaf"}
"""Those with a test of their own below."""


def test_every_alert_has_its_cause() -> None:
    assert {*CAUSES, *APART} == set(rules())


@pytest.fixture
async def g(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    path = config / "acme.yaml"
    said = await asyncio.to_thread(path.read_text)
    crisis = "groups:\n  crisis: [alice@acme.example, bob@acme.example]\n"
    await asyncio.to_thread(path.write_text, said.replace("groups:\n", crisis, 1) + SIEM + CRISIS)
    environ = {"SIEM": "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcywgb2s="}
    async with open_gateway(sqlite_url, config, platform, environ=environ) as running:
        yield running


def story(before: str | None, *after: str | None) -> list[Lasting]:
    """A quarter of an hour as it was, and then what came of it, for as long as the last scrape says so."""
    *passing, last = after
    return [Lasting(15, before), *(Lasting(1, each) for each in passing), Lasting(MINUTES, last)]


def once(alert: str, told: list[Lasting]) -> tuple[list[Lasting], list[Check]]:
    """Nothing fires before; the alert does once its cause has lasted."""
    for_ = int(re.sub(r"\D", "", rules()[alert].get("for", "0m")))
    return told, [Check(fires(alert), 14, answers=False), Check(fires(alert), 15 + len(told) - 2 + for_ + 1)]


@needs("promtool")
@pytest.mark.process
@pytest.mark.heavy
@pytest.mark.may_block
async def test_every_alert_fires_by_its_cause_and_none_without_one(g: Gateway, tmp_path: Path) -> None:
    healthy = [await scrape(g)]
    request = await g.ask()
    await g.decide(request)
    await g.claim(request)
    await g.report(request)
    healthy.append(await scrape(g))
    calm = [Check('ALERTS{alertstate="firing"}', minute, answers=False) for minute in (1, 16, 30)]
    stories = [(story(*healthy), calm)]
    for alert, cause in CAUSES.items():
        before = await scrape(g)
        meanwhile = await cause(g)
        stories.append(once(alert, story(before, meanwhile or await scrape(g))))
        g.platform.broken.clear()
        g.container.renew_access.forget("acme", "pay-slack")
        await g.container.renew_access.look()
        g.rows("UPDATE outbox SET due_at = 0")
        await g.container.writes()
        await g.quiet()
    assert await judged(tmp_path, stories) == ""


@needs("promtool")
@pytest.mark.process
@pytest.mark.may_block
async def test_a_gateway_that_is_gone_fails_its_calls_or_is_behind_is_noticed(gateway: Gateway, tmp_path: Path) -> None:
    g, scrapes = gateway, [await scrape(gateway)]
    await g.key("agent:shop", org="acme")
    async with held(g):
        waiting = [asyncio.ensure_future(g.container.store.write(lambda _: None, org="acme")) for _ in range(1200)]
        await asyncio.sleep(0)
        behind = await scrape(g)
        refused = await asyncio.gather(*waiting, return_exceptions=True)
        assert any(isinstance(each, UnavailableError) for each in refused)
        for _ in range(2):
            await g.container.writes()
            for _ in range(5):
                said = await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"amount": 1}})
                assert said.status_code == 503
            assert (await g.http.get("/readyz")).status_code == 503
            scrapes.append(await scrape(g))
    stories = [
        once("AssentGone", story(scrapes[0], None)),
        once("AssentBacklog", story(scrapes[0], behind)),
        once("AssentCallsFail", story(*scrapes)),
    ]
    assert await judged(tmp_path, stories) == ""


@needs("promtool")
@pytest.mark.process
@pytest.mark.may_block
async def test_one_gateway_of_two_that_is_gone_is_noticed(
    sqlite_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path
) -> None:
    clock = ManualClock()
    async with open_gateway(sqlite_url, config, platform, clock=clock) as stays:
        async with open_gateway(sqlite_url, config, platform, clock=clock) as goes:
            await beat(stays, goes)
            both = await scrape(stays)
        await beat(stays)
        alone = await scrape(stays)
    assert await judged(tmp_path, [once("AssentGatewayLost", story(both, alone))]) == ""


@needs("promtool")
@pytest.mark.process
@pytest.mark.heavy
@pytest.mark.may_block
async def test_a_channel_whose_connection_is_down_is_noticed_and_every_panel_finds_its_figures(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "_WATCH_SECONDS", 0.05)
    async with open_stage(sqlite_url, tmp_path, platform, slack="socket", feishu="websocket") as stage:
        async with asyncio.timeout(HANGS):
            await stage.slack.links.wait_open()
            await stage.feishu.wait_connected()
        before = await scrape(stage.gateway)
        request = await stage.ask()
        await stage.click("slack", request, "alice")
        assert await stage.state(request) == "approved"
        after = await scrape(stage.gateway)
        stage.slack.fail_next("apps.connections.open", Fault.UNAVAILABLE, times=1_000)
        await stage.slack.links.drop()  # the platform lets go, and lets nobody in again
        down = 'assent_channel_connected{channel="pay-slack",direction="hear"} 0.0'
        async with asyncio.timeout(HANGS):
            while down not in (deaf := await scrape(stage.gateway)):  # noqa: ASYNC110 - the SDK tells nobody
                await asyncio.sleep(0.05)
    shown = [expr.replace("$__rate_interval", "5m").replace("$job", ".*") for _, expr in queries()[len(rules()) :]]
    stories = [
        once("AssentChannelDeaf", story(after, deaf)),
        ([Lasting(2, before), Lasting(4, after)], [Check(query, 4) for query in shown]),
    ]
    assert await judged(tmp_path, stories) == ""
