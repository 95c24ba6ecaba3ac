"""What a rule of the command guard finds, and how options are looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assent.shell.words.script import Command, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a command must not run, or (`certain` False) why people must look at it first."""

    reason: str
    certain: bool = True


def blocked(reason: str) -> Finding:
    """Return the finding that denies."""
    return Finding(reason=reason)


def doubtful(reason: str) -> Finding:
    """Return the finding that asks."""
    return Finding(reason=reason, certain=False)


def shown(word: Word) -> str:
    """Return a word as it is told to people, shortened, its unknown parts as `?`."""
    text = word.text.replace("\0", "?")
    return text if len(text) <= 60 else f"{text[:57]}…"


def options(command: Command) -> list[str]:
    """Return the words in front of `--` that begin with a dash."""
    found: list[str] = []
    for word in command.argv[1:]:
        if word.text == "--":
            break
        if word.text.startswith("-") and len(word.text) > 1:
            found.append(word.text)
    return found


def has(command: Command, letters: str = "", *names: str) -> bool:
    """Whether one of the short option letters or long names (or an abbreviation of one) is given."""
    for text in options(command):
        if text.startswith("--"):
            bare = text.partition("=")[0]
            if any(name.startswith(bare) and len(bare) > 3 for name in names):
                return True
        elif text in names or any(letter in text[1:] for letter in letters):
            return True
    return False


def operands(command: Command) -> list[Word]:
    """Return the words that are no options."""
    found: list[Word] = []
    ended = False
    for word in command.argv[1:]:
        if ended or not word.text.startswith("-") or word.text == "-":
            found.append(word)
        ended = ended or word.text == "--"
    return found


def behind(command: Command) -> Iterator[Command]:
    """Yield every command whose output reaches this one: through pipes, substitutions, variables; each once."""
    yield from closure((*command.feeders, *command.arguments_from))


def closure(commands: Iterable[Command]) -> Iterator[Command]:
    """Yield the commands and everything behind them, each once."""
    waiting, seen = list(commands), set[int]()
    while waiting:
        command = waiting.pop(0)
        if id(command) in seen:
            continue
        seen.add(id(command))
        yield command
        waiting.extend((*command.feeders, *command.arguments_from))
