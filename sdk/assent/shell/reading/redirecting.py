"""Redirections of a command: where its output goes, and what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from assent.shell.reading.follower import Input
from assent.shell.words.scope import UNKNOWN, text_of, word_of
from assent.shell.words.script import Redirect
from assent.shell.words.words import WordReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.shell.reading.follower import Raw
    from assent.shell.words.scope import Scope
    from assent.shell.words.script import Command, Word
    from assent.shell.words.skeleton import RawRedirect

    Substitute: TypeAlias = Callable[[str, Scope], tuple[str, tuple[Command, ...]]]
    Written: TypeAlias = Callable[[Word], str | None]


def read_redirects(
    raws: Sequence[Raw], scope: Scope, inside: Scope, substitute: Substitute, written: Written
) -> tuple[tuple[Redirect, ...], Input, tuple[Command, ...]]:
    """Return the redirections, what stands on standard input, and the commands inside both.

    `inside` is the scope for the words themselves; `written` tells what the text itself has put into a file.
    """
    redirects: list[Redirect] = []
    given = Input(feeders=scope.feeders, fed_text=scope.fed_text)
    everything: list[Command] = []
    for raw in raws:
        if isinstance(raw, str):
            continue
        reader = WordReader(inside, substitute)
        if raw.document or raw.operator == "<<<":
            text = _fed(raw, reader)
            given = Input(feeders=tuple(reader.sources), fed_text=None if UNKNOWN in text else text)
        elif raw.raw.startswith("<(") and raw.operator == "<":
            text, commands = substitute(raw.raw[2:-1], scope)
            given = Input(feeders=tuple(reversed(commands)), fed_text=None if UNKNOWN in text else text)
            everything.extend(commands)
            continue
        else:
            target = "".join(text_of(word) for word in reader.fields(raw.raw)[:1])
            word = (reader.fields(raw.raw) or [word_of(target)])[0]
            redirects.append(Redirect(operator=raw.operator, target=word))
            given = Input(fed_text=written(word)) if raw.operator.startswith("<") else given
        everything.extend(reader.sources)
    return tuple(redirects), given, tuple(everything)


def _fed(raw: RawRedirect, reader: WordReader) -> str:
    if raw.document is None:
        return reader.text(raw.raw) + "\n"
    return raw.document.text if raw.document.quoted else reader.quoted_text(raw.document.text)
