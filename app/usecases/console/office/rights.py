"""What a session may open beside the requests that concern its person: asked here, and nowhere else.

It is what the roles of the file open (`app/usecases/console/rights.py`). Whoever has none is refused, and no page leads
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import ForbiddenError, UnauthenticatedError

if TYPE_CHECKING:
    from app.domain.errors import AssentError
    from app.storage.engine.transaction import Tx
    from app.usecases.console.rights import Page
    from app.usecases.console.sessions import Right


def pages_of(right: Right) -> frozenset[Page]:
    """Return what the person of a session may open; one request's session opens none."""
    return right.pages if right.request_id is None else frozenset()


def refusal_for(tx: Tx, right: Right, page: Page) -> AssentError | None:
    """Say why a session may not open a page at this instant; None if it may."""
    if tx.now() >= right.until:
        return UnauthenticatedError()
    if page not in pages_of(right):
        return ForbiddenError()
    return None
