"""Files that some programs name in ways of their own: git's revisions, docker's mounts, jq's filters, keyrings."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from assent.shell.lists import listed
from assent.shell.words.scope import HOME, text_of, word_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assent.shell.words.script import Command, Word

Mode: TypeAlias = Literal["read", "write"]

_GIT_FILES = frozenset({"-F", "--file", "-f"})
_GIT_GLOBAL_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_GIT_SHOWS = listed("show cat-file diff difftool log whatchanged blame annotate grep archive stash add hash-object")
_GIT_TAKES = listed("blame annotate grep archive diff difftool add hash-object")
"""Their operands are files (or revisions, which are no protected path)."""
_GIT_NAMES_ONLY = listed(
    "--stat --shortstat --numstat --name-only --name-status --summary --quiet --no-patch -s --dirstat"
)
_GREP_NAMES_ONLY = listed("-l -L -c --count --files-with-matches --files-without-match --name-only -q --quiet")
_REVISION = re.compile(r"(?:[^:]*|:?\d):(?P<path>[^:]+)")
_LINES = re.compile(r"-L.*:(?P<path>[^:]+)")
_CONTAINER_FILES = frozenset({"--env-file", "-f", "--file"})
_CONTAINER_VOLUMES = frozenset({"-v", "--volume"})
_MOUNT_SOURCE = re.compile(r"(?:^|,)(?:source|src)=([^,]+)")
_JQ_PAIRS = frozenset({"--arg", "--argjson"})
_JQ_FILES = frozenset({"--slurpfile", "--rawfile"})
_JQ_CODE = frozenset({"-f", "--from-file"})
_JQ_REST = frozenset({"--args", "--jsonargs"})
_YQ_WORDS = frozenset({"e", "ea", "eval", "eval-all"})
_BATCH = re.compile(r"(?:^|[;\n])\s{0,20}(?:m?put|reput|append|send|get\s+\S+)\s+(?:-\S+\s+){0,9}([^\s;]+)")
_SETTING = re.compile(
    r"(?:^|\n)\s{0,20}-{0,2}(?:upload-file|data[\w-]{0,20}|form|cookie|key|cert|cacert|netrc-file|json|url|T|d|F)\s{0,4}[=:\s]\s{0,4}"
    r"\"?(?:[\w-]{1,60}=)?(?:@|file://)?([/~.][^\s\"]{0,500})"
)
_EDITED = re.compile(
    r"(?:^|[\n|;])\s{0,20}:?(?:\d{1,9}|\$|%|\.)?(?:,(?:\d{1,9}|\$))?(?:r|re|read|e|E|w|W|wq|write|edit)!?\s{1,4}([^!\s]\S{0,500})"
)
_UPLOADS = (("gist", "create"), ("gist", "edit"), ("release", "upload"), ("release", "create"))
_LONGEST = 20_000  # characters of one text that is looked through
_STORES: Mapping[str, tuple[re.Pattern[str], str]] = {
    # program: what its words look like when it hands secrets out, and where they are kept
    **dict.fromkeys(
        ("gpg", "gpg2"), (re.compile(r".*--export-secret-(?:sub)?keys?\b.*"), f"{HOME}/.gnupg/secring.gpg")
    ),
    "pass": (
        re.compile(r"(?!(?:ls|list|find|search|git|init|version|help|insert|generate|rm|-h|--help|--version)\b).+"),
        f"{HOME}/.password-store/",
    ),
    "security": (
        re.compile(r"(?:find-\w+-password|dump-keychain|export)\b.*"),
        f"{HOME}/Library/Keychains/login.keychain-db",
    ),
    "secret-tool": (re.compile(r"(?:lookup|search)\b.*"), f"{HOME}/.local/share/keyrings/login.keyring"),
    "op": (re.compile(r"(?:read|item get|get|inject)\b.*"), f"{HOME}/.config/op/config"),
    "bw": (re.compile(r"(?:get|export|list)\b.*"), f"{HOME}/.config/Bitwarden CLI/data.json"),
    "getent": (re.compile(r".*\bg?shadow\b.*"), "/etc/shadow"),
    "kubectl": (re.compile(r".*\bconfig view\b.*--raw\b.*"), f"{HOME}/.kube/config"),
    "aws": (
        re.compile(r"configure (?:export-credentials|get \S*(?:secret|token|key))\b.*"),
        f"{HOME}/.aws/credentials",
    ),
}


def stores_of(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the keyring or password store that the command opens by its purpose, without naming its files."""
    shape, path = _STORES.get(command.program, (None, ""))
    if shape is not None and shape.fullmatch(" ".join(word.text for word in command.argv[1:])):
        yield word_of(path), "read"


