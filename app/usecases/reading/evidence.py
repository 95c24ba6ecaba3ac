"""The evidence of a request as one reader sees it, and one of its files, to be handed out as nothing but that file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from app.domain.call.exhibit import ExhibitKind
from app.domain.errors import NotFoundError, UnsealedError
from app.domain.text.visible import on_one_line
from app.domain.words.say import say
from app.storage.exhibits.exhibits import find_content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.call.file_type import MediaType
    from app.domain.errors import AssentError
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.language import Language
    from app.storage.engine.transaction import Tx

log = structlog.get_logger(__name__)

_KILO = 1_000
_SUM = 16  # letters of a SHA-256 that people compare; the API and the trail have it whole


class ShownExhibit(Struct, frozen=True, kw_only=True):
    """One exhibit on a page. Every text is visible; `url` is the agent's own, and was checked when it came in."""

    number: int
    name: str  # of a file; of a link the host that it leads to
    told: tuple[str, ...]  # what else is said of it, a line each
    url: str = ""
    is_picture: bool = False


class Piece(Struct, frozen=True, kw_only=True):
    """The content of one file. `name` is ours: what the agent calls it goes into no header and no folder."""

    content: bytes
    type: MediaType
    name: str


def exhibits_shown(request: ConfirmationRequest, language: Language) -> Iterator[ShownExhibit]:
    """Yield what a request brought along, in its order."""
    for number, each in enumerate(request.call.evidence, start=1):
        if each.kind is ExhibitKind.LINK:
            called = (say(language, "console.evidence.calls", title=on_one_line(each.title)),) if each.title else ()
            leads = say(language, "console.evidence.leads", host=each.host)
            yield ShownExhibit(number=number, name=each.host, told=(leads, *called, each.url or ""), url=each.url or "")
        elif each.type is not None:
            size = f"{each.type.suffix.upper()} · {_size(each.size or 0)}"
            told = (size, say(language, "console.evidence.sum", sha256=each.sha256[:_SUM]))
            name, is_picture = on_one_line(each.title), each.type.is_picture
            yield ShownExhibit(number=number, name=name, told=told, is_picture=is_picture)


def find_piece(tx: Tx, request: ConfirmationRequest, number: str) -> Piece | AssentError:
    """Return one file of a request, by its number among the evidence, from 1: only as the very file that was sent."""
    evidence = request.call.evidence
    place = int(number) if number.isascii() and number.isdigit() and len(number) <= 2 else 0
    if not 0 < place <= len(evidence):
        return NotFoundError()
    exhibit = evidence[place - 1]
    if exhibit.type is None:
        return NotFoundError("that is a link: `evidence` of the request has its address")
    content = find_content(tx, request.id, evidence, place)
    if content is None:
        log.critical("exhibit.forged", org=tx.org, request=request.id, number=place)
        return UnsealedError("this file is not there, or is not what was sent: it is not handed out")
    return Piece(content=content, type=exhibit.type, name=f"evidence-{place}.{exhibit.type.suffix}")


def _size(count: int) -> str:
    return f"{count:,} B" if count < _KILO else f"{count / _KILO:,.0f} kB"
