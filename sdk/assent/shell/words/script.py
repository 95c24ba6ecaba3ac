"""What a shell command text would run, as far as it can be read without running it: plain values.

`assent.shell.reading.reader.read_script` makes them; guards judge them. Everything nested (pipelines, lists, subshells,
substitutions, function bodies, `sh -c`, `eval`, `env`, `sudo`, `xargs`, `find -exec`, …) is flattened into one list of
commands, each with its wrappers taken off.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One argument after quotes, escapes and known variables are resolved."""

    text: str
    """What the command would get. An unknown part stands as `\\0`."""
    known: bool = True
    """Whether every part is resolved: no unknown variable, substitution or arithmetic is left in it."""
    globbed: bool = False
    """Whether an unquoted `*`, `?` or `[` in it would be expanded by the shell."""
    tilde: bool = False
    """Whether it begins with an unquoted `~` or is built on `$HOME`, which the shell turns into a home directory."""
    built_from: tuple[str, ...] = ()
    """The variables it was put together from; `$()` stands for a substitution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """One redirection of a command: `>`, `>>`, `>|`, `<`, `<>`, `&>`, … and its file."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the file is written (made, emptied or appended to)."""
        return ">" in self.operator

    @property
    def reads(self) -> bool:
        """Whether the file is read."""
        return "<" in self.operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One simple command: program and arguments after all wrappers, its redirections, and what feeds it."""

    argv: tuple[Word, ...]
    """Program first. Empty for a bare redirection or assignment."""
    redirects: tuple[Redirect, ...] = ()
    feeders: tuple[Command, ...] = ()
    """The commands whose output is this one's standard input through pipes, nearest first (a here-document's
    substitutions and process substitutions on standard input included)."""
    fed_text: str | None = None
    """What a here-document or here-string, or an `echo`/`printf` at the pipe's head, would feed it, where known."""
    arguments_from: tuple[Command, ...] = ()
    """The commands inside substitutions in its arguments (`$(…)`, backticks, `<(…)`)."""
    wrappers: tuple[str, ...] = ()
    """The programs that were taken off in front, outermost first: `sudo`, `env`, `xargs`, `find`, `sh`, …"""
    environment: tuple[tuple[str, Word], ...] = ()
    """Variables that the text sets for it: in front of it, through `env` or by `export`."""
    cwd: Word | None = None
    """The directory that an earlier `cd` of the same text moved to; None: the caller's."""
    guess: bool = False
    """Whether it was read out of a text that may be no shell text: only what is certainly harmful in it counts."""

    program: str = field(init=False, compare=False, repr=False)
    """The program's base name, or "" when there is none or it is not known. Rules ask for it a hundred times."""

    def __post_init__(self) -> None:
        """Name the program."""
        named = self.argv[0].text.rsplit("/", 1)[-1] if self.argv and self.argv[0].known else ""
        object.__setattr__(self, "program", named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All commands of a text in reading order, and what could not be read."""

    commands: tuple[Command, ...]
    unread: tuple[str, ...] = ()
    """Why parts could not be read (syntax, unknown program name, too deep, too long), one sentence each."""
    defines: tuple[str, ...] = field(default=())
    """Names of functions that it defines and that call themselves in a pipe or in the background (fork bombs)."""
