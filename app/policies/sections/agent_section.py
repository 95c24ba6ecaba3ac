"""The agents of the file: what holds for one agent alone, and its own hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.domain.call.agent import AgentSettings
from app.policies.marks.entries import read_entry, section
from app.policies.models.file_models import AgentEntry
from app.policies.sections.hook_section import read_hook

if TYPE_CHECKING:
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.policies.sections.hook_section import HookGround
    from assent.hooks.declared.declaration import Declaration

_NAME = re.compile(r"[^\s*?\[\]]{1,200}")


def agent_names(marked: MarkedYaml) -> tuple[str, ...]:
    """Return the names alone, for whatever refers to agents."""
    whole = marked.value
    agents = whole.get("agents") if isinstance(whole, dict) else None
    return tuple(agents) if isinstance(agents, dict) else ()


def read_agents(marked: MarkedYaml, ground: HookGround) -> tuple[dict[str, AgentSettings], tuple[Declaration, ...]]:
    """Return the agents' settings by name, and their hooks, each for its agent alone; every fault is noted."""
    settings: dict[str, AgentSettings] = {}
    hooks: list[Declaration] = []
    for name, raw in section(marked, "agents").items():
        path: Path = ("agents", name)
        if not _NAME.fullmatch(name):
            marked.report(path, "an agent's name has no spaces, and none of * ? [ ]: it is the name of a key's agent")
            continue
        entry = read_entry(marked, path, {} if raw is None else raw, AgentEntry, apart=("confirm_all_tools", "inherit"))
        if entry is None:
            continue
        settings[name] = AgentSettings(inherit=entry.inherit, confirm_all_tools=entry.confirm_all_tools)
        for index, each in enumerate(entry.hooks):
            declaration = read_hook(marked, (*path, "hooks", index), each, ground, agent=name)
            if declaration is not None:
                hooks.append(declaration)
    return settings, tuple(hooks)
