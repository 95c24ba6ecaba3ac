"""What the file says of a tool in the languages of its people: titles, labels, and to whom it pays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from app.domain.call.tool import title_fields, title_for
from app.domain.identity.seals import Seals
from app.domain.text.language import Language
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from app.usecases.cards.compose import compose
from tests.domain.samples import a_call, a_request
from tests.usecases.cards.test_compose import DELIVERY

if TYPE_CHECKING:
    from app.domain.card.card import Card
    from app.ports import Channel

FILE = """\
org: acme
default: deny
tools:
  oa__purchase_pay:
    title: {en: "Pay {payee} {amount}", zh: "向 {payee} 付款 {amount}"}
    pin: [payee, amount]
    money: [amount]
    payee: [payee]
    labels: {payee: {en: Payee, zh: 收款方}, amount: Amount / 金额, note: {zh: 备注}}
"""


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={})


def card(language: Language) -> Card:
    call = a_call(arguments={"payee": "Acme Ltd", "amount": 80000, "note": "rent"})
    request = a_request(call=call, title="Pay Acme Ltd 80,000", pinned=("payee", "amount"))
    channel = cast("Channel", SimpleNamespace(language=language, text_budget=9_000, opens_forms=True))
    return compose(request, DELIVERY, channel, load().policy, Seals(["a-master-secret-of-the-tests-0123456789"]))


def test_a_card_calls_arguments_as_its_readers_do() -> None:
    english, chinese = card(Language.EN), card(Language.ZH)
    assert [fact.label for fact in (*english.highlights, *english.arguments)] == ["Amount / 金额", "Payee", "note"]
    assert [fact.label for fact in (*chinese.highlights, *chinese.arguments)] == ["Amount / 金额", "收款方", "备注"]


def test_a_cards_sentence_is_in_the_language_of_its_readers() -> None:
    assert card(Language.EN).title == "Pay Acme Ltd 80,000"
    assert card(Language.ZH).title == "向 Acme Ltd 付款 80,000"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("zh: 备注", "zh: 收款方", 'is called like "payee"'),
        ("note: {zh: 备注}", "note: amount / 金额, fee: payee", ""),
        ("note: {zh: 备注}", "note: {fr: Note}", "tools.oa__purchase_pay.labels.note.fr: must be en or zh"),
        ("note: {zh: 备注}", "note: 3", "tools.oa__purchase_pay.labels.note: must be a text, and here is"),
        ('zh: "向 {payee} 付款 {amount}"', 'zh: "向 {payee 付款"', "has a brace that is no field"),
        ("payee: [payee]", "payee: [account]\n    sensitive: [account]", 'shows "account", which is sensitive'),
        ("amount: Amount / 金额,", "", ""),
        ("labels: {payee: {en: Payee, zh: 收款方}, amount: Amount / 金额,", "labels: {note2: amount,", "called like"),
    ],
)
def test_words_that_would_mislead_are_refused(old: str, new: str, why: str) -> None:
    assert old in FILE
    if not why:
        assert load(FILE.replace(old, new)).policy.tools
        return
    with pytest.raises(PolicyFaultsError) as refused:
        load(FILE.replace(old, new))
    assert why in str(refused.value)


def test_a_title_names_arguments_in_the_letters_of_any_script() -> None:
    text = (
        'org: acme\ndefault: deny\ntools: {pay: {title: "支付 {金额} 给 {收款方.名称}", money: [金额], pin: [金额]}}\n'
    )
    tool = load(text).policy.tools["pay"]
    assert title_fields(tool.title or "") == ("金额", "收款方.名称")
    assert title_for(tool, {"金额": 80000, "收款方": {"名称": "Acme"}}) == "支付 80,000 给 Acme"
    with pytest.raises(PolicyFaultsError, match='shows "账号", which is sensitive'):
        load('org: acme\ndefault: deny\ntools: {pay: {title: "支付 {账号}", sensitive: [账号]}}\n')
