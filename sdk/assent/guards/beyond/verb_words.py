"""What one word of an unknown program says of what it would do, however verb and object are joined in it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from assent.guards.beyond.verb_lists import (
    ACTS,
    ENDS,
    ENDS_BEHIND,
    ENDS_WHEN_SURE,
    HERE,
    LOOKS,
    LOOKS_BEHIND,
    SMALL,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 60
_WORD = re.compile(r"[A-Za-z][\w.:/-]{0,59}")
_FILE = re.compile(
    r".*\.(?:\w{0,3}sh|py|[cm]?[jt]sx?|rb|go|rs|java|php|sql|ya?ml|json|toml|md|txt|csv|html?|css|xml|tf|log|lock|zip|gz)"
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINED = re.compile(
    r"(?:delete|destroy|purge|remove|flush|drop|terminate|revoke|wipe|erase|unregister)"
    r"(?!d$|rs?$|ing$|al$|ion$|box|down|let|out)\w+"
    r"|(?!un)\w+(?:delete|destroy|purge|remove|terminate|revoke|wipe|erase|zap)"
    r"|\w{0,4}(?<!mo)(?:del|rm)(?:fs|disk|lun|vol|all|user|group|node|key|br|zone|host|index|topic|db|vm|repo|org|member)\w{0,8}"
    r"|\w{3,12}(?<!mo)del"
)
"""Verb and object without anything between: `deletevm`, `flushall`, `rrpurge`, `ldapdelete`, `mmdelnode`, `userdel`."""
_RESETS = re.compile(r"clear(?:all|config|range|db|data|queue)\w{0,20}|scale-(?:in|down|to-zero)|\w{2,20}(?<!p)reset")
_PREFIX = re.compile(r"s3://[^/]{1,80}/.{1,400}")
_PROGRAM = re.compile(r"[A-Za-z][\w.+-]{0,60}")
_CMDLET = re.compile(
    r"(?:Remove|Clear|Stop|Disable|Reset|Revoke|Uninstall|Unregister|Dismount|Suspend|Initialize|Format)-"
    r"(?!Item|Variable|Host|Content|Process|Job|Module|Alias|Property|History|PSSession|PSDrive|Event$|Table|List|Wide|Custom"
    r"|Hex)[A-Z]\w{1,40}"
)


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in _PARTS.findall(word))


def split(word: str) -> tuple[str, ...]:
    """Return the parts of a word in lower case: at hyphens, colons, dots and where letters become large."""
    return _parts(word[:_LONGEST])


def meaning(word: str) -> str:
    """Return what a word says of what it would do; "" when it is a name, a path or nothing that is known."""
    return _meaning(word) if len(word) <= _LONGEST else ""


@lru_cache(maxsize=4096)
def _meaning(word: str) -> str:
    if not _WORD.fullmatch(word) or "//" in word or word.count("/") > 1 or _FILE.fullmatch(word):
        return ""
    last = word.rsplit("/", 1)[-1]
    joined, parts = last.casefold(), split(last)
    if not parts:
        return ""
    edges = {parts[0], parts[-1]}
    if joined in LOOKS or edges & LOOKS:
        return "looks"
    if parts[0] in ACTS or (len(parts) > 1 and parts[-1] in ACTS):
        return "acts"
    if ENDS.intersection(parts) or _JOINED.fullmatch(joined):
        return "ends"
    if edges & ENDS_BEHIND or _RESETS.fullmatch(joined):
        return "ends behind"
    if edges & ENDS_WHEN_SURE:
        return "ends when sure"
    return "looks behind" if edges & LOOKS_BEHIND else ""


def is_small(words: Sequence[str], more: frozenset[str]) -> bool:
    """Whether one of the words names what is small everywhere, or (`more`) with this program."""
    for word in words:
        if word.startswith("/") and word.strip("/").partition("/")[0] in SMALL:
            return True
        if _WORD.fullmatch(word):
            objects = [part for part in split(word) if part not in ENDS and part not in ENDS_BEHIND]
            if objects and (objects[-1] in SMALL or not more.isdisjoint(objects)):
                return True
    return False


def is_part_of_a_store(names: Sequence[str]) -> bool:
    """Whether it is one file of a store (`rm gs://bucket/2026.log`), or what lies under a prefix of a bucket, as elsewhere."""
    if len(names) != 1 or "*" in names[0]:
        return False
    return _PREFIX.fullmatch(names[0]) is not None or ("://" in names[0] and _FILE.fullmatch(names[0]) is not None)


def is_program(word: str) -> bool:
    """Whether a program can have this name: what was read out of a text may be anything."""
    return _PROGRAM.fullmatch(word) is not None


def is_named_so(program: str) -> bool:
    """Whether the program's own name is what it does (`Remove-ADUser`, `ldapdelete`, `k3s-uninstall.sh`)."""
    if _CMDLET.fullmatch(program):
        return True
    if program[:1].isupper() or not is_program(program):
        return False
    parts = program.removesuffix(".sh").split("-")
    if not HERE.isdisjoint(parts):
        return False
    return meaning(program) == "ends" if len(parts) == 1 else bool(ENDS.intersection(parts)) or parts[-1] == "reset"
