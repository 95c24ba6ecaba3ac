"""What the file says about payments of the whole org: `payments`, every key of which may be left out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.call.name_pattern import NamePattern
from app.domain.request.caution import CautionKind
from app.domain.rules.spending import Budget, PaymentTerms, Per
from app.policies.marks.entries import read_entry
from app.policies.marks.faults import near
from app.policies.marks.name_words import ID
from app.policies.marks.spans import span_within
from app.policies.marks.surroundings import CALENDAR
from app.policies.models.amount_models import Sums
from app.policies.models.file_models import Pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.text.canonical import JsonValue
    from app.policies.marks.surroundings import Surroundings
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_KEY = "payments"
_LONGEST = timedelta(days=366)
_DEFAULTS = PaymentTerms()


class PaymentsEntry(BaseModel):
    """The section. Budgets are read on their own, so that every fault of theirs has its line."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    duplicates: Annotated[
        timedelta, BeforeValidator(span_within(timedelta(0), _LONGEST, "366d at most; 0s switches it off"))
    ] = _DEFAULTS.duplicates
    step_up: list[Literal["first_payee", "new_account", "off_hours", "over_budget"]] | None = None
    budgets: list[Any] = Field(default=[], max_length=50)


class BudgetEntry(BaseModel):
    """``{id: agent-day, per: agent, within: 1d, limit: {CNY: 20000}, count: 10, counts: unasked}``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    id: Annotated[str, Field(pattern=ID)]
    per: Annotated[Per, Field(strict=False)]
    within: Annotated[timedelta, BeforeValidator(span_within(timedelta(minutes=1), _LONGEST, "from 1m to 366d"))]
    limit: Sums | None = None
    count: int | None = Field(default=None, ge=1, le=100_000)
    tools: list[Pattern] | None = Field(default=None, min_length=1)
    counts: Literal["all", "unasked"] = "all"


_KEYS = (*PaymentsEntry.model_fields,)
_INSTEAD: dict[str, JsonValue] = {"per": "agent", "within": "1d", "limit": {"CNY": 1}, "count": 1}


def read_payments(marked: MarkedYaml, around: Surroundings) -> PaymentTerms:
    """Return what the file says; what it leaves out, and what is at fault (every fault is noted), has its default."""
    raw = marked.value.get(_KEY) if isinstance(marked.value, dict) else None
    entry = read_entry(marked, (_KEY,), raw, PaymentsEntry, apart=_KEYS) if raw is not None else None
    if entry is None:
        return _DEFAULTS
    step_up = _DEFAULTS.step_up
    if entry.step_up is not None:
        step_up = frozenset(map(CautionKind, entry.step_up))
        _refuse_step_up(marked, (_KEY, "step_up"), entry.step_up, around)
    seen: dict[str, int] = {}
    budgets: list[Budget] = []
    for index, each in enumerate(entry.budgets):
        budget = _budget(marked, (_KEY, "budgets", index), each, around, seen)
        if budget is not None:
            budgets.append(budget)
    return PaymentTerms(budgets=tuple(budgets), duplicates=entry.duplicates, step_up=step_up)


def _refuse_step_up(marked: MarkedYaml, path: Path, kinds: Sequence[str], around: Surroundings) -> None:
    for index, kind in enumerate(kinds):
        if kind in kinds[:index]:
            marked.report((*path, index), f'"{kind}" again')
        elif kind == CautionKind.OFF_HOURS and around.hours is None:
            marked.report((*path, index), f'"{kind}" means nothing without a "calendar"', CALENDAR)


def _budget(
    marked: MarkedYaml, path: Path, raw: JsonValue, around: Surroundings, seen: dict[str, int]
) -> Budget | None:
    entry = read_entry(marked, path, raw, BudgetEntry, apart=("tools", "counts"), instead=_INSTEAD)
    if entry is None:
        return None
    if entry.id in seen:
        marked.report((*path, "id"), f'the id "{entry.id}" again (first on line {seen[entry.id]})')
    seen.setdefault(entry.id, marked.mark(path).line)
    if entry.limit is None and entry.count is None:
        marked.report(path, 'has neither "limit" nor "count": nothing would ever be above it')
    tools = tuple(map(NamePattern, entry.tools or ()))
    for index, pattern in enumerate(tools):
        _refuse_uncounted(marked, (*path, "tools", index), pattern, around)
    if not tools and not any(tool.payment for tool in around.tools.values()):
        mend = "add to a tool: payment: {amount: …, currency: …, payee: …}"
        marked.report(path, 'counts nothing: no tool has a "payment"', mend)
    return Budget(
        id=entry.id,
        per=entry.per,
        within=entry.within,
        limit=entry.limit,
        count=entry.count,
        tools=tools,
        unasked_only=entry.counts == "unasked",
    )


def _refuse_uncounted(marked: MarkedYaml, path: Path, pattern: NamePattern, around: Surroundings) -> None:
    if not pattern.is_glob and pattern.text not in around.tools:
        hint = near(pattern.text, around.tools, what="tools")
        marked.report(path, f'unknown tool "{pattern.text}"', hint)
    elif not any(tool.payment for tool in around.named([pattern])):
        why = f'counts nothing: "{pattern.text}" has no "payment"'
        marked.report(path, why, "add to the tool: payment: {amount: …, currency: …, payee: …}")
