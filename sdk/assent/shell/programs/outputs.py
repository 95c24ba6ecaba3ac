"""What simple programs print, where that is known without running them: echo, printf, decoders."""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from typing import TYPE_CHECKING

from assent.shell.lists import listed
from assent.shell.words.scope import HERE, LONGEST, UNKNOWN, text_of
from assent.shell.words.strings import ansi_c

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.shell.words.script import Command, Word

_CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))")
_HARMLESS = listed("date whoami nproc uname hostname id wc uuidgen tty logname arch getconf tput stat")
"""Their output is one plain token, whichever: no path of it leads anywhere else."""
_SUBSTITUTION = re.compile(r"s(\W)((?:\\\W|[^\\.*\[^$])*?)\1((?:\\\W|[^\\&])*?)\1(g?)")
"""A `sed` command that replaces a plain text by a plain text."""
_TR_SETS = {"[:lower:]": "abcdefghijklmnopqrstuvwxyz", "[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:space:]": " \t\n"}


def output_of(commands: Sequence[Command]) -> str | None:
    """Return what the commands print one after the other, or None when it is not known."""
    texts: list[str] = []
    for command in commands:
        if not command.argv and not command.arguments_from:
            continue
        text = _output(command)
        if text is None:
            return None
        texts.append(text)
    whole = "".join(texts)
    return whole if len(whole) <= LONGEST else None


def decodes(command: Command) -> bool:
    """Whether the command turns unreadable text into readable: its output was hidden on purpose."""
    arguments = {word.text for word in command.argv[1:]}
    match command.program:
        case "base64" | "base32" | "basenc" | "gbase64":
            return bool(arguments & {"-d", "-D", "--decode", "-di", "-id"}) or any(
                "--d" in text for text in arguments if "--decode".startswith(text)
            )
        case "xxd":
            return any(text.startswith("-") and "r" in text for text in arguments)
        case "openssl":
            return "-d" in arguments
        case "uudecode" | "rev" | "rot13" | "hxd" | "unhex":
            return True
        case _:
            return False


def _output(command: Command) -> str | None:
    if any(redirect.writes and redirect.operator != "<>" for redirect in command.redirects):
        return ""
    program, arguments = command.program, command.argv[1:]
    if program in _PRINTERS:
        return _PRINTERS[program](arguments)
    if program in _HARMLESS and not command.arguments_from:
        return "0"
    if program in _FILTERS and command.fed_text is not None:
        return _FILTERS[program](command.fed_text, [text_of(word) for word in arguments])
    return None


def _echo(arguments: Sequence[Word]) -> str:
    texts = [text_of(word) for word in arguments]
    escapes, newline = False, "\n"
    while texts and re.fullmatch(r"-[neE]+", texts[0]):
        escapes = escapes or "e" in texts[0]
        newline = "" if "n" in texts[0] else newline
        texts.pop(0)
    text = " ".join(texts)
    return (ansi_c(text) if escapes else text) + newline


def _printf(arguments: Sequence[Word]) -> str | None:
    texts = [text_of(word) for word in arguments]
    texts = texts[1:] if texts[:1] == ["--"] else texts
    if not texts or texts[0] == "-v":
        return ""
    shape, values = ansi_c(texts[0]), texts[1:]
    made: list[str] = []
    while True:
        before = len(values)
        made.append(_CONVERSION.sub(lambda found: _converted(found, values), shape))
        if not values or len(values) == before or len(made) > 256:
            return "".join(made)


def _converted(found: re.Match[str], values: list[str]) -> str:
    if found[1] is None:
        return "%"
    value = values.pop(0) if values else ""
    if found[1] == "b":
        return ansi_c(value)
    if found[1] == "c":
        return value[:1]
    return shlex.quote(value) if found[1] == "q" else value


def _pwd(_: Sequence[Word]) -> str:
    return f"{HERE}\n"


def _mktemp(_: Sequence[Word]) -> str:
    return "/tmp/tmp.0\n"  # noqa: S108  # what mktemp prints


def _git(arguments: Sequence[Word]) -> str | None:
    texts = [word.text for word in arguments]
    if texts[:2] == ["rev-parse", "--show-toplevel"]:
        return f"{HERE}\n"
    return "0\n" if texts[:1] in (["rev-parse"], ["describe"]) else None


def _last_part(arguments: Sequence[Word]) -> str | None:
    texts = [text_of(word) for word in arguments if not word.text.startswith("-")]
    if not texts or UNKNOWN in texts[0]:
        return None
    return texts[0].rstrip("/").rsplit("/", 1)[-1].removesuffix(texts[1] if len(texts) > 1 else "") + "\n"


