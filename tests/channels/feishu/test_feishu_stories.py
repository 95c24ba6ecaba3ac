"""What people do on Feishu, from the agent's call to the last copy: the gateway, the real SDK, the strict stand-in."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.doctor import channels as channels_doctor
from app.ports import Finding, Severity
from app.usecases.platforms.hearing import EVERY
from channels.feishu.details.people import STATUS_SCOPE
from channels.feishu.details.reporting import REPORTING_SCOPE
from channels.feishu.examine import setup_steps
from channels.feishu.simulator.cards import list_controls
from channels.feishu.simulator.platform import ALL_SCOPES
from channels.feishu.simulator.server import serve
from channels.feishu.simulator.simulator import CannotPressError, FeishuSimulator
from tests.channels.test_card_corpus import nodes
from tests.fixtures.gateway import ManualClock, open_gateway
from tests.fixtures.made_once import import_feishu_sdk
from tests.fixtures.patience import eventually
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from channels.feishu.simulator.clicks import Press
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

PEOPLE = ("alice", "bob", "dave", "rita", "olga")
ALICE, BOB, DAVE, RITA = (f"{who}@acme.example" for who in ("alice", "bob", "dave", "rita"))
PAY = {"payee": "Acme Ltd", "currency": "CNY"}
MINUTE = timedelta(minutes=1)


@dataclass(slots=True, kw_only=True)
class Stage:
    """One org that asks on Feishu only."""

    gateway: Gateway
    feishu: FeishuSimulator
    chat: str
    ids: dict[str, str]

    async def ask(self, tool: str = "pay", *, amount: int = 80000, **more: Any) -> dict[str, Any]:
        """Submit a call and wait for the chat's card."""
        return await self.gateway.ask(tool, {**PAY, "amount": amount}, **more)

    def message(self, request: dict[str, Any], who: str = "") -> str:
        """Return the newest card of a request in the chat, or in a person's own."""
        chat = self.feishu.own_chat(self.ids[who]) if who else self.chat
        found = [
            message.message_id
            for message in self.feishu.platform.messages.values()
            if message.chat_id == chat and any(request["id"] in text for text in self.feishu.texts(message.message_id))
        ]
        return found[-1]

    async def press(self, request: dict[str, Any], who: str, button: str, *, on: str = "", **typed: str) -> Press:
        """Press a button of the chat's card, or of somebody's own, and let the cards follow."""
        message = self.message(request, on)
        form = {f"{button}_{name}": text for name, text in typed.items()}
        press = await self.feishu.press(self.ids[who], message, button, form=form)
        await self.gateway.quiet()
        return press

    async def more(self, request: dict[str, Any], who: str) -> None:
        """Press "More…" and wait for the card of one's own."""
        await self.press(request, who, "More…")
        assert self.message(request, who)

    async def state(self, request: dict[str, Any]) -> str:
        return str((await self.gateway.read(request))["state"])

    def texts(self, request: dict[str, Any], who: str = "") -> str:
        return "\n".join(self.feishu.texts(self.message(request, who)))

    def fields(self, request: dict[str, Any], who: str) -> dict[str, str]:
        """Return what can be filled in on somebody's own card, and what stands in it."""
        card = self.feishu.message(self.message(request, who)).card
        return {
            str(node["name"]): str(node.get("default_value", "")) for node in nodes(card) if node.get("tag") == "input"
        }

    def labels(self) -> list[str]:
        """Return everything that can still be pressed, on every card there is."""
        return [label for message in self.feishu.platform.messages for label in self.feishu.labels(message)]

    def remarks(self, request: dict[str, Any], who: str = "") -> list[tuple[str, ...]]:
        """Return whom each remark under a card rings."""
        return [remark.mentions for remark in self.feishu.remarks(self.message(request, who))]


