"""The executor of payments in a process of its own, to be killed at a place.

`python -m tests.sdk.executor.executor_process`.

A place is a call and a side of it: `claim.before` is when the claim is about to be sent, `claim.after` when its answer
has come and nobody has looked at it. `payments` is the call to the ledger. `payments.cut` loses the ledger's answer,
and `taken.after` is when a wait has ended with the approval in hand; before each such wait it says so.
"""

from __future__ import annotations

import asyncio
import os
import signal

import httpx2

from assent import AsyncGateway
from assent.executor.executor import Executor
from examples.payment_executor import ledger_tool
from tests.sdk.pace import quick_pace

PLACE = "EXECUTOR_DIES_AT"


class Mortal(httpx2.AsyncHTTPTransport):
    """Ends the process around a call, as a power cut would."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        verb = request.url.path.rpartition("/")[2] if request.method == "POST" else ""
        _pass(f"{verb}.before")
        if "claim_id" in request.url.params:
            os.write(1, b"waits\n")
        answer = await super().handle_async_request(request)
        _pass(f"{verb}.after")
        if "claim_id" in request.url.params and b'"claimed"' in await answer.aread():
            _pass("taken.after")
        if os.environ.get(PLACE) == f"{verb}.cut":
            raise httpx2.ReadError("the answer is lost")
        return answer


def _pass(place: str) -> None:
    if os.environ.get(PLACE) == place:
        os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    bank = ledger_tool(
        os.environ["LEDGER_URL"],
        os.environ["LEDGER_TOKEN"],
        transport=Mortal(limits=httpx2.Limits(max_keepalive_connections=0)),
    )
    url, key = os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"]
    async with AsyncGateway(url, key, transport=Mortal(), pace=quick_pace()) as gateway:
        executor = Executor(gateway, name="payments", look_every=0.1)
        for tool in ("payout", "payout_small"):  # people approve the one, a rule allows the other
            executor.tool(tool, run=bank, lookup=bank.lookup, timeout=5)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, executor.stop)
        await executor.work()


if __name__ == "__main__":
    asyncio.run(main())
