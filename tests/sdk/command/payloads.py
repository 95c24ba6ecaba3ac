"""What hosts write on a hook's standard input, as they were seen to, and what it means in our words."""

from __future__ import annotations

from typing import Any, NamedTuple

LS = {"command": "ls"}


class Sample(NamedTuple):
    """One payload: whose, what is in it, and what has to be understood."""

    host: str
    raw: dict[str, Any]
    kind: str = ""
    tool: str = "Bash"
    arguments: dict[str, Any] = LS
    call_id: str | None = None
    session: str | None = "s-1"
    sub_agent: str | None = None


_CLAUDE = {
    "session_id": "s-1",
    "transcript_path": "/t.jsonl",
    "cwd": "/w",
    "prompt_id": "p-1",
    "permission_mode": "default",
    "effort": {"level": "high"},
}
_CODEX = {**_CLAUDE, "turn_id": "t-1", "model": "gpt-5", "transcript_path": None}
_PASCAL = {"session_id": "s-1", "timestamp": "2026-11-20T10:00:00Z", "cwd": "/w"}
_CAMEL = {"sessionId": "s-1", "timestamp": 1763632800000, "cwd": "/w"}
_GEMINI = {"session_id": "s-1", "transcript_path": "", "cwd": "/w", "timestamp": "2026-11-20T10:00:00Z"}
_QWEN = {**_CLAUDE, "permission_mode": "yolo", "timestamp": "2026-11-20T10:00:00Z"}
_CURSOR = {
    "conversation_id": "s-1",
    "generation_id": "g-1",
    "model": "m",
    "cursor_version": "2.0",
    "workspace_roots": ["/w"],
    "user_email": None,
    "transcript_path": None,
}
_RUN = {"tool_name": "Bash", "tool_input": LS}
_MCP = "mcp__github__create_issue"


def _named(base: dict[str, Any], event: str, **more: Any) -> dict[str, Any]:
    return {**base, "hook_event_name": event, **more}


