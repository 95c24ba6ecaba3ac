"""Which of a function's parameters are arguments of the call: what people see, approve, and what is in the digest."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from assent.client.models import Json

CONTEXTS = frozenset(
    {
        "RunContext",  # Pydantic AI
        "RunContextWrapper",  # OpenAI Agents
        "ToolContext",  # OpenAI Agents, Google ADK
        "ToolRuntime",  # LangChain
        "RunnableConfig",
        "FunctionInvocationContext",  # Microsoft Agent Framework
        "Context",  # MCP
    }
)
"""Names of types that frameworks hand a tool besides its arguments."""
_PLAIN = (str, int, float, dict, list, tuple)
_RECEIVERS = frozenset({"self", "cls"})


class Bound(NamedTuple):
    """One call of a function: its arguments, and what it was handed besides."""

    arguments: Json
    besides: dict[str, Any]


def binder(function: Callable[..., Any], leave_out: Collection[str] = ()) -> Callable[..., Bound]:
    """How a call of a function becomes the object that people approve.

    No arguments are `self` and `cls` at the front, parameters of a framework's context type (`CONTEXTS`), and those
    that `leave_out` names. A type of your own may have such a name: what is plain JSON is approved all the same.
    Raises `TypeError` for a parameter without a name, and for a name that is no parameter.
    """
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise TypeError(f"a guarded function needs a name for every argument; '{parameter}' has none")
    for name in leave_out:
        if name not in signature.parameters:
            raise TypeError(f"leave_out names '{name}', which is no parameter of {function.__qualname__}")
    types = {name: _type_name(parameter.annotation) for name, parameter in signature.parameters.items()}
    first = next(iter(types), "")

    def is_besides(name: str, value: object) -> bool:
        if name in leave_out or (name == first and name in _RECEIVERS):
            return True
        return types[name] in CONTEXTS and (types[name] == "RunnableConfig" or not isinstance(value, _PLAIN))

    def bind(*args: Any, **kwargs: Any) -> Bound:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        besides = {name: value for name, value in given.items() if is_besides(name, value)}
        return Bound({name: value for name, value in given.items() if name not in besides}, besides)

    return bind


def _type_name(annotation: Any) -> str:
    """The last name of an annotated type, also where it stands as a text: `pydantic_ai.RunContext[Deps]`."""
    if not isinstance(annotation, str):
        kind = get_origin(annotation) or annotation
        annotation = getattr(kind, "__name__", "")
    return str(annotation).partition("[")[0].rpartition(".")[2].strip()


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Say whether a call of it is to be awaited: also of an object whose call is, and of a part of such a function."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
