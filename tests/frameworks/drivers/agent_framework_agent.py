"""An agent of Microsoft Agent Framework; its model is scripted."""

from __future__ import annotations

import json
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    tool,
)

from assent.integrations.agent_framework import Approvals, decided
from examples.frameworks import agent_framework_clerk
from tests.frameworks.drivers.stage import Scene, Tools, serve


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Says the scene's turns, one after the other, by how often it was answered already."""

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self.scene = scene

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        return self._said(messages)

    async def _said(self, messages: Any) -> ChatResponse:
        contents = [content for message in messages for content in message.contents]
        for content in contents:
            if content.type == "function_result":
                self.scene.told[content.call_id] = str(content.result)
        asked = {content.call_id for content in contents if content.type == "function_call"}
        turn = next(turn for turn in self.scene.turns if isinstance(turn, str) or turn[0]["id"] not in asked)
        if isinstance(turn, str):
            said = [Content.from_text(turn)]
        else:
            said = [
                Content.from_function_call(call["id"], call["tool"], arguments=json.dumps(call["args"]))
                for call in turn
            ]
        return ChatResponse(messages=[Message(role="assistant", contents=said)])


async def play(scene: Scene) -> None:
    """Run the agent to its end, or to where it is suspended."""
    gateway, suspends = scene.gateway(scene.session), scene.form == "suspend"
    approvals = Approvals(gateway, suspend=suspends, sub_agent=scene.sub_agent, deadline=scene.deadline)
    tools = [tool(approval_mode="never_require")(each) for each in Tools(scene).all()]
    agent = Agent(client=Scripted(scene), tools=tools, middleware=[approvals])
    if scene.form == "example":
        agent = agent_framework_clerk.clerk(gateway, Scripted(scene))
    if not suspends:
        scene.said["final"] = (await agent.run("go")).text
        return
    kept, words, session = scene.folder / "session.json", "go", agent.create_session(session_id=scene.session)
    if scene.resume:
        told = json.loads(kept.read_text())
        session = AgentSession.from_dict(told["session"])
        words = await decided(gateway, [Content.from_dict(each) for each in told["requests"]])
        if words is None:
            scene.said["waits"] = told["requests"]
            return
    result = await agent.run(words, session=session)
    requests = [each.to_dict() for each in result.user_input_requests]
    kept.write_text(json.dumps({"session": session.to_dict(), "requests": requests}))
    scene.said["waits"], scene.said["final"] = requests, result.text


if __name__ == "__main__":
    serve(play)