def _folder(arguments: Sequence[Word]) -> str | None:
    texts = [text_of(word) for word in arguments]
    if not texts or UNKNOWN in texts[0]:
        return None
    head, slash, _ = texts[0].rstrip("/").rpartition("/")
    return (head or ("/" if slash else ".")) + "\n"


def _last(arguments: Sequence[Word]) -> str | None:
    texts = [text_of(word) for word in arguments if not word.text.startswith("-")]
    return "\n".join(texts) + "\n" if texts else None


def _which(arguments: Sequence[Word]) -> str | None:
    names = [text_of(word) for word in arguments if not word.text.startswith("-")]
    return "".join(f"{name}\n" if "/" in name else f"/usr/bin/{name}\n" for name in names) if names else None


def _command(arguments: Sequence[Word]) -> str | None:
    return _which(arguments[1:]) if [word.text for word in arguments[:1]] == ["-v"] else None


_PRINTERS: dict[str, Callable[[Sequence[Word]], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "print": _echo,
    "pwd": _pwd,
    "mktemp": _mktemp,
    "git": _git,
    "basename": _last_part,
    "dirname": _folder,
    "realpath": _last,
    "readlink": _last,
    "which": _which,
    "command": _command,
    "true": lambda _: "",
    ":": lambda _: "",
    "cd": lambda _: "",
    "export": lambda _: "",
    "set": lambda _: "",
}


def _cat(fed: str, arguments: list[str]) -> str | None:
    return fed if all(text == "-" or text.startswith("-") for text in arguments) else None


def _base64(fed: str, arguments: list[str]) -> str | None:
    if not any(text in {"-d", "-D", "--decode", "-di"} or "--decode".startswith(text) for text in arguments):
        return base64.b64encode(fed.encode()).decode() + "\n"
    if any(not text.startswith("-") for text in arguments):
        return None
    return _decoded(lambda: base64.b64decode("".join(fed.split()) + "==="))


def _base32(fed: str, arguments: list[str]) -> str | None:
    if not any(text in {"-d", "-D", "--decode"} for text in arguments):
        return None
    return _decoded(lambda: base64.b32decode("".join(fed.split()), casefold=True))


def _xxd(fed: str, arguments: list[str]) -> str | None:
    options = "".join(text for text in arguments if text.startswith("-"))
    if "r" not in options or "p" not in options:
        return None
    return _decoded(lambda: bytes.fromhex("".join(fed.split())))


def _openssl(fed: str, arguments: list[str]) -> str | None:
    if "-d" not in arguments or not {"base64", "-base64", "-a"} & set(arguments) or "-k" in arguments:
        return None
    return _base64(fed, ["-d"])


def _decoded(decode: Callable[[], bytes]) -> str | None:
    try:
        return decode().decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None


def _rev(fed: str, _: list[str]) -> str:
    return "".join(f"{line[::-1]}\n" for line in fed.splitlines())


def _tr(fed: str, arguments: list[str]) -> str | None:
    options = [text for text in arguments if text.startswith("-") and len(text) > 1]
    sets = [_tr_set(text) for text in arguments if text not in options]
    if "-d" in options and len(sets) == 1:
        return fed.translate(dict.fromkeys(map(ord, sets[0])))
    if options or len(sets) != 2 or not sets[1]:
        return None
    second = sets[1] + sets[1][-1] * max(0, len(sets[0]) - len(sets[1]))
    return fed.translate({ord(old): new for old, new in zip(sets[0], second, strict=False)})


def _tr_set(text: str) -> str:
    for name, letters in _TR_SETS.items():
        text = text.replace(name, letters)
    ranged = re.sub(
        r"(.)-(.)",
        lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1)))[:512],
        text,
        flags=re.DOTALL,
    )
    return ansi_c(ranged)


def _sed(fed: str, arguments: list[str]) -> str | None:
    scripts = [text for text in arguments if text not in {"-e", "-E", "-r"}]
    found = _SUBSTITUTION.fullmatch(scripts[0]) if len(scripts) == 1 else None
    if found is None or not found[2]:
        return None
    old, new = (re.sub(r"\\(\W)", r"\1", text) for text in (found[2], found[3]))
    return "\n".join(line.replace(old, new, -1 if found[4] else 1) for line in fed.split("\n"))


_FILTERS: dict[str, Callable[[str, list[str]], str | None]] = {
    "cat": _cat,
    "tee": lambda fed, _: fed,
    "base64": _base64,
    "gbase64": _base64,
    "base32": _base32,
    "xxd": _xxd,
    "openssl": _openssl,
    "rev": _rev,
    "tr": _tr,
    "sed": _sed,
}
