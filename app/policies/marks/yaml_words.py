"""What is no YAML, in words: what stands there, and how it is written. The parser's own sentences name neither."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.policies.marks.faults import ALIASES, QUOTES

if TYPE_CHECKING:
    import yaml

_WORDS: tuple[tuple[str, str, str], ...] = (
    (r"'\\t'|\\t", "a tab stands where only spaces may", "indent with spaces"),
    (
        r"mapping values are not allowed",
        'a key stands where none can, or a text has ": " in it',
        "indent the keys of one mapping alike, and put a text with a colon in quotes",
    ),
    (r"cannot start any token", "no text can begin with this character", QUOTES),
    (r"alphabetic or numeric character", "* and & begin an alias here, and this is none", ALIASES),
    (r"end of stream", "a text in quotes begins here and does not end", "close its quotes"),
    (
        r"expected ',' or '[}\]]'",
        "a { or [ begins here and does not end, or lacks a comma",
        "close it: {a: 1, b: [2, 3]}",
    ),
    (r"could not find expected ':'", "this is no key with a value", "write key: value, with a space behind the colon"),
    (
        r"expected <block end>|did not find expected",
        "this does not fit the lines above it",
        'indent the keys of one mapping alike, and begin each element of a list with "- "',
    ),
    (r"another document", "a second document begins here", "take out the --- before it: a file is one document"),
    (
        r"escape|hexadecimal",
        "a \\ in double quotes begins an escape, and this is none",
        "write \\\\, or use single quotes",
    ),
    (r"sequence entries are not allowed", 'a "- " stands where no list can be', "put the list on lines of its own"),
    (r"node content", "something is missing here, or a comma is too much", "write a value, or take the comma out"),
)
"""Parts of the parser's sentences, the first that fits, and what is said in their place."""


_LIKE_YAML = {
    "\uff1a": ("a wide colon", 'write ": "'),
    "\uff0c": ("a wide comma", 'write ", "'),
    "\u00a0": ("a space that is none (U+00A0)", "write a plain one"),
    "\u3000": ("a wide space", "write a plain one"),
}
"""What looks like YAML's own marks, and is a letter to it: input methods and web pages bring it along."""


def in_words(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str | None, yaml.Mark | None]:
    """Return what is wrong, its mend, and where it is looked for: where that begins which does not end."""
    problem = str(error.problem)
    like = _like_yaml(error, text)
    if like is not None:
        return f"not YAML: {like[0]}", like[1], error.problem_mark
    for part, said, mend in _WORDS:
        if re.search(part, problem):
            begins = part in {r"end of stream", r"expected ',' or '[}\]]'", r"could not find expected ':'"}
            place = (begins and error.context_mark) or error.problem_mark or error.context_mark
            return f"not YAML: {said}", mend, place
    return f"not YAML: {problem}", None, error.problem_mark or error.context_mark


def _like_yaml(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str] | None:
    """Return what only looks like a mark of YAML's, on the line of the fault or the one before it."""
    if error.problem_mark is None:
        return None
    last = error.problem_mark.line
    lines = text.splitlines()
    for at in range(min(last, len(lines) - 1), max(last - 2, -1), -1):
        bare = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", lines[at])
        for mark, (what, mend) in _LIKE_YAML.items():
            if mark in bare:
                return f"line {at + 1} has {what}", mend
    return None
