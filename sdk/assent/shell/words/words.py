"""Resolves one raw word of a shell text: quotes, escapes, braces, tilde, variables, substitutions, splitting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assent.shell.words.braces import Marked, expand_braces
from assent.shell.words.lexing import Lexer
from assent.shell.words.parameters import expand_parameter
from assent.shell.words.scope import BREAK, EMPTY, HERE, HOME, LONGEST, StopReading, word_of
from assent.shell.words.strings import ansi_c

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.shell.words.scope import Scope
    from assent.shell.words.script import Command, Word

    Substitute = Callable[[str, Scope], tuple[str, tuple[Command, ...]]]

QUOTED, LITERAL, SPLIT = "q", "u", "s"
"""Where a character comes from: quotes; the text itself; an expansion that is split into words."""

_PLAIN = re.compile(r"[\w./:=,@%+-]+")
_MOST_PARTS = 20_000  # variables in one word or here-document, 15 µs each
_DEFAULT_SEPARATORS = " \t\n"
_ESCAPED_IN_QUOTES = frozenset('$`"\\')


class WordReader:
    """Resolves words in one scope, and collects where they come from."""

    def __init__(self, scope: Scope, substitute: Substitute) -> None:
        self.scope = scope
        self._substitute = substitute
        self.sources: list[Command] = []
        """The commands inside the substitutions met, and those behind the variables."""
        self.names: list[str] = []

    def fields(self, raw: str) -> list[Word]:
        """Return the words that the raw word becomes: none, one or several."""
        if _PLAIN.fullmatch(raw):
            return [word_of(raw)]
        self.names = []
        self._lexer = Lexer(raw)
        marked = self._tilde(self._pieces(raw, 0, len(raw), quoted=False))
        built_from = tuple(dict.fromkeys(self.names))
        words: list[Word] = []
        for text, marks in expand_braces(marked):
            words.extend(self._split(text, marks, built_from))
        return words

    def text(self, raw: str) -> str:
        """Return the raw word as one text, as in an assignment: not split, its stand-ins left in."""
        self._lexer = Lexer(raw)
        return self._tilde(self._pieces(raw, 0, len(raw), quoted=False))[0].replace(EMPTY, "").replace(BREAK, " ")

    def quoted_text(self, raw: str) -> str:
        """Return a here-document's text with its expansions resolved."""
        self._lexer = Lexer(raw)
        return self._pieces(raw, 0, len(raw), quoted=True)[0].replace(EMPTY, "").replace(BREAK, " ")

    def _pieces(self, raw: str, at: int, end: int, *, quoted: bool) -> Marked:
        texts: list[str] = []
        marks: list[str] = []
        length = 0
        while at < end:
            text, mark, at = self._piece(raw, at, end, quoted=quoted)
            if (length := length + len(text)) > LONGEST:
                raise StopReading("a word becomes too long")
            texts.append(text)
            marks.append(mark if len(mark) == len(text) else mark * len(text))
        return "".join(texts), "".join(marks)

    def _piece(self, raw: str, at: int, end: int, *, quoted: bool) -> tuple[str, str, int]:
        char = raw[at]
        if char == "\\":
            return self._escape(raw, at, quoted=quoted)
        if char in {"$", "`"}:
            behind = self._lexer.piece_end(at)
            text = self._expansion(raw[at:behind])
            if quoted and (raw.startswith(("$*", "${*"), at) or raw.endswith("[*]}", at, behind)):
                text = text.replace(BREAK, " ")
            keeps = quoted or raw.startswith(("$'", '$"'), at)
            return text, QUOTED if keeps else SPLIT, behind
        if quoted:
            stop = _next_of(raw, at + 1, end, "\\$`")
            return raw[at:stop], QUOTED, stop
        if char == "'":
            behind = self._lexer.piece_end(at)
            closed = raw.endswith("'", at + 1, behind)
            return raw[at + 1 : behind - closed] or EMPTY, QUOTED, behind
        if char == '"':
            return self._double_quotes(raw, at)
        if char in "<>" and raw.startswith("(", at + 1):
            behind = self._lexer.substitution_end(at + 2)
            self._commands(raw[at + 2 : behind - 1])
            return "/dev/fd/63", QUOTED, behind
        stop = _next_of(raw, at + 1, end, "\\$`'\"<>")
        return raw[at:stop], LITERAL, stop

    def _escape(self, raw: str, at: int, *, quoted: bool) -> tuple[str, str, int]:
        following = raw[at + 1 : at + 2]
        if following == "\n":
            return "", QUOTED, at + 2
        if quoted and following not in _ESCAPED_IN_QUOTES:
            return "\\" + following, QUOTED, at + 2
        return following or "\\", QUOTED, at + 2

    def _double_quotes(self, raw: str, at: int) -> tuple[str, str, int]:
        behind = self._lexer.piece_end(at)
        closed = behind - 1 > at and raw[behind - 1] == '"'
        text, _ = self._pieces(raw, at + 1, behind - closed, quoted=True)
        if text == "" and raw[at + 1 : at + 3] in {"$@", "${"}:
            return "", QUOTED, behind
        return text or EMPTY, QUOTED, behind

    def _expansion(self, raw: str) -> str:
        if raw == "$":
            return "$"
        if raw.startswith("$'"):
            return ansi_c(raw[2:-1]) or EMPTY
        if raw.startswith('$"'):
            return self._nested(raw[2:-1], quoted=True)
        if raw.startswith("`"):
            inner = raw[1:-1] if raw.endswith("`") and len(raw) > 1 else raw[1:]
            return self._commands(re.sub(r"\\([`$\\])", r"\1", inner))
        if raw.startswith("$((") and raw.endswith("))"):
            self._nested(raw[3:-2], quoted=True)
            return "0"
        if raw.startswith("$("):
            return self._commands(raw[2:-1] if raw.endswith(")") else raw[2:])
        inner = raw[2:-1] if raw.startswith("${") else raw[1:]
        return self._parameter(inner)

    def _parameter(self, inner: str) -> str:
        before = len(self.sources)
        expanded = expand_parameter(inner, self.scope, self._nested_word)
        if ("$(" in inner or "`" in inner) and len(self.sources) == before:
            self._nested(inner, quoted=True)  # what is worked out there runs, whatever comes of it
        self.names.append(expanded.name)
        if len(self.names) > _MOST_PARTS:
            raise StopReading("a word is put together from too many variables")
        self.sources.extend(expanded.sources)
        return expanded.text

    def _commands(self, text: str) -> str:
        output, commands = self._substitute(text, self.scope)
        self.names.append("$()")
        self.sources.extend(commands)
        return output

    def _nested(self, raw: str, *, quoted: bool) -> str:
        lexer, self._lexer = self._lexer, Lexer(raw)
        text = self._pieces(raw, 0, len(raw), quoted=quoted)[0]
        self._lexer = lexer
        return text

    def _nested_word(self, raw: str) -> str:
        return self._nested(raw, quoted=False).replace(EMPTY, "")

    def _tilde(self, marked: Marked) -> Marked:
        text, marks = marked
        if not text.startswith("~") or marks[0] != LITERAL:
            return marked
        if text == "~" or text[1] == "/":
            return HOME + text[1:], marks
        if text.startswith("~+") and text[2:3] in {"", "/"}:
            here = self.scope.cwd or HERE
            return here + text[2:], LITERAL * len(here) + marks[2:]
        # `~name` is that user's home, `~-` the directory before: all homes are alike to a guard.
        rest = text.find("/")
        rest = len(text) if rest < 0 else rest
        return HOME + text[rest:], LITERAL + marks[rest:]

    def _split(self, text: str, marks: str, built_from: tuple[str, ...]) -> list[Word]:
        separators = _DEFAULT_SEPARATORS
        if "IFS" in self.scope.variables:
            separators = self.scope.variables["IFS"].texts[0]
        if BREAK not in text and (SPLIT not in marks or not any(char in text for char in separators)):
            whole = text.replace(EMPTY, "") if EMPTY in text else text
            return [] if text == "" else [word_of(whole, globbed=_globbed(text, marks), built_from=built_from)]
        words: list[Word] = []
        start = 0
        for at in range(len(text) + 1):
            if at < len(text) and text[at] != BREAK and not (marks[at] == SPLIT and text[at] in separators):
                continue
            if at > start:
                part = text[start:at]
                globbed = _globbed(part, marks[start:at])
                words.append(word_of(part.replace(EMPTY, ""), globbed=globbed, built_from=built_from))
            start = at + 1
        return words


def _globbed(text: str, marks: str) -> bool:
    return any(char in "*?[" and mark != QUOTED for char, mark in zip(text, marks, strict=True))


def _next_of(raw: str, at: int, end: int, stops: str) -> int:
    while at < end and raw[at] not in stops:
        at += 1
    return at
