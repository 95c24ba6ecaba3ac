"""Permissions given beforehand: standing approvals for narrow, repeated calls, and break-glass for an emergency.

Both are made by two people, say in a sentence what they allow before they hold, end by themselves, and can be revoked
at once. Neither is ever made by an agent, and neither is offered on a card. A third kind, for a session, is made by one
approver where the file lets one: `session_approval.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from app.domain.call.name_pattern import NamePattern
from app.domain.money.payment import plain, totals
from app.domain.text.canonical import JsonValue, digest
from app.domain.text.language import Language
from app.domain.text.masking import masked
from app.domain.text.paths import list_values, text_of, values_at
from app.domain.words.span_text import span_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from app.domain.call.tool import Tool
    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import Payment

BY_RULE = "rule:"
"""How the name begins of what confirmed a standing approval that one approver made for a session."""

WHOLE = ""
"""The path that stands for all arguments together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingTerms:
    """What a rule permits standing approvals of its calls at most. `same` are arguments that must stay as they were."""

    lasts: timedelta
    uses: int
    each: Mapping[str, Decimal] = field(hash=False)  # by currency
    total: Mapping[str, Decimal] = field(hash=False)  # by currency
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How often a broken glass may be used, and how much may be paid under it, by currency; in others nothing."""

    uses: int
    each: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal], hash=False)
    total: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal], hash=False)

    def hold(self, payments: Sequence[Payment], *, used: int, spent: Mapping[str, Decimal]) -> bool:
        """Say whether a call with these payments is within them, as the `used`-th, with all that is `spent` by then."""
        return (
            used <= self.uses
            and all(payment.amount <= self.each.get(payment.currency, -1) for payment in payments)
            and all(spent.get(code, Decimal(0)) <= self.total.get(code, -1) for code in totals(payments))
        )


class GlassTerms(Struct, frozen=True, kw_only=True):
    """The file's `break_glass`: who may break it (two of `of`), for how long and how much at most, for which tools.

    Somebody of `review` who was neither of the two looks at what was done.
    """

    of: tuple[str, ...]
    lasts: timedelta
    review: tuple[str, ...]
    bounds: Bounds
    tools: tuple[NamePattern, ...] = ()
    channels: tuple[str, ...] = ()  # where everybody is told; none: those of the file's `ask`

    def names(self, tool: str) -> bool:
        """Say whether the glass may be broken for a tool. No `tools` means every tool."""
        return not self.tools or any(pattern.matches(tool) for pattern in self.tools)


class PermitKind(StrEnum):
    """Which of the two."""

    STANDING = "standing"
    BREAK_GLASS = "break_glass"


class PermitStatus(StrEnum):
    """Where one stands. What is past its end is not in force, whatever this says."""

    PROPOSED = "proposed"  # nothing holds yet
    ACTIVE = "active"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """One of them as it stands. `digest` names its id and its scope: it is what the second person confirms."""

    id: str
    kind: PermitKind
    status: PermitStatus
    scope: Mapping[str, JsonValue] = field(hash=False)
    digest: str
    reason: str
    proposed_by: str
    proposed_at: datetime
    expires_at: datetime
    confirmed_by: str | None = None
    confirmed_at: datetime | None = None
    revoked_by: str | None = None
    revoked_at: datetime | None = None
    reviewed_by: str | None = None
    reviewed_at: datetime | None = None
    review: str | None = None
    used: int = 0
    last_used_at: datetime | None = None
    spent: Mapping[str, Decimal] | None = field(default_factory=dict[str, Decimal], hash=False)
    """What was paid under it, by currency; None: its row is of before it said so."""
    is_sealed: bool = True
    """Whether its row is as a gateway has sealed it last. One that is not permits nothing; it may still be ended."""

    @property
    def paid(self) -> Mapping[str, Decimal]:
        """What was paid under it so far. Raises ValueError where nobody has summed it up: that is not nothing."""
        if self.spent is None:
            raise ValueError("what was paid under it was not looked up")
        return self.spent

    def used_for(self, payments: Sequence[Payment], now: datetime) -> Permit:
        """Return it as it stands after one more call, with what that pays."""
        sums = totals(payments)
        spent = {**self.paid, **{code: self.paid.get(code, Decimal(0)) + amount for code, amount in sums.items()}}
        return replace(self, used=self.used + 1, last_used_at=now, spent=spent)

    def told_spent(self) -> dict[str, object]:
        """Return what the trail is told of what was paid under it, this use included."""
        if self.spent is None:
            return {}
        return {"spent": {code: plain(amount) for code, amount in sorted(self.spent.items())}}

    def in_force(self, now: datetime) -> bool:
        """Say whether it stands at `now`: sealed, confirmed by a second person (or role), not revoked, not over."""
        return (
            self.is_sealed
            and self.status is PermitStatus.ACTIVE
            and self.confirmed_by not in {None, self.proposed_by}
            and now < self.expires_at
        )

    def state(self, now: datetime) -> str:
        """Return the one word for people: proposed, active, used up, ended, revoked, unreadable."""
        if self.status is PermitStatus.REVOKED:
            return "ended" if self.revoked_by == "system" else "revoked"
        if now >= self.expires_at:
            return "ended"
        if not self.is_sealed:
            return "unreadable"
        if self.kind is PermitKind.STANDING and self.used >= StandingScope.read(self.scope).uses:
            return "used up"
        return self.status.value

    @property
    def for_session(self) -> bool:
        """Whether one approver made it for a session: confirmed by a rule of the file, and of a scope of that kind.

        To a gateway that knows of no such thing it is a standing approval whose second person is nobody it knows: it
        lets nothing pass.
        """
        of_rule = self.confirmed_by is not None and self.confirmed_by.startswith(BY_RULE)
        return self.kind is PermitKind.STANDING and of_rule and "fixed" in self.scope

    @property
    def people(self) -> tuple[str, ...]:
        """Those who made it: two, or one for a session, which the file's author has confirmed beforehand."""
        if self.for_session:
            return (self.proposed_by,)
        return (self.proposed_by, *([self.confirmed_by] if self.confirmed_by else []))


