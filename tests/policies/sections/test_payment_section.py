"""`payment` of a tool, what else the catalogue says of them, and the file's `payments`: every fault with its line."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from app.domain.money.payment import PaymentFields
from app.domain.request.caution import CautionKind
from app.domain.rules.spending import Per
from app.policies.asking.glass_section import GlassEntry
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from app.policies.sections.payments_section import BudgetEntry, PaymentsEntry
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from pydantic import BaseModel

PAGE = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
FILE = """\
org: acme
default: deny
tools:
  pay:
    title: "Pay {payee.name} {amount} {currency}"
    pin: [note, amount]
    sensitive: [payee.iban]
    labels: {payee.name: {en: Payee, zh: 收款方}}
    payment: {amount: amount, currency: currency, payee: payee.name, account: payee.iban, reference: invoice}
    irreversible: true
    enforced: true
    result: [payment_id, status]
    schema:
      type: object
      required: [payee, amount, currency]
      additionalProperties: false
      properties:
        payee: {type: object, properties: {name: {type: string}, iban: {type: string}}, additionalProperties: false}
        amount: {type: string}
        currency: {type: string}
        invoice: {type: string}
        note: {type: string}
  pay_many:
    payment: {amount: payments.cents, currency: currency, payee: payments.to, minor_units: true}
    schema:
      type: object
      additionalProperties: false
      properties:
        currency: {type: string}
        payments:
          type: array
          items: {type: object, properties: {cents: {type: integer}, to: {type: string}}, additionalProperties: false}
        fees: {type: array, items: {type: object, properties: {code: {type: string}}}}
        deep: {type: array, items: {type: array, items: {type: object}}}
  plain: {}
  read_mail: {writes: false}
calendar: {work: {mon-fri: "09:00-18:00"}}
payments:
  duplicates: 45d
  step_up: [first_payee, off_hours]
  budgets:
    - {id: agent-day, per: agent, within: 1d, limit: {CNY: 20000, USD: "1500.50"}, count: 10}
    - {id: payee-week, per: payee, within: 7d, limit: "50000 CNY", tools: [pay]}
    - {id: rate, per: org, within: 1m, count: 3, tools: ["pay*"]}
    - {id: year, per: owner, within: 366d, limit: {CNY: 1000000}}
