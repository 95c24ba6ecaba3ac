"""Rules on permissions: what opens files to everybody, gives them rights or hands them to another owner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import blocked, doubtful, has, operands, options, shown
from assent.guards.commands.places import git_hooks, named, of_the_system, place, protected, system_file, system_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Word

_MODES = frozenset({"chmod", "gchmod"})
_OWNERS = frozenset({"chown", "gchown", "chgrp"})
_OCTAL = re.compile(r"[0-7]{1,5}")
_CLAUSE = re.compile(r"(?P<who>[ugoa]*)(?P<changes>(?:[-+=][rwxXstugo]*)+)")
_RUNS_AS_ROOT = re.compile(r"/(?:sudo|su|passwd|pkexec|mount|umount|newgrp|chsh|doas)$")
_CHANGE = re.compile(r"([-+=])([rwxXstugo]*)")


def on_permissions(command: Command) -> Iterator[Finding]:
    """Opening files to everybody, set-user-id, and taking system directories from their owner."""
    program = command.program
    if program in _MODES:
        yield from _chmod(command)
    elif program in _OWNERS:
        yield from _chown(command)
    elif program in {"install", "mkdir", "ginstall"}:
        for word, following in zip(command.argv, command.argv[1:], strict=False):
            mode = following.text if word.text in {"-m", "--mode"} else word.text.removeprefix("--mode=")
            mode = word.text[2:] if re.fullmatch(r"-m[0-7]+", word.text) else mode
            if (
                (_OCTAL.fullmatch(mode) or _CLAUSE.fullmatch(mode.partition(",")[0]))
                and (why := _opens(mode))
                and word.text.startswith("-")
            ):
                yield blocked(f"{program} with mode {mode} {why}")
    elif program == "setfacl" and any(
        re.search(r"(?:^|,)(?:d:|default:)?o(?:ther)?::?r?w", w.text) for w in command.argv
    ):
        yield blocked("setfacl lets everybody write")


def _chmod(command: Command) -> Iterator[Finding]:
    words = [word for word in command.argv[1:] if not re.fullmatch(r"-[RfvcHLP]+|--[a-z-]+(?:=.*)?", word.text)]
    if any(word.text.startswith("--reference") for word in command.argv):
        yield from _taken_over(command)
        return
    if not words:
        return
    recursive = has(command, "R", "--recursive")
    mode, targets = words[0], words[1:]
    if not mode.known:
        yield doubtful("chmod sets a mode that is known only when it runs")
    elif why := _opens(mode.text):
        yield blocked(f"chmod {mode.text} {why}")
    for word in targets:
        yield from _changed(word, mode.text, command, recursive=recursive)


def _changed(word: Word, mode: str, command: Command, *, recursive: bool) -> Iterator[Finding]:
    path = place(word, command.cwd)
    ours = path.startswith(("~", "."))
    shuts = bool(re.fullmatch(r"0+", mode) or re.match(r"[ugoa]*(?:-rwx|=$|=,)", mode))
    if not ours and (protected(path, globbed=word.globbed) or of_the_system(path)) and (recursive or shuts):
        yield blocked(f"chmod {mode} {shown(word)} changes permissions all over {named(path)}")
    elif shuts and (system_file(path) or (protected(path, globbed=word.globbed) and (recursive or path == "~"))):
        yield blocked(f"chmod {mode} {shown(word)} locks everybody out")
    elif system_program(path) and re.match(r"[ugoa]*-\w*x", mode):
        yield blocked(f"chmod {mode} {shown(word)} keeps a program of the system from running")
    elif "\0" in path and recursive and path.startswith("\0"):
        yield doubtful(f"chmod -R {shown(word)}: what it changes is known only when it runs")
    elif "/hooks/" in f"{path}/" and git_hooks(path) and ("-x" in mode or shuts):
        yield blocked(f"chmod {mode} {shown(word)} switches git hooks off")


def _taken_over(command: Command) -> Iterator[Finding]:
    if any(_RUNS_AS_ROOT.search(word.text) for word in command.argv):
        yield blocked("chmod takes over the rights of a program that runs as root")


def _opens(mode: str) -> str:
    """Return what is wrong with the mode, or ""."""
    if _OCTAL.fullmatch(mode.lstrip("=+")):
        bits = int(mode.lstrip("=+"), 8)
        if bits & 0o002 and not bits & 0o1000:
            return "lets everybody write"
        return "sets the set-user-id bit: it would run with its owner's rights" if bits & 0o4000 else ""
    for clause in mode.split(","):
        found = _CLAUSE.fullmatch(clause)
        if not found:
            continue
        who = found["who"]
        for sign, letters in _CHANGE.findall(found["changes"]):
            if sign != "-" and "w" in letters and set(who) & {"o", "a"}:
                return "lets everybody write"
            if sign != "-" and "s" in letters and (not who or set(who) & {"u", "a"}):
                return "sets the set-user-id bit: it would run with its owner's rights"
    return ""


def _chown(command: Command) -> Iterator[Finding]:
    words = operands(command)
    targets = words if any(text.startswith("--reference") for text in options(command)) else words[1:]
    for word in targets:
        path = place(word, command.cwd)
        said = f"{command.program} {shown(word)}"
        if path == "~" and has(command, "R", "--recursive"):
            yield doubtful(f"{said} gives all that is a person's own to somebody else")
        elif path.startswith(("~", ".")):
            if path.startswith("..") and protected(path):
                yield doubtful(f"{said} takes over a tree above the current one")
        elif "\0" in path:
            if path.startswith("\0") and has(command, "R", "--recursive"):
                yield doubtful(f"{said}: what it takes over is known only when it runs")
        elif protected(path, globbed=word.globbed) or system_file(path):
            yield blocked(f"{said} takes {named(path)} from its owner")
        elif system_program(path) or (of_the_system(path) and has(command, "R", "--recursive")):
            yield blocked(f"{said} takes what belongs to the system from its owner")
