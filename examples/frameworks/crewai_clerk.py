"""A clerk on CrewAI: `python -m examples.frameworks.crewai_clerk "pay Acme 20"`."""

import os
import sys
from typing import Any

from crewai import Agent, Crew, Task
from crewai.tools import tool

from assent import Gateway, current_grant
from assent.integrations.crewai import gated


@tool("pay")
def pay(payee: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {payee}, key {current_grant()}"  # the grant is the bank's idempotency key


def clerk(gateway: Gateway, model: Any, order: str) -> Crew:
    agent = Agent(role="clerk", goal="pay bills", backstory="careful", llm=model, tools=gated(gateway, [pay]))
    return Crew(agents=[agent], tasks=[Task(description=order, expected_output="what was paid", agent=agent)])


def main(order: str) -> None:
    gateway = Gateway(os.environ["ASSENT_URL"], os.environ["ASSENT_KEY"], session="order-4711")  # one for each run
    print(clerk(gateway, os.environ["MODEL"], order).kickoff())


if __name__ == "__main__":
    main(sys.argv[1])
