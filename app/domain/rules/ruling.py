"""What the rules answer one tool call: allow, deny or ask, by which rule, and what became of each on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from app.domain.rules.rule import Asking, TraceStep


class _Answer(Struct, frozen=True, kw_only=True):
    rule_id: str
    reason: str  # one sentence
    policy_version: str
    trace: tuple[TraceStep, ...]


class Allow(_Answer, frozen=True, kw_only=True):
    """The call may go ahead. `record` is False where the file wants no trail of such calls.

    `otherwise` is whom to ask where something still speaks against it (a budget that is used up, a payee who was never
    paid); None: nobody, and then the answer is no.
    """

    record: bool
    otherwise: Asking | None = None


class Deny(_Answer, frozen=True, kw_only=True):
    """The call may not go ahead. `unproven`: the rule takes a proof of who asked, and there was none."""

    record: bool
    unproven: bool = False


class Ask(_Answer, frozen=True, kw_only=True):
    """People decide."""

    asking: Asking


Ruling = Allow | Deny | Ask
