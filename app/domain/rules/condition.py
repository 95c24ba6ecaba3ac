"""A compiled policy condition: a CEL expression that is true or false of one tool call.

The binding fails in many ways (a missing key is a KeyError, an unknown name a RuntimeError,
a mixed-up type a TypeError, text that does not parse a ValueError, a defect of its own a panic); all of them become one
of the two errors here. A condition that cannot be evaluated never counts as true nor as false: the caller must ask.

Whole and fractional numbers compare by value (`1200 >= 1000.0`). Money compares exactly through `amount(args.x)`: an
amount is of a type of its own that meets only other amounts, so that no fraction and no scale can slip in.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from datetime import timedelta, timezone
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from app.domain.money.exact_money import AMOUNT, amount
from app.domain.text.conditions.condition_parts import SILENT, plain_of
from app.domain.text.conditions.condition_syntax import say_syntax
from app.domain.text.conditions.condition_work import MOST, Body, Size, body_of, foreign_pattern, size_of
from app.domain.text.linear import cel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, tzinfo

    from app.domain.people.working_time import WorkingTime
    from app.domain.text.canonical import JsonValue

T = TypeVar("T")

TIMES = ("now", "working_hours", "holiday")
"""The variables that change with the clock."""
VARIABLES = ("args", "agent", "user", "session", "tool", *TIMES)
FUNCTIONS = frozenset({
    *(AMOUNT, "size", "contains", "startsWith", "endsWith", "matches"),
    *("int", "uint", "double", "string", "bytes", "type", "dyn", "timestamp", "duration"),
    *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
})  # fmt: skip
FACTS = ("name", "known", "writes", "requires_confirmation", "money", "pin", "sensitive")
"""What `tool` has."""

_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
_READS = r"""(?<![\w.]){}((?:\s*\.\s*[A-Za-z_]\w*|\s*\[\s*(?:"[^"\\]*"|'[^'\\]*')\s*\])+)(\s*\()?"""
_ARGS = re.compile(_READS.format("args"))
_TOOL = re.compile(_READS.format("tool"))
_WHOLE_TOOL = re.compile(r"(?<![\w.])tool(?!\w|\s*[.\[])")
_STEP = re.compile(r"""[A-Za-z_]\w*|"[^"]*"|'[^']*'""")
_WORD = re.compile(r"[A-Za-z]\w*")
_CHAINED = re.compile(r"[<>]=?[^<>=!&|?:,()\[\]{}]+[<>]")
_DEMAND = re.compile(
    r"\s*args\.(?P<name>[A-Za-z_]\w*)\s*"
    r"""(?:==\s*"(?P<text>[^"\\]*)"|(?P<sign>==|<=|>=|<|>)\s*(?P<number>-?(?:0|[1-9][0-9]{0,14})))\s*(?:&&|\Z)"""
)
_SIGNS = {"==": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
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


class Demand(NamedTuple):
    """What a condition demands of one argument: to be this text, or to stand so to this whole number."""

    name: str
    compare: Callable[..., bool]
    wanted: str | int


class Scope:
    """What the conditions can see of one call; each thing is made and converted when the first condition names it."""

    __slots__ = ("_later", "_size", "_units", "_values", "context", "given", "told")

    def __init__(self, values: Mapping[str, object], later: Mapping[str, Callable[[], object]] | None = None) -> None:
        """Take the value of every variable, or what makes it."""
        self._values = dict(values)
        self._later = later or {}
        self.context = cel.Context()
        self.given: frozenset[str] = frozenset()
        self._size: Size | None = None
        self._units = MOST
        self.told: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[tuple[str, str], ...]] = {}
        """What was told already of the values that conditions named, by their `reads` and `sees`."""

    def value(self, name: str) -> object:
        """Return a variable's value; None where it has none."""
        if name not in self._values and name in self._later:
            self._values[name] = self._later[name]()
        return self._values.get(name)

    def spend(self, body: Body) -> None:
        """Count what evaluating takes. Raises ConditionFailedError before it is too much for one call."""
        self._size = self._size or size_of(self._values.get("args"))
        self._units -= body.units(self._size)
        if self._units < 0:
            raise ConditionFailedError("the call's lists are too long for it to be evaluated")

    def showing(self, names: frozenset[str]) -> cel.Context:
        """Return the context with these names in it. Raises what the binding raises for values it cannot take."""
        if not names <= self.given:
            for name in names - self.given:
                if name == AMOUNT:
                    self.context.add_function(AMOUNT, amount)
                elif name in self._values or name in self._later:
                    self.context.add_variable(name, self.value(name))
            self.given |= names
        return self.context


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition that compiled.

    `reads` are the arguments it names, as dotted paths in order of appearance; `sees` is everything else it names, such
    as ``user`` and ``tool.writes``.
    """

    source: str
    reads: tuple[str, ...]
    sees: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()  # the variables, and `amount`
    body: Body = field(default=Body(0, 0, ()), repr=False, compare=False)
    demands: tuple[Demand, ...] = field(default=(), repr=False, compare=False)
    """What must all be true, in the order in which the condition says it, as far as that is so plain."""
    _program: cel.Program = field(repr=False, compare=False)

    def is_surely_false(self, arguments: Mapping[str, JsonValue]) -> bool:
        """Say whether it is false whatever else it says, without evaluating it: of hundreds of rules, most are.

        A demand is only as good as those before it: where one of them is of another type, evaluating may fail.
        """
        for name, compare, wanted in self.demands:
            given = arguments.get(name)
            if type(given) is not type(wanted):
                return False
            if not compare(given, wanted):
                return True
        return False

    def holds(self, scope: Scope) -> bool:
        """Say whether it is true of the call. Raises ConditionFailedError if that cannot be said."""
        if self.body.macros:
            scope.spend(self.body)
        try:
            context = scope.context if self.needs <= scope.given else scope.showing(self.needs)
            answer: object = self._program.execute(context)
        except ArithmeticError as error:
            raise ConditionFailedError(f"arithmetic failed: {type(error).__name__}") from None
        except KeyError as error:
            raise ConditionFailedError(f"there is no {_named(error, self.reads)}") from None
        except TypeError:
            raise ConditionFailedError("values of different types cannot be compared or combined this way") from None
        except Exception as error:  # noqa: BLE001  whatever the binding raises, the answer is "ask"
            raise ConditionFailedError(_cause(error)) from None
        except BaseException as error:
            if type(error).__name__ == _PANIC:
                raise ConditionFailedError("evaluation failed: a defect of the expression library") from None
            raise
        if not isinstance(answer, bool):
            raise ConditionFailedError(f"the result is no true or false but a {type(answer).__name__}")
        return answer


def compile_condition(source: str) -> Condition:
    """Compile a condition from the file. Raises BadConditionError for syntax, unknown variables and functions."""
    try:
        program = _calmly(lambda: cel.compile(source))
        variables, functions = set(program.variables()), set(program.functions())
    except Exception as error:  # noqa: BLE001  whatever the binding raises, the file is at fault
        raise BadConditionError(*say_syntax(source, str(error))) from None
    plain = SILENT.sub('""', source)
    bound = set(_BOUND.findall(plain))
    if clash := sorted(bound & set(VARIABLES)):
        raise BadConditionError(f'"{clash[0]}" is given a second meaning here', "choose another name for the element")
    if foreign_pattern(plain):
        raise BadConditionError("the pattern of `matches` is no text of this file", 'write args.a.matches("^[a-z]+$")')
    if _CHAINED.search(plain):  # 5 < a < 6 is (5 < a) < 6: it compiles, and fails at every call
        raise BadConditionError("a comparison has two sides, and here are three", "write args.a > 5 && args.a < 6")
    _refuse_unknown("variable", variables - bound, VARIABLES)
    _refuse_unknown("function", {name for name in functions if _WORD.fullmatch(name)}, sorted(FUNCTIONS))
    if _WHOLE_TOOL.search(plain):
        raise BadConditionError('"tool" is what the file says of the tool', 'write tool.name == "…"')
    facts = _paths(_TOOL, source)
    _refuse_unknown("fact of the tool", {path.split(".", maxsplit=1)[0] for path in facts}, FACTS)
    others = [name for name in VARIABLES if name in variables - bound and name not in {"args", "tool"}]
    return Condition(
        source=source,
        reads=_paths(_ARGS, source),
        sees=(*others, *(f"tool.{fact}" for fact in facts)),
        body=body_of(plain),
        demands=_demanded(source, plain) if "args" in variables else (),
        needs=frozenset({*(variables & set(VARIABLES)), *(functions & {AMOUNT})}),
        _program=program,
    )


def _demanded(source: str, plain: str) -> tuple[Demand, ...]:
    """Return what the first of several conditions that must all be true demand of arguments; `plain`: no texts.

    The first that is false is so before the others are looked at, so that they can neither save it nor fail.
    """
    depth = 0
    for sign in plain:
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign in "|?":
            return ()  # the first conditions are only one way among several
    found: list[Demand] = []
    said = _DEMAND.match(source)
    while said is not None:
        if said["number"] is None:
            found.append(Demand(said["name"], eq, said["text"]))
        else:
            found.append(Demand(said["name"], _SIGNS[said["sign"]], int(said["number"])))
        said = _DEMAND.match(source, said.end()) if said.end() < len(source) else None
    return tuple(found)


def scope_of(
    *,
    arguments: Mapping[str, JsonValue],
    agent: str,
    user: str | None,
    session: str | None,
    tool: str | Callable[[], Mapping[str, object]],
    now: datetime,
    zone: tzinfo | None = None,
    hours: WorkingTime | None = None,
) -> Scope:
    """Prepare one call for its conditions. `tool` makes its facts, or is its bare name where there are no others.

    `zone` is that in which the hours of `now` are meant; None: its own. Without `hours` a condition that names
    `working_hours` or `holiday` fails.
    """
    seen: dict[str, object] = {
        "args": arguments if isinstance(arguments, dict) else dict(arguments),
        "agent": agent,
        "user": user,
        "session": session,
    }
    later: dict[str, Callable[[], object]] = {
        "tool": (lambda: {"name": tool}) if isinstance(tool, str) else tool,
        "now": lambda: _fixed(now.astimezone(zone) if zone else now),
    }
    if hours is not None:
        later["working_hours"] = lambda: hours.is_working(now)
        later["holiday"] = lambda: hours.is_holiday(now)
    return Scope(seen, later)


def _fixed(at: datetime) -> datetime:
    """Return the instant with its bare offset: the binding takes no named zones."""
    return at.replace(tzinfo=timezone(at.utcoffset() or timedelta()))


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


def _paths(pattern: re.Pattern[str], source: str) -> tuple[str, ...]:
    """Find ``args.a.b`` and ``args["a"]`` outside of texts and comments; the name of a method is no argument."""
    found: dict[str, None] = {}
    plain = plain_of(source)
    for match in pattern.finditer(source):
        if plain[match.start()] != source[match.start()]:
            continue
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


def _cause(error: Exception) -> str:
    """Say what failed without the binding's own words, which could repeat a value."""
    if isinstance(error, RuntimeError) and str(error).startswith(f"Function '{AMOUNT}'"):
        return "an amount must be a whole number or a decimal text, below 10^13 and with 6 decimals at most"
    return f"evaluation failed: {type(error).__name__}"
