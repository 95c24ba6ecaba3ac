"""Which files a script reads and writes, by what is known of the programs' operands. Lists are data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.lists import listed
from assent.shell.programs.finding import FOUND
from assent.shell.programs.operands import OPERANDS
from assent.shell.programs.program_files import (
    batch_files,
    configured_files,
    container_files,
    edited_files,
    filter_files,
    git_files,
    sent_files,
    stores_of,
)
from assent.shell.programs.programs import code_of, language_of
from assent.shell.programs.wrappers import CONTAINERS
from assent.shell.words.scope import text_of, word_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.shell.programs.operands import Operands
    from assent.shell.programs.program_files import Mode
    from assent.shell.words.script import Command, Script, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A file (or directory) that a command reads or writes. A relative path is relative to `command.cwd`."""

    path: Word
    mode: Mode
    command: Command


_CURL_DATA = frozenset({"-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json"})
_CURL_FORMS = frozenset({"-F", "--form"})
_CURL_READS = frozenset(
    {"-T", "--upload-file", "-K", "--config", "-b", "--cookie", "-E", "--cert", "--key", "--cacert", "--netrc-file"}
)
_CURL_WRITES = frozenset({"-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header"})
_NO_CONTENT = listed(
    "echo printf print test [ : true false export cd pushd alias which type command find gfind ls dir du df tree stat "
    "mkdir chmod chown chgrp chattr setfacl getfacl eval set basename dirname realpath readlink xargs kill pgrep pkill"
)
"""They tell or change names, places and permissions; no file's content goes in or out."""
_ATTACHED = re.compile(r"(?:[\w.\[\]-]{1,60}=?)?@(?=[/~.\ue000\ue001])|@")
"""What stands before a file that is sent along: `@./file`, and `name@/file` of httpie."""
_LEAVES_OUT = re.compile(r"--?[\w-]*(?:exclude|ignore|skip|omit|without)[\w-]*")
_TAR_VALUES = listed(
    "--exclude -X --exclude-from --transform --strip-components --owner --group --mode -I --use-compress-program -s "
    "--mtime -b --format"
)
_TAR_FILE = re.compile(r"-?[A-Za-z]*f")
_AWK_PRINTS = re.compile(r"(?:getline\s*(?:\w+\s*)?<|print[^>\n;]{0,500}>{1,2})\s*\"([^\"]+)\"")


def files_touched(script: Script) -> tuple[Touched, ...]:
    """Return the files that the script's commands read and write, as far as their words say so, in reading order."""
    return tuple(touched for command in script.commands for touched in touched_by(command))


def touched_by(command: Command) -> Iterator[Touched]:
    """Yield the files that one command touches."""
    for redirect in command.redirects:
        yield Touched(path=redirect.target, mode="write" if redirect.writes else "read", command=command)
    for path, mode in (*stores_of(command), *_by_texts(command), *_by_operands(command)):
        if path.text and path.text != "-":
            yield Touched(path=path, mode=mode, command=command)


