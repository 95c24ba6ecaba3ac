"""What a shell knows while it runs a text: variables, directory, standard input, wrappers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assent.shell.words.script import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assent.shell.words.script import Command

UNKNOWN = "\ue000"
"""Stands for text that cannot be known, in texts that are still read."""
HOME = "\ue001"
HERE = "\ue002"
EMPTY = "\ue003"
"""A quoted nothing: it makes a word though it has no character."""
BREAK = "\ue004"
"""Separates the elements of an array that expands to several words."""
STAR = "\ue005"
"""A `*` in the value of a loop's variable: it stands for the names that it matched."""
PRIVATE = dict.fromkeys(map(ord, (UNKNOWN, HOME, HERE, EMPTY, BREAK, STAR, "\x02")), "\ufffd")
"""For `str.translate`: takes these characters out of what comes from outside."""

MOST_ALTERNATIVES = 8


LONGEST = 262_144
"""Characters of one word or value; more is not read."""


class StopReading(Exception):  # noqa: N818  # not an error: the limit is reached, the rest stays unread
    """The limits of one reading are reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A variable's value: what it may be, and the commands whose output is in it."""

    texts: tuple[str, ...]
    sources: tuple[Command, ...] = ()
    elements: tuple[str, ...] | None = None
    """An array's elements."""


def unique(commands: Iterable[Command]) -> tuple[Command, ...]:
    """Return each command once, told apart by identity: comparing them would compare all that is behind them."""
    return tuple({id(command): command for command in commands}.values())


def known(text: str) -> Value:
    """Return the value that is this text for sure."""
    return Value(texts=(text,))


AMBIENT: Mapping[str, Value] = {
    **dict.fromkeys(("PPID", "UID", "EUID", "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "BASHPID"), known("0")),
    **dict.fromkeys(("?", "$", "!", "#"), known("0")),
    "-": known("hB"),
    "0": known("bash"),
    "CC": known("cc"),
    "CXX": known("c++"),
    "EDITOR": known("vi"),
    "HOME": known(HOME),
    "MAKE": known("make"),
    "PAGER": known("less"),
    "PYTHON": known("python3"),
    "IFS": known(" \t\n"),
    "LOGNAME": known("user"),
    "HOSTNAME": known("host"),
    "SHELL": known("/bin/bash"),
    "BASH": known("/bin/bash"),
    "TMPDIR": known("/tmp"),  # noqa: S108  # the value that it has where none is set
    "USER": known("user"),
    "XDG_CACHE_HOME": known(f"{HOME}/.cache"),
    "XDG_CONFIG_HOME": known(f"{HOME}/.config"),
    "XDG_DATA_HOME": known(f"{HOME}/.local/share"),
}
"""Variables that every shell has; where the value differs from machine to machine, one that stands for all."""


@dataclass(slots=True, kw_only=True)
class Scope:
    """One shell environment. A subshell works on a copy."""

    variables: dict[str, Value]
    exported: frozenset[str] = frozenset()
    pinned: dict[str, str] = field(default_factory=dict[str, str])
    """Which alternative a variable stands for just now."""
    forks: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Variables with alternatives that were looked up."""
    cwd: str | None = None
    feeders: tuple[Command, ...] = ()
    fed_text: str | None = None
    wrappers: tuple[str, ...] = ()
    depth: int = 0
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    exports_all: bool = False
    """Whether every assignment is exported from now on: `set -a`."""
    guess: bool = False
    """Whether what is read may be no shell text."""

    def copy(self) -> Scope:
        """Return the environment of a subshell."""
        return replace(
            self, variables=dict(self.variables), pinned=dict(self.pinned), forks={}, aliases=dict(self.aliases)
        )

    def find(self, name: str) -> Value | None:
        """Return the value as far as it is known; of alternatives the pinned one, else the first."""
        if name == "PWD":
            return known(self.cwd or HERE)
        value = self.variables.get(name) or AMBIENT.get(name)
        if value is None or len(value.texts) == 1:
            return value
        self.forks[name] = value.texts
        return replace(value, texts=(self.pinned.get(name, value.texts[0]),))

    def join(self, other: Scope) -> None:
        """Take in what a branch that may have run has assigned."""
        for name, value in other.variables.items():
            mine = self.variables.get(name)
            if mine is None or mine is value:
                self.variables[name] = value
                continue
            texts = tuple(dict.fromkeys((*mine.texts, *value.texts)))
            sources = unique((*mine.sources, *value.sources))
            self.variables[name] = (
                Value(texts=texts, sources=sources, elements=value.elements)
                if len(texts) <= MOST_ALTERNATIVES
                else Value(texts=(UNKNOWN,), sources=sources)
            )
        self.cwd = other.cwd

    def move(self, target: str) -> None:
        """Change the directory, as `cd target` does."""
        if target.startswith(("/", HOME, HERE, UNKNOWN)) or self.cwd is None:
            self.cwd = target
        else:
            self.cwd = f"{self.cwd.rstrip('/')}/{target}"


def word_of(text: str, *, globbed: bool = False, built_from: tuple[str, ...] = ()) -> Word:
    """Return a finished text as a word, with its stand-ins put into the forms of the contract."""
    if text.isascii():
        return Word(text=text, globbed=globbed, tilde=False, built_from=built_from)
    is_known, tilde = UNKNOWN not in text, text.startswith(HOME)
    plain = text.replace(EMPTY, "").replace(UNKNOWN, "\0").replace(HOME, "~").replace(HERE, ".").replace(BREAK, " ")
    globbed = globbed or STAR in plain
    plain = plain.replace(STAR, "*")
    return Word(text=plain, known=is_known, globbed=globbed, tilde=tilde, built_from=built_from)


def text_of(word: Word) -> str:
    """Return a word as text that can be read once more: the inverse of `word_of`."""
    text = word.text.replace("\0", UNKNOWN)
    return HOME + text[1:] if word.tilde and text.startswith("~") else text
