"""Reporting an outcome, also through a long absence of the gateway; nothing here runs a tool."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from assent.client.errors import CallRefusedError, GatewayAwayError, GatewayError
from assent.executor.outcomes import said_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.client.gateway import AsyncGateway
    from assent.client.models import Claimed, Request
    from assent.executor.tools import ToolOutcome

_log = logging.getLogger("assent")
_REPORTING = 3600.0  # seconds for which an outcome is tried to be reported while the gateway is away


async def reported(
    gateway: AsyncGateway, claimed: Claimed, outcome: ToolOutcome, *, stops: Callable[[], bool]
) -> Request | None:
    """Report an outcome, again and again unless the executor `stops`; None where that was in vain."""
    told = said_of(outcome)
    until = gateway.pace.monotonic() + _REPORTING
    while True:
        try:
            return await gateway.report(
                claimed.request_id,
                claimed.claim_id,
                told.status,
                result=told.result,
                error=told.error,
                elsewhere=told.elsewhere,
            )
        except CallRefusedError:  # the value was not to the gateway's taste; the outcome matters more
            if told.simpler is None:
                return None
            told = told.simpler
        except GatewayError as fault:
            away = isinstance(fault, GatewayAwayError)
            _log.warning("request %s: its outcome could not be reported: %s", claimed.request_id, fault)
            if not away or stops() or gateway.pace.monotonic() >= until:
                return None
