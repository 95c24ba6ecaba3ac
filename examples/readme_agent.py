"""An agent's one guarded tool: it pays once, as approved, and carries on after a crash. README.md shows this file."""

import asyncio
import os

from assent import AsyncGateway, NotApprovedError, current_grant, guarded, resume


async def main() -> None:
    url = os.environ.get("ASSENT_URL", "http://127.0.0.1:8080")
    # The session is this agent's name for its run: started again under the same one, it finds what it left open.
    async with AsyncGateway(url, os.environ["ASSENT_KEY"], session="order-4711") as gateway:

        @guarded(gateway, tool="oa__purchase_pay")
        async def pay(payee: str, amount: int, currency: str, invoice: str) -> str:
            # Runs once, with the approved arguments. The grant is the bank's idempotency key; None: a rule allowed it.
            return f"paid {amount} {currency} to {payee} for {invoice}, key {current_grant()}"

        # Waits for what is still pending; to go on meanwhile, run it as a task. It takes guarded or bare functions.
        for past in await resume(gateway, tools={"oa__purchase_pay": pay}):
            print(f"carried on with {past.request.tool}: {past.outcome}")

        try:
            print(await pay("Acme Ltd", 80_000, "CNY", "INV-1042"))
        except NotApprovedError as refusal:
            print(refusal)  # written for the model: answer the tool call with it


if __name__ == "__main__":
    asyncio.run(main())
