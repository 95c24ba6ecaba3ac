"""A clerk on Google ADK: `python -m examples.frameworks.google_adk_clerk "pay Acme 20"`."""

import asyncio
import os
import sys
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from assent import AsyncGateway
from assent.integrations.google_adk import Approvals


def pay(payee: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {payee}"


def clerk(gateway: AsyncGateway, model: Any) -> App:
    agent = LlmAgent(name="clerk", model=model, tools=[pay])
    return App(name="orders", root_agent=agent, plugins=[Approvals(gateway)])


async def main(order: str) -> None:
    gateway = AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], session="order-4711")
    await InMemoryRunner(app=clerk(gateway, os.environ["MODEL"])).run_debug(order)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
