"""The worst inputs that were found stay cheap: the readers of agents' text, what they keep in memory, and who waits."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from app.api.wire.bodies import _SMALL
from app.domain.call.schema import schema_fault
from app.domain.call.tool import Tool, check_arguments
from app.domain.errors import BadArgumentsError, BadJsonError
from app.domain.rules.condition import BadConditionError, ConditionFailedError, compile_condition, scope_of
from app.domain.text.canonical import MAX_VALUES, parse_json
from app.domain.text.linear import BadPatternError, pattern_of
from assent.guards.command_guard import CommandGuard
from assent.guards.path_guard import PathGuard
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.ready.off_loop import is_large
from assent.shell.reading.reader import read_script
from tests.fixtures.patience import HANGS
from tests.readers.measure import LARGEST, MOST_SECONDS, seconds
from tests.readers.readers import READERS
from tests.readers.worst import kept
from tests.requirements import requirement

if TYPE_CHECKING:
    from assent.hooks.contract.verdicts import HookResult

READ_WHOLE = (12_000, 32_000)
"""Characters: of longer texts most readers refuse the rest, so that the longest is not what takes them longest."""
NOW = datetime(2026, 11, 22, tzinfo=UTC)


@requirement("S-61", "S-62")
@pytest.mark.parametrize("name", READERS)
@pytest.mark.heavy
@pytest.mark.sampled(4)
def test_what_was_found_once_stays_within_the_bound(name: str) -> None:
    for shape in (shape for reader, shape in kept() if reader == name):
        texts = {text for size in (*READ_WHOLE, LARGEST) for text in (shape.of(size), shape.nested(size))}
        assert max(seconds(name, text) for text in texts) < MOST_SECONDS, shape


@pytest.mark.heavy
@requirement("S-61")
@pytest.mark.process
def test_no_text_takes_more_than_64_mib() -> None:
    program = """if True:
        import resource
        from tests.readers.measure import LARGEST
        from tests.readers.readers import READERS, read
        from tests.readers.worst import kept
        for name in READERS:
            read(name, "a")
        for name, shape in kept():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for text in (shape.of(28_000), shape.of(LARGEST)):
                read(name, text)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
            if grown > 64:
                print(grown, "MiB:", name, shape)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=HANGS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@requirement("S-61")
@pytest.mark.parametrize(
    "text", ["a|" * 14_000, "eval " * 5_000, "cat ~/" + "[" * 2_000, "a;" * 20_000, "$(a) " * 9_000]
)
@pytest.mark.sampled(3)
async def test_what_is_over_the_bound_is_asked_about_or_denied(text: str) -> None:
    for guard in (CommandGuard(), PathGuard()):
        ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=NOW, tool_name="exec", args={"command": text})
        said = await guard.execute(ctx)
        if guard.name == "path-guard" or "[" not in text:
            assert said is not None
            assert said.ask or not said.allow


@requirement("S-61")
async def test_the_loop_goes_on_while_a_heavy_call_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=NOW, tool_name="exec", args={"command": "a;" * 20_000})
    turned, judge = threading.Event(), CommandGuard._judge

    def held(guard: CommandGuard, ctx: HookContext) -> HookResult | None:
        assert turned.wait(HANGS), "the loop stood still"
        return judge(guard, ctx)

    monkeypatch.setattr(CommandGuard, "_judge", held)
    calls = [asyncio.ensure_future(CommandGuard().execute(ctx)) for _ in range(3)]
    for _ in range(3):
        await asyncio.sleep(0)
    turned.set()
    assert all(await asyncio.gather(*calls))


@requirement("S-61")
def test_heavy_calls_are_judged_one_at_a_time() -> None:
    from assent.hooks.engine.bounded import in_lane

    at_once: list[int] = []
    running = 0

    def work() -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        time.sleep(0.001)
        running -= 1

    async def all_of_them() -> None:
        await asyncio.gather(*(in_lane(work) for _ in range(10)))

    asyncio.run(all_of_them())
    assert at_once == [1] * 10


@requirement("S-61")
def test_words_within_words_are_counted_once_for_all_texts() -> None:
    assert read_script("eval " * 2_000 + "ls").unread
    assert not read_script("ls " + "a " * 9_000).unread


@requirement("S-61")
@pytest.mark.parametrize(
    "raw", [b"[" + b"1," * 20_000 + b"1]", b'{"a":' + b"[[],[]]," * 3 + b"[" + b"[]," * 9_999 + b"[]]}"]
)
def test_a_body_of_too_many_values_is_refused_before_it_is_read(raw: bytes) -> None:
    with pytest.raises(BadJsonError, match="more than 10000 values"):
        parse_json(raw)


