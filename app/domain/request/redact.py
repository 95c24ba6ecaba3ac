"""Take sensitive values out of free text, such as the error of a tool that repeats its arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec.structs import replace

from app.domain.text.masking import HIDDEN
from app.domain.text.paths import list_values, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.request.elsewhere import Elsewhere
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue

_SHORTEST = 3  # characters: a shorter value is no secret, and its hiding would garble the text
_NUMBER = 8  # letters and digits, most of them digits: what is shorter may stand in a text by chance
_LONGEST_NUMBER = 64
_SHORTEST_WORD = 4
_WORD = re.compile(r"[^\W_]{4,}")
_CODE = re.compile(r"[a-z_]+")


def scrubbed(text: str, arguments: Mapping[str, JsonValue], sensitive: Iterable[str]) -> str:
    """Return `text` with every value that stands at or under a sensitive path hidden, longest first."""
    values = {leaf for path in sensitive for value in list_values(arguments, path) for leaf in _leaves(value)}
    digits = _digits(text)
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, HIDDEN)
            text = _hide_number(text, value, digits)
    return text


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _hide_number(text: str, value: str, digits: str) -> str:
    """Hide the number of an account or card however it is written: banks give it back in groups, or in capitals.

    `digits` are the text's: where the number's own do not stand among them, no pattern need be made.
    """
    signs = [char for char in value if char.isalnum()]
    if not _NUMBER <= len(signs) <= _LONGEST_NUMBER or 2 * sum(map(str.isdigit, signs)) <= len(signs):
        return text
    if _digits(value) not in digits:
        return text
    return re.sub(r"[\s./-]?".join(map(re.escape, signs)), HIDDEN, text, flags=re.IGNORECASE)


def scrubbed_for(text: str, request: ConfirmationRequest) -> str:
    """Return `text` without the sensitive values of a request: of the call as it is, and as the agent had it."""
    text = scrubbed(text, request.call.arguments, request.sensitive)
    return text if request.proposed is None else scrubbed(text, request.proposed, request.sensitive)


def unquoted(text: str, said: Iterable[str]) -> str:
    """Return `text` without what it quotes of `said`, whole or by the word; what reads like a code (``a_b``) stays."""
    quoted = sorted({each for each in said if len(each) >= _SHORTEST_WORD and not _CODE.fullmatch(each)}, key=len)
    for each in reversed(quoted):
        text = text.replace(each, HIDDEN)
    words = {word for each in quoted for word in _WORD.findall(each)}
    return _WORD.sub(lambda found: HIDDEN if found[0] in words and not _CODE.fullmatch(found[0]) else found[0], text)


def place_for(elsewhere: Elsewhere | None, request: ConfirmationRequest) -> Elsewhere | None:
    """Return where a call waits without the request's sensitive values; a link that holds one is left out."""
    if elsewhere is None:
        return None
    link = elsewhere.link
    whole = link is None or scrubbed_for(unquote(link), request) == unquote(link)
    return replace(elsewhere, id=scrubbed_for(elsewhere.id, request), link=link if whole else None)


def _leaves(value: JsonValue) -> Iterable[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _leaves(item)
        case list():
            for item in value:
                yield from _leaves(item)
        case None | bool():
            return
        case _:
            yield text_of(value)
