"""How long what is over is kept: the file's `retention`, every key of which may be left out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from app.domain.rules.attention import LOOK_BACK
from app.domain.trail.retention import Retention
from app.policies.marks.entries import read_entry
from app.policies.marks.spans import span_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.rules.attention import Attention
    from app.domain.rules.spending import PaymentTerms
    from app.policies.marks.yaml_marks import MarkedYaml

_KEY = "retention"
_DAY = timedelta(days=1)
_LONGEST = timedelta(days=36_500)
_DEFAULTS = Retention()


def _kept(least: timedelta) -> BeforeValidator:
    return BeforeValidator(span_within(least, _LONGEST, f"from {_told(least)} to 36500d"))


def _told(span: timedelta) -> str:
    """Write a span as the file does."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if span.total_seconds() % length == 0:
            return f"{int(span.total_seconds()) // length}{unit}"
    return f"{int(span.total_seconds())}s"


class RetentionEntry(BaseModel):
    """The section: ``{requests: 400d, deliveries: 90d, outbox: 30d, trail: 730d, deduplication: 24h}``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    requests: Annotated[timedelta, _kept(_DAY)] | None = None
    deliveries: Annotated[timedelta, _kept(LOOK_BACK)] | None = None  # by them it is seen who approves unread
    outbox: Annotated[timedelta, _kept(_DAY)] | None = None
    trail: Annotated[timedelta, _kept(_DAY)] | None = None
    deduplication: Annotated[timedelta, _kept(_DEFAULTS.deduplication)] = _DEFAULTS.deduplication


def read_retention(marked: MarkedYaml, attention: Attention, payments: PaymentTerms) -> Retention:
    """Return what the file says; what it leaves out, and what is at fault (every fault is noted), has its default.

    No row goes while something of the file still looks back at it.
    """
    raw = marked.value.get(_KEY) if isinstance(marked.value, dict) else None
    entry = (
        read_entry(marked, (_KEY,), raw, RetentionEntry, apart=("deliveries", "outbox", "deduplication"))
        if raw is not None
        else None
    )
    if entry is None:
        return _DEFAULTS
    if entry.requests is not None:
        for name, span in _looks_back(entry, attention, payments):
            if entry.requests < span:
                short = f"is shorter than {name}, which looks back at requests of {_told(span)}"
                marked.report((_KEY, "requests"), short, f"write {_told(span)} or more")
                break
    if entry.trail is not None and entry.requests is None:
        marked.report((_KEY, "trail"), "needs requests beside it", "no event goes while the rows of its request stand")
    elif entry.trail is not None and entry.requests is not None and entry.trail < entry.requests:
        short = f"is shorter than requests ({_told(entry.requests)}), and no event goes before the rows of its request"
        marked.report((_KEY, "trail"), short, f"write {_told(entry.requests)} or more")
    return Retention(
        requests=entry.requests,
        deliveries=entry.deliveries,
        outbox=entry.outbox,
        trail=entry.trail,
        deduplication=entry.deduplication,
    )


def _looks_back(entry: RetentionEntry, attention: Attention, payments: PaymentTerms) -> Iterator[tuple[str, timedelta]]:
    """Yield what looks back at requests that are over, and how far, the farthest first."""
    spans = {
        f"{_KEY}.deduplication": entry.deduplication,
        "the week in which it is seen who approves unread": LOOK_BACK,
        "attention.cool_down": attention.cool_down,
        "attention.remember_denials": attention.remember_denials,
        "payments.duplicates": payments.duplicates,
        **{f"the budget {budget.id}": budget.within for budget in payments.budgets},
    }
    yield from sorted(spans.items(), key=lambda each: each[1], reverse=True)
