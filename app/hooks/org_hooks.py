"""An org's hooks: those of its file, and the read-only guard, which stands there whether it is declared or not."""

from __future__ import annotations

import glob
import re
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from app.domain.rules.policy import UnknownTools
from assent.hooks.declared.build import build
from assent.hooks.engine.registry import HookRegistry
from assent.hooks.ready.read_only import ReadOnlyGuard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.domain.call.tool import Tool
    from app.domain.rules.policy import Policy
    from assent.hooks.commands.spawn import Terms
    from assent.hooks.declared.declaration import Declaration
    from assent.hooks.ready.rate_limit import Counters
    from assent.hooks.ready.read_only import IsOn

READ_ONLY = "read-only"
"""The id of the guard that the run-time switch moves. No hook of a file can take it."""
BUILT_IN = "built in"
_ENVIRONMENT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class OrgFile(Protocol):
    """What is needed of a file that was accepted."""

    @property
    def policy(self) -> Policy:
        """Its policy, for the catalogue of tools."""
        ...

    @property
    def hooks(self) -> tuple[Declaration, ...]:
        """Its hooks, in order."""
        ...

    @property
    def text(self) -> str:
        """Its text, for the names of the environment that hold secrets."""
        ...


class Supplies(Struct, frozen=True, kw_only=True):
    """What the gateway hands to the ready hooks: its counters, and its read-only switch."""

    counters: Counters | None = None
    """None: every process counts for itself."""
    is_read_only: IsOn | None = None
    """None: the switch is off, and stays so."""
    terms: Terms | None = None
    """On what terms commands run; None: on nobody's."""


def build_hooks(loaded: OrgFile, supplies: Supplies) -> HookRegistry:
    """Return the hooks of an org, in a registry that knows its catalogue of tools.

    Raises DeclarationError or ValueError for what the check of the file has refused before.
    """
    policy = loaded.policy
    writes = declared_writes(policy.tools)
    registry = HookRegistry(known_tools=None if policy.prefixes else known_tools(policy.tools, policy.unknown_tools))
    registry.add(ReadOnlyGuard(is_on=supplies.is_read_only, writes=writes), id=READ_ONLY, origin=BUILT_IN)
    hidden = frozenset(_ENVIRONMENT.findall(loaded.text))
    for declaration in loaded.hooks:
        given: Mapping[str, Mapping[str, Any]] = {
            "rate-limit": {"counters": supplies.counters},
            "read-only": {
                "is_on": None if "on" in declaration.options else supplies.is_read_only,
                "writes": None if "writes" in declaration.options else writes,
            },
        }
        add_declared(registry, declaration, supplies=given, hidden=hidden, terms=supplies.terms)
    return registry


def add_declared(
    registry: HookRegistry,
    declaration: Declaration,
    *,
    supplies: Mapping[str, Mapping[str, Any]],
    hidden: frozenset[str] = frozenset(),
    terms: Terms | None = None,
) -> str:
    """Build one declared hook and register it; returns its id. What the file leaves out is the hook's own."""
    return registry.add(
        build(declaration, supplies=supplies, hidden=hidden, terms=terms),
        id=declaration.id,
        tools=declaration.tools or None,
        agents=declaration.agents or None,
        priority=declaration.priority,
        timeout=declaration.timeout,
        on_error=declaration.on_error,
        origin=declaration.origin,
    )


def known_tools(tools: Iterable[str], unknown_tools: UnknownTools) -> frozenset[str] | None:
    """Return the catalogue that matchers are checked against; None where the file has none and takes any tool."""
    names = frozenset(tools)
    return None if not names and unknown_tools is UnknownTools.RULES else names


def declared_writes(tools: Mapping[str, Tool]) -> dict[str, bool]:
    """Return what the catalogue says of tools: whether they write. Tools of which it says nothing are left out."""
    return {glob.escape(name): tool.writes for name, tool in tools.items() if tool.writes is not None}
