"""A clerk on Pydantic AI: `python -m examples.frameworks.pydantic_ai_clerk "pay Acme 20"`."""

import asyncio
import os
import sys
from typing import Any

from pydantic_ai import Agent

from assent import AsyncGateway, current_grant
from assent.integrations.pydantic_ai import Approvals


def pay(payee: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {payee}, key {current_grant()}"  # the grant is the bank's idempotency key


def clerk(gateway: AsyncGateway, model: Any) -> Agent:
    return Agent(model, tools=[pay], capabilities=[Approvals(gateway)])


async def main(order: str) -> None:
    gateway = AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], session="order-4711")
    print((await clerk(gateway, os.environ["MODEL"]).run(order)).output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