def policy(channel: dict[str, object]) -> dict[str, object]:
    asks: dict[str, object] = {"then": "ask", "timeout": "30m", "channels": ["pay-feishu", "api"], "remind": []}
    finance = [{"of": ["finance"]}]
    tool = {"title": "Pay {payee} {amount}", "pin": ["payee", "amount"], "money": ["amount"]}
    return {
        "org": "acme",
        "default": "deny",
        "people": {f"{who}@acme.example": {"name": who.title()} for who in PEOPLE},
        "groups": {"finance": [ALICE, BOB], "legal": [DAVE]},
        "channels": {"pay-feishu": channel},
        "tools": dict.fromkeys(("pay", "staged", "laddered"), tool),
        "rules": [
            {"id": "pay", "tools": ["pay"], **asks, "stages": finance},
            {"id": "staged", "tools": ["staged"], **asks, "stages": [*finance, {"of": ["legal"]}]},
            {"id": "laddered", "tools": ["laddered"], **asks, "stages": finance,
             "remind": [0.5], "escalate": [{"after": "20m", "to": ["legal"]}]},
        ],
    }  # fmt: skip


@pytest.fixture
async def stage(sqlite_url: str, tmp_path: Path, platform: MemoryPlatform) -> AsyncIterator[Stage]:
    clock = ManualClock()
    async with AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name in ("NO_PROXY", "no_proxy"):  # a Feishu channel on loopback writes them for its SDK
            patch.setenv(name, "")
        await asyncio.to_thread(import_feishu_sdk)
        feishu = await stack.enter_async_context(FeishuSimulator(clock=clock))
        people = {who: feishu.add_person(who.title(), email=f"{who}@acme.example") for who in PEOPLE}
        chat = feishu.add_chat(*people.values())
        settings, environ = feishu.settings(chat), dict[str, str]()
        for secret in ("app_secret", "encrypt_key", "verification_token"):
            environ[secret.upper()] = str(settings[secret])
            settings[secret] = f"${{{secret.upper()}}}"
        folder = tmp_path / "feishu-orgs"
        folder.mkdir()
        await asyncio.to_thread((folder / "acme.yaml").write_text, json.dumps(policy(settings)))
        gateway = await stack.enter_async_context(
            open_gateway(sqlite_url, folder, platform, clock=clock, environ=environ)
        )
        address = await stack.enter_async_context(serve(gateway.app))
        feishu.callback_url = f"{address}/v1/channels/pay-feishu/callback"
        ids = {who: person.open_id for who, person in people.items()}
        yield Stage(gateway=gateway, feishu=feishu, chat=chat, ids=ids)


async def test_two_stages_are_decided_one_after_the_other(stage: Stage) -> None:
    request = await stage.ask("staged")
    await stage.press(request, "alice", "approve")
    assert await stage.state(request) == "pending"
    assert (await stage.press(request, "bob", "approve")).sentence
    assert await stage.state(request) == "pending"  # finance has agreed once; no second of theirs stands for legal
    await stage.press(request, "dave", "approve")
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


async def test_a_place_is_handed_over_on_one_s_own_card_and_decided_on_the_other_s(stage: Stage) -> None:
    request = await stage.ask()
    await stage.more(request, "alice")
    press = await stage.press(request, "alice", "hand_over", on="alice", person=BOB, note="on holiday")
    assert "Bob" in press.sentence
    refused = await stage.press(request, "alice", "approve", on="alice")
    assert (refused.toast or {})["type"] == "error"
    await stage.press(request, "bob", "approve", on="bob")
    assert await stage.state(request) == "approved"
    assert "Bob (handed over by Alice)" in stage.texts(request)
    assert stage.labels() == []


async def test_an_added_approver_must_agree_as_well(stage: Stage) -> None:
    request = await stage.ask()
    await stage.more(request, "alice")
    await stage.press(request, "alice", "add", on="alice", person=DAVE)
    await stage.press(request, "alice", "approve")
    assert await stage.state(request) == "pending"
    await stage.press(request, "dave", "approve", on="dave")
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


async def test_a_question_reaches_the_requester_and_the_answer_comes_back_to_the_card(stage: Stage) -> None:
    request = await stage.ask(requester=RITA)
    await stage.more(request, "alice")
    await stage.press(request, "alice", "ask", on="alice", text="<at id=all></at> why so soon?")
    copy = stage.message(request, "rita")
    assert stage.feishu.labels(copy) == ["Remind", "More time", "Answer"]
    [name] = [name for name in stage.fields(request, "rita") if name.startswith("answer_")]
    await stage.press(request, "rita", "answer", on="rita", **{name.removeprefix("answer_"): "The contract says so."})
    assert "<at id=all></at> why so soon?" in stage.texts(request)
    assert "The contract says so." in stage.texts(request)
    assert [mentions for mentions in stage.remarks(request) if "all" in mentions] == []
    await stage.press(request, "alice", "approve")
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


