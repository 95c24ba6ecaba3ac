"""The names of the files that a patch text touches: the `*** Update File:` form, unified, context and git headers."""

from __future__ import annotations

import re

_ENVELOPE = re.compile(
    r"^[ \t]*\*\*\*[ \t]*(?:(?:add|update|delete|create|replace|rename|move|copy)[ \t]+(?:file|to|from)|file)[ \t]*:"
    r"[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_NAMED = re.compile(r"^(?:rename (?:from|to)|copy (?:from|to)|Index:)[ \t]+(\S.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(?:---|\*\*\*)[ \t]+([^\n]+)\r?\n(?:\+\+\+|---)[ \t]+([^\n]+)$", re.MULTILINE)
_LONE = re.compile(r"^\+\+\+[ \t]+([^\n]+)\r?\n(?=@@)", re.MULTILINE)
_GIT = re.compile(r"^diff --git[ \t]+(\S.*)$", re.MULTILINE)
_BINARY = re.compile(r"^Binary files (.+)$", re.MULTILINE)
_SINGLE = (("***", _ENVELOPE), ("rename ", _NAMED), ("copy ", _NAMED), ("Index:", _NAMED), ("+++", _LONE))
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)("?)')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_PREFIX = re.compile(r"^[abciow]/")
_NULL = frozenset({"/dev/null", "NUL", ""})


def patched_files(text: str) -> tuple[str, ...]:
    """Return the files that the patch adds, changes, deletes or moves, each once; () for a text that is no patch.

    A name with a prefix of git's (`a/`, `b/`) is returned with and without it: both readings are possible.
    """
    found: list[str] = [name for mark, line in _SINGLE if mark in text for name in line.findall(text)]
    if "---" in text:
        found += [name for pair in _PAIR.findall(text) for name in pair]
    if "Binary files " in text:
        found += [name for line in _BINARY.findall(text) for name in _binary_names(line.rstrip())]
    if "diff --git" in text:
        found += [name for line in _GIT.findall(text) for name in _git_names(line.rstrip(" \t\r"))]
    names = (each for name in found for each in _readings(name))
    return tuple(dict.fromkeys(name for name in names if name not in _NULL))


def _binary_names(line: str) -> list[str]:
    one, named, other = line.removesuffix(" differ").rpartition(" and ")
    return [one, other] if named and line.endswith(" differ") else []


def _git_names(line: str) -> list[str]:
    quoted = [name for name, closed in _QUOTED.findall(line) if closed]
    if quoted:
        return [f'"{each}"' for each in quoted] + _QUOTED.sub(" ", line).split()
    # Blanks are not quoted here. Both names are alike but for the prefix, so the middle is the usual cut.
    half = len(line) // 2
    return [line[:half], line[half + 1 :]] if line[half : half + 1] == " " else line.split(" ")


def _readings(name: str) -> tuple[str, ...]:
    plain = name.split("\t", 1)[0].strip()
    quoted = _QUOTED.match(plain)
    if quoted and quoted[2]:
        plain = _unescape(quoted[1])
    return (plain, *([_PREFIX.sub("", plain)] if _PREFIX.match(plain) else []))


def _unescape(text: str) -> str:
    """Undo git's quoting: octal bytes of UTF-8, and C's letters."""
    raw = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(text):
        raw += text[at : escape.start()].encode()
        code = escape[1]
        raw += bytes([int(code, 8) & 255]) if code[0] in "01234567" else _LETTERS.get(code, code).encode()
        at = escape.end()
    return (bytes(raw) + text[at:].encode()).decode(errors="replace")
