"""Try guards and rules by hand or in CI: `assent check` answers calls, `assent hooks list` shows what would run.

Nothing is stored and nobody is asked: no database, no network. Channels of a file are not looked at, so that its
secrets need not be there. Hooks of a file do run, commands and all; what only the gateway knows (the read-only switch,
counts of other processes) is as after a fresh start.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import typer
from msgspec import Struct

from app.clock import SystemClock
from app.domain.errors import BadJsonError, InvalidError
from app.domain.text.canonical import parse_json
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import TOOL_MOMENTS, Moment
from assent.hooks.declared.build import DeclarationError, build
from assent.hooks.declared.declaration import Declaration
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.observer import UNOBSERVED, Observer
from assent.hooks.engine.outcome import Decision, Outcome
from assent.hooks.engine.registry import HookRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from app.domain.call.agent import AgentSettings
    from app.domain.rules.policy import Policy
    from app.domain.text.canonical import JsonValue
    from app.ports import Clock
    from assent.hooks.engine.registry import Registered

GUARDS = ("command-guard", "path-guard")
"""The ready guards that stand alone where no file is given."""
BUILT_IN = "built in"
ARGUMENTS = "arguments"
"""The id under which arguments that the catalogue refuses are denied."""


class BadCallError(Exception):
    """A line is no tool call; the text says why."""


class Call(NamedTuple):
    """One call to try."""

    tool: str
    args: dict[str, JsonValue]
    agent: str
    user: str
    session: str
    cwd: str


class DryRun(Struct, frozen=True, kw_only=True):
    """What calls are tried on: hooks, and the rules of a file if there is one."""

    hooks: HookRegistry
    policy: Policy | None = None
    nobodys_policy: Policy | None = None
    """For calls without an agent: the rules that are for some agents only are not about them."""
    agents: Mapping[str, AgentSettings]
    clock: Clock
    observer: Observer = UNOBSERVED

    async def answer(self, call: Call) -> dict[str, Any]:
        """Answer one call: the hooks' denial first, then the rules' on the arguments as they finally stand."""
        outcome = await run_chain(
            self.hooks.get(Moment.PRE_TOOL_USE, tool=call.tool, agent=call.agent), self._context(call), self.observer
        )
        if outcome.decision is Decision.DENY:
            return {"decision": "deny", "reason": outcome.reason, "hook": outcome.by}
        policy = self.policy if call.agent else self.nobodys_policy
        told = _by_hooks(outcome) if policy is None else self._by_rules(policy, call, outcome)
        if outcome.rewritten and told["decision"] != "deny":
            told["args"] = dict(outcome.args)
        return told

    def _context(self, call: Call) -> HookContext:
        return HookContext(
            moment=Moment.PRE_TOOL_USE,
            timestamp=self.clock.now(),
            org=self.policy.org if self.policy else "",
            agent=call.agent,
            session=call.session,
            user=call.user,
            cwd=call.cwd,
            tool_name=self.hooks.canonical(call.tool),
            called_as=call.tool,
            args=call.args,
        )

    def _by_rules(self, policy: Policy, call: Call, outcome: Outcome) -> dict[str, Any]:
        from app.domain.call.tool import as_one, checked
        from app.domain.call.tool_call import ToolCall
        from app.domain.rules.policy import Allow, Ask, rulings_of, tools_of
        from app.domain.rules.strictest import Wish, at_least_ask, hook_wish, strictest

        try:
            tools = tools_of(policy, call.tool)
            tool, arguments = as_one(tools), checked(tools, dict(outcome.args))
        except InvalidError as error:
            return {"decision": "deny", "reason": error.detail, "rule": ARGUMENTS}
        wishes = [hook_wish(asked.hook, asked.reason) for asked in outcome.asks]
        if tool.requires_confirmation:
            wishes.append(Wish(by="requires-confirmation", reason=f"The tool {tool.name} always asks people."))
        settings = self.agents.get(call.agent)
        if settings is not None and settings.confirm_all_tools:
            wishes.append(Wish(by="confirm-all-tools", reason=f"Every tool call of {call.agent} asks people."))
        judged = ToolCall(
            org=policy.org,
            agent=call.agent,
            session=call.session or None,
            call_id=None,
            tool=call.tool,
            arguments=arguments,
            requester=call.user or None,
            owner=None,
            claim=None,
        )
        own, *others = rulings_of(policy, judged, now=self.clock.now())
        ruling = at_least_ask(strictest(own[1], others), wishes, policy)
        if isinstance(ruling, Ask) and outcome.route is not None:
            why = "it is routed to a sandbox and people would be asked, which cannot be combined"
            return {"decision": "deny", "reason": why, "rule": ruling.rule_id}
        if isinstance(ruling, Allow) and outcome.route is not None:
            return _by_hooks(outcome)
        by = "hook" if ruling.rule_id.startswith("hook:") else "rule"
        answer = type(ruling).__name__.lower()
        return {"decision": answer, "reason": ruling.reason, by: ruling.rule_id.removeprefix("hook:")}


def _by_hooks(outcome: Outcome) -> dict[str, Any]:
    match outcome.decision:
        case Decision.ASK | Decision.DENY:
            return {"decision": outcome.decision.value, "reason": outcome.reason, "hook": outcome.by}
        case Decision.ROUTE:
            where = outcome.route.provider if outcome.route else ""
            return {"decision": "route", "reason": f"it runs in the sandbox {where}", "hook": outcome.by}
        case Decision.ALLOW:
            return {"decision": "allow", "reason": "no hook objects"}


def answer_lines(lines: Iterable[bytes], dry_run: DryRun, write: Callable[[str], object]) -> int:
    """Answer every line with one of its own, as it comes; return 0, or 1 if some were no calls."""
    worst = 0
    with asyncio.Runner() as runner:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                told = runner.run(dry_run.answer(parse_call(line)))
            except BadCallError as error:
                told, worst = {"error": str(error), "line": number}, 1
            write(json.dumps(told, default=str))
    return worst


def parse_call(line: bytes) -> Call:
    """Read `{"tool": …, "args": {…}, "agent"?, "user"?, "session"?, "cwd"?}`; other keys are not looked at.

    Raises BadCallError.
    """
    try:
        whole = parse_json(line.strip())
    except BadJsonError as error:
        raise BadCallError(f"not JSON: {error.detail}") from None
    if not isinstance(whole, dict):
        raise BadCallError("not an object")
    tool, args = whole.get("tool"), whole.get("args")
    if not isinstance(tool, str) or not tool.strip():
        raise BadCallError('"tool" must be the name of a tool')
    if not isinstance(args, dict):
        raise BadCallError('"args" must be an object, the arguments of the call')
    words: dict[str, str] = {}
    for key in ("agent", "user", "session", "cwd"):
        value = whole.get(key)
        if value is not None and not isinstance(value, str):
            raise BadCallError(f'"{key}" must be a text')
        words[key] = value or ""
    return Call(tool=tool, args=args, **words)


def open_dry_run(config: Path | None) -> DryRun:
    """Return what calls are tried on; None: the ready guards alone. Ends the command with 2 where that has faults."""
    try:
        return _guards_alone() if config is None else _dry_run_of(config)
    except DeclarationError as error:
        refuse(str(error))


def refuse(why: str) -> NoReturn:
    """Say why a command cannot do its work, and end it with 2."""
    typer.echo(why, err=True)
    raise typer.Exit(code=2)


def _guards_alone() -> DryRun:
    hooks = HookRegistry()
    for name in GUARDS:
        hooks.add(build(Declaration(on=Moment.PRE_TOOL_USE, use=name)), id=name, origin=BUILT_IN)
    return DryRun(hooks=hooks, agents={}, clock=SystemClock())


def _dry_run_of(config: Path) -> DryRun:
    from app.hooks.org_hooks import Supplies, build_hooks
    from app.policies.file.policy_file import load_policy
    from app.policies.marks.faults import PolicyFaultsError
    from app.policies.marks.surroundings import AnyEnvironment
    from channels import registry

    try:
        loaded = load_policy(config, environ=AnyEnvironment(), channel_types=registry.platforms_unread())
    except PolicyFaultsError as error:
        refuse(str(error))
    hooks = build_hooks(loaded, supplies=Supplies())
    nobodys = replace(loaded.policy, rules=tuple(rule for rule in loaded.policy.rules if not rule.agents))
    return DryRun(hooks=hooks, policy=loaded.policy, nobodys_policy=nobodys, agents=loaded.agents, clock=SystemClock())


# --- what would run ---------------------------------------------------------------------------------------------------

_WIDEST = 60
_HEADINGS = ("id", "moment", "priority", "for", "on_error", "timeout", "origin")


def list_hooks(hooks: HookRegistry, *, tool: str | None, agent: str | None, moment: str | None) -> list[str]:
    """Return the lines of a table: a row for each hook that would run, in order. Left out means any.

    Ends the command with 2 for a moment that there is not.
    """
    if moment is not None and moment not in list(Moment):
        from app.policies.marks.faults import near

        refuse(f'unknown moment "{moment}"; {near(moment, Moment, what="moments")}')
    chosen = [entry for entry in hooks.list() if moment in {None, entry.moment} and _is_for(entry, hooks, tool, agent)]
    rows = [_HEADINGS, *map(_row, chosen)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _is_for(entry: Registered, hooks: HookRegistry, tool: str | None, agent: str | None) -> bool:
    about_tool = tool is None or (
        entry.moment in TOOL_MOMENTS and (entry.tools is None or entry.tools.matches(hooks.canonical(tool), tool))
    )
    return about_tool and (agent is None or entry.agents is None or entry.agents.matches(agent))


def _row(entry: Registered) -> Sequence[str]:
    matchers = [str(entry.tools) if entry.tools else "every tool"] if entry.moment in TOOL_MOMENTS else []
    if entry.agents:
        matchers.append(f"agents: {entry.agents}")
    return (
        entry.id,
        entry.moment.value,
        "gate" if entry.is_gate else str(entry.priority),
        _short("; ".join(matchers) or "-"),
        entry.on_error.value,
        f"{entry.timeout:g}s",
        entry.origin or "-",
    )


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
