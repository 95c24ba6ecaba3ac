"""A person's own card, forms that are filled in, words under a card, who is in a group: over HTTP, by the real SDK."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.card.form import Field
from app.domain.request.action import Action
from app.ports import (
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    ClickOutcome,
    ClickResult,
    HttpAnswer,
    InboundCall,
    MessageRef,
    Notice,
    Post,
)
from channels.feishu.simulator.simulator import CannotPressError, Fault
from tests.channels.feishu.conformance_feishu import FeishuStage, feishu_stage
from tests.channels.feishu.feishu_cards import a_card, a_control, a_form, own_controls
from tests.channels.feishu.test_feishu_card import HOSTILE
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def stage() -> AsyncIterator[FeishuStage]:
    async with feishu_stage() as stage:
        yield stage


async def post(stage: FeishuStage, *, to: str = "", key: str = "dlv_1.1", **changes: Any) -> MessageRef:
    return await stage.channel.post(Post(card=a_card(**changes), chat_id=to or stage.channel.chat_id, key=key))


def clicks_of(stage: FeishuStage, outcome: ClickOutcome | None = None) -> list[Click]:
    """Collect the clicks that come in, each answered with `outcome`."""
    clicks: list[Click] = []
    answered = outcome or ClickOutcome(result=ClickResult.RECORDED, sentence="好")

    async def receive(call: InboundCall) -> HttpAnswer:
        inbound = stage.channel.read(call, now=stage.clock.now())
        assert isinstance(inbound, Click)
        clicks.append(inbound)
        return stage.channel.answer(inbound, answered)

    stage.receive = receive
    return clicks


def notice(text: str = "请尽快处理。", *mentions: str, key: str = "note-1") -> Notice:
    return Notice(text=text, mentions=mentions, key=key)


# --- a card of one's own ----------------------------------------------------------------------------------------------


async def test_a_card_for_one_person_goes_into_their_talk_with_the_bot(stage: FeishuStage) -> None:
    ref = await post(stage, to=stage.alice.open_id, own=True, controls=own_controls())
    assert ref.chat_id == stage.simulator.own_chat(stage.alice.open_id)
    assert ref.chat_id.startswith("oc_")
    assert stage.messages() == 0
    [call] = [call for call in stage.simulator.calls if call.operation == "send"]
    assert call.query["receive_id_type"] == "open_id"
    again = await post(stage, to=stage.alice.open_id, key="dlv_2.1")
    assert again.chat_id == ref.chat_id


async def test_a_click_there_names_the_chat_that_the_answer_named(stage: FeishuStage) -> None:
    ref, clicks = await post(stage, to=stage.alice.open_id, own=True, controls=own_controls()), clicks_of(stage)
    await stage.simulator.press(stage.alice.open_id, ref.message_id, "催办")
    assert (clicks[0].chat_id, clicks[0].message_id) == (ref.chat_id, ref.message_id)
    assert (clicks[0].token, clicks[0].fields, clicks[0].reason) == ("a1.k1.handle.remind", {}, None)


async def test_nobody_else_can_press_it(stage: FeishuStage) -> None:
    ref, clicks = await post(stage, to=stage.alice.open_id, own=True), clicks_of(stage)
    with pytest.raises(CannotPressError):
        await stage.simulator.approve(stage.bob.open_id, ref.message_id)
    assert clicks == []


async def test_it_is_refreshed_like_any_other(stage: FeishuStage) -> None:
    ref = await post(stage, to=stage.alice.open_id, own=True, controls=own_controls())
    await stage.channel.refresh(ref, a_card(buttons=None, own=True, outcome="王芳 已同意"))
    assert not stage.has_buttons(ref)


@pytest.mark.parametrize("why", ["unknown", "left", "outside the app's availability"])
async def test_who_cannot_be_reached_is_a_refusal(stage: FeishuStage, why: str) -> None:
    people = {"unknown": "ou_nobody", "left": stage.gone.open_id}
    stage.simulator.platform.unavailable.add(stage.bob.open_id)
    with pytest.raises(ChannelRefusedError):
        await post(stage, to=people.get(why, stage.bob.open_id))
    assert stage.simulator.platform.messages == {}


# --- forms ------------------------------------------------------------------------------------------------------------


async def test_a_form_brings_its_own_fields_by_our_names(stage: FeishuStage) -> None:
    ref, clicks = await post(stage, to=stage.alice.open_id, own=True, controls=own_controls()), clicks_of(stage)
    press = stage.simulator.submit
    await press(stage.alice.open_id, ref.message_id, "hand_over", person="bob@example.com", note="我休假")
    await press(stage.alice.open_id, ref.message_id, "ask", text="为何\n加急？")
    await press(stage.alice.open_id, ref.message_id, "add", person="bob@example.com")
    assert [(click.token.rpartition(".")[2], click.fields) for click in clicks] == [
        ("hand_over", {"person": "bob@example.com", "note": "我休假"}),
        ("ask", {"text": "为何\n加急？"}),
        ("add", {"person": "bob@example.com", "note": ""}),
    ]
    assert {click.reason for click in clicks} == {None}


async def test_what_stood_in_a_field_at_first_comes_back_when_nobody_touched_it(stage: FeishuStage) -> None:
    ref, clicks = await post(stage, to=stage.alice.open_id, own=True, controls=own_controls()), clicks_of(stage)
    await stage.simulator.submit(stage.alice.open_id, ref.message_id, "edit")
    await stage.simulator.submit(stage.alice.open_id, ref.message_id, "edit", amount="50000")
    assert [click.fields for click in clicks] == [{"amount": "80000"}, {"amount": "50000"}]


async def test_a_denial_s_reason_is_a_field_too(stage: FeishuStage) -> None:
    also = (a_card(title="第二笔"),)
    ref, clicks = await post(stage, also=also), clicks_of(stage)
    await stage.click_deny(ref, "金额不对")
    await stage.simulator.submit(stage.account_id, ref.message_id, "deny_1", reason="重复")
    assert [(click.reason, click.fields) for click in clicks] == [
        ("金额不对", {"reason": "金额不对"}),
        ("重复", {"reason": "重复"}),
    ]


async def test_a_form_is_not_sent_before_it_is_filled_in(stage: FeishuStage) -> None:
    ref, clicks = await post(stage, to=stage.alice.open_id, own=True, controls=own_controls()), clicks_of(stage)
    for typed in ({}, {"person": "  "}, {"person": "x" * 501}, {"person": "bob", "text": "another form's"}):
        with pytest.raises(CannotPressError):
            await stage.simulator.submit(stage.alice.open_id, ref.message_id, "hand_over", **typed)
    assert clicks == []


async def test_half_a_surrogate_pair_in_a_field_becomes_a_question_mark(stage: FeishuStage) -> None:
    app = stage.simulator.platform.app
    action = {
        "value": {"v": 1, "t": "t"},
        "tag": "button",
        "name": "ask",
        "form_value": {"ask_text": "\ud800?", "x": "y"},
    }
    payload: dict[str, object] = {
        "header": {
            "event_id": "e",
            "token": app.verification_token,
            "event_type": "card.action.trigger",
            "tenant_key": app.tenant_key,
            "app_id": app.app_id,
        },
        "event": {
            "operator": {"tenant_key": app.tenant_key, "open_id": "ou_1"},
            "action": action,
            "context": {"open_message_id": "om_1", "open_chat_id": "oc_1"},
        },
    }
    sealed = stage.simulator.clicker.seal(json.dumps(payload).encode())
    click = stage.channel.read(InboundCall(headers=sealed.headers, body=sealed.body), now=stage.clock.now())
    assert isinstance(click, Click)
    assert click.fields == {"text": "??"}


async def test_a_card_that_is_too_long_for_the_answer_leaves_the_toast(stage: FeishuStage) -> None:
    long = a_card(arguments=a_card().arguments * 3000)
    clicks_of(stage, ClickOutcome(result=ClickResult.RECORDED, sentence="已记录。", card=long))
    press = await stage.click_approve(await post(stage))
    assert (press.sentence, press.updated, press.error) == ("已记录。", False, None)


# --- a link for one person --------------------------------------------------------------------------------------------

LINK = "https://assent.example/r/once"


async def test_a_link_goes_to_the_person_alone_where_it_can_be_followed(stage: FeishuStage) -> None:
    ref = await post(stage, controls=(a_control(Action.REVIEW, label="查看全文"),))
    outcome = ClickOutcome(result=ClickResult.RECORDED, sentence=f"仅供您本人查看：{LINK}", link=LINK)
    clicks = clicks_of(stage, outcome)
    press = await stage.simulator.press(stage.account_id, ref.message_id, "查看全文")
    assert press.sentence == "仅供您本人查看"
    for _ in range(2):  # told again after a lost answer, it is still one letter
        await stage.channel.tell(clicks[0], outcome)
    assert stage.simulator.letters(stage.account_id) == [f"仅供您本人查看\n{LINK}"]
    assert stage.simulator.letters(stage.bob.open_id) == []
    assert LINK not in json.dumps(stage.simulator.view(stage.channel.chat_id))


async def test_without_a_link_nobody_is_written_to(stage: FeishuStage) -> None:
    clicks, outcome = clicks_of(stage), ClickOutcome(result=ClickResult.RECORDED, sentence="好")
    await stage.click_approve(await post(stage))
    await stage.channel.tell(clicks[0], outcome)
    assert stage.simulator.platform.own_chats == {}


# --- words under a card -----------------------------------------------------------------------------------------------


async def test_a_notice_is_said_under_the_card_and_rings_those_whom_it_is_for(stage: FeishuStage) -> None:
    ref = await post(stage)
    await stage.channel.notify(ref, notice("请处理。\n还剩 10 分钟。", stage.alice.open_id, stage.bob.open_id))
    [remark] = stage.simulator.remarks(ref.message_id)
    assert remark.mentions == (stage.alice.open_id, stage.bob.open_id)
    assert remark.text.endswith("\n请处理。\n还剩 10 分钟。")
    [shown] = stage.simulator.view(stage.channel.chat_id)
    assert "@Alice @Bob" in json.dumps(shown["remarks"])


async def test_a_notice_is_said_once_however_often_it_is_tried(stage: FeishuStage) -> None:
    ref = await post(stage)
    stage.simulator.fail_next("reply", Fault.RESET)
    with pytest.raises(ChannelUnavailableError) as caught:
        await stage.channel.notify(ref, notice())
    assert caught.value.ambiguous
    await stage.channel.notify(ref, notice())
    assert len(stage.simulator.remarks(ref.message_id)) == 1
    await stage.channel.notify(ref, notice(key="note-2"))
    stage.clock.advance(timedelta(hours=1))
    await stage.channel.notify(ref, notice())
    assert len(stage.simulator.remarks(ref.message_id)) == 3


async def test_a_notice_in_a_person_s_own_chat_is_for_them(stage: FeishuStage) -> None:
    ref = await post(stage, to=stage.alice.open_id, own=True)
    await stage.channel.notify(ref, notice("有人问您。"))
    [remark] = stage.simulator.remarks(ref.message_id)
    assert (remark.text, remark.mentions) == ("有人问您。", ())


@requirement("S-18", "S-19")
@pytest.mark.parametrize(
    "text", [*HOSTILE, '<at user_id="all"></at>', "**bold** <i>it</i>", "[Approve](https://evil.example)"]
)
async def test_the_words_of_a_notice_mention_nobody_and_are_shown_as_they_are(stage: FeishuStage, text: str) -> None:
    ref = await post(stage)
    await stage.channel.notify(ref, notice(text, "all", 'ou_1"></at>', "@all", "", "oc_1"))
    [remark] = stage.simulator.remarks(ref.message_id)
    assert (remark.text, remark.mentions) == (text, ())
    [call] = [call for call in stage.simulator.calls if call.operation == "reply"]
    sent = json.loads(call.body)
    assert sent["msg_type"] == "post"
    nodes = [node for line in json.loads(sent["content"])["en_us"]["content"] for node in line]
    assert {tuple(sorted(node)) for node in nodes} == {("tag", "text")}
    assert {node["tag"] for node in nodes} == {"text"}


@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.CHAT_RATE, Fault.SERVER_ERROR])
async def test_a_notice_that_did_not_get_through_is_tried_again(stage: FeishuStage, fault: Fault) -> None:
    ref = await post(stage)
    stage.simulator.fail_next("reply", fault)
    with pytest.raises(ChannelUnavailableError):
        await stage.channel.notify(ref, notice())


async def test_nothing_is_said_under_a_message_that_is_gone(stage: FeishuStage) -> None:
    ref = await post(stage)
    stage.simulator.message(ref.message_id).recalled = True
    with pytest.raises(ChannelRefusedError):
        await stage.channel.notify(ref, notice())


# --- who is in a group ------------------------------------------------------------------------------------------------


async def test_a_group_and_a_department_are_read_to_their_end(stage: FeishuStage) -> None:
    many = [stage.simulator.add_person(f"P{n}") for n in range(230)]
    everybody = tuple(sorted(person.open_id for person in many))
    group, department = stage.simulator.add_group(*many), stage.simulator.add_department(*many)
    assert await stage.channel.group_members(f"group:{group}") == everybody
    assert await stage.channel.group_members(f"department:{department}") == everybody
    assert (stage.simulator.count("list_group"), stage.simulator.count("list_department")) == (3, 5)


async def test_people_of_a_child_department_are_not_taken_for_the_parent_s(stage: FeishuStage) -> None:
    parent = stage.simulator.add_department(stage.alice)
    stage.simulator.add_department(stage.bob, parent=parent)
    assert await stage.channel.group_members(f"department:{parent}") == (stage.alice.open_id,)


async def test_an_empty_list_is_empty(stage: FeishuStage) -> None:
    assert await stage.channel.group_members(f"group:{stage.simulator.add_group()}") == ()
    assert await stage.channel.group_members(f"department:{stage.simulator.add_department()}") == ()


@pytest.mark.parametrize(
    "source",
    ["group:unknown", "department:od-unknown", "group:", "department:", "team:x", "finance", "group:a/../b", ""],
)
async def test_what_is_no_list_is_refused(stage: FeishuStage, source: str) -> None:
    with pytest.raises(ChannelRefusedError):
        await stage.channel.group_members(source)


async def test_a_list_that_may_not_be_read_is_refused_with_the_mend(stage: FeishuStage) -> None:
    group = stage.simulator.add_group(stage.alice)
    hidden = stage.simulator.add_department(stage.alice, in_range=False)
    with pytest.raises(ChannelRefusedError, match="contact range"):
        await stage.channel.group_members(f"department:{hidden}")
    stage.simulator.platform.scopes.discard("contact:group:readonly")
    with pytest.raises(ChannelRefusedError, match="scope"):
        await stage.channel.group_members(f"group:{group}")


async def test_part_of_a_list_is_never_taken_for_all_of_it(stage: FeishuStage) -> None:
    group = stage.simulator.add_group(*(stage.simulator.add_person(f"P{n}") for n in range(150)))
    for fault in (Fault.SERVER_ERROR, Fault.GARBAGE, Fault.RATE_LIMITED):
        stage.simulator.fail_next("list_group", fault)
        with pytest.raises(ChannelUnavailableError):
            await stage.channel.group_members(f"group:{group}")
    stage.simulator.platform.directory.groups[group][149] = ""
    with pytest.raises(ChannelUnavailableError, match="open_id"):
        await stage.channel.group_members(f"group:{group}")


async def test_only_the_action_of_the_pressed_form_decides_its_fields(stage: FeishuStage) -> None:
    nested = a_control(Action.ASK, form=a_form(Field(name="hand_over_person", label="x", required=False)))
    ref, clicks = await post(stage, to=stage.alice.open_id, own=True, controls=(nested,)), clicks_of(stage)
    await stage.simulator.submit(stage.alice.open_id, ref.message_id, "ask", hand_over_person="eve")
    assert clicks[0].fields == {"hand_over_person": "eve"}


async def test_a_list_that_never_ends_is_refused(stage: FeishuStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.feishu.details.groups.MAX_PAGES", 2)
    group = stage.simulator.add_group(*(stage.simulator.add_person(f"P{n}") for n in range(230)))
    with pytest.raises(ChannelRefusedError, match="longer"):
        await stage.channel.group_members(f"group:{group}")
