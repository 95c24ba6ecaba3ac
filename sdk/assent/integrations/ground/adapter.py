"""What the adapters stand on: one gate for both colours of a framework, and what a model is told of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assent.client.errors import AssentError
from assent.client.log import warn
from assent.client.messages import RefusalCode
from assent.client.models import State
from assent.gate.blocking import BlockingGate, Gateway
from assent.gate.gate import Gate
from assent.gate.outcomes import Ran, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assent.client.gateway import AsyncGateway
    from assent.gate.abandoned import Abandoned
    from assent.gate.outcomes import Replayed

_NOT_YET = frozenset({RefusalCode.STILL_PENDING, RefusalCode.LEFT_TO_EXECUTOR})


class Gates:
    """The gate of an adapter: asynchronous in any case; blocking too, where a `Gateway` was given."""

    def __init__(
        self,
        gateway: AsyncGateway | Gateway,
        *,
        abandoned: Abandoned = "withdraw",
        control_flow: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._blocking: BlockingGate | None = None
        if isinstance(gateway, Gateway):
            self._blocking = BlockingGate(gateway, abandoned=abandoned, control_flow=control_flow)
            self.asynchronous = self._blocking.asynchronous
        else:
            self.asynchronous = Gate(gateway, abandoned=abandoned, control_flow=control_flow)

    @property
    def blocking(self) -> BlockingGate:
        """The gate for synchronous tools. Raises `TypeError` where the gateway is an `AsyncGateway`."""
        if self._blocking is None:
            raise TypeError("this agent runs synchronously: give the adapter a Gateway, not an AsyncGateway")
        return self._blocking


def is_waiting(found: Ran | Replayed | Refused) -> bool:
    """Whether a suspended call that was finished has to wait on."""
    return isinstance(found, Refused) and found.code in _NOT_YET


async def all_decided(gateway: AsyncGateway, request_ids: Iterable[str]) -> bool:
    """Whether people have decided every one of these requests."""
    for request_id in request_ids:
        if (await gateway.get(request_id)).state is State.PENDING:
            return False
    return True


async def withdraw(gateway: AsyncGateway, request_id: str, reason: str) -> None:
    """Take a request back, so that nobody approves what does not run; a fault is logged."""
    try:
        request = await gateway.get(request_id)
        if request.state is State.PENDING:
            await gateway.cancel(request, reason=reason)
    except AssentError as fault:
        warn("request %s could not be withdrawn: %s", request_id, fault)


def as_text(result: Any) -> str:
    """A result as a model reads it: text as it is, all else as JSON where it is JSON."""
    if isinstance(result, str):
        return result
    import json

    try:
        return json.dumps(result, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(result)


def notes(found: Ran) -> str:
    """What the model is told beside a result: what people changed of the call, and what the gateway's hooks add."""
    return "\n".join(note for note in (found.changes, *found.context) if note)


def with_notes(text: str, found: Ran) -> str:
    """A result's text, and below it the notes."""
    return "\n".join(part for part in (text, notes(found)) if part)


def told(found: Ran | Replayed | Refused) -> str:
    """The whole of what a model is told of a call, for frameworks whose tools answer in text."""
    if isinstance(found, Refused):
        return found.message
    text = as_text(found.result)
    return with_notes(text, found) if isinstance(found, Ran) else text
