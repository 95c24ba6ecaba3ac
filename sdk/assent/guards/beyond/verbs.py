"""A rule on programs that no row knows: their commands and options are read as words, and verbs that end or give away count.

A command line for a cloud, a queue or a registry is written by somebody who had to name its verbs. The first verb
decides: what stands behind `get` or `create` is a name, what says `delete` ends something, however it is joined
(`delete-db-instance`, `sites:delete`, `TerminateInstances`, `vm.destroy`, `flushall`). People are asked.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from assent.guards.beyond.kept import body_ends, ends_data, for_trying, path_ends
from assent.guards.beyond.verb_lists import (
    ACTS,
    AT_HOME,
    COPIES,
    ENDS,
    ENDS_BEHIND,
    ENDS_DEEP,
    ENDS_WHEN_SURE,
    EXCUSED,
    FLAGS,
    FRAMEWORKS,
    HERE,
    LOOKS,
    LOOKS_BEHIND,
    MAKES,
    MONEY,
    NAMING,
    OWN,
    QUIET,
    QUIET_AT_THE_END,
    RUNNERS,
    SMALL,
    SMALL_OPTIONS,
    SURE,
)
from assent.guards.commands.findings import doubtful
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_MOST, _COMMANDS, _LONGEST = 60, 7, 2000
_WORD = re.compile(r"[A-Za-z][\w.:/-]{0,59}")
_FILE = re.compile(r".*\.(?:\w{0,3}sh|py|[cm]?[jt]sx?|rb|go|rs|java|php|sql|ya?ml|json|toml|md|txt|csv|html?|css|xml|tf|log|lock|zip|gz)")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_JOINED = re.compile(
    r"(?:delete|destroy|purge|remove|flush|drop|terminate|revoke|wipe|erase|unregister)(?!d$|rs?$|ing$|al$|ion$|box|down|let|out)\w+"
    r"|(?!un)\w+(?:delete|destroy|purge|remove|terminate|revoke|wipe|erase|zap)"
)
"""Verb and object without anything between: `deletevm`, `flushall`, `removeacct`, `rrpurge`, `ldapdelete`."""
_SHORT_JOINED = re.compile(r"\w{0,4}(?<!mo)(?:del|rm)(?:fs|disk|lun|vol|all|user|group|node|key|br|zone|host|index|topic|db|vm|repo|org|member)\w{0,8}|\w{3,12}(?<!mo)del")
_AMOUNT = re.compile(r"\d{1,20}(?:\.\d{1,20})?\w{0,6}")
_PROGRAM = re.compile(r"[A-Za-z][\w.+-]{0,60}")
_RESETS = re.compile(r"clear(?:all|config|range|db|data|queue)\w{0,20}|scale-(?:in|down|to-zero)|\w{2,20}(?<!p)reset")
_CMDLET = re.compile(
    r"\b(?:Remove|Clear|Stop|Disable|Reset|Revoke|Uninstall|Unregister|Dismount|Suspend|Initialize|Format)-"
    r"(?!Item|Variable|Host|Content|Process|Job|Module|Alias|Property|History|PSSession|PSDrive|Event\b|Table|List|Wide|Custom|Hex)[A-Z]\w{1,40}"
)
_OPENS = re.compile(
    r"(?:.{0,200}[=:,\[{])?[\"']?(?:public-read(?:-write)?|all(?:authenticated)?users|0\.0\.0\.0/0|::/0)[\"']?(?:[:,\]}].{0,200})?",
    re.IGNORECASE,
)
_UNSAFE = re.compile(
    r"--?(?:yes-i-.{1,60}|i-(?:know|understand|really|am-sure).{0,60}|accept-data-loss|skip-?final-.{1,40}|skip-?trash|dangerous"
    r"|force-(?:delete|destroy|reset|remove).{0,40}|do-?it|delete-(?:all|automated|data|storage).{0,40}|allow-(?:live|destroy|data-loss).{0,20}"
    r"|destroy-.{1,40}|publicly-accessible|make-public|accept-visibility-change-consequences"
    r"|no-dry-run|no-(?:deletion-protection|backups?|versioning|enable-.{1,40}|termination-protection|retention).{0,20})",
    re.IGNORECASE,
)
_TO_NOTHING = re.compile(r"(?:\w{0,20}\.)?(?:replicas|count|capacity|instances|size|retention[\w.-]{0,10}|web|worker|api)=[01]|dry_?run=false|enabled=false|status=(?:suspended|disabled|inactive)|(?:visibility|access|status)=public", re.IGNORECASE)
_COUNTS = re.compile(
    r"--?(?:replicas|count|scale|size|(?:max|min|desired|num)[\w-]{0,20}|[\w-]{0,20}(?:capacity|retention|concurren)[\w-]{0,30}|keep[\w-]{0,20}|instances|days)",
    re.IGNORECASE,
)
_STATEMENT = re.compile(r"(?:[\w-]{0,20}\.)?(?:c|e|x|q|rx|ex|command|cmd|commands|execute|exec|eval|query|query-string|sql|statement|ddl|run|script|code|a)", re.IGNORECASE)
_TRIALS = frozenset({"test", "tests", "tmp", "temp", "dev", "demo", "scratch", "sandbox", "preview", "staging"})
_PIPES = frozenset({"nc", "ncat", "netcat", "telnet", "socat", "redis-cli", "valkey-cli"})
_SAYS = frozenset(
    {"m", "message", "body", "title", "description", "comment", "notes", "reason", "text", "summary", "subject", "prompt", "p"}
)
_CALLS = re.compile(
    r"\.(?:destroy|delete|drop|remove)[A-Za-z]{0,30}!?\s{0,3}(?:\(|$)|\b(?:delete|destroy|drop|truncate|remove|purge|flush)_?(?:all|many|database|user|role|index(?:es)?|table|collection|everything)\b|::truncate\(",
    re.IGNORECASE,
)


def on_verbs(command: Command) -> Iterator[Finding]:
    """Ask before a program that may reach anywhere ends, gives away or opens what it names."""
    words = [word.text for word in command.argv[: _MOST + 1]]
    if command.program and command.program.casefold().removesuffix(".exe") in AT_HOME:
        words = _of_the_script(words, command.program)
    elif language_of(command.program):
        words = _of_the_script(words, command.program)
    if command.program in _PIPES and (what := _stated((command.fed_text or "")[:_LONGEST])):
        yield doubtful(f"{command.program} is given {what[:60]}: ends what is kept elsewhere")
    if not words or not _PROGRAM.fullmatch(words[0].rsplit("/", 1)[-1]) or QUIET.intersection(words) or words[-1] in QUIET_AT_THE_END:
        return
    if (what := _ends(words, command)):
        yield doubtful(f"{words[0][:40]} {what[:60]}: ends, gives away or opens what is kept elsewhere")


def _of_the_script(words: Sequence[str], program: str) -> list[str]:
    """Return the words of the program that a runner or an interpreter is given; none where they are nobody's."""
    if program in RUNNERS or (program in {"bundle", "poetry", "pnpm", "yarn", "dotnet", "mix"} and words[1:2] == ["exec"]):
        inner = next((at for at, word in enumerate(words) if at and not word.startswith("-") and word != "exec"), 0)
        return list(words[inner:]) if inner and words[inner].rsplit("/", 1)[-1] not in AT_HOME else []
    if words[:2] in (["dotnet", "ef"], ["mix", "run"]):
        return list(words[1:])
    for at, word in enumerate(words[1:4], start=1):
        if word.rsplit("/", 1)[-1] in FRAMEWORKS and program not in {"git", "cat", "vim", "ls", "grep", "rg"}:
            return list(words[at:]) if language_of(program) or program in {"java", "bundle"} else []
    return []


