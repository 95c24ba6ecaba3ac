"""A rule on length: rules look at so many words and characters of a command, and what stands behind them is no less told.

Four hundred options before `destroy`, or ten thousand characters before `drop table`, and no rule would see it. People
are asked. Left alone is who is honestly told much: shells and languages (their own reading has its bounds), prose, lists
of files for the programs at home, and what is said behind a wrapper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.guards.beyond.kept_rows import rows_of
from assent.guards.beyond.verb_lists import AT_HOME
from assent.guards.commands.findings import doubtful
from assent.guards.statements.ending import DATABASES
from assent.shell.inside.guessing import takes_prose
from assent.shell.lists import listed
from assent.shell.programs.programs import language_of
from assent.shell.programs.wrappers import WRAPPERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_MOST_WORDS = 400
_LONGEST = 4_000
_LONGEST_INPUT = 20_000
_SENDERS = listed("curl wget http https xh curlie httpie nc ncat netcat socat openssl grpcurl websocat")
_WINDOWS = listed("pwsh powershell cmd")
_LIST_FILES = listed("add rm diff checkout restore log show ls-files blame commit mv grep update-index difftool stash")
"""What git does with a list of files, which may be long."""


def on_padding(command: Command) -> Iterator[Finding]:
    """Ask where a command has more words, or longer ones, than rules look at."""
    program = command.program
    if not program or (language_of(program) and program not in _WINDOWS):
        return
    words = command.argv[1:]
    looked_at = program not in AT_HOME or bool(rows_of(program)) or program in _WINDOWS
    if len(words) > _MOST_WORDS and looked_at and not (program == "git" and _lists_files(command)):
        yield doubtful(f"{program} has more words ({len(words)}) than are looked at ({_MOST_WORDS})")
        return
    told = DATABASES | _SENDERS | _WINDOWS
    if (
        program in told
        or not (program in AT_HOME or program in WRAPPERS or takes_prose(program))
        or _calls_a_forge(command)
    ):
        length = sum(len(word.text) for word in words)
        if length > (_LONGEST_INPUT if program in DATABASES else _LONGEST):
            yield doubtful(f"{program} is told more ({length} characters) than is looked at")
        elif program in DATABASES | _WINDOWS and len(command.fed_text or "") > _LONGEST_INPUT:
            yield doubtful(f"{program} is fed more ({len(command.fed_text or '')} characters) than is looked at")


def _lists_files(command: Command) -> bool:
    return any(word.text in _LIST_FILES for word in command.argv[1:8])


def _calls_a_forge(command: Command) -> bool:
    return command.program in {"gh", "glab", "hub"} and [word.text for word in command.argv[1:2]] == ["api"]