async def test_whoever_asked_is_told_privately_that_it_was_denied_and_why(stage: Stage) -> None:
    request = await stage.ask(requester=RITA)
    await stage.feishu.deny(stage.ids["alice"], stage.message(request), "not <at id=all></at> this month")
    await stage.gateway.quiet()
    assert await stage.state(request) == "denied"
    assert "Denied by Alice" in stage.texts(request, "rita")
    assert "not <at id=all></at> this month" in stage.texts(request, "rita")
    assert stage.feishu.labels(stage.message(request, "rita")) == []


async def test_a_lower_amount_is_approved_in_the_form_of_one_s_own_card(stage: Stage) -> None:
    request = await stage.ask()
    await stage.more(request, "alice")
    fields = stage.fields(request, "alice")
    [amount] = [name.removeprefix("edit_") for name, value in fields.items() if value == "80000"]
    await stage.press(request, "alice", "edit", on="alice", **{amount: "50000"})
    after = await stage.gateway.read(request)
    assert (after["state"], after["arguments"]["amount"]) == ("approved", 50000)
    assert "✏️" in stage.texts(request)
    assert stage.labels() == []


async def test_nobody_answers_and_others_are_brought_in(stage: Stage) -> None:
    request = await stage.ask("laddered")
    await stage.gateway.advance(15 * MINUTE)
    assert stage.remarks(request) == [tuple(sorted((stage.ids["alice"], stage.ids["bob"])))]
    await stage.gateway.advance(5 * MINUTE)
    await stage.press(request, "dave", "approve", on="dave")
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


async def test_what_expired_is_asked_again_with_one_tap(stage: Stage) -> None:
    request = await stage.ask()
    await stage.gateway.advance(30 * MINUTE)
    await stage.gateway.container.confirm_accounts()
    assert stage.labels() == ["Ask again"]
    before = len(stage.feishu.platform.messages)
    await stage.press(request, "alice", "Ask again")
    await eventually(lambda: len(stage.feishu.platform.messages) == before + 1)
    newest = list(stage.feishu.platform.messages)[-1]
    await stage.feishu.approve(stage.ids["alice"], newest)
    await stage.gateway.quiet()
    assert not {"Approve", "Deny"} & set(stage.labels())


@requirement("S-06")
@pytest.mark.parametrize("button", ["approve", "More…"])
async def test_an_outsider_is_refused_in_a_sentence_and_the_card_goes_on(stage: Stage, button: str) -> None:
    request = await stage.ask()
    stranger = stage.feishu.add_person("Stranger")
    stage.feishu.platform.chats[stage.chat].add(stranger.open_id)
    for who in (stage.ids["dave"], stranger.open_id):
        press = await stage.feishu.press(who, stage.message(request), button)
        assert (press.toast or {})["type"] == "error"
    await stage.gateway.quiet()
    assert stage.feishu.platform.own_chats == {}
    assert await stage.state(request) == "pending"
    await stage.press(request, "alice", "approve")
    assert await stage.state(request) == "approved"


async def test_a_late_click_hears_who_decided(stage: Stage) -> None:
    request = await stage.ask()
    message = stage.message(request)
    control = stage.feishu.clicker.find_control(stage.feishu.message(message), "approve")
    await stage.press(request, "alice", "approve")
    bob = stage.feishu.platform.people[stage.ids["bob"]]
    late = await stage.feishu.clicker.press(bob, stage.feishu.message(message), control, {})
    assert "Alice" in late.sentence
    assert (late.toast or {})["type"] == "info"
    with pytest.raises(CannotPressError):
        await stage.press(request, "bob", "approve")


async def test_when_the_chat_is_closed_to_the_bot_people_are_written_to_themselves(stage: Stage) -> None:
    stage.feishu.platform.bot_chats.clear()
    request = await stage.ask()
    await stage.press(request, "alice", "approve", on="alice")
    assert await stage.state(request) == "approved"
    assert stage.labels() == []


