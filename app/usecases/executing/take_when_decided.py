"""Hold a caller until people have decided, and spend the approval for it then and there: the agent's one call.

Three steps, each of which the process may die behind. *The request waits*, and holds nothing of the caller's. *It is
decided*: nothing is claimed yet, and where the caller has gone meanwhile nothing is; it comes back to an approval that
nobody has spent. *It is claimed*, in a unit of its own that asks all that a claim asks: whoever lost that answer asks
again under the same claim id, and gets the same one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import NotFoundError
from app.domain.request.request import State
from app.failpoints import failpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from app.domain.errors import AssentError
    from app.domain.request.request import ConfirmationRequest
    from app.usecases.executing.claim import Caller, Claim, Claimed
    from app.usecases.reading.wait import Wait

NOT_TO_RUN = frozenset({State.DENIED, State.EXPIRED, State.CANCELLED, State.UNDELIVERABLE, State.LAPSED})
"""How a request ends without a run."""


class TakeWhenDecided:
    """The use case."""

    def __init__(self, *, wait: Wait, claim: Claim) -> None:
        """Take what it works on."""
        self._wait = wait
        self._claim = claim

    async def __call__(
        self,
        caller: Caller,
        request_id: str,
        *,
        claim_id: str | None,
        seconds: float,
        since: int | None = None,
        confirm: Callable[[], Awaitable[None]],
        who: str,
        gone: Callable[[], Awaitable[bool]] | None = None,
        opened: int = 0,
    ) -> ConfirmationRequest | Claimed:
        """Return what was claimed; or the request, where it is pending (the time is up, or the process stops) or ended.

        Without a `claim_id` only wait. With `since`, a pending request whose version is above it is returned as well.
        `gone` asks whether the caller has gone; `confirm` is called before anything is claimed, and raises where it
        has, or may no more. `opened` is the version in which the caller has just opened it, if it is pending. Raises
        that, and what `Claim.take` raises.
        """

        def refused(request: ConfirmationRequest) -> AssentError | None:
            if claim_id is not None:
                return caller.refused(request)
            return None if request.call.agent == caller.agent else NotFoundError()

        def answered(request: ConfirmationRequest) -> bool:
            return request.state is not State.PENDING or (since is not None and request.version > since)

        request = await self._wait.held(
            caller.org,
            request_id,
            refused=refused,
            answered=answered,
            seconds=seconds,
            who=who,
            gone=gone,
            opened=opened,
        )
        if claim_id is None or request.state is State.PENDING or request.state in NOT_TO_RUN:
            return request
        failpoint("call.decided")
        await confirm()
        taken = await self._claim.take(caller, request_id=request_id, digest=request.digest, claim_id=claim_id)
        failpoint("call.claimed")
        return taken
