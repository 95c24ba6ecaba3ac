"""Files of calls: kept encrypted, a row each, and read back only as what their request says they are.

The request has each file's SHA-256 under its seal. So a row here is believed only as far as its content has that sum:
whoever has the database alone can leave a file out, but put no other in its place.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from app.domain.call.exhibit import ExhibitKind
from app.storage.engine.transaction import Row, Statement, Tx
from app.storage.identity.vault import hidden, show
from app.storage.statements.together import Rank, inserting
from app.storage.tables.secret_tables import exhibits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.call.exhibit import Exhibit

_HIDDEN: dict[str, str] = {"content": ""}
"""What is encrypted, and what stands for it where it cannot be read."""
_INSERT = inserting(exhibits, rank=Rank.BELONG)
_OF = (exhibits.c.org == bindparam("for_org"), exhibits.c.request_id == bindparam("of_request"))
_READ = (
    exhibits.c.request_id.label("id"),
    exhibits.c.org,
    exhibits.c.id.label("exhibit_id"),
    exhibits.c.number,
    exhibits.c.content.label("exhibit_content"),
)
_LIST = Statement(select(*_READ).where(*_OF).order_by(exhibits.c.number))
_GET = Statement(select(*_READ).where(*_OF, exhibits.c.number == bindparam("of_number")))


def put_contents(tx: Tx, request_id: str, contents: Mapping[int, bytes]) -> None:
    """Keep the files of a new request, by their number among its evidence, from 1."""
    for number, content in contents.items():
        row_id = f"{request_id}.{number}"
        columns = {
            "id": row_id,
            "org": tx.org,
            "request_id": request_id,
            "number": number,
            "content": binascii.b2a_base64(content, newline=False).decode(),
        }
        tx.gather(_INSERT, **hidden(tx, columns, _HIDDEN, request_id=request_id, row_id=row_id))


def find_content(tx: Tx, request_id: str, evidence: Sequence[Exhibit], number: int) -> bytes | None:
    """Return a file's content; None if it is not there, cannot be read, or is not what the request says."""
    row = tx.one(_GET, for_org=tx.org, of_request=request_id, of_number=number)
    return _content_of(tx, row, evidence[number - 1]) if row and 0 < number <= len(evidence) else None


def list_contents(tx: Tx, request_id: str, evidence: Sequence[Exhibit]) -> dict[int, bytes]:
    """Return the files of a request by number, as far as they are what the request says."""
    found: dict[int, bytes] = {}
    for row in tx.all(_LIST, for_org=tx.org, of_request=request_id):
        number: Any = row["number"]  # in SQLite it may be anything
        known = isinstance(number, int) and 0 < number <= len(evidence)
        content = _content_of(tx, row, evidence[number - 1]) if known else None
        if content is not None:
            found[number] = content
    return found


def exhibits_fault(tx: Tx, request_id: str, evidence: Sequence[Exhibit]) -> str | None:
    """Say what is wrong with the files of a request: one is not there, was changed, or nobody brought it along."""
    files = {number for number, each in enumerate(evidence, start=1) if each.kind is ExhibitKind.FILE}
    if files and files != list_contents(tx, request_id, evidence).keys():
        return "a file of its evidence is not there, or is not what was shown"
    return None


def _content_of(tx: Tx, row: Row, exhibit: Exhibit) -> bytes | None:
    show(tx, row, ((_HIDDEN, "exhibit_"),))
    try:
        content = binascii.a2b_base64(row["exhibit_content"], strict_mode=True)
    except (ValueError, TypeError):
        return None
    is_it = exhibit.kind is ExhibitKind.FILE and hmac.compare_digest(
        hashlib.sha256(content).hexdigest(), exhibit.sha256
    )
    return content if is_it else None
