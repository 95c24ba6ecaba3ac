"""The hosts: one row each. What stands here was seen with the real program, or (Cursor) is its documentation's word.

| host | timer | without one | rewrites | call id | when a hook dies |
| --- | --- | --- | --- | --- | --- |
| claude-code | s | 600 s | yes | yes | the tool runs, unless `onFailure: block` |
| codex | s | 600 s | yes | yes | the tool runs |
| copilot | s | 30 s | yes | no | denied; after its timer the tool runs |
| gemini | ms | 60 s | merges | no | the tool runs |
| qwen | ms (below 1000: s) | 60 s | no | yes | the tool runs |
| cursor | s | not known | yes | yes | the tool runs, unless `failClosed` |
| opencode | none | – | yes | yes | denied (our plugin throws) |
"""

from __future__ import annotations

from assent.command.hosts.row import FAILED, OVER, RAN, SEEN, Form, Host, Place, Timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SPECIFIC = "hookSpecificOutput."
_CLAUDE = Form(
    f"{_SPECIFIC}permissionDecision",
    reasons=(f"{_SPECIFIC}permissionDecisionReason",),
    arguments=f"{_SPECIFIC}updatedInput",
    context=f"{_SPECIFIC}additionalContext",
    event=f"{_SPECIFIC}hookEventName",
    says_why_allowed=True,
)
_CLAUDE_PERMISSION = Form(  # exit code 2 is not heeded there
    f"{_SPECIFIC}decision.behavior",
    reasons=(f"{_SPECIFIC}decision.message",),
    arguments=f"{_SPECIFIC}decision.updatedInput",
    event=f"{_SPECIFIC}hookEventName",
    heeds_exit=False,
)
_CODEX = Form(  # an `allow` that changes nothing is refused by its parser; members that it does not know as well
    f"{_SPECIFIC}permissionDecision",
    reasons=(f"{_SPECIFIC}permissionDecisionReason",),
    arguments=f"{_SPECIFIC}updatedInput",
    event=f"{_SPECIFIC}hookEventName",
    silent_allow=True,
)
_CODEX_PERMISSION = Form(
    f"{_SPECIFIC}decision.behavior",
    reasons=(f"{_SPECIFIC}decision.message",),
    event=f"{_SPECIFIC}hookEventName",
    heeds_exit=False,
)
_COPILOT = Form("permissionDecision", reasons=("permissionDecisionReason",), arguments="modifiedArgs")
_COPILOT_PERMISSION = Form("behavior", reasons=("message",))
_GEMINI = Form("decision", reasons=("reason",), arguments=f"{_SPECIFIC}tool_input", merges=True)
_QWEN = Form(
    f"{_SPECIFIC}permissionDecision",
    reasons=(f"{_SPECIFIC}permissionDecisionReason",),
    event=f"{_SPECIFIC}hookEventName",
    says_why_allowed=True,
)
_CURSOR = Form("permission", reasons=("user_message", "agent_message"), arguments="updated_input")
_CURSOR_SPECIFIC = Form("permission", reasons=("user_message", "agent_message"))
_OPENCODE = Form("decision", reasons=("reason",), arguments="args")

_NESTED = {"type": "command"}


def _seen(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), SEEN)


_CLAUDE_TELLS = _seen(
    "PostToolBatch PermissionDenied Notification UserPromptSubmit UserPromptExpansion SessionStart Setup Stop "
    "StopFailure SubagentStart SubagentStop PreCompact PostCompact PreModelSwitch PostModelSwitch TaskCreated "
    "TaskCompleted TeammateIdle Elicitation ElicitationResult ConfigChange InstructionsLoaded CwdChanged FileChanged "
    "DirectoryAdded WorktreeCreate WorktreeRemove MessageDisplay"
) | {"PostToolUse": RAN, "PostToolUseFailure": FAILED, "SessionEnd": OVER}


def _copilot_event(raw: dict[str, Any]) -> str | None:
    """Name the event: in its own (camelCase) form only some name themselves, and not those about a call's arguments.

    A result that is there and empty is none: what could be a question is taken for one.
    """
    named = raw.get("hook_event_name") or raw.get("hookName")
    if named or "toolName" not in raw:
        return str(named or ("sessionEnd" if "reason" in raw else ""))
    if "toolInput" in raw:  # a permissionRequest that has lost its name: nobody knows how it wants to be answered
        return ""
    if raw.get("toolResult"):
        return "postToolUse"
    return "postToolUseFailure" if raw.get("error") else "preToolUse"


def _cursor_call(raw: dict[str, Any], event: str) -> tuple[str, dict[str, Any]] | None:
    """Name the call of an event that is about one kind of tool, as the event for all of them would."""
    command, path = raw.get("command"), raw.get("file_path")
    if event == "beforeShellExecution" and isinstance(command, str):
        return "Shell", {"command": command}
    if event == "beforeReadFile" and isinstance(path, str):
        return "Read", {"file_path": path}
    return None


HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            program="claude",
            asks={"PreToolUse": _CLAUDE, "PermissionRequest": _CLAUDE_PERMISSION},
            tells=_CLAUDE_TELLS,
            timer=Timer("timeout", default=600),
            place=Place(
                ".claude/settings.json",
                entry=_NESTED,
                gate={"onFailure": "block"},
                off={"disableAllHooks": True},
            ),
            installs=("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"),
            call_id=("tool_use_id",),
            sub_agent="agent_type",
            oldest=(2, 1, 295),  # the first that honours onFailure
        ),
        Host(
            "codex",
            program="codex",
            asks={"PreToolUse": _CODEX, "PermissionRequest": _CODEX_PERMISSION},
            tells={**_CLAUDE_TELLS},
            timer=Timer("timeout", default=600),
            place=Place(".codex/hooks.json", entry=_NESTED),
            installs=("PreToolUse", "PostToolUse"),
            call_id=("tool_use_id",),
            sub_agent="agent_type",
            trust="Codex passes over a hook that nobody has trusted, without a word, and trust is lost with every "
            "change: start codex, type /hooks, and trust it",
        ),
        Host(
            "copilot",
            program="copilot",
            asks={
                "preToolUse": _COPILOT,
                "PreToolUse": _CLAUDE,
                "permissionRequest": _COPILOT_PERMISSION,
            },
            tells={
                **_CLAUDE_TELLS,
                **_seen(
                    "sessionStart userPromptSubmitted errorOccurred notification agentStop subagentStart subagentStop "
                    "preCompact ErrorOccurred"
                ),
                "postToolUse": RAN,
                "postToolUseFailure": FAILED,
                "sessionEnd": OVER,
            },
            timer=Timer("timeoutSec", default=30),
            place=Place(
                ".copilot/hooks/assent.json",
                nested=False,
                command="bash",
                entry=_NESTED,
                top={"version": 1},
                off={"disableAllHooks": True},
            ),
            installs=("preToolUse", "postToolUse", "sessionEnd"),
            session=("sessionId", "session_id"),
            tool=("toolName", "tool_name"),
            arguments=("toolArgs", "toolInput", "tool_input"),
            call_id=("tool_use_id",),
            arguments_as_text=True,
            event_of=_copilot_event,
            went_wrong=("toolResult.resultType", "success"),
        ),
        Host(
            "gemini",
            program="gemini",
            asks={"BeforeTool": _GEMINI},
            tells={
                **_seen(
                    "BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionStart PreCompress "
                    "Notification"
                ),
                "AfterTool": RAN,
                "SessionEnd": OVER,
            },
            timer=Timer("timeout", default=60, per_second=1000, most=2_147_483_647),
            place=Place(".gemini/settings.json", entry={**_NESTED, "name": "assent"}),
            installs=("BeforeTool", "AfterTool", "SessionEnd"),
            went_wrong=("tool_response.error", ""),
            note="without people at the terminal run gemini with --yolo: the hook is the gate",
        ),
        Host(
            "qwen",
            program="qwen",
            asks={"PreToolUse": _QWEN},
            tells=_CLAUDE_TELLS,
            timer=Timer("timeout", default=60, per_second=1000, most=2_147_483_647, seconds_below=1000),
            place=Place(".qwen/settings.json", entry=_NESTED),
            installs=("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"),
            call_id=("tool_call_id", "tool_use_id"),
            note="without people at the terminal run qwen with --yolo: an allow does not lift its own refusal",
        ),
        Host(
            "cursor",
            program="cursor-agent",
            asks={
                "preToolUse": _CURSOR,
                "beforeShellExecution": _CURSOR_SPECIFIC,
                "beforeMCPExecution": _CURSOR_SPECIFIC,
                "beforeReadFile": _CURSOR_SPECIFIC,
            },
            tells={
                **_seen(
                    "afterShellExecution afterMCPExecution afterFileEdit beforeSubmitPrompt stop sessionStart "
                    "subagentStart subagentStop preCompact afterAgentResponse afterAgentThought beforeTabFileRead "
                    "afterTabFileEdit"
                ),
                "postToolUse": RAN,
                "postToolUseFailure": FAILED,
                "sessionEnd": OVER,
            },
            timer=Timer("timeout", default=60),
            place=Place(
                ".cursor/hooks.json",
                nested=False,
                entry={},
                gate={"failClosed": True},
                top={"version": 1},
            ),
            installs=("preToolUse", "postToolUse", "postToolUseFailure", "sessionEnd"),
            session=("conversation_id", "session_id"),
            call_id=("tool_use_id",),
            arguments_as_text=True,
            call_of=_cursor_call,
        ),
        Host(
            "opencode",
            program="opencode",
            asks={"tool.execute.before": _OPENCODE},
            tells={"tool.execute.after": RAN, "session.deleted": OVER},
            timer=None,
            place=Place(".config/opencode/plugin/assent.js", entry={}),
            installs=("tool.execute.before", "tool.execute.after"),
            session=("sessionID",),
            tool=("tool",),
            arguments=("args",),
            call_id=("callID",),
        ),
    )
}
