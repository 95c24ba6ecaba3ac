"""The channel over real HTTP, through the real SDK, against the stand-in."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.card.card import Tone
from app.domain.text.language import Language
from app.ports import (
    AccountStatus,
    CallbackRejectedError,
    Channel,
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    ClickOutcome,
    ClickResult,
    EditClosedError,
    HttpAnswer,
    InboundCall,
    ListeningChannel,
    Post,
    Severity,
)
from channels.conformance.harness import StillClock
from channels.feishu.channel import build
from channels.feishu.examine import setup_steps
from channels.feishu.settings import FeishuSettings
from channels.feishu.simulator.simulator import Fault, FeishuSimulator
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.channels.feishu.feishu_cards import APPROVE, a_card, a_form
from tests.fixtures.patience import HANGS
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from app.ports import MessageRef


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage() as stage:
        yield stage


async def post(stage: FeishuStage, *, key: str = "dlv_1.1", **changes: Any) -> MessageRef:
    return await stage.channel.post(Post(card=a_card(**changes), chat_id=stage.channel.chat_id, key=key))


@pytest.mark.parametrize("receive", ["webhook", "websocket"])
def test_it_listens_only_where_the_file_says_so(receive: str) -> None:
    clock = StillClock()
    feishu = FeishuSimulator(clock=clock)
    feishu.base_url = "http://127.0.0.1:1"
    channel: Channel = build("pay", FeishuSettings.model_validate(feishu.settings(feishu.add_chat(), receive=receive)))
    assert isinstance(channel, ListeningChannel) == (receive == "websocket")
    assert (channel.name, channel.kind, channel.language) == ("pay", "feishu", Language.EN)
    assert channel.deduplicates_for < timedelta(hours=1)
    assert channel.edits_for == timedelta(days=14)


@pytest.mark.process
def test_the_sdk_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, channels.feishu.channel; sys.exit('lark_oapi' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, timeout=HANGS
    )  # a fresh process has imported nothing
    assert done.returncode == 0


async def test_a_post_is_referred_to_as_the_platform_named_it(stage: FeishuStage) -> None:
    ref = await post(stage)
    app = stage.simulator.platform.app
    assert (ref.app_id, ref.tenant, ref.chat_id) == (app.app_id, app.tenant_key, stage.channel.chat_id)
    assert stage.simulator.message(ref.message_id).created_at == stage.clock.now()


async def test_a_post_whose_answer_was_lost_is_not_doubled(stage: FeishuStage) -> None:
    stage.simulator.fail_next("send", Fault.RESET)
    with pytest.raises(ChannelUnavailableError) as caught:
        await post(stage)
    assert caught.value.ambiguous
    assert await stage.channel.find(stage.channel.chat_id, "dlv_1.1", since=stage.clock.now()) is None
    stage.clock.advance(stage.channel.deduplicates_for)
    await post(stage)
    assert stage.messages() == 1


async def test_a_refresh_shows_the_new_card(stage: FeishuStage) -> None:
    ref = await post(stage)
    await stage.channel.refresh(ref, a_card(buttons=None, outcome="王芳 已同意", tone=Tone.GOOD))
    assert "王芳 已同意" in stage.visible_text(ref)
    assert not stage.has_buttons(ref)


@pytest.mark.parametrize("ending", ["too old", "recalled"])
async def test_a_message_that_can_no_longer_be_edited_says_so(stage: FeishuStage, ending: str) -> None:
    ref = await post(stage)
    if ending == "too old":
        stage.clock.advance(timedelta(days=14, seconds=1))
    else:
        stage.simulator.message(ref.message_id).recalled = True
    with pytest.raises(EditClosedError):
        await stage.channel.refresh(ref, a_card(buttons=None))


async def test_one_token_serves_many_calls(stage: FeishuStage) -> None:
    ref = await post(stage)
    await asyncio.gather(*(stage.channel.refresh(ref, a_card(revision=n)) for n in range(5)))
    assert stage.simulator.count("token") == 1


@pytest.mark.parametrize("ending", ["revoked", "expired"])
async def test_a_dead_token_is_fetched_anew_once(stage: FeishuStage, ending: str) -> None:
    ref = await post(stage)
    if ending == "revoked":
        stage.simulator.platform.revoke_tokens()
    else:
        stage.clock.advance(timedelta(hours=2))
    await stage.channel.refresh(ref, a_card(buttons=None))
    assert (stage.simulator.count("token"), stage.simulator.count("patch")) == (2, 2)


async def test_calls_that_find_one_token_dead_together_fetch_the_next_once(stage: FeishuStage) -> None:
    ref = await post(stage)
    stage.simulator.platform.revoke_tokens()
    await asyncio.gather(*(stage.channel.refresh(ref, a_card(revision=n)) for n in range(8)))
    assert stage.simulator.count("token") == 2


async def test_a_token_that_dies_again_at_once_is_not_chased(stage: FeishuStage) -> None:
    await post(stage)
    for _ in range(2):
        stage.simulator.fail_next("send", Fault.TOKEN_REVOKED)
    with pytest.raises(ChannelUnavailableError) as caught:
        await post(stage, key="dlv_2.1")
    assert "99991663" in caught.value.why
    assert stage.simulator.count("send") == 3


async def test_two_clients_of_one_app_id_do_not_share_a_token(stage: FeishuStage) -> None:
    await post(stage)
    async with FeishuSimulator(clock=stage.clock) as other:
        chat = other.add_chat()
        elsewhere = build("other", FeishuSettings.model_validate(other.settings(chat)))
        try:
            sent = await elsewhere.post(Post(card=a_card(), chat_id=chat, key="k"))
        finally:
            await elsewhere.close()
        assert sent.chat_id == chat
        assert other.count("token") == 1


async def test_the_loop_runs_on_while_a_token_is_fetched(stage: FeishuStage) -> None:
    await stage.channel.warm_up()
    stage.simulator.fail_next("token", Fault.HANG)
    turns = 0
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(post(stage))
        await stage.simulator.wait_called("token")
        for _ in range(20):
            await asyncio.sleep(0.005)
            turns += 1
        assert not sending.done()
        stage.simulator.release()
    assert turns == 20
    assert stage.messages() == 1


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ({}, AccountStatus.ACTIVE),
        ({"frozen": True}, AccountStatus.DEACTIVATED),
        ({"resigned": True}, AccountStatus.DEACTIVATED),
        ({"exited": True}, AccountStatus.DEACTIVATED),
        ({"unjoined": True}, AccountStatus.DEACTIVATED),
        ({"activated": False}, AccountStatus.DEACTIVATED),
    ],
)
@pytest.mark.parametrize("by", ["email", "account_id"])
async def test_who_cannot_sign_in_is_deactivated(
    stage: FeishuStage, status: dict[str, bool], wanted: AccountStatus, by: str
) -> None:
    person = stage.simulator.add_person("Chen", email="", tenant_key="", **status)
    query = {"email": person.email, "account_id": ""} if by == "email" else {"email": "", "account_id": person.open_id}
    account = await stage.channel.look_up(**query)
    assert account is not None
    assert (account.account_id, account.status) == (person.open_id, wanted)


async def test_strangers_are_nobody(stage: FeishuStage) -> None:
    outsider = stage.simulator.add_person("Outsider", tenant_key="elsewhere")
    assert await stage.channel.look_up(email=outsider.email, account_id="") is None
    assert await stage.channel.look_up(email="", account_id="ou_unknown") is None


async def test_without_the_wider_scope_an_id_is_checked_by_its_e_mail(stage: FeishuStage) -> None:
    stage.simulator.platform.scopes.discard("contact:contact.base:readonly")
    known = await stage.channel.look_up(email=stage.alice.email, account_id=stage.alice.open_id)
    assert known is not None
    assert known.status is AccountStatus.ACTIVE
    for email in ("", stage.bob.email, "nobody@example.com"):
        with pytest.raises(ChannelRefusedError, match="scope"):
            await stage.channel.look_up(email=email, account_id=stage.alice.open_id)


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (ClickResult.RECORDED, "success"),
        (ClickResult.ALREADY, "info"),
        (ClickResult.REFUSED, "error"),
        (ClickResult.RETRY, "warning"),
    ],
)
@pytest.mark.parametrize("card", [None, a_card(buttons=None)])
async def test_every_outcome_is_a_toast_that_the_platform_shows(
    stage: FeishuStage, result: ClickResult, kind: str, card: Any
) -> None:
    ref, outcome = await post(stage), ClickOutcome(result=result, sentence="已记录您的同意。", card=card)

    async def receive(call: InboundCall) -> HttpAnswer:
        inbound = stage.channel.read(call, now=stage.clock.now())
        assert isinstance(inbound, Click)
        return stage.channel.answer(inbound, outcome)

    stage.receive = receive
    press = await stage.click_approve(ref)
    assert press.toast == {"type": kind, "content": "已记录您的同意。"}
    assert stage.has_buttons(ref) is (card is None)


async def test_the_console_can_verify_the_address(stage: FeishuStage) -> None:
    async def receive(call: InboundCall) -> HttpAnswer:
        inbound = stage.channel.read(call, now=stage.clock.now())
        return inbound.answer  # pyright: ignore[reportAttributeAccessIssue]  # anything else must fail the test

    stage.receive = receive
    assert await stage.simulator.verify_address()


@requirement("S-20", "S-45")
async def test_a_replay_is_recognised_and_another_app_s_or_a_stale_one_refused(stage: FeishuStage) -> None:
    ref = await post(stage)
    keys = []

    async def receive(call: InboundCall) -> HttpAnswer:
        inbound = stage.channel.read(call, now=stage.clock.now())
        assert isinstance(inbound, Click)
        keys.append((inbound.event_key, inbound.token))
        return HttpAnswer()

    stage.receive = receive
    await stage.click_approve(ref)
    delivery = stage.simulator.last_delivery
    assert (await stage.simulator.deliver(delivery)).status == 200
    assert keys == [keys[0], keys[0]]
    assert keys[0][1] == APPROVE
    stage.clock.advance(timedelta(seconds=301))
    assert (await stage.simulator.deliver(delivery)).status == 401
    foreign = FeishuSettings.model_validate(stage.simulator.settings(ref.chat_id) | {"app_id": "cli_another0000000"})
    other = build("other", foreign)
    with pytest.raises(CallbackRejectedError):
        other.read(InboundCall(headers=delivery.headers, body=delivery.body), now=stage.clock.now())
    await other.close()


async def test_a_channel_of_long_connections_takes_no_webhook(stage: FeishuStage) -> None:
    await stage.click_approve(await post(stage))
    genuine = stage.calls[-1]
    assert isinstance(stage.channel.read(genuine, now=stage.clock.now()), Click)
    listening = build("pay", stage.settings.model_copy(update={"receive": "websocket"}))
    with pytest.raises(CallbackRejectedError):
        listening.read(genuine, now=stage.clock.now())


async def test_no_form_is_ever_opened(stage: FeishuStage) -> None:
    click = Click(
        token="t", app_id="a", tenant="t", account_id="ou_1", chat_id="oc_1", message_id="om_1", event_key="e"
    )
    assert not stage.channel.opens_forms
    with pytest.raises(ChannelRefusedError):
        await stage.channel.open_form(click, a_form())
    await stage.channel.tell(replace(click), ClickOutcome(result=ClickResult.RECORDED, sentence="x"))


async def test_doctor_finds_nothing_wrong_with_a_whole_set_up(stage: FeishuStage) -> None:
    findings = await stage.channel.examine()
    assert [finding.severity for finding in findings] == [Severity.OK] * 6


async def test_doctor_names_what_is_missing_and_the_mend(stage: FeishuStage) -> None:
    platform = stage.simulator.platform
    platform.scopes.discard("im:chat:readonly")
    platform.scopes.discard("contact:user.id:readonly")
    credentials, chat, people, *lists = await stage.channel.examine()
    assert credentials.severity is Severity.OK
    assert {each.severity for each in lists} == {Severity.OK}
    assert (chat.severity, "im:chat:readonly" in chat.mend) == (Severity.WARNING, True)
    assert (people.severity, "contact:user.id:readonly" in people.mend) == (Severity.ERROR, True)
    platform.scopes.add("im:chat:readonly")
    platform.bot_chats.clear()
    _, chat, *_ = await stage.channel.examine()
    assert (chat.severity, "Bots" in chat.mend) == (Severity.ERROR, True)
    del platform.chats[stage.channel.chat_id]
    _, chat, *_ = await stage.channel.examine()
    assert (chat.severity, "assent.yaml" in chat.mend) == (Severity.ERROR, True)


async def test_doctor_warns_of_lists_that_it_may_not_read(stage: FeishuStage) -> None:
    stage.simulator.platform.scopes -= {"contact:group:readonly", "contact:department.organize:readonly"}
    *_, groups, departments, _messages = await stage.channel.examine()
    assert (groups.severity, "contact:group:readonly" in groups.mend) == (Severity.WARNING, True)
    wanted = "contact:department.organize:readonly"
    assert (departments.severity, wanted in departments.mend) == (Severity.WARNING, True)
    stage.simulator.fail_next("list_group", Fault.SERVER_ERROR)
    *_, groups, _ = await stage.channel.examine()
    assert groups.severity is Severity.WARNING


async def test_doctor_stops_at_wrong_credentials(stage: FeishuStage) -> None:
    stage.simulator.fail_next("token", Fault.SERVER_ERROR)
    [finding] = await stage.channel.examine()
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize("address", ["", "http://assent.example", "assent.example", "https://"])
def test_the_steps_for_webhooks_need_the_https_address(address: str) -> None:
    with pytest.raises(ValueError, match="--public-url https://"):
        setup_steps(name="pay", public_url=address, receive="webhook")


def test_the_steps_name_every_scope_and_switch() -> None:
    webhook = "\n".join(setup_steps(name="pay", public_url="https://assent.example/", receive="webhook"))
    assert "https://assent.example/v1/channels/pay/callback" in webhook
    for word in ("im:message:send_as_bot", "contact:user.id:readonly", "Encrypt Key", "card.action.trigger", "publish"):
        assert word in webhook
    socket = "\n".join(setup_steps(name="pay", public_url="", receive="websocket"))
    assert "长连接" in socket
    assert "Encrypt Key" not in socket
