"""Settings as people write them: JSON, with comments and trailing commas where a host allows them.

A change touches the text where it has to, and nowhere else: order, comments and the way things are written stay. So
the text is read into nodes that know where they stand, and a change is a piece of text put in or cut out.
"""

from __future__ import annotations

import json
import re

from assent.command.shapes import as_list, as_object, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL)
_INDENT = re.compile(r"\n([ \t]+)\S")
_COMMA = re.compile(r"\s*,")
_BLANK = re.compile(r"\s*")


def plain(text: str) -> str:
    """The same with blanks in the place of comments and of commas that nothing follows: every character stays put."""
    return _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]), text)


def _uncommented(text: str) -> str:
    return _TOKEN.sub(lambda found: found[0] if found[0][0] in '",' else re.sub(r"\S", " ", found[0]), text)


def read_object(text: str) -> dict[str, Any]:
    """The object that the text holds. Raises `ValueError`."""
    found = as_object(json.loads(plain(text), object_pairs_hook=unique))
    if found is None:
        raise ValueError("it holds no JSON object")
    return found


class Node:
    """An object or an array: where it stands, and where each of its parts begins and ends."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.parts: list[tuple[str | int, int, int, Node | None]] = []
        """Its key or index, where it begins (an object's with the key) and ends, and what is in it if it has parts."""

    def at(self, *keys: str | int) -> Node | None:
        """The object or array behind these keys."""
        found: Node | None = self
        for key in keys:
            found = next((node for name, _, _, node in found.parts if name == key), None) if found else None
        return found


def nodes(text: str) -> Node:
    """The object that a text holds, in its places. The text must be one that `read_object` reads."""
    bare = plain(text)
    return _node(bare, _skip(bare, 0))


def _skip(bare: str, at: int) -> int:
    found = _BLANK.match(bare, at)
    return found.end() if found else at


def _node(bare: str, start: int) -> Node:
    node, decoder, of_object = Node(start), json.JSONDecoder(), bare[start] == "{"
    at = _skip(bare, start + 1)
    while bare[at] not in "}]":
        begin = at
        name: str | int = len(node.parts)
        if of_object:
            name, at = decoder.raw_decode(bare, at)
            at = _skip(bare, _skip(bare, at) + 1)
        inner = _node(bare, at) if bare[at] in "{[" else None
        at = inner.end if inner else decoder.raw_decode(bare, at)[1]
        node.parts.append((name, begin, at, inner))
        at = _skip(bare, at)
        at = _skip(bare, at + 1) if bare[at] == "," else at
    node.end = at + 1
    return node


def append(text: str, node: Node, value: object, *, key: str | None = None) -> str:
    """The text with one more part at the end of an object (under `key`) or of an array."""
    bare = plain(text)
    unit = found[1] if (found := _INDENT.search(text)) else "  "
    outer = _margin(text, node.start)
    inner = outer + unit if not node.parts else _margin(text, node.parts[0][1], outer + unit)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    told = ("" if key is None else f"{json.dumps(key)}: ") + f"\n{inner}".join(lines)
    if not node.parts:
        return f"{text[: node.end - 1].rstrip(' ')}\n{inner}{told}\n{outer}{text[node.end - 1 :]}"
    last = node.parts[-1][2]
    trailing = _COMMA.match(_uncommented(text), last)
    after = trailing.end() if trailing else last
    line = bare.find("\n", after)
    rest = line if line >= 0 and not bare[after:line].strip() else after  # behind a comment on the same line
    told = f"\n{inner}{told}{',' if trailing else ''}"
    return f"{text[:after]}{'' if trailing else ','}{text[after:rest]}{told}{text[rest:]}"


def _margin(text: str, at: int, otherwise: str = "") -> str:
    """What stands before the first word of the line; `otherwise` where the place is not the line's first."""
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at]
    if otherwise and before.strip():
        return otherwise
    return before[: len(before) - len(before.lstrip())]


def remove(text: str, node: Node, name: str | int) -> str:
    """The text without one part of an object or array, and without the comma and the blanks that go with it."""
    index = next(i for i, part in enumerate(node.parts) if part[0] == name)
    _, begin, end, _ = node.parts[index]
    if len(node.parts) == 1:
        before, behind = text[node.start + 1 : begin], text[end : node.end - 1]
        left = "" if not (before + behind).strip(" \t\r\n,") else before.rstrip() + behind
        return text[: node.start + 1] + left + text[node.end - 1 :]
    if index == 0:
        return text[:begin] + text[node.parts[1][1] :]
    previous = node.parts[index - 1][2]
    kept = text[previous:begin].rstrip()
    if kept == ",":
        return text[:previous] + text[end:]
    following = _COMMA.match(_uncommented(text), end)  # there are comments, and no comma may come behind one
    if following:
        return text[:previous] + kept + text[following.end() :]
    comma = _uncommented(text).index(",", previous)
    return text[:comma] + text[comma + 1 : previous + len(kept)] + text[end:]


def entries(hooks: dict[str, Any]) -> Iterator[tuple[str, int, int | None, dict[str, Any]]]:
    """Every entry below `hooks`: its event, its place in the list, its place in the group there (None: no group)."""
    for event, groups in hooks.items():
        for index, group in enumerate(as_list(groups)):
            for place, entry in _entries(as_object(group)):
                yield event, index, place, entry


def _entries(group: dict[str, Any] | None) -> Iterator[tuple[int | None, dict[str, Any]]]:
    if group is not None and "hooks" not in group:
        yield None, group
        return
    for place, each in enumerate(as_list(group["hooks"]) if group else ()):
        entry = as_object(each)
        if entry is not None:
            yield place, entry
