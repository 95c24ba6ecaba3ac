"""A switch that people flip while everything runs: on or off for an org, an agent or a tool; and what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime


READ_ONLY = "read-only"
"""While it is on, only tools that are declared to write nothing run."""
PAUSE = "pause"
"""While it is on, nothing of what it names runs, and no approval of it is handed out."""


class Switch(Struct, frozen=True, kw_only=True):
    """One switch as it stands. `agent` "" stands for the whole org, `tool` "" for every tool."""

    name: str
    agent: str
    tool: str = ""
    is_on: bool
    reason: str | None
    set_by: str
    set_at: datetime
