"""An agent of Google ADK; its model is scripted."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from assent.integrations.google_adk import Approvals
from examples.frameworks import google_adk_clerk
from tests.frameworks.drivers.stage import Scene, Tools, serve


class Scripted(BaseLlm):
    """Says the scene's turns, one after the other, by how often it was answered already."""

    scene: Any = None

    async def generate_content_async(self, llm_request: Any, *_: Any, **__: Any) -> Any:
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        for part in parts:
            if part.function_response is not None:
                response = part.function_response.response
                text = "\n".join(str(response[name]) for name in ("error", "result", "note") if name in response)
                self.scene.told[part.function_response.id] = text
        asked = {part.function_call.id for part in parts if part.function_call is not None}
        turn = next(turn for turn in self.scene.turns if isinstance(turn, str) or turn[0]["id"] not in asked)
        if isinstance(turn, str):
            said = [types.Part(text=turn)]
        else:
            said = [
                types.Part(function_call=types.FunctionCall(id=call["id"], name=call["tool"], args=call["args"]))
                for call in turn
            ]
        yield LlmResponse(content=types.Content(role="model", parts=said))


async def play(scene: Scene) -> None:
    """Run the agent to its end."""
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted", scene=scene), tools=list(Tools(scene).all()))
    approvals = Approvals(scene.gateway(), sub_agent=scene.sub_agent, deadline=scene.deadline)
    sessions = InMemorySessionService()
    await sessions.create_session(app_name="orders", user_id="u", session_id=scene.session)
    app = App(name="orders", root_agent=agent, plugins=[approvals])
    if scene.form == "example":
        app = google_adk_clerk.clerk(scene.gateway(), Scripted(model="scripted", scene=scene))
    runner = Runner(app=app, session_service=sessions)
    words = types.Content(role="user", parts=[types.Part(text="go")])
    async for event in runner.run_async(user_id="u", session_id=scene.session, new_message=words):
        if event.is_final_response() and event.content and event.content.parts:
            scene.said["final"] = event.content.parts[0].text or ""


if __name__ == "__main__":
    serve(play)
