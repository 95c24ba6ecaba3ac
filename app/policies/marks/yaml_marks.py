"""YAML that keeps the place of everything it says, and means only what it seems to mean.

A careful subset of YAML 1.2: `yes`, `no`, `on` and dates are texts; keys are texts; a key stands once; one document.
Refused are anchors, aliases and merge keys (what a rule says stands in the rule) and tags (nothing is constructed).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from app.policies.marks.faults import ALIASES, MOST_FAULTS, QUOTES, Fault, PolicyFaultsError, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.domain.text.canonical import JsonValue

Path: TypeAlias = "tuple[str | int, ...]"
MAX_DEPTH = 32

_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")  # an escape can bring them in
_LONGEST_INT = 18  # characters; longer ones are no integers that JSON can carry, and stay texts
_PREFIX = "tag:yaml.org,2002:"


class Mark(Struct, frozen=True):
    """A place in the file, counted from 1."""

    line: int
    column: int


class MarkedYaml(Struct, frozen=True, kw_only=True):
    """What a file says, and where. `value` is {} where the text could not be read at all."""

    file: str
    value: JsonValue
    marks: dict[Path, Mark] = field(default_factory=dict[Path, Mark])
    faults: list[Fault] = field(default_factory=list[Fault])
    most: int | None = None  # faults that are looked for: each may cost a search for the name that was meant
    settled: set[Path] = field(default_factory=set[Path])
    """Places of which nothing more is said: their one fault is noted, or what stands there is not known here."""
    joined: set[Path] = field(default_factory=set[Path])
    """Texts of several lines that YAML makes one of: all that is not written with `|`."""

    def mark(self, path: Path) -> Mark:
        """Return the place of `path`, or of the nearest thing around it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(1, 1))

    def is_partly_settled(self, path: Path) -> bool:
        """Say whether of something within `path` nothing more is said."""
        return any(place[: len(path)] == path for place in self.settled)

    def report(self, path: Path, message: str, hint: str | None = None) -> None:
        """Note a fault at `path`, unless that is settled. Raises PolicyFaultsError with the one that is too many."""
        if self.settled and any(path[:depth] in self.settled for depth in range(1, len(path) + 1)):
            return
        mark = self.mark(path)
        fault = Fault(
            file=self.file,
            line=mark.line,
            column=mark.column,
            path=told(write_path(path)),
            message=told(message),
            hint=hint and told(hint),
        )
        self.faults.append(fault)
        if self.most is not None and len(self.faults) >= self.most:
            raise PolicyFaultsError(self.faults)


def write_path(path: Path) -> str:
    """Write ``("rules", 1, "tools")`` as ``rules[1].tools``."""
    written = ""
    for step in path:
        written += f"[{step}]" if isinstance(step, int) else f".{step}" if written else step
    return written


def read_yaml(text: str, *, file: str, most: int | None = None) -> MarkedYaml:
    """Read a file's text. Never raises: what is wrong is among the `faults` of the answer."""
    marked = MarkedYaml(file=file, value={})
    try:
        node = _compose(text)
        if node is None:
            marked.report((), "the file is empty", "`assent init` writes a first one")
            return marked
        value = _value(node, (), marked)
    except _RefusedYamlError as error:
        marked.faults.append(_fault(file, error.mark, error.why, error.mend))
    except yaml.MarkedYAMLError as error:
        from app.policies.marks.yaml_words import in_words  # no file that is YAML needs it

        said, mend, place = in_words(error, text)
        marked.faults.append(_fault(file, place, told(said), mend))
    except yaml.reader.ReaderError as error:
        marked.faults.append(_of_character(file, text, error))
    except yaml.YAMLError as error:
        marked.faults.append(_fault(file, None, f"not YAML: {type(error).__name__}"))
    else:
        return replace(marked, value=value, most=most)
    return marked


