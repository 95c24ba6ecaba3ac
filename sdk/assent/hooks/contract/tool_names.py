"""One name for one tool, whatever a runtime calls it: guards are written once, for the canonical name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ALIASES: Mapping[str, str] = {
    "bash": "exec",
    "shell": "exec",
    "sh": "exec",
    "execute_command": "exec",
    "exec_command": "exec",
    "run_command": "exec",
    "run_shell_command": "exec",
    "run_terminal_cmd": "exec",
    "local_shell": "exec",
    "terminal": "exec",
    "apply_diff": "apply_patch",
    "applypatch": "apply_patch",
    "multiedit": "edit",
    "multi_edit": "edit",
    "edit_file": "edit",
    "str_replace": "edit",
    "replace": "edit",
    "notebookedit": "edit",
    "write_file": "write",
    "create_file": "write",
    "read_file": "read",
    "view_file": "read",
    "read_many_files": "read",
    "notebookread": "read",
}
"""Folded name (lower case, `_` for `-`) → canonical name."""

CANONICAL = frozenset({*ALIASES.values(), "exec", "apply_patch", "read", "write", "edit"})


def canonical_name(name: str, aliases: Mapping[str, str] = ALIASES) -> str:
    """Return the canonical name; a name that no table knows is left exactly as it is."""
    folded = name.casefold().replace("-", "_")
    if folded in aliases:
        return aliases[folded]
    return folded if folded in CANONICAL else name
