"""A clerk on Microsoft Agent Framework; bring the chat client of your service.

asyncio.run(main(OpenAIChatClient(), "pay Acme 20"))
"""

import os
from typing import Any

from agent_framework import Agent, tool

from assent import AsyncGateway, current_grant
from assent.integrations.agent_framework import Approvals


@tool(approval_mode="never_require")  # it is Assent that asks
def pay(payee: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {payee}, key {current_grant()}"  # the grant is the bank's idempotency key


def clerk(gateway: AsyncGateway, client: Any) -> Agent:
    return Agent(client=client, tools=[pay], middleware=[Approvals(gateway)])


async def main(client: Any, order: str) -> None:
    gateway = AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], session="order-4711")
    print((await clerk(gateway, client).run(order)).text)
