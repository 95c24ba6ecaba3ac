"""A rule on programs that no row knows: their commands and options are read as words, and verbs that end or give away count.

A command line for a cloud, a queue or a registry is written by somebody who had to name its verbs. The first verb
decides: what stands behind `get` or `create` is a name, what says `delete` ends something, however it is joined
(`delete-db-instance`, `sites:delete`, `TerminateInstances`, `vm.destroy`, `flushall`). People are asked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.beyond.kept import for_trying
from assent.guards.beyond.verb_lists import (
    ACTS,
    AT_HOME,
    ENDS,
    ENDS_DEEP,
    EXCUSED,
    FLAGS,
    FRAMEWORKS,
    GIVEN,
    LOCAL,
    MAKES,
    NAMING,
    OWN,
    QUIET,
    RUNNERS,
    SURE,
)
from assent.guards.beyond.verb_options import by_options, by_texts, stated
from assent.guards.beyond.verb_words import is_named_so, is_part_of_a_store, is_program, is_small, meaning, split
from assent.guards.commands.findings import doubtful
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_MOST, _COMMANDS, _LONGEST = 400, 7, 2000
_SLASHED = frozenset({"/delete", "/del", "/remove", "/purge"})
"""Options of another system's programs (`net user bob /delete`)."""
_KEPT = re.compile(r"(?:[2-9]|[1-9]\d{1,5})[dwmy]?")
_TRIALS = frozenset({"test", "tests", "tmp", "temp", "dev", "demo", "scratch", "sandbox", "preview", "staging"})
_PIPES = frozenset({"nc", "ncat", "netcat", "telnet", "socat", "redis-cli", "valkey-cli"})
_EXECUTING = {("yarn", "dlx"): 2, ("dotnet", "ef"): 1, ("mix", "run"): 1, ("pipx", "run"): 2}
"""Programs at home whose further words are those of another one, and where these begin."""
_CARRIERS = RUNNERS | {program for program, _ in _EXECUTING} | {"java", "php", "python", "python3", "ruby", "node"}


def on_verbs(command: Command) -> Iterator[Finding]:
    """Ask before a program that may reach anywhere ends, gives away or opens what it names."""
    program = command.program
    if program in _PIPES and command.fed_text and (what := stated(command.fed_text)):
        yield doubtful(f"{program} is given {what[:60]}: it ends what is kept elsewhere")
    if not program or (program in AT_HOME and program not in _CARRIERS):
        return
    words = _words(command)
    if words and QUIET.isdisjoint(words) and words[-1] != "-h" and (what := _ends(words, command)):
        yield doubtful(f"{words[0][:40]} {what[:60]}: it ends, gives away or opens what is kept elsewhere")


def _words(command: Command) -> Sequence[str]:
    """Return the words of the program that may reach anywhere: of a runner's or an interpreter's, of its own; or none."""
    words = [word.text for word in command.argv[: _MOST + 1]]
    program, begin = command.program, 0
    if program in RUNNERS:
        begin = next((at for at in range(1, len(words)) if not words[at].startswith("-")), len(words))
    elif (program, *words[1:2]) in _EXECUTING:
        begin = _EXECUTING[program, words[1]]
    elif program in _CARRIERS or language_of(program):
        scripts = (at for at, word in enumerate(words[1:4], start=1) if word.rsplit("/", 1)[-1] in FRAMEWORKS)
        begin = next(scripts, len(words))
    name = words[begin].rsplit("/", 1)[-1] if begin < len(words) else ""
    return words[begin:] if is_program(name) and name.removesuffix(".exe") not in AT_HOME else ()


def _ends(words: Sequence[str], command: Command) -> str:
    """Return what among the words ends or opens something; "" where nothing does."""
    if LOCAL.get(words[0]) in words:
        return ""
    if is_named_so(words[0]):
        return "" if _excused(words, 0, command) else words[0]
    verb = _verb(words, command)
    if verb is None:
        return ""
    return verb or by_options(words) or by_texts(words, (command.fed_text or "")[:_LONGEST], command.program)


def _commands(words: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the program's commands and names: where each stands, the word, and what it says that it would do."""
    option, seen = "", 0
    for at, word in enumerate(words[1:], start=1):
        if word.startswith(("-", "+")):
            option = "" if "=" in word or word.lstrip("-") in FLAGS else word
            continue
        what = "ends" if word.casefold() in _SLASHED else meaning(word)
        value_of, option = option.lstrip("-"), ""
        if value_of and (value_of.rsplit("-", 1)[-1] in NAMING or word.casefold() not in ENDS):
            continue
        seen += 1
        if seen > _COMMANDS:
            return
        yield at, word, what


def _verb(words: Sequence[str], command: Command) -> str | None:
    """Return the command that ends something, "" where no verb decides, None where one decides that nothing ends."""
    sure = any(word.startswith("-") and word.lstrip("-").partition("=")[0] in SURE for word in words)
    maybe, given, looked, deep = "", False, False, False
    for at, word, what in _commands(words):
        if what == "looks" or (what == "acts" and (not maybe or word.casefold() in ACTS)):
            if given and word.casefold() in MAKES:
                return _told(words, at)
            return None if what == "looks" else ""
        if what == "ends":
            if not {"search", "find", "query"}.isdisjoint(words[1:at]) and at == len(words) - 1:
                return None
            return "" if _excused(words, at, command) else _told(words, at)
        if what == "looks behind":
            if maybe:
                return None
            looked = True
        given = given or word.casefold() in GIVEN
        if not maybe and _may_end(word, what, sure=sure, deep=deep) and not _excused(words, at, command):
            maybe = _told(words, at)
        deep = True
    return None if looked and not maybe else maybe


def _may_end(word: str, what: str, *, sure: bool, deep: bool) -> bool:
    """Whether a word that may be a noun, or one of every day, ends something where it stands."""
    if what == "ends behind":
        return True
    if what != "ends when sure":
        return False
    return sure or ((deep or ":" in word) and not ENDS_DEEP.isdisjoint({split(word)[0], split(word)[-1]}))


def _told(words: Sequence[str], at: int) -> str:
    return " ".join(words[max(1, at - 1) : at + 2])


def _excused(words: Sequence[str], at: int, command: Command) -> bool:
    """Whether what is ended is small, is the program's own setting, says that it is for trying, or some are kept."""
    names = [word for word in words[at + 1 :] if not word.startswith("-")]
    if (words[at - 1], words[at]) in OWN or (words[at] == "unlink" and not names) or names == ["help"]:
        return True
    first = at < 2 or words[at - 1].startswith("-")
    beside = [*words[max(1, at - 1) : at + 1], *(names[:1] if first else [])]
    small = is_small(beside, EXCUSED.get(words[0].rsplit("/", 1)[-1], frozenset()))
    trying = for_trying(names, command) or not _TRIALS.isdisjoint(split(words[at]))
    return small or trying or is_part_of_a_store(names) or _keeps_some(words)


def _keeps_some(words: Sequence[str]) -> bool:
    """Whether a rule says how many of them are kept (`prune --keep-daily 7`)."""
    for at, word in enumerate(words):
        if word.startswith(("--keep", "--older-than")):
            value = word.partition("=")[2] or "".join(words[at + 1 : at + 2])
            if _KEPT.fullmatch(value):
                return True
    return False