def git_files(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files whose content git shows, takes in or reads a message from."""
    for place, word in enumerate(command.argv[1:-1], start=1):
        if word.text in _GIT_FILES:
            yield command.argv[place + 1], "read"
    at = 1
    while at < len(command.argv) and command.argv[at].text.startswith("-"):
        at += 2 if command.argv[at].text in _GIT_GLOBAL_VALUES else 1
    if at == len(command.argv) or command.argv[at].text not in _GIT_SHOWS:
        return
    action, words = command.argv[at].text, command.argv[at + 1 :]
    texts = {word.text for word in words}
    only_names = texts & (_GREP_NAMES_ONLY if action == "grep" else _GIT_NAMES_ONLY)
    contents = not only_names and (action not in {"log", "stash"} or _shows_patches(texts))
    yield from _git_words(action, words, contents=contents)


def _shows_patches(texts: set[str]) -> bool:
    return any(re.match(r"-p|-u|--patch|-L.|-G|-S|-c$|--cc$", text) for text in texts)


def _git_words(action: str, words: Sequence[Word], *, contents: bool) -> Iterator[tuple[Word, Mode]]:
    behind = False
    pattern = action == "grep" and not any(word.text in {"-e", "-f"} for word in words)
    for word in words:
        text = text_of(word)
        if text == "--" or text.startswith("-"):
            behind = behind or text == "--"
            if found := _LINES.fullmatch(text):
                yield word_of(found["path"]), "read"
        elif pattern:
            pattern = False
            continue
        elif contents and (behind or action in _GIT_TAKES):
            yield word, "read"
        if not behind and (found := _REVISION.fullmatch(text)):
            yield word_of(found["path"]), "read"


def container_files(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield what docker and its kin read from the host or mount into a container."""
    argv = command.argv
    for word, following in itertools.zip_longest(argv[1:], argv[2:]):
        name, equals, given = text_of(word).partition("=")
        value = given if equals else text_of(following) if following is not None else ""
        if re.match(r"-v.", name):
            name, value = "-v", text_of(word)[2:]
        if name in _CONTAINER_FILES:
            yield word_of(value), "read"
        elif name in _CONTAINER_VOLUMES and ":" in value and re.match(r"[./~\\\ue000\ue001\ue002]", value):
            yield word_of(value.partition(":")[0]), "read"
        elif name in {"--mount", "--secret", "--ssh"} and (source := _MOUNT_SOURCE.search(value)):
            yield word_of(source[1]), "read"
        elif word.text == "cp" and word is argv[1]:
            for each in argv[2:]:
                yield each, "read"


def filter_files(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files of jq and yq: the first operand is a filter (`.key`), not a file."""
    argv, at, filters = command.argv, 1, 1
    while at < len(argv):
        text = argv[at].text
        if text in _JQ_REST:
            return
        if text in _JQ_PAIRS | _JQ_FILES:
            if text in _JQ_FILES and at + 2 < len(argv):
                yield argv[at + 2], "read"
            at += 3
            continue
        if text in _JQ_CODE and command.program != "yq" and at + 1 < len(argv):
            yield argv[at + 1], "read"
            filters, at = 0, at + 2
            continue
        if text == "--indent":
            at += 1
        elif not text.startswith("-") and not (text in _YQ_WORDS and filters):
            if filters == 0:
                yield argv[at], "read"
            filters = 0
        at += 1


def batch_files(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files that the commands fed to sftp and its kin send or write."""
    given = (text_of(word) for word in command.argv[1:] if " " in word.text)
    for text in (command.fed_text or "", *given):
        for found in _BATCH.finditer(text[:_LONGEST]):
            yield word_of(found[1]), "read"


def configured_files(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files that the settings fed to `curl -K -` send."""
    for found in _SETTING.finditer((command.fed_text or "")[:_LONGEST]):
        yield word_of(found[1]), "read"


def edited_files(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files that the commands given to a line editor read or write."""
    given = (word.text.lstrip("+") for word in command.argv[1:] if " " in word.text)
    for found in _EDITED.finditer("\n".join((command.fed_text or "", *given))[:_LONGEST]):
        yield word_of(found[1]), "write"


def sent_files(command: Command) -> list[tuple[Word, Mode]]:
    """Return the files that `gh gist create`, `gh release upload` and `kubectl cp` send."""
    argv = command.argv
    words = [word.text for word in argv[1:]]
    if command.program == "gh":
        if tuple(words[:2]) not in _UPLOADS:
            return []
        return [(word, "read") for word in argv[3:] if not word.text.startswith("-")]
    if "cp" not in words[:5]:
        return []
    return [(word, "read") for word in argv[words.index("cp") + 2 :] if not re.match(r"-|[\w./-]+:", word.text)]
