"""What the readers of the API and the command line are warned of: the same as on cards and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.card.request_warnings import fewer, warning_sentence, warnings_of
from app.usecases.cards.compose import pause_told, terms_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.sessions.switches import Switch

MOST = 20
"""Warnings of how a text looks that one answer tells of: a hostile call could fill pages with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """One warning. `path` is the argument that it is about; its texts are visible, masked, and no markup."""

    kind: str
    path: str | None
    text: str
    values: Mapping[str, str]


def warned_of(request: ConfirmationRequest, policy: Policy, pause: Switch | None) -> tuple[Warned, ...]:
    """Return the warnings of a request in the language of the file. `pause` is what binds it now."""
    terms = terms_for(request, policy, policy.language)
    told = pause_told(pause, policy) if pause is not None else None
    return tuple(
        Warned(kind=each.kind.value, path=each.path, text=warning_sentence(each, terms), values=each.values)
        for each in fewer(warnings_of(request, terms, pause=told), most=MOST)
    )
