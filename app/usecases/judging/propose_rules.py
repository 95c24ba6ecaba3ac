"""Read the last requests, and say which rules people's approvals of them suggest. Nothing is written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from app.storage.engine.dialect import to_us
from app.usecases.judging.propose import propose

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.usecases.judging.propose import ProposedRule
    from app.usecases.reading.read import Read

MOST_READ = 2_000
"""Requests that a look goes back."""
_PAGE = 200


class ProposeRules:
    """The use case."""

    def __init__(self, *, read: Read) -> None:
        """Take what it works on."""
        self._read = read

    async def __call__(self, policy: Policy, *, now: datetime) -> tuple[ProposedRule, ...]:
        """Return what the last `MOST_READ` requests of an org suggest under today's file."""
        found: list[ConfirmationRequest] = []
        before: tuple[int, str] | None = None
        while len(found) < MOST_READ and (
            page := await self._read.page(policy.org, filters={}, only_open=False, before=before, most=_PAGE)
        ):
            found += page
            before = (to_us(page[-1].created_at), page[-1].id)
        return await asyncio.to_thread(propose, found, policy, now=now)
