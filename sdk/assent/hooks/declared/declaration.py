"""A hook as a file declares it, for people who write no Python: plain values, checked where they are read.

- {on: PreToolUse, tools: [bash], use: command-guard}
- {on: PreToolUse, tools: ["oa__*"], python: acme.hooks.no_fridays, on_error: ask}
- {on: PostToolUse, command: "python scan.py", timeout: 10s}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assent.hooks.contract.verdicts import NOTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assent.hooks.contract.hook import OnError
    from assent.hooks.contract.moments import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One declared hook: exactly one of `use`, `python` and `command` is set."""

    on: Moment
    use: str | None = None
    """A ready hook's name."""
    python: str | None = None
    """A dotted name: a function `(HookContext) -> HookResult | None` (sync or async) or a hook class."""
    command: str | tuple[str, ...] | None = None
    """A shell line, or an argument list that no shell sees."""
    options: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """For `use`, and for a hook class: its keyword arguments."""
    tools: tuple[str, ...] = ()
    """Names and globs; empty: every tool."""
    agents: tuple[str, ...] = ()
    priority: int | None = None
    """None: the hook's own, or 0."""
    timeout: float | None = None
    """Seconds. None: the hook's own limit."""
    on_error: OnError | None = None
    id: str | None = None
    origin: str = ""
    """Where it was declared (`assent.yaml:31`), for people."""
