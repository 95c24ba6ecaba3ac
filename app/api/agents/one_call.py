"""The agent's one call: judged, opened, held, decided and claimed in one round trip, at both doors for a call.

What a call is answered that waits, or names a `claim_id`:

| answer | status | when |
| --- | --- | --- |
| `allow`, `deny` | 200 | nobody had to be asked |
| `claimed` | 200 | approved, and the approval is spent: what a claim answers, in `claimed` |
| `deny` with `request` | 200 | people said no, or it ended otherwise without a run: see its `state` |
| `ask` with `request` | 202 | the time is up, or the gateway stops: come back with the request's id |
| a problem with `request_id` | as a claim's | the approval cannot be had: spent, paused, taken back, … |

While it is held a call is one future in a dictionary (`app/usecases/reading/wait.py`); of its body nothing is kept.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import ClientDisconnect

from app.api.wire.bodies import answer, is_gone
from app.api.wire.queries import number_of, text_of, version_of
from app.api.wire.verdicts import (
    BRIEFLY,
    answer_judged,
    caller_of,
    is_known,
    view_claimed,
    view_said,
    view_shown,
    view_standing,
)
from app.domain.card.card_for import message_for_claimer
from app.domain.errors import AssentError, UnauthenticatedError
from app.domain.identity.api_key import AGENTS, Scope
from app.domain.request.request import State
from app.failpoints import failpoint
from app.usecases.asking.submit import Answered
from app.usecases.executing.claim import Claimed
from app.usecases.executing.take_when_decided import NOT_TO_RUN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from app.api.wire.schemas import HeldBody
    from app.api.wire.services import Services
    from app.domain.call.submission import Submission
    from app.domain.identity.api_key import ApiKey
    from app.domain.request.request import ConfirmationRequest

LONGEST_WAIT = 60.0
"""Seconds for which one call is held at most; callers ask again."""


class Held(NamedTuple):
    """How long a caller waits, and under which name it takes what is approved meanwhile, if it does."""

    seconds: float
    claim_id: str | None
    since: int | None = None
    comes_back: bool = False
    """It has been told of the request before."""

    @staticmethod
    def of(body: HeldBody) -> Held:
        """Read it from the body of a call."""
        return Held(min(body.wait or 0.0, LONGEST_WAIT), body.claim_id)


class Standing(NamedTuple):
    """The request on which a call stands, and what its answer has besides."""

    request_id: str
    given: dict[str, object]
    opened: int = 0
    """The version in which this very call has opened it, to wait for people; 0: it has not."""


async def judge_held(c: Services, key: ApiKey, submission: Submission, held: Held) -> Response | Standing:
    """Judge a call: its answer, or the request for which its caller is held. Raises what `Submit` raises."""
    failpoint("call.received")
    found = await c.submit(submission, claims=held.claim_id is not None)
    if isinstance(found, Answered):
        return answer_judged(found)
    failpoint("call.opened")
    request_id = found.request.id
    if found.attached and held.claim_id is not None:
        await _refuse_foreign(c, key, request_id)
    is_new = not found.attached and found.request.state is State.PENDING
    given = {"attached": found.attached, **view_said(found.said)}
    return Standing(request_id, given, found.request.version if is_new else 0)


async def answer_return(c: Services, key: ApiKey, request: Request, request_id: str) -> Response:
    """Answer whoever comes back to a request as its call would have been. Raises what `Claim.take` raises."""
    claim_id = text_of(request, "claim_id", most=200)
    seconds = number_of(request, "wait", most=LONGEST_WAIT) or 0.0
    held = Held(seconds, claim_id, version_of(request), comes_back=True)
    await _refuse_foreign(c, key, request_id)
    return await answer_held(c, key, request, Standing(request_id, {}), held)


async def answer_held(c: Services, key: ApiKey, request: Request, standing: Standing, held: Held) -> Response:
    """Hold a caller until people have decided. Raises what `Claim.take` raises."""
    request_id, given, opened = standing
    # Its time is people's, and in no figure of ours.
    request.scope["state"] |= {"held": True, "request_id": request_id}
    try:
        found = await c.take_when_decided(
            caller_of(key),
            request_id,
            claim_id=held.claim_id,
            seconds=held.seconds,
            since=held.since,
            confirm=_confirm(c, request),
            who=key.id,
            gone=partial(is_gone, request) if key.scope in AGENTS else None,
            opened=opened,
        )
    except AssentError as error:
        error.more.setdefault("request_id", request_id)
        raise
    if isinstance(found, Claimed):
        shown, message = await view_shown(c, key, found.request), message_for_claimer(found.request)
        body = {"decision": "claimed", "message": message, **given, "request": shown, "claimed": view_claimed(found)}
        return answer(body, headers={"Cache-Control": "no-store"})
    if found.state in NOT_TO_RUN:
        shown = await view_shown(c, key, found)
        settled = found.settlement if found.state is not State.LAPSED else None  # there it is the approval's
        reason = settled.reason if settled else found.revoked_why
        return answer({"decision": "deny", "reason": reason, "message": shown["message"], **given, "request": shown})
    found = await _expect_back(c, key, request, found)
    stopping = found.state is State.PENDING and c.waiters.stopping
    headers = {"Retry-After": "1"} if stopping else {}
    if held.comes_back and is_known(request, found, since=held.since):
        return answer({"decision": "ask", "request": view_standing(found)}, 202, headers | BRIEFLY)
    return answer({"decision": "ask", **given, "request": await view_shown(c, key, found)}, 202, headers)


async def answer_waited(
    c: Services, key: ApiKey, request: Request, found: ConfirmationRequest, *, since: int | None
) -> Response:
    """Answer whoever waited without a claim: with all of the request, or with how it stands if they want no more."""
    found = await _expect_back(c, key, request, found)
    if is_known(request, found, since=since):
        return answer(view_standing(found), headers=BRIEFLY)
    return answer(await view_shown(c, key, found))


async def _expect_back(c: Services, key: ApiKey, request: Request, found: ConfirmationRequest) -> ConfirmationRequest:
    """Remember that a caller who is still there is told how its request stands: it will wait again, or claim it."""
    if found.attachable and key.scope in AGENTS and not await is_gone(request):
        c.waiters.expect(key.org, found.id, found.version, decided=found.status.final)
    return found


def _confirm(c: Services, request: Request) -> Callable[[], Awaitable[None]]:
    """Return what asks whether the caller is still there, and its key still good: a claim is for nobody else."""

    async def confirm() -> None:
        if await is_gone(request):
            raise ClientDisconnect
        if not await c.access.still_holds(request):
            raise UnauthenticatedError

    return confirm


async def _refuse_foreign(c: Services, key: ApiKey, request_id: str) -> None:
    """Refuse an evaluation key what it did not open. Raises WrongScopeError, NotFoundError."""
    if key.scope is Scope.EVALUATION:
        await c.submit.refuse_foreign(key.org, request_id, agent=str(key.agent), evaluation_key=key.id)
