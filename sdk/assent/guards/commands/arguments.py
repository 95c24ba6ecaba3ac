"""What the arguments of a shell tool would run, and in which surroundings: one reading for every guard."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from assent.shell.lists import listed

_TEXT_KEYS = listed("command cmd commands script commandline cmdline shellcommand bashcommand code program executable")
_WORD_KEYS = ("args", "arguments", "argv")
"""They hold the words behind a program's name, or a whole command."""
_INPUT_KEYS = ("input", "stdin")
"""What a command reads; without a command beside it, the command itself."""
_TAKE_WORDS = frozenset({"command", "cmd", "program", "executable"})
COMMAND_KEYS = _TEXT_KEYS.union(_WORD_KEYS, _INPUT_KEYS)
"""Arguments of a shell tool that hold what it runs, by their keys without `_`, `-` and case."""
ENVIRONMENT_KEYS = listed("env environment envs envvars variables")
DIRECTORY_KEYS = ("cwd", "workdir", "workingdir", "workingdirectory", "currentdirectory", "basedir")
EXPECTED = "expected: command, cmd, script or input"

_PLAIN = re.compile(r"[\w@%+=:,./~*?\[\]{}$-]+")
_WORD_BEHIND = re.compile(r"-\S|\S*/\S*$")
"""Behind the first of a list of commands it tells that the list is one command's words."""
_DEEPEST = 6


def plain_key(key: str) -> str:
    """Return the key without `_`, `-`, blanks and case."""
    return key.lower().replace("_", "").replace("-", "").replace(" ", "")


def command_texts(args: Mapping[str, Any], depth: int = 0) -> list[str] | None:
    """Return the texts that a shell tool's arguments would run, or None when no argument holds a readable command."""
    if depth > _DEEPEST:
        return None
    given = {plain_key(str(key)): value for key, value in args.items() if value is not None}
    words = [(name, given[name]) for name in _WORD_KEYS if given.get(name)]
    texts: list[str] = []
    for name in given.keys() & _TEXT_KEYS:
        text = _text(given[name], depth, several=name == "commands")
        if text is None:
            return None
        more = [_text(value, depth, words=True) for _, value in words] if name in _TAKE_WORDS else []
        texts.append(" ".join([text, *filter(None, more)]))
    whole = [value for name, value in words if name == "argv" or not texts]
    texts += [text for value in whole if (text := _text(value, depth))]
    for name in _INPUT_KEYS:
        if name in given and texts:
            texts[0] = _fed(texts[0], given[name])
        elif name in given and (text := _text(given[name], depth)) is not None:
            texts.append(text)
    return texts or _nested(given, depth)


def surroundings(args: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that the call sets for its command; `PWD` is the directory that it asks for."""
    known: dict[str, str] = {}
    for key, value in args.items():
        name = plain_key(str(key))
        if name in ENVIRONMENT_KEYS and isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            known |= {str(name): str(text) for name, text in pairs if isinstance(text, str | int)}
        elif name in DIRECTORY_KEYS and isinstance(value, str) and value:
            known["PWD"] = value
    return known


def _nested(given: Mapping[str, Any], depth: int) -> list[str] | None:
    """A call within the call: `{"params": {"command": "…"}}`."""
    found: list[str] = []
    for name, value in given.items():
        if isinstance(value, Mapping) and name not in ENVIRONMENT_KEYS:
            found += command_texts(cast("Mapping[str, Any]", value), depth + 1) or []
    return found or None


def _text(value: object, depth: int, *, several: bool = False, words: bool = False) -> str | None:
    """Return what a shell would read for a text, a list of words, a list of commands or a call; None for the rest."""
    if isinstance(value, str):
        return _decoded(value, depth)
    if isinstance(value, Mapping):
        texts = command_texts(cast("Mapping[str, Any]", value), depth + 1)
        return None if texts is None else "\n".join(texts)
    if not isinstance(value, Sequence):
        return None
    parts = list(cast("Sequence[object]", value))
    if not all(isinstance(part, str | int | float) for part in parts):
        nested = [_text(part, depth + 1) for part in parts] if depth < _DEEPEST else [None]
        return "\n".join(text for text in nested if text is not None) if None not in nested else None
    plain = [str(part) for part in parts]
    several = several and not (len(plain) > 1 and _WORD_BEHIND.match(plain[1]))
    if several or (plain and not words and re.search(r"\s", plain[0])):
        return "\n".join(plain)  # a list of commands
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in plain)


def _decoded(text: str, depth: int) -> str | None:
    """Some runtimes hand a list of words, or a call, on as its JSON."""
    if not text.lstrip().startswith(('["', '{"')):
        return text
    try:
        return _text(json.loads(text), depth) or text
    except (ValueError, RecursionError):
        return text


def _fed(command: str, value: object) -> str:
    """The command with a text on its standard input, as a here-document."""
    if not isinstance(value, str) or not value:
        return command
    end = "INPUT"
    while f"\n{end}\n" in f"\n{value}\n":
        end += "_"
    return f"{{ {command}\n}} <<'{end}'\n{value}\n{end}"
