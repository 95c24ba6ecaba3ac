"""From a declaration to a hook, with every fault of it found here and not at the first call.

hook = build(Declaration(on=Moment.PRE_TOOL_USE, use="rate-limit", options={"limit": 10, "per": 60}))
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.commands.command_hook import CommandHook
from assent.hooks.contract.hook import Hook
from assent.hooks.contract.verdicts import NOTHING
from assent.hooks.engine.function_hook import FunctionHook

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from assent.hooks.commands.spawn import Terms
    from assent.hooks.declared.declaration import Declaration

READY: Mapping[str, tuple[str, ...]] = {
    "command-guard": ("assent.guards.command_guard:CommandGuard",),
    "path-guard": ("assent.guards.path_guard:PathGuard",),
    "read-only": ("assent.hooks.ready.read_only:ReadOnlyGuard",),
    "rate-limit": ("assent.hooks.ready.rate_limit:RateLimit",),
    "result-truncate": (
        "assent.hooks.ready.result_truncate:ResultTruncate",
        "assent.hooks.ready.result_truncate:ResultTruncateFailure",
    ),
    "redact": ("assent.hooks.ready.redact:Redact", "assent.hooks.ready.redact:RedactFailure"),
    "audit-log": ("assent.hooks.ready.audit_log:AuditLog", "assent.hooks.ready.audit_log:AuditLogFailure"),
}
"""The ready hooks by name: where their classes are (one for each moment that they are for). Loaded when declared."""

_SUPPLIED = frozenset({"counters", "is_on", "sink", "clock"})
"""Constructor arguments that no file can give: whoever builds the hook supplies them."""

_KINDS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "None": (type(None),),
}


class DeclarationError(ValueError):
    """A declaration is at fault. `path` is where in it (`options.limit`), `why` what, `mend` how to put it right."""

    def __init__(self, path: str, why: str, mend: str | None = None) -> None:
        super().__init__(f"{path}: {why}" + (f"; {mend}" if mend else ""))
        self.path = path
        self.why = why
        self.mend = mend


def import_by_name(dotted: str) -> object:
    """Return what `package.module.name` (or `package.module:name`) names. Raises DeclarationError."""
    parts = dotted.replace(":", ".").split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise DeclarationError("python", f"{dotted!r} is no dotted name", "write it as package.module.function")
    for length in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:length])
        try:
            found: object = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and f"{name}.".startswith(f"{error.name}."):
                continue  # no such module: perhaps it is a class inside of one
            raise DeclarationError("python", f"{name} needs a library that is not installed: {error.name}") from None
        except (Exception, SystemExit) as error:
            raise DeclarationError("python", f"importing {name} failed: {type(error).__name__}: {error}") from error
        for at, part in enumerate(parts[length:], length):
            if not hasattr(found, part):
                inside = ".".join(parts[:at])
                raise DeclarationError("python", f"{inside} has no {part!r}", _nearest(part, dir(found), listed=False))
            found = getattr(found, part)
        return found
    raise DeclarationError("python", f"there is no module {parts[0]!r}", "is it installed, or on PYTHONPATH?")


def build(
    declaration: Declaration,
    *,
    python: Callable[[str], object] = import_by_name,
    supplies: Mapping[str, Mapping[str, Any]] = NOTHING,
    hidden: Collection[str] = (),
    terms: Terms | None = None,
) -> Hook:
    """Return the declared hook. Raises DeclarationError.

    `python` finds what a dotted name stands for. `supplies` has, by a ready hook's name, the constructor's arguments
    that no file can give. `hidden` are names of the environment that commands must not see, `terms` what binds them
    where they run for strangers.
    """
    ways = [way for way in ("use", "python", "command") if getattr(declaration, way) is not None]
    if len(ways) != 1:
        said = "has none of them" if not ways else f"has {' and '.join(ways)}"
        raise DeclarationError("", f"{said}: a hook is exactly one of use, python and command")
    if declaration.use is not None:
        return _ready(declaration, declaration.use, supplies.get(declaration.use, NOTHING))
    if declaration.python is not None:
        return _python(declaration, declaration.python, python)
    if declaration.options:
        raise DeclarationError("options", "a command has no options", "write them into the command")
    try:
        return CommandHook(declaration.on, declaration.command or "", name=declaration.id, hidden=hidden, terms=terms)
    except ValueError as error:
        raise DeclarationError("command", str(error)) from None


def _ready(declaration: Declaration, name: str, supplied: Mapping[str, Any]) -> Hook:
    if name not in READY:
        raise DeclarationError("use", f"there is no ready hook {name!r}", _nearest(name, READY))
    if name == "rate-limit" and "budget" not in declaration.options:
        supplied = {**supplied, "budget": _own_budget(declaration)}
    classes = [_ready_class(name, place) for place in READY[name]]
    for found in classes:
        if found.moment is declaration.on:
            return _construct(found, declaration, supplied)
    moments = " or ".join(found.moment for found in classes)
    raise DeclarationError("on", f"{name} is for {moments}, not {declaration.on}")


def _own_budget(declaration: Declaration) -> str:
    """Name what this declaration counts by: the same on every replica and after a restart, another for each other."""
    if declaration.id is not None:
        return f"id {declaration.id}"
    options = sorted(declaration.options.items(), key=lambda option: str(option[0]))
    said = repr((str(declaration.on), options, declaration.tools, declaration.agents))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _ready_class(name: str, place: str) -> type[Hook]:
    module, _, attribute = place.partition(":")
    try:
        return cast("type[Hook]", getattr(importlib.import_module(module), attribute))
    except ImportError as error:
        raise DeclarationError("use", f"{name} cannot be used: {_lacking(error)}") from error


def _python(declaration: Declaration, dotted: str, find: Callable[[str], object]) -> Hook:
    found = find(dotted)
    if inspect.isclass(found) and issubclass(found, Hook):
        _refuse_moment(getattr(found, "moment", None), declaration, dotted)
        if inspect.isabstract(found):
            raise DeclarationError("python", f"{dotted} is abstract: it has no execute")
        return _construct(found, declaration, NOTHING)
    if declaration.options:
        raise DeclarationError("options", f"only a hook class has options, and {dotted} is none")
    if isinstance(found, Hook):
        _refuse_moment(found.moment, declaration, dotted)
        return found
    if not callable(found):
        kind = type(found).__name__
        raise DeclarationError("python", f"{dotted} is a {kind}", "name a function of one HookContext, or a hook class")
    try:
        return FunctionHook(declaration.on, cast("Any", found), threaded=True)
    except TypeError as error:
        raise DeclarationError("python", str(error)) from None


def _refuse_moment(moment: object, declaration: Declaration, name: str) -> None:
    if moment is not declaration.on:
        raise DeclarationError("on", f"{name} is for {moment or 'no moment at all'}, not {declaration.on}")


# --- options ----------------------------------------------------------------------------------------------------------


def _construct(found: type[Hook], declaration: Declaration, supplied: Mapping[str, Any]) -> Hook:
    known, open_ended = _parameters(found)
    options = dict(declaration.options)
    valid = [name for name in known if name not in _SUPPLIED]
    for name, value in options.items():
        if name in _SUPPLIED or (name not in known and not open_ended):
            raise DeclarationError(f"options.{name}", f"unknown option {name!r}", _nearest(name, valid))
        if name in known and (why := _misfit(known[name], value)):
            raise DeclarationError(f"options.{name}", why)
    given = {**options, **{name: value for name, value in supplied.items() if value is not None}}
    lacking = [name for name, each in known.items() if each.default is each.empty and name not in given]
    if lacking:
        raise DeclarationError("options", f'"{lacking[0]}" is missing')
    try:
        return found(**given)
    except ImportError as error:
        raise DeclarationError("use" if declaration.use else "python", _lacking(error)) from error
    except Exception as error:
        said = str(error) or type(error).__name__
        option, _, why = said.partition(": ")  # as the ready hooks word it
        if option in options:
            raise DeclarationError(f"options.{option}", why) from error
        raise DeclarationError("options", said) from error


def _lacking(error: ImportError) -> str:
    return f"it needs a library that is not installed: {error.name}" if error.name else str(error)


def _parameters(found: type[Hook]) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return what the constructor takes by name, and whether it takes any other name too."""
    if found.__init__ is object.__init__:
        return {}, False
    listed = inspect.signature(found).parameters.values()
    named = {each.name: each for each in listed if each.kind in {each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD}}
    return named, any(each.kind is each.VAR_KEYWORD for each in listed)


