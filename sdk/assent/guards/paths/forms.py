r"""One form for every spelling of a path: `~`, `$HOME`, `..`, `//`, `\`, drive letters, `file://`, case, and the rest.

Nothing is looked up on a disk: the guard may run on another machine than the tool. Where a spelling can mean several
places (a `%2e` that a tool may or may not decode, a `..` behind what may be a link) all are returned and judged.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from assent.guards.paths.lists import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "\0"
"""Stands for what is not known in a word of a shell command."""

_HOME = ("home", "~")
_VARIABLE = re.compile(r"\$\{(\w+)(?::?[-=][^}]{0,256})?\}|\$env:(\w+)|\$\{env:(\w+)\}|\$(\w+)|%(\w+)%")
_DRIVE = re.compile(r"^/?[a-z]:(?=/|$)")
_DEVICE = re.compile(r"^//[?.]/(?:unc/)?")
_URL = re.compile(r"^[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_FILE_URL = re.compile(r"^(?:file|vscode):(?://(?:localhost|file|127\.0\.0\.1)?(?=/))?", re.IGNORECASE)
_ODD = re.compile(r"[^A-Za-z0-9_./~ \\+=-]|^\s|\s$")
_TRANSLATED = re.compile(r"[^\x00-\x7f]|[\\$%]")
_LINE_SUFFIX = re.compile(r"(?:[#?].*|(?::\d[\d:,-]*)+)$", re.DOTALL)
_LONGEST = 16_384  # longer than any system takes
_LONGEST_KEPT = 4096  # characters of a folder that is worth remembering
_MOST_READINGS = 200


@dataclass(frozen=True, slots=True)
class Form:
    """A path in its one form: lower-case components without `.`, `..` and empty ones."""

    components: tuple[str, ...]
    rooted: bool
    """Whether it begins at the root of the file system; otherwise nobody knows where."""
    doubtful: bool = False
    """Whether it is only a guess at where a `..` leads: judged against the root's own files alone."""


def forms_of(text: str, cwd: str = "") -> tuple[Form, ...]:
    """Return the places that an argument may mean, the plainest reading first; () for no path at all."""
    if not _ODD.search(text):
        return _resolve(text, cwd)
    found: dict[Form, None] = {}
    for reading in _readings(text[:_LONGEST]):
        found.update(dict.fromkeys(_resolve(reading, cwd)))
    return tuple(found)


def word_forms(text: str, cwd: str = "") -> tuple[Form, ...]:
    """Return the places that a shell's word means: it is taken as it stands, and `UNKNOWN` stays in it."""
    return () if _is_address(text) else _resolve(_FILE_URL.sub("", text), cwd)


def joined(cwd: str, path: str) -> str:
    """Return `path` as it is seen from `cwd`, where it is relative and `cwd` is known."""
    return path if not cwd or not path or _split(path)[0] else f"{cwd}/{path}"


def _readings(text: str) -> list[str]:
    """Every reading of an argument as a path, its own among them; an address on the net is none."""
    found = dict.fromkeys((text,))
    queue = [text]
    while queue and len(found) <= _MOST_READINGS:
        fresh = dict.fromkeys(each for each in _rereadings(queue.pop(0)) if each not in found)
        found |= fresh
        queue += fresh
    return [each for each in found if not _is_address(each)]


def _rereadings(text: str) -> Iterator[str]:
    """One step from a reading to others: stripped, cut at what some tools take for an end, decoded."""
    yield from (part.strip() for part in re.split(r"[\n\r,;]", text))
    if "\0" in text:
        yield text.split("\0", 1)[0]
        yield text.replace("\0", "")
    if not _is_address(text):
        yield text.strip().strip("\"'`<>").lstrip("@")
        yield _FILE_URL.sub("", text)
        yield unquote(text)
        yield _LINE_SUFFIX.sub("", text)


def _is_address(text: str) -> bool:
    return _URL.match(text) is not None and _FILE_URL.match(text) is None


