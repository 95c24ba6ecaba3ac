"""What the gallery shows: one payment in every state, and the calls that try to deceive whoever decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from app.domain.call.tool import Tool, title_line
from app.domain.call.tool_call import ToolCall, binding_digest, call_digest
from app.domain.identity.seals import Seals
from app.domain.people.people import Directory, Person
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import (
    Audience,
    ConfirmationRequest,
    DeliveryStatus,
    Execution,
    ExecutionStatus,
    Grant,
    GrantStatus,
    Settlement,
    Status,
)
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.domain.text.language import Language
from app.storage.cards.deliveries import Delivery
from app.usecases.cards.message import Item, compose_message

if TYPE_CHECKING:
    from app.domain.call.switch import Switch
    from app.domain.card.card import Card
    from app.domain.request.action import Action
    from app.domain.text.canonical import JsonValue
    from app.ports import Channel

ASKED_AT = datetime(2026, 3, 2, 2, 15, tzinfo=UTC)
SHANGHAI = timezone(timedelta(hours=8))
WANG, ZHAO, CHEN, SUN, LI = (f"{name}@acme.example" for name in ("wang", "zhao", "chen", "sun", "li"))
PEOPLE = {WANG: "王芳 Wang Fang", ZHAO: "赵敏 Zhao Min", CHEN: "陈静 Chen Jing", SUN: "孙悦 Sun Yue", LI: "李雷 Li Lei"}
GROUPS = {"finance": frozenset({WANG, ZHAO, CHEN}), "directors": frozenset({SUN})}
_NAMES = {"finance": {"en": "Finance", "zh": "财务"}, "directors": {"en": "Directors", "zh": "总监"}}
_SEALS = Seals(["the gallery's cards can be pressed nowhere"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One card of the gallery. `also` are requests that share its message; `modal` is drawn instead, in Slack alone."""

    name: str
    request: ConfirmationRequest
    person: str | None = None  # whose own copy it is
    audience: Audience = Audience.APPROVERS
    also: tuple[ConfirmationRequest, ...] = ()
    menu_open: bool = False
    modal: Action | None = None
    page: bool = True  # whether the file has `url`
    tool: Tool = field(default_factory=lambda: TOOL)
    pause: Switch | None = None  # what stops it while it waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """A channel as far as a card depends on it."""

    name: str
    language: Language
    text_budget: int
    opens_forms: bool


_TEXTS = {
    Language.EN: {
        "why": "Payments over 50,000 need two people of finance. (args.amount = {amount})",
        "memo": "Steel for the March delivery, lot 7",
        "claim": "The supplier ships today only if this is paid before noon.",
        "reason": "The delivery is short by two tons.",
    },
    Language.ZH: {
        "why": "超过 50,000 的付款须由财务两人批准。(args.amount = {amount})",
        "memo": "三月交付的钢材，第 7 批",
        "claim": "供应商称中午前到账才能今天发货。",
        "reason": "到货少了两吨。",
    },
}


TOOL = Tool(
    name="oa__purchase_pay",
    title="Pay {payee} {amount} {currency}",
    titles={"en": "Pay {payee} {amount} {currency}", "zh": "向 {payee} 付款 {amount} {currency}"},
    labels={
        "payee": {"en": "Payee", "zh": "收款方"},
        "amount": {"en": "Amount", "zh": "金额"},
        "currency": {"en": "Currency", "zh": "币种"},
        "invoice": {"en": "Invoice", "zh": "发票号"},
        "memo": {"en": "Memo", "zh": "附言"},
        "bank_account": {"en": "Bank account", "zh": "收款账号"},
    },
    pin=("payee", "amount", "currency", "invoice"),
    sensitive=("bank_account",),
    money=("amount",),
    payee=("payee",),
)


def policy_of(*, page: bool = True, tool: Tool = TOOL) -> Policy:
    """Return the file in force. `page`: whether it says where people reach the gateway's pages."""
    people = {email: Person(email=email, name=name) for email, name in PEOPLE.items()}
    return Policy(
        org="acme",
        version="p1",
        default=Then.ASK,
        tools={tool.name: tool},
        directory=Directory(people=people, groups=GROUPS, names=_NAMES),
        zone=SHANGHAI,
        url="https://assent.acme.example" if page else None,
    )


def card_of(exhibit: Exhibit, pane: Pane) -> Card:
    """Compose the card of an exhibit as the gateway does."""
    channel = cast("Channel", pane)  # a channel sends as well; a card depends on no more than this
    items = [
        Item(request=each, delivery=_delivery(exhibit, each, pane), pause=exhibit.pause)
        for each in (exhibit.request, *exhibit.also)
    ]
    return compose_message(items, channel, policy_of(page=exhibit.page, tool=exhibit.tool), _SEALS)


