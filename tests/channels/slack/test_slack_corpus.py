"""From what people and agents say around a call to Slack's JSON: nothing of it is acted upon or lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.domain.card.form import Field, FieldKind, Form
from app.domain.request.consultation import Question
from app.domain.text.visible import visible
from app.ports import Click, ClickOutcome, ClickResult, Notice
from channels.slack.card import TEXT_BUDGET, outcome_modal, private_note, render, thread_note
from channels.slack.details.forms import modal
from channels.slack.simulator.blocks import check_blocks, check_view, markup_in, stray_markup
from tests.channels.test_card_corpus import CORPUS, PAYLOADS, WRAPPERS, card, hostile, nodes
from tests.domain.samples import START, a_call
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest

DATE = "<!date^1772361000^{date_short_pretty} {time}|2026-03-01 10:30 UTC>"
CLICK = Click(
    token="a1.k1.handle.q.mac",
    app_id="A0APPR0VAL",
    tenant="T9TK3CUKW",
    account_id="U061F7AUR",
    chat_id="CBR2V3XEX",
    message_id="1700000000.123459",
    event_key="k",
    wants_form=True,
)


def corpus(wrapper: str) -> list[str]:
    return CORPUS[WRAPPERS.index(wrapper) * len(PAYLOADS) :][: len(PAYLOADS)]


def talked_over(text: str) -> ConfirmationRequest:
    """Put a text wherever people and agents can put one after the call was made."""
    request = hostile("x")
    question = Question(
        id="q_1",
        by="ann@acme.example",
        text=text,
        at=START,
        answer=text,
        answered_by=f"agent:{text}",
        answered_at=START,
    )
    unanswered = Question(id="q_2", by=text, text=text, at=START)
    changed = a_call(arguments={**request.call.arguments, "payee": text})
    return replace(
        request,
        call=changed,
        proposed={**request.call.arguments, "payee": f"{text} Ltd"},
        edited_by="ann@acme.example",
        questions=(question, unanswered),
    )


def shown(branch: object) -> str:
    plain = [node for node in nodes(branch) if node.get("type") == "plain_text"]
    assert all(node["emoji"] is False for node in plain)
    return "".join(str(node["text"]) for node in plain)


@requirement("S-18", "S-19")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.heavy
@pytest.mark.sampled(4)
def test_slack_acts_on_nothing_that_was_asked_answered_or_changed_and_shows_all_of_it(wrapper: str) -> None:
    for text in corpus(wrapper):
        talked = card(talked_over(text), TEXT_BUDGET)
        assert (len(talked.dialogue), len(talked.changes)) == (3, 1)
        for shape in (talked, replace(card(hostile("x"), TEXT_BUDGET), also=(talked,))):
            notice, blocks = render(shape)
            check_blocks(blocks)
            marked = [str(node["text"]) for node in nodes(blocks) if node.get("type") == "mrkdwn"]
            assert set(marked) == {DATE}, text
            assert markup_in(blocks) == [], text
            assert stray_markup(notice) == [], text
            assert shown(blocks).count(visible(text)) >= 6, text


@requirement("S-18", "S-19")
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_slack_acts_on_nothing_in_a_form_a_notice_or_an_answer_and_shows_all_of_it(wrapper: str) -> None:
    for raw in corpus(wrapper):
        text = visible(raw)
        field = Field(name="text", label=text, value=text, hint=text, kind=FieldKind.TEXT)
        view = modal(Form(title=text, submit=text, cancel=text, note=text, fields=(field,)), CLICK)
        check_view(view)
        assert not [node for node in nodes(view) if node.get("type") == "mrkdwn"], text
        assert shown(view).count(text) >= 3, text
        said = ClickOutcome(result=ClickResult.REFUSED, sentence=text, link=text if text.startswith("<") else "")
        note, outcome = private_note(said), outcome_modal(said)
        check_view(outcome)
        check_blocks(note["blocks"])
        assert not [node for node in (*nodes(outcome), *nodes(note)) if node.get("type") == "mrkdwn"], text
        assert text in shown(outcome)
        assert shown(note["blocks"]) == text
        line, blocks = thread_note(Notice(text=text, mentions=(text, "U061F7AUR"), key="note-1"))
        check_blocks(blocks)
        assert markup_in(blocks) == ["<@U061F7AUR>"], text
        assert [found for found in stray_markup(line) if not found.startswith("http")] == ["<@U061F7AUR>"], text
        assert shown(blocks) == text
