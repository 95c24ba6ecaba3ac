"""What the file says of a tool under any of its names: no runtime's name for a tool leads around what is written.

A shell is `exec` to the file whatever the runtime calls it (`bash`, `Bash`, `run_shell_command`). A call is judged
under its own name, and under the tool's canonical name as well; the stricter of both wins.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.call.tool import Tool, check_arguments
from app.domain.errors import UnknownToolError
from app.domain.money.payment import payments_of
from app.domain.rules.policy import DEFAULT_RULE, UNKNOWN_TOOL_RULE, judge
from assent.hooks.contract.tool_names import CANONICAL, canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from app.domain.call.tool_call import ToolCall
    from app.domain.rules.policy import Policy, Ruling
    from app.domain.text.canonical import JsonValue


def names_of(policy: Policy, tool: str) -> tuple[str, ...]:
    """Return the names under which a call of `tool` is judged, its own first.

    A name that the file does not write at all stands for every name of the same tool that it writes.
    """
    canonical = canonical_name(tool)
    if canonical not in CANONICAL:
        return (tool,)
    exact = {pattern.text for rule in policy.rules for pattern in rule.tools if not pattern.is_glob}
    written = exact | set(policy.tools)
    alike = () if tool in written else sorted(name for name in written if canonical_name(name) == canonical)
    return tuple(dict.fromkeys((tool, canonical, *alike)))


def tools_of(policy: Policy, tool: str) -> tuple[Tool, ...]:
    """Return what the file says of a tool under each of its names; of an unknown one, its bare name.

    Raises UnknownToolError where the file refuses unknown tools.
    """
    own, *others = names_of(policy, tool)
    return policy.get_tool(own), *(policy.tools[name] for name in others if name in policy.tools)


def as_one(tools: Iterable[Tool]) -> Tool:
    """Return one tool of which everything holds that is said of any of `tools`; its name and schema are the first's."""
    first, *others = tools
    if not others:
        return first
    every = (first, *others)
    writes = [tool.writes for tool in every if tool.writes is not None]
    return replace(
        first,
        title=next((tool.title for tool in every if tool.title is not None), None),
        pin=_all_of(tool.pin for tool in every),
        sensitive=_all_of(tool.sensitive for tool in every),
        money=_all_of(tool.money for tool in every),
        payee=_all_of(tool.payee for tool in every),
        titles=next((tool.titles for tool in every if tool.title is not None), first.titles),
        labels=dict(ChainMap(*(dict(tool.labels) for tool in every))),
        writes=any(writes) if writes else None,
        requires_confirmation=any(tool.requires_confirmation for tool in every),
        payment=next((tool.payment for tool in every if tool.payment is not None), None),
        irreversible=any(tool.irreversible for tool in every),
        enforced=any(tool.enforced for tool in every),
        result=() if any(not tool.result for tool in every) else _all_of(tool.result for tool in every),
    )


def checked(tools: Iterable[Tool], arguments: object) -> dict[str, JsonValue]:
    """Return the arguments with the defaults of every schema, their payments readable.

    Raises BadJsonError, BadArgumentsError as one does.
    """
    first, *others = tools
    whole = check_arguments(first, arguments)
    for tool in others:
        whole = check_arguments(tool, whole)
    for tool in (first, *others):
        if tool.payment is not None:
            payments_of(tool.payment, whole)
    return whole


def sensitive_of(policy: Policy, tool: str) -> tuple[str, ...]:
    """Return the sensitive paths of a tool under all of its names; none of an unknown tool."""
    try:
        return as_one(tools_of(policy, tool)).sensitive if tool else ()
    except UnknownToolError:
        return ()


def rulings_of(policy: Policy, call: ToolCall, *, now: datetime) -> list[tuple[str, Ruling]]:
    """Judge a call for its agent under each name of the tool; the first ruling is that of its own name.

    Under another name only a rule counts that is written about that name and not about the call's own: the rules that
    name both, and the default, have answered in the place where they stand.
    """
    found = [(call.tool, judge(policy, call, now=now))]
    others = names_of(policy, call.tool)[1:]
    own = {rule.id for rule in policy.rules_for(call.tool)} if others else set[str]()
    for name in others:
        ruling = judge(policy, replace(call, tool=name), now=now)
        if ruling.rule_id not in {*own, DEFAULT_RULE, UNKNOWN_TOOL_RULE}:
            found.append((name, ruling))
    return found


def _all_of(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for paths in lists for path in paths))
