"""A query of the Claude Agent SDK, with the Claude Code that it carries, offline against a scripted model."""

from __future__ import annotations

import inspect
import re
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool
from mcp.types import ToolAnnotations

from assent.integrations.claude_agent_sdk import carry_on, hooks
from examples.frameworks import claude_agent_sdk_clerk
from tests.frameworks.drivers.stage import Scene, Tools, serve
from tests.sdk.command.fake_llm import FakeLlm, blocks, result_text

SERVER = "mcp__t__"
OF_ITS_OWN = re.compile(
    r"^PreToolUse:\w+ hook error: |\s*<system-reminder>\s*<total_tokens>.*?</system-reminder>", re.DOTALL
)
"""What Claude Code puts around what a model is told of a call."""


class Scripted(FakeLlm):
    """Says the scene's turns, with the ids that stand there."""

    def __init__(self, scene: Scene) -> None:
        super().__init__([])
        self._scene = scene

    def message(self, asked: dict[str, Any]) -> dict[str, Any]:
        known = [block for message in asked["messages"] for block in blocks(message)]
        for block in known:
            if block.get("type") == "tool_result":
                self._scene.told[block["tool_use_id"]] = OF_ITS_OWN.sub("", result_text(block)).strip(" \n")
        ids = {block["id"] for block in known if block.get("type") == "tool_use"}
        turns = self._scene.turns if asked.get("tools") else ["{}"]
        turn = next(turn for turn in turns if isinstance(turn, str) or turn[0]["id"] not in ids)
        self.turns = [turn if isinstance(turn, str) else ""]
        message = super().message(asked)
        if not isinstance(turn, str):
            message["content"] = [
                {"type": "tool_use", "id": call["id"], "name": SERVER + call["tool"], "input": call["args"]}
                for call in turn
            ]
            message["stop_reason"] = "tool_use"
        return message


def as_tool(function: Any) -> Any:
    """A plain function as the SDK's own kind of tool."""
    schema = {
        name: {"str": str, "int": int}[each.annotation] for name, each in inspect.signature(function).parameters.items()
    }

    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": function(**arguments)}]}

    reads = ToolAnnotations(readOnlyHint=True)  # else Claude Code runs one after the other
    return tool(function.__name__, function.__doc__, schema, annotations=reads)(run)


async def play(scene: Scene) -> None:
    """Run the query to its end."""
    gateway = scene.gateway(scene.session)
    with Scripted(scene) as llm:
        more: dict[str, Any] = {
            "permission_mode": "bypassPermissions",
            "model": "claude-sonnet-4-5",
            "setting_sources": [],
            "cwd": scene.folder,
            "env": {
                "HOME": str(scene.folder),
                "ANTHROPIC_BASE_URL": llm.url,
                "ANTHROPIC_API_KEY": "offline",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "IS_SANDBOX": "1",
            },
        }
        if scene.form == "example":
            options = claude_agent_sdk_clerk.clerk(gateway, **more)
        else:
            server = create_sdk_mcp_server("t", tools=[as_tool(each) for each in Tools(scene).all()])
            timeout = 86400.0 if scene.deadline is None else scene.deadline * 2
            suspends = scene.form == "suspend"
            gates = hooks(gateway, suspend=suspends, timeout=timeout, sub_agent=scene.sub_agent)
            options = ClaudeAgentOptions(hooks=gates, mcp_servers={"t": server}, **more)
        kept = scene.folder / "session_id"
        messages = query(prompt="go", options=options)
        if scene.resume and scene.form == "suspend":
            messages = carry_on(options, kept.read_text(), begins_within=5.0)
        async for message in messages:
            if isinstance(message, ResultMessage):
                scene.said["final"] = message.result or ""
                scene.said["waits"] = [{"id": message.deferred_tool_use.id}] if message.deferred_tool_use else []
                kept.write_text(message.session_id)


if __name__ == "__main__":
    serve(play)
