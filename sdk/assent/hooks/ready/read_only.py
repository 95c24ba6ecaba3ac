"""`ReadOnlyGuard`: while it is on, tools that write do not run. What no declaration names counts as writing.

    hooks.add(ReadOnlyGuard(is_on=ask_the_switch, writes={"oa__*": True, "oa__*_list": False, "read": False}))

`Flags` (a yes or no by tool name) is the approval gate's as well.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from assent.hooks.contract.hook import GUARD, PreToolUseHook
from assent.hooks.contract.matcher import Matcher, matcher
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.contract.verdicts import HookResult, deny

if TYPE_CHECKING:
    from datetime import datetime

    from assent.hooks.contract.context import HookContext

_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The state of the read-only switch, and who set it when, if that is known."""

    on: bool
    by: str | None = None
    at: datetime | None = None
    reason: str | None = None


class Flags:
    """A yes or no for tools: a name decides over a glob, and among globs a yes over a no."""

    def __init__(self, flags: Mapping[str, bool], *, option: str) -> None:
        """`option` names the setting in faults. Raises ValueError."""
        self._exact: list[tuple[Matcher, bool]] = []
        self._globs: list[tuple[Matcher, bool]] = []
        for tool, flag in flags.items():
            if not isinstance(tool, str) or not tool or not isinstance(flag, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
                raise ValueError(
                    f"{option}: give true or false for each tool ({option}: {{oa__pay: true}}), not {tool!r}: {flag!r}"
                )
            found = matcher(tool, known=None, fold=canonical_name, what="tools")
            (self._globs if _GLOB.search(tool) else self._exact).append((cast("Matcher", found), flag))

    def find(self, ctx: HookContext) -> bool | None:
        """Return what is declared of the call's tool, by its canonical name or the runtime's; None if nothing is."""
        for declared in (self._exact, self._globs):
            said = {flag for names, flag in declared if names.matches(ctx.tool_name, ctx.called_as)}
            if said:
                return True in said
        return None


IsOn: TypeAlias = Callable[["HookContext"], bool | Switch | Awaitable[bool | Switch]]
Writes: TypeAlias = Mapping[str, bool] | Callable[[str], bool | None]


class ReadOnlyGuard(PreToolUseHook):
    """Denies every call of a tool that writes, while read-only is on.

    `is_on` is asked at each call whether it is on for this org and agent, and may answer with a `Switch` that tells who
    set it; `on` is for a switch that never moves. `writes` says of a tool (names and globs, or a function of its name)
    whether it writes; a tool of which it says nothing counts as writing. Where `is_on` fails, the call is denied.
    """

    name = "read-only"
    description = "while read-only is on, tools that write do not run"
    priority = GUARD

    def __init__(self, *, on: bool = False, is_on: IsOn | None = None, writes: Writes | None = None) -> None:
        if not isinstance(on, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - options come from files
            raise ValueError(f"on: give true or false, not {on!r}")  # noqa: TRY004 - all bad options are ValueErrors
        if on and is_on is not None:
            raise ValueError("on, is_on: give one of them: is_on is asked at each call, on never changes")
        self._on = on
        self.is_on = is_on
        if callable(writes):
            self._writes: Flags | Callable[[str], bool | None] = writes
        elif writes is None or isinstance(writes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
            self._writes = Flags(writes or {}, option="writes")
        else:
            raise ValueError(f"writes: give true or false for each tool (writes: {{oa__list: false}}), not {writes!r}")

    async def execute(self, ctx: HookContext) -> HookResult | None:
        """Deny a call that writes, if it is on."""
        if not self._says_it_writes(ctx):
            return None
        switch = await self._switch(ctx)
        return deny(_reason(ctx, switch)) if switch.on else None

    def _says_it_writes(self, ctx: HookContext) -> bool:
        said = self._writes.find(ctx) if isinstance(self._writes, Flags) else self._writes(ctx.tool_name)
        return said is not False  # None, or whatever else a function may say: not declared harmless

    async def _switch(self, ctx: HookContext) -> Switch:
        if self.is_on is None:
            return Switch(on=self._on)
        answer = self.is_on(ctx)
        said = cast("object", await answer if inspect.isawaitable(answer) else answer)  # it is foreign code
        match said:
            case bool():
                return Switch(on=said)
            case Switch():
                return said
            case _:
                raise TypeError(f"is_on answered {said!r}: it is to say True or False, or give a Switch")


def _reason(ctx: HookContext, switch: Switch) -> str:
    who = f" by {switch.by}" if switch.by else ""
    when = f" on {switch.at:%Y-%m-%d at %H:%M} {switch.at.tzname() or ''}".rstrip() if switch.at else ""
    why = f": {switch.reason}" if switch.reason else ""
    return (
        f"read-only mode is on{f' (switched on{who}{when}{why})' if who or when or why else ''}, "
        f"and {ctx.called_as or ctx.tool_name} writes, or is not declared as one that only reads. "
        "Reading goes on; do not try to write another way. Tell the user."
    )
