"""The stand-in's card check and wire refuse what the platform refuses; one that took anything would fail here."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from channels.feishu.card import render_card
from channels.feishu.simulator.cards import CardFaultError, check_card
from channels.feishu.simulator.wire import Frame, decode_frame, encode_frame
from tests.channels.feishu.feishu_cards import a_card, chat_controls, own_controls

Json = dict[str, Any]


def div(text: str, tag: str = "plain_text") -> Json:
    return {"tag": "div", "text": {"tag": tag, "content": text}}


def button(**more: Any) -> Json:
    return {"tag": "button", "type": "primary", "text": {"tag": "plain_text", "content": "Go"}} | more


def form(*elements: Json, name: str = "f") -> Json:
    return {"tag": "form", "name": name, "elements": list(elements)}


def submit(name: str = "s") -> Json:
    return button(name=name, form_action_type="submit")


def an_input(**more: Any) -> Json:
    return {"tag": "input", "name": "reason"} | more


def card(*elements: Json, **more: Any) -> Json:
    return {"schema": "2.0", "body": {"elements": list(elements)}} | more


def nested(depth: int) -> Json:
    inner = div("deep")
    for _ in range(depth):
        inner = {"tag": "column_set", "columns": [{"tag": "column", "elements": [inner]}]}
    return inner


BAD_CARDS: dict[str, tuple[Any, int]] = {
    "not an object": ([], 200621),
    "card 1.0": ({"elements": [div("x")]}, 200861),
    "tag action": (card({"tag": "action", "actions": []}), 200861),
    "tag note": (card({"tag": "note", "elements": []}), 200861),
    "unknown tag": (card({"tag": "blink"}), 200861),
    "unknown root property": (card(elements=[]), 200861),
    "unknown config property": (card(config={"wide_screen_mode": True}), 200861),
    "not shared": (card(config={"update_multi": False}), 200861),
    "unknown property": (card(div("x") | {"style": "x"}), 200861),
    "value on the button": (card(button(value={"a": 1})), 200861),
    "url on the button": (card(button(url="https://evil.example")), 200861),
    "too many elements": (card(*(div("x") for _ in range(101))), 11310),
    "unknown colour": (card(header={"template": "pink", "title": {"tag": "plain_text", "content": "x"}}), 200621),
    "header without title": (card(header={"template": "red"}), 200621),
    "unknown button type": (card(button(type="huge")), 200621),
    "long button text": (card(button(text={"tag": "plain_text", "content": "x" * 101})), 200621),
    "empty button text": (card(button(text={"tag": "plain_text", "content": ""})), 200621),
    "string value": (card(button(behaviors=[{"type": "callback", "value": "x"}])), 200621),
    "confirm without title": (card(button(confirm={"text": {"tag": "plain_text", "content": "x"}})), 200621),
    "form without submit": (card(form(an_input(), button(name="b"))), 200621),
    "form without name": (card({"tag": "form", "elements": [submit()]}), 200621),
    "form in a column": (
        card({"tag": "column_set", "columns": [{"tag": "column", "elements": [form(submit())]}]}),
        200621,
    ),
    "form in a form": (card(form(form(submit("t"), name="g"), submit())), 200621),
    "input without name in a form": (card(form({"tag": "input"}, submit())), 200621),
    "two of one name": (card(form(an_input(), an_input(), submit())), 200621),
    "submit outside a form": (card(submit()), 200621),
    "required outside a form": (card(an_input(required=True)), 200621),
    "max_length 0": (card(form(an_input(max_length=0), submit())), 200621),
    "max_length 1001": (card(form(an_input(max_length=1001), submit())), 200621),
    "unknown input type": (card(form(an_input(input_type="number"), submit())), 200621),
    "long placeholder": (
        card(form(an_input(placeholder={"tag": "plain_text", "content": "x" * 101}), submit())),
        200621,
    ),
    "default value that is no text": (card(form(an_input(default_value=7), submit())), 200621),
    "default value longer than the input": (card(form(an_input(default_value="xyz", max_length=2), submit())), 200621),
    "unknown button size": (card(button(size="huge")), 200621),
    "unknown text colour": (
        card({"tag": "div", "text": {"tag": "plain_text", "content": "x", "text_color": "pink"}}),
        200621,
    ),
    "unknown column width": (
        card({"tag": "column_set", "columns": [{"tag": "column", "width": "wide", "elements": []}]}),
        200621,
    ),
    "two forms of one name": (card(form(submit("a")), form(submit("b"))), 200621),
    "one input's name in two forms": (
        card(form(an_input(), submit("a")), form(an_input(), submit("b"), name="g")),
        200621,
    ),
    "a picker": (card(form({"tag": "select_person", "name": "p"}, submit())), 200861),
    "element id with a digit first": (card(div("x") | {"element_id": "1a"}), 200621),
    "element id too long": (card(div("x") | {"element_id": "a" * 21}), 200621),
    "element id twice": (card(div("x") | {"element_id": "a"}, div("y") | {"element_id": "a"}), 200621),
    "nested too deeply": (card(nested(6)), 200621),
    "weight 6": (card({"tag": "column_set", "columns": [{"tag": "column", "weight": 6, "elements": []}]}), 200621),
    "unknown person in markdown": (card({"tag": "markdown", "content": "<at id=ou_nobody></at>"}), 100290),
    "unknown person in lark_md": (card(div("<at id=ou_nobody></at>", "lark_md")), 100290),
    "unknown image in markdown": (card({"tag": "markdown", "content": "![x](img_1)"}), 200570),
    "unknown image": (card({"tag": "img", "img_key": "img_1"}), 200570),
    "number as text": (card({"tag": "div", "text": {"tag": "plain_text", "content": 7}}), 200621),
    "text of another kind": (card({"tag": "div", "text": {"tag": "markdown", "content": "x"}}), 200861),
}


@pytest.mark.parametrize("name", BAD_CARDS)
def test_a_card_that_the_platform_refuses_is_refused_with_its_code(name: str) -> None:
    bad, code = BAD_CARDS[name]
    with pytest.raises(CardFaultError, match=f"ErrCode: {code}; ErrPath: ROOT") as caught:
        check_card(bad)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "good",
    [
        card(),
        card(*(div("x") for _ in range(100))),
        card(nested(5)),
        card(div("<at id=ou_nobody></at>")),
        card({"tag": "markdown", "content": "<at id=all></at> <at id=ou_1></at>"}),
        card(form(an_input(required=True, max_length=1000), submit())),
        card(button(behaviors=[{"type": "callback", "value": {"v": 1}}])),
        render_card(a_card()),
        render_card(a_card(buttons=None)),
        render_card(a_card(controls=chat_controls())),
        render_card(a_card(own=True, controls=own_controls())),
        render_card(a_card(also=(a_card(), a_card(buttons=None)))),
    ],
)
def test_a_card_that_the_platform_takes_is_taken(good: Json) -> None:
    assert check_card(deepcopy(good), people=frozenset({"ou_1"})) == good


def test_frames_survive_the_wire() -> None:
    frame = Frame(
        method=1, service=300, headers={"type": "event", "message_id": "é"}, payload=b"\x00" * 300, sequence=9
    )
    assert decode_frame(encode_frame(frame)) == frame


@pytest.mark.parametrize("raw", [b"", b"\xff", b"\x0a\xff", b"\x08\x01", b"\x3b"])
def test_bytes_that_are_no_frame_are_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="frame"):
        decode_frame(raw)
