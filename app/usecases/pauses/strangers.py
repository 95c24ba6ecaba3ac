"""Names in a switch or a key that nothing knows: set all the same, for they may come later, and said, for a typo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.call.name_pattern import NamePattern
from app.policies.marks.faults import near
from assent.hooks.contract.tool_names import CANONICAL, canonical_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.domain.rules.policy import Policy
    from app.policies.file.policy_file import LoadedPolicy


def agents_named(loaded: LoadedPolicy) -> frozenset[str]:
    """Return the agents that a file names."""
    patterns = {pattern.text for rule in loaded.policy.rules for pattern in rule.agents if not pattern.is_glob}
    return frozenset({*loaded.agents, *patterns})


def strange_agent(agent: str, named: Collection[str]) -> str | None:
    """Say that no key and no file names an agent; None where one does. `named` are those that they name."""
    if not agent.strip("*") or any(map(NamePattern(agent).matches, named)):
        return None
    return f"no key and no file names the agent {agent!r}, so this may bind nobody; {near(agent, named, what='agents')}"


def strange_tool(tool: str, policy: Policy) -> str | None:
    """Say that the file knows no such tool; None where it does, be it by a rule's pattern."""
    patterns = {pattern for rule in policy.rules for pattern in rule.tools}
    named = {*policy.tools, *(pattern.text for pattern in patterns if not pattern.is_glob)}
    if not tool.strip("*") or canonical_name(tool) in {*map(canonical_name, named), *CANONICAL}:
        return None
    wanted = NamePattern(tool)
    globs = [pattern for pattern in patterns if pattern.is_glob and pattern.text.strip("*")]
    if any(map(wanted.matches, {*named, *CANONICAL})) or any(map(wanted.meets, globs)):
        return None
    return f"the file does not name the tool {tool!r}; {near(tool, named, what='tools')}"
