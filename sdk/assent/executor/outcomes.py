"""What an executor reports of a call, and what it finds out afterwards by asking the tool; nothing here runs one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assent.client.models import OutcomeStatus, State, parse_object
from assent.executor.tools import ToolFailed, ToolSucceeded, ToolUnknown
from assent.gate.aftermath import ToolElsewhere
from assent.gate.outcomes import kept

if TYPE_CHECKING:
    from assent.client.gateway import AsyncGateway
    from assent.client.models import Elsewhere, Request
    from assent.executor.tools import Found, Tool, ToolOutcome

UNCERTAIN = frozenset({State.UNKNOWN, State.PENDING_ELSEWHERE})
"""States in which the tool is asked what became of it, and never run."""
_CLEAR = ToolSucceeded | ToolFailed | ToolElsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An outcome in the gateway's words."""

    status: OutcomeStatus
    result: Any = None
    error: str | None = None
    elsewhere: Elsewhere | None = None

    @property
    def simpler(self) -> Said | None:
        """What is left to be said when the gateway does not take this; None: nothing.

        A value may be not to its taste, and a gateway of before knows nothing of waiting elsewhere.
        """
        if self.elsewhere is not None:
            told = f"the service asks its own people, as {self.elsewhere.id}"
            return Said(status=OutcomeStatus.UNKNOWN, error=told)
        return None if self.result is None else Said(status=self.status, error=self.error)


def said_of(outcome: ToolOutcome) -> Said:
    """Say an outcome in the gateway's words."""
    match outcome:
        case ToolSucceeded(result=result):
            return Said(status=OutcomeStatus.SUCCEEDED, result=kept(result))
        case ToolFailed(error=error):
            return Said(status=OutcomeStatus.FAILED, error=error)
        case ToolElsewhere(place=place) if place is not None:
            return Said(status=OutcomeStatus.PENDING_ELSEWHERE, elsewhere=place)
        case ToolUnknown(why=why):
            return Said(status=OutcomeStatus.UNKNOWN, error=why)
        case ToolElsewhere():
            return Said(status=OutcomeStatus.UNKNOWN, error=str(outcome))


async def looked_up(gateway: AsyncGateway, request: Request, tool: Tool) -> ToolOutcome:
    """Settle an uncertain outcome by what the tool knows of it. That it knows nothing proves nothing.

    What waits elsewhere is asked about under the service's own id; its key, as long as that lasts, is the other way.
    Raises `GatewayError`.
    """
    execution, place = request.execution, request.execution.elsewhere if request.execution else None
    key = parse_object(request.raw.get("grant"), "'grant'").get("id")
    found: Found | ToolUnknown | None = None
    evidence = f"the tool's own record under the idempotency key {key}"
    if place is not None:
        found = await tool.look_up_elsewhere(place.id)
        evidence = (
            evidence if found is None or isinstance(found, ToolUnknown) else f"the service's own record of {place.id}"
        )
    if (found is None or isinstance(found, ToolUnknown)) and isinstance(key, str) and execution is not None:
        ahead = gateway.seconds_to(execution.started_at)
        found = await tool.look_up(key, age=None if ahead is None else -ahead)
    if not isinstance(found, _CLEAR):
        none = "the tool has no record of it" if tool.looks_up else "the tool cannot be asked"
        return _still(place) or found or ToolUnknown(why=none)
    if isinstance(found, ToolElsewhere) and place is not None:
        return _still(place) or found
    told = said_of(found)
    await gateway.reconcile(
        request, told.status, note=evidence, result=told.result, error=told.error, elsewhere=told.elsewhere
    )
    return found


def _still(place: Elsewhere | None) -> ToolElsewhere | None:
    return None if place is None else ToolElsewhere(place.id, place.link)