class Kept(Struct, frozen=True, kw_only=True):
    """The values that stood at one path: their digest to compare, and as people may read them."""

    digest: str
    shown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingScope:
    """What one standing approval allows. `session` None: in any session; `same` by dotted path."""

    request: str  # the approved request on which it was made
    rule: str
    agent: str
    tool: str
    session: str | None
    same: Mapping[str, Kept] = field(hash=False)
    each: Mapping[str, Decimal] = field(hash=False)
    total: Mapping[str, Decimal] = field(hash=False)
    uses: int
    until: datetime

    def written(self) -> dict[str, JsonValue]:
        """Return it as it is stored and bound by its digest."""
        return {
            "request": self.request,
            "rule": self.rule,
            "agent": self.agent,
            "tool": self.tool,
            "session": self.session,
            "same": {path: {"digest": kept.digest, "shown": kept.shown} for path, kept in self.same.items()},
            "each": {currency: plain(amount) for currency, amount in sorted(self.each.items())},
            "total": {currency: plain(amount) for currency, amount in sorted(self.total.items())},
            "uses": self.uses,
            "until": self.until.isoformat(),
        }

    @classmethod
    def read(cls, stored: Mapping[str, JsonValue]) -> StandingScope:
        """Read it back. Raises KeyError, TypeError or ValueError for what is no scope."""
        said = cast("Mapping[str, object]", stored)
        same = cast("Mapping[str, Mapping[str, str]]", said["same"])
        return cls(
            request=str(said["request"]),
            rule=str(said["rule"]),
            agent=str(said["agent"]),
            tool=str(said["tool"]),
            session=cast("str | None", said["session"]),
            same={path: Kept(digest=kept["digest"], shown=kept["shown"]) for path, kept in same.items()},
            each=_amounts(said["each"]),
            total=_amounts(said["total"]),
            uses=cast("int", said["uses"]),
            until=datetime.fromisoformat(str(said["until"])),
        )

    def matches(self, call: ToolCall) -> bool:
        """Say whether a call is of the kind that was approved: one name, one agent, the same values where they count.

        Nothing stands for another name: no wrapper, no pattern, no value of another type.
        """
        return (
            self.agent == call.agent
            and self.tool == call.tool
            and (self.session is None or self.session == call.session)
            and bool(self.same)
            and all(_digest_at(call, path) == kept.digest for path, kept in self.same.items())
        )

    def leaves_room(self, payments: Sequence[Payment], *, used: int, spent: Mapping[str, Decimal]) -> bool:
        """Say whether one more call with these payments is within what may be used and spent."""
        sums = totals(payments)
        return (
            used < self.uses
            and all(payment.amount <= self.each.get(payment.currency, -1) for payment in payments)
            and all(spent.get(code, Decimal(0)) + more <= self.total.get(code, -1) for code, more in sums.items())
        )

    def beyond(self, terms: StandingTerms, tool: Tool, *, made_at: datetime) -> str | None:
        """Say in what it is wider than what the rule permits; None: it is within."""
        lacking = sorted(set(same_paths(terms, tool)) - set(self.same))
        if lacking:
            return f"{', '.join(lacking)} must stay the same"
        if not 0 < self.uses <= terms.uses:
            return f"uses must be 1 to {terms.uses}"
        if not made_at < self.until <= made_at + terms.lasts:
            return f"it must end within {span_text(terms.lasts, Language.EN)} of being proposed"
        if tool.payment is None:
            return "each and total are of payments: this tool pays nothing" if self.each or self.total else None
        if not self.each or set(self.each) != set(self.total):
            return "each and total must name the same currencies, one at least"
        for code, amount in self.each.items():
            if not 0 < amount <= terms.each.get(code, -1):
                return _at_most("each", code, terms.each)
            if not amount <= self.total[code] <= terms.total.get(code, -1):
                return _at_most("total", code, terms.total)
        return None


