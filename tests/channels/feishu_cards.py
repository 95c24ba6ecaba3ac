"""Cards for the Feishu tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from app.domain.card import Buttons, Card, Fact, Language, Tone

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