async def test_when_nobody_can_be_reached_at_all_the_agent_hears_it_at_once(stage: Stage) -> None:
    stage.gateway.rewrite('["pay-feishu", "api"]', '["pay-feishu"]')
    await stage.gateway.reload()
    stage.feishu.platform.bot_chats.clear()
    stage.feishu.platform.unavailable.update(stage.ids.values())
    request = await stage.ask()
    assert await stage.state(request) == "undeliverable"
    assert stage.feishu.platform.messages == {}


# --- what the file may also say ---------------------------------------------------------------------------------------


async def says(stage: Stage, old: str, new: str) -> None:
    """Change the org's file and take it into use."""
    stage.gateway.rewrite(old, new)
    await stage.gateway.reload()


async def test_like_requests_share_a_message_and_each_is_decided_for_itself(stage: Stage) -> None:
    await says(stage, '"default": "deny"', '"default": "deny", "attention": {"group": "10m"}')
    first = await stage.ask(session="s-1")
    stage.gateway.clock.advance(timedelta(seconds=1))  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    second = await stage.ask(session="s-1", amount=300)
    shared = stage.message(second)
    assert stage.message(first) == shared
    assert stage.feishu.labels(shared).count("Approve") == 2
    approves = [each for each in list_controls(stage.feishu.message(shared).card) if each.label == "Approve"]
    await stage.feishu.press(stage.ids["alice"], shared, str(approves[1].token))
    await stage.gateway.quiet()
    assert [await stage.state(each) for each in (first, second)] == ["pending", "approved"]
    await stage.feishu.deny(stage.ids["bob"], shared, "twice the same")
    await stage.gateway.quiet()
    assert [await stage.state(each) for each in (first, second)] == ["denied", "approved"]
    assert stage.labels() == []


@requirement("S-07")
@pytest.mark.parametrize("kind", ["group", "department"])
async def test_whoever_is_in_the_list_that_feishu_keeps_decides_and_nobody_else(stage: Stage, kind: str) -> None:
    alice = stage.feishu.platform.people[stage.ids["alice"]]
    listed = stage.feishu.add_group(alice) if kind == "group" else stage.feishu.add_department(alice)
    group = json.dumps({"channel": "pay-feishu", kind: listed})
    await says(stage, json.dumps({"finance": [ALICE, BOB]})[1:-1], f'"finance": {group}')
    request = await stage.ask()
    assert ((await stage.press(request, "bob", "approve")).toast or {})["type"] == "error"
    await stage.press(request, "alice", "approve")
    assert await stage.state(request) == "approved"


async def test_the_way_to_the_whole_request_is_sent_to_the_one_who_asked_for_it(stage: Stage) -> None:
    await says(stage, '"org": "acme"', '"org": "acme", "url": "http://127.0.0.1:8080"')
    request = await stage.ask()
    press = await stage.press(request, "alice", "See all of it")
    await eventually(lambda: stage.feishu.letters(stage.ids["alice"]))
    [letter] = stage.feishu.letters(stage.ids["alice"])
    words, link = letter.split("\n")
    assert (press.sentence, link.startswith("http://127.0.0.1:8080/")) == (words, True)
    assert link not in json.dumps(stage.feishu.view(stage.chat))


@requirement("F-46")
async def test_without_the_scope_of_a_status_a_click_is_told_so_doctor_names_it_and_with_it_the_click_counts(
    stage: Stage,
) -> None:
    stage.feishu.platform.scopes.discard(STATUS_SCOPE)
    container = stage.gateway.container
    stage.gateway.rows("DELETE FROM accounts")
    await container.confirm_accounts()
    request = await stage.ask()
    press = await stage.press(request, "alice", "approve")
    assert "assent doctor" in str((press.toast or {})["content"])
    assert await stage.state(request) == "pending"
    [finding] = await channels_doctor._people(container.book, "acme", container.channels.get("acme", "pay-feishu"), {})
    assert finding.severity is Severity.ERROR
    assert STATUS_SCOPE in finding.mend
    stage.feishu.platform.scopes.add(STATUS_SCOPE)
    await container.confirm_accounts()
    await stage.press(request, "alice", "approve")
    assert await stage.state(request) == "approved"


@requirement("F-46")
@pytest.mark.parametrize("receive", ["webhook", "websocket"])
def test_the_setup_asks_for_every_scope_without_which_something_is_withheld(receive: str) -> None:
    steps = "\n".join(setup_steps(name="pay", public_url="https://assent.example", receive=receive))
    assert [scope for scope in ALL_SCOPES if scope not in steps] == []


