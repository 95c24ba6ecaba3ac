"""Half an answer of a platform: each field that is read, absent, null, empty, or of another form.

The rule is one for all of them. What is done because of such an answer is what a whole one would have led to, or the
call counts as one that failed and is made again; of a person, that it is not known how they stand. It is never that
somebody is closed, a guest, or nobody, that a list is shorter than it is, or that a message is elsewhere.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from app.abilities.directories import ReportsTo
from app.ports import Account, AccountStatus, ChannelRefusedError, ChannelUnavailableError, Post
from channels.feishu.details.people import STATUS_SCOPE
from tests.channels.feishu.conformance_feishu import feishu_stage
from tests.channels.feishu.feishu_cards import a_card
from tests.channels.slack.conformance_slack import ALICE, CARD, slack_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

Path = tuple[str | int, ...]
ABSENT = object()
ODD: tuple[tuple[str, Any], ...] = (
    ("absent", ABSENT),
    ("null", None),
    ("empty", ""),
    ("number", 7),
    ("list", []),
    ("table", {}),
    ("words", "yes"),
)


def changed(answer: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return the answer with one field of it replaced, or taken out."""
    whole: Any = copy.deepcopy(answer)
    at: Any = whole
    for step in path[:-1]:
        at = at[step]
    if value is ABSENT:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return whole


async def said(call: Callable[[], Awaitable[Any]]) -> Any:
    """Return what came of a call: its value, or the class of the error that says what to do about it."""
    try:
        return await call()
    except (ChannelUnavailableError, ChannelRefusedError) as error:
        return type(error)


def harmless(whole: Any, half: Any) -> bool:
    """Say whether half an answer led to no more than it may."""
    if isinstance(whole, Account) and isinstance(half, Account):
        same = half.account_id == whole.account_id
        return same and (half.status is whole.status or (half.status is AccountStatus.UNKNOWN and bool(half.withheld)))
    if isinstance(whole, ReportsTo) and half is not ChannelUnavailableError:
        return half in {whole, None} or bool(half.withheld)
    return half == whole or half is ChannelUnavailableError


async def check(
    call: Callable[[], Awaitable[Any]],
    tampers: dict[str, Any],
    operation: str,
    paths: Sequence[Path],
    *,
    but: dict[tuple[Path, str], Any],
) -> None:
    """Make the call once whole, and once for each way in which each field can be odd. `but` is documented otherwise."""
    whole = await said(call)
    assert whole is not ChannelUnavailableError
    wrong: list[str] = []
    for path in paths:
        for name, value in ODD:
            if path == TENANT and name == "words":
                continue
            if value is ABSENT and isinstance(path[-1], int):
                continue  # a shorter list is no half of one
            tampers[operation] = lambda answer, path=path, value=value: changed(answer, path, value)
            half = await said(call)
            tampers.pop(operation)
            fits = half == but[path, name] if (path, name) in but else harmless(whole, half)
            if not fits:
                wrong.append(f"{operation} {path} {name}: {half}")
    assert wrong == []


PERSON: Path = ("data", "user_list", 0)
MARKS = ("is_frozen", "is_resigned", "is_activated", "is_exited", "is_unjoin")
NOBODY: dict[tuple[Path, str], Any] = {((*PERSON, "user_id"), how): None for how in ("absent", "null", "empty")}
"""The platform leaves the id out for whom it does not know, or does not show."""

TENANT: Path = ("data", "sender", "tenant_key")  # any word may be one

NO_MEMBERS = [
    ((at, how), ()) for at in (("data", "memberlist"), ("data", "items")) for how in ("absent", "null", "list")
]
"""A page without entries is how an empty list comes."""

MANAGED: Path = ("data", "items", 0)
"""Where there is no manager the field is left out: the departments beside it say that it is not withheld."""

