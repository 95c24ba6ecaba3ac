"""Strict JSON in, one canonical text out."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import BadJsonError
from app.domain.text import canonical as canonical_module
from app.domain.text.canonical import (
    _BRACKETS,
    MAX_INT,
    MAX_VALUES,
    canonical,
    check_value,
    digest,
    parse_json,
    plain_canonical,
)
from tests.fixtures.examples import examples
from tests.requirements import requirement

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

numbers = st.integers(-MAX_INT, MAX_INT) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not MAX_INT < abs(number) < 1e21
)
scalars = st.none() | st.booleans() | numbers | st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


class Looked:
    """The depth check's pattern, which counts what it finds."""

    def __init__(self) -> None:
        self.at = self.characters = 0

    def finditer(self, raw: bytes) -> Iterator[re.Match[bytes]]:
        for found in _BRACKETS.finditer(raw):
            self.at += 1
            self.characters += len(found.group())
            yield found


def fault(raw: bytes) -> BadJsonError:
    with pytest.raises(BadJsonError) as refused:
        parse_json(raw)
    return refused.value


@given(values)
def test_what_is_written_canonically_reads_back_the_same(value: Any) -> None:
    assert parse_json(canonical(value)) == value
    assert canonical(parse_json(canonical(value))) == canonical(value)


@given(values, st.sampled_from([None, 1, 4]), st.booleans())
def test_white_space_and_escapes_do_not_change_the_digest(value: Any, indent: int | None, ascii_only: bool) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert digest(parse_json(written)) == digest(value)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), scalars, min_size=2), st.randoms())
def test_the_order_of_keys_does_not_change_the_digest(members: dict[str, Any], shuffle: Any) -> None:
    keys = list(members)
    shuffle.shuffle(keys)
    assert digest({key: members[key] for key in keys}) == digest(members)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9), min_size=1), st.integers(10, 20))
def test_any_changed_leaf_changes_the_digest(members: dict[str, int], other: int) -> None:
    for key in members:
        assert digest({**members, key: other}) != digest(members)


@requirement("S-41")
@pytest.mark.parametrize(
    ("raw", "path", "why"),
    [
        (b'{"a": 1, "a": 2}', "a", "the same key twice"),
        (b'{"pay": [{"to": "x", "to": "y"}]}', "pay[0].to", "the same key twice"),
        (b'{"a": 1, "\\u0061": 2}', "a", "the same key twice"),
        (b'{"a": NaN}', "a", "NaN is not JSON"),
        (b'{"a": [1, Infinity]}', "a[1]", "Infinity is not JSON"),
        (b'{"a": -Infinity}', "a", "-Infinity is not JSON"),
        (b'{"a": 1e400}', "a", "too large a number"),
        (b'{"a": 9007199254740992}', "a", "an integer beyond ±(2**53 - 1)"),
        (b'{"a": -9007199254740992}', "a", "an integer beyond ±(2**53 - 1)"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "a", "an integer beyond ±(2**53 - 1)"),
        (b'{"a": 9007199254740993.0}', "a", "an integer beyond ±(2**53 - 1)"),
        (b'{"a": "\\ud800"}', "a", "half of a surrogate pair"),
        (b'{"a": {"\\udfff": 1}}', 'a["\\udfff"]', "half of a surrogate pair in a key"),
        (b'{"two words": {"b": NaN}}', '["two words"].b', "NaN is not JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "", "starts with a byte order mark"),
        (b'{"a": "\xff"}', "", "not UTF-8 at byte 7"),
        ('{"a": 1}'.encode("utf-16"), "", "not UTF-8 at byte 0"),
        (b'{"a": "\xed\xa0\x80"}', "", "not UTF-8 at byte 7"),
        (b"", "", "Expecting value at line 1, column 1"),
        (b'"\n"', "", "Invalid control character at line 1, column 2"),
        (b'{"a": 1} {"a": 2}', "", "Extra data at line 1, column 10"),
        (b'{"a": 1,}', "", None),
        (b"{'a': 1}", "", None),
        (b'{"a": "\n"}', "", None),
    ],
)
def test_hostile_json_is_refused_with_the_path_of_its_fault(raw: bytes, path: str, why: str | None) -> None:
    refused = fault(raw)
    assert refused.more["path"] == path
    assert why is None or refused.more["why"] == why


@requirement("S-41")
@pytest.mark.parametrize("unit", [b"[", b'{"a":', b'[{"a":'])
def test_a_hostile_depth_is_refused_at_once(unit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked()
    monkeypatch.setattr("app.domain.text.canonical._BRACKETS", looked)
    monkeypatch.delattr("app.domain.text.canonical.json.loads")  # no parser comes to see it
    assert fault(unit * 100_000).more["why"] == "nested deeper than 64"
    assert 64 < looked.at <= 65 * 3  # brackets and texts, of the 100,000 and more


@requirement("S-41")
@pytest.mark.parametrize("raw", [b'"' + b'\\"' * 500_000, b'"\\"' * 300_000, b"[" + b'"[",' * 200_000])
def test_text_made_to_slow_the_depth_check_down_does_not(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    # A search that began again within a text would take hours for these, and the test's own time limit tells.
    looked = Looked()
    monkeypatch.setattr("app.domain.text.canonical._BRACKETS", looked)
    fault(raw)
    assert looked.characters <= len(raw)


def test_depth_counts_containers_and_not_brackets_in_texts() -> None:
    assert parse_json(b"[" * 64 + b"]" * 64)
    assert fault(b"[" * 65 + b"]" * 65).more["why"] == "nested deeper than 64"
    assert parse_json(b'["' + b"[" * 1000 + b'\\"[["]')
    assert parse_json(b"[" + b",".join([b"[[]]"] * 1000) + b"]")
    assert check_value(parse_json(b"[" * 64 + b"]" * 64))


@requirement("S-41")
@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        2**53,
        -(2**53),
        1e17,
        "\ud800",
        {1: 2},
        {"a": b"x"},
        {"a": (1,)},
        {"a": {2}},
        object(),
    ],
)
def test_a_parsed_value_that_json_cannot_say_safely_has_no_digest(value: Any) -> None:
    with pytest.raises(BadJsonError):
        check_value({"deep": [value]})
    with pytest.raises(BadJsonError):
        canonical({"deep": [value]})


@requirement("S-41")
def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(BadJsonError, match="nested deeper"):
        check_value(loop)


def test_the_canonical_form_is_that_of_rfc_8785() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
        "string": '€$\u000f\nA\'B"\\\\"/',
        "literals": [None],
    }
    assert (
        canonical(value)
        == (
            '{"literals":[null],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


_plain_text = st.text(st.characters(exclude_categories=["Cs"]))
_plain_name = st.text(st.characters(codec="ascii"))
_plain_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53 - 1), 2**53 - 1) | _plain_text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_plain_name, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(_plain_name, _plain_value, max_size=8))
def test_the_fast_form_of_our_own_values_is_the_canonical_one(value: dict[str, object]) -> None:
    assert plain_canonical(value) == rfc8785.dumps(check_value(value))


