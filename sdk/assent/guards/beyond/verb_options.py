"""What options, values and statements of an unknown program end, open to everybody or set to nothing."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.beyond.kept import body_ends, path_ends
from assent.guards.beyond.verb_lists import COPIES, ENDS, SMALL, SMALL_OPTIONS, SURE
from assent.guards.beyond.verb_words import meaning, split
from assent.guards.statements.ending import ends_data
from assent.shell.lists import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST = 2000
_OPENS = re.compile(
    r"(?:.{0,200}[=:,\[{])?[\"']?(?:public-read(?:-write)?|all(?:authenticated)?users|0\.0\.0\.0/0|::/0)[\"']?(?:[:,\]}].{0,200})?",
    re.IGNORECASE,
)
_UNSAFE = re.compile(
    r"--?(?:yes-i-.{1,60}|i-(?:know|understand|really|am-sure).{0,60}|accept-data-loss|skip-?final-.{1,40}|skip-?trash|dangerous"
    r"|force-(?:delete|destroy|reset|remove).{0,40}|do-?it|delete-(?:all|automated|data|storage).{0,40}"
    r"|allow-(?:live|destroy|data-loss).{0,20}|destroy-.{1,40}|publicly-accessible|make-public"
    r"|accept-visibility-change-consequences|no-dry-run|no-disable-.{1,40}|rm"
    r"|no-(?:deletion-protection|backups?|versioning|enable-.{1,40}|termination-protection|retention).{0,20})",
    re.IGNORECASE,
)
_TO_NOTHING = re.compile(
    r"(?:\w{0,20}\.)?(?:replicas|count|capacity|instances|size|retention[\w.-]{0,10}|web|worker|api)=[01]"
    r"|dry_?run=false|enabled=false|status=(?:suspended|disabled|inactive)|(?:visibility|access|status)=public",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    r"--?(?:replicas|count|scale|size|(?:max|min|desired|num)[\w-]{0,20}|[\w-]{0,20}(?:capacity|retention|concurren)[\w-]{0,30}"
    r"|keep[\w-]{0,20}|instances|days)",
    re.IGNORECASE,
)
_STATES = re.compile(r"(?:action|op|operation|cmd|verb|state)=(.{1,60})")
_AMOUNT = re.compile(r"\d{1,20}(?:\.\d{1,20})?\w{0,6}")
_NO = frozenset({"false", "no", "off"})
_STATEMENT = re.compile(
    r"(?:[\w-]{0,20}\.)?(?:c|e|x|q|rx|ex|command|cmd|commands|execute|exec|eval|query|query-string|sql|statement|ddl|run|script"
    r"|code|a)",
    re.IGNORECASE,
)
_SAYS = listed("m message body title description comment notes reason text summary subject prompt p")
_CALLS = re.compile(
    r"\.(?:destroy|drop)[A-Za-z]{0,30}!?\s{0,3}(?:\(|$)"
    r"|\b(?:delete|destroy|drop|truncate|remove|purge|flush)_?"
    r"(?:all|many|database|user|role|index(?:es)?|table|collection|everything)\b|::truncate\(",
    re.IGNORECASE,
)
_STOPS = frozenset({"stop", "halt", "kill", "shutdown"})


def by_options(words: Sequence[str]) -> str:
    """Return the option or the value that ends something, opens it to everybody or sets it to nothing; "" for none."""
    for at, word in enumerate(words[1:], start=1):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word.startswith("-") and _ends(word, following, words):
            return f"{word} {following}"
        if _value_ends(word, words[at + 1 : at + 4]):
            return word
    return ""


def _value_ends(word: str, behind: Sequence[str]) -> bool:
    if word.endswith("scale") and "0" in behind:
        return True
    if word.rpartition(":")[2] == "send" and ("--value" in behind or any(map(_AMOUNT.fullmatch, behind))):
        return True
    if word == "set" and behind[:1] == ["public"]:
        return True
    state = _STATES.fullmatch(word)
    if state and meaning(state[1]) == "ends":
        return True
    return bool(_OPENS.fullmatch(word[:_LONGEST]) or _TO_NOTHING.fullmatch(word[:80]))


def _ends(option: str, following: str, words: Sequence[str]) -> bool:
    dashed, _, given = option.partition("=")
    name, value = dashed.lstrip("-"), (given or following).casefold()
    if name == "rm" and dashed != "-rm":
        return False  # `run --rm` cleans up behind itself
    if _UNSAFE.fullmatch(dashed) or (value == "0" and _COUNTS.fullmatch(dashed)):
        return True
    if value in _NO and (name.casefold().endswith("enabled") or (given and name == "dry-run")):
        return True
    if value == "all" and name in {"d", "r"}:
        return True
    if value.startswith("public") and name in {"visibility", "acl"}:
        return True
    if name == "D":
        return not SURE.isdisjoint(other.lstrip("-") for other in words if other.startswith("-"))
    return _says_so(name) and given.casefold() != "false" and not (name == "delete" and COPIES.intersection(words))


def _says_so(name: str) -> bool:
    if name in {"kill", "terminate", "cancel", "inactive"}:
        return True
    parts = split(name)
    if name in SMALL_OPTIONS or len(name) < 3 or name == "empty" or not parts or SMALL.intersection(parts):
        return False
    return parts[0] in ENDS or (len(parts) > 1 and (parts[-1] in {"del", "delete"} or "reset" in parts))


def by_texts(words: Sequence[str], fed: str, program: str) -> str:
    """Return the statement that ends something, given as a value, sent to an address or on standard input."""
    for option, text in _texts(words):
        if ends_data(text, program) or _CALLS.search(text) or body_ends(text):
            return text
        if _STATEMENT.fullmatch(option) and (found := stated(text)):
            return found
    asks = {"-X", "--method", "--request", "-m"}
    if any(before in asks and word.upper() != "GET" for before, word in itertools.pairwise(words)):
        for word in words:
            if path_ends(word[:_LONGEST]):
                return word
    return stated(fed)


def _texts(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the values that may be statements, each with its option's name; what is only said is none."""
    for before, word in itertools.pairwise(words):
        name, _, value = word.lstrip("-").partition("=") if word.startswith("-") else ("", "", "")
        option = name if value else before.lstrip("-") if before.startswith("-") else ""
        text = (value or word)[:_LONGEST]
        if option not in _SAYS and (" " in text.strip() or "(" in text):
            yield option, text


def stated(text: str) -> str:
    """Return the first statement of a text whose first words end something; "" where none does."""
    for line in re.split(r"[\n;]", text[:_LONGEST])[:40]:
        if _says_end(line.split(maxsplit=4)[:4]):
            return line.strip()
    return ""


def _says_end(said: Sequence[str]) -> bool:
    if said[:1] == ["no"]:
        return True  # routers take things away so: `no router bgp 65000`
    for word in said:
        what = meaning(word.strip("\"'():,"))
        if what in {"ends", "ends behind"} or word in _STOPS:
            return True
        if what in {"looks", "acts"} and word.casefold() != "update":
            return False
    return False