"""


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={})


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text)
    return [str(fault).removeprefix("assent.yaml:") for fault in refused.value.faults]


def test_payments_are_shown_first_exact_and_their_payee_is_whom_it_is_about() -> None:
    pay = load().policy.tools["pay"]
    assert pay.payment == PaymentFields(
        amount="amount", currency="currency", payee="payee.name", account="payee.iban", reference="invoice"
    )
    assert pay.pin == ("payee.name", "amount", "currency", "invoice", "note"), "all of it that is not sensitive"
    assert (pay.money, pay.payee) == (("amount",), ("payee.name",))
    assert (pay.irreversible, pay.enforced, pay.result) == (True, True, ("payment_id", "status"))


def test_an_account_that_is_not_sensitive_is_shown() -> None:
    pay = load(FILE.replace("    sensitive: [payee.iban]\n", "")).policy.tools["pay"]
    assert pay.pin == ("payee.name", "amount", "currency", "payee.iban", "invoice", "note")


def test_a_batch_goes_through_one_list_and_may_share_what_stands_outside_of_it() -> None:
    many = load().policy.tools["pay_many"]
    assert many.payment == PaymentFields(
        amount="payments.cents", currency="currency", payee="payments.to", minor_units=True
    )
    assert many.pin == ("payments.to", "payments.cents", "currency")


def test_a_tool_without_a_word_about_payments_has_none() -> None:
    plain = load().policy.tools["plain"]
    assert (plain.payment, plain.irreversible, plain.enforced, plain.result, plain.pin) == (None, False, False, (), ())


def test_the_terms_of_the_org_are_read() -> None:
    terms = load().policy.payments
    assert terms.duplicates == timedelta(days=45)
    assert terms.step_up == {CautionKind.FIRST_PAYEE, CautionKind.OFF_HOURS}
    day, week, rate, year = terms.budgets
    assert (day.id, day.per, day.within, day.count) == ("agent-day", Per.AGENT, timedelta(days=1), 10)
    assert day.limit == {"CNY": Decimal(20000), "USD": Decimal("1500.50")}
    assert day.tools == ()
    assert (week.limit, week.count, week.tools[0].text) == ({"CNY": Decimal(50000)}, None, "pay")
    assert (rate.limit, rate.within, rate.per) == (None, timedelta(minutes=1), Per.ORG)
    assert (year.within, year.per) == (timedelta(days=366), Per.OWNER)


def test_without_a_word_duplicates_are_looked_for_and_every_sign_takes_one_level_more() -> None:
    bare = load(FILE[: FILE.index("calendar:")]).policy.payments
    assert (bare.budgets, bare.duplicates) == ((), timedelta(days=30))
    assert bare.step_up == {"first_payee", "new_account", "off_hours", "over_budget"}


def test_both_can_be_switched_off() -> None:
    terms = load(FILE.replace("45d", "0s").replace("[first_payee, off_hours]", "[]")).policy.payments
    assert (terms.duplicates, terms.step_up) == (timedelta(0), frozenset())


@requirement("S-57")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # where the payments stand
        ("amount: amount, currency: currency, payee: payee.name", "currency: currency, payee: payee.name",
         '9: tools.pay.payment: "amount" is missing'),
        ("{amount: amount, currency", "{amount: amount, curency",
         '9: tools.pay.payment.curency: unknown key "curency"; did you mean "currency"?'),
        ("reference: invoice}", "referense: invoice}",
         '9: tools.pay.payment.referense: unknown key "referense"; did you mean "reference"?'),
        ("{amount: amount", "{amount: amuont",
         '9: tools.pay.payment.amount: pay has no argument "amuont"; did you mean "amount"?'),
        ("payee: payee.name", "payee: payee.nmae",
         '9: tools.pay.payment.payee: payee of pay has no argument "nmae"; did you mean "name"?'),
        ("reference: invoice", "reference: invioce",
         '9: tools.pay.payment.reference: pay has no argument "invioce"; did you mean "invoice"?'),
        ("payee: payments.to", "payee: payments.two",
         '24: tools.pay_many.payment.payee: payments of pay_many has no argument "two"; did you mean "to"?'),
        ("currency: currency, payee: payments.to", "currency: fees.code, payee: payments.to",
         '24: tools.pay_many.payment.currency: "fees.code" goes through the list "fees", and the amount does not'),
        ("amount: payments.cents", "amount: currency",
         '24: tools.pay_many.payment.payee: "payments.to" goes through the list "payments", and the amount does not'),
        ("amount: payments.cents", "amount: deep.cents",
         '24: tools.pay_many.payment.amount: "deep.cents" goes through a list within a list'),
        ("currency: currency, payee: payee.name", "currency: currency, payee: currency",
         '9: tools.pay.payment.payee: "currency" is the currency already'),
        ("payment: {amount: amount,", "payment: {amount: amount, minor_units: perhaps,",
         "9: tools.pay.payment.minor_units: must be true or false"),
        ("payment: {amount: amount,", "payment: {amount: .,", "9: tools.pay.payment.amount: must be an"),
        # never a float
        ("        amount: {type: string}", "        amount: {type: number}",
         '9: tools.pay.payment.amount: the schema has "amount" as a number, which may be a float; write string or int'),
        ("        amount: {type: string}", "        amount: {type: [string, number]}",
         '9: tools.pay.payment.amount: the schema has "amount" as a number'),
        ("        amount: {type: string}", "        amount: {type: object}",
         '9: tools.pay.payment.amount: the schema has "amount" as object: no amount; write string or integer'),
        ("cents: {type: integer}", "cents: {type: string}",
         '24: tools.pay_many.payment.amount: the schema has "payments.cents" as string: no amount; write integer'),
        ("cents: {type: integer}", "cents: {type: number}",
         '24: tools.pay_many.payment.amount: the schema has "payments.cents" as a number'),
        # what must be seen
        ("sensitive: [payee.iban]", "sensitive: [payee.iban, payee.name]",
         '9: tools.pay.payment.payee: "payee.name" is sensitive: nobody can approve a payment whose payee they do not'),
        ("sensitive: [payee.iban]", "sensitive: [payee]",
         '9: tools.pay.payment.payee: "payee.name" is sensitive'),
        ("sensitive: [payee.iban]", "sensitive: [amount]", '9: tools.pay.payment.amount: "amount" is sensitive'),
        ("sensitive: [payee.iban]", "sensitive: [currency]", '9: tools.pay.payment.currency: "currency" is sensitive'),
        ("labels: {payee.name:", "labels: {note: {zh: 收款方}, payee.name:", "8: tools.pay.labels.payee.name: is"),
        # the rest of the tool
        ("    enforced: true", "    writes: false", "9: tools.pay.payment: is no part of a tool that"),
        ("    enforced: true", "    enforced: perhaps", "11: tools.pay.enforced: must be true or false"),
        ("    irreversible: true", "    ireversible: true",
         '10: tools.pay.ireversible: unknown key "ireversible"; did you mean "irreversible"?'),
        ("[payment_id, status]", "[payment_id, payee.iban]",
         '12: tools.pay.result[1]: shows "payee.iban", which is sensitive'),
        ("[payment_id, status]", "[payment_id, access_token]",
         '12: tools.pay.result[1]: "access_token" is called like a secret'),
        ("[payment_id, status]", "[status, status]", '12: tools.pay.result[1]: "status" again'),
        # the payments of the org
        ("duplicates: 45d", "duplicates: 367d", "39: payments.duplicates: must be 366d at most"),
        ("duplicates: 45d", "duplicate: 45d", '39: payments.duplicate: unknown key "duplicate"; did you mean "duplic'),
        ("[first_payee, off_hours]", "[first_payee, night]", "40: payments.step_up[1]: must be first_payee"),
        ("[first_payee, off_hours]", "[first_payee, first_payee]", '40: payments.step_up[1]: "first_payee" again'),
        ('calendar: {work: {mon-fri: "09:00-18:00"}}\n', "",
         '39: payments.step_up[1]: "off_hours" means nothing without a "calendar"; add: calendar: '),
        ("id: rate", "id: agent-day", '44: payments.budgets[2].id: the id "agent-day" again (first on line 42)'),
        ("id: rate", 'id: "the rate"', "44: payments.budgets[2].id: must be of letters"),
        ("per: org", "per: world", "44: payments.budgets[2].per: must be agent, owner, payee or org"),
        ("within: 1m, count: 3,", "within: 1m,",
         '44: payments.budgets[2]: has neither "limit" nor "count": nothing would ever be above it'),
        ("within: 1m", "within: 59s", "44: payments.budgets[2].within: must be from 1m to 366d"),
        ("within: 366d", "within: 367d", "45: payments.budgets[3].within: must be from 1m to 366d"),
        ("within: 1m", "within: a minute", "44: payments.budgets[2].within: must be a time such as 30m, 12h or 7d"),
        ("within: 1m", "witin: 1m", '44: payments.budgets[2].witin: unknown key "witin"; did you mean "within"?'),
        ("within: 1m, count: 3", "within: 1m, count: 0", "44: payments.budgets[2].count: must be 1 or more"),
        ("limit: {CNY: 1000000}", "limit: {CNY: 1000000.5}", "45: payments.budgets[3].limit: must be exact"),
        ("limit: {CNY: 1000000}", "limit: {cny: 1000000}", "45: payments.budgets[3].limit: must name its currency"),
        ("limit: {CNY: 1000000}", "limit: {CNY: 1000000000000}", "45: payments.budgets[3].limit: must be below 1,000,"),
        ("limit: {CNY: 1000000}", 'limit: {CNY: "0.00001"}', "45: payments.budgets[3].limit: must be below 1,000,"),
        ("tools: [pay]}", "tools: [pay_mny]}",
         '43: payments.budgets[1].tools[0]: unknown tool "pay_mny"; did you mean "pay_many"?'),
        ("tools: [pay]}", "tools: [plain]}", '43: payments.budgets[1].tools[0]: counts nothing: "plain" has no "paym'),
        ('tools: ["pay*"]', 'tools: ["read_*"]', '44: payments.budgets[2].tools[0]: counts nothing: "read_*" has no '),
        ("  budgets:\n", "  budgets:\n    - nothing\n", "42: payments.budgets[0]: must be a mapping"),
        ("payments:\n  dup", "payment:\n  dup", '38: payment: unknown key "payment"; did you mean "payments"?'),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_at_its_line(old: str, new: str, expected: str) -> None:
    assert old in FILE
    found = faults(FILE.replace(old, new, 1))
    assert [fault for fault in found if fault.startswith(expected)], found


def test_a_budget_of_no_payment_at_all_is_refused() -> None:
    nothing = """\
org: acme
default: deny
tools: {plain: {}}
payments: {budgets: [{id: day, per: org, within: 1d, count: 1}]}
"""
    mend = "add to a tool: payment: {amount: …, currency: …, payee: …}"
    assert faults(nothing) == [f'4: payments.budgets[0]: counts nothing: no tool has a "payment"; {mend}']


def test_an_open_schema_may_have_more_than_it_names() -> None:
    tools = "tools: {pay: {payment: {amount: a.b, currency: c, payee: d}, schema: {type: object}}}"
    pay = load(f"org: acme\ndefault: deny\n{tools}\n").policy.tools["pay"]
    assert pay.pin == ("d", "a.b", "c")


@pytest.mark.parametrize("model", [PaymentsEntry, BudgetEntry, GlassEntry])
def test_every_key_of_the_sections_has_its_row_on_the_page(model: type[BaseModel]) -> None:
    assert {key for key in model.model_fields if f"| `{key}`" not in PAGE} == set()
