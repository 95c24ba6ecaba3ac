"""A judge who finds nothing is worth nothing: each thing that must not be is found, and a sound end is not blamed."""

from __future__ import annotations

import json
from typing import Any

from examples.ledger.book import Payment
from tests.durability.campaign.figures import Figures
from tests.durability.campaign.happenings import AROUND, DATABASE, PROCESSES
from tests.durability.campaign.judge import Findings
from tests.requirements import LEDGER

_PAID = {"payee": "Acme Ltd", "amount": "80.00", "currency": "CNY", "reference": "INV-1"}


def a_payment(**changes: Any) -> Payment:
    """Return what the ledger has of the one payment."""
    told: dict[str, Any] = {**_PAID, "key": "gra_1", "receipt": "R-1", "status": "paid", "reason": None, "at": "now"}
    return Payment(**{**told, **changes})


def an_end(*kinds: str, state: str = "succeeded", payments: list[Payment] | None = None) -> Findings:
    """Return what is there when one request has come to its end."""
    told = kinds or ("request.created", "request.approved", "grant.claimed", "execution.succeeded")
    events = [{"seq": seq, "at": seq, "kind": kind, "actor": "ann", "facts": "{}"} for seq, kind in enumerate(told)]
    return Findings(
        requests={"req_1": {"id": "req_1", "state": state, "arguments": json.dumps(_PAID)}},
        events={"req_1": events},
        grants={"gra_1": {"id": "gra_1", "request_id": "req_1"}},
        payments=[a_payment()] if payments is None else payments,
        figures=Figures(seed=1),
    )


def wrong(found: Findings) -> list[str]:
    """Return all that is wrong."""
    return [*found.doubled(), *found.unapproved(), *found.lost()]


def test_a_sound_end_is_not_blamed() -> None:
    assert wrong(an_end()) == []


def test_what_is_paid_claimed_or_handed_out_twice_is_found() -> None:
    [twice] = an_end(payments=[a_payment(), a_payment(receipt="R-2")]).doubled()
    assert twice == "INV-1 was paid 2 times"
    [claimed] = an_end("request.approved", "grant.claimed", "grant.claimed").doubled()
    assert claimed == "req_1 was claimed twice"
    handed = an_end()
    handed.figures.handed_out["req_1"] |= {"claim-a", "claim-b"}
    assert list(handed.doubled()) == ["req_1 was handed out 2 times: ['claim-a', 'claim-b']"]


def test_a_payment_without_an_approval_before_it_or_of_something_else_is_found() -> None:
    for kinds in (("request.created", "grant.claimed"), ("grant.claimed", "request.approved"), ("request.approved",)):
        assert "no approval before a claim" in next(an_end(*kinds).unapproved())
    assert "which is no grant" in next(an_end(payments=[a_payment(key="elsewhere")]).unapproved())
    assert "otherwise than approved" in next(an_end(payments=[a_payment(amount="81.00")]).unapproved())


def test_what_was_acknowledged_and_is_gone_or_never_ends_is_found() -> None:
    gone = an_end()
    gone.figures.created["req_2"] = "INV-2"
    gone.figures.voted.add(("req_1", "bob", "approve"))
    assert [fault.partition(":")[0] for fault in gone.lost()] == [
        "req_2 (INV-2) was acknowledged and is not there",
        "req_1",
    ]
    assert "the ledger has no payment" in next(an_end(payments=[]).lost())
    assert "the ledger has a payment" in next(an_end(state="unknown").lost())
    assert "nothing moves any more" in next(an_end(state="approved", payments=[]).lost())
    assert "grant.claimed by ann" in an_end().history("req_1 is lost")


def test_every_happening_names_rows_that_are_promised() -> None:
    named = {row for each in (*PROCESSES, *DATABASE, *AROUND) for row in each.shows}
    assert named - LEDGER.keys() == set()