FEISHU: dict[str, tuple[str, list[Path], dict[tuple[Path, str], Any]]] = {
    "a person by e-mail": (
        "batch_get_id",
        [("data",), PERSON[:2], PERSON, *((*PERSON, name) for name in ("user_id", "email", "status"))]
        + [(*PERSON, "status", mark) for mark in MARKS],
        NOBODY,
    ),
    "a person by id": (
        "get_user",
        [("data",), ("data", "user"), ("data", "user", "open_id"), ("data", "user", "status")]
        + [("data", "user", "status", mark) for mark in MARKS],
        {},
    ),
    "a card in the chat": (
        "send",
        [("data",), *(("data", name) for name in ("message_id", "chat_id", "sender")), TENANT],
        {},
    ),
    "a card to a person": ("send", [("data",), ("data", "message_id"), ("data", "chat_id")], {}),
    "a group": (
        "list_group",
        [*(("data", "memberlist", 0, "member_id")[:depth] for depth in range(1, 5)), ("data", "has_more")],
        dict(NO_MEMBERS),
    ),
    "a department": (
        "list_department",
        [("data",), ("data", "items"), ("data", "items", 0), ("data", "items", 0, "open_id"), ("data", "has_more")],
        dict(NO_MEMBERS),
    ),
    "a manager": (
        "list_users",
        [("data",), ("data", "items"), MANAGED, *((*MANAGED, name) for name in ("open_id", "leader_user_id"))],
        {((*MANAGED, "leader_user_id"), how): ReportsTo() for how in ("absent", "null", "empty")},
    ),
    "membership": ("is_in_chat", [("data",), ("data", "is_in_chat")], {}),
    "the long connection": (
        "endpoint",
        [("data",), ("data", "URL"), ("data", "ClientConfig")]
        + [("data", "ClientConfig", name) for name in ("PingInterval", "ReconnectInterval")],
        {},
    ),
}


@requirement("F-46")
@pytest.mark.parametrize("what", FEISHU)
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_half_an_answer_of_feishu_bars_nobody_and_loses_nothing(what: str) -> None:
    operation, paths, but = FEISHU[what]
    async with feishu_stage() as stage:
        group = stage.simulator.add_group(stage.alice, stage.bob)
        department = stage.simulator.add_department(stage.alice)
        channel, client, count = stage.channel, stage.channel._client, iter(range(10_000))

        async def card(to: str) -> tuple[str, str, bool]:
            ref = await channel.post(Post(card=a_card(), chat_id=to, key=f"dlv_{next(count)}.1"))
            return ref.chat_id, ref.tenant or stage.alice.tenant_key, ref.message_id.startswith("om_")

        alice = stage.alice.open_id
        stage.simulator.platform.people[alice] = replace(stage.alice, leader=stage.bob.open_id)

        async def manager() -> ReportsTo | None:
            return (await channel.reports_to((alice,))).get(alice)

        async def endpoint() -> bool:
            place = await client.find_endpoint()
            return place.url.startswith("ws://127.0.0.1") and place.ping_seconds >= 1 and place.retry_seconds >= 1

        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "a person by e-mail": lambda: channel.look_up(email=stage.alice.email, account_id=""),
            "a person by id": lambda: channel.look_up(email="", account_id=stage.alice.open_id),
            "a card in the chat": lambda: card(channel.chat_id),
            "a card to a person": lambda: card(stage.alice.open_id),
            "a group": lambda: channel.group_members(f"group:{group}"),
            "a department": lambda: channel.group_members(f"department:{department}"),
            "a manager": manager,
            "membership": lambda: client.is_in_chat(channel.chat_id),
            "the long connection": endpoint,
        }
        await check(calls[what], stage.simulator.app.tampers, operation, paths, but=but)


SLACK_MESSAGE = [("message",), ("message", "app_id"), ("message", "team")]
SLACK_PERSON = ("id", "team_id", "deleted", "is_bot")
SLACK: dict[str, tuple[str, list[Path], dict[tuple[Path, str], Any]]] = {
    "a person by e-mail": ("users.lookupByEmail", [("user",), *(("user", name) for name in SLACK_PERSON)], {}),
    "a person by id": ("users.info", [("user",), *(("user", name) for name in SLACK_PERSON)], {}),
    "a card in the channel": ("chat.postMessage", [("channel",), ("ts",), *SLACK_MESSAGE], {}),
    "a group": ("usergroups.users.list", [("users",), ("users", 0)], {(("users",), "list"): ()}),
    "the workspace": ("auth.test", [("team_id",)], {}),
    "the conversation": ("conversations.open", [("channel",), ("channel", "id")], {}),
    "an earlier card": ("conversations.history", [("messages",)], {(("messages",), "list"): None}),
    "the socket": ("apps.connections.open", [("url",)], {}),
}