SAMPLES = [
    # Claude Code
    Sample("claude-code", _named(_CLAUDE, "PreToolUse", **_RUN, tool_use_id="c-1"), call_id="c-1"),
    Sample("claude-code", _named({"session_id": "s-1"}, "PreToolUse", **_RUN)),
    Sample("claude-code", _named(_CLAUDE, "PreToolUse", **_RUN, tool_use_id=None)),
    Sample("claude-code", _named(_CLAUDE, "PreToolUse", **_RUN, tool_use_id="", a_new_member={"x": [1]})),
    Sample("claude-code", _named({}, "PreToolUse", **_RUN, tool_use_id="c-1"), call_id="c-1", session=None),
    Sample(
        "claude-code",
        _named(_CLAUDE, "PreToolUse", **_RUN, tool_use_id="c-1", agent_id="a-1", agent_type="Explore"),
        call_id="c-1",
        sub_agent="Explore",
    ),
    Sample(
        "claude-code",
        _named(_CLAUDE, "PreToolUse", tool_name=_MCP, tool_input={}, tool_use_id="c-1", mcp_server={"name": "github"}),
        tool=_MCP,
        arguments={},
        call_id="c-1",
    ),
    Sample("claude-code", _named(_CLAUDE, "PermissionRequest", **_RUN, permission_suggestions=[])),
    Sample(
        "claude-code",
        _named(_CLAUDE, "PostToolUse", **_RUN, tool_use_id="c-1", tool_response={"stdout": ""}, duration_ms=3),
        "ran",
        call_id="c-1",
    ),
    Sample(
        "claude-code",
        _named(_CLAUDE, "PostToolUse", **_RUN, tool_use_id="c-1", tool_response="text of an MCP server"),
        "ran",
        call_id="c-1",
    ),
    Sample(
        "claude-code",
        _named(_CLAUDE, "PostToolUseFailure", **_RUN, tool_use_id="c-1", error="exit 1", is_interrupt=False),
        "failed",
        call_id="c-1",
    ),
    Sample("claude-code", _named({"session_id": "s-1"}, "SessionEnd", reason="other"), "over"),
    # Codex
    Sample("codex", _named(_CODEX, "PreToolUse", **_RUN, tool_use_id="call_1"), call_id="call_1"),
    Sample("codex", _named(_CODEX, "PermissionRequest", **_RUN)),
    Sample(
        "codex",
        _named(_CODEX, "PostToolUse", **_RUN, tool_use_id="call_1", tool_response="ok"),
        "ran",
        call_id="call_1",
    ),
    # Copilot, in both of its forms, and the older one that writes arguments as text
    Sample("copilot", {**_CAMEL, "toolName": "bash", "toolArgs": LS}, tool="bash"),
    Sample("copilot", {**_CAMEL, "toolName": "bash", "toolArgs": '{"command": "ls"}'}, tool="bash"),
    Sample("copilot", {"timestamp": 1, "cwd": "/w", "toolName": "bash", "toolArgs": LS}, tool="bash", session=None),
    Sample("copilot", {**_CAMEL, "toolName": "bash", "toolArgs": LS, "toolResult": None, "error": None}, tool="bash"),
    Sample("copilot", _named(_PASCAL, "PreToolUse", **_RUN)),
    Sample(
        "copilot",
        {**_CAMEL, "hookName": "permissionRequest", "toolName": "bash", "toolInput": LS, "permissionSuggestions": []},
        tool="bash",
    ),
    Sample(
        "copilot",
        {**_CAMEL, "toolName": "bash", "toolArgs": LS, "toolResult": {"resultType": "success", "textResultForLlm": ""}},
        "ran",
        tool="bash",
    ),
    Sample("copilot", _named(_PASCAL, "PostToolUse", **_RUN, tool_result={"result_type": "success"}), "ran"),
    Sample("copilot", {**_CAMEL, "hookName": "sessionEnd", "reason": "complete"}, "over"),
    Sample("copilot", {**_CAMEL, "reason": "user_exit"}, "over"),
    # Gemini
    Sample(
        "gemini",
        _named(_GEMINI, "BeforeTool", tool_name="run_shell_command", tool_input=LS),
        tool="run_shell_command",
    ),
    Sample(
        "gemini",
        _named(_GEMINI, "BeforeTool", tool_name="mcp_github_x", tool_input={}, mcp_context={"server_name": "github"}),
        tool="mcp_github_x",
        arguments={},
    ),
    Sample(
        "gemini",
        _named(_GEMINI, "AfterTool", tool_name="run_shell_command", tool_input=LS, tool_response={"llmContent": "x"}),
        "ran",
        tool="run_shell_command",
    ),
    Sample("gemini", _named(_GEMINI, "SessionEnd", reason="exit"), "over"),
    # Qwen
    Sample(
        "qwen",
        _named(_QWEN, "PreToolUse", tool_name="run_shell_command", tool_input=LS, tool_call_id="q-1"),
        tool="run_shell_command",
        call_id="q-1",
    ),
    Sample(
        "qwen",
        _named(_QWEN, "PostToolUse", tool_name="write_file", tool_input={}, tool_call_id="q-1", tool_response={}),
        "ran",
        tool="write_file",
        arguments={},
        call_id="q-1",
    ),
    Sample("qwen", _named(_QWEN, "SessionEnd", reason="other"), "over"),
    # Cursor
    Sample(
        "cursor",
        _named(_CURSOR, "preToolUse", tool_name="Shell", tool_input=LS, tool_use_id="u-1", cwd="/w"),
        tool="Shell",
        call_id="u-1",
    ),
    Sample("cursor", _named(_CURSOR, "beforeShellExecution", command="ls", cwd="/w"), tool="Shell"),
    Sample(
        "cursor",
        _named(_CURSOR, "beforeMCPExecution", tool_name="create_issue", tool_input='{"title": "x"}', url="https://x"),
        tool="create_issue",
        arguments={"title": "x"},
    ),
    Sample(
        "cursor",
        _named(_CURSOR, "beforeReadFile", file_path="/w/a", content="…", attachments=[]),
        tool="Read",
        arguments={"file_path": "/w/a"},
    ),
    Sample(
        "cursor",
        _named(_CURSOR, "postToolUse", tool_name="Shell", tool_input=LS, tool_output="", tool_use_id="u-1"),
        "ran",
        tool="Shell",
        call_id="u-1",
    ),
    Sample("cursor", _named(_CURSOR, "sessionEnd", reason="completed", session_id="s-2"), "over"),
    # opencode, as our own plugin writes it
    Sample(
        "opencode",
        {"hook_event_name": "tool.execute.before", "tool": "bash", "sessionID": "s-1", "callID": "o-1", "args": LS},
        tool="bash",
        call_id="o-1",
    ),
    Sample(
        "opencode",
        {"hook_event_name": "tool.execute.after", "tool": "bash", "sessionID": "s-1", "callID": "o-1", "args": LS},
        "ran",
        tool="bash",
        call_id="o-1",
    ),
]

