"""What is about to go to the model, as hooks see it and may rewrite it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What is about to go to the model; `extra` keeps what the runtime sends besides."""

    provider: str = ""
    """Whose model it is, in the runtime's own words; empty where the runtime does not say."""
    model: str = ""
    system: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    temperature: float | None = None
    thinking: str | None = None
    """Thinking mode, in the runtime's own words (`off`, `adaptive`, …)."""
    reasoning: str | None = None
    """Reasoning level, in the runtime's own words (`low`, `high`, …)."""
    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
