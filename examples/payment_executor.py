"""The executor of payments: the one process that has the ledger's token. Agents only ask (`examples/ledger` pays).

    assent keys create --scope executor --tool pay_invoice --label payments
    LEDGER_TOKEN=… python -m examples.ledger ledger.db 8090
    ASSENT_URL=… ASSENT_KEY=ak_… LEDGER_URL=http://127.0.0.1:8090 LEDGER_TOKEN=… python -m examples.payment_executor

Kill it at any moment and start it again: what was approved is paid once, or is shown as unknown until the ledger or a
person (`assent requests reconcile`) says what became of it. The tool (another one: `TOOL=…`) is `enforced: true` in
assent.yaml.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import TYPE_CHECKING, Any, cast

from assent import AsyncGateway
from assent.executor.executor import Executor, ToolFailed, ToolSucceeded
from assent.executor.http_tool import HttpTool

if TYPE_CHECKING:
    import httpx2

TOOL = os.environ.get("TOOL", "oa__purchase_pay")


def ledger_tool(url: str, token: str, *, transport: httpx2.AsyncBaseTransport | None = None) -> HttpTool:
    """Return the ledger's payment as a tool."""
    return HttpTool(
        f"{url}/payments",
        lookup=f"{url}/payments/{{key}}",
        headers={"Authorization": f"Bearer {token}"},
        read=read_payment,
        transport=transport,
    )


def read_payment(answer: Any) -> ToolSucceeded | ToolFailed | None:
    """Say what the ledger's answer means; what it does not say for certain, it does not say."""
    payment = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
    match payment.get("status"):
        case "paid":
            return ToolSucceeded(result={name: payment[name] for name in ("receipt", "amount", "currency", "payee")})
        case "declined":
            return ToolFailed(error=f"the ledger declined it: {payment.get('reason')}")
        case _:
            return None


async def main() -> None:
    """Serve until SIGTERM; a payment that runs then is finished first."""
    bank = ledger_tool(os.environ["LEDGER_URL"], os.environ["LEDGER_TOKEN"])
    async with AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"]) as gateway:
        executor = Executor(gateway, name="payments", state_file=os.environ.get("STATE_FILE"))
        executor.tool(TOOL, run=bank, lookup=bank.lookup, timeout=30)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, executor.stop)
        await executor.work()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would tell of each look for work
    asyncio.run(main())
