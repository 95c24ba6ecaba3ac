"""The trail's reader is told in words why something did not count: every code that the code writes has some."""

from __future__ import annotations

import ast

import pytest

from app.domain.lifecycle.step import Refusal
from app.domain.text.language import Language
from app.domain.trail.audit import Kind, Record
from app.domain.trail.refused import refused_words
from app.domain.trail.told import told
from tests.places import ROOT

_CALLED = {"refused_click": None, "count_wrong": None, "_turned_away": None, "refuse": 1, "_Refused": 0}
"""What writes such an event, and where its code stands, unless it is named `why`."""


def written() -> set[str]:
    """Return every code that stands in a call which writes one."""
    codes: set[str] = set()
    for path in (ROOT / "app/usecases").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            at = _CALLED.get(name)
            if name not in _CALLED or (at is not None and path.parent.name != "clicks"):  # others are named so too
                continue
            said = [each.value for each in node.keywords if each.arg == "why"]
            said += node.args[at : at + 1] if at is not None else []
            codes |= {each.value for part in said for each in ast.walk(part) if isinstance(each, ast.Constant)}  # pyright: ignore[reportAssignmentType]
    return {code for code in codes if isinstance(code, str)}  # pyright: ignore[reportUnnecessaryIsInstance]


def test_every_code_that_is_written_has_words_in_both_languages() -> None:
    codes = written()
    assert {"stale", "copy", "wrong_code", "wrong_totp", "not_eligible", "locked"} <= codes, "the look finds them"
    for code in sorted(codes | {refusal.value for refusal in Refusal}):
        en, zh = (refused_words(code, language) for language in (Language.EN, Language.ZH))
        assert code not in {en, zh}, code
        assert en != zh


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        (Language.EN, "ann pressed on chat; it did not count (what was typed does not stand on the card)"),
        (Language.ZH, "ann 通过 chat 点击，未生效（输入内容与卡片不符）"),
    ],
)
def test_the_sentence_says_it_in_words(language: Language, sentence: str) -> None:
    record = Record(kind=Kind.CLICK_REFUSED, actor="ann", facts={"channel": "chat", "why": "wrong_code"})
    assert told(record, language) == sentence
    newer = Record(kind=Kind.CLICK_REFUSED, actor="ann", facts={"channel": "chat", "why": "a_newer_one"})
    assert "(a_newer_one)" in told(newer, Language.EN)
