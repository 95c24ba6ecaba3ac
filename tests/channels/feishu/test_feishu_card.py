from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.card.card import Card, Fact, Tone, units
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
from tests.channels.feishu.feishu_cards import APPROVE, DENY, a_card, some_buttons
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, object]

HOSTILE = [
    "<at id=all></at>",
    '<at id="ou_c99c5f35d542efc7ee492afe11af19ef"></at>',
    "<person id = 'ou_1' show_name = true></person>",
    "![x](img_v2_38811724)",
    "[Approve here](https://evil.example)",
    "https://evil.example/approve",
    "**bold** _it_ ~~gone~~ `code` # head",
    "```\nfence",
    "<font color='red'>red</font><br><hr>",
    "<!channel> <@U061F7AUR> <https://evil.example|Approve>",
    "&#60;at id=all&#62;&lt;at&gt;",
    ":DONE: :OK:",
    "{{var}} ${var} $urlVal",
    '"},{"tag":"action","actions":[]},{"a":"',
    "\\u003cat id=all\\u003e",
    "<text_tag color='red'>tag</text_tag>",
    "<number_tag>1</number_tag>",
    "label: value\n金额: 1",
]


def _walk(node: object) -> Iterator[Json]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from _walk(child)
    elif isinstance(node, list):
        for child in node:
            yield from _walk(child)


def _size(card: Card) -> tuple[int, int, int]:
    content = render_content(card)
    body = json.dumps(
        {"receive_id": "oc_" + "0" * 32, "msg_type": "interactive", "content": content, "uuid": "u" * 50},
        ensure_ascii=False,
    )
    return count_elements(json.loads(content)), len(content.encode()), len(body.encode())


def test_the_reader_sees_what_matters_first() -> None:
    texts = list_texts(render_card(a_card(agent_says=Fact(label="智能体自述", value="很急"))))
    wanted = [
        "需要审批",
        "向 Acme 付款 80000 CNY",
        "同意",
        "拒绝理由 请填写理由",
        "拒绝",
        "收款方",
        "Acme",
        "金额",
        "80000",
    ]
    wanted += ["0/1 已同意", "备注", "三月", "智能体自述", "很急", "oa__purchase_pay · 7K3M-9QXA · req_01"]
    assert [text for at, text in enumerate(texts) if text not in texts[:at]] == wanted


def test_how_much_and_to_whom_stand_large_above_the_warning_and_the_buttons() -> None:
    large = (Fact(label="金额", value="80,000.00 人民币 (CNY)"), Fact(label="收款方", value="恒通钢铁"))
    rendered = check_card(render_card(a_card(highlights=large, facts=(), warnings=("收款方：请核对。",))))
    sizes = {node["content"]: node["text_size"] for node in _walk(rendered) if "text_size" in node}
    assert (sizes["80,000.00 人民币 (CNY)"], sizes["恒通钢铁"], sizes["金额"]) == ("heading-2", "heading-4", "normal")
    texts = list_texts(rendered)
    assert texts.index("恒通钢铁") < texts.index("⚠️ 收款方：请核对。") < texts.index("同意") < texts.index("0/1 已同意")


def test_how_long_is_left_stands_above_the_buttons() -> None:
    texts = list_texts(render_card(a_card(until=Fact(label="决定期限", value="18:30"))))
    assert texts.index("⏳ 决定期限 18:30") < texts.index("同意") < texts.index("备注")


@pytest.mark.parametrize(
    ("tone", "template"), [(Tone.WAITING, "orange"), (Tone.GOOD, "green"), (Tone.BAD, "red"), (Tone.NEUTRAL, "grey")]
)
def test_the_header_s_colour_tells_the_tone(tone: Tone, template: str) -> None:
    header = render_card(a_card(tone=tone))["header"]
    assert isinstance(header, dict)
    assert header["template"] == template


def test_buttons_carry_their_tokens_and_nothing_else() -> None:
    approve, deny = list_controls(render_card(a_card()))
    assert (approve.label, approve.value) == ("同意", {"v": 1, "t": APPROVE})
    assert (deny.label, deny.value) == ("拒绝", {"v": 1, "t": DENY})
    assert deny.form is not None
    assert (approve.button["form_action_type"], deny.button["form_action_type"]) == ("submit", "submit")


@requirement("F-70")
def test_the_platform_asks_again_before_anything_is_paid() -> None:
    approve, deny = list_controls(check_card(render_card(a_card())))
    asked = {"title": {"tag": "plain_text", "content": "同意？"}}
    asked["text"] = {"tag": "plain_text", "content": "向 Acme 付款 80000 CNY"}
    assert approve.form is not None  # the platform asks again only where a button sends a form
    assert (approve.button["confirm"], "confirm" in deny.button) == (asked, False)


@requirement("F-70")
def test_a_warned_card_has_another_face_and_approve_is_not_ready_there() -> None:
    warned = a_card(
        tone=Tone.WARNED, warnings=("收款账户有变。", "超出预算。"), warned=2, caution="收款账户有变 · 超出预算"
    )
    approve, deny = list_controls(render_card(warned))
    assert (approve.button["type"], deny.button["type"]) == ("default", "danger")
    assert list_controls(render_card(a_card()))[0].button["type"] == "primary_filled"
    texts = list_texts(render_card(warned))
    assert texts[0] == "⚠️ 收款账户有变 · 超出预算 · 需要审批"
    order = ["⚠️ 收款账户有变。", "同意", "拒绝", "⚠️ 超出预算。", "收款方"]
    assert [text for text in texts if text in order] == order


