"""The tools that agent programs bring along, and what each does: rules name them without a catalogue of one's own.

*Reads* is said only of what changes nothing and sends nothing: while read-only is on, nothing else runs. *Fetches* asks
the network, which a question can carry things out by; *executes* may do anything, here or through a sub-agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Does(StrEnum):
    """What a tool does."""

    READS = "reads"
    WRITES = "writes"
    EXECUTES = "executes"
    FETCHES = "fetches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One program's own tools by name, and how the names of the tools that it gets from MCP servers begin."""

    tools: Mapping[str, Does] = field(default_factory=dict[str, Does])
    mcp: str | None = None


def _preset(*, reads: str = "", writes: str = "", executes: str = "", fetches: str = "", mcp: str | None) -> Preset:
    said = {Does.READS: reads, Does.WRITES: writes, Does.EXECUTES: executes, Does.FETCHES: fetches}
    return Preset(tools={name: does for does, names in said.items() for name in names.split()}, mcp=mcp)


PRESETS: Mapping[str, Preset] = {
    "claude-code": _preset(
        reads="Read Glob Grep LS NotebookRead BashOutput TodoWrite AskUserQuestion ExitPlanMode ListMcpResourcesTool",
        writes="Write Edit MultiEdit NotebookEdit",
        executes="Bash KillShell Task Agent Skill SlashCommand",
        fetches="WebFetch WebSearch ReadMcpResourceTool",
        mcp="mcp__",
    ),
    "codex": _preset(
        reads="update_plan view_image", writes="apply_patch", executes="Bash", fetches="web_search", mcp="mcp__"
    ),
    "copilot": _preset(
        reads="view glob grep read_bash report_intent",
        writes="edit create",
        executes="bash Bash write_bash stop_bash task",
        fetches="web_fetch",
        mcp=None,
    ),
    "gemini": _preset(
        reads="read_file read_many_files list_directory glob search_file_content grep_search write_todos",
        writes="write_file replace save_memory",
        executes="run_shell_command",
        fetches="web_fetch google_web_search",
        mcp="mcp_",
    ),
    "qwen": _preset(
        reads="read_file read_many_files list_directory glob grep_search search_file_content todo_write",
        writes="write_file edit replace save_memory",
        executes="run_shell_command task skill",
        fetches="web_fetch web_search",
        mcp="mcp__",
    ),
    "cursor": _preset(reads="Read Grep Glob LS", writes="Write Edit Delete", executes="Shell Task", mcp=None),
    "opencode": _preset(
        reads="read glob grep list todoread todowrite",
        writes="write edit multiedit patch",
        executes="bash task skill",
        fetches="webfetch websearch",
        mcp=None,
    ),
}
"""By the program's name, as `assent-hook` has it. Where `mcp` is None such tools' names have nothing in common."""
