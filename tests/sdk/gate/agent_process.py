"""An agent in a process of its own, with one gated tool: `python -m tests.sdk.gate.agent_process CALL_ID [PLACE]`.

It pays into one file, and writes what the gate said into another. `PLACE` is where it ends, as by a power cut:
`pending` (people are asked), `claimed` (before the tool), `ran` (behind the tool, before its report), `reported`
(before the framework's checkpoint).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import httpx2

from assent import AsyncGateway, Gate, Ran, Refused
from tests.sdk.pace import quick_pace


class Mortal(httpx2.AsyncHTTPTransport):
    """Ends the process when people are asked."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        if answer.status_code == 202:
            _pass(self._place, "pending")
        return answer


def _pass(place: str, here: str) -> None:
    if place == here:
        os.kill(os.getpid(), signal.SIGKILL)


def _write(name: str, told: object) -> None:
    with Path(name).open("a") as book:
        book.write(json.dumps(told) + "\n")


async def main() -> None:
    call_id, place = sys.argv[1], (*sys.argv[2:], "")[0]

    async def pay(**arguments: Any) -> dict[str, Any]:
        _pass(place, "claimed")
        _write("paid.txt", arguments)
        _pass(place, "ran")
        return {"receipt": "R-1"}

    url, key, pace = os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], quick_pace(hold=0.2)
    async with AsyncGateway(url, key, session="order-1", transport=Mortal(place), pace=pace) as gateway:
        found = await Gate(gateway).run("pay", {"amount": 7}, pay, call_id=call_id)
    _pass(place, "reported")
    said = {"kind": type(found).__name__, "result": None if isinstance(found, Refused) else found.result}
    words = "" if isinstance(found, Ran) else found.message
    _write("said.txt", {**said, "words": words})


if __name__ == "__main__":
    asyncio.run(main())