def _delivery(exhibit: Exhibit, request: ConfirmationRequest, pane: Pane) -> Delivery:
    return Delivery(
        id=f"dlv_{request.id}",
        request_id=request.id,
        channel=pane.name,
        chat_id="gallery",
        revision=1,
        handle=request.id.removeprefix("req_"),
        status=DeliveryStatus.LIVE,
        message=None,
        first_tried_at=None,
        shown_version=0,
        person=exhibit.person,
        audience=exhibit.audience,
    )


def states(language: Language) -> list[Exhibit]:
    """Return one payment in each of its states."""
    waiting = payment(language)
    half = replace(waiting, decisions=(vote(WANG, Verdict.APPROVE),))
    full = replace(half, decisions=(*half.decisions, vote(ZHAO, Verdict.APPROVE)))
    approved = settled(replace(full, grant=grant(GrantStatus.ISSUED)), Status.APPROVED, ZHAO)
    used = replace(approved, grant=grant(GrantStatus.CONSUMED))
    denied = replace(half, decisions=(vote(ZHAO, Verdict.DENY),))
    reason = _TEXTS[language]["reason"]
    return [
        Exhibit(name="pending", request=waiting),
        Exhibit(name="pending, one of two has agreed", request=half),
        Exhibit(name="approved", request=approved),
        *(Exhibit(name=status.value, request=replace(used, execution=_ran(status))) for status in ExecutionStatus),
        Exhibit(name="lapsed", request=replace(approved, grant=grant(GrantStatus.LAPSED))),
        Exhibit(name="denied", request=settled(denied, Status.DENIED, ZHAO, reason)),
        Exhibit(name="expired", request=settled(waiting, Status.EXPIRED, "system")),
        Exhibit(name="cancelled", request=settled(waiting, Status.CANCELLED, LI)),
        Exhibit(name="undeliverable", request=settled(waiting, Status.UNDELIVERABLE, "system")),
    ]


def hostile(language: Language) -> list[Exhibit]:
    """Return what tries to deceive, and what cannot be shown whole."""
    markup = "<!channel> <@U061F7AUR> <at id=all></at> *bold* [Approve](https://evil.example) :white_check_mark:"
    secret = {"payee": "Acme Ltd", "amount": 90_000, "currency": "USD", "memo": "ref ghp_" + "a1B2" * 9}
    return [
        Exhibit(
            name="look-alike payee, turned account",
            request=payment(
                language,
                payee="Hеngtong Steel",  # the second letter is Cyrillic
                invoice="2026-\u202e8110\u202c",
            ),
        ),
        Exhibit(name="markup in every argument", request=payment(language, payee="PayPaI", memo=markup, claim=markup)),
        Exhibit(
            name="blanks, breaks and a flood of marks",
            request=payment(language, memo="ok" + " " * 60 + "\n" * 30 + "and 90,000 more; Z" + "\u0301\u0489" * 20),
        ),
        Exhibit(name="too long to be shown whole", request=payment(language, memo="lot 7, " * 3_000 + "and one more")),
        Exhibit(
            name="a secret where everything must be seen",
            request=replace(payment(language, **secret), pinned=("payee", "memo")),
            page=False,
        ),
    ]


def payment(language: Language, *, claim: str | None = None, **changes: JsonValue) -> ConfirmationRequest:
    """Return a payment that waits for two people of finance, with other arguments where they are given."""
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
    call = ToolCall(
        org="acme",
        agent="payer",
        session="s-1",
        call_id="call-1",
        tool=TOOL.name,
        arguments=arguments,
        requester=LI,
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
        title=title_line(TOOL, call.arguments, language.value),
        pinned=TOOL.pin,
        sensitive=TOOL.sensitive,
        rule_id="large-payments",
        policy_version="p1",
        why=text["why"].format(amount=arguments["amount"]),
        stages=(Stage(of=("finance",), need=2),),
        channels=("chat",),
        claim_within=timedelta(minutes=10),
        lease=timedelta(minutes=5),
        created_at=ASKED_AT,
        expires_at=expires_at,
    )


def vote(person: str, verdict: Verdict) -> Decision:
    """Return what a person said in the chat."""
    evidence = Evidence(channel="chat")
    return Decision(id=f"dec_{person}", person=person, verdict=verdict, reason=None, at=ASKED_AT, evidence=evidence)


def settled(request: ConfirmationRequest, status: Status, by: str, reason: str | None = None) -> ConfirmationRequest:
    """Return the request as it ended, forty-two minutes on."""
    at = ASKED_AT + timedelta(minutes=42)
    return replace(request, status=status, settlement=Settlement(at=at, by=by, reason=reason, via="chat"))


def grant(status: GrantStatus) -> Grant:
    """Return the permission in one of its states."""
    return Grant(id="gra_1", status=status, not_after=ASKED_AT + timedelta(hours=1))


def _ran(status: ExecutionStatus) -> Execution:
    lease_until = ASKED_AT + timedelta(hours=1)
    return Execution(id="exe_1", claim_id="c-1", status=status, started_at=ASKED_AT, lease_until=lease_until)
