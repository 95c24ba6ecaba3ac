"""An agent of LangChain on LangGraph; its model is scripted, and its checkpoints are kept in the scene's folder."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from assent.integrations.langgraph import Approvals
from tests.frameworks.drivers.stage import Scene, Tools, serve


class Scripted(GenericFakeChatModel):
    """Says the scene's turns, one after the other, by how often it was answered already."""

    scene: Any

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        for message in messages:
            if isinstance(message, ToolMessage):
                self.scene.told[message.tool_call_id] = str(message.content)
        turn = self.scene.turn(sum(isinstance(message, AIMessage) for message in messages))
        if isinstance(turn, str):
            said = AIMessage(content=turn)
        else:
            calls = [{"name": call["tool"], "args": call["args"], "id": call["id"]} for call in turn]
            said = AIMessage(content="", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=said)])


def flow() -> BaseException | None:
    """Interrupt the graph from inside of the tool; resumed, it goes on."""
    interrupt("which account?")
    return None


async def play(scene: Scene) -> None:
    """Run the agent to its end, or to where it is interrupted."""
    tools = [StructuredTool.from_function(tool) for tool in Tools(scene, flow).all()]
    approvals = Approvals(
        scene.gateway(), suspend=scene.form == "suspend", sub_agent=scene.sub_agent, deadline=scene.deadline
    )
    config: Any = {"configurable": {"thread_id": scene.session}}
    if scene.blocking:
        agent: Any = create_agent(Scripted(messages=iter(()), scene=scene), tools, middleware=[approvals])
        ended = await asyncio.to_thread(agent.invoke, {"messages": [("user", "go")]}, config)
        scene.said["final"] = str(ended["messages"][-1].content)
        return
    async with AsyncSqliteSaver.from_conn_string(str(scene.folder / "checkpoints.db")) as checkpoints:
        agent = create_agent(
            Scripted(messages=iter(()), scene=scene), tools, middleware=[approvals], checkpointer=checkpoints
        )
        start: Any = {"messages": [("user", "go")]}
        if scene.resume:
            standing = await agent.aget_state(config)
            waiting = [each.id for each in standing.interrupts]
            start = Command(resume=dict.fromkeys(waiting, True)) if waiting else None
        ended = await agent.ainvoke(start, config, durability="sync")
    scene.said["waits"] = [each.value for each in ended.get("__interrupt__", ())]
    scene.said["final"] = str(ended["messages"][-1].content)


if __name__ == "__main__":
    serve(play)
