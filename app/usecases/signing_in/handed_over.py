"""Prove who asked for a call by the token that the agent handed over with it, if it is one.

A token that proves nothing makes nothing possible that its absence would not: the requester is then whoever the agent
names, as a claim; a rule that demands a proof refuses the call, and says why. The issuer is asked outside of any
transaction, within a bound, and for all calls at once. Neither the token nor a part of it is kept or logged.
"""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import structlog

from app.domain.errors import InvalidError
from app.domain.identity.handed_token import proof_in
from app.domain.identity.provider import BadTokenClaimsError
from app.domain.people.people import email_key
from app.usecases.signing_in.issuer import Issuers, UnreachedError

if TYPE_CHECKING:
    from app.domain.call.requester_proof import RequesterProof
    from app.domain.call.submission import Submission
    from app.domain.identity.provider import Provider
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.usecases.signing_in.issuer import Fetch

log = structlog.get_logger(__name__)

SECONDS: Final = 5.0
"""How long a call waits for what an issuer says: those who ask have ten, and people are asked only then."""

_UNREACHED = "its issuer does not answer just now"


class ProveRequester:
    """The use case."""

    def __init__(self, *, book: PolicyBook, fetch: Fetch, clock: Clock, seconds: float = SECONDS) -> None:
        """Take what it works on."""
        self._book = book
        self.issuers = Issuers(fetch=fetch, clock=clock)
        self._clock = clock
        self._seconds = seconds

    async def __call__(self, submission: Submission) -> Submission:
        """Return the call without its token, and with what that proved, or why it proved nothing.

        Raises InvalidError where it proves somebody else than the call names: one of the two is a lie, or a mistake.
        """
        try:
            proof = await self._proof(submission)
        except (BadTokenClaimsError, UnreachedError) as error:
            log.warning("requester.unproven", org=submission.org, agent=submission.agent, why=str(error))
            why = error.why if isinstance(error, BadTokenClaimsError) else _UNREACHED
            return replace(submission, requester_token=None, unproven=why)
        if submission.requester is not None and email_key(submission.requester) != proof.person:
            raise InvalidError(
                "`requester_token` is of somebody else than `requester` names: leave one of them out", path="requester"
            )
        return replace(submission, requester_token=None, requester=proof.person, proof=proof)

    async def _proof(self, submission: Submission) -> RequesterProof:
        token = submission.requester_token or ""
        provider = self._issuer_of(submission.org, token)
        try:
            async with asyncio.timeout(self._seconds):
                signed = await self.issuers.signed(provider, token)
        except TimeoutError:
            self.issuers.leave_alone(provider)
            raise UnreachedError(f"no answer within {self._seconds:g} seconds") from None
        return proof_in(
            signed.claims,
            provider,
            self._book.current(submission.org).policy.directory,
            typ=signed.typ,
            token=token,
            agent=submission.agent,
            now=self._clock.now(),
        )

    def _issuer_of(self, org: str, token: str) -> Provider:
        """Return whose a token says that it is, of those in the file that are asked at all: nobody else is."""
        said = _unverified(token)
        found = [each for each in self._book.current(org).providers if each.handed and each.issuer == said]
        if not found:
            raise BadTokenClaimsError("it is of no issuer whose tokens the file takes (sign_in, requesters)")
        return found[0]


def _unverified(token: str) -> object:
    """Return what a token calls its issuer. Nothing else of it is looked at before its signature was checked."""
    middle = token.split(".")[1:2]
    try:
        claims: object = json.loads(urlsafe_b64decode(middle[0] + "=" * (-len(middle[0]) % 4))) if middle else None
    except (ValueError, RecursionError):
        claims = None
    return cast("dict[str, object]", claims).get("iss") if isinstance(claims, dict) else None
