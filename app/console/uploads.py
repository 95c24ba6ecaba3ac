"""A form that may bring a file along: one text out of what a browser sends, bounded, and nothing of it kept."""

from __future__ import annotations

from email import policy as mail
from email.parser import BytesParser
from typing import TYPE_CHECKING

from app.api.wire.bodies import read_body
from app.domain.errors import UnauthenticatedError

if TYPE_CHECKING:
    from app.api.wire.routes import Request

_KIND = "multipart/form-data"
_MOST_PARTS = 8
_LONGEST_HEAD = 300  # characters of what a browser says of the whole: a boundary has 70 at most


async def form_with_file(request: Request, *, most: int) -> dict[str, bytes]:
    """Return the fields of a form by name, the content of a file under the name of its field, each once.

    Raises UnauthenticatedError for anything that is none.
    """
    said = request.headers.get("content-type", "")
    if said.partition(";")[0].strip().lower() != _KIND or len(said) > _LONGEST_HEAD or not said.isascii():
        raise UnauthenticatedError
    body = await read_body(request, most=most)
    whole = BytesParser(policy=mail.HTTP).parsebytes(b"Content-Type: " + said.encode() + b"\r\n\r\n" + body)
    found: dict[str, bytes] = {}
    parts = list(whole.iter_parts()) if whole.is_multipart() else []
    for part in parts[: _MOST_PARTS + 1]:
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes) or name in found:
            raise UnauthenticatedError
        found[name] = content
    if not found or len(found) > _MOST_PARTS:
        raise UnauthenticatedError
    return found
