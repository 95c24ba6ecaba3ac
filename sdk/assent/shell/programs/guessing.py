"""Commands among the words of programs that no list knows: behind `--`, and from a destroyer's name on.

What is found is a guess, read without complaint where it is none. Programs whose words are prose are left out.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from assent.shell.lists import listed
from assent.shell.programs.operands import OPERANDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TAKES_PROSE = listed(
    "git hg svn jj bd fossil man tldr cheat help info whatis apropos type which hash alias "
    ": true false cd pushd set export read local let shift exit return ls test kill notify-send logger wall say "
    "espeak figlet cowsay task todo jira note osascript zenity dialog whiptail apt apt-get dnf yum brew pacman apk "
    "zypper snap-store pip pip3 cargo go make gmake tmux screen claude llm codex gemini aider history fc"
)
_ELSEWHERE = listed("clush fab dcli ansible-console rundeck psrun mssh csshx polysh teleport tsh boundary")
"""They run a text on other machines."""
_LONGEST = 400  # words
_DESTROYERS = listed("rm shred dd wipefs mkfs mkfs.ext4 chmod chown")
_SHELLS = listed("sh bash zsh dash ksh ash")
_NAMES_A_SHELL = re.compile(r"(?:.*[=/])?(?:ba|da|z|k|a)?sh|--shell")


def guessed(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield what may be a command among the words of a program that is not known."""
    if program in OPERANDS or program in _TAKES_PROSE or len(words) > _LONGEST:
        return
    yield from (word[1:] for word in words if word.startswith("|"))
    if "--" in words:
        behind = words[words.index("--") + 1 :]
        yield shlex.join(behind)
        yield from (word for word in behind if " " in word)
    if program in _ELSEWHERE:
        yield from (word for word in words if " " in word)
    yield from _tails(words)
    for at, word in enumerate(words[1:-1], start=1):
        if word == "-c" and any(map(_NAMES_A_SHELL.fullmatch, words[:at])):
            yield words[at + 1]


def _tails(words: Sequence[str]) -> Iterator[str]:
    """Yield the words from the first destroyer, or shell with a text, on: `ctr tasks exec 1 rm -rf /etc`."""
    for at, word in enumerate(words[:-1]):
        name = word.rsplit("/", 1)[-1]
        if name in _DESTROYERS or (name in _SHELLS and re.fullmatch(r"-[a-z]*c", words[at + 1])):
            yield shlex.join(words[at:])
            return
