"""An approver decides with a personal key: over the API, and so on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from msgspec.structs import replace

from app.domain.errors import AssentError, DigestMismatchError, LockedError
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.request import API
from app.storage.requests.requests import lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.deciding.decide import decide, raise_refusal, withdraw_vote
from app.usecases.proving.proof import NOTHING_GIVEN, worth_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.deciding.decide import Decided
    from app.usecases.proving.proof import Given

log = structlog.get_logger(__name__)


class DecideByApi:
    """An approver decides with a personal key: identity from the credential, never from the body."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(
        self,
        *,
        org: str,
        request_id: str,
        person: str,
        verdict: Verdict,
        reason: str | None,
        digest: str,
        given: Given = NOTHING_GIVEN,
    ) -> ConfirmationRequest:
        """Record the verdict on exactly what `digest` names. Only an approval takes what was `given` with it.

        Raises NotFoundError, DigestMismatchError, NotEligibleError, AlreadySettledError, StepUpNeededError,
        LockedError. The same verdict of the same person again is answered like the first time; another one takes its
        place.
        """

        def vote(tx: Tx, request: ConfirmationRequest, now: datetime) -> Decided | AssentError:
            loaded = self._book.current(org)  # of this instant: who was taken out while this waited has no vote
            policy = loaded.policy
            evidence = Evidence(channel=API)
            if verdict is Verdict.APPROVE:
                worth = worth_of(tx, self._seals, request, now, policy, person=person, given=given, evidence=evidence)
                if isinstance(worth, AssentError):
                    return worth
                evidence = replace(evidence, assurance=worth)
            return decide(tx, request, now, loaded, person=person, verdict=verdict, reason=reason, evidence=evidence)

        try:
            decided = await self._locked(org, request_id, digest, vote)
        except LockedError:
            log.warning("approver.locked", org=org, person=person, request=request_id)
            raise
        raise_refusal(decided, self._book.current(org).policy, person, verdict)
        return decided.request

    async def withdraw(self, *, org: str, request_id: str, person: str, digest: str) -> ConfirmationRequest:
        """Take a person's vote back while the request waits.

        Raises NotFoundError, DigestMismatchError, AlreadySettledError, and InvalidError for who has no vote.
        """

        def take_back(tx: Tx, request: ConfirmationRequest, now: datetime) -> Decided:
            policy = self._book.current(org).policy
            return withdraw_vote(tx, request, now, policy, person=person, evidence=Evidence(channel=API))

        decided = await self._locked(org, request_id, digest, take_back)
        raise_refusal(decided, self._book.current(org).policy, person, None)
        return decided.request

    async def _locked(
        self,
        org: str,
        request_id: str,
        digest: str,
        then: Callable[[Tx, ConfirmationRequest, datetime], Decided | AssentError],
    ) -> Decided:
        def unit(tx: Tx) -> Decided | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = locked
            if digest != request.digest:
                return DigestMismatchError("the digest is not that of this request: read it again before you decide")
            return then(tx, request, now)

        return await self._store.write(unit, org=org, about=request_id)
