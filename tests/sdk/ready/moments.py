"""Contexts for tests of ready hooks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.contract.tool_names import canonical_name

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def before(tool: str = "oa__purchase_pay", **given: Any) -> HookContext:
    """A call that is about to happen."""
    told: dict[str, Any] = {"org": "acme", "agent": "shop", "session": "s-1", "user": "wang@acme.example"}
    return HookContext(
        moment=Moment.PRE_TOOL_USE,
        timestamp=NOON,
        tool_name=canonical_name(tool),
        called_as=tool,
        **{**told, **given},
    )


def after(result: Any, **given: Any) -> HookContext:
    """A call that succeeded."""
    return HookContext(moment=Moment.POST_TOOL_USE, timestamp=NOON, tool_name="read", result=result, **given)


def failed(error: str, **given: Any) -> HookContext:
    """A call that failed."""
    return HookContext(
        moment=Moment.POST_TOOL_USE_FAILURE, timestamp=NOON, tool_name="read", result=error, error=error, **given
    )