def _ends(words: Sequence[str], command: Command) -> str:
    """Return what among the words ends or opens something; "" where nothing does."""
    if _named_so(words[0]):
        return "" if _excused(words, 0, command) else words[0]
    verb = _verb(words, command)
    if verb is None:
        return ""
    return verb or _by_options(words) or _by_texts(words, command)


def _named_so(program: str) -> bool:
    """Whether the program's own name is what it does (`Remove-ADUser`, `ldapdelete`, `k3s-uninstall.sh`)."""
    if not _PROGRAM.fullmatch(program):
        return False
    if _CMDLET.fullmatch(program):
        return True
    if program[:1].isupper():
        return False
    parts = program.removesuffix(".sh").split("-")
    if not HERE.isdisjoint(parts):
        return False
    return len(parts) > 1 and bool(ENDS.intersection(parts) or parts[-1] == "reset") or (len(parts) == 1 and _meaning(program) == "ends")


def _verb(words: Sequence[str], command: Command) -> str | None:
    """Return the command that ends something, "" where no verb decides, None where one decides that nothing ends."""
    sure = any(word.startswith("-") and word.lstrip("-").partition("=")[0] in SURE for word in words)
    maybe, money, looked = "", False, False
    behind_option, option, seen = False, "", 0
    for at, word in enumerate(words[1:], start=1):
        if word.startswith(("-", "+")):
            option = word.lstrip("-")
            behind_option = "=" not in word and option not in FLAGS
            continue
        is_value, behind_option = behind_option, False
        meaning = "ends" if word.casefold() in {"/delete", "/del", "/remove", "/purge"} else _meaning(word)
        if is_value and (option in NAMING or not (meaning == "ends" and word.casefold() in ENDS)):
            continue
        seen += 1
        if seen > _COMMANDS:
            break
        if meaning in {"looks", "acts"} and maybe and word.casefold() not in LOOKS | ACTS:
            continue
        if meaning in {"looks", "acts"}:
            if money and word.casefold() in MAKES:
                return f"{words[at - 1]} {word}"
            return None if meaning == "looks" else ""
        if meaning == "ends" and at == len(words) - 1 and words[at - 1] in {"search", "find", "query"}:
            return None
        if meaning == "ends":
            return "" if _excused(words, at, command) else " ".join(words[max(1, at - 1) : at + 2])
        if meaning == "looks behind":
            if maybe:
                return None
            looked = True
        money = money or word.casefold() in MONEY
        if not maybe and (meaning == "ends behind" or (meaning == "ends when sure" and (sure or ((seen > 1 or ":" in word) and not ENDS_DEEP.isdisjoint((_split(word)[0], _split(word)[-1])))))):
            maybe = "" if _excused(words, at, command) else " ".join(words[max(1, at - 1) : at + 2])
    return None if looked and not maybe else maybe


