"""Ask anew whether today's rules would still let a call run: where it is about to, and where it would be approved.

Of calls about which nobody was asked, always; of those that people approved, when the file has changed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.call.tool import checked
from app.domain.errors import AssentError
from app.domain.request.quorum import met, stages_at
from app.domain.rules.policy import Allow, Ask, Deny, rulings_of, tools_of
from app.domain.rules.strictest import strictest
from app.usecases.permits.permit_before import still_permits
from app.usecases.sessions.lineage import agents_now
from app.usecases.voters.electorate import voters_of
from app.usecases.voters.wider import are_wider

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Ruling
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.transaction import Tx
    from app.usecases.hooks.known_call import KnownOnRow

BEHIND_AN_EXECUTOR = "this tool runs behind an executor by now; ask again"
"""Why its agent may not run what was approved for it."""

_STANDING = "standing:"


def why_not_allowed(tx: Tx, known: KnownOnRow, request: ConfirmationRequest, *, now: datetime) -> str | None:
    """Return, in a sentence, why a call that a rule or a standing approval let through is not let through any more."""
    found = _ruling_today(known.loaded, known.agents(), request, now=now)
    if isinstance(found, str):
        return found
    ruling, wished = found
    by = request.allowed_by or ""
    if by.startswith(_STANDING):
        policy = known.loaded.policy
        permitted = still_permits(tx, by.removeprefix(_STANDING), request.call, ruling, policy, now=now, wished=wished)
        what = "broken glass" if request.by_broken_glass else "standing approval"
        return None if permitted else f"the {what} that let this through holds no longer; ask again"
    if isinstance(ruling, Allow) and not wished:
        return None
    return "no rule of today's configuration lets this through without people; ask again"


def why_not_approved(
    loaded: LoadedPolicy, agents: tuple[str, ...] | AssentError, request: ConfirmationRequest, *, now: datetime
) -> str | None:
    """Return, in a sentence, why today's rules do not approve what people approved; None: they do.

    `agents` are those whose rules bind the call (`agents_now`).
    Only where the file has changed since is there something to ask.
    The rules look at the call as of when it was asked: that it is night by now changes nothing.
    """
    policy = loaded.policy
    found = _ruling_today(loaded, agents, request, now=request.created_at)
    if isinstance(found, str):
        return found
    match found[0]:
        case Deny():
            return "today's rules deny it"
        case Allow():
            return None
        case Ask(asking=asking):
            level = max(asking.assurance, request.assurance)
            own = tuple(stage for stage in request.stages if stage.added_by is None)
            stages = own if are_wider(own, asking.stages) else stages_at(asking.stages, level)
            voters = voters_of(request, policy, now=now, stages=stages)
            return None if met(stages, request.decisions, voters, level) else "today's rules ask for more; ask again"


def why_never_claimed(tx: Tx, approved: ConfirmationRequest, loaded: LoadedPolicy, *, now: datetime) -> str | None:
    """Return, in a sentence, why no claim would hand out what has just been approved, or would be; None: it would.

    Only where the file has changed since it was asked is there something to ask.
    """
    if not approved.enforced and loaded.policy.is_enforced(approved.call.tool):
        return BEHIND_AN_EXECUTOR
    return why_not_approved(loaded, agents_now(tx, loaded, approved.call), approved, now=now)


def _ruling_today(
    loaded: LoadedPolicy, agents: tuple[str, ...] | AssentError, request: ConfirmationRequest, *, now: datetime
) -> tuple[Ruling, bool] | str:
    """Judge a call by today's file; also say whether that wants people to be asked. A text: it cannot be judged."""
    call = request.call
    if isinstance(agents, AssentError):
        return f"who is above this session cannot be told ({agents}); ask again"
    try:
        tools = tools_of(loaded.policy, call.tool)
        checked(tools, dict(call.arguments))
    except AssentError as error:
        return f"today's configuration does not take this call ({error}); ask again"
    own, *found = [
        (name, ruling) for name in agents for _, ruling in rulings_of(loaded.policy, replace(call, agent=name), now=now)
    ]
    wished = loaded.policy.whole_tool(call.tool).requires_confirmation or any(
        settings.confirm_all_tools for name in agents if (settings := loaded.agents.get(name)) is not None
    )
    return strictest(own[1], found), wished
