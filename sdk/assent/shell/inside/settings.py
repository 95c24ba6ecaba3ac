"""Shell text inside settings: environment variables that programs run, and what git runs for a key or an option."""

from __future__ import annotations

import itertools
import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RUN_BY_NAME = re.compile(
    r"\w{0,20}(?:EDITOR|PAGER|VISUAL|BROWSER|ASKPASS)|(?:GIT|RSYNC|CVS|SVN|HG)_(?:SSH|RSH)(?:_COMMAND)?|GIT_EXTERNAL_DIFF"
    r"|GIT_PROXY_COMMAND|GIT_CONFIG_VALUE_\d{1,4}|PROMPT_COMMAND|PS[014]|LESS(?:OPEN|CLOSE)|PERL5DB|FCEDIT|MAILER|\w{0,20}WRAPPER|CC|CXX|AR|LD"
)
"""Variables whose value some program, or the shell itself, runs."""
RUN_BY_SHELLS = frozenset({"PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4"})
_CHECKPOINTS = re.compile(r"--(?:checkpoint-action=exec|to-command|use-compress-program|rmt-command|rsh-command)=(.+)")
_OPTIONS_OF_TAR = "TAR_OPTIONS"
_KEY = re.compile(r"\s-i\s*\S+")
_PERL_RUNS = re.compile(r"\b(?:system|exec)\b[\s(]{0,4}([\"'])(.{1,2000}?)\1")

_GIT_KEYS = re.compile(
    r"alias\.\S+|pager\.\S+|core\.(?:pager|sshcommand|fsmonitor|editor|askpass|gitproxy|alternaterefscommand)|sequence\.editor"
    r"|diff\.external|(?:diff|merge|difftool|mergetool)\.\S*(?:command|cmd|driver|textconv|path)|interactive\.difffilter"
    r"|filter\.\S*\.(?:clean|smudge|process)|credential\.(?:\S*\.)?helper|gpg\.(?:\S*\.)?program|(?:man|browser|web)\.\S*(?:cmd|path|browser)"
    r"|uploadpack\.packobjectshook|sendemail\.\S*(?:server|cmd)|trailer\.\S*\.(?:command|cmd)|remote\.\S*\.(?:uploadpack|receivepack|vcs)"
    r"|submodule\.\S*\.update|tar\.\S*\.command|guitool\.\S*\.cmd",
    re.IGNORECASE,
)
"""Settings of git whose value it runs."""
_GIT_TRANSPORTS = frozenset({"--upload-pack", "--receive-pack", "--exec", "--open-files-in-pager"})
_TAKE_A_PACKER = frozenset({"clone", "fetch", "pull", "ls-remote", "push", "archive", "submodule"})
_SHELLS_OUT = re.compile(r"(?:url\.)?ext::(.+?)(?:\.insteadof=.*|$)|-O(.+)", re.IGNORECASE | re.DOTALL)
_ESCAPED = re.compile(r"[^\s%]{1,200}(?:%\s[^\s%]{1,200}){1,50}")  # a blank inside a word, as `ext::` has it
_CALLBACK = re.compile(r"--[\w-]{1,30}-callback")


def text_run_for(name: str, value: str) -> str:
    """Return the shell text that the variable makes some program run, or ""."""
    if name == _OPTIONS_OF_TAR:
        found = _CHECKPOINTS.search(value)
        return found[1].strip("\"'") if found else ""
    if not _RUN_BY_NAME.fullmatch(name):
        return ""
    if name == "PERL5DB":
        found = _PERL_RUNS.search(value)
        return found[2] if found else ""
    # A connection may name its key: only the program that makes the connection reads it.
    text = _KEY.sub("", value) if "SSH" in name else value
    return text.lstrip("|!- ") if " " in text.strip() else ""


def is_run(name: str) -> bool:
    """Whether some program runs the variable's value."""
    return name == _OPTIONS_OF_TAR or _RUN_BY_NAME.fullmatch(name) is not None


def git_texts(words: Sequence[str]) -> Iterator[str]:
    """Yield the shell texts in the words behind `git`: values of keys, transports' programs, callbacks are left out."""
    for word, following in itertools.pairwise((*words, "")):
        name, equals, value = word.partition("=")
        if name in _GIT_TRANSPORTS:
            yield value if equals else following
        elif word == "-u" and _TAKE_A_PACKER & set(words):
            yield following
        elif equals and _GIT_KEYS.fullmatch(name.removeprefix("--config=")):
            yield value.lstrip("!")
        elif name == "--config" and equals and _GIT_KEYS.fullmatch(value.partition("=")[0]):
            yield value.partition("=")[2].lstrip("!")
        elif found := _SHELLS_OUT.match(word):
            yield _ESCAPED.sub(lambda word: shlex.quote(word[0].replace("% ", " ")), found[1] or found[2])
    if "config" in words[:6]:
        for name, value in itertools.pairwise(words):
            if _GIT_KEYS.fullmatch(name):
                yield value.lstrip("!")


def git_callbacks(words: Sequence[str]) -> Iterator[str]:
    """Yield the Python code that `git filter-repo` runs on each commit."""
    for word, following in itertools.pairwise((*words, "")):
        name, equals, value = word.partition("=")
        if _CALLBACK.fullmatch(name):
            yield value if equals else following