def _resolve(text: str, cwd: str) -> tuple[Form, ...]:
    if not text:
        return ()
    rooted, parts = _split(text)
    forms = _climb(rooted, parts, cwd)
    if ".." in text and _TRANSLATED.search(text):  # a system that does not translate counts other components
        plain = text.casefold()
        forms += _climb(plain.startswith("/"), tuple(plain.split("/")), cwd)
    return forms


@lru_cache(maxsize=256)
def _base(cwd: str) -> tuple[bool, tuple[str, ...]]:
    rooted, parts = _split(cwd) if cwd else (False, ())
    forms = _climb(rooted, parts, "")
    return rooted, forms[0].components


def _based(cwd: str) -> tuple[bool, tuple[str, ...]]:
    return _base(cwd) if len(cwd) <= _LONGEST_KEPT else _base.__wrapped__(cwd)


def _split(text: str) -> tuple[bool, tuple[str, ...]]:
    """Cut into raw components; a home stands as the components of `_HOME`."""
    plain = _folded(text).replace("\\", "/")
    if "$" in plain or "%" in plain:
        plain = _VARIABLE.sub(_place, plain)
    if plain.startswith("~"):
        user, _, rest = plain[1:].partition("/")
        return True, (*(("root",) if user == "root" else _HOME), *rest.split("/"))
    plain = _DRIVE.sub("", _DEVICE.sub("/", plain, count=1), count=1)
    return plain.startswith("/"), tuple(plain.split("/"))


def _place(found: re.Match[str]) -> str:
    name = next(group for group in found.groups() if group)
    return VARIABLES.get(name, found.group())


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")


def _climb(rooted: bool, parts: tuple[str, ...], cwd: str) -> tuple[Form, ...]:  # noqa: FBT001 - halves of one value
    """Take out `.` and `..`, starting from `cwd` where the path is relative."""
    kept: list[str] = []
    if not rooted and cwd:
        rooted, base = _based(cwd)
        kept = list(base)
    settled = bool(kept) and rooted
    for part in parts:
        if part == "..":
            del kept[-1:]
        elif part not in {"", "."}:
            kept.append(part if part[-1] not in " ." else part.rstrip(" .") or part)
            if rooted and kept[0] in {"proc", "private", "system", "wsl$", "wsl.localhost"}:
                rooted, kept = _through_doors(kept, cwd)
    forms = [Form(tuple(kept), rooted)]
    if ".." in parts and not (settled and _only_leads(parts)):
        last = len(parts) - 1 - parts[::-1].index("..")
        rest = tuple(part for part in parts[last + 1 :] if part not in {"", "."})
        forms.append(Form(rest, rooted=True, doubtful=True))
    if any(":" in part for part in kept):
        forms += _around_colons(tuple(kept), rooted)
    return tuple(forms)


def _only_leads(parts: tuple[str, ...]) -> bool:
    """Whether every `..` stands at the front. Behind a name, which may be a link, nobody knows where it leads."""
    named = next((at for at, part in enumerate(parts) if part not in {"", ".", ".."}), len(parts))
    return ".." not in parts[named:]


def _through_doors(kept: list[str], cwd: str) -> tuple[bool, list[str]]:
    """Follow the folders that every system of their kind has and that lead back to the root or to the start."""
    match kept:
        case ["proc", _, "root"] | ["proc", _, "task", _, "root"] | ["system", "volumes", "data"]:
            return True, []
        case ["wsl$" | "wsl.localhost", _]:
            return True, []
        case ["proc", _, "cwd"] | ["proc", _, "task", _, "cwd"]:
            rooted, base = _based(cwd)
            return rooted, list(base)
        case ["private", "etc" | "var" | "tmp" as inner]:
            return True, [inner]
        case _:
            return True, kept


def _around_colons(parts: tuple[str, ...], rooted: bool) -> list[Form]:  # noqa: FBT001 - halves of one value
    """Read `name:stream` as the name, and `host:path` or `revision:path` as the path."""
    at = next(index for index, part in enumerate(parts) if ":" in part)
    behind = parts[at].partition(":")[2]
    return [
        Form(tuple(part.partition(":")[0] or part for part in parts), rooted),
        Form((behind, *parts[at + 1 :]), rooted=False) if behind else Form(parts[at + 1 :], rooted=True),
    ]
