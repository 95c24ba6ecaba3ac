"""`ToolCall`: a call that is about to happen, as the gateway is asked about it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields, replace
from inspect import isawaitable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from assent.client.models import Json

    TokenSource = str | Callable[[], str | Awaitable[str | None] | None]
    """The requester's token, or what returns it anew for each call: tokens do not last."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What is said of a call: the members of `POST /v1/requests`, by their names there."""

    tool: str
    arguments: Json
    _: KW_ONLY
    session: str | None = None
    """Under which run of the agent it is filed; the gateway's own, if left out."""
    call_id: str | None = None
    """The id that the model gave the call, unique among this agent's."""
    requester: str | None = None
    """On whose behalf the agent acts (an e-mail address): they may not approve."""
    requester_token: str | None = field(default=None, repr=False)
    """What proves it: their ID token, or one that was exchanged for this agent (RFC 8693). It is kept nowhere."""
    claim: str | None = None
    """The agent's own words for the approver, shown apart from the facts."""
    confirm: str | None = None
    """Why people must at least be asked: the rules may deny the call or say who is asked, but not wave it through."""
    parent_session: str | None = None
    """The session that started this one, whose hooks and rules bind it too."""
    sub_agent: str | None = None
    """The name of the sub-agent that calls, whose own hooks and rules are added."""
    cwd: str | None = None
    """The agent's working directory, for guards of paths."""

    def as_body(self) -> Json:
        """The call as it is sent: what is left out is not said."""
        return {name: value for name in _MEMBERS if (value := getattr(self, name)) is not None}


async def proved(call: ToolCall, source: TokenSource | None) -> ToolCall:
    """The call with the requester's token, unless it has one of its own."""
    if source is None or call.requester_token is not None:
        return call
    found = source if isinstance(source, str) else source()
    token = await found if isawaitable(found) else found
    return call if token is None else replace(call, requester_token=token)


_MEMBERS = tuple(each.name for each in fields(ToolCall))
