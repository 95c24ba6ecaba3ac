"""Rules on traces: histories, login records and logs by which people see afterwards what was done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.guards.commands.findings import doubtful, has, operands, shown
from assent.guards.commands.places import place
from assent.shell.programs.files import touched_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_RECORDS = re.compile(
    r"/var/log/(?:auth\.log|secure|wtmp|btmp|lastlog|faillog|tallylog|utmp|audit(?:/.{1,100})?|syslog|messages|kern\.log"
    r"|sudo\.log|journal(?:/.{1,100})?|cron|maillog|daemon\.log)(?:\.\d)?\*?|/var/run/utmp|/run/utmp|/var/account/.{1,60}"
)
_HISTORIES = re.compile(r"~/\.(?:\w{1,12}_)?(?:history|histfile|lesshst|viminfo)|~/\.local/share/fish/fish_history")
_HISTORY_VARIABLE = re.compile(r"(?:HISTFILE|HISTSIZE|HISTFILESIZE|SAVEHIST)=(?:/dev/null|0|-?1|)")
_HISTORY_NAMES = frozenset({"HISTFILE", "HISTSIZE", "HISTFILESIZE", "PROMPT_COMMAND", "SAVEHIST"})
_REMOVES = frozenset({"rm", "unlink", "shred", "truncate", "srm", "wipe", "ln", "mv", "trash", "chattr"})
_MOST = 400
_SYSTEM_DIRS = ("/bin/", "/sbin/", "/usr/", "/etc/", "/var/log/", "/lib/", "/boot/")


def on_traces(command: Command) -> Iterator[Finding]:
    """Ask before a history, a record of logins or a log of the system is emptied, or kept from being written."""
    program, texts = command.program, [word.text for word in command.argv[1:]]
    if program == "history" and has(command, "cd", "-c", "-d"):
        yield doubtful("history -c wipes what was done here")
    elif _keeps_no_history(command, texts):
        yield doubtful("what is done from here on is kept in no history")
    elif program == "dmesg" and has(command, "cC", "--clear", "--read-clear"):
        yield doubtful("dmesg wipes the kernel's messages")
    elif program == "touch" and has(command, "rtd", "--reference", "--date") and _of_the_system(command):
        yield doubtful("touch gives a file of the system another time")
    if _may_be(command):
        yield from _emptied(command)


def _may_be(command: Command) -> bool:
    """Whether any of its words can be such a file's: asked first, as what a program writes is read slowly."""
    words = (*command.argv[:_MOST], *(redirect.target for redirect in command.redirects), *filter(None, (command.cwd,)))
    return any(
        mark in word.text for word in words for mark in ("/log", "hist", "/run", "account", "lesshst", "viminfo")
    )


def _keeps_no_history(command: Command, texts: list[str]) -> bool:
    match command.program:
        case "unset":
            return not _HISTORY_NAMES.isdisjoint(texts)
        case "set":
            return texts[:2] == ["+o", "history"]
        case "export" | "declare" | "typeset" | "readonly" | "local":
            return any(map(_HISTORY_VARIABLE.fullmatch, texts))
        case _:
            return any(_HISTORY_VARIABLE.fullmatch(f"{name}={word.text}") for name, word in command.environment)


def _of_the_system(command: Command) -> bool:
    return any(place(word, command.cwd).startswith(_SYSTEM_DIRS) for word in operands(command)[-1:])


def _emptied(command: Command) -> Iterator[Finding]:
    words = operands(command) if command.program in _REMOVES else []
    appended = [redirect.target for redirect in command.redirects if redirect.operator == ">>"]
    words += [
        touched.path
        for touched in touched_by(command)
        if touched.mode == "write" and touched.path not in appended and not has(command, "", "--append")
    ]
    for word in words:
        path = place(word, command.cwd)
        if _RECORDS.fullmatch(path) or (_HISTORIES.fullmatch(path) and command.program != "ln"):
            yield doubtful(
                f"{command.program or 'a redirection'} wipes or changes {shown(word)}, which tells what was done"
            )
            return
