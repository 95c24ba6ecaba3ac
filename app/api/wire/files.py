"""Files of agents out, inert: as what they are, never as a page, and to be kept by nobody on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from app.usecases.reading.evidence import Piece

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}


def file_answer(piece: Piece) -> Response:
    """Render a file: a picture to be shown, a PDF to be saved. Its name and type are ours, nothing is the agent's."""
    how = "inline" if piece.type.is_picture else "attachment"
    disposition = {"Content-Disposition": f'{how}; filename="{piece.name}"'}
    return Response(piece.content, headers=_HEADERS | disposition, media_type=piece.type.value)
