"""An agent of Google ADK; its model is scripted, and its sessions are kept in the scene's folder."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.tool_context import ToolContext  # noqa: TC002 - ADK reads the annotation
from google.genai import types

from assent.integrations.google_adk import CONFIRMATION, Approvals, decided
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


async def direct(what: str, tool_context: ToolContext) -> Any:
    """Ask for a confirmation of its own, once; then do it."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="really?")
        return {"error": "it asks for a confirmation"}
    Stage.scene.ran("direct", what=what)
    return f"directed {what}"


class Stage:
    """The scene, for the tool that is a plain function."""

    scene: Scene


async def goes_on_with(scene: Scene, sessions: Any, gateway: Any) -> types.Content | None:
    """What the run begins with, or goes on with; None where it waits on."""
    start = types.Content(role="user", parts=[types.Part(text="go")])
    there = await sessions.get_session(app_name="orders", user_id="u", session_id=scene.session)
    if there is None:
        await sessions.create_session(app_name="orders", user_id="u", session_id=scene.session)
        return start
    if scene.form == "suspend":
        return await decided(gateway, there)
    calls = [call for event in there.events for call in event.get_function_calls()]
    asked = [call.id for call in calls if call.name == CONFIRMATION]
    answers = [types.FunctionResponse(id=each, name=CONFIRMATION, response={"confirmed": True}) for each in asked]
    return (
        types.Content(role="user", parts=[types.Part(function_response=each) for each in answers]) if asked else start
    )


async def play(scene: Scene) -> None:
    """Run the agent to its end, or to where it is suspended."""
    Stage.scene = scene
    gateway, comes_back = scene.gateway(), scene.form == "suspend" or "direct" in str(scene.turns)
    kept = SqliteSessionService(str(scene.folder / "sessions.db")) if comes_back else InMemorySessionService()
    tools = [direct if tool.__name__ == "direct" else tool for tool in Tools(scene).all()]
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted", scene=scene), tools=tools)
    suspends = scene.form == "suspend"
    approvals = Approvals(gateway, suspend=suspends, sub_agent=scene.sub_agent, deadline=scene.deadline)
    app = App(name="orders", root_agent=agent, plugins=[approvals])
    if scene.form == "example":
        app = google_adk_clerk.clerk(gateway, Scripted(model="scripted", scene=scene))
    words = await goes_on_with(scene, kept, gateway)
    if words is None:
        scene.said["waits"] = [{"why": "not all are decided"}]
        return
    waits = scene.said["waits"] = list[Any]()
    runner = Runner(app=app, session_service=kept)
    async for event in runner.run_async(user_id="u", session_id=scene.session, new_message=words):
        waits += [{"tool": call.name} for call in event.get_function_calls() if call.name == CONFIRMATION]
        if event.is_final_response() and event.content and event.content.parts:
            scene.said["final"] = event.content.parts[0].text or ""


if __name__ == "__main__":
    serve(play)
