"""What the escapes of `$'…'`, `echo -e` and `printf` stand for."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:x(?P<x>[0-9A-Fa-f]{1,2})|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})|(?P<o>[0-7]{1,3})|c(?P<c>.)|(?P<s>.))",
    re.DOTALL,
)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_LITERAL = frozenset("\\'\"?")


def ansi_c(text: str) -> str:
    """Return the text with its backslash escapes resolved. NUL ends it, as in the shell."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_resolve, text).partition("\0")[0]


def _resolve(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "x" | "u" | "U":
            code = int(found[found.lastgroup], 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        case "o":
            return chr(int(found["o"], 8) & 0xFF)
        case "c":
            return chr(ord(found["c"]) & 0x1F)
        case _:
            char = found["s"]
            if char in _LITERAL:
                return char
            return _SINGLE.get(char, f"\\{char}")