class GlassScope(Struct, frozen=True, kw_only=True):
    """What one broken glass allows: calls of these tools, of one agent or of all, for some minutes, within bounds.

    `factor`: both of the two have shown a second factor, so that it also covers what takes one. One from before there
    were `bounds` has none, and allows nothing any more.
    """

    tools: tuple[str, ...]
    agent: str | None
    minutes: int
    bounds: Bounds | None
    factor: bool = False

    def written(self) -> dict[str, JsonValue]:
        """Return it as it is stored and bound by its digest."""
        said: dict[str, JsonValue] = {"tools": list(self.tools), "agent": self.agent, "minutes": self.minutes}
        if self.bounds is None:
            return said
        return {
            **said,
            "factor": self.factor,
            "uses": self.bounds.uses,
            "each": {currency: plain(amount) for currency, amount in self.bounds.each.items()},
            "total": {currency: plain(amount) for currency, amount in self.bounds.total.items()},
        }

    @classmethod
    def read(cls, stored: Mapping[str, JsonValue]) -> GlassScope:
        """Read it back. Raises KeyError, TypeError, ValueError or ArithmeticError for what is no scope."""
        said = cast("Mapping[str, object]", stored)
        return cls(
            tools=tuple(cast("list[str]", said["tools"])),
            agent=cast("str | None", said["agent"]),
            minutes=cast("int", said["minutes"]),
            bounds=Bounds(uses=cast("int", said["uses"]), each=_amounts(said["each"]), total=_amounts(said["total"]))
            if "uses" in said
            else None,
            factor=said.get("factor") is True,
        )

    def matches(self, call: ToolCall, terms: GlassTerms) -> bool:
        """Say whether a call is within it, and within what the file of today lets people break the glass for."""
        named = any(NamePattern(text).matches(call.tool) for text in self.tools)
        return named and terms.names(call.tool) and self.agent in {None, call.agent}


def same_paths(terms: StandingTerms, tool: Tool) -> tuple[str, ...]:
    """Return the arguments that must stay as they were: what the rule names, and payee and account of every payment.

    Where that is nothing, all of them must: a standing approval is never of whatever a tool is called with.
    """
    pays = tool.payment
    of_payment = [path for path in (pays.payee, pays.account) if path is not None] if pays else []
    return tuple(dict.fromkeys((*terms.same, *of_payment))) or (WHOLE,)


def kept(call: ToolCall, paths: Sequence[str], sensitive: Sequence[str]) -> dict[str, Kept]:
    """Return what a call says at these paths, to hold later calls against; sensitive values are masked where shown."""
    open_to_all = masked(call.arguments, sensitive)
    return {path: Kept(digest=_digest_at(call, path), shown=_shown(open_to_all, path)) for path in paths}


def permit_digest(permit_id: str, org: str, kind: PermitKind, scope: Mapping[str, JsonValue], reason: str) -> str:
    """Name exactly what is confirmed."""
    return digest({"id": permit_id, "org": org, "kind": kind.value, "scope": dict(scope), "reason": reason})


def _digest_at(call: ToolCall, path: str) -> str:
    if path == WHOLE:
        return digest(dict(call.arguments))
    return digest([[at, value] for at, value in values_at(call.arguments, path)])


def _shown(arguments: Mapping[str, JsonValue], path: str) -> str:
    if path == WHOLE:
        return text_of(dict(arguments))
    return ", ".join(text_of(value) for value in list_values(arguments, path)) or "–"


def _amounts(said: object) -> dict[str, Decimal]:
    return {currency: Decimal(text) for currency, text in cast("Mapping[str, str]", said).items()}


def _at_most(what: str, code: str, limits: Mapping[str, Decimal]) -> str:
    known = ", ".join(f"{currency} {plain(amount)}" for currency, amount in sorted(limits.items()))
    return f"{what} in {code} is more than the rule permits, or less than nothing: at most {known or 'none'}"
