"""The platforms' door: what is not provably theirs is one 401, and what is theirs still has to be entitled."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import inspect
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

import httpx2
import pytest
import structlog

from tests.fixtures.figures import scraped, value
from tests.fixtures.patience import HANGS
from tests.fixtures.platforms import open_stage, slack_id
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform
    from tests.fixtures.platforms import Stage

Headers = tuple[tuple[str, str], ...]


def _without(headers: Headers, name: str) -> Headers:
    return tuple((key, value) for key, value in headers if key.lower() != name)


def _with(headers: Headers, name: str, value: str) -> Headers:
    return (*_without(headers, name), (name, value))


def _value(headers: Headers, name: str) -> str:
    return next(value for key, value in headers if key.lower() == name)


async def _post(stage: Stage, channel: str, headers: Headers, body: bytes) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=HANGS) as http:  # a hundred at once, on whatever machine
        return await http.post(f"{stage.url}/v1/channels/{channel}/callback", content=body, headers=list(headers))


def _slack_forgeries(stage: Stage, headers: Headers, body: bytes) -> dict[str, tuple[Headers, bytes]]:
    signature, stamp = "x-slack-signature", "x-slack-request-timestamp"
    given, at = _value(headers, signature), int(_value(headers, stamp))
    payload = json.loads(parse_qs(body.decode())["payload"][0])
    return {
        "unsigned": (_without(headers, signature), body),
        "no time": (_without(headers, stamp), body),
        "another secret": (stage.slack.signed(payload, secret="another-secret-of-sixteen")[1], body),
        "an empty secret": (stage.slack.signed(payload, secret="")[1], body),
        "one byte more": (headers, body + b"&"),
        "one byte other": (headers, body.replace(b"U0DAVE00", b"U0BOB00")),
        "serialised anew": (headers, urlencode({"payload": json.dumps(payload, indent=1)}).encode()),
        "signature twice": ((*headers, (signature, given)), body),
        "time twice": ((*headers, (stamp, str(at))), body),
        "old": (_with(headers, stamp, str(at - 301)), body),
        "future": (_with(headers, stamp, str(at + 301)), body),
        "upper case": (_with(headers, signature, given.upper()), body),
        "cut": (_with(headers, signature, given[:-1]), body),
        "version only": (_with(headers, signature, "v0="), body),
        "space": (headers, b" " + body),
    }


def _feishu_forgeries(stage: Stage, headers: Headers, body: bytes, payload: bytes) -> dict[str, tuple[Headers, bytes]]:
    signature, stamp, nonce = "x-lark-signature", "x-lark-request-timestamp", "x-lark-request-nonce"
    given, at = _value(headers, signature), int(_value(headers, stamp))
    event = json.loads(payload)
    token = "simulated-verification-token"
    exploit = {  # what the vendor's own dispatcher takes: no signature, an open id of one's choice
        "schema": "2.0",
        "header": {**event["header"], "token": token},
        "event": {**event["event"], "operator": {**event["event"]["operator"], "open_id": stage.feishu_ids["bob"]}},
    }
    plain = json.dumps(exploit).encode()
    legacy = hashlib.sha1(f"{at}nonce{token}".encode() + plain).hexdigest()
    wrong_app = json.loads(payload)
    wrong_app["header"]["app_id"] = "cli_ffffffffffffffff"
    wrong_tenant = json.loads(payload)
    wrong_tenant["header"]["tenant_key"] = "0000000000000000"
    return {
        "the vendor's hole": ((("content-type", "application/json"),), plain),
        "plain text though a key is set": (headers, plain),
        "old card signature": (_with(_with(headers, signature, legacy), nonce, "nonce"), plain),
        "unsigned": (_without(headers, signature), body),
        "nothing signed": ((("content-type", "application/json"),), body),
        "no time": (_without(headers, stamp), body),
        "no nonce": (_without(headers, nonce), body),
        "another key": _pair(stage.feishu.forge(event, encrypt_key="another-key")),
        "an empty key": _pair(stage.feishu.forge(event, encrypt_key="")),
        "old": _pair(stage.feishu.forge(event, age=timedelta(seconds=301))),
        "future": _pair(stage.feishu.forge(event, age=timedelta(seconds=-301))),
        "one byte more": (headers, body + b" "),
        "one byte other": (headers, body.replace(b'"encrypt": "', b'"encrypt": "A', 1)),
        "serialised anew": (headers, json.dumps(json.loads(body), indent=1).encode()),
        "signature twice": ((*headers, (signature, given)), body),
        "time twice": ((*headers, (stamp, str(at))), body),
        "a digit moved": (_with(_with(headers, stamp, f"{at}0"), nonce, _value(headers, nonce)[1:]), body),
        "upper case": (_with(headers, signature, given.upper()), body),
        "another token": _pair(stage.feishu.forge({**event, "header": {**event["header"], "token": "guessed"}})),
        "another app": _pair(stage.feishu.forge(wrong_app)),
    }


def _pair(delivery: Any) -> tuple[Headers, bytes]:
    return delivery.headers, delivery.body


@requirement("S-04", "S-05", "S-33", "S-51")
@pytest.mark.parametrize("channel", ["pay-slack", "pay-feishu"])
@pytest.mark.heavy
async def test_what_is_not_provably_the_platforms_is_one_uniform_401(stage: Stage, channel: str) -> None:
    g = stage.gateway
    first = await stage.ask()
    if channel == "pay-slack":
        await stage.click("slack", first, "dave")  # a genuine click of somebody who may not: its bytes are the material
        genuine = stage.slack.last_delivery
        forgeries = _slack_forgeries(stage, genuine.headers, genuine.body)
        secret = stage.slack.world.signing_secret
    else:
        await stage.click("feishu", first, "dave")
        last = stage.feishu.last_delivery
        forgeries = _feishu_forgeries(stage, last.headers, last.body, last.payload)
        secret = stage.feishu.platform.app.encrypt_key
    before = g.content()
    answers = set[tuple[int, bytes]]()
    with structlog.testing.capture_logs() as logs:
        for name, (headers, body) in forgeries.items():
            said = await _post(stage, channel, headers, body)
            assert said.status_code == 401, name
            answers.add((said.status_code, said.content))
    assert len(answers) == 1
    assert g.content() == before
    text = repr(logs) + repr(answers)
    assert len([line for line in logs if line["event"] == "callback.rejected"]) == len(forgeries)
    for headers, _ in forgeries.values():
        for key, said in headers:
            if "signature" in key.lower() and len(said) > 16:
                assert said.lower() not in text.lower()
    assert secret not in text
    assert "Traceback" not in text
    unknown = await _post(stage, "no-such", (), b"{}")
    assert unknown.status_code == 404


def _imports(node: ast.AST) -> list[str]:
    match node:
        case ast.ImportFrom():
            return [*(alias.name for alias in node.names), node.module or ""]
        case ast.Import():
            return [alias.name for alias in node.names]
        case _:
            return []


@requirement("S-05")
def test_no_dispatcher_of_an_sdk_stands_on_any_route() -> None:
    dispatchers = ("CardActionHandler", "slack_bolt", "SignatureVerifier", "lark_oapi.adapter")
    imported = [
        f"{path.name}:{name}"
        for path in [*(ROOT / "app").rglob("*.py"), *(ROOT / "channels").rglob("*.py")]
        for text in [path.read_text()]
        if any(word.partition(".")[0] in text for word in dispatchers)  # no other can import one
        for node in ast.walk(ast.parse(text))
        for name in _imports(node)
        if any(word in name for word in dispatchers)
    ]
    assert imported == []
    from app.api.operator import callbacks

    source = inspect.getsource(callbacks)
    assert source.index("channel.read(") < source.index("c.clicks(")
    assert source.count("c.clicks(") == 1


@requirement("S-06", "S-09", "S-10")
@pytest.mark.parametrize("door", ["slack", "slack modal", "feishu", "api"])
@pytest.mark.parametrize(
    ("who", "when", "expected"),
    [
        ("dave", "in time", "pending"),
        ("rita", "in time", "pending"),
        ("olga", "in time", "pending"),
        ("alice", "in time", "decided"),
        ("alice", "at the deadline", "expired"),
    ],
)
@pytest.mark.heavy
@pytest.mark.sampled(4)
async def test_every_door_comes_to_the_same_end(stage: Stage, door: str, who: str, when: str, expected: str) -> None:
    request = await stage.ask(requester="rita@acme.example")
    if when == "at the deadline":
        stage.gateway.clock.advance(timedelta(minutes=30))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    verdict = "deny" if door == "slack modal" else "approve"
    if door == "api":
        await stage.gateway.decide(request, who=f"{who}@acme.example")
    else:
        await stage.click(door.split(maxsplit=1)[0], request, who, verdict)
    settled = {"approve": "approved", "deny": "denied"}[verdict]
    assert await stage.state(request) == (settled if expected == "decided" else expected)
    refused = "click.refused" in [kind for kind, _ in stage.gateway.trail(request)]
    assert refused == (expected == "pending")


@requirement("S-06")
@pytest.mark.parametrize("mark", ["is_restricted", "is_stranger", "team", "deleted later"])
@pytest.mark.heavy
async def test_slack_guests_strangers_and_leavers_are_refused(stage: Stage, mark: str) -> None:
    bob = stage.slack.world.people[slack_id("bob")]
    request = await stage.ask()
    match mark:
        case "team":
            bob.team_id = "T0OTHER99"
        case "deleted later":
            pass
        case _:
            setattr(bob, mark, True)
    if mark != "team":
        if mark == "deleted later":
            bob.deleted = True
        await stage.gateway.container.confirm_accounts()
        bob.deleted = False
    await stage.click("slack", request, "bob")
    assert await stage.state(request) == "pending"
    assert stage.gateway.trail(request)[-1][0] == "click.refused"
    await stage.click("slack", request, "alice")
    assert await stage.state(request) == "approved"


@requirement("S-20")
@pytest.mark.parametrize("more", [9, pytest.param(99, marks=[pytest.mark.heavy, pytest.mark.whole])])
async def test_one_genuine_callback_that_comes_again_and_again_is_one_decision(stage: Stage, more: int) -> None:
    request = await stage.ask()
    await stage.click("slack", request, "alice")
    genuine = stage.slack.last_delivery
    said = await asyncio.gather(*(_post(stage, "pay-slack", genuine.headers, genuine.body) for _ in range(more)))
    assert {answer.status_code for answer in said} == {200}
    assert (await _post(stage, "pay-feishu", genuine.headers, genuine.body)).status_code == 401
    stage.gateway.clock.advance(timedelta(minutes=16))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    await stage.gateway.container.sweep.forget()
    assert stage.gateway.rows("SELECT * FROM seen_clicks") == []
    assert (await _post(stage, "pay-slack", genuine.headers, genuine.body)).status_code == 401  # by its time
    assert len(stage.gateway.rows("SELECT * FROM decisions")) == 1
    assert [kind for kind, _ in stage.gateway.trail(request)].count("request.approved") == 1


@requirement("S-45", "S-47")
@pytest.mark.parametrize("change", ["app", "chat", "message"])
async def test_a_signed_click_from_elsewhere_decides_nothing(stage: Stage, change: str) -> None:
    request = await stage.ask()
    await stage.click("slack", request, "dave")
    payload = json.loads(parse_qs(stage.slack.last_delivery.body.decode())["payload"][0])
    payload["user"]["id"] = slack_id("alice")
    match change:
        case "app":
            payload["api_app_id"] = "A0OTHERAPP"
        case "chat":
            payload["channel"]["id"] = payload["container"]["channel_id"] = "C0OTHER"
        case _:
            payload["container"]["message_ts"] = "1548261231.000999"
    body, headers = stage.slack.signed(payload)
    said = await _post(stage, "pay-slack", headers, body)
    assert said.status_code == (401 if change == "app" else 200)
    assert await stage.state(request) == "pending"


@pytest.fixture
async def listening(sqlite_url: str, tmp_path: Path, platform: MemoryPlatform) -> AsyncIterator[Stage]:
    async with open_stage(sqlite_url, tmp_path, platform, slack="socket", feishu="websocket") as ready:
        async with asyncio.timeout(HANGS):
            await ready.slack.links.wait_open()
            await ready.feishu.wait_connected()
        yield ready


@requirement("S-46")
async def test_the_long_connections_are_as_strict_as_the_webhooks(listening: Stage) -> None:
    stage = listening
    for door in ("slack", "feishu"):
        request = await stage.ask(requester="rita@acme.example", arguments={"payee": door, "amount": 1})
        for who in ("dave", "rita", "olga"):
            await stage.click(door, request, who)
            assert await stage.state(request) == "pending", (door, who)
        assert [kind for kind, _ in stage.gateway.trail(request)].count("click.refused") == 3
        await stage.click(door, request, "alice")
        assert await stage.state(request) == "approved", door
    # The figures tell that they stand, and of what came in.
    families = await scraped(stage.gateway)
    for name in ("pay-slack", "pay-feishu"):
        assert value(families, "assent_channel_connected", channel=name, direction="hear") == 1
        assert value(families, "assent_channel_last_success_seconds", channel=name, direction="hear") >= 0
    # And nothing comes in by the side door.
    body, headers = stage.slack.signed({"type": "block_actions"})
    assert (await _post(stage, "pay-slack", headers, body)).status_code == 401
    for _, tasks in stage.gateway.container.work._running.values():
        for task in tasks[1:]:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    families = await scraped(stage.gateway)
    for name in ("pay-slack", "pay-feishu"):
        assert value(families, "assent_channel_connected", channel=name, direction="hear") == 0
