"""What can be seen of hooks at work: one event for each thing that a hook did, none for a plain pass."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.moments import Moment
    from assent.hooks.engine.registry import Registered

_log = logging.getLogger("assent.hooks")
_LONGEST = 300


class Deed(StrEnum):
    """What a hook did."""

    BLOCKED = "blocked"
    REWROTE = "rewrote"
    REPLACED = "replaced the result of"
    ASKED = "asks people about"
    ROUTED = "routes"
    TAGGED = "tagged"
    TOLD = "added context to"
    HID = "hides the output of"
    SENT_BACK = "sent back"
    APPROVED = "let pass, approved,"
    FAULTED = "failed at"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One deed of one hook."""

    deed: Deed
    hook: str
    moment: Moment
    agent: str
    session: str
    tool_name: str
    call_id: str
    why: str

    def __str__(self) -> str:
        """Tell it in one line."""
        about = self.tool_name or self.moment.value
        call = f" (call {self.call_id})" if self.call_id else ""
        why = " ".join(self.why.split())
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in why)
        cut = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
        return f"[{self.moment}] {self.hook} {self.deed} {about}{call}" + (f": {cut}" if cut else "")


class Tracer(Protocol):
    """What is used of an OpenTelemetry tracer."""

    def start_as_current_span(self, name: str, *, attributes: Any = None) -> AbstractContextManager[Any]:
        """Open a span."""
        ...


OnEvent: TypeAlias = Callable[[HookEvent], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Who watches: `on_event` gets every deed (what it raises is its own affair), `tracer` a span for each hook."""

    on_event: OnEvent | None = None
    tracer: Tracer | None = None

    def tell(self, event: HookEvent) -> None:
        """Pass an event on. A watcher's fault is logged: it must not change what is watched."""
        if self.on_event is None:
            return
        try:
            self.on_event(event)
        except Exception:  # noqa: BLE001 - a watcher is not ours
            _log.exception("a watcher of hooks failed at: %s", event)

    def span(self, entry: Registered, ctx: HookContext) -> AbstractContextManager[Any]:
        """Open a span around one hook's judgement."""
        if self.tracer is None:
            return nullcontext()
        attributes = {
            "assent.hook.id": entry.id,
            "assent.moment": entry.moment.value,
            "assent.tool": ctx.tool_name,
            "assent.agent": ctx.agent,
            "assent.session": ctx.session,
            "assent.call_id": ctx.call_id,
        }
        return self.tracer.start_as_current_span(f"hook {entry.id}", attributes=attributes)


UNOBSERVED = Observer()


def print_event(event: HookEvent) -> None:
    """Print an event on standard error, for whoever wants to see hooks at work."""
    print(event, file=sys.stderr, flush=True)  # noqa: T201 - this is what it is for