@requirement("F-46")
@pytest.mark.parametrize("what", SLACK)
@pytest.mark.heavy
async def test_half_an_answer_of_slack_bars_nobody_and_loses_nothing(what: str) -> None:
    operation, paths, but = SLACK[what]
    async with slack_stage() as stage:
        stage.simulator.add_group("S0FINANCE", "finance", ALICE)
        channel, count = stage.channel, iter(range(10_000))

        async def card() -> tuple[str, bool, bool]:
            ref = await channel.post(Post(card=CARD, chat_id=channel.chat_id, key=f"dlv_{next(count)}.1"))
            world = stage.simulator.world  # what is "" is not compared with a click
            return ref.chat_id, ref.app_id in {"", world.app_id}, ref.tenant in {"", world.team_id}

        async def workspace() -> Account | None:
            channel._team = ""
            return await channel.look_up(email=stage.email, account_id="")

        async def earlier() -> bool | None:
            found = await channel.find(channel.chat_id, "dlv_x.1", since=stage.clock.now())
            return None if found is None else bool(found.message_id)

        async def socket() -> bool:
            return (await channel._client.open_socket_address("xapp-1-A0APPR0VAL-simulated")).startswith("ws://")

        await channel.post(Post(card=CARD, chat_id=channel.chat_id, key="dlv_x.1"))
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "a person by e-mail": lambda: channel.look_up(email=stage.email, account_id=""),
            "a person by id": lambda: channel.look_up(email="", account_id=ALICE),
            "a card in the channel": card,
            "a group": lambda: channel.group_members("group:S0FINANCE"),
            "the workspace": workspace,
            "the conversation": lambda: channel._conversation(ALICE),
            "an earlier card": earlier,
            "the socket": socket,
        }
        await check(calls[what], stage.simulator.world.tampers, operation, paths, but=but)


@pytest.mark.heavy
@requirement("F-46")
@pytest.mark.parametrize("by", ["email", "account_id"])
async def test_without_the_scope_of_a_status_nobody_is_inactive_and_the_scope_is_named(by: str) -> None:
    async with feishu_stage() as stage:
        stage.simulator.platform.scopes.discard(STATUS_SCOPE)
        for person in (stage.alice, stage.gone):
            asked = {"email": "", "account_id": ""} | {by: person.email if by == "email" else person.open_id}
            account = await stage.channel.look_up(**asked)
            assert account is not None
            assert account.status is AccountStatus.UNKNOWN
            assert STATUS_SCOPE in account.withheld


@requirement("F-46")
async def test_one_clear_mark_closes_an_account_whatever_else_is_missing() -> None:
    async with feishu_stage() as stage:
        for mark in ("is_frozen", "is_resigned", "is_exited", "is_unjoin"):
            stage.simulator.app.tampers["batch_get_id"] = lambda answer, mark=mark: changed(
                answer, (*PERSON, "status"), {mark: True}
            )
            account = await stage.channel.look_up(email=stage.alice.email, account_id="")
            assert account is not None
            assert account.status is AccountStatus.DEACTIVATED


@requirement("F-46")
@pytest.mark.parametrize("code", [1, 1000040343])
async def test_a_busy_long_connection_is_asked_for_again_soon_and_not_as_after_a_refusal(code: int) -> None:
    async with feishu_stage() as stage:
        stage.simulator.app.tampers["endpoint"] = lambda answer: {"code": code, "msg": "system busy"}
        with pytest.raises(ChannelUnavailableError):
            await stage.channel._client.find_endpoint()
