"""What the streaming side of an agent sees of a tool call: it is about to run, it is suspended, it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

    from assent.client.models import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class WillCall:
    """The model wants this call."""

    tool_name: str
    call_id: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """The call waits for people: which request, how it stands, until when, and the short code on their cards."""

    tool_name: str
    call_id: str
    request_id: str
    state: str
    expires_at: datetime
    code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """People (or the deadline) have decided; the call goes on or is refused next."""

    tool_name: str
    call_id: str
    request_id: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The call is over: what the model sees of it. `hidden` output is not for display."""

    tool_name: str
    call_id: str
    ran: bool
    content: Any
    hidden: bool


Step: TypeAlias = WillCall | Suspended | Settled | Observed
OnStep: TypeAlias = Callable[[Step], object]

waiting_call: ContextVar[Callable[[Request], None] | None] = ContextVar("assent_waiting_call", default=None)
"""Who is told, in the present call, how the request stands that it waits for: set by the session, used by the gate."""


def tell_request(request: Request) -> None:
    """Tell the present call's session how its request stands; for approval gates."""
    listener = waiting_call.get()
    if listener is not None:
        listener(request)