@requirement("S-61")
@pytest.mark.parametrize("unit", ["1", '""', '"x"', "[]", "{}", '{"":1}', "null"])
def test_nothing_in_a_small_body_is_large(unit: str) -> None:
    """What is in one is checked on the loop, and nobody looks through it first."""
    many = (_SMALL - 1) // (len(unit) + 1)
    flat = "[" + ",".join([unit] * many) + "]"
    deep = "[" * 50 + ",".join([unit] * ((_SMALL - 100) // (len(unit) + 1))) + "]" * 50
    for text in (flat, deep):
        assert _SMALL - 100 < len(text) <= _SMALL
        assert not is_large((json.loads(text), []))


def test_commas_in_a_text_are_no_values() -> None:
    assert parse_json(b'["' + b",[{" * 60_000 + b'"]') == [",[{" * 60_000]
    assert len(str(parse_json(b"[" + b",".join([b"1"] * (MAX_VALUES - 1)) + b"]"))) > MAX_VALUES


@requirement("S-62")
def test_a_pattern_that_backtracks_for_ever_elsewhere_is_matched_at_once() -> None:
    tool = Tool(name="t", schema={"properties": {"a": {"type": "string", "pattern": "^([A-Za-z0-9]+[- ]?)+$"}}})
    with pytest.raises(BadArgumentsError, match="does not satisfy `pattern"):
        check_arguments(tool, {"a": "a" * 82 + "!"})
    assert check_arguments(tool, {"a": "a" * 82}) == {"a": "a" * 82}


@requirement("S-62")
@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", "a" * 1001, "[a--b]", "(?:(?:a{1000}){1000}){1000}"])
def test_a_pattern_without_a_linear_form_is_refused_at_load(pattern: str) -> None:
    with pytest.raises(BadPatternError):
        pattern_of(pattern)
    schema: dict[str, Any]
    for schema in ({"pattern": pattern}, {"properties": {"a": {"patternProperties": {pattern: True}}}}):
        assert "the pattern" in str(schema_fault(schema))


@requirement("S-62")
def test_members_are_told_apart_by_patterns_as_the_standard_has_it() -> None:
    schema = {"properties": {"b": {}}, "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}
    tool = Tool(name="t", schema=schema)
    assert check_arguments(tool, {"xa": 1, "b": "c"})
    for wrong in ({"xa": "1"}, {"ax": 1}):
        with pytest.raises(BadArgumentsError):
            check_arguments(tool, wrong)
    with pytest.raises(BadArgumentsError):
        check_arguments(Tool(name="t", schema={"additionalProperties": {"type": "string"}}), {"a": 1})
    assert "do not go together" in str(schema_fault({"unevaluatedProperties": False, **schema}))


@requirement("S-62")
@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, 2, True], True),
        ([1, 1.0], False),
        ([{"a": [1]}, {"a": [1]}], False),
        ([[1], [True]], True),
        (["1", 1], True),
    ],
)
def test_items_are_unique_as_the_standard_has_it(items: list[object], *, unique: bool) -> None:
    tool = Tool(name="t", schema={"properties": {"a": {"uniqueItems": True}}})
    if unique:
        assert check_arguments(tool, {"a": items})
    else:
        with pytest.raises(BadArgumentsError, match="uniqueItems"):
            check_arguments(tool, {"a": items})


@requirement("S-62")
def test_a_schema_that_multiplies_is_stopped_by_its_count() -> None:
    tree: dict[str, Any] = {
        "anyOf": [{"items": {"$ref": "#/$defs/t"}, "minItems": 99}, {"items": {"$ref": "#/$defs/t"}, "maxItems": 9}]
    }
    value: Any = 1
    for _ in range(40):
        value = [value]
    with pytest.raises(BadArgumentsError, match="take too long to check"):
        check_arguments(Tool(name="t", schema={"$defs": {"t": tree}, "properties": {"a": tree}}), {"a": value})


@requirement("S-62")
@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("args.a.exists(x, x < 0)", 5_000),
        ("args.a.all(x, x in args.a)", 300),
        ("args.a.exists(x, args.a.exists(y, x + y < 0))", 200),
        ("args.a.map(x, args.a.map(y, args.a)).exists(z, z == args.a)", 20),
        ('args.a.exists(x, string(x).matches("^9+$"))', 400),
    ],
)
def test_lists_within_lists_are_evaluated_while_they_are_short(source: str, most: int) -> None:
    condition = compile_condition(source)
    condition.holds(_seeing(list(range(most))))
    with pytest.raises(ConditionFailedError, match="too long for it to be evaluated"):
        condition.holds(_seeing([*range(20), *["b" * 100] * 9_900] if most < 1_000 else list(range(250_000))))


@requirement("S-62")
def test_the_conditions_of_one_call_share_their_bound() -> None:
    scope, condition = _seeing(list(range(300))), compile_condition("args.a.all(x, x in args.a)")
    condition.holds(scope)
    condition.holds(scope)
    with pytest.raises(ConditionFailedError, match="too long for it to be evaluated"):
        condition.holds(scope)


@requirement("S-62")
@pytest.mark.parametrize(
    "source", ["args.a.matches(args.b)", "matches(args.a, args.b)", 'args.a.matches("a" + args.b)']
)
def test_a_pattern_is_never_the_agents(source: str) -> None:
    with pytest.raises(BadConditionError, match="no text of this file"):
        compile_condition(source)


def _seeing(items: list[object]):  # noqa: ANN202 - what conditions see
    return scope_of(arguments={"a": items}, agent="a", user=None, session=None, tool="t", now=NOW)  # pyright: ignore[reportArgumentType]
