"""An agent's one guarded tool: it pays once, as approved, whatever is killed meanwhile. README.md shows this file."""

import asyncio
import os
import sys

from assent import AsyncGateway, NotApprovedError, current_grant, guarded


async def main() -> None:
    url = os.environ.get("ASSENT_URL") or "http://127.0.0.1:8080"
    key = os.environ.get("ASSENT_KEY") or sys.exit("set ASSENT_KEY to the line that `assent keys create` printed")
    async with AsyncGateway(url, key, session="order-4711") as gateway:
        # The session names this run, call_id this payment of it. Killed and started again within a day, the agent finds
        # the same request. It goes on waiting, runs what was approved meanwhile, or is given what ran: never a second.
        # What a rule allows unasked (small amounts, in this file) is no request, and runs as often as it is called.
        @guarded(gateway, tool="oa__purchase_pay", call_id="INV-1042")
        async def pay(payee: str, amount: int, currency: str, invoice: str) -> str:
            # Runs once, with the approved arguments. The grant is the bank's idempotency key; None: a rule allowed it.
            return f"paid {amount} {currency} to {payee} for {invoice}, key {current_grant()}"

        try:
            print(await pay("Acme Ltd", 80_000, "CNY", "INV-1042"))
        except NotApprovedError as refusal:
            print(refusal)  # written for the model: answer the tool call with it


if __name__ == "__main__":
    asyncio.run(main())