@requirement("S-07", "F-46")
async def test_the_directorys_manager_gets_a_card_and_decides_and_without_the_scope_the_call_names_it(
    stage: Stage,
) -> None:
    path = stage.gateway.config / "acme.yaml"
    written = json.loads(await asyncio.to_thread(path.read_text))
    written["channels"]["pay-feishu"]["managers"] = True
    written["rules"][0]["stages"] = [{"of": ["manager"]}]
    stage.feishu.platform.scopes.discard(REPORTING_SCOPE)
    await asyncio.to_thread(path.write_text, json.dumps(written))
    await stage.gateway.reload()
    body = {"tool": "pay", "arguments": PAY | {"amount": 5}, "requester": RITA}
    refused = (await stage.gateway.call("POST", "/v1/requests", body)).json()
    assert (refused["decision"], REPORTING_SCOPE in refused["reason"]) == ("deny", True)
    container = stage.gateway.container
    said: list[Finding] = []
    assert await channels_doctor._one(
        container.book, "acme", container.channels.get("acme", "pay-feishu"), access=None, found=said
    )
    [finding] = [finding for finding in said if "who the manager of 5 people is, is withheld" in finding.what]
    assert REPORTING_SCOPE in finding.mend
    stage.feishu.platform.scopes.add(REPORTING_SCOPE)
    rita = stage.feishu.platform.people[stage.ids["rita"]]
    stage.feishu.platform.people[rita.open_id] = replace(rita, leader=stage.ids["bob"])
    assert isinstance(stage.gateway.clock, ManualClock)
    stage.gateway.clock.advance(EVERY)
    await container.fetch_groups()
    request = await stage.ask(requester=RITA)
    assert (await stage.press(request, "alice", "approve")).toast
    assert await stage.state(request) == "pending"
    await stage.press(request, "bob", "approve", on="bob")
    assert await stage.state(request) == "approved"


@requirement("S-06")
async def test_a_member_of_a_user_group_whom_nobody_wrote_down_decides_by_the_organisations_mailbox(
    stage: Stage,
) -> None:
    zoe, mal = (stage.feishu.add_person(name, email=f"{name}@private.example") for name in ("Zoe", "Mal"))
    people, chats = stage.feishu.platform.people, stage.feishu.platform.chats
    for person, mailbox in ((zoe, "zoe@acme.example"), (mal, ALICE)):
        people[person.open_id] = replace(person, mailbox=mailbox)
        chats[stage.chat].add(person.open_id)
        stage.ids[person.name.lower()] = person.open_id
    group = stage.feishu.add_group(zoe, mal)
    path = stage.gateway.config / "acme.yaml"
    written = json.loads(await asyncio.to_thread(path.read_text))
    board = {"channel": "pay-feishu", "group": group, "members": "verified", "domains": ["acme.example"]}
    written["groups"]["board"] = board
    written["rules"][0]["stages"] = [{"of": ["board"]}]
    await asyncio.to_thread(path.write_text, json.dumps(written))
    await stage.gateway.reload()
    channel = stage.gateway.container.channels.get("acme", "pay-feishu")
    said: list[Finding] = []
    await channels_doctor._one(stage.gateway.container.book, "acme", channel, access=None, found=said)
    counted, other = (finding.what for finding in said if "board" in finding.what)
    assert counted == "pay-feishu: in board, 1 of 2 who are not under people count by their e-mail"
    assert other.startswith("pay-feishu: 1 in board do not count: their e-mail is that of somebody under people")
    request = await stage.ask(requester=RITA)
    for who in ("alice", "mal"):
        assert (await stage.press(request, who, "approve")).toast
        assert await stage.state(request) == "pending"
    await stage.press(request, "zoe", "approve")
    assert await stage.state(request) == "approved"
    assert "zoe@acme.example" in stage.texts(request)
    people[zoe.open_id] = replace(people[zoe.open_id], frozen=True)
    assert isinstance(stage.gateway.clock, ManualClock)
    stage.gateway.clock.advance(EVERY)
    await stage.gateway.container.fetch_groups()
    assert (await stage.gateway.claim(request)).json()["code"] == "not_approved"
