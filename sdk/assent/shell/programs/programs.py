"""Shells and interpreters: where a call of one takes the code from that it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assent.shell.lists import listed
from assent.shell.programs.wrappers import option_end, option_value
from assent.shell.words.scope import text_of, word_of

if TYPE_CHECKING:
    from assent.shell.words.script import Command, Word

SHELLS = listed(
    "sh bash zsh dash ksh ksh93 mksh ash fish csh tcsh rbash yash posh pdksh oksh loksh elvish nu xonsh pwsh "
    "powershell hush"
)
_SHELL_VALUES = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})

_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|php|lua|luajit)[\d.]*(?:w|m)?")
_PYTHON = ("-c", "-W -X -Q --check-hash-based-pycs")
_LANGUAGES: dict[str, tuple[str, str]] = {
    # language: options that take code, options that take another value
    "python": _PYTHON,
    "pypy": _PYTHON,
    "perl": ("-e -E", "-I -M -m"),
    "ruby": ("-e", "-I -r -C -E"),
    "node": ("-e -p --eval --print -pe", "-r --require --import --loader --max-old-space-size"),
    "php": ("-r -B -R -E", "-d -c -S -t"),
    "lua": ("-e", "-l"),
    "luajit": ("-e", "-l"),
    "bun": ("-e -p --eval --print", ""),
    "deno": ("", ""),
    "Rscript": ("-e", ""),
    "R": ("-e", ""),
    "osascript": ("-e", "-l"),
    "tclsh": ("", ""),
    "expect": ("-c", ""),
    "awk": ("", "-F -v"),
    "gawk": ("-e", "-F -v"),
    "mawk": ("", "-F -v"),
    "nawk": ("", "-F -v"),
}
_MODULE = re.compile(r"-[bBdEiIOqsSuvx]*m")
_ALIASES = {"nodejs": "node", "py": "python", "irb": "ruby", "ts-node": "node", "tsx": "node", "iojs": "node"}
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Where the code comes from: standard input, a text, or a file (at most one is set)."""

    stdin: bool = False
    text: Word | None = None
    file: Word | None = None
    module: str = ""
    """The module that is run instead (`python -m x`)."""
    arguments: tuple[Word, ...] = ()
    """What stands behind the code: `$0` and on for a text, `$1` and on for a file."""


def language_of(program: str) -> str:
    """Return `shell`, an interpreter's language, or "" for any other program."""
    if program in SHELLS:
        return "shell"
    if found := _VERSIONED.fullmatch(program):
        return found[1]
    return _ALIASES.get(program, program if program in _LANGUAGES else "")


def code_of(command: Command) -> Code | None:
    """Return where the command takes its code from; None when it runs none (`bash --version`, no interpreter)."""
    language = language_of(command.program)
    if not language:
        return None
    if language in _AWKS and len(command.argv) > 2 and command.argv[1].text in {"-f", "--file"}:
        return _file(command.argv[2], command.argv[3:])
    if any(word.text in {"--version", "--help"} for word in command.argv[1:2]):
        return None
    if language == "shell":
        return _shell_code(command.argv)
    return _other_code(language, command.argv)


def _shell_code(argv: tuple[Word, ...]) -> Code | None:
    at, wants_text, reads_input, checks = 1, False, False, False
    while at < len(argv):
        text = argv[at].text
        if text in {"--", "-"}:
            at += 1
            break
        if text in {"--command", "-Command", "-EncodedCommand"}:
            wants_text = True
        if not text.startswith(("-", "+")) or not argv[at].known:
            break
        if text[0] == "-" and not text.startswith("--"):
            wants_text = wants_text or "c" in text
            reads_input = reads_input or "s" in text
            checks = checks or "n" in text
        if text in {"--rcfile", "--init-file"} and at + 1 < len(argv) and argv[at + 1].text.startswith("/dev/fd/"):
            return _file(argv[at + 1], ())
        at = option_end(argv, at, _SHELL_VALUES)
    rest = argv[at:]
    if checks and not wants_text:
        return None  # `bash -n` reads and runs nothing
    if wants_text:
        return Code(text=rest[0], arguments=rest[1:]) if rest else Code()
    if reads_input or not rest:
        return Code(stdin=True, arguments=rest)
    return _file(rest[0], rest[1:])


def _other_code(language: str, argv: tuple[Word, ...]) -> Code:
    codes, values = (frozenset(names.split()) for names in _LANGUAGES[language])
    at, found = 1, None
    skips = language == "deno"
    while at < len(argv):
        text = argv[at].text
        if language in {"python", "pypy"} and (module := _MODULE.match(text)):
            return Code(module=text[module.end() :] or (argv[at + 1].text if at + 1 < len(argv) else ""))
        if text == "--":
            at += 1
            break
        if (value := option_value(argv, at, codes, values)) is not None:
            found = value if found is None else _both(found, value)
            at += 2 if value is (argv[at + 1] if at + 1 < len(argv) else None) else 1
        elif text.startswith("-") and len(text) > 1:
            at = option_end(argv, at, values)
        elif skips and text in {"run", "eval"}:
            if text == "eval" and at + 1 < len(argv):
                return Code(text=argv[at + 1])
            at, skips = at + 1, False
        else:
            break
    rest = argv[at:]
    if found is not None:
        return Code(text=found, arguments=rest)
    if language in _AWKS:
        return Code(text=rest[0], arguments=rest[1:]) if rest else Code()
    return _file(rest[0], rest[1:]) if rest else Code(stdin=True)


def _file(word: Word, arguments: tuple[Word, ...]) -> Code:
    if word.text in {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}:
        return Code(stdin=True, arguments=arguments)
    return Code(file=word, arguments=arguments)


def _both(first: Word, second: Word) -> Word:
    return word_of(f"{text_of(first)}\n{text_of(second)}")
