"""What the walk over a text and the shell's own commands need of whoever follows commands: `dispatch.Dispatcher`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from assent.shell.words.skeleton import RawRedirect

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import Node

    from assent.shell.words.scope import Scope, Value
    from assent.shell.words.script import Command, Word

Raw: TypeAlias = str | RawRedirect
Definition: TypeAlias = "tuple[Node, tuple[Raw, ...]]"
"""A function's body, and what stands behind its marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What a command reads on standard input."""

    feeders: tuple[Command, ...] = ()
    fed_text: str | None = None


class Follower(Protocol):
    """Turns single commands into `Command` values and follows what they run."""

    @property
    def functions(self) -> dict[str, Definition]:
        """The functions that the text has defined so far."""
        ...

    def emit(self, command: Command) -> Command:
        """Note a command, and what it writes into a file."""
        ...

    def written(self, file: Word) -> str | None:
        """Return what the text has written into the file, as far as known."""
        ...

    def simple(self, raws: Sequence[Raw], scope: Scope) -> list[Command]:
        """Read a simple command."""
        ...

    def expand(self, raws: Sequence[str], scope: Scope) -> tuple[list[Word], tuple[Command, ...]]:
        """Expand words, with the commands inside them."""
        ...

    def redirected(self, raws: Sequence[Raw], scope: Scope) -> Input:
        """Read the redirections of a compound command."""
        ...

    def perform(self, command: Command, scope: Scope, ahead: dict[str, Value] | None = None) -> list[Command]:
        """Follow what a command runs."""
        ...

    def nested(self, text: str, command: Command, scope: Scope, arguments: Sequence[Word] = ()) -> list[Command]:
        """Read a text that runs in a shell of its own."""
        ...

    def run_by_variables(self, given: Mapping[str, str], command: Command, scope: Scope) -> None:
        """Read the texts in variables that some program runs."""
        ...

    def here(self, text: str, command: Command, scope: Scope) -> list[Command]:
        """Read a text that runs in this shell."""
        ...
