"""Prepares a shell text for the grammar: words, redirections and here-documents become numbered marks.

Tree-sitter's bash grammar is sound on structure (lists, pipes, loops, cases, functions) and trips over some words
(brace expansion, extended globs, `<>`, a here-document with more commands behind it). It gets a text without these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assent.shell.words.lexing import Lexer
from assent.shell.words.scope import StopReading

MARK = re.compile(r"\x02(\d+)\x02")

_DEEPEST = 100
_MOST_UNOPENED = 1_000
"""Each branch of a `case` closes what nothing opened; 10,000 of them took the grammar 3 s."""
_MOST_STAGES = 64
"""Of one pipe: the grammar's parser, which nothing can stop, took 2.7 GB for 14,000 of them."""
_PLAIN = re.compile(r"[\w./:@,%+-]+")
_OF_THE_GRAMMAR = frozenset(
    {"export", "declare", "typeset", "local", "readonly", "unset", "unsetenv", "[", "coproc", "let"}
)
"""Words that the grammar reads in ways of their own; we read them as commands."""
_OPENING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{"})
_CLOSING = frozenset({"fi", "done", "esac", "}", ")"})
_SKIPPED = frozenset({"!", "time", "coproc"})
_OPERATOR = re.compile(r"&&|\|\||\|&|;;&|;&|;;|[;&|()]")
_REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(&>>|&>|<<<|<<-?|<>|<&|>&|>>|>\||[<>])")
_DUPLICATE = re.compile(r"[ \t]*(?:\d+-?|-)(?=[\s;|&()<>]|$)")
_BLANKS = re.compile(r"(?:[ \t\r]|\\\n)*")
_GROUP_BEHIND_FUNCTION = re.compile(r"\(\)[ \t]*\{(?=[^\s])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HereDocument:
    """The text behind a `<<WORD`; `quoted` when nothing in it is expanded."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRedirect:
    """A redirection before its word is resolved."""

    operator: str
    raw: str = ""
    document: HereDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """The text for the grammar, and what stands behind its marks."""

    text: str
    marks: tuple[str | RawRedirect, ...]
    unfinished: bool
    """Whether a quote or substitution is not closed."""
    tokens: int
    """How many words and operators it has."""


def skeleton_of(text: str, *, most: int) -> Skeleton:
    """Return the skeleton. Linear in the text's length.

    Raises StopReading for more than `most` words and operators, too many open `(`, or too long a pipe.
    """
    return _Builder(text, most).build()


class _Builder:
    def __init__(self, text: str, most: int) -> None:
        self.most = most
        self.tokens = 0
        self.stages = 0
        # `f(){cmd` is two tokens for some shells and one word for the grammar.
        self.text = _GROUP_BEHIND_FUNCTION.sub("(){ ", text)
        self.lexer = Lexer(self.text)
        self.at = 0
        self.depth = 0
        self.out: list[str] = []
        self.marks: list[str | RawRedirect] = []
        self.awaited: list[tuple[int, str, bool, bool]] = []
        self.starts = True
        """Whether the next word begins a command."""
        self.closed = False
        """Whether a compound command has just been closed."""
        self.loop = False
        """Whether `for` or `select` came just before."""

    def build(self) -> Skeleton:
        while self.at < len(self.text):
            self._step()
        for mark, _, _, _ in self.awaited:
            self.marks[mark] = RawRedirect(operator="<<", document=HereDocument(text="", quoted=True))
        return Skeleton(
            text="".join(self.out), marks=tuple(self.marks), unfinished=self.lexer.unfinished, tokens=self.tokens
        )

    def _step(self) -> None:
        text, at = self.text, self.at
        char = text[at]
        if char in " \t\r" or text.startswith("\\\n", at):
            self.at += 1 if char != "\\" else 2
            self.out.append(" ")
            return
        self.tokens += 1
        if self.tokens > self.most:
            raise StopReading("it has more words than are read")
        if char == "\n":
            self._line_break()
        elif char == "#":
            self._comment_or_word()
        elif text.startswith("((", at) and (self.starts or self.loop) and (end := self.lexer.arithmetic_end(at + 2)):
            self._arithmetic(end)
        elif redirection := self._redirection():
            self._redirect(redirection)
        elif operator := _OPERATOR.match(text, at):
            self._operator(operator[0])
        else:
            self._word()

    def _redirection(self) -> re.Match[str] | None:
        """Return the redirection that begins here; `<(` and `>(` begin a word."""
        found = _REDIRECTION.match(self.text, self.at)
        opens = found is not None and found[1] in {"<", ">"} and self.text.startswith("(", found.end())
        return None if opens else found

    def _line_break(self) -> None:
        self.out.append("\n")
        self.starts, self.closed, self.loop = True, False, False
        self.at += 1
        for mark, delimiter, dashed, quoted in self.awaited:
            body, self.at = self.lexer.body(self.at, delimiter, dashed=dashed)
            self.marks[mark] = RawRedirect(operator="<<", document=HereDocument(text=body, quoted=quoted))
        self.awaited.clear()

    def _comment_or_word(self) -> None:
        before = self.text[self.at - 1] if self.at else "\n"
        if before in " \t\n;|&()":
            self.at = self.lexer.line_end(self.at)
        else:
            self._word()

    def _arithmetic(self, end: int) -> None:
        mark = self._mark(f'"${self.text[self.at : end]}"')
        if self.loop:
            self.out.append(f"_ in {mark}")
            rest = self.text[end:].lstrip(" \t")
            self.out.append("" if rest.startswith((";", "\n")) else ";")
        else:
            self.out.append(f": {mark}")
        self.at, self.starts, self.loop, self.closed = end, False, False, False

    def _operator(self, operator: str) -> None:
        self.stages = self.stages + 1 if operator in {"|", "|&"} else 0 if operator != "(" else self.stages
        if self.stages > _MOST_STAGES:
            raise StopReading(f"a pipe has more than {_MOST_STAGES} stages")
        self.depth += (operator == "(") - (operator == ")")
        if self.depth > _DEEPEST:
            raise StopReading("it is nested too deeply")
        if self.depth < -_MOST_UNOPENED:
            raise StopReading("it closes more than it opens")
        # `;&` and `;;&` end a case's item for bash; the grammar is surer of `;;`.
        self.out.append({"|&": "|", ";&": ";;", ";;&": ";;"}.get(operator, operator))
        self.at += len(operator)
        self.closed = operator == ")"
        self.starts, self.loop = True, False

    def _redirect(self, found: re.Match[str]) -> None:
        operator = found[1]
        self.at = found.end()
        if operator in {"<<", "<<-"}:
            delimiter, dashed, quoted, self.at = self.lexer.delimiter(found.start(1))
            self.awaited.append((len(self.marks), delimiter, dashed, quoted))
            mark = self._mark(RawRedirect(operator="<<"))
        elif operator in {">&", "<&"} and (duplicate := _DUPLICATE.match(self.text, self.at)):
            self.at = duplicate.end()
            return
        else:
            self.at = _BLANKS.match(self.text, self.at).end()  # pyright: ignore[reportOptionalMemberAccess]  # matches ""
            end = self.lexer.word_end(self.at)
            mark = self._mark(RawRedirect(operator=operator, raw=self.text[self.at : end]))
            self.at = end
        # An argument reads more surely than a redirection, which is needed behind `done`, `}` and `)` only.
        self.out.append(f" > {mark} " if self.closed else f" {mark} ")

    def _word(self) -> None:
        if self.starts and self.text.startswith("[[", self.at) and self.text[self.at + 2 : self.at + 3].isspace():
            self._test()
            return
        end = self.lexer.word_end(self.at)
        end = max(end, self.at + 1)
        raw, self.at = self.text[self.at : end], end
        if self.starts and raw in _SKIPPED and self._skips(raw):
            return
        keyword = self.starts and (raw in _OPENING or raw in _CLOSING)
        self.closed = self.starts and raw in _CLOSING
        named = bool(self.out) and self.out[-2:-1] == ["function"]
        self.starts = named or (self.starts and raw in _OPENING)
        plain = keyword or (_PLAIN.fullmatch(raw) and raw not in _OF_THE_GRAMMAR)
        self.out.append(raw if plain else self._mark(raw))
        self.loop = raw in {"for", "select"}

    def _skips(self, raw: str) -> bool:
        """Whether the word only says how a compound command runs; the grammar mistakes what follows it."""
        if raw == "!":
            return True
        rest = self.text[self.at :].lstrip(" \t")
        return rest.startswith(("{ ", "(", "while ", "for ", "if ", "until ", "case ", "[["))

    def _test(self) -> None:
        closing = self.text.find(" ]]", self.at)
        end = closing + 3 if closing >= 0 else self.lexer.line_end(self.at)
        # As an argument of `:` its expansions are still read, and its `<`, `&&` and `(` are no operators.
        inner = self.text[self.at + 2 : max(end - 3, self.at + 2)].replace('"', "")
        mark = self._mark(f'"{inner}"')
        self.out.append(f": {mark}")
        self.at, self.starts, self.closed = end, False, False

    def _mark(self, value: str | RawRedirect) -> str:
        self.marks.append(value)
        return f"\x02{len(self.marks) - 1}\x02"
