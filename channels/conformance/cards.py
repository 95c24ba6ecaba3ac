"""The cards that the suite posts."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from app.domain.card.card import Buttons, Card, Fact, Tone
from app.domain.card.form import Field, Form
from app.domain.text.language import Language

APPROVE, DENY = "a1.k1.handle.y.mac", "a1.k1.handle.n.mac"
HOSTILE = "<!channel> <at id=all></at> *bold* [Approve](https://evil.example) `code` <@U061F7AUR> &lt; :tada: {{x}}"
REASON = Form(
    title="Deny",
    submit="Deny",
    cancel="Cancel",
    note="Pay 80000 CNY to Acme Ltd",
    fields=(Field(name="reason", label="Reason", hint="Why not?"),),
)


def waiting_card(*, approve: str | None = APPROVE, withheld: str | None = None, value: str = "Acme Ltd") -> Card:
    """Return the card of a payment that waits; `value` stands wherever an agent can write something."""
    return Card(
        request_id="req_01",
        revision=1,
        language=Language.EN,
        tone=Tone.WAITING,
        headline="Approval needed",
        title="Pay 80000 CNY to Acme Ltd",
        tool="oa__purchase_pay",
        facts=(Fact(label="Payee", value=value), Fact(label="Amount", value="80000")),
        arguments=(Fact(label="memo", value=value),),
        agent_says=Fact(label="The agent says", value=value),
        footer="7K3M-9QXA · req_01",
        outcome=None,
        progress="0 of 1 approvals",
        withheld=withheld,
        deadline=datetime(2026, 3, 1, 10, 30, tzinfo=UTC),
        buttons=Buttons(
            approve=approve,
            deny=DENY,
            approve_label="Approve",
            deny_label="Deny",
            reason_label="Reason",
            reason_hint="Why not?",
            confirm_title="Approve?",
            confirm_text="Pay 80000 CNY to Acme Ltd",
            cancel_label="Cancel",
        ),
    )


SETTLED = replace(
    waiting_card(),
    tone=Tone.GOOD,
    headline="Approved",
    buttons=None,
    deadline=None,
    outcome="Approved by Alice",
    revision=2,
)
