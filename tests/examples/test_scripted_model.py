"""The example's stand-in for a model: what it answers fits what was asked, in the language of the question."""

from __future__ import annotations

import pytest

from app.domain.text.language import Language
from examples.demo.orders import DROP, PAYMENTS, WIRE
from examples.scripted_model import DROP as DROP_TABLE
from examples.scripted_model import Message, answer, explain

ONE = {"payee": "恒通钢铁", "amount": 80_000, "invoice": "2026-0118", "bank_account": "6222020200112233445"}


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("Why is this more than the order?", "tax in invoice 2026-0118"),
        ("Is this the right bank account?", "I have not checked it with 恒通钢铁"),
        ("When is it due?", "due today, says invoice 2026-0118"),
        ("Who asked for this?", "A user asked me to"),
        ("What colour is the steel?", "I do not know that. All that I have is invoice 2026-0118"),
        ("为什么比订单多？", "发票 2026-0118含税"),
        ("账号核对过吗？", "我没有与恒通钢铁核对过"),
        ("什么时候到期？", "今天到期"),
        ("谁要付的？", "是用户让我付的"),
        ("钢材是什么颜色？", "这个我不知道"),
    ],
)
def test_an_approvers_question_is_answered_as_it_was_asked(question: str, answered: str) -> None:
    said = explain(question, ONE)
    assert answered in said
    assert ONE["bank_account"] not in said


def test_a_question_about_a_batch_a_wire_or_a_table_is_answered_by_what_the_call_says() -> None:
    lines = [{"payee": f"P{n}", "invoice": f"I-{n}"} for n in (1, 2)]
    assert "invoice I-1, I-2 from P1, P2" in explain("Why so late?", {"lines": lines})
    assert "invoice 2026-9" in explain("Is there tax?", {"payee": "Meridian", "reference": "2026-9"})
    assert explain("Is it safe?", {"table": "staging_1"}) == "Nothing reads staging_1 any more; I kept no copy."
    assert "没有备份" in explain("安全吗？", {"table": "staging_1"})


@pytest.mark.parametrize(
    ("result", "en", "zh"),
    [
        (
            "Paid 80,000 CNY to X, receipt A-0001.",
            "Done. Paid 80,000 CNY to X, receipt A-0001.",
            "已完成，回执 A-0001。",
        ),
        ("denied: no", "I did not pay, and I will not try another way.", "我没有付款，也不会换别的办法。"),
        (
            "It is not known whether this was paid.",
            "I do not know whether it was paid, and I will not pay it again. People can find out.",
            "我不知道是否已付款，也不会再付一次。请人来查。",
        ),
    ],
)
def test_an_end_is_told_in_the_language_of_the_order(result: str, en: str, zh: str) -> None:
    for language, told in ((Language.EN, en), (Language.ZH, zh)):
        order = Message(role="user", text=PAYMENTS["large"].order("2026-0118", language))
        assert answer([order, answer([order]), Message(role="tool", text=result)]).text == told


def test_who_was_refused_a_table_does_not_speak_of_paying() -> None:
    order = Message(role="user", text=DROP.order("2026-0118"))
    call = answer([order])
    assert call.tool == DROP_TABLE
    assert answer([order, call, Message(role="tool", text="denied")]).text == (
        "I did not do it, and I will not try another way."
    )
    assert answer([Message(role="user", text="Sing!")]).arguments is None
    assert answer([Message(role="user", text=WIRE.order("2026-0118"))]).text == WIRE.why
