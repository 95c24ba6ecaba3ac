"""Which calls are judged off the event loop: those that a guard does not read in milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.guards.commands.arguments import command_texts, surroundings
from assent.hooks.contract.tool_names import canonical_name
from assent.hooks.ready.off_loop import is_large
from assent.shell.reading.reader import is_quickly_read

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext

_LARGE = 4096
"""Characters of all arguments. A call of so many words and paths takes 30 ms to judge."""


def is_heavy(ctx: HookContext) -> bool:
    """Say whether a call may take longer to judge than the event loop can wait."""
    if is_large(ctx.args, _LARGE):
        return True
    if canonical_name(ctx.tool_name) != "exec":
        return False
    variables = surroundings(ctx.args)
    return not all(is_quickly_read(text, variables=variables) for text in command_texts(ctx.args) or ())
