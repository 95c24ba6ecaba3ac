"""The cards that the suite posts."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from app.domain.card.card import Buttons, Card, Control, Fact, Tone
from app.domain.card.form import Field, FieldKind, Form
from app.domain.request.action import Action
from app.domain.text.language import Language

LONGEST_TOKEN = 200  # `Buttons` promises no more


def sealed(letter: str, mark: str = "0", *, length: int = 87) -> str:
    """Return a token in the gateway's own form and length; `mark` tells requests apart."""
    tail = f".{letter}.{'0f' * 20}"
    head = f"a1.0123abcd.{mark}"
    return head + "h" * (length - len(head) - len(tail)) + tail


APPROVE, DENY = sealed("y"), sealed("n")
HOSTILE = "<!channel> <at id=all></at> *bold* [Approve](https://evil.example) `code` <@U061F7AUR> &lt; :tada: {{x}}"
REASON = Form(
    title="Deny",
    submit="Deny",
    cancel="Cancel",
    note="Pay 80000 CNY to Acme Ltd",
    fields=(Field(name="reason", label="Reason", hint="Why not?"),),
)
TYPED = Field(name="typed", label="Type 7K3M-9QXA to approve", kind=FieldKind.LINE, hint="It stands at the end.")
TYPING = Form(title="Approve", submit="Approve", cancel="Cancel", note="Pay 80000 CNY to Acme Ltd", fields=(TYPED,))
HAND_OVER = Control(
    action=Action.HAND_OVER,
    label="Hand over",
    token=sealed("h"),
    form=Form(
        title="Hand over",
        submit="Hand over",
        cancel="Cancel",
        note="This person then decides in your place.",
        fields=(
            Field(name="person", label="Who?", kind=FieldKind.PERSON),
            Field(name="note", label="A word about it", kind=FieldKind.LINE),
            Field(name="more", label="More about it", required=False),
        ),
    ),
)
CONTROLS = (
    Control(action=Action.REVIEW, label="See all of it", token=sealed("v")),
    Control(action=Action.REMIND, label="Remind", token=sealed("r")),
    Control(action=Action.EXTEND, label="More time", token=sealed("x")),
)


def waiting_card(
    *, approve: str | None = APPROVE, deny: str = DENY, withheld: str | None = None, value: str = "Acme Ltd"
) -> Card:
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
            deny=deny,
            approve_label="Approve",
            deny_label="Deny",
            reason_label="Reason",
            reason_hint="Why not?",
            confirm_title="Approve?",
            confirm_text="Pay 80000 CNY to Acme Ltd",
            cancel_label="Cancel",
        ),
    )


def whole_card(mark: str) -> Card:
    """Return a waiting card on which everything stands that can stand on one, each text unlike all others."""
    then = f"{mark} is denied if nobody decides"
    plain = waiting_card(approve=sealed("y", mark), deny=sealed("n", mark))
    return replace(
        plain,
        tone=Tone.WARNED,
        headline=f"Asked {mark}",
        title=f"Pay 1 to {mark}Ltd",
        tool=f"oa__{mark}_pay",
        highlights=_facts(mark, "how much", "to whom"),
        warnings=(f"Payee {mark} is new", f"Account of {mark} was changed", f"{mark} is paid twice"),
        warned=3,
        caution=f"new payee {mark}",
        facts=_facts(mark, "who asks", "why"),
        arguments=_facts(mark, "memo", "iban"),
        hidden=f"2 values of {mark} are not shown",
        agent_says=Fact(label=f"{mark}bot says", value=f"It is due to {mark}."),
        footer=f"{mark}K3M-9QXA · req_{mark}",
        progress=f"1 of 3 approvals of {mark}",
        until=Fact(label=f"Decide {mark} by", value=f"10:30 (UTC+0) · {then}"),
        then=then,
        changes=_facts(mark, "changed amount"),
        details=_facts(mark, "rule", "exact deadline"),
        dialogue=_facts(mark, "Ann asks", "Rex answers"),
        buttons=plain.buttons and replace(plain.buttons, approve_label=f"Approve {mark}", deny_label=f"Deny {mark}"),
    )


def texts_of(card: Card) -> list[str]:
    """Return what a reader of this card must find on it, and of those that share its message."""
    said = [card.title, card.tool, card.footer, card.progress, card.withheld, card.hidden, card.then]
    said += [card.outcome or card.headline, "" if card.outcome else card.caution, *card.warnings]
    facts = [*card.highlights, *card.facts, *card.arguments, *card.changes, *card.details, *card.dialogue]
    facts += [card.agent_says] if card.agent_says else []
    said += [text for fact in facts for text in (fact.label, fact.value)]
    if card.until:  # a platform with dates of its own shows everybody theirs
        said += [card.until.label, "10:30"]
    return [text for text in said if text] + [text for other in card.also for text in texts_of(other)]


def _facts(mark: str, *labels: str) -> tuple[Fact, ...]:
    return tuple(Fact(label=f"{label} {mark}", value=f"<{label}> of {mark}") for label in labels)


SETTLED = replace(
    waiting_card(),
    tone=Tone.GOOD,
    headline="Approved",
    buttons=None,
    deadline=None,
    outcome="Approved by Alice",
    revision=2,
)
