"""Which words of a program may hold a command though no list says so, and which are prose, patterns or data.

What is found is a guess, read without complaint where it is none. Programs whose words are prose are left out, and so
is what stands behind an option that takes prose.
"""

from __future__ import annotations

import itertools
import re
import shlex
from typing import TYPE_CHECKING

from assent.shell.inside.embedded import SPEAKS, begins_one, embedded, starts_a_shell, tails
from assent.shell.inside.settings import is_run
from assent.shell.lists import listed
from assent.shell.programs.operands import OPERANDS
from assent.shell.programs.outputs import output_of
from assent.shell.programs.programs import language_of
from assent.shell.words.scope import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assent.shell.words.script import Command

_TAKES_PROSE = listed(
    "bd man tldr cheat help info whatis apropos type which alias "
    ": true false cd pushd set export read local let shift exit return ls kill notify-send logger wall say "
    "espeak figlet cowsay todo jira note zenity dialog whiptail claude llm codex gemini aider history fc "
    "echo printf print grep egrep fgrep rg ag ack zgrep ugrep awk gawk mawk nawk sed gsed jq yq gh glab hub curl wget http "
    "slack slack-cli slackcat teams-cli signal-cli telegram-cli discord-cli m365 "
    "https xh test [ [[ assent cat tee pytest trap declare typeset readonly unset wc sort uniq cut tr diff comm less more"
)
_INSTALLS = listed(
    "apt apt-get dnf yum brew pacman apk zypper snap-store pip pip3 go make gmake "
    "npm yarn pnpm npx find xargs sudo env git hg svn task hash dpkg rpm"
)
"""Their words are names, of packages most of all: only a word with blanks in it may be a command."""
_GIT_RUNS = listed(
    "config bisect submodule rebase filter-branch difftool mergetool clone fetch pull push ls-remote archive credential "
    "send-email daemon instaweb svn p4 web--browse remote upload-pack receive-pack maintenance"
)
"""What git does with texts that it runs; the rest of its texts are messages and patterns."""
_PROSE_OPTIONS = re.compile(
    r"-[a-z]{0,3}m|--(?:message|msg|title|body|description|desc|notes?|comment|text|subject|summary|prompt|reason|annotation|grep|label|name|author)"
)
_OTHER_SHELLS = listed("pwsh powershell nu xonsh elvish")
"""Their text is not read as they read it."""
_TITLES = re.compile(r"-m|--(?:message|title|description)")
_RUNS_TEXTS = re.compile(r"(?:run|exec|execute)(?:[-_]\w{1,20})?|\w{1,20}[-_](?:run|exec|command)|shell|script")
_NOTES = listed("add annotate append prepend log modify mod")
DATABASES = listed(
    "psql pgcli mysql mariadb mycli sqlite3 sqlite sqlcipher litecli duckdb sqlplus sqlcmd isql usql mssql-cli mongo "
    "mongosh cockroach clickhouse-client clickhouse-local clickhouse tsql vsql mysqlsh cqlsh redis-cli valkey-cli"
)
_ESCAPES_OF_SQL = re.compile(
    r"\\|\bsystem\b|\bPROGRAM\b|^\s*[.!:]|xp_cmdshell|\bexec|\brun|shell|sys_|edit\(|writefile|command|language|\bset\b|pager|executable|EDITOR|`|\bos\.|\beval\b|setenv",
    re.IGNORECASE,
)
"""Without any of these, what a database is told is kept, not run."""
_ELSEWHERE = listed("clush fab dcli ansible-console rundeck psrun mssh csshx polysh teleport tsh boundary")
"""They run a text on other machines."""
_LONGEST = 400  # words
_MOST_SOURCES = 8
_COMMANDERS = listed("gcloud aws gsutil az crontab rclone mc s3cmd kubectl oc")
"""Programs with files for operands that run commands behind `--` as well."""
_ATTACHED = re.compile(r"-[a-zA-Z](?=\w)|\+[A-Z]{1,3}(?=[a-z])")
_COMPOUND = re.compile(r"[\s,\"'`(|]")
_NAMES_A_SHELL = re.compile(r"(?:.*[=/])?(?:ba|da|z|k|a)?sh|--shell")
_PROSE_NAMES = re.compile(
    r"\w{0,40}(?:MSG|MESSAGE|TITLE|BODY|TEXT|PROMPT|DESCRIPTION|COMMENT|NOTE|NOTES|PATTERN|REGEX|QUERY|LOG|NAME)",
    re.IGNORECASE,
)


def takes_prose(program: str) -> bool:
    """Whether the program's words may be prose: messages, patterns, what is sent or printed."""
    return program in _TAKES_PROSE or program == "git"


def only_speaks(program: str) -> bool:
    """Whether the program prints, looks for or explains what its words say, and does none of it."""
    return program in _TAKES_PROSE and program not in _ACTS