def _excused(words: Sequence[str], at: int, command: Command) -> bool:
    """Whether what is ended is small, or says that it is for trying."""
    names = [word for word in words[at + 1 :] if not word.startswith("-")]
    beside = [*words[max(1, at - 1) : at + 1], *names[:1]]
    if (words[at - 1], words[at]) in OWN or (words[at] == "unlink" and not names):
        return True
    if not _TRIALS.isdisjoint(_split(words[at])):
        return True
    if _small(beside, EXCUSED.get(words[0].rsplit("/", 1)[-1], frozenset())) or for_trying(names, command):
        return True
    return _keeps_some(words) or _one_object(names)


def _one_object(names: Sequence[str]) -> bool:
    """Whether it is one file of a store (`rm s3://bucket/2026.log`)."""
    return len(names) == 1 and "://" in names[0] and "*" not in names[0] and bool(_FILE.fullmatch(names[0]))


def _keeps_some(words: Sequence[str]) -> bool:
    """Whether a rule says how many of them are kept (`prune --keep-daily 7`)."""
    for at, word in enumerate(words):
        if word.startswith(("--keep", "--older-than")):
            value = word.partition("=")[2] or "".join(words[at + 1 : at + 2])
            if re.fullmatch(r"(?:[2-9]|[1-9]\d{1,5})[dwmy]?", value):
                return True
    return False


def _small(words: Sequence[str], more: frozenset[str] = frozenset()) -> bool:
    for word in words:
        if _WORD.fullmatch(word) and _small_one(_split(word), more):
            return True
        if word.startswith("/") and word.strip("/").partition("/")[0] in SMALL:
            return True
    return False


def _small_one(parts: Sequence[str], more: frozenset[str]) -> bool:
    objects = [part for part in parts if part not in ENDS and part not in ENDS_BEHIND]
    return bool(objects) and (objects[-1] in SMALL or not more.isdisjoint(objects))


@lru_cache(maxsize=4096)
def _split(word: str) -> tuple[str, ...]:
    return tuple(part.casefold() for part in _PARTS.findall(word[:60]))


