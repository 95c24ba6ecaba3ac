"""A crew of one agent of CrewAI; its model is scripted."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool

from assent.integrations.crewai import gated
from examples.frameworks import crewai_clerk
from tests.frameworks.drivers.stage import Scene, Tools, serve


class Scripted(BaseLLM):
    """Says the scene's turns, one after the other, by how often it was answered already."""

    scene: Any = None

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
        asked = set[str]()
        for message in [] if isinstance(messages, str) else messages:
            if message["role"] == "tool":
                self.scene.told[message["tool_call_id"]] = message["content"]
            asked |= {call["id"] for call in message.get("tool_calls") or ()}
        turn = next(turn for turn in self.scene.turns if isinstance(turn, str) or turn[0]["id"] not in asked)
        if isinstance(turn, str):
            return turn
        return [
            {"id": call["id"], "function": {"name": call["tool"], "arguments": json.dumps(call["args"])}}
            for call in turn
        ]


async def play(scene: Scene) -> None:
    """Run the crew to its end."""
    scene.blocking = True
    gateway, model = scene.gateway(scene.session), Scripted(model="scripted", scene=scene)
    tools = gated(
        gateway, [tool(each) for each in Tools(scene).all()], sub_agent=scene.sub_agent, deadline=scene.deadline
    )
    agent = Agent(role="clerk", goal="go", backstory="none", llm=model, tools=tools)
    crew = Crew(agents=[agent], tasks=[Task(description="go", expected_output="done", agent=agent)])
    if scene.form == "example":
        crew = crewai_clerk.clerk(gateway, model, "go")
    scene.said["final"] = (await asyncio.to_thread(crew.kickoff)).raw


if __name__ == "__main__":
    serve(play)