def test_the_reason_is_required_and_bounded() -> None:
    [reason] = [node for node in _walk(render_card(a_card())) if node.get("tag") == "input"]
    assert (reason["name"], reason["required"], reason["max_length"]) == ("reason", True, 500)


def test_a_card_that_may_only_be_denied_has_one_control_and_says_why() -> None:
    rendered = render_card(a_card(buttons=some_buttons(approve=None), withheld="参数无法完整显示"))
    assert [control.label for control in list_controls(rendered)] == ["拒绝"]
    assert "参数无法完整显示" in list_texts(rendered)


def test_a_settled_card_has_nothing_to_press() -> None:
    rendered = render_card(a_card(buttons=None, outcome="王芳 已同意", tone=Tone.GOOD))
    assert list_controls(rendered) == []
    assert not [node for node in _walk(rendered) if node.get("tag") in {"button", "input", "form"}]
    assert "王芳 已同意" in list_texts(rendered)


@requirement("S-47")
def test_forwarding_is_off_and_everybody_sees_updates() -> None:
    config = render_card(a_card())["config"]
    assert isinstance(config, dict)
    assert (config["enable_forward"], config["enable_forward_interaction"]) == (False, False)
    assert config["update_multi"] is True


@requirement("S-18")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_plain_wherever_it_stands(text: str) -> None:
    fact = Fact(label=text, value=text)
    card = a_card(
        title=text,
        tool=text,
        highlights=(fact,),
        warnings=(text,),
        facts=(fact,),
        arguments=(fact,),
        hidden=text,
        agent_says=fact,
        until=fact,
        footer=text,
        progress=text,
        withheld=text,
    )
    rendered = check_card(json.loads(render_content(card)))
    tags = {str(node["tag"]) for node in _walk(rendered) if "tag" in node}
    assert tags == {"div", "plain_text", "column_set", "column", "hr", "button", "form", "input"}
    assert "\n".join(list_texts(rendered)).count(text) >= 14


@given(st.text(max_size=200))
@pytest.mark.heavy
def test_any_value_reads_back_exactly(value: str) -> None:
    value = value.encode("utf-8", "replace").decode()
    rendered = json.loads(render_content(a_card(arguments=(Fact(label="x", value=value),))))
    assert value in list_texts(check_card(rendered))


@pytest.mark.parametrize(
    ("facts", "arguments"), [(0, 0), (2, 1), (12, 10), (20, 20), (5, 45), (40, 40), (8, 120), (80, 80), (200, 0)]
)
def test_any_number_of_facts_fits_the_platform_and_is_shown(facts: int, arguments: int) -> None:
    card = a_card(
        facts=tuple(Fact(label=f"事实{n}", value=f"值{n}") for n in range(facts)),
        arguments=tuple(Fact(label=f"参数{n}", value=f"第{n}项") for n in range(arguments)),
    )
    elements, content, body = _size(card)
    assert elements <= MAX_ELEMENTS
    assert content <= MAX_CONTENT
    assert body <= 30 * 1024
    text = "\n".join(list_texts(check_card(render_card(card))))
    assert all(f"值{n}" in text for n in range(facts))
    assert all(f"第{n}项" in text for n in range(arguments))


@pytest.mark.parametrize("char", ["a", "金", "🎉", '"', "\\", "\n", "é"])
@pytest.mark.parametrize("pieces", [1, 10, 40, 150])
def test_a_full_budget_of_any_character_fits(char: str, pieces: int) -> None:
    room = TEXT_BUDGET - a_card(arguments=()).size() - pieces * 4
    card = a_card(
        arguments=tuple(Fact(label=f"{n:04}", value=char * (room // pieces // units(char))) for n in range(pieces))
    )
    assert card.size() <= TEXT_BUDGET
    elements, content, body = _size(card)
    assert elements <= MAX_ELEMENTS
    assert content <= MAX_CONTENT
    assert body <= 30 * 1024
    check_card(render_card(card))


def test_a_full_budget_in_the_title_fits() -> None:
    card = a_card(title="🎉" * (TEXT_BUDGET // 2 - 200))
    assert _size(card)[1] <= MAX_CONTENT
    assert "🎉" * (TEXT_BUDGET // 2 - 200) in list_texts(render_card(card))


def test_in_the_leanest_layout_a_value_cannot_pass_for_the_next_fact() -> None:
    forged = Fact(label="备注", value="无\n金额: 1")
    card = a_card(arguments=(forged, *(Fact(label=f"参数{n}", value="x") for n in range(120))))
    [block] = [text for text in list_texts(render_card(card)) if "备注" in text]
    lines = block.split("\n")
    assert "金额: 1" not in lines
    assert "  金额: 1" in lines


def test_a_roomy_card_gets_the_readable_layout() -> None:
    rendered = render_card(a_card())
    assert [node for node in _walk(rendered) if node.get("tag") == "column_set"]
    assert dump(rendered).count("金额") == 1