OBSERVED = [
    *(
        ("claude-code", _named(_CLAUDE, event))
        for event in (
            "UserPromptSubmit",
            "SessionStart",
            "Stop",
            "SubagentStop",
            "PreCompact",
            "Notification",
            "PostToolBatch",
        )
    ),
    ("claude-code", _named(_CLAUDE, "PermissionDenied", **_RUN, tool_use_id="c-1", reason="rule")),
    ("claude-code", _named(_CLAUDE, "EventOfNextYear", what=1)),
    ("codex", _named(_CODEX, "UserPromptSubmit", prompt="go")),
    ("copilot", {**_CAMEL, "prompt": "go"}),
    ("copilot", {**_CAMEL, "source": "new", "initialPrompt": "go"}),
    ("copilot", {**_CAMEL, "error": {"message": "x", "name": "E"}}),
    ("copilot", _named(_PASCAL, "UserPromptSubmit", prompt="go")),
    ("gemini", _named(_GEMINI, "BeforeModel", llm_request={})),
    ("gemini", _named(_GEMINI, "Notification", message="x")),
    ("qwen", _named(_QWEN, "SessionStart", source="startup")),
    ("cursor", _named(_CURSOR, "afterFileEdit", file_path="/w/a", edits=[])),
    ("cursor", _named(_CURSOR, "beforeSubmitPrompt", prompt="go", attachments=[])),
]

UNREADABLE = [
    ("claude-code", _named(_CLAUDE, "PreToolUse", tool_name="Bash")),
    ("claude-code", _named(_CLAUDE, "PreToolUse", tool_name="Bash", tool_input=None)),
    ("claude-code", _named(_CLAUDE, "PreToolUse", tool_name="Bash", tool_input="{}")),
    ("claude-code", _named(_CLAUDE, "PreToolUse", tool_name=None, tool_input={})),
    ("claude-code", _named(_CLAUDE, "PreToolUse", tool_name=["Bash"], tool_input={})),
    ("claude-code", _named(_CLAUDE, "PreToolUse", **_RUN, tool_use_id=7)),
    ("claude-code", _named(_CLAUDE, "BeforeTool", **_RUN)),
    ("claude-code", {**_CLAUDE, **_RUN}),
    ("claude-code", {**_CLAUDE, **_RUN, "hook_event_name": None}),
    ("claude-code", {**_CAMEL, "toolName": "bash", "toolArgs": LS}),
    ("codex", _named(_CODEX, "PreToolUse", tool_name="Bash", tool_input=[])),
    ("copilot", {**_CAMEL, "toolName": "bash", "toolArgs": "rm -rf /"}),
    ("copilot", {**_CAMEL, "toolName": "bash", "toolArgs": '"ls"'}),
    ("copilot", {**_CAMEL, "toolName": "bash", "toolArgs": '{"a": 1, "a": 2}'}),
    ("copilot", {**_CAMEL, "toolName": "bash"}),
    ("copilot", {**_CAMEL, "hookName": "preToolUseAgain", "toolName": "bash", "toolArgs": LS}),
    ("gemini", _named(_GEMINI, "PreToolUse", tool_name="run_shell_command", tool_input=LS)),
    ("qwen", _named(_QWEN, "PreToolUse", tool_name="", tool_input=LS)),
    ("cursor", _named(_CURSOR, "beforeShellExecution", command=None)),
    ("cursor", _named(_CURSOR, "beforeMCPExecution", tool_name="x", tool_input="not json")),
    ("opencode", {"hook_event_name": "tool.execute.before", "tool": "bash", "sessionID": "s-1", "args": None}),
]
