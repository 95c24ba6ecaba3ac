"""A channel's package that fails, hangs or returns nonsense: its own cards wait, and nobody else's do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from structlog.testing import capture_logs

from app.bulkhead.building import behind_bulkhead
from app.bulkhead.bulkhead import BOUNDS
from app.bulkhead.calls import ChannelHangsError, left_behind
from app.cli.doctor import channels as doctor
from app.domain.text.language import Language
from app.ports import (
    Account,
    ChannelRefusedError,
    ChannelUnavailableError,
    MessageRef,
    Severity,
)
from app.storage.engine.dialect import to_us
from channels import registry
from tests.fixtures.memory_platform import APP, TENANT, MemoryChannel, memory_spec
from tests.fixtures.patience import HANGS
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fixtures.gateway import Gateway

ALICE = "alice@acme.example"
TOKEN = "tok-0123456789"


def confirmed(gateway: Gateway) -> set[str]:
    return {str(row["person"]) for row in gateway.rows("SELECT person FROM accounts WHERE channel = 'chat'")}


async def stubborn(*_: object, **__: object) -> Any:
    """Never come back, not even when cancelled."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


# --- who is who -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [KeyError(TOKEN), SystemExit(TOKEN), asyncio.CancelledError(TOKEN), "no account"])
async def test_a_package_that_fails_over_one_person_is_asked_about_the_others(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, fault: BaseException | str
) -> None:
    asked: list[str] = []
    look_up = MemoryChannel.look_up

    async def failing(self: MemoryChannel, *, email: str, account_id: str) -> Account | None:
        asked.append(email)
        if email != ALICE:
            return await look_up(self, email=email, account_id=account_id)
        if isinstance(fault, BaseException):
            raise fault
        return cast("Account", fault)

    gateway.rows("DELETE FROM accounts")
    monkeypatch.setattr(MemoryChannel, "look_up", failing)
    confirm = gateway.container.confirm_accounts
    channel = gateway.container.channels.get("acme", "chat")
    with capture_logs() as logs:
        assert await confirm.channel("acme", channel) == 5
    assert len(confirmed(gateway)) == 5
    assert ALICE not in confirmed(gateway)
    [said] = [each for each in logs if each["event"] == "channel.faulty"]
    kind = type(fault).__name__
    assert said["channel"] == "chat"
    assert (f"failed in look_up: {kind}" if kind != "str" else "an Account is str") in said["why"]
    assert TOKEN not in str(logs)
    assert "look_up" in confirm.troubles["acme", "chat"]
    assert gateway.container.contact.unknowing() == ["chat"]  # the console says so
    asked.clear()
    assert await confirm.channel("acme", channel) == 5
    assert asked[-1] == ALICE  # who made it fail is asked about last
    assert (await gateway.press(await gateway.ask(), "U_BOB"))["result"] == "recorded"


