"""A clerk on the Claude Agent SDK: `python -m examples.frameworks.claude_agent_sdk_clerk "pay Acme 20"`."""

import asyncio
import os
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from assent import AsyncGateway
from assent.integrations.claude_agent_sdk import hooks


@tool("pay", "Pay somebody.", {"payee": str, "amount": int})
async def pay(arguments: dict[str, Any]) -> dict[str, Any]:
    text = f"paid {arguments['amount']} to {arguments['payee']}"
    return {"content": [{"type": "text", "text": text}]}


def clerk(gateway: AsyncGateway, **more: Any) -> ClaudeAgentOptions:
    bank = create_sdk_mcp_server("t", tools=[pay])  # the tool's name is then mcp__t__pay
    return ClaudeAgentOptions(hooks=hooks(gateway), mcp_servers={"t": bank}, **more)


async def main(order: str) -> None:
    gateway = AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], session="order-4711")
    async for message in query(prompt=order, options=clerk(gateway)):
        if isinstance(message, ResultMessage):
            print(message.result)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