def _of_character(file: str, text: str, error: yaml.reader.ReaderError) -> Fault:
    """Name a character that no text may have, at its place."""
    before = text[: error.position]
    code = error.character if isinstance(error.character, int) else ord(error.character)
    what = "the NUL byte" if not code else "a character that no YAML may have"
    return Fault(
        file=file,
        line=before.count("\n") + 1,
        column=len(before) - before.rfind("\n"),
        path="",
        message=f"not YAML: {what} (U+{code:04X}) stands here",
        hint="take it out: an editor that shows control characters finds it",
    )


class _RefusedYamlError(Exception):
    def __init__(self, why: str, mark: yaml.Mark | None, mend: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.mark = mark
        self.mend = mend


class _Event(Protocol):
    """What we look at of any event of the parser."""

    start_mark: yaml.Mark


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the resolver of YAML 1.2's core, and without aliases."""

    depth = 0
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  the library's own shape

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = cast("_Event", self.peek_event())  # pyright: ignore[reportUnknownMemberType]  the stubs say nothing of it
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _RefusedYamlError("anchors and aliases (& and *) are not accepted here", event.start_mark, ALIASES)
        tag: object = getattr(event, "tag", None)
        if isinstance(tag, str):
            raise _RefusedYamlError(f"tags are not accepted here: {tag[:40]}", event.start_mark, QUOTES)
        if self.depth > MAX_DEPTH:
            raise _RefusedYamlError(f"nested deeper than {MAX_DEPTH}", event.start_mark, "nothing here goes so deep")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def _resolve(tag: str, pattern: str, first: Iterable[str]) -> None:
    for letter in first:
        _Loader.yaml_implicit_resolvers.setdefault(letter, []).append((_PREFIX + tag, re.compile(f"^(?:{pattern})$")))


_resolve("null", "null|Null|NULL|~|", ["n", "N", "~", ""])
_resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", "[-+]?(?:0|[1-9][0-9]*)", "-+0123456789")
_resolve("float", r"[-+]?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+", "-+0123456789")


def _compose(text: str) -> yaml.Node | None:
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _value(node: yaml.Node, path: Path, marked: MarkedYaml) -> JsonValue:
    marked.marks.setdefault(path, _mark(node.start_mark))
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, marked)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, index), marked) for index, item in enumerate(node.value)]
    if node.end_mark.line > node.start_mark.line and getattr(node, "style", None) != "|":
        marked.joined.add(path)
    return _scalar(node, path, marked)


def _mapping(node: yaml.MappingNode, path: Path, marked: MarkedYaml) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise _RefusedYamlError("a key must be a text", key_node.start_mark, 'write key: value, without "? "')
        key = str(key_node.value)
        here = (*path, key)
        if key == "<<":
            mend = "write out what it would bring along"
            raise _RefusedYamlError("merge keys (<<) are not accepted here", key_node.start_mark, mend)
        if key in found:
            first = marked.mark(here).line
            mend = "keep one of the two"
            fault = _fault(marked.file, key_node.start_mark, f"the same key again (first on line {first})", mend)
            if len(marked.faults) < MOST_FAULTS:
                marked.faults.append(replace(fault, path=told(write_path(here))))
            continue
        marked.marks[here] = _mark(key_node.start_mark)
        found[key] = _value(value_node, here, marked)
    return found


def _scalar(node: yaml.Node, path: Path, marked: MarkedYaml) -> JsonValue:
    text = str(node.value)
    if (found := _CONTROL.search(text)) is not None:
        marked.report(path, f"has a control character in it (U+{ord(found[0]):04X})", "take it out: nobody can see it")
        marked.settled.add(path)
        return _CONTROL.sub("", text)
    match node.tag.removeprefix(_PREFIX):
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if len(text) <= _LONGEST_INT:
            return int(text)
        case "float":
            return float(text)
        case _:
            return text


def _mark(mark: yaml.Mark) -> Mark:
    return Mark(mark.line + 1, mark.column + 1)


def _fault(file: str, mark: yaml.Mark | None, message: str, hint: str | None = None) -> Fault:
    place = _mark(mark) if mark else Mark(1, 1)
    return Fault(file=file, line=place.line, column=place.column, path="", message=message, hint=hint)
