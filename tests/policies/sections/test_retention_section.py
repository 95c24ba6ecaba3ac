"""The file's `retention`: how long what is over is kept, and every fault with its place and its mend."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.trail.retention import Retention
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.requirements import requirement

DAY = timedelta(days=1)


def load(section: str, *more: str) -> Retention:
    text = "\n".join(["org: acme", "default: deny", *more, f"retention: {section}", ""])
    return load_policy(text, environ={}, channel_types={}).policy.retention


def faults(section: str, *more: str) -> str:
    with pytest.raises(PolicyFaultsError) as refused:
        load(section, *more)
    return "\n".join(map(str, refused.value.faults))


def test_a_file_that_says_nothing_keeps_everything() -> None:
    kept = load_policy("org: acme\ndefault: deny\n", environ={}, channel_types={}).policy.retention
    assert kept == Retention() == load("{}")
    assert (kept.requests, kept.deliveries, kept.outbox, kept.trail) == (None, None, None, None)


def test_each_kind_has_its_span() -> None:
    kept = load("{requests: 400d, deliveries: 90d, outbox: 30d, trail: 730d, deduplication: 72h}")
    assert kept == Retention(
        requests=400 * DAY, deliveries=90 * DAY, outbox=30 * DAY, trail=730 * DAY, deduplication=3 * DAY
    )


@requirement("S-57")
@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("{requests: 12h}", "assent.yaml:3: retention.requests: must be from 1d to 36500d"),
        ("{requests: 1y}", "retention.requests: must be a time such as 30m, 12h or 7d"),
        ("{deliveries: 6d}", "retention.deliveries: must be from 7d to 36500d"),
        ("{deduplication: 23h}", "retention.deduplication: must be from 1d to 36500d"),
        ("{request: 90d}", 'unknown key "request"'),
        ("90d", "retention: must be a mapping"),
        ("{trail: 730d}", "retention.trail: needs requests beside it"),
        ("{requests: 400d, trail: 399d}", "retention.trail: is shorter than requests (400d), and no event goes before"),
        (
            "{requests: 40d, deduplication: 41d}",
            "requests: is shorter than retention.deduplication, which looks back at requests of 41d; write 41d or more",
        ),
        ("{requests: 29d}", "is shorter than payments.duplicates, which looks back at requests of 30d"),
    ],
)
def test_a_fault_has_its_line_and_says_what_to_write(section: str, said: str) -> None:
    assert said in faults(section)


def test_no_request_goes_while_a_budget_or_a_denial_looks_back_at_it() -> None:
    tool = "tools: {pay: {payment: {amount: amount, currency: currency, payee: payee}}}"
    budget = "payments: {budgets: [{id: year, per: org, within: 366d, count: 10}]}"
    assert "the budget year, which looks back at requests of 366d" in faults("{requests: 365d}", tool, budget)
    assert "attention.remember_denials" in faults("{requests: 60d}", "attention: {remember_denials: 90d}")
    assert load("{requests: 366d}", tool, budget).requests == 366 * DAY
