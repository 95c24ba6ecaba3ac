"""A clerk on OpenAI Agents: `python -m examples.frameworks.openai_agents_clerk "pay Acme 20"`."""

import asyncio
import os
import sys
from typing import Any

from agents import Agent, Runner, function_tool

from assent import AsyncGateway, current_grant
from assent.integrations.openai_agents import gated


@function_tool
def pay(payee: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {payee}, key {current_grant()}"  # the grant is the bank's idempotency key


def clerk(gateway: AsyncGateway, model: Any) -> Agent:
    return Agent(name="clerk", model=model, tools=[*gated(gateway, [pay])])


async def main(order: str) -> None:
    gateway = AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], session="order-4711")
    print((await Runner.run(clerk(gateway, os.environ["MODEL"]), order)).final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
