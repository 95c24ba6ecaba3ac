"""What can be pressed and filled in on a Feishu card besides Approve and Deny; the stand-in's strict check takes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from app.domain.card.card import Card, Fact, Tone, units
from app.domain.card.form import MOST, Field, FieldKind
from app.domain.request.action import Action
from app.ports import ChannelRefusedError
from channels.feishu.card import (
    MAX_CONTENT,
    MAX_ELEMENTS,
    TEXT_BUDGET,
    count_elements,
    dump,
    render_card,
    render_content,
)
from channels.feishu.simulator.cards import check_card, list_controls, list_texts
from tests.channels.feishu.feishu_cards import (
    APPROVE,
    DENY,
    a_card,
    a_control,
    a_form,
    an_edit,
    chat_controls,
    own_controls,
    some_buttons,
)
from tests.channels.feishu.test_feishu_card import HOSTILE
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, object]


def shown(card: Card) -> Json:
    return check_card(json.loads(render_content(card)))


def labels(card: Card) -> list[str]:
    return [control.label for control in list_controls(shown(card))]


def nodes(node: object) -> Iterator[Json]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from nodes(child)
    elif isinstance(node, list):
        for child in node:
            yield from nodes(child)


def inputs(card: Card) -> dict[str, Json]:
    return {str(node["name"]): node for node in nodes(shown(card)) if node.get("tag") == "input"}


def test_a_chat_s_card_has_its_small_buttons_beside_each_other_below_the_verdict() -> None:
    card = a_card(controls=chat_controls())
    assert labels(card) == ["同意", "拒绝", "查看全文", "更多…"]
    buttons = [node for node in nodes(shown(card)) if node.get("tag") == "button"]
    assert [node.get("size") for node in buttons] == [None, None, "small", "small"]


def test_a_form_never_stands_on_a_card_that_several_people_see() -> None:
    card = a_card(controls=own_controls())
    assert labels(card) == ["同意", "拒绝", "催办", "延长时限"]


def test_one_s_own_card_has_every_form_with_names_of_its_own() -> None:
    card = a_card(own=True, controls=own_controls())
    assert labels(card) == ["同意", "拒绝", "催办", "延长时限", "修改后批准", "退回询问", "转交", "加签"]
    wanted = ["reason", "edit_amount", "ask_text", "hand_over_person", "hand_over_note", "add_person", "add_note"]
    assert list(inputs(card)) == wanted
    forms = [str(node["name"]) for node in nodes(shown(card)) if node.get("tag") == "form"]
    assert forms == ["approve_form", "deny_form", "edit_form", "ask_form", "hand_over_form", "add_form"]


def test_every_control_carries_its_own_token() -> None:
    controls = own_controls()
    tokens = {each.label: each.token for each in list_controls(shown(a_card(own=True, controls=controls)))}
    assert {control.label: tokens[control.label] for control in controls} == {
        each.label: each.token for each in controls
    }
    assert (tokens["同意"], tokens["拒绝"]) == (APPROVE, DENY)


def test_a_field_is_shown_as_its_kind_says() -> None:
    fields = inputs(a_card(own=True, controls=own_controls()))
    amount, question, person = fields["edit_amount"], fields["ask_text"], fields["hand_over_person"]
    note = fields["hand_over_note"]
    assert (amount["input_type"], amount["default_value"], amount["required"]) == ("text", "80000", True)
    assert (question["input_type"], "default_value" in question) == ("multiline_text", False)
    assert cast("Json", person["placeholder"])["content"] == "name@example.com"
    assert (note["required"], {each["max_length"] for each in fields.values()}) == (False, {MOST})


def test_a_value_of_several_lines_keeps_them() -> None:
    field = Field(name="memo", label="备注", kind=FieldKind.LINE, value="一\n二")
    card = a_card(own=True, controls=(a_control(Action.EDIT, form=a_form(field)),))
    assert inputs(card)["edit_memo"]["input_type"] == "multiline_text"
    assert inputs(card)["edit_memo"]["default_value"] == "一\n二"


def test_a_value_that_no_field_can_hold_is_not_offered_cut() -> None:
    fits = Field(name="memo", label="备注", value="x" * MOST)
    over = Field(name="memo", label="备注", value="x" * (MOST + 1))
    for field, count in ((fits, 1), (over, 0)):
        card = a_card(own=True, buttons=None, controls=(a_control(Action.EDIT, form=a_form(field)),))
        assert len(list_controls(shown(card))) == count


def test_a_label_that_is_too_long_for_an_input_stands_above_it_whole() -> None:
    label = "l" * 150
    card = a_card(own=True, controls=(a_control(Action.EDIT, form=a_form(Field(name="x", label=label))),))
    assert label in list_texts(shown(card))
    assert "label" not in inputs(card)["edit_x"]


def test_what_people_changed_stands_above_every_fact_in_a_colour_of_its_own() -> None:
    card = a_card(changes=(Fact(label="金额", value="80000 → 50000"),), warnings=("请核对。",))
    texts = list_texts(shown(card))
    assert texts.index("✏️ 金额") < texts.index("80000 → 50000") < texts.index("⚠️ 请核对。") < texts.index("Acme")
    violet = [node["content"] for node in nodes(shown(card)) if node.get("text_color") == "violet"]
    assert violet == ["✏️ 金额", "80000 → 50000"]


def test_questions_and_answers_stand_in_their_order_below_the_claim() -> None:
    talk = (Fact(label="王芳 问", value="为何加急？"), Fact(label="智能体 答（自述）", value="合同如此。"))
    texts = list_texts(shown(a_card(dialogue=talk, agent_says=Fact(label="智能体自述", value="很急"))))
    wanted = ["同意", "很急", "王芳 问", "为何加急？", "智能体 答（自述）", "合同如此。"]
    assert [text for text in texts if text in wanted] == wanted


def test_the_requester_s_copy_has_the_answer_and_the_reminder_and_no_verdict() -> None:
    answer = a_control(
        Action.ANSWER, label="回复", form=a_form(Field(name="text", label="您的回复"), title="回复", note="为何加急？")
    )
    card = a_card(
        own=True,
        buttons=None,
        until=Fact(label="决定期限", value="18:30"),
        controls=(answer, a_control(Action.REMIND, label="催办")),
    )
    assert labels(card) == ["催办", "回复"]
    texts = list_texts(shown(card))
    assert texts.index("⏳ 决定期限 18:30") < texts.index("催办") < texts.index("为何加急？") < texts.index("您的回复")


def test_an_expired_card_can_be_asked_again_and_nothing_else() -> None:
    card = a_card(
        buttons=None, tone=Tone.NEUTRAL, outcome="已过期", controls=(a_control(Action.REOPEN, label="重新发起"),)
    )
    assert labels(card) == ["重新发起"]


@pytest.mark.parametrize("text", [*HOSTILE, '"tag":', '{"tag":"x"}', '\\"tag\\":', "\x00\x1f"])
def test_no_text_is_taken_for_an_element(text: str) -> None:
    plain, odd = (a_card(title=title, arguments=(Fact(label=title, value=title),)) for title in ("x", text))
    assert dump(render_card(odd)).count('"tag":') == count_elements(render_card(plain))


# --- what does not fit ------------------------------------------------------------------------------------------------


def test_forms_give_way_to_the_call_and_the_plain_controls_stay() -> None:
    room = TEXT_BUDGET - a_card(arguments=()).size() - 2
    card = a_card(own=True, controls=own_controls(), arguments=(Fact(label="x", value="金" * (room - 2)),))
    assert {"同意", "拒绝", "催办", "延长时限"} <= set(labels(card))
    assert "金" * (room - 2) in "".join(list_texts(shown(card)))
    assert len(dump(render_card(card)).encode()) <= MAX_CONTENT


def test_as_many_forms_as_fit_are_kept_the_most_needed_first() -> None:
    many = tuple(Field(name=f"f{n}", label=f"字段{n}", value="值" * 300) for n in range(20))
    huge = a_control(Action.ASK, label="巨大", form=a_form(*many))
    card = a_card(own=True, controls=(an_edit(), huge, a_control(Action.HAND_OVER, label="转交", form=a_form())))
    assert labels(card) == ["同意", "拒绝", "修改后批准", "转交"]
    assert count_elements(render_card(card)) <= MAX_ELEMENTS


@requirement("S-13")
def test_a_card_that_does_not_fit_without_its_forms_is_refused_not_cut() -> None:
    with pytest.raises(ChannelRefusedError, match="too long"):
        render_card(a_card(arguments=(Fact(label="x", value="金" * 9000),)))


# --- several requests in one message ----------------------------------------------------------------------------------


def another(number: int, **changes: object) -> Card:
    buttons = some_buttons(approve=f"yes-{number}")
    fields: dict[str, object] = {
        "request_id": f"req_{number}",
        "title": f"向 供应商{number} 付款",
        "footer": f"FOOT-{number}",
        "buttons": buttons,
        "facts": (Fact(label="收款方", value=f"供应商{number}"),),
        "arguments": (Fact(label="备注", value=f"第{number}笔"),),
    }
    return a_card(**(fields | changes))


def test_requests_that_share_a_message_each_have_their_own_verdict() -> None:
    card = a_card(also=(another(1), another(2)))
    controls = list_controls(shown(card))
    assert [each.token for each in controls] == [APPROVE, DENY, "yes-1", DENY, "yes-2", DENY]
    names = ["approve", "deny", "approve_1", "deny_1", "approve_2", "deny_2"]
    assert [each.button.get("name") for each in controls if each.form] == names
    assert list(inputs(card)) == ["reason", "deny_1_reason", "deny_2_reason"]


def test_each_of_them_is_shown_whole_below_a_line() -> None:
    card = a_card(also=tuple(another(number) for number in range(1, 6)))
    texts = "\n".join(list_texts(shown(card)))
    for number in range(1, 6):
        for part in (f"向 供应商{number} 付款", f"第{number}笔", f"FOOT-{number}", f"供应商{number}"):
            assert part in texts


def test_one_that_is_settled_says_so_while_the_others_wait() -> None:
    settled = another(1, buttons=None, headline="已同意", outcome="王芳 已同意", tone=Tone.GOOD)
    card = a_card(also=(settled, another(2)))
    assert [each.token for each in list_controls(shown(card))] == [APPROVE, DENY, "yes-2", DENY]
    texts = list_texts(shown(card))
    footers = [texts.index(f"oa__purchase_pay · {footer}") for footer in ("7K3M-9QXA · req_01", "FOOT-1")]
    assert footers[0] < texts.index("2/3 · 已同意") < footers[1]


def test_a_message_of_several_says_on_top_that_one_still_waits() -> None:
    settled = a_card(buttons=None, headline="已同意", outcome="王芳 已同意", tone=Tone.GOOD)
    waiting, done = another(1, headline="待审批"), another(2, buttons=None, headline="已同意", tone=Tone.GOOD)
    header = cast("dict[str, dict[str, str]]", shown(replace(settled, also=(waiting,)))["header"])
    assert (header["title"]["content"], header["template"]) == ("待审批", "orange")
    header = cast("dict[str, dict[str, str]]", shown(replace(settled, also=(done,)))["header"])
    assert (header["title"]["content"], header["template"]) == ("已同意", "green")


@requirement("S-13")
def test_requests_that_do_not_fit_together_are_refused() -> None:
    big = tuple(another(number, arguments=(Fact(label="x", value="金" * 2500),)) for number in range(1, 5))
    with pytest.raises(ChannelRefusedError):
        render_card(a_card(also=big))


# --- nothing from outside acts ----------------------------------------------------------------------------------------


@requirement("S-18", "S-19")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_plain_in_dialogue_changes_notes_and_fields(text: str) -> None:
    fact = Fact(label=text, value=text)
    field = Field(name="x", label=text, value=text, hint=text[:100])
    control = a_control(Action.EDIT, label="E", form=a_form(field, title=text, note=f"{text}."))
    card = a_card(
        own=True, changes=(fact,), dialogue=(fact, fact), controls=(control,), also=(another(1, dialogue=(fact,)),)
    )
    rendered = shown(card)
    tags = {str(node["tag"]) for node in nodes(rendered) if "tag" in node}
    assert tags == {"div", "plain_text", "column_set", "column", "hr", "button", "form", "input"}
    assert "\n".join(list_texts(rendered)).count(text) >= 10
    assert inputs(card)["edit_x"]["default_value"] == text
    assert len(list_controls(rendered)) == 5


@requirement("S-47")
def test_one_s_own_card_cannot_be_forwarded_either() -> None:
    config = cast("Json", render_card(a_card(own=True, controls=own_controls()))["config"])
    assert (config["enable_forward"], config["enable_forward_interaction"]) == (False, False)


@pytest.mark.parametrize("char", ["a", "金", "🎉", '"', "\\", "é"])
def test_five_requests_that_have_some_of_everything_fit_one_message(char: str) -> None:
    first, *others = (crowded(number, char * (200 // units(char))) for number in range(5))
    rendered = shown(replace(first, also=tuple(others)))
    assert len(list_controls(rendered)) == 5 * 4
    assert count_elements(rendered) <= MAX_ELEMENTS
    texts = "\n".join(list_texts(rendered))
    assert texts.count(char * (200 // units(char))) == 5
    assert texts.count("80,000.00") == 10


def crowded(number: int, text: str) -> Card:
    """Return a card that has some of everything, with tokens as long as they may be."""
    token = f"{number}" * 150
    buttons = replace(some_buttons(approve=f"y{token}"), deny=f"n{token}")
    controls = tuple(replace(each, token=f"{each.action.value}{token}") for each in chat_controls())
    return another(
        number,
        buttons=buttons,
        controls=controls,
        highlights=tuple(Fact(label=f"标{n}", value="80,000.00") for n in range(2)),
        warnings=("请核对收款方。",),
        facts=tuple(Fact(label=f"事实{n}", value=f"值{n}") for n in range(8)),
        arguments=(*(Fact(label=f"参数{n}", value=f"第{n}项") for n in range(10)), Fact(label="文", value=text)),
        hidden="有 1 项未显示。",
        agent_says=Fact(label="智能体自述", value="很急"),
        until=Fact(label="决定期限", value="18:30"),
    )
