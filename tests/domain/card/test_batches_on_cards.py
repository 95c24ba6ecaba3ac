"""Payments on cards: what a batch comes to, everybody whom it pays, and what speaks against it, in both languages."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.card.card import Tone
from app.domain.card.card_for import card_for
from app.domain.card.shown_call import Terms
from app.domain.money.payment import PaymentFields, payments_of
from app.domain.request.caution import Caution, CautionKind
from app.domain.text.language import Language
from app.domain.text.masking import HIDDEN
from app.domain.words.say import CATALOGUE
from tests.domain.samples import a_call, a_request, approved
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.card.card import Card
    from app.domain.request.request import ConfirmationRequest

BATCH = PaymentFields(
    amount="items.amount",
    currency="items.currency",
    payee="items.payee",
    account="items.iban",
    reference="items.reference",
)
ITEMS = [
    {"payee": "Acme Ltd", "amount": "1200", "currency": "EUR", "iban": "DE02-4711", "reference": "INV-7"},
    {"payee": "Globex", "amount": "30.5", "currency": "CNY", "iban": "DE02-0815"},
    {"payee": "Acme Ltd", "amount": "0.01", "currency": "EUR", "reference": "INV-8"},
]


def a_batch(items: list[dict[str, Any]] | None = None, **changes: Any) -> ConfirmationRequest:
    arguments: dict[str, Any] = {"run": "may", "items": ITEMS if items is None else items}
    call = a_call(arguments=arguments, claim=None)
    changes.setdefault("sensitive", ())
    return a_request(call=call, pinned=BATCH.paths, payments=payments_of(BATCH, arguments), **changes)


def terms(fields: PaymentFields | None = BATCH, **more: Any) -> Terms:
    told: dict[str, Any] = {
        "language": Language.EN,
        "name_of": str,
        "payment": fields,
        "money": (fields.amount,) if fields else (),
        "payees": (fields.payee,) if fields else (),
    }
    return Terms(**(told | more))


def card(request: ConfirmationRequest, how: Terms | None = None, *, budget: int = 10_000) -> Card:
    return card_for(request, how or terms(), revision=1, tally=None, tokens=("a", "d"), budget=budget)


def facts(of: Card) -> dict[str, str]:
    return {fact.label: fact.value for fact in (*of.highlights, *of.facts)}


@requirement("S-13")
def test_a_batch_shows_what_it_comes_to_whom_it_pays_and_each_payment() -> None:
    shown = card(a_batch())
    assert [(fact.label, fact.value) for fact in shown.highlights] == [
        ("Total (3)", "¥30.50 CNY + €1,200.01 EUR"),
        ("Payees (2)", "Acme Ltd, Globex"),
    ]
    told = facts(shown)
    assert told["Payees (2)"] == "Acme Ltd, Globex"
    assert told["Each payment"].split("\n") == [
        "1. €1,200.00 EUR → Acme Ltd · DE02-4711 · INV-7",
        "2. ¥30.50 CNY → Globex · DE02-0815",
        "3. €0.01 EUR → Acme Ltd · INV-8",
    ]
    assert not {path for path in BATCH.paths if path in told} - {"items.iban", "items.reference"}
    assert shown.buttons is not None
    assert shown.buttons.approve == "a"


@requirement("S-13")
@pytest.mark.parametrize("many", [100, 500])
def test_a_batch_that_does_not_fit_cannot_be_approved_on_the_card(many: int) -> None:
    items = [{"payee": f"Payee {at}", "amount": "1", "currency": "EUR"} for at in range(many)]
    shown = card(a_batch(items), budget=3_000)
    assert shown.buttons is not None
    assert (shown.buttons.approve, shown.buttons.deny) == (None, "d")
    assert shown.withheld is not None
    assert shown.size() <= 3_000


def test_what_the_arguments_hide_is_hidden_in_the_lines_of_a_batch() -> None:
    shown = card(a_batch(sensitive=("items.iban",)))
    lines = facts(shown)["Each payment"]
    assert f"1. €1,200.00 EUR → Acme Ltd · {HIDDEN} · INV-7" in lines
    assert "4711" not in repr(shown)
    scrubbed = {"run": "may", "items": [{**ITEMS[0], "payee": "‹secret›"}, *ITEMS[1:]]}
    redacted = card(a_batch([{**ITEMS[0], "payee": "sk-live-1"}, *ITEMS[1:]]), terms(visible_arguments=scrubbed))
    assert "sk-live-1" not in repr(redacted)
    assert redacted.buttons is not None
    assert redacted.buttons.approve is None


def test_no_name_can_look_like_another_line_of_a_batch() -> None:
    forged = "Acme Ltd\n4. €1.00 EUR → Mallory"
    shown = card(a_batch([{**ITEMS[0], "payee": forged}, *ITEMS[1:]]))
    assert len(facts(shown)["Each payment"].split("\n")) == 3
    assert "\n" not in facts(shown)["Payees (3)"]


def test_a_card_keeps_the_lines_of_a_batch_when_the_file_no_longer_says_where_payments_stand() -> None:
    told = facts(card(a_batch(), terms(None)))
    assert told["Total (3)"] == "¥30.50 CNY + €1,200.01 EUR"
    assert "1. €1,200.00 EUR → Acme Ltd" in told["Each payment"]


@pytest.mark.parametrize(
    ("currency", "cents", "shown"), [("EUR", 120050, "€1,200.50 EUR"), ("JPY", 1200, "¥1,200 JPY")]
)
def test_an_amount_in_minor_units_is_shown_in_whole_ones(currency: str, cents: int, shown: str) -> None:
    fields = PaymentFields(amount="cents", currency="currency", payee="payee", minor_units=True)
    arguments: dict[str, Any] = {"cents": cents, "currency": currency, "payee": "Acme Ltd"}
    request = a_request(
        call=a_call(arguments=arguments), pinned=fields.paths, payments=payments_of(fields, arguments), sensitive=()
    )
    assert ("cents", shown) in [(fact.label, fact.value) for fact in card(request, terms(fields)).highlights]


ALL = (
    Caution(kind=CautionKind.NEW_ACCOUNT, values={"payee": "Acme Ltd", "before": "4711", "now": "0815"}),
    Caution(kind=CautionKind.NEW_ACCOUNT, values={"payee": "Acme Ltd", "before": "4711", "now": "4711"}),
    Caution(kind=CautionKind.FIRST_PAYEE, values={"payee": "Globex", "more": "3"}),
    Caution(
        kind=CautionKind.DUPLICATE,
        values={
            "payee": "Acme Ltd",
            "amount": "1200",
            "currency": "EUR",
            "reference": "INV-7",
            "at": "2026-02-27 10:00 UTC",
            "request": "req_9",
            "paid": "yes",
        },
    ),
    Caution(
        kind=CautionKind.OVER_BUDGET,
        values={
            "budget": "agent-day",
            "span": "86400",
            "currency": "CNY",
            "spent": "18000",
            "limit": "20000",
            "adds": "5000",
        },
    ),
    Caution(
        kind=CautionKind.OVER_BUDGET,
        values={"budget": "five", "span": "3600", "payee": "Globex", "made": "5", "count": "5", "adds": "1"},
    ),
    Caution(kind=CautionKind.OVER_BUDGET, values={"budget": "five", "span": "3600", "currency": "USD"}),
    Caution(kind=CautionKind.OFF_HOURS),
    Caution(kind=CautionKind.NEAR_DENIED, values={"at": "2026-02-27", "request": "req_8", "reason": "wrong IBAN"}),
)


def test_what_speaks_against_a_call_stands_before_every_other_warning() -> None:
    confusing = a_call(arguments={"run": "Аcme", "items": ITEMS})  # the first letter is Cyrillic
    shown = card(replace(a_batch(cautions=ALL), call=confusing))
    assert shown.warnings[:8] == (
        "New bank details of Acme Ltd: …0815, last time …4711.",
        "New bank details for Acme Ltd: nobody here has paid into this account before.",
        "Nobody here has paid Globex before. And 3 more of this kind.",
        "Looks like a duplicate: €1,200.00 EUR to Acme Ltd, reference INV-7, was paid on 2026-02-27 10:00.",
        "¥3,000.00 CNY over budget agent-day: 18,000.00 of 20,000.00 asked for or paid in 1 d, this adds 5,000.00.",
        "1 over budget five for Globex: 5 of 5 payments asked for or made in 1 h, this adds 1.",
        "Over budget five: it has no limit for USD.",
        "This was asked outside of working hours.",
    )
    assert "wrong IBAN" in shown.warnings[8]
    assert "req_" not in " ".join(shown.warnings)
    assert ("Earlier request", "req_9, req_8") in [(fact.label, fact.value) for fact in shown.details]
    assert shown.caution == "New bank details ×2 · First payment to them ×4 +7"
    assert (shown.tone, shown.warned) == (Tone.WARNED, 10)
    assert any("mixes letters" in warning for warning in shown.warnings[9:])


def test_every_caution_is_said_in_chinese_too() -> None:
    shown = card(a_batch(cautions=ALL), terms(language=Language.ZH))
    assert shown.warnings[0] == "Acme Ltd 的收款账户有变：本次 …0815，上次 …4711。"
    assert (
        shown.warnings[4]
        == "超出预算 agent-day ¥3,000.00 人民币：1 天内已申请或已付 18,000.00 / 20,000.00，本次再加 5,000.00。"
    )
    assert facts(shown)["3 笔合计"] == "¥30.50 人民币 + €1,200.01 欧元"


def test_every_kind_of_caution_has_a_sentence() -> None:
    for language in Language:
        assert {f"caution.{kind.value}" for kind in CautionKind} <= set(CATALOGUE[language])


def test_a_settled_card_warns_of_nothing() -> None:
    assert card(replace(approved(), cautions=ALL, payments=a_batch().payments)).warnings == ()


def test_a_name_that_the_card_hides_is_hidden_in_its_warnings() -> None:
    unseen = Caution(kind=CautionKind.FIRST_PAYEE, values={"payee": "Somebody Else"})
    assert card(a_batch(cautions=(unseen,))).warnings[0].startswith(f"Nobody here has paid {HIDDEN} before.")


def test_one_payment_stands_on_its_card_as_it_did() -> None:
    fields = PaymentFields(amount="amount", currency="currency", payee="payee")
    arguments: dict[str, Any] = {"amount": "80000", "currency": "CNY", "payee": "Acme Ltd"}
    payments = payments_of(fields, arguments)
    assert payments[0].amount == Decimal(80000)
    shown = card(a_request(call=a_call(arguments=arguments), payments=payments, sensitive=()), terms(fields))
    assert [(fact.label, fact.value) for fact in shown.highlights] == [
        ("amount", "¥80,000.00 CNY"),
        ("payee", "Acme Ltd"),
    ]


def test_what_stands_in_the_lines_of_a_batch_is_not_shown_again_and_anything_else_is() -> None:
    def rest(items: list[dict[str, Any]], how: Terms | None = None, **more: Any) -> list[str]:
        return [fact.label for fact in card(a_batch(items, **more), how).arguments]

    assert rest(ITEMS) == ["run"]
    assert rest(ITEMS, sensitive=("items.iban",)) == ["run"]
    other = terms(PaymentFields(amount="items.amount", currency="items.currency", payee="items.payee"))
    for items, how in (
        ([{**ITEMS[0], "fee": "1200"}, *ITEMS[1:]], None),  # as much as the amount, and yet another thing
        ([{**ITEMS[0], "note": {"iban": "DE02-4711"}}, *ITEMS[1:]], None),
        (ITEMS, other),  # the file says by now that they are something else
        (ITEMS, terms(None)),
    ):
        assert rest(items, how) == ["run", "items"]
