"""What people do before they decide, in the gallery: questions, changes, other people, more time, several at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.domain.request.action import Action
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import Audience, GrantStatus, Status
from app.domain.text.language import Language
from examples.gallery_catalogue import ASKED_AT, CHEN, LI, SUN, WANG, ZHAO, Exhibit, grant, payment, settled, vote

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.canonical import JsonValue

_LATER = ASKED_AT + timedelta(minutes=9)
_TEXTS = {
    Language.EN: {
        "question": "Why does the invoice differ from the order?",
        "answer": "The order was before tax; the difference is the tax.",
        "note": "I am travelling today.",
        "freight": "Sea freight, container 7",
        "paper": "Office paper, second quarter",
    },
    Language.ZH: {
        "question": "发票金额为何与订单不同？",
        "answer": "订单为未税金额，差额是税款。",
        "note": "我今天在路上。",
        "freight": "海运费，7 号箱",
        "paper": "第二季度办公用纸",
    },
}


def consulting(language: Language) -> list[Exhibit]:
    """Return every card on which somebody has done more than say yes or no, or is about to."""
    waiting = payment(language)
    asked = replace(waiting, questions=(_question(language, answered=False),))
    return [
        Exhibit(name="a question is open", request=asked),
        Exhibit(name="the question was answered", request=answered(language)),
        Exhibit(name="the requester's own card", request=asked, person=LI, audience=Audience.REQUESTER),
        Exhibit(name="changed: somebody else must approve", request=changed(language)),
        Exhibit(name="an amount lowered: the vote stands", request=_lowered(language)),
        Exhibit(name="approved with changes", request=_ran_changed(language)),
        Exhibit(name="handed over", request=handed_over(language)),
        Exhibit(name="an approver was added", request=added(language)),
        Exhibit(name="step 2 of 2", request=_second_step(language)),
        Exhibit(name="three requests in one card", request=waiting, also=_others(language)),
        Exhibit(name="a person's own card", request=waiting, person=WANG),
    ]


def modals(language: Language) -> list[Exhibit]:
    """Return what Slack shows besides messages: the menu, and the forms that it opens."""
    waiting = payment(language)
    return [
        Exhibit(name="the menu, open", request=waiting, menu_open=True),
        Exhibit(name="Approve with changes", request=waiting, modal=Action.EDIT),
        Exhibit(name="Hand over", request=waiting, modal=Action.HAND_OVER),
        Exhibit(name="Ask a question", request=waiting, modal=Action.ASK),
        Exhibit(name="Answer", request=replace(waiting, questions=(_question(language, answered=False),)),
                person=LI, audience=Audience.REQUESTER, modal=Action.ANSWER),
    ]  # fmt: skip


def answered(language: Language) -> ConfirmationRequest:
    """Return a payment about which somebody asked, and the agent answered."""
    return replace(payment(language), questions=(_question(language, answered=True),))


def changed(language: Language) -> ConfirmationRequest:
    """Return a payment of which somebody changed more than an amount."""
    return _edited(payment(language, amount=88_000, invoice="2026-0181"))


def handed_over(language: Language) -> ConfirmationRequest:
    """Return a payment that somebody decides in the place of somebody else."""
    given = HandOver(by=WANG, to=SUN, at=_LATER, note=_TEXTS[language]["note"])
    stage = Stage(of=("finance",), need=2, open_to=("directors",))
    votes = (vote(SUN, Verdict.APPROVE),)
    return replace(payment(language), stages=(stage,), handovers=(given,), decisions=votes)


def added(language: Language) -> ConfirmationRequest:
    """Return a payment that somebody else must approve as well."""
    request = replace(payment(language), decisions=(vote(ZHAO, Verdict.APPROVE),))
    return replace(request, stages=(*request.stages, Stage(of=(SUN,), need=1, joined=True, added_by=ZHAO)))


def _lowered(language: Language) -> ConfirmationRequest:
    request = _edited(payment(language, amount=60_000))
    return replace(request, only_lowered=True, decisions=(vote(WANG, Verdict.APPROVE),))


def _ran_changed(language: Language) -> ConfirmationRequest:
    approved = replace(
        _lowered(language),
        decisions=(vote(WANG, Verdict.APPROVE), vote(CHEN, Verdict.APPROVE)),
        grant=grant(GrantStatus.ISSUED),
    )
    return settled(approved, Status.APPROVED, CHEN)


def _second_step(language: Language) -> ConfirmationRequest:
    stages = (Stage(of=("finance",), need=1), Stage(of=("directors",), need=1))
    return replace(payment(language), stages=stages, decisions=(vote(WANG, Verdict.APPROVE),))


def _others(language: Language) -> tuple[ConfirmationRequest, ...]:
    texts = _TEXTS[language]
    freight = payment(language, payee="Northwind Freight", amount=62_500, invoice="2026-0119", memo=texts["freight"])
    paper = payment(language, payee="晨光文具 Chenguang", amount=51_200, invoice="2026-0120", memo=texts["paper"])
    denied = settled(replace(freight, decisions=(vote(ZHAO, Verdict.DENY),)), Status.DENIED, ZHAO)
    return (
        replace(denied, id="req_8c1m5q", code="P2TE-9HDV"),
        replace(paper, id="req_9n3s7r", code="B6XW-4JGN"),
    )


def _edited(request: ConfirmationRequest) -> ConfirmationRequest:
    before: dict[str, JsonValue] = {**request.call.arguments, "amount": 80_000, "invoice": "2026-0118"}
    return replace(request, proposed=before, edited_by=WANG)


def _question(language: Language, *, answered: bool) -> Question:
    texts = _TEXTS[language]
    question = Question(id="q_1", by=ZHAO, text=texts["question"], at=_LATER)
    if not answered:
        return question
    return replace(
        question, answer=texts["answer"], answered_by="agent:payer", answered_at=_LATER + timedelta(minutes=4)
    )