async def test_a_package_that_hangs_over_somebody_is_waited_for_no_longer_than_a_round_has_patience(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.rows("DELETE FROM accounts")
    monkeypatch.setitem(BOUNDS, "look_up", 0.05)
    monkeypatch.setattr("app.usecases.platforms.confirm_accounts._PATIENCE", 0.12)
    asked: list[str] = []

    async def hang(_: object, *, email: str, account_id: str) -> None:
        asked.append(email)
        await stubborn(account_id)

    monkeypatch.setattr(MemoryChannel, "look_up", hang)
    confirm = gateway.container.confirm_accounts
    async with asyncio.timeout(20):
        assert await confirm.channel("acme", gateway.container.channels.get("acme", "chat")) == 0
    assert len(asked) == 3
    assert "did not come back from look_up" in confirm.troubles["acme", "chat"]
    assert left_behind() >= 3


# --- cards ------------------------------------------------------------------------------------------------------------


@requirement("F-45")
@pytest.mark.parametrize("call", ["post", "refresh"])
async def test_a_call_that_never_returns_is_given_up_within_its_bound_and_tried_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setitem(BOUNDS, call, 0.05)
    real: Callable[..., Any] = getattr(MemoryChannel, call)

    async def hang(self: MemoryChannel, *rest: Any) -> Any:
        return await (stubborn() if self.name == "chat" else real(self, *rest))

    with monkeypatch.context() as patch:
        patch.setattr(MemoryChannel, call, hang)
        request = await gateway.ask("pay_two")  # of both chats
        if call != "post":
            await gateway.press(request, "U_BOB", chat="C2")
        errors = [row["error"] for row in gateway.rows("SELECT error FROM outbox WHERE channel = 'chat'")]
        assert any(f"did not come back from {call}" in str(each) for each in errors)
        assert gateway.card(request, chat="C2")
        direction = gateway.container.contact.directions()["chat", "send"]
        assert direction.is_open is False
    await gateway.advance(timedelta(minutes=2))
    assert gateway.card(request).card.buttons
    assert len(gateway.platform.of(request["id"])) == 2
    if call == "post":
        assert "find" in gateway.platform.calls  # it may have arrived: it was looked for before it was posted again


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "m1",
        MessageRef(app_id=APP, tenant=TENANT, chat_id="C1", message_id=cast("str", 7)),
        MessageRef(app_id=cast("str", None), tenant=TENANT, chat_id="C1", message_id="m1"),
        MessageRef(app_id=APP, tenant=TENANT, chat_id="", message_id="m1"),
        MessageRef(app_id=APP, tenant=TENANT, chat_id="C1", message_id="m\0"),
        MessageRef(app_id=APP, tenant=TENANT, chat_id="C1", message_id="\ud800"),
        MessageRef(app_id=APP, tenant=TENANT, chat_id="C1", message_id="m" * 2000),
    ],
)
async def test_a_place_that_is_none_counts_as_a_post_of_which_nobody_knows(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, wrong: object
) -> None:
    post, wrongs = MemoryChannel.post, [wrong]

    async def posting(self: MemoryChannel, post_: Any) -> Any:
        ref = await post(self, post_)
        return wrongs.pop() if wrongs else ref

    monkeypatch.setattr(MemoryChannel, "post", posting)
    request = await gateway.ask()
    [row] = gateway.rows("SELECT status, error FROM outbox")
    assert row["status"] == "queued"
    assert "returned from post what cannot be used" in row["error"]
    await gateway.advance(timedelta(minutes=1))
    assert len(gateway.platform.of(request["id"])) == 1  # it was looked for, and found
    assert (await gateway.press(request, "U_ALICE"))["result"] == "recorded"


@pytest.mark.parametrize("wish", [7, timedelta.max, timedelta(days=-3), "soon"])
async def test_a_wish_that_is_none_holds_no_card_for_ever(gateway: Gateway, wish: object) -> None:
    gateway.platform.faults.append(ChannelUnavailableError("no\0\ud800", retry_after=cast("timedelta", wish)))
    request = await gateway.ask()
    [row] = gateway.rows("SELECT due_at, error FROM outbox")
    assert row["due_at"] <= to_us(gateway.clock.now() + timedelta(days=1))
    assert row["error"] == "no\\u{0}?"
    gateway.rows("UPDATE outbox SET due_at = 0")
    await gateway.quiet()
    assert gateway.card(request)


class StiffError(ChannelRefusedError):
    """Cannot be mended."""

    why = property(lambda _: TOKEN)  # pyright: ignore[reportAssignmentType] - somebody else's class

    def __init__(self) -> None:
        Exception.__init__(self, TOKEN)


async def test_an_error_that_cannot_be_mended_is_none_of_the_ports(gateway: Gateway) -> None:
    gateway.platform.faults.append(StiffError())
    request = await gateway.ask()
    [row] = gateway.rows("SELECT status, error FROM outbox")
    assert (row["status"], TOKEN in row["error"]) == ("queued", False)
    assert "failed in post: StiffError" in row["error"]
    await gateway.advance(timedelta(minutes=1))
    assert gateway.card(request)


@pytest.mark.parametrize("call", sorted(set(BOUNDS) - {"close"}))
async def test_every_call_has_an_end(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    monkeypatch.setitem(BOUNDS, call, 0.02)
    abilities = {"connected", "listen", "look_up_all", "first_renewal", "use_access", "renew", "list_missing"}
    methods = dict.fromkeys(abilities | set(BOUNDS), stubborn)
    says = {"language": Language.EN, "chat_id": "C", "app_id": "", "text_budget": 1, "opens_forms": True}
    spans = dict.fromkeys(("deduplicates_for", "edits_for"), timedelta(0))
    numbers = dict.fromkeys(("members_at_once", "managers_at_once"), 1)
    own: Any = type("Own", (), {**methods, **says, **spans, **numbers})()
    channel: Any = behind_bulkhead("desk", "paper", own)
    given: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "look_up": ((), {"email": "", "account_id": ""}),
        "find": (("C", "k"), {"since": None}),
        **{each: ((), {}) for each in ("examine", "warm_up")},
        **{each: ((None, None), {}) for each in ("refresh", "notify", "announce", "open_form", "tell")},
    }
    words, named = given.get(call, (((),), {}))
    with pytest.raises(ChannelHangsError, match=f"did not come back from {call} ") as raised:
        await getattr(channel, call)(*words, **named)
    assert raised.value.ambiguous
    monkeypatch.setitem(BOUNDS, "close", 0.02)
    async with asyncio.timeout(HANGS):
        await channel.close()


