"""A process that takes requests through their life on a SQLite file, says what was acknowledged, and is killed.

``python -m tests.durability.write_driver FILE REQUESTS`` prints a line after each answer: ``req_0 pending`` and so on.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from app.domain.lifecycle.execution import claim, report
from app.domain.lifecycle.lifecycle import advance
from app.domain.request.request import ExecutionStatus
from tests.domain.samples import vote
from tests.storage.rig import ORG, ManualClock, given_request, open_store, stepping

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from app.domain.lifecycle.lifecycle import Step
    from app.domain.request.request import ConfirmationRequest

STEPS: dict[str, Callable[[ConfirmationRequest, datetime], Step]] = {
    "approved": lambda r, now: advance(r, vote(r, "ann@acme.example"), now=now),
    "executing": lambda r, now: claim(r, execution_id=f"exe_{r.id}", claim_id="c-1", by="agent:payer", now=now),
    "succeeded": lambda r, now: report(
        r, claim_id="c-1", status=ExecutionStatus.SUCCEEDED, result="1", error=None, by="agent:payer", now=now
    ),
}
ORDER = ["", "pending", *STEPS]


def acknowledge(request_id: str, state: str) -> None:
    """Say it in one write to the pipe, which no kill can take back."""
    os.write(1, f"{request_id} {state}\n".encode())


async def drive(path: str, requests: int) -> None:
    """Take the requests through their lives, one after the other."""
    async with open_store(f"sqlite:///{path}", ManualClock()) as store:
        for index in range(requests):
            request = await given_request(store, f"req_{index}")
            acknowledge(request.id, "pending")
            for state, step in STEPS.items():
                made = await store.write(stepping(request.id, step), org=ORG, about=request.id)
                assert made.refusal is None
                acknowledge(request.id, state)


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[1], int(sys.argv[2])))
