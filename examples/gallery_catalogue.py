"""What the gallery shows: one payment in every state, and the calls that try to deceive whoever decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from app.domain.card import Card, Language
from app.domain.decision import Decision, Evidence, Verdict
from app.domain.present import card_for
from app.domain.quorum import Stage, count, electorate
from app.domain.request import (
    ConfirmationRequest,
    Execution,
    ExecutionStatus,
    Grant,
    GrantStatus,
    Settlement,
    State,
    Status,
)
from app.domain.shown import Terms
from app.domain.tool import Tool, title_for
from app.domain.tool_call import ToolCall, binding_digest, call_digest
from app.domain.visible import visible
from app.usecases.compose import review_place, without_secrets

if TYPE_CHECKING:
    from app.domain.canonical import JsonValue

ASKED_AT = datetime(2026, 3, 2, 2, 15, tzinfo=UTC)
SHANGHAI = timezone(timedelta(hours=8))
PEOPLE = {
    "wang@acme.example": "王芳 Wang Fang",
    "zhao@acme.example": "赵敏 Zhao Min",
    "li@acme.example": "李雷 Li Lei",
}
FINANCE = frozenset(PEOPLE) - {"li@acme.example"}
TOKENS = ("a1.k1.gallery.y.seal", "a1.k1.gallery.n.seal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One card of the gallery."""

    name: str
    request: ConfirmationRequest


_TEXTS = {
    Language.EN: {
        "title": "Pay {payee} {amount} {currency}",
        "why": "Payments over 50,000 need two people of finance. (args.amount = 80000)",
        "memo": "Steel for the March delivery, lot 7",
        "claim": "The supplier ships today only if this is paid before noon.",
        "reason": "The delivery is short by two tons.",
    },
    Language.ZH: {
        "title": "向 {payee} 付款 {amount} {currency}",
        "why": "超过 50,000 的付款须由财务两人批准。(args.amount = 80000)",
        "memo": "三月交付的钢材，第 7 批",
        "claim": "供应商称中午前到账才能今天发货。",
        "reason": "到货少了两吨。",
    },
}


def exhibits(language: Language) -> list[Exhibit]:
    """Return every exhibit, in the order of the sheet."""
    return [*_states(language), *_hostile(language)]


def card_of(exhibit: Exhibit, language: Language, budget: int) -> Card:
    """Build the card of an exhibit, as the gateway would."""
    request = exhibit.request
    pending = request.state is State.PENDING
    voters = electorate(request.stages, [FINANCE] * len(request.stages), frozenset())
    terms = Terms(
        language=language,
        name_of=lambda email: PEOPLE.get(email, visible(email)),
        zone=SHANGHAI,
        money=("amount",),
        visible_arguments=without_secrets(request.call.arguments),
        review=review_place(request, language),
    )
    return card_for(
        request,
        terms,
        revision=1,
        tally=count(request.stages, request.decisions, voters) if pending else None,
        tokens=TOKENS if pending else None,
        budget=budget,
    )


def _states(language: Language) -> list[Exhibit]:
    waiting = _payment(language)
    half = replace(waiting, decisions=(_vote("wang@acme.example", Verdict.APPROVE),))
    full = replace(half, decisions=(*half.decisions, _vote("zhao@acme.example", Verdict.APPROVE)))
    approved = _settled(replace(full, grant=_grant(GrantStatus.ISSUED)), Status.APPROVED, "zhao@acme.example")
    used = replace(approved, grant=_grant(GrantStatus.CONSUMED))
    denied = replace(half, decisions=(_vote("zhao@acme.example", Verdict.DENY),))
    reason = _TEXTS[language]["reason"]
    return [
        Exhibit(name="pending", request=waiting),
        Exhibit(name="pending, one of two has agreed", request=half),
        Exhibit(name="approved", request=approved),
        *(Exhibit(name=status.value, request=replace(used, execution=_ran(status))) for status in ExecutionStatus),
        Exhibit(name="lapsed", request=replace(approved, grant=_grant(GrantStatus.LAPSED))),
        Exhibit(name="denied", request=_settled(denied, Status.DENIED, "zhao@acme.example", reason)),
        Exhibit(name="expired", request=_settled(waiting, Status.EXPIRED, "system")),
        Exhibit(name="cancelled", request=_settled(waiting, Status.CANCELLED, "li@acme.example")),
        Exhibit(name="undeliverable", request=_settled(waiting, Status.UNDELIVERABLE, "system")),
    ]


