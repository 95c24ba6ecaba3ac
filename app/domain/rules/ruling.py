"""What the rules answer one tool call: allow, deny or ask, by which rule, and what became of each on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from app.domain.rules.rule import Asking


class TraceStep(NamedTuple):
    """What became of one rule. `values` is what its condition named, with sensitive arguments hidden.

    A tuple, because a call may be held against hundreds of rules and each leaves one of these.
    """

    rule_id: str
    matched: bool
    why: str
    values: tuple[tuple[str, str], ...] = ()
    tier: int | None = None  # which tier of the rule answered, from 1


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
    """The call may not go ahead."""

    record: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(_Answer):
    """People decide."""

    asking: Asking


Ruling = Allow | Deny | Ask