_ESCAPES = listed("awk gawk mawk nawk sed gsed less more man")
_ACTS = listed(
    "gh glab hub curl wget http https xh assent awk gawk mawk nawk sed gsed task trap jira slack slack-cli slackcat teams-cli "
    "signal-cli telegram-cli discord-cli m365"
)
"""What they are told as prose they also send or do."""


def guessed(command: Command, own: Sequence[str]) -> Iterator[str]:
    """Yield what may be a command among the words, and in the input, of a program that is not known.

    `own` are the words that belong to the program itself: a wrapper's others are the command that it runs.
    """
    program, words = command.program, [text_of(word) for word in command.argv[1:]]
    if program in _TAKES_PROSE or len(words) > _LONGEST:
        yield from _told(program, words)
        return
    language = language_of(program)
    if language == "shell" and program not in _OTHER_SHELLS:
        return
    named = [text_of(word) for word in command.argv[:1] if " " in word.text]  # `BASH_FUNC_ls%%=() { …`
    for text in (*named, *_telling(program, own), *_fed(command)):
        if _COMPOUND.search(text):
            yield from _within(text)
            if found := _ATTACHED.match(text):  # `rsync -e'rm -rf /etc'`
                yield from _within(text[found.end() :])
    if (
        (program not in OPERANDS or program in _COMMANDERS)
        and program not in _INSTALLS
        and (not language or "-m" in words)
    ):
        yield from _among(program, words)


def starts_shell_in(command: Command) -> bool:
    """Whether the program's words or input start a bare shell: `vim -c ':!/bin/sh'`."""
    program = command.program
    if (program in _TAKES_PROSE and program not in _ESCAPES) or language_of(program) == "shell":
        return False
    return any(map(starts_a_shell, (*(text_of(word) for word in command.argv[1:]), command.fed_text or "")))


def _told(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield what programs of prose run all the same."""
    if program in {"let", "test", "[", "[[", "declare", "typeset", "printf", "fc", "history"}:
        for word in words:
            if "[$(" in word:
                yield word[word.index("[$(") + 3 :].rstrip(")]")
            elif program == "fc":
                yield from embedded(word)
    elif program == "gh" and list(words[:2]) == ["alias", "set"]:
        for word in words[2:]:
            yield from embedded(word)
    elif program == "gh" and "--" in words and "ssh" in words[:3]:
        yield shlex.join(words[words.index("--") + 1 :])
        yield " ".join(words[words.index("--") + 1 :])


def _fed(command: Command) -> Iterator[str]:
    """Yield what the program reads beside its words: standard input, and files that are made for it on the spot."""
    reads = command.program not in OPERANDS or command.program in INTERACTIVE | _COMMANDERS
    if command.program != "git" and reads:
        if command.fed_text and (command.program not in DATABASES or _ESCAPES_OF_SQL.search(command.fed_text)):
            yield command.fed_text
        for source in command.arguments_from[:_MOST_SOURCES]:
            if text := output_of([source]):
                yield text


def _among(program: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the words from a place on where a command may begin."""
    if "--" in words:
        behind = words[words.index("--") + 1 :]
        yield shlex.join(behind)
        yield from (word for word in behind if " " in word)
    if program in _ELSEWHERE:
        yield from (word for word in words if " " in word)
    yield from tails(words)
    for at, word in enumerate(words[1:-1], start=1):
        if word == "-c" and any(map(_NAMES_A_SHELL.fullmatch, words[:at])):
            yield words[at + 1]


INTERACTIVE = listed("ed red ex vi vim nvim view sftp ftp lftp mail mailx mutt less more telnet smbclient")
"""Programs with files for words that read commands of their own, and run shell text, from their input."""


def guessed_in_variable(name: str, value: str) -> Iterator[str]:
    """Yield what may be a command in a variable that is set for a program."""
    if _COMPOUND.search(value) and not is_run(name) and not _PROSE_NAMES.fullmatch(name):
        yield from _within(value)


def _within(text: str) -> Iterator[str]:
    """Yield what may be a command in the text; a text that begins as a command which only speaks is that one."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    if first in SPEAKS:
        yield from (text,) if begins_one(text) or ">" in text else ()
    else:
        yield from embedded(text)


def _telling(program: str, words: Sequence[str]) -> Sequence[str]:
    """Return the words that may hold a command: not what stands behind an option that takes prose."""
    if program == "git":
        given = [following for word, following in itertools.pairwise(words) if word == "-c"]
        action = next((word for word in words if not word.startswith("-") and word not in given), "")
        return [*given, *words] if action in _GIT_RUNS else given
    if (program == "task" and set(words[:3]) & _NOTES) or (
        program == "tmux" and any(word.startswith("display") and "popup" not in word for word in words)
    ):
        return ()
    if {"echo", "echo_append"} & set(words[:2]):  # `cmake -E echo`, and its like
        return ()
    if program in DATABASES:
        return [word for word in words if _ESCAPES_OF_SQL.search(word)]
    prose = _TITLES if any(map(_RUNS_TEXTS.fullmatch, words[:3])) else _PROSE_OPTIONS
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not prose.fullmatch(before) and not prose.fullmatch(word.partition("=")[0])
    ]
