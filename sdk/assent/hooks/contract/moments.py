"""The moments of an agent's run at which hooks are called, and what a hook's verdict may do at each.

SessionStart ─▶ UserPromptSubmit ─▶ PreModelRequest ─▶ PreToolUse ─▶ (the tool) ─▶ PostToolUse | PostToolUseFailure
▲                   ▲                                              │
│                   └──────────────────────────────────────────────┤
└──── Stop ◀───────────────────────────────────────────────────────┘
beside them: PreCompact, SubagentStop, and SessionEnd at the very end
"""

from __future__ import annotations

from enum import StrEnum


class Moment(StrEnum):
    """A named moment; the value is the name on every wire."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_MODEL_REQUEST = "PreModelRequest"
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    PRE_COMPACT = "PreCompact"
    STOP = "Stop"
    SUBAGENT_STOP = "SubagentStop"
    SESSION_END = "SessionEnd"


class Power(StrEnum):
    """One thing that a verdict may do."""

    BLOCK = "block"
    REWRITE_ARGS = "rewrite the arguments"
    REWRITE_PROMPT = "rewrite the prompt"
    REWRITE_REQUEST = "rewrite the model request"
    REPLACE_RESULT = "replace the result"
    ASK = "ask people"
    ROUTE = "route to a sandbox"
    ADD_CONTEXT = "add context"
    TAG = "set tags"
    HIDE = "hide output"
    SEND_BACK = "send the agent back"


_AFTER_A_TOOL = frozenset({Power.BLOCK, Power.REPLACE_RESULT, Power.ADD_CONTEXT, Power.TAG, Power.HIDE})

POWERS: dict[Moment, frozenset[Power]] = {
    Moment.SESSION_START: frozenset({Power.ADD_CONTEXT, Power.TAG}),
    Moment.USER_PROMPT_SUBMIT: frozenset({Power.BLOCK, Power.REWRITE_PROMPT, Power.ADD_CONTEXT, Power.TAG}),
    Moment.PRE_MODEL_REQUEST: frozenset({Power.BLOCK, Power.REWRITE_REQUEST, Power.TAG}),
    Moment.PRE_TOOL_USE: frozenset(
        {Power.BLOCK, Power.REWRITE_ARGS, Power.ASK, Power.ROUTE, Power.ADD_CONTEXT, Power.TAG, Power.HIDE}
    ),
    Moment.POST_TOOL_USE: _AFTER_A_TOOL,
    Moment.POST_TOOL_USE_FAILURE: _AFTER_A_TOOL,
    Moment.PRE_COMPACT: frozenset(),
    Moment.STOP: frozenset({Power.SEND_BACK}),
    Moment.SUBAGENT_STOP: frozenset(),
    Moment.SESSION_END: frozenset(),
}
"""What a verdict may do at each moment (`side_effects` are recorded at all). A verdict that does more is a fault."""

TOOL_MOMENTS = frozenset({Moment.PRE_TOOL_USE, Moment.POST_TOOL_USE, Moment.POST_TOOL_USE_FAILURE})
"""The moments that are about one tool: only here may a hook have a tool matcher."""

OBSERVING = frozenset({Moment.SESSION_START, Moment.PRE_COMPACT, Moment.STOP, Moment.SUBAGENT_STOP, Moment.SESSION_END})
"""Here all hooks run, and a fault is noted and disturbs nobody. At the other moments a fault means no."""
