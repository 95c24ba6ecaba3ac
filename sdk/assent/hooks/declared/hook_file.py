"""A file of hooks, read without a gateway: the `hooks:` of assent.yaml, and nothing else, as YAML or JSON.

A misspelt key would be a hook that never runs, so whatever is not understood is refused, with its place.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.contract.hook import OnError
from assent.hooks.contract.moments import Moment
from assent.hooks.declared.build import DeclarationError
from assent.hooks.declared.declaration import Declaration

if TYPE_CHECKING:
    from collections.abc import Callable

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TEXTS = frozenset({"use", "python", "id"})
_LISTS = frozenset({"tools", "agents"})
_KEYS = ("on", "use", "python", "command", "options", "tools", "agents", "priority", "timeout", "on_error", "id")


def read_hook_file(path: str | Path) -> list[Declaration]:
    """Return the declared hooks in the file's order. Raises DeclarationError, OSError."""
    place = Path(path)
    text = place.read_text(encoding="utf-8")
    whole = _object(_json(text) if place.suffix == ".json" else _yaml(text), "")
    for key in whole:
        if key != "hooks":
            raise DeclarationError(key, "unknown key", "a file of hooks has `hooks` alone")
    listed = whole.get("hooks")
    if not isinstance(listed, list) or not listed:
        raise DeclarationError("hooks", "must be a list with a hook in it")
    entries = cast("list[object]", listed)
    return [_declaration(each, f"hooks[{index}]", place.name) for index, each in enumerate(entries)]


def _declaration(said: object, path: str, file: str) -> Declaration:
    entry = _object(said, path)
    for key in entry:
        if key not in _KEYS:
            raise DeclarationError(f"{path}.{key}", "unknown key", f"there are: {', '.join(_KEYS)}")
    values = {key: _value(key, value, f"{path}.{key}") for key, value in entry.items()}
    if "on" not in values:
        raise DeclarationError(f"{path}.on", "is missing", f"there are: {', '.join(Moment)}")
    return Declaration(**values, origin=f"{file}: {path}")


def _value(key: str, value: object, path: str) -> Any:
    wanted, read = _READERS[key] if key in _READERS else _READERS["texts" if key in _LISTS else "text"]
    try:
        return read(value)
    except (TypeError, ValueError, AttributeError):
        raise DeclarationError(path, f"must be {wanted}, not {value!r}") from None


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise TypeError
    return tuple(map(_text, cast("list[object]", value)))


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _seconds(value: object) -> float:
    found = _SPAN.fullmatch(_text(value))
    if found is None or float(found[1]) <= 0:
        raise ValueError
    return float(found[1]) * _SECONDS[found[2]]


def _command(value: object) -> str | tuple[str, ...]:
    return _texts(cast("object", value)) if isinstance(value, list) else _text(value)


_READERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "text": ("a text", _text),
    "texts": ("a list of names", _texts),
    "on": (f"one of {', '.join(Moment)}", lambda value: Moment(_text(value))),
    "command": ("a text or a list of texts", _command),
    "options": ("a mapping", lambda value: _object(value, "options")),
    "priority": ("a whole number", _number),
    "timeout": ("a time such as 10s", _seconds),
    "on_error": (f"one of {', '.join(OnError)}", lambda value: OnError(_text(value))),
}


def _object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in cast("dict[object, Any]", value)):
        raise DeclarationError(path, "must be a mapping")
    return cast("dict[str, Any]", value)


def _json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise DeclarationError("", f"cannot be read: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _yaml(text: str) -> object:
    """YAML in which `on` is a key and no truth, and in which no key stands twice."""
    try:
        import yaml
    except ImportError:
        raise DeclarationError(
            "", "YAML needs a library", "pip install 'assent[files]', or write it as .json"
        ) from None

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - the library's own word for it
            first: [(tag, said) for tag, said in resolvers if not tag.endswith((":bool", ":timestamp"))]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - as it has it
            found = super().construct_mapping(node, deep)
            if len(found) < len(node.value):
                raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
            return found

    truth = ("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"))
    for first in "tf":
        Loader.yaml_implicit_resolvers.setdefault(first, []).append(truth)
    try:
        return yaml.load(text, Loader)  # noqa: S506 - a safe loader, of which only less is resolved
    except (yaml.YAMLError, RecursionError) as error:
        raise DeclarationError("", f"cannot be read: {error}") from None
