"""A statement as its database reads it: without comments and spare blanks, and what of it is code.

`DROP/**/TABLE x`, `/*!50000 drop */ table x` and `'drop ' || 'table x'` are one statement to a database; what stands in
a comment or in a text is none. No parser: comments, texts and names in quotes are all that it knows of the language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assent.shell.lists import listed

_MYSQLS = listed("mysql mycli mariadb mysqlsh")
_ESCAPES = _MYSQLS | listed("clickhouse-client clickhouse bq hive beeline spark-sql impala-shell snowsql snow")
"""Their texts know `\\'`."""
OTHER_LANGUAGES = listed("mongo mongosh arangosh cypher-shell influx redis-cli surreal edgedb gel iredis")
"""Databases that speak no SQL: `--` and `'` mean other things to them."""
_MARKS = re.compile(r"--|#|/\*(?:M?!\d{0,6})?|\*/|['\"`]|\$(?:[A-Za-z_]\w{0,62})?\$")
_BODY = re.compile(r"(?:\b(?:do|as|execute|immediate)|\blanguage\s{1,9}'?\w{1,40}'?)\s{0,9}\Z", re.IGNORECASE)
"""What stands before a text in dollars that is code."""
_BLANKS = re.compile(r"\s+")
_JOINED = re.compile(r"'\s?(?:\|\||\+)?\s?'|\"\s?(?:\|\||\+)\s?\"")
_LISTED = re.compile(r"(['\"])\s?,\s?\1")
_CONCATENATES = re.compile(r"\bconcat(?:_ws)?\s?\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A text of statements, on one line."""

    said: str
    """Without comments; texts that are joined stand in one piece."""
    code: str
    """Without comments, and nothing in the texts: what stands here the database does."""


def read_statement(text: str, program: str) -> Statement:
    """Read a text that a database's program is given, each character once."""
    if program in OTHER_LANGUAGES:
        plain = _BLANKS.sub(" ", text)
        return Statement(plain, plain)
    said: list[str] = []
    code: list[str] = []
    at, body = 0, ""
    while found := _MARKS.search(text, at):
        _add(text[at : found.start()], said, code)
        mark, at = found[0], found.end()
        if mark in {"*/", body} or "!" in mark:  # the end of what was read as code: a comment that MySQL runs, a body
            _add("; " if mark == body else " ", said, code)
            body = "" if mark == body else body
        elif mark in {"--", "#"}:
            at = _behind_line(text, found, program, said, code)
        elif mark[0] == "$" and program in _MYSQLS:
            _add("; ", said, code)  # a delimiter of its own
        elif mark[0] in "$'" and not body and _BODY.search("".join(code[-2:])[-60:]):
            body = mark
            _add(" ", said, code)
        elif (end := _end(text, found, program)) < 0:
            at = found.start()
            break  # never closed: all that is left is looked at as code
        else:
            inner, at = text[at : end - len(mark)], end
            _add_quoted(mark, inner, program, said, code)
    _add(text[at:], said, code)
    plain = _JOINED.sub("", _BLANKS.sub(" ", "".join(said)))
    if _CONCATENATES.search(plain):
        plain = _LISTED.sub("", plain)
    return Statement(plain, _BLANKS.sub(" ", "".join(code)))


def _add(text: str, *parts: list[str]) -> None:
    for part in parts:
        part.append(text)


def _add_quoted(mark: str, inner: str, program: str, said: list[str], code: list[str]) -> None:
    if mark == "/*":
        _add(" ", said, code)
    elif mark == "'" or mark[0] == "$":
        said.append(f"'{inner}'")
        code.append("''")
    else:
        said.append(f"{mark}{inner}{mark}")
        code.append('""' if mark == '"' and program in _MYSQLS else f"{mark}{inner}{mark}")


def _behind_line(text: str, found: re.Match[str], program: str, said: list[str], code: list[str]) -> int:
    """Return where to read on behind a mark that may begin a comment to the line's end."""
    following = text[found.end() : found.end() + 1]
    comments = program in _MYSQLS if found[0] == "#" else program not in _MYSQLS or not following.strip()
    if not comments:
        _add(found[0], said, code)
        return found.end()
    _add(" ", said, code)
    end = text.find("\n", found.end())
    return len(text) if end < 0 else end


def _end(text: str, found: re.Match[str], program: str) -> int:
    """Return the index behind the end of a comment, a text or a name that begins there; -1 where it has none."""
    mark, at = found[0], found.end()
    closing = "*/" if mark == "/*" else mark
    escaped = mark in "'\"" and (program in _ESCAPES or text[found.start() - 1 : found.start()] in {"e", "E"})
    while (end := text.find(closing, at)) >= 0:
        slashes = len(text[at:end]) - len(text[at:end].rstrip("\\")) if escaped else 0
        if slashes % 2 == 0:
            return end + len(closing)
        at = end + 1
    return -1
