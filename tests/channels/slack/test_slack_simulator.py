"""The stand-in for Slack refuses what Slack refuses: a stand-in that takes anything would prove nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs

import aiohttp
import pytest

from channels.conformance.harness import StillClock
from channels.slack.card import render
from channels.slack.simulator.api import call_method
from channels.slack.simulator.blocks import BlocksRefusedError, check_blocks, check_view, stray_markup
from channels.slack.simulator.simulator import CannotPressError, Fault, SlackSimulator
from channels.slack.simulator.state import Message, Version
from tests.channels.slack.conformance_slack import ALICE, CARD, SETTLED, slack_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


Json = dict[str, object]


def text(value: str, kind: str = "plain_text") -> Json:
    return {"type": kind, "text": value}


def button(**more: object) -> Json:
    return {"type": "button", "text": text("Go"), **more}


def section(value: str = "x", **more: object) -> Json:
    return {"type": "section", "text": text(value), **more}


def menu(count: int, *, kind: str = "overflow", option: Json | None = None, **more: object) -> Json:
    options: list[Json] = [{"text": text(str(number)), "value": str(number)} for number in range(count)]
    if option is not None:
        options[-1] = option
    return {"type": "actions", "elements": [{"type": kind, "options": options, **more}]}


CONFIRM: Json = {"title": text("t"), "text": text("x"), "confirm": text("y"), "deny": text("n")}

BAD_BLOCKS: dict[str, tuple[object, str]] = {
    "no list": ({}, "list of one item"),
    "an empty list": ([], "list of one item"),
    "no object": (["x"], "unsupported type"),
    "an unknown type": ([{"type": "carousel"}], "unsupported type"),
    "no type": ([{"text": text("x")}], "unsupported type"),
    "an unknown field": ([section(colour="red")], "unknown field: colour"),
    "too many blocks": ([section() for _ in range(51)], "no more than 50"),
    "a section of nothing": ([{"type": "section"}], "text or fields"),
    "a long section": ([section("x" * 3001)], "less than 3001"),
    "a long section of wide characters": ([section("\N{PILE OF POO}" * 1501)], "less than 3001"),
    "an empty text": ([section("")], "more than 0"),
    "a text that is no text": ([{"type": "section", "text": "x"}], "text object"),
    "a text of an unknown kind": ([{"type": "section", "text": text("x", "html")}], "text object"),
    "emoji in mrkdwn": ([{"type": "section", "text": {**text("x", "mrkdwn"), "emoji": True}}], "unknown field: emoji"),
    "a flag that is no flag": ([{"type": "section", "text": {**text("x"), "emoji": "no"}}], "boolean"),
    "too many fields": ([{"type": "section", "fields": [text("x")] * 11}], "no more than 10"),
    "a long field": ([{"type": "section", "fields": [text("x" * 2001)]}], "less than 2001"),
    "a long header": ([{"type": "header", "text": text("x" * 151)}], "less than 151"),
    "markup in a header": ([{"type": "header", "text": text("x", "mrkdwn")}], "plain_text object"),
    "a header without text": ([{"type": "header"}], "missing required field: text"),
    "too many context elements": ([{"type": "context", "elements": [text("x")] * 11}], "no more than 10"),
    "too many buttons": ([{"type": "actions", "elements": [button(action_id=str(i)) for i in range(26)]}], "than 25"),
    "a date picker": (
        [{"type": "actions", "elements": [{"type": "datepicker", "text": text("x")}]}],
        "unsupported type",
    ),
    "a menu of one": ([menu(1)], "no fewer than 2"),
    "a menu of six": ([menu(6)], "no more than 5"),
    "a menu of nothing": ([menu(0)], "list of one item"),
    "a menu without options": ([{"type": "actions", "elements": [{"type": "overflow"}]}], "field: options"),
    "a menu with a label": ([menu(2, text=text("x"))], "unknown field: text"),
    "a menu with a placeholder": ([menu(2, placeholder=text("x"))], "unknown field: placeholder"),
    "a long option": ([menu(2, option={"text": text("x" * 76), "value": "v"})], "less than 76"),
    "a long option value": ([menu(2, option={"text": text("x"), "value": "v" * 76})], "less than 76"),
    "an option without a value": ([menu(2, option={"text": text("x")})], "field: value"),
    "an option in markup": ([menu(2, option={"text": text("x", "mrkdwn"), "value": "v"})], "plain_text object"),
    "two options of one value": ([menu(2, option={"text": text("x"), "value": "0"})], "already exists"),
    "a select of a hundred and one": ([menu(101, kind="static_select")], "no more than 100"),
    "a select of nothing": ([menu(0, kind="static_select")], "list of one item"),
    "a long placeholder": ([menu(1, kind="static_select", placeholder=text("x" * 151))], "less than 151"),
    "two menus of one name": ([menu(2, action_id="a"), menu(2, action_id="a")], "already exists"),
    "a long label": ([{"type": "actions", "elements": [{"type": "button", "text": text("x" * 76)}]}], "less than 76"),
    "a long value": ([{"type": "actions", "elements": [button(value="x" * 2001)]}], "less than 2001"),
    "an unknown style": ([{"type": "actions", "elements": [button(style="green")]}], "primary, danger"),
    "two buttons of one name": ([{"type": "actions", "elements": [button(action_id="a")] * 2}], "already exists"),
    "two blocks of one name": ([section(block_id="a"), section(block_id="a")], "already exists"),
    "a long block name": ([section(block_id="x" * 256)], "less than 256"),
    "a confirmation without a title": (
        [{"type": "actions", "elements": [button(confirm={k: v for k, v in CONFIRM.items() if k != "title"})]}],
        "missing required field: title",
    ),
    "a long confirmation": (
        [{"type": "actions", "elements": [button(confirm={**CONFIRM, "text": text("x" * 301)})]}],
        "less than 301",
    ),
    "a long confirmation button": (
        [{"type": "actions", "elements": [button(confirm={**CONFIRM, "deny": text("x" * 31)})]}],
        "less than 31",
    ),
    "too much in all": ([section("x" * 2900, block_id=str(i)) for i in range(5)], "14500 characters"),
}


@pytest.mark.parametrize(("blocks", "why"), BAD_BLOCKS.values(), ids=BAD_BLOCKS)
def test_blocks_that_slack_would_refuse_are_refused(blocks: object, why: str) -> None:
    with pytest.raises(BlocksRefusedError) as refusal:
        check_blocks(blocks)
    assert why in str(refusal.value)


ELEMENT: Json = {"type": "plain_text_input", "action_id": "a"}
INPUT: Json = {"type": "input", "label": text("Why?"), "element": ELEMENT}
VIEW: Json = {"type": "modal", "title": text("t"), "submit": text("s"), "blocks": [INPUT]}

BAD_VIEWS: dict[str, tuple[object, str]] = {
    "no object": ("view", "must be an object"),
    "a home tab": ({**VIEW, "type": "home"}, "must be modal"),
    "no title": ({k: v for k, v in VIEW.items() if k != "title"}, "missing required field: title"),
    "a long title": ({**VIEW, "title": text("x" * 25)}, "less than 25"),
    "a long submit": ({**VIEW, "submit": text("x" * 25)}, "less than 25"),
    "an input without submit": ({k: v for k, v in VIEW.items() if k != "submit"}, "missing required field: submit"),
    "long private metadata": ({**VIEW, "private_metadata": "x" * 3001}, "less than 3001"),
    "an unknown field": ({**VIEW, "size": "large"}, "unknown field: size"),
    "an endless text box": (
        {**VIEW, "blocks": [{**INPUT, "element": {"type": "plain_text_input", "max_length": 3001}}]},
        "between 1 and 3000",
    ),
    "a long beginning": (
        {**VIEW, "blocks": [{**INPUT, "element": {**ELEMENT, "initial_value": "x" * 11, "max_length": 10}}]},
        "less than 11",
    ),
    "a person by name": (
        {**VIEW, "blocks": [{**INPUT, "element": {"type": "users_select", "initial_user": "bob"}}]},
        "must be a user id",
    ),
    "a choice of people with a text": (
        {**VIEW, "blocks": [{**INPUT, "element": {"type": "users_select", "initial_value": "x"}}]},
        "unknown field: initial_value",
    ),
    "a date picker": ({**VIEW, "blocks": [{**INPUT, "element": {"type": "datepicker"}}]}, "unsupported type"),
}


@pytest.mark.parametrize(("view", "why"), BAD_VIEWS.values(), ids=BAD_VIEWS)
def test_modals_that_slack_would_refuse_are_refused(view: object, why: str) -> None:
    with pytest.raises(BlocksRefusedError) as refusal:
        check_view(view)
    assert why in str(refusal.value)


def test_what_slack_takes_is_taken() -> None:
    check_blocks(render(CARD)[1])
    check_blocks(render(SETTLED)[1])
    check_view(VIEW)


@pytest.mark.parametrize(
    "markup", ["<!channel>", "<@U1>", "<#C1|x>", "<https://x.example|y>", "a & b", "https://x.example"]
)
def test_markup_in_a_parsed_text_is_noticed(markup: str) -> None:
    assert stray_markup(f"before {markup} after")


@pytest.mark.parametrize("inert", ["&lt;!channel&gt;", "a &amp; b", "1 < 2", "<!date^17^{date}|then>"])
def test_what_is_escaped_or_a_date_is_not_called_markup(inert: str) -> None:
    assert stray_markup(inert) == []


# --- the Web API over real HTTP ---------------------------------------------------------------------------------------


@pytest.fixture
async def slack() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator(clock=StillClock()) as simulator:
        simulator.add_person(ALICE, name="alice", email="alice@example.com")
        yield simulator


async def ask(slack: SlackSimulator, method: str, *, token: object = "bot", **arguments: object) -> Json:
    known = {"bot": slack.configuration()["bot_token"], "app": slack.configuration()["app_token"]}
    headers = {"Authorization": f"Bearer {known.get(str(token), token)}"} if token else {}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{slack.public_url}/api/{method}", json=arguments, headers=headers) as response,
    ):
        return cast("Json", {**await response.json(), "status": response.status})


HELLO: Json = {"channel": "CBR2V3XEX", "text": "hello"}

REFUSED: dict[str, tuple[str, str | None, Json, str]] = {
    "no token": ("chat.postMessage", None, HELLO, "not_authed"),
    "an unknown token": ("chat.postMessage", "xoxb-other", HELLO, "invalid_auth"),
    "the app token for a message": ("chat.postMessage", "app", HELLO, "not_allowed_token_type"),
    "the bot token for a socket": ("apps.connections.open", "bot", {}, "not_allowed_token_type"),
    "an unknown method": ("chat.shout", "bot", {}, "unknown_method"),
    "an unknown channel": ("chat.postMessage", "bot", {**HELLO, "channel": "C0THER"}, "channel_not_found"),
    "an unknown argument": ("chat.postMessage", "bot", {**HELLO, "unfurl_link": False}, "invalid_arguments"),
    "nothing to say": ("chat.postMessage", "bot", {"channel": "CBR2V3XEX"}, "no_text"),
    "a mention": ("chat.postMessage", "bot", {**HELLO, "text": "<!channel>"}, "invalid_blocks"),
    "too long a text": ("chat.postMessage", "bot", {**HELLO, "text": "x" * 40_001}, "msg_too_long"),
    "bad blocks": ("chat.postMessage", "bot", {**HELLO, "blocks": [{"type": "x"}]}, "invalid_blocks"),
    "metadata in another form": ("chat.postMessage", "bot", {**HELLO, "metadata": {}}, "invalid_metadata_format"),
    "vast metadata": (
        "chat.postMessage",
        "bot",
        {**HELLO, "metadata": {"event_type": "e", "event_payload": {"k": "x" * 16_000}}},
        "metadata_too_large",
    ),
    "an edit of nothing": ("chat.update", "bot", {**HELLO, "ts": "1.000001"}, "message_not_found"),
    "a long edit": ("chat.update", "bot", {**HELLO, "ts": "{ts}", "text": "x" * 4001}, "msg_too_long"),
    "an answer under nothing": ("chat.postMessage", "bot", {**HELLO, "thread_ts": "1.000001"}, "thread_not_found"),
    "a mention of nobody in a thread": (
        "chat.postMessage",
        "bot",
        {**HELLO, "thread_ts": "{ts}", "text": "<@U0NOBODY>"},
        "invalid_blocks",
    ),
    "a mention of all in a thread": (
        "chat.postMessage",
        "bot",
        {**HELLO, "thread_ts": "{ts}", "text": f"<@{ALICE}> <!channel>"},
        "invalid_blocks",
    ),
    "a mention above a thread": ("chat.postMessage", "bot", {**HELLO, "text": f"<@{ALICE}>"}, "invalid_blocks"),
    "an address": ("chat.postMessage", "bot", {**HELLO, "text": "https://x.example"}, "invalid_blocks"),
    "an edit in a person's name": ("chat.update", "bot", {**HELLO, "channel": ALICE, "ts": "1.1"}, "channel_not_found"),
    "a history in a person's name": ("conversations.history", "bot", {"channel": ALICE}, "channel_not_found"),
    "a conversation with nobody": ("conversations.open", "bot", {"users": "U0NOBODY"}, "user_not_found"),
    "a conversation with two": ("conversations.open", "bot", {"users": f"{ALICE},U2"}, "user_not_found"),
    "an unknown user group": ("usergroups.users.list", "bot", {"usergroup": "S0THER"}, "no_such_subteam"),
    "an unknown person": ("users.info", "bot", {"user": "U0NOBODY"}, "user_not_found"),
    "an unknown address": ("users.lookupByEmail", "bot", {"email": "x@example.com"}, "users_not_found"),
    "an empty address": ("users.lookupByEmail", "bot", {"email": ""}, "users_not_found"),
    "a modal out of nowhere": ("views.open", "bot", {"trigger_id": "1.2.3", "view": VIEW}, "invalid_trigger_id"),
}


@pytest.mark.parametrize(("method", "token", "arguments", "code"), REFUSED.values(), ids=REFUSED)
async def test_calls_that_slack_would_refuse_are_refused(
    slack: SlackSimulator, method: str, token: str | None, arguments: Json, code: str
) -> None:
    if "{ts}" in arguments.values():
        ts = (await ask(slack, "chat.postMessage", **HELLO))["ts"]
        arguments = {name: ts if value == "{ts}" else value for name, value in arguments.items()}
    before = len(slack.view("CBR2V3XEX"))
    answer = await ask(slack, method, token=token, **arguments)
    assert (answer["status"], answer["ok"], answer["error"]) == (200, False, code)
    assert len(slack.view("CBR2V3XEX")) == before


async def test_a_refusal_of_blocks_points_at_the_place(slack: SlackSimulator) -> None:
    answer = await ask(slack, "chat.postMessage", **HELLO, blocks=[section("x" * 3001)])
    assert answer["errors"] == ["must be less than 3001 characters [json-pointer:/blocks/0/text/text]"]


async def test_membership_archives_scopes_and_revocation_count(slack: SlackSimulator) -> None:
    bot = slack.world.tokens[str(slack.configuration()["bot_token"])]
    slack.room.archived = True
    assert (await ask(slack, "chat.postMessage", **HELLO))["error"] == "is_archived"
    slack.room.has_app = False
    assert (await ask(slack, "chat.postMessage", **HELLO))["error"] == "not_in_channel"
    bot.scopes = frozenset({"users:read"})
    refused = await ask(slack, "chat.postMessage", **HELLO)
    assert (refused["error"], refused["needed"], refused["provided"]) == ("missing_scope", "chat:write", "users:read")
    bot.revoked = True
    assert (await ask(slack, "auth.test"))["error"] == "token_revoked"


async def test_an_app_edits_its_own_messages_alone(slack: SlackSimulator) -> None:
    now = slack.world.clock.now()
    foreign = Message(ts="9.000001", metadata=None, versions=[Version(text="x", blocks=[])], posted_at=now, ours=False)
    slack.room.messages[foreign.ts] = foreign
    assert (await ask(slack, "chat.update", **HELLO, ts=foreign.ts))["error"] == "cant_update_message"


async def test_a_message_a_second_is_enough_when_the_limit_is_on(slack: SlackSimulator) -> None:
    slack.world.limits_rate = True
    assert (await ask(slack, "chat.postMessage", **HELLO))["ok"] is True
    assert (await ask(slack, "chat.postMessage", **HELLO))["status"] == 429


async def test_arguments_count_as_json_form_and_query_alike(slack: SlackSimulator) -> None:
    headers = {"Authorization": f"Bearer {slack.configuration()['bot_token']}"}
    url = f"{slack.public_url}/api/users.info"
    async with aiohttp.ClientSession(headers=headers) as session:
        for ask_so in (
            session.get(url, params={"user": ALICE}),
            session.post(url, data={"user": ALICE}),
            session.post(url, json={"user": ALICE}),
        ):
            async with ask_so as response:
                assert (await response.json())["user"]["id"] == ALICE


# --- people -----------------------------------------------------------------------------------------------------------


async def test_only_buttons_on_the_screen_can_be_pressed() -> None:
    async with slack_stage() as stage:
        post = await ask(stage.simulator, "chat.postMessage", **HELLO, blocks=render(CARD)[1])
        ts = str(post["ts"])
        for user, channel_ts, action in (
            (ALICE, ts, "assent_undo"),
            (ALICE, "1.000001", "assent_approve"),
            ("U0NOBODY", ts, "assent_approve"),
            ("U0G0NE0001", ts, "assent_approve"),
            ("U0B0T00001", ts, "assent_approve"),
        ):
            with pytest.raises(CannotPressError):
                await stage.simulator.click(user, "CBR2V3XEX", channel_ts, action)
        await ask(stage.simulator, "chat.update", **HELLO, ts=ts, blocks=render(SETTLED)[1])
        with pytest.raises(CannotPressError):
            await stage.simulator.click(ALICE, "CBR2V3XEX", ts, "assent_approve")
        assert stage.calls == []


async def test_a_gateway_that_fails_shows_the_person_an_error() -> None:
    async with slack_stage() as stage:
        post = await ask(stage.simulator, "chat.postMessage", **HELLO, blocks=render(CARD)[1])
        pressed = await stage.simulator.click(ALICE, "CBR2V3XEX", str(post["ts"]), "assent_approve")
        assert (pressed.status, pressed.trouble) == (503, "We had some trouble connecting. Try again?")


async def press_deny(slack: SlackSimulator) -> str:
    """Press Deny with nobody behind the callback address, and return the right to open a modal that came with it."""
    post = await ask(slack, "chat.postMessage", **HELLO, blocks=render(CARD)[1])
    slack.callback_url = f"{slack.public_url}/elsewhere"
    await slack.click(ALICE, "CBR2V3XEX", str(post["ts"]), "assent_deny")
    return list(slack.world.triggers)[-1]


async def test_a_trigger_opens_one_modal_for_three_seconds(slack: SlackSimulator) -> None:
    trigger = await press_deny(slack)
    assert (await ask(slack, "views.open", trigger_id=trigger, view={**VIEW, "x": 1}))["error"] == "invalid_arguments"
    assert (await ask(slack, "views.open", trigger_id=trigger, view=VIEW))["ok"] is True
    assert (await ask(slack, "views.open", trigger_id=trigger, view=VIEW))["error"] == "exchanged_trigger_id"
    late = await press_deny(slack)
    cast("StillClock", slack.world.clock).advance(timedelta(seconds=3.1))
    assert (await ask(slack, "views.open", trigger_id=late, view=VIEW))["error"] == "expired_trigger_id"


async def test_a_private_address_works_five_times_for_thirty_minutes(slack: SlackSimulator) -> None:
    await press_deny(slack)
    note = {"response_type": "ephemeral", "replace_original": False, "text": "hi"}
    address = f"{slack.public_url}{next(iter(slack.world.reply_rights))}"
    async with aiohttp.ClientSession() as session:
        for expected in (200, 200, 200, 200, 200, 404):
            async with session.post(address, json=note) as response:
                assert response.status == expected
        await press_deny(slack)
        later = f"{slack.public_url}{list(slack.world.reply_rights)[-1]}"
        cast("StillClock", slack.world.clock).advance(timedelta(minutes=31))
        async with session.post(later, json=note) as response:
            assert response.status == 404
    assert [entry["only_for"] for entry in slack.view("CBR2V3XEX") if entry["kind"] == "note"] == [ALICE] * 5


BAD_ANSWERS: list[Json] = [
    {"response_action": "errors", "errors": {"no_such_block": "x"}},
    {"response_action": "errors", "errors": {}},
    {"response_action": "update", "view": {"type": "modal"}},
    {"response_action": "dance"},
    {"toast": "done"},
]


@pytest.mark.parametrize("body", BAD_ANSWERS, ids=str)
async def test_an_answer_that_a_modal_does_not_know_shows_an_error_and_stays_open(body: Json) -> None:
    async with slack_stage() as stage:
        trigger = await press_deny(stage.simulator)
        await ask(stage.simulator, "views.open", trigger_id=trigger, view=_with_ids())
        modal = stage.simulator.modal_of(ALICE)
        assert modal is not None
        async with _answering(body) as address:
            stage.simulator.callback_url = address
            shown = await stage.simulator.submit_modal(ALICE, modal.id, "because")
        assert shown.trouble
        assert modal.open


def _with_ids() -> Json:
    element = {"type": "plain_text_input", "action_id": "a", "min_length": 1, "max_length": 10}
    return {**VIEW, "blocks": [{**INPUT, "block_id": "b", "element": element}]}


def _answering(body: Json):  # noqa: ANN202 - aiohttp's own server type
    from contextlib import asynccontextmanager

    from aiohttp import web

    @asynccontextmanager
    async def serve() -> AsyncIterator[str]:
        async def answer(_: web.Request) -> web.Response:
            return web.json_response(body)

        app = web.Application()
        app.router.add_post("/", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
        finally:
            await runner.cleanup()

    return serve()


async def test_a_text_box_keeps_its_bounds(slack: SlackSimulator) -> None:
    trigger = await press_deny(slack)
    await ask(slack, "views.open", trigger_id=trigger, view=_with_ids())
    modal = slack.modal_of(ALICE)
    assert modal is not None
    for reason in ("", "x" * 11):
        with pytest.raises(CannotPressError):
            await slack.submit_modal(ALICE, modal.id, reason)
    with pytest.raises(CannotPressError):
        await slack.submit_modal("U0B0B00001", modal.id, "x")


async def test_a_choice_that_is_not_on_the_screen_cannot_be_made() -> None:
    async with slack_stage() as stage:
        post = await ask(stage.simulator, "chat.postMessage", **HELLO, blocks=[menu(2, action_id="m")])
        ts = str(post["ts"])
        for label, nth in (("2", 0), ("1", 1)):
            with pytest.raises(CannotPressError):
                await stage.simulator.use(ALICE, "CBR2V3XEX", ts, label, nth=nth)
        for menu_id, value in (("m", "2"), ("n", "1")):
            with pytest.raises(CannotPressError):
                await stage.simulator.choose(ALICE, "CBR2V3XEX", ts, menu_id, value)
        with pytest.raises(CannotPressError):
            await stage.simulator.click(ALICE, "CBR2V3XEX", ts, "m")
        assert stage.calls == []


@pytest.mark.parametrize("kind", ["overflow", "static_select"])
async def test_a_choice_comes_in_slacks_own_form(slack: SlackSimulator, kind: str) -> None:
    block = {**menu(2, kind=kind, action_id="m"), "block_id": "b"}
    post = await ask(slack, "chat.postMessage", **HELLO, blocks=[block])
    slack.callback_url = f"{slack.public_url}/elsewhere"
    ts = str(post["ts"])
    for sent in (
        await slack.use(ALICE, "CBR2V3XEX", ts, "1"),
        await slack.choose(ALICE, "CBR2V3XEX", ts, "m", "1"),
    ):
        is_slacks_own(sent.body, kind)


def is_slacks_own(body: bytes, kind: str) -> None:
    payload = json.loads(parse_qs(body.decode())["payload"][0])
    [action] = payload["actions"]
    chosen = {"text": text("1"), "value": "1"}
    assert {**action, "action_ts": ""} == {
        "type": kind,
        "action_id": "m",
        "block_id": "b",
        "selected_option": chosen,
        "action_ts": "",
    }
    state = {"b": {"m": {"type": kind, "selected_option": chosen}}} if kind == "static_select" else {}
    assert payload["state"] == {"values": state}


async def test_a_form_takes_what_slacks_own_form_would_take(slack: SlackSimulator) -> None:
    person = {"type": "users_select", "action_id": "p"}
    blocks = [
        {**INPUT, "block_id": "who", "label": text("Who?"), "element": person},
        {**INPUT, "block_id": "note", "optional": True},
        {**INPUT, "block_id": "sum", "element": {**ELEMENT, "action_id": "s", "initial_value": "80"}},
    ]
    trigger = await press_deny(slack)
    await ask(slack, "views.open", trigger_id=trigger, view={**VIEW, "blocks": blocks})
    modal = slack.modal_of(ALICE)
    assert modal is not None
    for answers in ({}, {"who": "U0NOBODY"}, {"who": ALICE, "sum": ""}, {"who": ALICE, "colour": "red"}):
        with pytest.raises(CannotPressError):
            await slack.submit_modal(ALICE, modal.id, answers)
    sent = await slack.submit_modal(ALICE, modal.id, {"Who?": ALICE})
    payload = json.loads(parse_qs(sent.body.decode())["payload"][0])
    assert payload["view"]["state"]["values"] == {
        "who": {"p": {"type": "users_select", "selected_user": ALICE}},
        "note": {"a": {"type": "plain_text_input", "value": None}},
        "sum": {"s": {"type": "plain_text_input", "value": "80"}},
    }


async def test_each_person_has_one_conversation_with_the_app(slack: SlackSimulator) -> None:
    opened = await ask(slack, "conversations.open", users=ALICE)
    posted = await ask(slack, "chat.postMessage", **{**HELLO, "channel": ALICE})
    room = cast("Json", opened["channel"])["id"]
    assert room == posted["channel"] == slack.direct(ALICE)
    assert [entry["text"] for entry in slack.view(str(room))] == ["hello"]
    bot = slack.world.tokens[str(slack.configuration()["bot_token"])]
    bot.scopes = bot.scopes - {"im:history"}
    assert (await ask(slack, "conversations.history", channel=room))["error"] == "missing_scope"
    assert (await ask(slack, "conversations.history", channel="CBR2V3XEX"))["ok"] is True


async def test_what_a_channel_shows_is_json(slack: SlackSimulator) -> None:
    await ask(slack, "chat.postMessage", **HELLO, blocks=render(CARD)[1])
    [entry] = cast("list[Json]", json.loads(json.dumps(slack.view("CBR2V3XEX"))))
    assert (entry["kind"], entry["author"], entry["versions"]) == ("message", "assent", 1)


async def test_a_hanging_call_does_not_hold_up_the_end(slack: SlackSimulator) -> None:
    slack.fail_next("auth.test", Fault.HANG)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await ask(slack, "auth.test")


# --- tokens that rotate -----------------------------------------------------------------------------------------------


async def exchanged(slack: SlackSimulator, **form: str) -> dict[str, object]:
    """Post a form to the method, as an app does."""
    async with aiohttp.ClientSession() as session:
        address = f"{slack.public_url}/api/oauth.v2.access"
        async with session.post(address, data=form) as response:
            return cast("dict[str, object]", await response.json())


async def test_a_refresh_token_is_good_for_one_exchange_which_ends_the_access_before_it(slack: SlackSimulator) -> None:
    given = {name: str(value) for name, value in slack.rotate_tokens().items()}
    given["grant_type"] = "refresh_token"
    first = await exchanged(slack, **given)
    assert (first["ok"], first["expires_in"], first["token_type"]) == (True, 43_200, "bot")
    assert await exchanged(slack, **given) == {"ok": False, "error": "invalid_refresh_token"}
    second = await exchanged(slack, **given | {"refresh_token": str(first["refresh_token"])})
    tokens = slack.world.tokens
    assert tokens[str(first["access_token"])].revoked
    assert call_method(slack.world, "auth.test", str(first["access_token"]), {})["error"] == "token_revoked"
    assert call_method(slack.world, "auth.test", str(second["access_token"]), {})["ok"]
    clock = cast("StillClock", slack.world.clock)
    clock.advance(timedelta(hours=12))
    assert call_method(slack.world, "auth.test", str(second["access_token"]), {})["error"] == "token_expired"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"client_id": "1.2"}, "invalid_client_id"),
        ({"client_secret": "0" * 32}, "bad_client_secret"),
        ({"grant_type": "authorization_code"}, "invalid_grant_type"),
        ({"refresh_token": "xoxe-1-of-nobody"}, "invalid_refresh_token"),
        ({"code": "1"}, "invalid_arguments"),
    ],
)
async def test_an_exchange_that_slack_would_refuse_is_refused_and_spends_nothing(
    slack: SlackSimulator, change: dict[str, str], error: str
) -> None:
    given = {name: str(value) for name, value in slack.rotate_tokens().items()}
    given["grant_type"] = "refresh_token"
    assert (await exchanged(slack, **given | change))["error"] == error
    assert (await exchanged(slack, **given))["ok"]
