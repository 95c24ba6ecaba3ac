"""The commands about hooks: trying calls on them, and listing them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

# Everything else is imported where it runs: `assent check` stands in people's hooks and CI, and must start at once.
hooks_app = typer.Typer(no_args_is_help=True, help="Hooks.")

Tried = Annotated[
    Path | None, typer.Option("--config", "-c", help="an assent.yaml; left out: the ready guards alone, no file")
]


def check_calls(
    config: Tried = None,
    *,
    verbose: Annotated[bool, typer.Option("--verbose", help="say on standard error what each hook did")] = False,
) -> None:
    """Answer tool calls, JSON lines on standard input, without touching anything; exit 1 if a line was none.

    A line is {"tool": "...", "args": {...}}, with "agent", "user", "session" and "cwd" if they matter. Each gets one
    line: {"decision": "allow" | "deny" | "ask" | "route", "reason", "hook" or "rule", "args" if they were rewritten}.
    """
    from app.cli.rules.dry_run import answer_lines, open_dry_run
    from assent.hooks.engine.observer import UNOBSERVED, Observer, print_event

    def write(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    observer = Observer(on_event=print_event) if verbose else UNOBSERVED
    raise typer.Exit(code=answer_lines(sys.stdin.buffer, replace(open_dry_run(config), observer=observer), write))


@hooks_app.command("list")
def hooks_list(
    config: Tried = None,
    tool: Annotated[str | None, typer.Option(help="a tool's name, as any runtime says it")] = None,
    agent: Annotated[str | None, typer.Option(help="an agent's name")] = None,
    moment: Annotated[str | None, typer.Option(help="PreToolUse, PostToolUse, …")] = None,
) -> None:
    """Show what would run for a call, in the order in which it runs."""
    from app.cli.rules.dry_run import list_hooks, open_dry_run

    for line in list_hooks(open_dry_run(config).hooks, tool=tool, agent=agent, moment=moment):
        typer.echo(line)