@given(_plain_value)
def test_the_fast_form_of_a_simple_value_is_the_canonical_one(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(check_value(value))


def test_every_character_is_written_alike_by_each_encoder() -> None:
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    others = plain_canonical({"\u00e9": text})  # of other names, the standard library's encoder
    assert canonical(text) == plain_canonical({"": text})[4:-1] == others[6:-1] == rfc8785.dumps(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_the_trail_takes_no_number_that_json_has_not(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        plain_canonical({"deep": [value]})


@given(values)
def test_whichever_encoder_writes_it_the_form_is_that_of_rfc_8785(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(check_value(value))


def independent(value: Any) -> str:
    """Write the canonical form by RFC 8785 and ECMA-262 alone; shares nothing with what is tested."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int():
            return str(value)
        case float():
            return _as_ecmascript(value)
        case str():
            return _quoted(value)
        case list():
            return f"[{','.join(independent(each) for each in value)}]"
        case dict():
            members = sorted(value, key=lambda key: key.encode("utf-16-be"))
            return f"{{{','.join(f'{_quoted(key)}:{independent(value[key])}' for key in members)}}}"
        case _:
            raise TypeError


def _quoted(text: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(short.get(each) or (rf"\u{ord(each):04x}" if each < " " else each) for each in text) + '"'


def _as_ecmascript(number: float) -> str:
    """Number::toString of ECMA-262: the shortest digits that read back, and the point where the language puts it."""
    if number == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    text, count = "".join(map(str, digits)), len(digits)
    point = count + int(exponent)
    if count <= point <= 21:
        told = text + "0" * (point - count)
    elif 0 < point <= 21:
        told = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        told = f"0.{'0' * -point}{text}"
    else:
        mantissa = f"{text[0]}.{text[1:]}" if count > 1 else text
        told = f"{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"-{told}" if sign else told


VECTORS = {
    -0.0: "0", 1.0: "1", 5e-324: "5e-324", -5e-324: "-5e-324", 1.7976931348623157e308: "1.7976931348623157e+308",
    295147905179352830000.0: "295147905179352830000", 9.999999999999997e22: "9.999999999999997e+22", 1e23: "1e+23",
    1e21: "1e+21", 999999999999999900000.0: "999999999999999900000", 1e-6: "0.000001", 1e-7: "1e-7",
    333333333.3333332: "333333333.3333332", 0.1: "0.1", 4.5: "4.5", 2e-3: "0.002",
}  # fmt: skip
"""From the appendix of RFC 8785, and the edges of each form."""


@pytest.mark.heavy
@requirement("S-42")
@given(values)
@settings(max_examples=examples(1_000))
def test_an_independent_encoder_writes_the_same_bytes(value: Any) -> None:
    assert canonical(value) == independent(value).encode()


@pytest.mark.heavy
@requirement("S-42")
@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=examples(3_000))
def test_every_number_is_written_as_the_standard_says(number: float) -> None:
    assert rfc8785.dumps(number).decode() == _as_ecmascript(number)


@requirement("S-42")
def test_the_standards_own_numbers_keys_and_texts() -> None:
    assert {number: canonical([number]).decode()[1:-1] for number in VECTORS if abs(number) < MAX_INT} == {
        number: text for number, text in VECTORS.items() if abs(number) < MAX_INT
    }
    assert {number: _as_ecmascript(number) for number in VECTORS} == VECTORS
    keys = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7}
    assert list(json.loads(canonical(keys))) == ["\r", "1", "\x80", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert canonical('\u20ac$\x0f\nA\'B"\\\\"/') == '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'.encode()
    assert canonical("\u00c5") != canonical("A\u030a")  # composed and decomposed stay what they are


@requirement("S-61")
@pytest.mark.parametrize("before", ["", '{"a":[', "[" * 60 + "]" * 60, "[]" * 70])
@pytest.mark.parametrize("again", ["[]", '"a"', "]", '"a",', '"x"[', '{"a":1}', "{}", '":"'])
def test_a_megabyte_that_is_no_json_is_refused_after_a_few_thousand_parts_of_it(before: str, again: str) -> None:
    raw = (before + again * (1_000_000 // len(again))).encode()
    looked_at = 0

    class Counted:
        def __init__(self, pattern: re.Pattern[bytes]) -> None:
            self._pattern = pattern

        def finditer(self, text: bytes) -> Iterator[re.Match[bytes]]:
            nonlocal looked_at
            for found in self._pattern.finditer(text):
                looked_at += 1
                yield found

    with pytest.MonkeyPatch.context() as patch:
        for name in ("_BRACKETS", "_OPENINGS"):
            patch.setattr(canonical_module, name, Counted(getattr(canonical_module, name)))
        with pytest.raises(BadJsonError):
            parse_json(raw)
    assert looked_at < 8 * MAX_VALUES


SOUND = [
    b"9007199254740991", b"-9007199254740991", b"1", b"-0", b"1.5", b"1e21", b"9007199254740991.0", b"null", b"true",
    b'"\\ud83d\\ude00"', b'"\\\\ud800"', b'"\xc3\xa9"', b'"\\n"', b'{"a":1,"b":{"a":[]}}', b'{"\xc3\xa9":1}', b"[[]]",
]  # fmt: skip
UNSOUND = [
    b"9007199254740992", b"-9007199254740992", b"99999999999999999", b"999999999999999999", b"1e17", b"1e400", b"NaN",
    b"-Infinity", b'"\\ud800"', b'"\\uDFFF\\ud800"', b'{"\\ud800":1}', b'{"a":1,"\\u0061":1}', b'[{"b":{"a":1,"a":1}}]',
]  # fmt: skip


@requirement("S-41")
@given(st.lists(st.sampled_from(SOUND), max_size=6), st.none() | st.sampled_from(UNSOUND), st.randoms())
def test_a_body_is_read_unless_a_part_of_it_may_not_be_and_what_is_read_may_be_said(
    sound: list[bytes], unsound: bytes | None, shuffle: Any
) -> None:
    parts = [*sound] if unsound is None else [*sound, unsound]
    shuffle.shuffle(parts)
    raw = b'{"k":[' + b",".join(parts) + b"]}"
    if unsound is None:
        value = parse_json(raw)
        assert check_value(value) is value
    else:
        assert str(fault(raw).more["path"]).startswith(f"k[{parts.index(unsound)}]")


@requirement("S-41")
@pytest.mark.parametrize("inner", [{}, [], [1, "a", None], {"a": {"b": [True]}}, [[1], [{"a": 2}]], {"\u00e9": [1.5]}])
def test_a_value_may_reach_each_bound_and_not_pass_it(inner: Any) -> None:
    def depth(value: Any) -> int:
        within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if within is None else 1 + max(map(depth, within), default=0)

    def count(value: Any) -> int:
        within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return len(within) + sum(map(count, within))

    for value in (inner, {"k": inner}, [inner, inner]):
        assert check_value(value, max_depth=depth(value), max_values=count(value)) is value
        with pytest.raises(BadJsonError, match="nested deeper"):
            check_value(value, max_depth=depth(value) - 1)
        if count(value):
            with pytest.raises(BadJsonError, match="values"):
                check_value(value, max_values=count(value) - 1)


texts = st.text('"\\[]{},a', max_size=4)


@given(st.recursive(st.none() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_what_is_json_within_the_bounds_is_read_whatever_stands_in_its_texts(value: object) -> None:
    raw = json.dumps(value).encode()
    count = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    assert parse_json(raw, max_depth=50, max_values=max(1, count)) == value
