"""What the rules answer one tool call: allow, deny or ask, by which rule, and what became of each on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.domain.rules.rule import Asking, TraceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    rule_id: str
    reason: str  # one sentence
    policy_version: str
    trace: tuple[TraceStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow(_Answer):
    """The call may go ahead. `record` is False where the file wants no trail of such calls.

    `otherwise` is whom to ask where something still speaks against it (a budget that is used up, a payee who was never
    paid); None: nobody, and then the answer is no.
    """

    record: bool
    otherwise: Asking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny(_Answer):
    """The call may not go ahead. `unproven`: the rule takes a proof of who asked, and there was none."""

    record: bool
    unproven: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(_Answer):
    """People decide."""

    asking: Asking


Ruling = Allow | Deny | Ask