@lru_cache(maxsize=4096)
def _meaning(word: str) -> str:
    """Return what a word says of what it would do; "" when it is a name, a path or nothing that is known."""
    if not _WORD.fullmatch(word) or "//" in word or word.count("/") > 1 or _FILE.fullmatch(word):
        return ""
    last = word.rsplit("/", 1)[-1]
    parts = _split(last)
    if not parts:
        return ""
    first, end = parts[0], parts[-1]
    if first in LOOKS or last.casefold() in LOOKS or end in LOOKS:
        return "looks"
    if first in ACTS or (end in ACTS and len(parts) > 1):
        return "acts"
    joined = last.casefold()
    if ENDS.intersection(parts) or _JOINED.fullmatch(joined) or _SHORT_JOINED.fullmatch(joined):
        return "ends"
    if first in ENDS_BEHIND or end in ENDS_BEHIND or _RESETS.fullmatch(joined):
        return "ends behind"
    if first in ENDS_WHEN_SURE or end in ENDS_WHEN_SURE:
        return "ends when sure"
    if first in LOOKS_BEHIND or end in LOOKS_BEHIND:
        return "looks behind"
    return ""


def _by_options(words: Sequence[str]) -> str:
    """An option that ends something, opens it to everybody, or sets it to nothing."""
    for at, word in enumerate(words[1:], start=1):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word.startswith("-"):
            name, _, value = word.lstrip("-").partition("=")
            bare = name.casefold()
            if bare in {"d", "r"} and following in {"ALL", "all"}:
                return f"{word} {following}"
            if bare == "dry-run" and value in {"false", "no"}:
                return word
            if _UNSAFE.fullmatch(word.partition("=")[0]) or (
                _option_ends(name) and value.casefold() != "false" and not (bare == "delete" and COPIES.intersection(words))
            ):
                return word
            if (value or following) == "0" and _COUNTS.fullmatch(word.partition("=")[0]):
                return f"{word} {following}"
            if word == "-rm":
                return word
            if word == "-D" and not SURE.isdisjoint(other.lstrip("-") for other in words if other.startswith("-")):
                return word
            if bare in {"visibility", "acl"} and (value or following).casefold().startswith("public"):
                return f"{word} {following}"
            if bare.endswith("enabled") and (value or following).casefold() in {"false", "no", "off"}:
                return f"{word} {following}"
        key, _, given = word.partition("=")
        if given and key in {"action", "op", "operation", "cmd", "verb", "state"} and _meaning(given) == "ends":
            return word
        if word == "send" and any(map(_AMOUNT.fullmatch, words[at + 1 :])):
            return word
        if word.endswith("scale") and "0" in words[at + 1 : at + 4]:
            return f"{word} … 0"
        if word == "set" and following == "public":
            return "set public"
        if _OPENS.fullmatch(word[:_LONGEST]) or _TO_NOTHING.fullmatch(word[:80]):
            return word
    return ""


def _option_ends(name: str) -> bool:
    if name in SMALL_OPTIONS or len(name) < 3:
        return False
    parts = _split(name)
    if parts == ("empty",):
        return False
    ends = name in {"kill", "terminate", "cancel", "inactive"} or bool(parts) and (parts[0] in ENDS or (len(parts) > 1 and parts[-1] in {"del", "delete"}) or (len(parts) > 1 and "reset" in parts))
    return ends and not SMALL.intersection(parts)


def _by_texts(words: Sequence[str], command: Command) -> str:
    """A statement that is given to the program, as an option's value or on its standard input."""
    for before, word in zip(words, words[1:], strict=False):
        name, _, value = word.lstrip("-").partition("=") if word.startswith("-") else ("", "", "")
        option = name if value else before.lstrip("-") if before.startswith("-") else ""
        text = (value or word)[:_LONGEST]
        if option in _SAYS or " " not in text.strip() and "(" not in text:
            continue
        if ends_data(text, command.program) or _CALLS.search(text) or body_ends(text):
            return text
        if _STATEMENT.fullmatch(option) and (found := _stated(text)):
            return found
    sends = any(before in {"-X", "--method", "--request", "-m"} and word.upper() != "GET" for before, word in zip(words, words[1:], strict=False))
    if sends and (path := next((word for word in words if path_ends(word[:_LONGEST])), "")):
        return path
    return _stated((command.fed_text or "")[:_LONGEST])


def _stated(text: str) -> str:
    """Return the first statement whose first words end something."""
    for line in re.split(r"[\n;]", text)[:40]:
        said = line.split()[:4]
        for word in said:
            meaning = _meaning(word.strip("\"'():,"))
            if meaning in {"looks", "acts"} and word.casefold() != "update":
                break
            if meaning in {"ends", "ends behind"} or word in {"stop", "halt", "kill"}:
                return line.strip()
            if said[0] == "no" or word == "shutdown":
                return line.strip()
    return ""
