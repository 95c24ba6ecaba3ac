"""What cautions make of a ruling: nobody is allowed something by itself that should be looked at, and more is taken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.domain.request.quorum import stages_at
from app.domain.rules.policy import Allow, Ask, Deny, ask_or_deny

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.request.caution import Caution
    from app.domain.rules.policy import Policy, Ruling
    from app.domain.rules.rule import Asking


def raised(ruling: Ruling, cautions: Sequence[Caution], policy: Policy) -> Ruling:
    """Return the ruling with what the cautions add: an allow asks, an ask takes one level of assurance more.

    People are also as many as the level takes. Whom an allowed call would ask is said by its rule's next tier, or by
    the file's `ask`; where nobody is, the answer is no.
    """
    match ruling:
        case Deny():
            return ruling
        case Allow() if not cautions:
            return ruling
        case Allow():
            reason = f"{ruling.reason.removesuffix('.')}; but people are asked, because of the warnings."
            asked = ask_or_deny(policy, ruling.rule_id, reason, ruling.otherwise, ruling.trace)
            return replace(asked, asking=_peopled(asked.asking)) if isinstance(asked, Ask) else asked
        case Ask():
            asking = ruling.asking
            if any(caution.kind in policy.payments.step_up for caution in cautions):
                asking = replace(asking, assurance=asking.assurance.raised)
            return replace(ruling, asking=_peopled(asking))


def _peopled(asking: Asking) -> Asking:
    return replace(asking, stages=stages_at(asking.stages, asking.assurance))
