"""A clerk on LangChain and LangGraph: `python -m examples.frameworks.langgraph_clerk "pay Acme 20"`."""

import asyncio
import os
import sys
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver  # one that lasts, where the agent has to survive its process

from assent import AsyncGateway, current_grant
from assent.integrations.langgraph import Approvals


def pay(payee: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {payee}, key {current_grant()}"  # the grant is the bank's idempotency key


def clerk(gateway: AsyncGateway, model: Any) -> Any:
    return create_agent(model, [pay], middleware=[Approvals(gateway)], checkpointer=InMemorySaver())


async def main(order: str) -> None:
    gateway = AsyncGateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"])
    agent = clerk(gateway, os.environ["MODEL"])
    config = {"configurable": {"thread_id": "order-4711"}}  # the session
    print((await agent.ainvoke({"messages": [("user", order)]}, config))["messages"][-1].content)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
