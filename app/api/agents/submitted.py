"""A call that came in, through whichever of the agent's doors, as the one value that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire.verdicts import evaluation_key_of, refuse_evaluation
from app.domain.call.submission import Submission
from app.domain.errors import InvalidError

if TYPE_CHECKING:
    from starlette.requests import Request

    from app.api.wire.schemas import CallBody
    from app.domain.identity.api_key import ApiKey


def submitted(key: ApiKey, body: CallBody, request: Request) -> Submission:
    """Return the call: what is said of it is the body's, whose it is the key's. Raises WrongScopeError, InvalidError.

    The body's members are the submission's by name; `tests/sdk/client/test_wire_call.py` holds both to it.
    """
    refuse_evaluation(key, wanted=body.evaluation)
    return Submission(
        org=key.org,
        agent=str(key.agent),
        owner=key.person,
        idempotency_key=_idempotency_key_of(request),
        evaluation_key=evaluation_key_of(key),
        **vars(body),
    )


def _idempotency_key_of(request: Request) -> str | None:
    """Return the caller's name for this very submission. Raises InvalidError."""
    key = request.headers.get("idempotency-key")
    if key is not None and not (1 <= len(key) <= 200 and key.isprintable()):
        raise InvalidError("an Idempotency-Key has 1 to 200 printable characters", path="header.idempotency-key")
    return key