def _hostile(language: Language) -> list[Exhibit]:
    markup = "<!channel> <@U061F7AUR> <at id=all></at> *bold* [Approve](https://evil.example) :white_check_mark:"
    secret = {"payee": "Acme Ltd", "amount": 900, "currency": "USD", "memo": "ref ghp_" + "a1B2" * 9}
    return [
        Exhibit(
            name="look-alike payee, turned account",
            request=_payment(
                language,
                payee="Hеngtong Steel",  # the second letter is Cyrillic
                invoice="2026-\u202e8110\u202c",
            ),
        ),
        Exhibit(name="markup in every argument", request=_payment(language, payee="PayPaI", memo=markup, claim=markup)),
        Exhibit(
            name="blanks, breaks and a flood of marks",
            request=_payment(language, memo="ok" + " " * 60 + "\n" * 30 + "and 90,000 more; Z" + "\u0301\u0489" * 20),
        ),
        Exhibit(name="too long to be shown whole", request=_payment(language, memo="lot 7, " * 3_000 + "and one more")),
        Exhibit(
            name="a secret where everything must be seen",
            request=replace(_payment(language, **secret), pinned=("payee", "memo")),
        ),
    ]


def _payment(language: Language, *, claim: str | None = None, **changes: JsonValue) -> ConfirmationRequest:
    text = _TEXTS[language]
    arguments: dict[str, JsonValue] = {
        "payee": "恒通钢铁 Hengtong Steel",
        "amount": 80_000,
        "currency": "CNY",
        "invoice": "2026-0118",
        "memo": text["memo"],
        "bank_account": "6222020200112233445",
        **changes,
    }
    tool = Tool(name="oa__purchase_pay", title=text["title"], money=("amount",))
    call = ToolCall(
        org="acme",
        agent="payer",
        session="s-1",
        call_id="call-1",
        tool=tool.name,
        arguments=arguments,
        requester="li@acme.example",
        owner=None,
        claim=claim or text["claim"],
    )
    expires_at = ASKED_AT + timedelta(hours=2)
    return ConfirmationRequest(
        id="req_4f7w2k",
        call=call,
        call_digest=call_digest(call),
        digest=binding_digest(call, request_id="req_4f7w2k", nonce="n", policy_version="p1", expires_at=expires_at),
        nonce="n",
        code="K7QM-3XWA",
        title=visible(title_for(tool, call.arguments)),
        pinned=("payee", "amount", "currency", "invoice"),
        sensitive=("bank_account",),
        rule_id="large-payments",
        policy_version="p1",
        why=text["why"],
        stages=(Stage(of=("finance",), need=2),),
        channels=("chat",),
        claim_within=timedelta(minutes=10),
        lease=timedelta(minutes=5),
        created_at=ASKED_AT,
        expires_at=expires_at,
    )


def _vote(person: str, verdict: Verdict) -> Decision:
    evidence = Evidence(channel="chat")
    return Decision(id=f"dec_{person}", person=person, verdict=verdict, reason=None, at=ASKED_AT, evidence=evidence)


def _settled(request: ConfirmationRequest, status: Status, by: str, reason: str | None = None) -> ConfirmationRequest:
    at = ASKED_AT + timedelta(minutes=42)
    return replace(request, status=status, settlement=Settlement(at=at, by=by, reason=reason, via="chat"))


def _grant(status: GrantStatus) -> Grant:
    return Grant(id="gra_1", status=status, not_after=ASKED_AT + timedelta(hours=1))


def _ran(status: ExecutionStatus) -> Execution:
    lease_until = ASKED_AT + timedelta(hours=1)
    return Execution(id="exe_1", claim_id="c-1", status=status, started_at=ASKED_AT, lease_until=lease_until)
