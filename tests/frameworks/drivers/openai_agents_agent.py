"""An agent of OpenAI Agents; its model is scripted, and the state of a suspended run is kept in the scene's folder."""

from __future__ import annotations

import json
from typing import Any

from agents import Agent, ModelResponse, Runner, RunState, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from assent.integrations.openai_agents import approve_decided, gated
from tests.frameworks.drivers.stage import Scene, Tools, serve


class Scripted(Model):
    """Says the scene's turns, one after the other, by how often it was answered already."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        items = [] if isinstance(input, str) else input
        asked = list[str]()
        for item in items:
            if item.get("type") == "function_call_output":
                self._scene.told[item["call_id"]] = str(item["output"])
            elif item.get("type") == "function_call":
                asked.append(item["call_id"])
        turns = (turn for turn in self._scene.turns if isinstance(turn, str) or turn[0]["id"] not in asked)
        turn = next(turns)
        if isinstance(turn, str):
            text = ResponseOutputText(text=turn, type="output_text", annotations=[])
            output: list[Any] = [
                ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            ]
        else:
            output = [
                ResponseFunctionToolCall(
                    arguments=json.dumps(call["args"]), call_id=call["id"], name=call["tool"], type="function_call"
                )
                for call in turn
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def play(scene: Scene) -> None:
    """Run the agent to its end, or to where it is interrupted."""
    set_tracing_disabled(True)
    gateway = scene.gateway(scene.session)
    tools = gated(
        gateway,
        [function_tool(tool) for tool in Tools(scene).all()],
        suspend=scene.form == "suspend",
        sub_agent=scene.sub_agent,
        deadline=scene.deadline,
    )
    agent = Agent(name="clerk", model=Scripted(scene), tools=list(tools))
    kept, start = scene.folder / "state.json", "go"
    if scene.resume and scene.form == "suspend":
        state: Any = await RunState.from_string(agent, kept.read_text())
        await approve_decided(state, gateway)
        start = state
    result = await Runner.run(agent, start)
    kept.write_text(result.to_state().to_string())
    scene.said["waits"] = [{"tool": item.tool_name} for item in result.interruptions]
    scene.said["final"] = result.final_output or ""


if __name__ == "__main__":
    serve(play)
