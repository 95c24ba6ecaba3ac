"""What one approver may allow for a session, beside approving a call: the same again, a few times, never more.

A standing approval takes a second person. This one takes a second *role*: the file of the rules, whose author lets an
approver of the rule do so, and says how often, how long and how much at most. Everything else is as narrow as the one
call that the approver has before them: its agent, its session, its tool, whom it was for, and every argument but those
that the file lets differ; of a payment the amount, which is never above the approved one, and its reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.domain.money.payment import plain
from app.domain.rules.permits import WHOLE, Kept, StandingScope, kept
from app.domain.text.canonical import JsonValue, digest
from app.domain.text.language import Language
from app.domain.text.masking import masked
from app.domain.text.paths import text_of
from app.domain.words.span_text import span_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta
    from decimal import Decimal

    from app.domain.call.tool import Tool
    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import Payment


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTerms:
    """What the file lets an approver allow at most. `differ` are arguments that need not stay as they were."""

    lasts: timedelta
    uses: int
    each: Mapping[str, Decimal] = field(hash=False)  # by currency
    differ: tuple[str, ...] = ()


class SessionScope(Struct, frozen=True, kw_only=True):
    """What one of them allows. `stands` is of this very session; `fixed` names all that must stay as it was."""

    stands: StandingScope
    differ: tuple[str, ...]
    fixed: str
    requester: str | None
    proved: bool  # whether an issuer said who the requester is

    def written(self) -> dict[str, JsonValue]:
        """Return it as it is stored and bound by its digest."""
        return {
            **self.stands.written(),
            "differ": list(self.differ),
            "fixed": self.fixed,
            "requester": self.requester,
            "proved": self.proved,
        }

    @classmethod
    def read(cls, stored: Mapping[str, JsonValue]) -> SessionScope:
        """Read it back. Raises KeyError, TypeError or ValueError for what is no scope."""
        return cls(
            stands=StandingScope.read(stored),
            differ=tuple(cast("list[str]", stored["differ"])),
            fixed=str(stored["fixed"]),
            requester=cast("str | None", stored["requester"]),
            proved=stored["proved"] is True,
        )

    def matches(self, call: ToolCall) -> bool:
        """Say whether a call is the approved one again, but for what may differ. A new argument is no such thing."""
        stands = self.stands
        return (
            stands.session is not None
            and (stands.agent, stands.tool, stands.session) == (call.agent, call.tool, call.session)
            and self.requester == call.requester
            and (call.proof is not None or not self.proved)
            and call.sub_agent is None
            and _fixed(call, self.differ) == self.fixed
        )

    def beyond(self, terms: SessionTerms, tool: Tool, *, made_at: datetime) -> str | None:
        """Say in what it is wider than what the file lets an approver allow; None: it is within."""
        stands = self.stands
        loose = sorted(set(self.differ) - set(may_differ(terms, tool)))
        if loose:
            return f"{', '.join(loose)} must stay the same"
        if not 0 < stands.uses <= terms.uses:
            return f"uses must be 1 to {terms.uses}"
        if not made_at < stands.until <= made_at + terms.lasts:
            return f"it must end within {span_text(terms.lasts, Language.EN)}"
        if (tool.payment is None) == bool(stands.each):
            return "what it pays is not what the tool pays"
        for code, amount in stands.each.items():
            if not 0 < amount <= terms.each.get(code, -1):
                return f"{plain(amount)} {code} is more than may be repeated in a session"
            if stands.total.get(code) != amount * stands.uses:
                return "what it allows in all is not what its uses add up to"
        return None


def may_differ(terms: SessionTerms, tool: Tool) -> tuple[str, ...]:
    """Return the arguments that need not stay as they were: what the file says, and a payment's amount and reference.

    Two payments of the same amount and reference are taken for a duplicate anyway, and asked about.
    """
    pays = tool.payment
    of_payment = [path for path in (pays.amount, pays.reference) if path is not None] if pays else []
    return tuple(dict.fromkeys((*of_payment, *terms.differ)))


def scope_for(
    request_id: str,
    call: ToolCall,
    payments: Sequence[Payment],
    tool: Tool,
    terms: SessionTerms,
    *,
    rule_id: str,
    until: datetime,
) -> SessionScope | None:
    """Return what would be allowed beside approving this call; None: nothing may be.

    A batch is never repeated: how its sum may be spread is more than one sentence says.
    """
    if call.session is None or call.sub_agent is not None or len(payments) > 1:
        return None
    if bool(payments) != (tool.payment is not None):
        return None
    each = {payment.currency: payment.amount for payment in payments}
    if any(amount > terms.each.get(code, -1) for code, amount in each.items()):
        return None
    differ = may_differ(terms, tool)
    return SessionScope(
        stands=StandingScope(
            request=request_id,
            rule=rule_id,
            agent=call.agent,
            tool=call.tool,
            session=call.session,
            same=_shown(call, tool, differ),
            each=each,
            total={code: amount * terms.uses for code, amount in each.items()},
            uses=terms.uses,
            until=until,
        ),
        differ=differ,
        fixed=_fixed(call, differ),
        requester=call.requester,
        proved=call.proof is not None,
    )


def _shown(call: ToolCall, tool: Tool, differ: Sequence[str]) -> dict[str, Kept]:
    """Return what its sentence says: whom it pays, or what the tool is called with; sensitive values are masked."""
    pays = tool.payment
    if pays is not None:
        return kept(call, (pays.payee,), tool.sensitive)
    shown = masked(masked(call.arguments, tool.sensitive), differ, by=lambda _: "…")
    return {WHOLE: Kept(digest=_fixed(call, differ), shown=text_of(shown))}


def _fixed(call: ToolCall, differ: Sequence[str]) -> str:
    """Name all arguments but the values that may differ: that there is one, and where, counts."""
    return digest(masked(call.arguments, differ, by=lambda _: None))
