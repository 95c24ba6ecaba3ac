"""`find` and the programs that list paths: where they look, and what they run on what they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.lists import listed
from assent.shell.words.scope import HERE, text_of, word_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.shell.words.script import Command, Word

FOUND = "{}"
"""Stands for what is found: `dir/{}` for everything below `dir`, `dir/{}/name` for a choice of it."""

CHOSEN = f"{FOUND}/some"
"""Stands for a choice of what is below a directory, made by more than the name."""

_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname"})
_FILTERS = _NAMES | listed(
    "-mtime -mmin -atime -amin -ctime -cmin -newer -size -empty -perm -user -group -links -inum -samefile -nouser"
)
_TESTERS = frozenset({"test", "[", "grep", "git"})
"""With `-exec` they choose what is found."""
_LISTERS = frozenset({"fd", "fdfind", "ag"})
_GREPS = frozenset({"grep", "egrep", "rg"})
_SIFTERS = listed("grep egrep rg sort uniq head tail tac cat tr shuf sed awk cut tee")


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A call of `find`."""

    roots: tuple[str, ...]
    leaf: str
    filtered: bool
    """Whether it chooses by more than the type of file."""
    deletes: bool
    inner: tuple[tuple[Word, ...], ...]
    """The commands that it runs, as written."""

    @property
    def found(self) -> tuple[str, ...]:
        """The paths that stand for what it finds."""
        return tuple(f"{'' if root == '/' else root}/{self.leaf}" for root in self.roots)


def read_find(argv: Sequence[Word]) -> Find:
    """Read the words of a call of `find`."""
    at = 1
    while at < len(argv) and argv[at].text in {"-H", "-L", "-P", "-O1", "-O2", "-O3", "-E", "-X", "-x"}:
        at += 1
    roots: list[str] = []
    while at < len(argv) and not argv[at].text.startswith(("-", "(", "!", ")")):
        roots.append(_bare(text_of(argv[at])))
        at += 1
    inner: list[tuple[Word, ...]] = []
    names: list[str] = []
    filtered = deletes = False
    while at < len(argv):
        text = argv[at].text
        if text in _EXECUTES:
            end = _command_end(argv, at + 1)
            inner.append(tuple(argv[at + 1 : end]))
            filtered = filtered or (end > at + 1 and argv[at + 1].text in _TESTERS and not deletes)
            at = end
        elif text in _NAMES and at + 1 < len(argv):
            if argv[at - 1].text in {"!", "-not"}:
                at += 2  # all but one is as good as all
                continue
            names.append(argv[at + 1].text)
            at += 1
        filtered = filtered or (text in _FILTERS and names[-1:] != ["*"])
        deletes = deletes or text == "-delete"
        at += 1
    leaf = FOUND
    if filtered:
        leaf = f"{FOUND}/{names[0].rsplit('/', 1)[-1]}" if names else CHOSEN
    return Find(roots=tuple(roots) or (HERE,), leaf=leaf, filtered=filtered, deletes=deletes, inner=tuple(inner))


def put_in(argv: Sequence[Word], path: str, token: str = FOUND) -> tuple[Word, ...]:
    """Return the words with `path` in place of the token."""
    return tuple(word_of(text_of(word).replace(token, path)) if token in word.text else word for word in argv)


def listed_by(commands: Sequence[Command]) -> tuple[str, ...]:
    """Return what stands for the paths that a pipe (nearest command first) lists; empty when that is not known."""
    for command in commands:
        program = command.program
        if program == "find":
            return read_find(command.argv).found
        if program == "ls":
            return _listed_by_ls(command)
        if program in _LISTERS or _names_files(program, command):
            return (f"{HERE}/{CHOSEN}",)
        if program not in _SIFTERS:
            return ()
    return ()


def _names_files(program: str, command: Command) -> bool:
    if program == "git":
        return any(word.text in {"ls-files", "diff", "status", "grep"} for word in command.argv[1:])
    return program in _GREPS and any(word.text.startswith("-") and "l" in word.text for word in command.argv[1:])


def _listed_by_ls(command: Command) -> tuple[str, ...]:
    operands = [word for word in command.argv[1:] if not word.text.startswith("-")]
    if not operands:
        return (f"{HERE}/{FOUND}",)
    return tuple(text_of(word) if word.globbed else f"{_bare(text_of(word))}/{FOUND}" for word in operands)


def _bare(root: str) -> str:
    return root.rstrip("/") or "/"


def _command_end(argv: Sequence[Word], at: int) -> int:
    while at < len(argv) and argv[at].text != ";" and not (argv[at].text == "+" and argv[at - 1].text == FOUND):
        at += 1
    return at