def _by_texts(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files in what a program is fed or sends along, beside its operands."""
    if command.program in {"gh", "kubectl", "oc"}:
        yield from sent_files(command)
    elif command.program in {"socat", "ffmpeg"}:
        yield from _named_by_kind(command)
    elif command.program in {"ed", "red", "ex", "vi", "vim", "nvim", "view"}:
        yield from edited_files(command)
    elif command.program == "curl" and any(re.match(r"-\w*K|--config", word.text) for word in command.argv[1:]):
        yield from configured_files(command)


def _by_operands(command: Command) -> Iterator[tuple[Word, Mode]]:
    program = command.program
    match program:
        case "dd":
            yield from _dd(command)
        case "curl":
            yield from _curl(command)
        case "sftp" | "ftp" | "lftp" | "tftp" | "smbclient":
            yield from batch_files(command)
            yield from _listed(command, OPERANDS["sftp"])
        case "tar" | "bsdtar" | "gtar":
            yield from _tar(command)
        case "git":
            yield from git_files(command)
        case "jq" | "gojq" | "jaq" | "yq" | "xq" | "tomlq" | "dasel":
            yield from filter_files(command)
        case _ if program in CONTAINERS and program != "kubectl":
            yield from container_files(command)
        case "awk" | "gawk" | "mawk" | "nawk":
            yield from _awk(command)
        case _ if language_of(program):
            yield from _interpreter(command)
        case _:
            yield from _listed(command, OPERANDS[program]) if program in OPERANDS else _unlisted(command)


def _listed(command: Command, shape: Operands) -> Iterator[tuple[Word, Mode]]:
    if command.program in {"sed", "gsed"}:
        yield from _written_by_sed(command)
    argv, at, skip = command.argv, 1, shape.skip
    operands: list[Word] = []
    known = shape.values | shape.reads | shape.writes
    while at < len(argv):
        text = argv[at].text
        if text == "--":
            operands.extend(argv[at + 1 :])
            break
        if not text.startswith("-") or text == "-":
            operands.append(argv[at])
            at += 1
            continue
        name, value, behind = _option(argv, at, known)
        skip = 0 if name in shape.skipped_by else skip
        if value is not None and name in shape.reads:
            yield value, "read"
        if value is not None and name in shape.writes:
            yield value, "write"
        at = behind
    yield from _modes(operands[skip:], shape, command)


def _modes(operands: list[Word], shape: Operands, command: Command) -> Iterator[tuple[Word, Mode]]:
    edits = command.program in {"sed", "gsed"} and any(
        word.text.startswith("--in-place") or re.match(r"-[nEers]*i", word.text) for word in command.argv[1:]
    )
    for place, word in enumerate(operands):
        last = place == len(operands) - 1 and len(operands) > 1
        written = shape.writing or edits or (shape.last_written and last)
        yield word, "write" if written else "read"
        if command.program in {"mv", "gmv"} and not last:
            yield word, "write"


_LONGEST_SCRIPT = 20_000  # characters: the patterns try each line from each place of it
_SED_WRITES = re.compile(
    r"(?:^|[;\n{}])\s{0,20}(?:\d{1,9}|\$|/[^/\n]{0,200}/)?(?:,(?:\d{1,9}|\$|/[^/\n]{0,200}/))?\s{0,20}[wW]\s{1,4}(\S{1,500})"
    r"|s(?P<by>[^\w\s\\])(?:\\.|(?!(?P=by))[^\n\\]){0,500}+(?P=by)(?:\\.|(?!(?P=by))[^\n\\]){0,500}+(?P=by)[gIimMep0-9]{0,6}w\s{0,4}(\S{1,500})"
)


def _written_by_sed(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files that a script of sed writes."""
    for word in command.argv[1:]:
        for found in _SED_WRITES.finditer(text_of(word).removeprefix("--expression=")[:_LONGEST_SCRIPT]):
            yield word_of(found[1] or found[3]), "write"


def _option(argv: tuple[Word, ...], at: int, known: frozenset[str]) -> tuple[str, Word | None, int]:
    """Return the option's name, its value when it has a known one, and the index behind both."""
    text = argv[at].text
    following = argv[at + 1] if at + 1 < len(argv) else None
    name, equals, value = text.partition("=")
    if equals and name in known:
        return name, word_of(value), at + 1
    if text in known:
        return text, following, at + 2
    for place, letter in enumerate(text[1:], start=1):
        if text.startswith("--"):
            break
        if f"-{letter}" in known:
            rest = text[place + 1 :]
            return f"-{letter}", word_of(rest) if rest else following, at + (1 if rest else 2)
    return text, None, at + 1


_OUTPUTS = frozenset({"-o", "-O", "--output", "--out", "-out", "--output-document", "--output-file", "--outfile"})
_OF_A_KIND = re.compile(r"(?:file|open|gopen|create|concat|subfile|exec:cat)[:,]([^,]{1,500})", re.IGNORECASE)


def _named_by_kind(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Yield the files of `socat FILE:path -` and `ffmpeg -i concat:path`."""
    for word in command.argv[1:]:
        if found := _OF_A_KIND.match(text_of(word)):
            yield word_of(found[1]), "read"


def _dd(command: Command) -> Iterator[tuple[Word, Mode]]:
    for word in command.argv[1:]:
        name, equals, _ = word.text.partition("=")
        if equals and name in {"if", "of"}:
            yield word_of(text_of(word).partition("=")[2]), "read" if name == "if" else "write"


def _curl(command: Command) -> Iterator[tuple[Word, Mode]]:
    known = _CURL_DATA | _CURL_FORMS | _CURL_READS | _CURL_WRITES | {"-H", "-X", "-u", "-A", "-e", "-m", "-w", "-x"}
    at = 1
    while at < len(command.argv):
        word = command.argv[at]
        if not word.text.startswith("-"):
            if word.text.startswith("file://"):
                yield word_of(text_of(word).removeprefix("file://")), "read"
            at += 1
            continue
        name, value, at = _option(command.argv, at, known)
        if value is None:
            continue
        text = text_of(value)
        if name in _CURL_READS:
            yield value, "read"
        elif name in _CURL_WRITES:
            yield value, "write"
        elif name in _CURL_DATA and "@" in text:
            yield word_of(text.partition("@")[2]), "read"
        elif name in _CURL_FORMS and (found := re.search(r"=[@<]([^;]+)", text)):
            yield word_of(found[1]), "read"
        elif name == "-H" and text.startswith("@"):
            yield word_of(text[1:]), "read"


def _tar(command: Command) -> Iterator[tuple[Word, Mode]]:
    argv, at = command.argv, 1
    bundles = [word.text for word in argv[1:] if re.fullmatch(r"-[A-Za-z]+", word.text)]
    first = argv[1].text if len(argv) > 1 and re.fullmatch(r"[A-Za-z]+", argv[1].text) else ""
    makes = any(letter in bundle for bundle in (first, *bundles) for letter in "cru")
    makes = makes or any(word.text in {"--create", "--append", "--update"} for word in argv)
    prefix = ""
    while at < len(argv):
        text = argv[at].text
        old_style = at == 1 and re.fullmatch(r"[A-Za-z]*f[A-Za-z]*", text) is not None
        if old_style or (_TAR_FILE.fullmatch(text) and text.startswith("-")) or text == "--file":
            if at + 1 < len(argv):
                yield argv[at + 1], "write" if makes else "read"
            at += 2
        elif text in {"-C", "--directory"} and at + 1 < len(argv):
            prefix = text_of(argv[at + 1]).rstrip("/") + "/"
            at += 2
        elif text in {"-T", "--files-from"} and at + 1 < len(argv):
            yield argv[at + 1], "read"
            at += 2
        elif text in _TAR_VALUES:
            at += 2
        else:
            if makes and not text.startswith("-") and at > 1:
                inner = text_of(argv[at])
                yield word_of(inner if inner.startswith(("/", "\ue001")) else prefix + inner), "read"
            at += 1


def _awk(command: Command) -> Iterator[tuple[Word, Mode]]:
    code = code_of(command)
    if code is None or code.text is None:
        return
    for found in _AWK_PRINTS.finditer(code.text.text):
        yield word_of(found[1]), "read" if found[0].startswith("getline") else "write"
    for word in code.arguments:
        if "=" not in word.text:
            yield word, "read"
    for word, following in zip(command.argv, command.argv[1:], strict=False):
        if word.text in {"-f", "--file"}:
            yield following, "read"


def _interpreter(command: Command) -> Iterator[tuple[Word, Mode]]:
    code = code_of(command)
    if code is None:
        return
    if code.file is not None:
        yield code.file, "read"
    edits = any(re.match(r"-\w*i", word.text) for word in command.argv[1:3]) and language_of(command.program) == "perl"
    if language_of(command.program) == "shell":
        return
    for word in command.argv[1:]:
        name, equals, value = text_of(word).partition("=")
        if equals and value and name.startswith("--") and not re.search(r"\s", value):
            yield word_of(value), "read"
    for word in code.arguments:
        if not word.text.startswith("-"):
            yield word, "write" if edits else "read"


def _unlisted(command: Command) -> Iterator[tuple[Word, Mode]]:
    """Words of other programs that look like a file: `--config=x`, `@./file`, a rooted path, `.name`."""
    if command.program in _NO_CONTENT:
        return
    for word, before in zip(command.argv[1:], command.argv, strict=False):
        text = text_of(word)
        name, _, value = text.partition("=") if text.startswith("-") else (before.text, "", text)
        value = _ATTACHED.sub("", value)
        if _LEAVES_OUT.fullmatch(name) or not value or re.search(r"\s", value) or FOUND in value:
            continue
        if text.startswith("-") or value.startswith(("/", ".", "~/", "\ue000/", "\ue001/")):
            yield word_of(value), "write" if name in _OUTPUTS else "read"
