"""From what people and agents say about a call to Feishu's JSON: talk and changes act on nothing and hide nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from app.domain.card.card import Control
from app.domain.card.card_for import card_for
from app.domain.card.form import Field, Form
from app.domain.card.shown_call import Terms
from app.domain.request.action import Action
from app.domain.request.consultation import Question
from app.domain.request.quorum import Tally
from app.domain.text.language import Language
from app.domain.text.visible import visible
from channels.feishu.card import TEXT_BUDGET, render_content
from channels.feishu.simulator.cards import check_card, list_controls, list_texts
from tests.channels.test_card_corpus import CORPUS, PAYLOADS, WRAPPERS, nodes
from tests.domain.samples import START, a_call, a_request
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.card.card import Card

TAGS = {"div", "plain_text", "column_set", "column", "hr", "button", "form", "input"}


def talked_about(text: str) -> Card:
    """Return an approver's own card of a request in whose questions, answers and changes a text stands."""
    asked = Question(
        id="q_1",
        by="ann@acme.example",
        text=text,
        at=START,
        answer=text,
        answered_by=f"agent:{text}",
        answered_at=START,
    )
    request = replace(
        a_request(call=a_call(arguments={"memo": text}, claim=None), sensitive=(), pinned=()),
        questions=(asked, replace(asked, id="q_2", answer=None, answered_by=None)),
        proposed={"memo": f"{text}!"},
        edited_by="ann@acme.example",
    )
    form = Form(
        title="Ask", submit="Ask", cancel="Cancel", note=visible(text), fields=(Field(name="text", label="What?"),)
    )
    terms = Terms(language=Language.EN, name_of=visible, money=(), review="See it at the gate.")
    return card_for(
        request,
        terms,
        revision=1,
        tally=Tally(have=(0,), stage=0, met=False),
        tokens=("sealed-yes", "sealed-no"),
        budget=TEXT_BUDGET,
        controls=(Control(action=Action.ASK, label="Ask", token="sealed-ask", form=form),),
        own=True,
    )


@requirement("S-18", "S-19")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.heavy
@pytest.mark.sampled(4)
def test_questions_answers_and_changes_act_on_nothing_and_are_shown_whole(wrapper: str) -> None:
    for text in CORPUS[WRAPPERS.index(wrapper) * len(PAYLOADS) :][: len(PAYLOADS)]:
        rendered = check_card(json.loads(render_content(talked_about(text))))
        assert {str(node["tag"]) for node in nodes(rendered) if "tag" in node} == TAGS, text
        tokens = [cast("dict[str, object]", control.value)["t"] for control in list_controls(rendered)]
        assert tokens == ["sealed-yes", "sealed-no", "sealed-ask"], text
        # The argument, what it was and is, two questions, an answer and who gave it, and the note of the form.
        assert "\n".join(list_texts(rendered)).count(visible(text)) >= 8, text
