"""What the file says of one agent."""

from __future__ import annotations

from msgspec import Struct


class AgentSettings(Struct, frozen=True, kw_only=True):
    """One agent's settings; an agent that the file does not name has these defaults.

    `inherit` False: as somebody's sub-agent it runs without the hooks and the gate of those that it descends from.
    `confirm_all_tools`: people are asked about every tool call of it that the rules do not deny.
    """

    inherit: bool = True
    confirm_all_tools: bool = False
