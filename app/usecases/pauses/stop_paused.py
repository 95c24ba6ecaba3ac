"""Stop what people have paused: the calls before they are judged, and approvals where they would be handed out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import PausedError
from app.domain.trail.audit import Kind, Record
from app.storage.sessions.switches import list_switches
from app.usecases.pauses.pauses import PAUSED, first_binding, pauses_of, scope_of, told
from app.usecases.sessions.lineage import names_above

if TYPE_CHECKING:
    from app.domain.call.submission import Submission
    from app.domain.call.switch import Switch
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx


def pause_shown(tx: Tx, request: ConfirmationRequest) -> Switch | None:
    """Return the pause of which a pending request's card tells; what may run is asked of `KnownOnRow`."""
    pauses = () if request.status.final else pauses_of(list_switches(tx))
    return first_binding(pauses, agents_shown(tx, request), request.call.tool) if pauses else None


def agents_shown(tx: Tx, request: ConfirmationRequest) -> tuple[str, ...]:
    """Return a request's agent, and those above its session."""
    call = request.call
    return (call.agent, *(names_above(tx, call.agent, call.session) if call.session is not None else ()))


def claim_refused(tx: Tx, request: ConfirmationRequest, pause: Switch, *, by: str) -> PausedError:
    """Say in the trail that an approval was not handed out, and return the refusal; the approval stays as it is."""
    call = request.call
    facts = _facts(pause) | {"tool": call.tool, "session": call.session, "call_id": call.call_id}
    tx.append(Record(kind=Kind.REFUSED, actor=by, facts=facts), request_id=request.id)
    return PausedError(f"{told(pause)} The approval stands until it lapses.", state=request.state.value)


def call_refused(submission: Submission, pause: Switch) -> Record:
    """Tell the trail of a call that was refused before anything judged it; its arguments were not looked at."""
    facts = _facts(pause) | {
        "tool": submission.tool,
        "session": submission.session,
        "call_id": submission.call_id,
        "requester": submission.requester,
    }
    return Record(kind=Kind.REFUSED, actor=f"agent:{submission.agent}", facts=facts)


def _facts(pause: Switch) -> dict[str, object]:
    return {"rule": PAUSED, "paused": scope_of(pause), "reason": told(pause), "by": pause.set_by}