# --- what cannot be built ---------------------------------------------------------------------------------------------


def break_build(gateway: Gateway, of: str) -> None:
    spec = memory_spec(gateway.platform)

    def build(name: str, settings: Any) -> Any:
        if name == of:
            raise ValueError(TOKEN)
        return MemoryChannel("chat" if name == "chat-two" else name, settings, gateway.platform)

    cast("dict[str, Any]", registry.platforms())["memory"] = replace(spec, build=build)


async def test_a_channel_that_cannot_be_built_is_named_and_keeps_no_other_from_its_people(gateway: Gateway) -> None:
    break_build(gateway, "chat-three")
    gateway.rewrite("  chat-two:", "  chat-three: {type: memory, chat: C3}\n  chat-two:")
    with capture_logs() as logs:
        await gateway.reload()
    [said] = [each for each in logs if each["event"] == "channel.unbuilt"]
    assert (said["channel"], said["log_level"]) == ("chat-three", "error")
    assert "failed in build: ValueError (platforms/test_faulty_packages.py:" in said["why"]
    assert "mend or upgrade the package tests" in said["mend"]
    assert TOKEN not in str(logs)
    assert gateway.container.channels.find("acme", "chat-three") is None
    assert set(gateway.container.configuration.unbuilt) == {("acme", "chat-three")}
    assert gateway.container.contact.directions()["chat-three", "send"].is_open is False
    assert (await gateway.press(await gateway.ask(), "U_ALICE"))["result"] == "recorded"


async def test_a_channel_has_the_name_of_the_file_whatever_its_package_calls_it(gateway: Gateway) -> None:
    break_build(gateway, "none")
    gateway.rewrite("chat-two: {type: memory, chat: C2}", "chat-two: {type: memory, chat: C2, language: zh}")
    await gateway.reload()
    assert gateway.container.channels.get("acme", "chat-two").name == "chat-two"
    await gateway.container.confirm_accounts()
    request = await gateway.ask("pay_two")
    assert (await gateway.press(request, "U_ALICE", chat="C2"))["result"] == "recorded"
    assert (await gateway.press(request, "U_BOB"))["result"] == "recorded"
    assert (await gateway.read(request))["state"] == "approved"


# --- assent doctor ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "fault", "what"),
    [
        ("examine", KeyError(TOKEN), "chat-two: its package failed in examine: KeyError"),
        ("examine", None, "chat-two: its package did not come back from examine"),
        ("look_up", KeyError(TOKEN), "chat-two: alice@acme.example and 5 more cannot be looked up, and so cannot"),
        ("look_up", None, "chat-two: its package did not come back from look_up"),
        ("build", None, "chat-two: it cannot be built: the package tests failed in build: ValueError"),
    ],
)
async def test_the_doctor_names_the_channel_and_goes_on_to_the_next(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, call: str, fault: Exception | None, what: str
) -> None:
    if call == "build":
        break_build(gateway, "chat-two")
    else:
        monkeypatch.setitem(BOUNDS, call, 0.05)
        real: Callable[..., Any] = getattr(MemoryChannel, call)

        async def failing(self: MemoryChannel, **given: str) -> Any:
            if self.name != "chat-two":
                return await real(self, **given)
            if fault is None:
                await stubborn()
            raise fault or AssertionError

        monkeypatch.setattr(MemoryChannel, call, failing)
    book, active = gateway.container.book, dict[str, set[str] | None]()
    async with asyncio.timeout(20):
        found = await doctor.look_at_channels(book, gateway.container.settings, active)
    errors = [each for each in found if each.severity is Severity.ERROR]
    [error] = errors
    assert error.what.startswith(what)
    assert error.mend
    assert TOKEN not in str(found)
    assert (active["acme"], active["globex"]) == (None, {"gina@globex.example"})
