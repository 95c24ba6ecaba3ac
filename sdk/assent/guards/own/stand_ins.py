"""Rules on stand-ins: a harmful program under another name, and another program under an everyday name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import doubtful, operands, shown
from assent.guards.commands.places import place
from assent.shell.lists import listed
from assent.shell.programs.files import touched_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command, Word

_PROGRAMS = re.compile(r"/(?:usr/)?(?:local/)?s?bin/")
_HARMFUL = frozenset(
    {
        "rm",
        "dd",
        "shred",
        "mkfs",
        "sh",
        "bash",
        "dash",
        "zsh",
        "sudo",
        "su",
        "wipefs",
        "kill",
        "shutdown",
        "nc",
        "chmod",
    }
)
_EVERYDAY = listed(
    "git ssh scp sudo su ls cat cd ps kill curl wget python python3 pip node npm npx docker kubectl aws gcloud az terraform helm make "
    "bash sh zsh grep find sed awk vim vi nano code gpg openssl psql mysql systemctl crontab login passwd id env which go cargo assent"
)
_FOLDERS = re.compile(
    r"(?:~/(?:\.local/)?bin|/usr/local/s?bin|~/\.cargo/bin|~/go/bin|/opt/homebrew/bin)/([\w.+-]{1,60})"
)


def on_stand_ins(command: Command) -> Iterator[Finding]:
    """Ask before a program gets the name of another one, so that who calls it does not know what runs."""
    if command.program in {"cp", "gcp", "ln", "install", "mv"}:
        yield from _renamed(command)
    if not any("bin" in word.text for word in (*command.argv[:400], *_targets(command))):
        return
    written = [touched.path for touched in touched_by(command) if touched.mode == "write"]
    for word in (*written, *(operands(command)[1:] if command.program == "ln" else [])):
        found = _FOLDERS.fullmatch(place(word, command.cwd))
        if found and found[1] in _EVERYDAY:
            yield doubtful(f"{shown(word)} would run whenever {found[1]} is called")
            return


def _targets(command: Command) -> Iterator[Word]:
    yield from (redirect.target for redirect in command.redirects)
    if command.cwd is not None:
        yield command.cwd


def _renamed(command: Command) -> Iterator[Finding]:
    """A program that does harm, under another name: what is called by that is judged by nobody."""
    words = operands(command)
    names = {words[0].text.rsplit("/", 1)[-1]} if len(words) > 1 and _PROGRAMS.match(words[0].text) else set[str]()
    for source in command.arguments_from:
        if source.program in {"which", "command", "type", "whereis"}:
            names.update(word.text for word in source.argv[1:])
    if found := sorted(names & _HARMFUL):
        yield doubtful(f"{command.program} gives {found[0]} another name")
