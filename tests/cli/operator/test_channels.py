"""`assent channels test`: a true card on both platforms, followed to the press, and a mend for each step that fails."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.commands import app
from app.cli.operator import channels
from app.domain.call.trial_call import TRIAL_AGENT
from app.domain.errors import InvalidError
from app.domain.identity.api_key import Scope
from app.ports import ChannelUnavailableError
from app.usecases.asking.trial_card import TrialCard
from tests.console.signed_in import Home, field_of
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import open_stage, slack_id
from tests.fixtures.review_visits import URL
from tests.fixtures.second_factors import BOB, DAVE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

pytestmark = pytest.mark.heavy


def following(gateway: Gateway, name: str, said: list[str], *, wait: float = 120) -> asyncio.Task[bool]:
    """Begin to follow a test card, as the command does beside a gateway that runs."""
    container = gateway.container
    trial = TrialCard(store=container.store, seals=container.seals)
    policy, channel = container.book.current("acme").policy, container.channels.get("acme", name)
    return asyncio.create_task(channels.follow(trial, policy, channel, wait=wait, say=said.append))


async def posted(stage: Stage, said: list[str]) -> dict[str, Any]:
    """Let the card out, and return what finds its message."""
    await eventually(lambda: said)
    await stage.gateway.quiet()
    await eventually(lambda: any("took it" in line for line in said))
    return {"id": said[0].rpartition(" ")[2]}


@pytest.mark.parametrize("door", ["slack", "feishu"])
async def test_a_test_card_is_followed_to_the_press_that_counts_and_runs_nothing(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    monkeypatch.setattr(channels, "_EVERY", 0.01)
    async with open_stage(sqlite_url, tmp_path, platform, feishu_more={"language": "zh"}) as stage:
        said: list[str] = []
        task = following(stage.gateway, f"pay-{door}", said)
        request = await posted(stage, said)
        if door == "slack":
            card = json.dumps(next(e for e in stage.slack.view(stage.slack.room.id) if e["kind"] == "message"))
            assert "TEST of this channel" in card
            assert "Nothing is asked and nothing will run" in card
        else:
            card = json.dumps(stage.feishu.view(stage.feishu_chat), ensure_ascii=False)
            assert "渠道测试" in card
            assert "无论按哪个按钮都不会执行任何操作" in card
        await stage.click(door, request, "dave")  # in no group of the file
        await eventually(lambda: any("did not count" in line for line in said))
        await stage.click(door, request, "alice")
        await eventually(lambda: any("and it counted" in line for line in said))
        await stage.gateway.quiet()
        assert await task is True
        assert any("pressed by dave@acme.example: it did not count: this person does not decide it" in x for x in said)
        assert any("mend: this person is in no group of the file" in line for line in said)
        assert any(line.startswith("pressed by alice@acme.example (account ") for line in said)
        assert said[-1] == "the card says how it ended: this channel works"
        [row] = stage.gateway.rows(f"SELECT state, agent FROM requests WHERE id = '{request['id']}'")
        assert row == {"state": "approved", "agent": TRIAL_AGENT}
        refused = await stage.gateway.claim({"id": request["id"], "digest": "0" * 64})
        assert refused.status_code == 404  # nobody's call, and nobody can be whose it is
        with pytest.raises(InvalidError, match="no agent has it"):
            await stage.gateway.container.keys.create(
                org="acme", scope=Scope.AGENT, label="x", agent=TRIAL_AGENT, person="alice@acme.example"
            )
        assert (await stage.gateway.verify())[1] is None


async def test_an_account_that_nobody_is_known_by_is_named_with_its_mend(
    sqlite_url: str, tmp_path: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "_EVERY", 0.01)
    async with open_stage(sqlite_url, tmp_path, platform) as stage:
        stage.slack.add_person("U0STRANGER00", name="stranger", email="stranger@elsewhere.example")
        said: list[str] = []
        task = following(stage.gateway, "pay-slack", said, wait=2)
        request = await posted(stage, said)
        await stage.click("slack", request, "stranger")
        assert await task is False
        text = "\n".join(said)
        assert f"pressed by the account {slack_id('stranger')}: it did not count" in text
        assert "mend: nobody of the file has this account" in text
        assert "nobody pressed it" in said[-2]


async def test_each_step_that_does_not_come_says_what_to_mend(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "_EVERY", 0.01)
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(channels, "_POSTED_WITHIN", 0.1)
        gateway.platform.broken["chat"] = ChannelUnavailableError("it is down")
        assert await following(gateway, "chat", said) is False
    assert said[-1] == f"    mend: {channels.mend_for('not_posted')}"
    said.clear()
    gateway.platform.broken.clear()
    task = following(gateway, "chat", said, wait=0.1)
    await eventually(lambda: said)
    await gateway.quiet()
    assert await task is False
    assert said[-1] == f"    mend: {channels.mend_for('not_pressed')}"


@pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else
async def test_the_command_names_the_channels_that_there_are(gateway: Gateway) -> None:
    env = {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": gateway.url, "COLUMNS": "200"}
    given = ["channels", "test", "chatt", "-c", str(gateway.config), "--org", "acme"]
    said = await asyncio.to_thread(CliRunner().invoke, app, given, env=env)
    assert said.exit_code == 2
    assert "there is no channel chatt: the file has chat, chat-two" in said.stderr
    assert gateway.rows("SELECT count(*) AS n FROM requests") == [{"n": 0}]


async def test_an_operator_posts_a_test_card_from_the_page_and_sees_its_steps_and_nobody_else_may(
    gateway: Gateway,
) -> None:
    gateway.rewrite("org: acme\n", f"org: acme\nurl: {URL}\nroles: {{operator: [{DAVE}], auditor: [{BOB}]}}\n")
    await gateway.reload()
    dave, bob = await Home.of(gateway, DAVE, origin=URL), await Home.of(gateway, BOB, origin=URL)
    page = (await dave.get("/console/pulse")).text
    assert "Post a test card to chat-two" in page
    assert "Post a test card" not in (await bob.get("/console/pulse")).text
    seal = field_of(page, "seal")
    for who, lie in ((bob, {"seal": await bob.seal()}), (dave, {"seal": "x"}), (dave, {"channel": "elsewhere"})):
        sent = {"seal": seal, "channel": "chat", **lie}
        assert (await who.post("/console/pulse/test", origin=URL, **sent)).status_code in {401, 403, 404}
    assert gateway.rows("SELECT count(*) AS n FROM requests") == [{"n": 0}]
    said = await dave.post("/console/pulse/test", origin=URL, seal=seal, channel="chat")
    assert said.status_code == 303
    path = said.headers["location"].removeprefix(URL)
    await gateway.quiet()
    assert "nobody has pressed it yet" in (await dave.get(path)).text
    [row] = gateway.rows("SELECT id FROM requests")
    stranger = gateway.platform.press(gateway.card(row), "U_NOBODY", "approve")
    await gateway.send(stranger)
    await gateway.press(row, "U_ALICE", "deny")
    told = (await dave.get(path)).text
    for text in ("posted: chat took it", "pressed by the account U_NOBODY, and it did not count", "write it under",
                 "pressed by Alice, and it counted", "This channel works"):  # fmt: skip
        assert text in told, text
    zh = (await dave.get(path.replace("#test", "") + "&lang=zh")).text
    assert "此渠道工作正常" in zh
    assert (await bob.get(path)).text.count('id="test"') == 0
    other = await gateway.ask("pay")
    assert (await dave.get(f"/console/pulse?test={other['id']}")).status_code == 404  # no test card: not theirs to read