def _misfit(parameter: inspect.Parameter, value: object) -> str | None:
    """Say why a value cannot be what the parameter wants; None if it can, or if nobody can tell."""
    kinds = _kinds(parameter)
    if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        wanted = " or ".join(dict.fromkeys(_word(kind) for kind in kinds if kind is not type(None)))
        return f"must be {wanted}, not {value!r}"
    return None


def _kinds(parameter: inspect.Parameter) -> tuple[type, ...]:
    """Find the plain types of a parameter: from its annotation, else from its default."""
    annotation: object = parameter.annotation
    written = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    parts = [part.strip() for part in written.split("|")]
    if all(part in _KINDS for part in parts):
        return tuple(kind for part in parts for kind in _KINDS[part])
    match parameter.default:
        case tuple() | list() | frozenset() | set():
            return (list, tuple)
        case dict():
            return (dict,)
        case bool() | int() | float() | str() as default:
            return _KINDS.get(type(default).__name__, ())
        case _:
            return ()


def _word(kind: type) -> str:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", dict: "a mapping"}
    return words.get(kind, "a list")


def _nearest(name: str, valid: Iterable[str], *, listed: bool = True) -> str | None:
    names = list(valid)
    found = get_close_matches(name, names, n=1)
    if found:
        return f"did you mean {found[0]!r}?"
    return (f"there are: {', '.join(names)}" if names else "there are none") if listed else None
