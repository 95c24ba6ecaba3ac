"""Where the words, quotes and substitutions of a shell text end: the part of the language below its grammar."""

from __future__ import annotations

import re

from assent.shell.words.scope import StopReading

_NAME = re.compile(r"[A-Za-z_]\w*")
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=\Z")
_WORD_CHARS = re.compile(r"[\w./:=,@%+^~*?!#\[\]{}-]+")
_CASE_WORD = re.compile(r"(?:case|esac)\b")
_DELIMITER = re.compile(r"<<(-?)[ \t]*")
_DELIMITER_END = frozenset(" \t\n;|&()<>")
_WORD_END = frozenset(" \t\r\n;|&()<>")
_MOST_IN_VAIN = 200_000
"""Characters that are walked through behind `((` without finding its end, by all of them together."""
_OPERATOR_BEFORE_WORD = frozenset(" \t\n;|&(")


class Lexer:
    """Finds ends in one text. A thing that is not closed ends with the text and sets `unfinished`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.unfinished = False
        self._in_vain = 0
        self._known_ends: dict[int, int] = {}
        """Ends of expansions, so that nested ones are walked once: without it `$((` could be tried 2ⁿ times."""

    def word_end(self, start: int) -> int:
        """Return the index behind the word that begins at `start`."""
        text, at = self.text, start
        while at < len(text):
            if plain := _WORD_CHARS.match(text, at):
                at = plain.end()
                continue
            char = text[at]
            if char in "<>" and text.startswith("(", at + 1):
                at = self.substitution_end(at + 2)
            elif char == "(" and self._opens_inside_word(start, at):
                at = self.substitution_end(at + 1)
            elif char in _WORD_END:
                break
            else:
                at = self.piece_end(at)
        return at

    def piece_end(self, at: int) -> int:
        """Return the index behind the escape, quote, expansion or single character at `at`."""
        match self.text[at]:
            case "\\":
                return min(at + 2, len(self.text))
            case "'":
                return self._find("'", at + 1)
            case '"':
                return self.double_quote_end(at + 1)
            case "`":
                return self.backtick_end(at + 1)
            case "$":
                return self.dollar_end(at)
            case _:
                return at + 1

    def double_quote_end(self, at: int) -> int:
        """Return the index behind the `"` that closes what begins at `at`."""
        return self._closed_by('"', at, escapes_only=True)

    def backtick_end(self, at: int) -> int:
        """Return the index behind the closing backtick."""
        while at < len(self.text):
            if self.text[at] == "`":
                return at + 1
            at += 2 if self.text[at] == "\\" else 1
        return self._end()

    def dollar_end(self, at: int) -> int:
        """Return the index behind the expansion whose `$` stands at `at`."""
        if at not in self._known_ends:
            self._known_ends[at] = self._dollar_end(at)
        return self._known_ends[at]

    def _dollar_end(self, at: int) -> int:
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "(":
            arithmetic = self.arithmetic_end(at + 3) if text.startswith("((", at + 1) else None
            return arithmetic or self.substitution_end(at + 2)
        if following == "{":
            return self._closed_by("}", at + 2, escapes_only=False)
        if following == "'":
            return self._ansi_end(at + 2)
        if following == '"':
            return self.double_quote_end(at + 2)
        if name := _NAME.match(text, at + 1):
            return name.end()
        return at + 2 if following and following in "@*#?$!-0123456789" else at + 1

    def arithmetic_end(self, at: int) -> int | None:
        """Return the index behind the `))` that closes an arithmetic expression, or None when it is none."""
        depth, start = 0, at
        while at < len(self.text):
            char = self.text[at]
            if char == ")" and depth == 0:
                if self.text.startswith("))", at):
                    return at + 2
                break
            depth += (char == "(") - (char == ")")
            at = self.piece_end(at) if char in "'\"$`\\" else at + 1
        self._in_vain += at - start
        if self._in_vain > _MOST_IN_VAIN:
            raise StopReading("it has too many `((` that are no arithmetic")
        return None

    def substitution_end(self, at: int) -> int:
        """Return the index behind the `)` that closes the commands beginning at `at`."""
        text, depth, cases = self.text, 0, 0
        pending: list[tuple[str, bool]] = []
        while at < len(text):
            char = text[at]
            fresh = text[at - 1] in _OPERATOR_BEFORE_WORD
            if char == ")" and depth == 0 and cases == 0:
                return at + 1
            if char == "#" and fresh:
                at = self.line_end(at)
            elif text.startswith("<<", at) and not text.startswith("<<<", at):
                delimiter, dashed, _, at = self.delimiter(at)
                pending.append((delimiter, dashed))
            elif char == "\n" and pending:
                for delimiter, dashed in pending:
                    _, at = self.body(at + 1, delimiter, dashed=dashed)
                    at -= 1
                pending, at = [], at + 1
            elif fresh and (word := _CASE_WORD.match(text, at)):
                cases += 1 if word[0] == "case" else -1
                at = word.end()
            elif text.startswith("<<<", at):
                at += 3
            else:
                depth += (char == "(") - (char == ")" and depth > 0)
                at = self.piece_end(at)
        return self._end()

    def delimiter(self, at: int) -> tuple[str, bool, bool, int]:
        """Read the `<<WORD` at `at`: its delimiter, whether it is `<<-`, whether it was quoted, the index behind."""
        opening = _DELIMITER.match(self.text, at)
        start = opening.end() if opening else at + 2
        end = start
        while end < len(self.text) and self.text[end] not in _DELIMITER_END:
            end = self.piece_end(end)
        raw = self.text[start:end]
        bare = re.sub(r"\\(.)|[\"']|\$(?=[\"'])", r"\1", raw)
        return bare, bool(opening and opening[1]), bare != raw, end

    def body(self, at: int, delimiter: str, *, dashed: bool) -> tuple[str, int]:
        """Read the here-document that begins at `at`: its text, and the index behind its last line."""
        lines: list[str] = []
        while at < len(self.text):
            end = self.line_end(at)
            line = self.text[at:end]
            line = line.lstrip("\t") if dashed else line
            at = end + 1
            if line == delimiter:
                break
            lines.append(f"{line}\n")
        return "".join(lines), min(at, len(self.text))

    def line_end(self, at: int) -> int:
        """Return the index of the line break behind `at`, or the text's length."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _opens_inside_word(self, start: int, at: int) -> bool:
        if at == start:
            return False
        return self.text[at - 1] in "?*+@!" or bool(_ARRAY.match(self.text, start, at))

    def _closed_by(self, closing: str, at: int, *, escapes_only: bool) -> int:
        while at < len(self.text):
            char = self.text[at]
            if char == closing:
                return at + 1
            at = at + 1 if escapes_only and char in "'\"" else self.piece_end(at)
        return self._end()

    def _ansi_end(self, at: int) -> int:
        while at < len(self.text):
            if self.text[at] == "'":
                return at + 1
            at += 2 if self.text[at] == "\\" else 1
        return self._end()

    def _find(self, closing: str, at: int) -> int:
        end = self.text.find(closing, at)
        return self._end() if end < 0 else end + 1

    def _end(self) -> int:
        self.unfinished = True
        return len(self.text)
