"""An agent of Pydantic AI; its model is scripted, and what a suspended run said is kept in the scene's folder."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, ModelRetry
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_core import to_jsonable_python

from assent.integrations.pydantic_ai import Approvals, decided
from tests.frameworks.drivers.stage import Scene, Tools, serve


async def play(scene: Scene) -> None:
    """Run the agent to its end, or to where it is suspended."""
    retried = list[str]()

    def says(messages: Any, _: Any) -> ModelResponse:
        for part in (part for message in messages for part in message.parts):
            if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id:
                scene.told[part.tool_call_id] = (
                    part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()
                )
        turn = scene.turn(sum(isinstance(message, ModelResponse) for message in messages))
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        return ModelResponse(parts=[ToolCallPart(call["tool"], call["args"], call["id"]) for call in turn])

    def flow() -> BaseException | None:
        """Ask the model to call again, once."""
        retried.append("")
        return ModelRetry("say it more clearly") if len(retried) == 1 else None

    gateway = scene.gateway(scene.session)
    suspends = scene.form == "suspend"
    approvals = Approvals(gateway, suspend=suspends, sub_agent=scene.sub_agent, deadline=scene.deadline)
    agent: Any = Agent(
        FunctionModel(says),
        tools=Tools(scene, flow).all(),
        capabilities=[approvals],
        output_type=[str, DeferredToolRequests],
        retries=3,
    )
    kept, more = scene.folder / "messages.json", {}
    if scene.resume and suspends:
        told = json.loads(kept.read_bytes())
        history = ModelMessagesTypeAdapter.validate_python(told["messages"])
        parts = (part for message in history for part in message.parts)
        calls = [part for part in parts if isinstance(part, ToolCallPart) and part.tool_call_id in told["metadata"]]
        waiting = DeferredToolRequests(approvals=calls, metadata=told["metadata"])
        results = await decided(gateway, waiting)
        if results is None:
            scene.said["waits"] = list(told["metadata"].values())
            return
        more = {"message_history": history, "deferred_tool_results": results}
    result = await agent.run(None if more else "go", **more)
    if isinstance(result.output, DeferredToolRequests):
        metadata = result.output.metadata
        told = {"messages": to_jsonable_python(result.all_messages()), "metadata": metadata}
        kept.write_text(json.dumps(told))
        scene.said["waits"] = list(metadata.values())
    else:
        scene.said["final"] = result.output


if __name__ == "__main__":
    serve(play)
