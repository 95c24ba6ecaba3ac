"""A compiled policy condition: a CEL expression that is true or false of one tool call.

The only importer of `cel`. The binding fails in many ways (a missing key is a KeyError, an unknown name a RuntimeError,
a mixed-up type a TypeError, text that does not parse a ValueError, a defect of its own a panic); all of them become one
of the two errors here. A condition that cannot be evaluated never counts as true nor as false: the caller must ask.

Whole and fractional numbers compare by value (`1200 >= 1000.0`). Money kept as a decimal text needs `double(args.x)`.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import cel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from app.domain.canonical import JsonValue

T = TypeVar("T")

VARIABLES = ("args", "agent", "user", "session", "tool", "now")
FUNCTIONS = frozenset({
    *("size", "contains", "startsWith", "endsWith", "matches"),
    *("int", "uint", "double", "string", "bytes", "type", "dyn", "timestamp", "duration"),
    *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
})  # fmt: skip

_SILENT = re.compile(r"""[rR]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|//[^\n]*""")
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
_READS = re.compile(r"""(?<![\w.])args((?:\s*\.\s*[A-Za-z_]\w*|\s*\[\s*(?:"[^"\\]*"|'[^'\\]*')\s*\])+)(\s*\()?""")
_STEP = re.compile(r"""[A-Za-z_]\w*|"[^"]*"|'[^']*'""")
_WORD = re.compile(r"[A-Za-z]\w*")
_PANIC = "PanicException"  # a defect in the Rust binding; not an Exception, and its class cannot be imported


class BadConditionError(ValueError):
    """The text is no condition. `why` says what is wrong with it, `hint` how to mend it where that is known."""

    def __init__(self, why: str, hint: str | None = None) -> None:
        """Keep both sentences."""
        super().__init__(why)
        self.why = why
        self.hint = hint


class ConditionFailedError(Exception):
    """The condition could not be evaluated for this call. `why` has no values in it."""

    def __init__(self, why: str) -> None:
        """Keep the reason."""
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What the conditions can see of one call, converted once for all of them."""

    context: cel.Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition that compiled. `reads` are the arguments it names, as dotted paths in order of appearance."""

    source: str
    reads: tuple[str, ...]
    _program: cel.Program = field(repr=False, compare=False)

    def holds(self, scope: Scope) -> bool:
        """Say whether it is true of the call. Raises ConditionFailedError if that cannot be said."""
        try:
            answer: object = _calmly(lambda: self._program.execute(scope.context))
        except ArithmeticError as error:
            raise ConditionFailedError(f"arithmetic failed: {type(error).__name__}") from None
        except KeyError as error:
            raise ConditionFailedError(f"there is no {_named(error, self.reads)}") from None
        except TypeError:
            raise ConditionFailedError("values of different types cannot be compared or combined this way") from None
        except Exception as error:  # noqa: BLE001  whatever the binding raises, the answer is "ask"
            raise ConditionFailedError(f"evaluation failed: {type(error).__name__}") from None
        if not isinstance(answer, bool):
            raise ConditionFailedError(f"the result is no true or false but a {type(answer).__name__}")
        return answer


def compile_condition(source: str) -> Condition:
    """Compile a condition from the file. Raises BadConditionError for syntax, unknown variables and functions."""
    try:
        program = _calmly(lambda: cel.compile(source))
        variables, functions = program.variables(), program.functions()
    except Exception as error:  # noqa: BLE001  whatever the binding raises, the file is at fault
        raise BadConditionError(f"not a CEL expression: {_first_line(error)}") from None
    plain = _SILENT.sub('""', source)
    bound = set(_BOUND.findall(plain))
    if clash := sorted(bound & set(VARIABLES)):
        raise BadConditionError(f'"{clash[0]}" is given a second meaning here', "choose another name for the element")
    _refuse_unknown("variable", set(variables) - bound, VARIABLES)
    _refuse_unknown("function", {name for name in functions if _WORD.fullmatch(name)}, sorted(FUNCTIONS))
    return Condition(source=source, reads=_reads(source), _program=program)


def scope_of(
    *,
    arguments: Mapping[str, JsonValue],
    agent: str,
    user: str | None,
    session: str | None,
    tool: str,
    now: datetime,
) -> Scope:
    """Prepare one call for its conditions. Raises ConditionFailedError if the binding cannot take its values."""
    seen: dict[str, object] = {
        "args": dict(arguments),
        "agent": agent,
        "user": user,
        "session": session,
        "tool": tool,
        "now": now,
    }
    try:
        return Scope(context=_calmly(lambda: cel.Context(variables=seen)))
    except Exception as error:  # noqa: BLE001  whatever the binding raises, the answer is "ask"
        raise ConditionFailedError(f"the arguments cannot be looked at: {type(error).__name__}") from None


def _calmly(work: Callable[[], T]) -> T:
    """Run a call into the binding; its panics, which are no Exceptions, become a RuntimeError."""
    try:
        return work()
    except BaseException as error:
        if type(error).__name__ == _PANIC:
            raise RuntimeError("a defect of the expression library") from None
        raise


def _refuse_unknown(kind: str, names: set[str], valid: tuple[str, ...] | list[str]) -> None:
    for name in sorted(names - set(valid)):
        near = difflib.get_close_matches(name, valid, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(valid)}"
        raise BadConditionError(f'unknown {kind} "{name}"', hint)


def _reads(source: str) -> tuple[str, ...]:
    """Find ``args.a.b`` and ``args["a"]`` in the text; the last word of a method call is no argument."""
    found: dict[str, None] = {}
    kept = re.sub(r"//[^\n]*", "", source)
    for match in _READS.finditer(kept):
        steps = [step.strip("\"'") for step in _STEP.findall(match[1])]
        if match[2]:
            steps.pop()
        if steps:
            found[".".join(steps)] = None
    return tuple(found)


def _named(error: KeyError, reads: tuple[str, ...]) -> str:
    """Name the missing key only if the condition itself names it: a computed key could be any value."""
    key = str(error.args[0]) if error.args else ""
    return f"args.{key}" if any(key in path.split(".") for path in reads) else "such key"


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0] if lines else type(error).__name__
    return said.split("ERROR: <input>:", 1)[-1][:200]
