"""What an approval takes besides a click, in the gallery: a typed code, a second factor, two people with theirs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.money.payment import Payment
from app.domain.people.assurance import Assurance
from app.domain.request.action import Action
from app.domain.request.decision import Evidence, Verdict
from app.domain.request.request import GrantStatus, Status
from examples.gallery_catalogue import CHEN, WANG, ZHAO, Exhibit, grant, payment, settled, vote

if TYPE_CHECKING:
    from app.domain.request.decision import Decision
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.language import Language


def assurance(language: Language) -> list[Exhibit]:
    """Return a card of each level above a click, and what whoever approved is told."""
    two = at(payment(language), Assurance.L2)
    three = at(payment(language), Assurance.L3)
    four = replace(at(payment(language), Assurance.L4), decisions=(_with_factor(WANG),))
    voted = replace(four, decisions=(_with_factor(WANG), _with_factor(CHEN)), grant=grant(GrantStatus.ISSUED))
    return [
        Exhibit(name="L2: something is typed", request=two),
        Exhibit(name="L2: two in one card", request=two, also=(_second(language),)),
        Exhibit(name="L3: a second factor", request=three),
        Exhibit(name="L4: one of two has agreed", request=four),
        Exhibit(name="approved, as everybody sees it", request=settled(voted, Status.APPROVED, CHEN)),
        Exhibit(name="approved, as its approver is told", request=settled(voted, Status.APPROVED, CHEN), person=WANG),
    ]


def assurance_forms(language: Language) -> list[Exhibit]:
    """Return the form that Approve opens in Slack, where something must be typed."""
    two = at(payment(language), Assurance.L2)
    return [Exhibit(name="Approve, with something typed", request=two, modal=Action.APPROVE)]


def at(request: ConfirmationRequest, level: Assurance) -> ConfirmationRequest:
    """Return a payment of the gallery as one that takes a level."""
    arguments = request.call.arguments
    amount, payee = Decimal(str(arguments["amount"])), str(arguments["payee"])
    return replace(request, assurance=level, payments=(Payment(amount=amount, currency="CNY", payee=payee),))


def _second(language: Language) -> ConfirmationRequest:
    other = payment(language, payee="Northwind Freight", amount=62_500, invoice="2026-0119")
    partly = replace(other, id="req_8c1m5q", code="P2TE-9HDV", decisions=(vote(ZHAO, Verdict.APPROVE),))
    return at(partly, Assurance.L2)


def _with_factor(person: str) -> Decision:
    return replace(vote(person, Verdict.APPROVE), evidence=Evidence(channel="api", assurance=Assurance.L3))
