"""Truncation: long results lose their middle, and say so."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.hooks.ready.result_truncate import ResultTruncate, truncate
from tests.sdk.ready.moments import after, failed

NOTE = re.compile(r"\n\[… ([\d,]+) of ([\d,]+) characters cut here; the beginning and the end are kept …\]\n")


def parts(text: str) -> tuple[str, str, int, int]:
    head, cut, of, tail = NOTE.split(text)
    return head, tail, int(cut.replace(",", "")), int(of.replace(",", ""))


async def replaced(result: Any, **options: Any) -> Any:
    said = await ResultTruncate(**options).execute(after(result))
    return said.modified_result if said else None


async def test_a_long_result_keeps_its_head_and_tail_and_tells_what_is_missing() -> None:
    text = "".join(f"line {n}\n" for n in range(5000))
    head, tail, cut, of = parts(await replaced(text))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) > len(tail) > 2000
    assert (cut, of) == (len(text) - len(head) - len(tail), len(text))


@pytest.mark.parametrize("result", [None, "", "x" * 8000, {"rows": [1, 2, 3]}, ["x" * 7000], 7, b"x" * 8000])
async def test_a_short_result_is_left_as_it_is(result: Any) -> None:
    assert await replaced(result) is None


async def test_a_structure_is_cut_as_its_json() -> None:
    rows = [{"名": "王芳", "n": n} for n in range(2000)]
    head, tail, _, of = parts(await replaced({"rows": rows}, limit=1000))
    assert head.startswith('{"rows": [{"名": "王芳", "n": 0}')
    assert tail.endswith('"n": 1999}]}')
    assert of == len(json.dumps({"rows": rows}, ensure_ascii=False))


async def test_what_is_no_json_is_cut_as_its_text() -> None:
    circle: list[Any] = ["x" * 500]
    circle.append(circle)
    for result in (
        {1, "x" * 500},
        b"\xff" * 500,
        {(1, 2): "x" * 500},
        circle,
        object.__new__(type("Row", (), {"__str__": lambda _: "y" * 500})),
    ):
        _, _, _, of = parts(await replaced(result, limit=200))
        assert of >= 500


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\u0928\u093f",
        "\u2764\ufe0f",
        "\r\n",
        "\ud83d\ude00",
    ],
)
def test_what_people_see_as_one_character_is_not_cut_through(cluster: str) -> None:
    for shift in range(len(cluster)):
        text = "." * shift + cluster * 400
        head, tail, cut, _ = parts(truncate(text, 300))
        assert head.strip(".").replace(cluster, "") == ""
        assert tail.replace(cluster, "") == ""
        assert cut == len(text) - len(head) - len(tail)


@given(st.text(st.characters(), min_size=201, max_size=900), st.integers(200, 400))
def test_the_answer_is_within_the_limit_and_accounts_for_every_character(text: str, limit: int) -> None:
    short = truncate(text, limit)
    assert len(short) <= max(limit, 0)
    if len(text) <= limit:
        assert short == text
        return
    note = f"of {len(text):,} characters cut here"
    assert short.count(note) == 1 + text.count(note)


def test_a_text_of_nothing_but_accents_still_ends() -> None:
    assert len(truncate("\u0301" * 100_000, 300)) <= 300


async def test_a_failures_text_is_cut_the_same_way() -> None:
    hook = ResultTruncate(limit=300).sibling
    assert hook is not None
    assert await hook.execute(failed("short")) is None
    said = await hook.execute(failed("Traceback\n" + "x" * 1000 + "\nValueError: the end"))
    assert said is not None
    head, tail, _, of = parts(said.modified_result)
    assert head.startswith("Traceback")
    assert tail.endswith("ValueError: the end")
    assert of == 1030
    assert said.side_effects == {"truncated_from": 1030}


@pytest.mark.parametrize("limit", [199, 0, -1, True, "8000", 8000.0, None])
def test_a_bad_limit_is_named_with_its_mend(limit: Any) -> None:
    with pytest.raises(ValueError, match="limit: give a number of characters, 200 or more"):
        ResultTruncate(limit=limit)
