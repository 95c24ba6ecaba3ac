"""Calls that wait while their run does not: what a framework keeps of one, and when the run can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assent.client.errors import AssentError
from assent.client.log import warn
from assent.client.messages import RefusalCode
from assent.client.models import State
from assent.gate.outcomes import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assent.client.gateway import AsyncGateway
    from assent.gate.outcomes import Ran, Replayed
    from assent.gate.suspended import SuspendedCall

_NOT_YET = frozenset({RefusalCode.STILL_PENDING, RefusalCode.LEFT_TO_EXECUTOR})
_OURS = "assent"


def as_metadata(suspended: SuspendedCall) -> dict[str, Any]:
    """What a framework keeps beside a call that waits. It allows nothing: the gateway is asked again."""
    return {_OURS: suspended.as_json(), "request_id": suspended.request_id}


def is_ours(kept: object) -> bool:
    """Whether that is one of ours."""
    return isinstance(kept, dict) and _OURS in kept


def is_waiting(found: Ran | Replayed | Refused) -> bool:
    """Whether a suspended call that was finished has to wait on."""
    return isinstance(found, Refused) and found.code in _NOT_YET


async def all_decided(gateway: AsyncGateway, waiting: Iterable[Mapping[str, Any]]) -> bool:
    """Whether people have decided every one of these calls."""
    for each in waiting:
        if not await is_decided(gateway, each["request_id"]):
            return False
    return True


async def is_decided(gateway: AsyncGateway, request_id: str) -> bool:
    """Whether people have decided a request."""
    return (await gateway.get(request_id)).state is not State.PENDING


async def withdraw(gateway: AsyncGateway, request_id: str, reason: str) -> None:
    """Take a request back, so that nobody approves what does not run; a fault is logged."""
    try:
        request = await gateway.get(request_id)
        if request.state is State.PENDING:
            await gateway.cancel(request, reason=reason)
    except AssentError as fault:
        warn("request %s could not be withdrawn: %s", request_id, fault)
