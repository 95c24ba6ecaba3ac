"""Cards for the Feishu tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from app.domain.card.card import Buttons, Card, Control, Fact, Tone
from app.domain.card.form import Field, FieldKind, Form
from app.domain.request.action import Action
from app.domain.text.language import Language

APPROVE, DENY = "a1.k1.handle.y.mac", "a1.k1.handle.n.mac"


def a_card(**changes: Any) -> Card:
    """Return a pending payment with two pinned facts; `changes` replace fields."""
    fields: dict[str, Any] = {
        "request_id": "req_01",
        "revision": 1,
        "language": Language.ZH,
        "tone": Tone.WAITING,
        "headline": "需要审批",
        "title": "向 Acme 付款 80000 CNY",
        "tool": "oa__purchase_pay",
        "facts": (Fact(label="收款方", value="Acme"), Fact(label="金额", value="80000")),
        "arguments": (Fact(label="备注", value="三月"),),
        "agent_says": None,
        "footer": "7K3M-9QXA · req_01",
        "outcome": None,
        "progress": "0/1 已同意",
        "withheld": None,
        "deadline": datetime(2026, 3, 1, 10, 30, tzinfo=UTC),
        "buttons": some_buttons(),
    }
    return Card(**(fields | changes))


def some_buttons(*, approve: str | None = APPROVE) -> Buttons:
    """Return live controls."""
    return Buttons(
        approve=approve,
        deny=DENY,
        approve_label="同意",
        deny_label="拒绝",
        reason_label="拒绝理由",
        reason_hint="请填写理由",
        confirm_title="同意？",
        confirm_text="向 Acme 付款 80000 CNY",
        cancel_label="取消",
    )


def a_form(*fields: Field, title: str = "转交", note: str = "谁来替您决定？") -> Form:
    """Return the form of a hand-over, or of other fields."""
    person = Field(name="person", label="选择人员", kind=FieldKind.PERSON)
    word = Field(name="note", label="附言（选填）", kind=FieldKind.LINE, required=False)
    return Form(title=title, submit=title, cancel="取消", note=note, fields=fields or (person, word))


def a_control(action: Action, *, label: str = "", form: Form | None = None) -> Control:
    """Return a control whose token names its action."""
    return Control(action=action, label=label or action.value, token=f"a1.k1.handle.{action.value}", form=form)


def an_edit() -> Control:
    """Return Approve with changes, for one amount."""
    amount = Field(name="amount", label="金额", kind=FieldKind.LINE, value="80000")
    return a_control(Action.EDIT, label="修改后批准", form=a_form(amount, title="修改后批准", note=""))


def own_controls() -> tuple[Control, ...]:
    """Return what stands on the card of one approver of their own."""
    question = Field(name="text", label="您想了解什么？")
    return (
        an_edit(),
        a_control(Action.ASK, label="退回询问", form=a_form(question, title="退回询问", note="")),
        a_control(Action.HAND_OVER, label="转交", form=a_form()),
        a_control(Action.ADD, label="加签", form=a_form(title="加签", note="谁也必须同意？")),
        a_control(Action.REMIND, label="催办"),
        a_control(Action.EXTEND, label="延长时限"),
    )


def chat_controls() -> tuple[Control, ...]:
    """Return what stands on a chat's card."""
    return (a_control(Action.REVIEW, label="查看全文"), a_control(Action.MORE, label="更多…"))
