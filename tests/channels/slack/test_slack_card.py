"""What a person sees in Slack: inert, whole, within the platform's limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.card.card import Control, Fact, Tone
from app.domain.card.card_for import card_for
from app.domain.card.form import MOST, Field, FieldKind, Form
from app.domain.card.shown_call import Terms
from app.domain.request.action import Action
from app.domain.request.request import ExecutionStatus, GrantStatus, State, Status
from app.domain.text.language import Language
from app.ports import ChannelRefusedError, Click, ClickOutcome, ClickResult, Notice
from channels.slack.card import TEXT_BUDGET, outcome_modal, private_note, render, thread_note
from channels.slack.controls import token_of_option
from channels.slack.details.forms import modal
from channels.slack.details.texts import escape, plain
from channels.slack.simulator.blocks import check_blocks, check_view, markup_in, stray_markup
from tests.channels.slack.conformance_slack import CARD, HAND_OVER, HEAD, LABELS, REASON, SETTLED, controls, token
from tests.domain.samples import approved, claimed, settled
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.card.card import Card
    from app.domain.request.request import ConfirmationRequest

SETTLED_REQUESTS = [
    approved(),
    approved(grant=GrantStatus.LAPSED),
    *(claimed(status) for status in ExecutionStatus),
    *(settled(status) for status in Status if status.final and status is not Status.APPROVED),
]
HOSTILE = [
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<!subteam^S0123456>",
    "<@U061F7AUR>",
    "<#C024BE7LR|general>",
    "<https://evil.example|Approve>",
    "https://evil.example/approve",
    "<mailto:a@evil.example|Approve>",
    "<!date^0^{date}^https://evil.example|soon>",
    "*bold* _italic_ ~gone~ `code` ```fence```",
    "&lt;!here&gt;",
    "&amp;lt;!here&amp;gt;",
    ":white_check_mark: :alert:",
    "> quoted\n• listed",
    "[label](https://evil.example)",
    "<b>html</b><img src=x onerror=alert(1)>",
    "@channel @here @everyone",
    "{{amount}} ${amount} %s",
    "\\u{202E}\\u{200B}",
    "\N{PILE OF POO}\N{FAMILY}\U000e0041",
    '"}],"type":"actions"',
]


def plain_texts(branch: object) -> Iterator[str]:
    match branch:
        case {"type": "plain_text", "text": str(text), **rest}:
            assert rest == {"emoji": False}
            yield text
        case dict():
            for value in branch.values():
                yield from plain_texts(value)
        case list():
            for value in branch:
                yield from plain_texts(value)
        case _:
            pass


def joined(blocks: list[dict[str, object]]) -> str:
    return "".join(plain_texts(blocks))


def with_text(text: str) -> Card:
    fact = Fact(label="memo", value=text)
    return replace(
        CARD,
        title=text,
        highlights=(fact,),
        changes=(fact,),
        dialogue=(fact,),
        warnings=(text,),
        facts=(fact,),
        arguments=(fact,),
        hidden=text,
        agent_says=fact,
        progress=text,
        withheld=text,
        then=text,
        footer=text,
    )


def actions(card: Card) -> list[dict[str, object]]:
    found = [block for block in render(card)[1] if block["type"] == "actions"]
    return cast("list[dict[str, object]]", found[0]["elements"]) if found else []


@requirement("S-18")
@pytest.mark.parametrize("text", HOSTILE)
def test_markup_from_outside_is_shown_and_never_acted_upon(text: str) -> None:
    notice, blocks = render(with_text(text))
    check_blocks(blocks)
    assert markup_in(blocks) == []
    assert [m for m in stray_markup(notice) if not m.startswith("http")] == []  # parse=none keeps bare addresses inert
    assert joined(blocks).count(text) >= 13


@given(st.text(min_size=1, max_size=400))
def test_any_text_comes_back_out_of_the_blocks_exactly(text: str) -> None:
    _, blocks = render(replace(CARD, arguments=(Fact(label="memo", value=text),)))
    check_blocks(blocks)
    assert f"memo\n{text}" in joined(blocks)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=40), st.text(max_size=2500)), max_size=12))
def test_any_card_within_the_budget_fits_slack(pairs: list[tuple[str, str]]) -> None:
    card = replace(CARD, arguments=tuple(Fact(label=label, value=value) for label, value in pairs))
    if card.size() > TEXT_BUDGET:
        with pytest.raises(ChannelRefusedError):
            render(card)
    else:
        check_blocks(render(card)[1])


def test_a_long_value_goes_over_several_blocks_without_loss() -> None:
    value = "".join(f"{number:04d} & <tag> " for number in range(600))
    _, blocks = render(replace(CARD, arguments=(Fact(label="body", value=value),)))
    check_blocks(blocks)
    assert f"body\n{value}" in joined(blocks)
    assert len([b for b in blocks if str(b["block_id"]).startswith("assent_argument_0")]) > 3


def test_hundreds_of_arguments_share_blocks_without_loss() -> None:
    arguments = tuple(Fact(label=f"name{number}", value=f"value{number}") for number in range(400))
    _, blocks = render(replace(CARD, arguments=arguments))
    check_blocks(blocks)
    assert all(f"{fact.label}\n{fact.value}" in joined(blocks) for fact in arguments)


def test_many_and_long_facts_fit() -> None:
    facts = tuple(Fact(label=f"pin{n}", value="v" * (2100 if n == 3 else 20)) for n in range(23))
    _, blocks = render(replace(CARD, facts=facts))
    check_blocks(blocks)
    assert all(fact.value in joined(blocks) for fact in facts)


def test_hundreds_of_facts_share_blocks_without_loss() -> None:
    facts = tuple(Fact(label="" if n % 2 else f"pin{n}", value=f"value{n}") for n in range(600))
    _, blocks = render(replace(CARD, facts=facts))
    check_blocks(blocks)
    assert all(fact.value in joined(blocks) for fact in facts)


def test_a_card_over_the_budget_is_refused_instead_of_cut() -> None:
    with pytest.raises(ChannelRefusedError, match="9000 whole"):
        render(replace(CARD, arguments=(Fact(label="body", value="x" * TEXT_BUDGET),)))


def test_the_sentence_is_large_and_the_facts_stand_before_the_rest() -> None:
    _, blocks = render(CARD)
    kinds = [(block["type"], block["block_id"]) for block in blocks]
    assert kinds[:3] == [("section", "assent_headline"), ("header", "assent_title"), ("context", "assent_deadline")]
    names = [name for _, name in kinds]
    order = ["assent_decision", "assent_facts", "assent_progress", "assent_argument_0", "assent_claim", "assent_footer"]
    assert [name for name in names if name in order] == order
    assert next(plain_texts(blocks)) == "🟠 Approval needed"


def test_a_sentence_too_long_for_a_header_is_shown_whole_as_text() -> None:
    _, blocks = render(replace(CARD, title="long " * 60))
    check_blocks(blocks)
    assert "long " * 60 in joined(blocks)
    assert all(block["type"] != "header" for block in blocks)


def test_the_deadline_shows_in_everybodys_own_time_zone() -> None:
    _, blocks = render(CARD)
    deadline = next(block for block in blocks if block["block_id"] == "assent_deadline")
    token = "<!date^1772361000^{date_short_pretty} {time}|2026-03-01 10:30 UTC>"
    assert deadline["elements"] == [plain("⏳"), {"type": "mrkdwn", "text": token}]


def test_the_deadline_stands_there_once_under_its_own_label() -> None:
    until = Fact(label="Decide by", value="10:30 · then not paid")
    forged = Fact(label="memo", value="2026-03-01 10:30 UTC")
    card = replace(CARD, arguments=(forged,), until=until, then="then not paid")
    _, blocks = render(card)
    check_blocks(blocks)
    deadline = next(block for block in blocks if block["block_id"] == "assent_deadline")
    elements = cast("list[object]", deadline["elements"])
    assert (elements[0], elements[2]) == (plain("⏳ Decide by"), plain("· then not paid"))
    assert joined(blocks).count("10:30") == 1  # the argument that says the same is still there


def test_how_much_and_to_whom_stand_large_and_above_the_facts() -> None:
    large = (Fact(label="amount", value="¥80,000.00 CNY"), Fact(label="payee", value="Acme Ltd"))
    _, blocks = render(replace(CARD, highlights=large, warnings=("payee: look twice.",)))
    check_blocks(blocks)
    assert [block["text"] for block in blocks if block["type"] == "header"] == [
        plain("amount: ¥80,000.00 CNY"),
        plain("payee: Acme Ltd"),
    ]
    order = ["assent_highlight_0", "assent_highlight_1", "assent_warnings", "assent_deadline"]
    order += ["assent_decision", "assent_title", "assent_facts"]
    assert [block["block_id"] for block in blocks if block["block_id"] in order] == order
    assert "⚠️ payee: look twice." in joined(blocks)


def test_buttons_carry_the_token_alone_and_approve_asks_again() -> None:
    approve, deny = actions(CARD)
    assert (approve["action_id"], approve["value"]) == ("assent_approve", "sealed-approve")
    assert (deny["action_id"], deny["value"]) == ("assent_deny", "sealed-deny")
    assert next(plain_texts(approve["confirm"])) == "Approve?"
    assert "confirm" not in deny


@requirement("F-70")
def test_on_a_warned_card_approve_is_not_ready_and_the_line_on_the_phone_says_why() -> None:
    assert [each.get("style") for each in actions(CARD)] == ["primary", "danger"]
    warned = replace(
        CARD, tone=Tone.WARNED, warnings=("New account.", "Over."), warned=2, caution="New bank details +1"
    )
    assert [each.get("style") for each in actions(warned)] == [None, "danger"]
    notice, blocks = render(warned)
    assert notice == "🔴 ⚠️ New bank details +1 · Approval needed: Pay 80000 CNY to Acme Ltd"
    order = ["assent_headline", "assent_warnings", "assent_decision", "assent_warnings_more", "assent_facts"]
    assert [block["block_id"] for block in blocks if block["block_id"] in order] == order


@requirement("F-70")
def test_asking_again_is_the_last_thing_on_a_card_and_looks_like_nothing_that_is_ready() -> None:
    card = replace(SETTLED, controls=(Control(action=Action.REOPEN, label="Ask again", token="a1.k.h.o.m"),))
    _, blocks = render(card)
    assert blocks[-1]["type"] == "actions"
    assert [each.get("style") for each in actions(card)] == [None]


def test_a_withheld_approval_leaves_deny_alone_and_says_why() -> None:
    assert CARD.buttons is not None
    card = replace(CARD, withheld="The text cannot be shown whole.", buttons=replace(CARD.buttons, approve=None))
    assert [button["action_id"] for button in actions(card)] == ["assent_deny"]
    assert "The text cannot be shown whole." in joined(render(card)[1])


@pytest.mark.parametrize("request_", SETTLED_REQUESTS, ids=lambda request: request.state.value)
@pytest.mark.parametrize("language", Language)
def test_a_settled_card_says_the_outcome_once_and_first(request_: ConfirmationRequest, language: Language) -> None:
    card = card_for(
        request_, Terms(language=language, name_of=lambda _: "Ann"), revision=2, tally=None, tokens=None, budget=9_000
    )
    notice, blocks = render(card)
    check_blocks(blocks)
    assert card.outcome is not None
    assert next(plain_texts(blocks)) == card.outcome
    assert joined(blocks).count(card.outcome) == 1
    assert notice == escape(f"{card.outcome.rstrip('.。')}: {card.title}")
    assert sum(notice.count(mark) for mark in ("✅", "⛔", "⌛", "❌", "⚠️", "⏳")) == 1
    assert notice.startswith("✅") == (request_.state in {State.APPROVED, State.SUCCEEDED})


def test_a_settled_card_cannot_be_pressed() -> None:
    assert actions(SETTLED) == []


def test_a_pending_notification_says_what_is_wanted() -> None:
    assert render(CARD)[0] == "🟠 Approval needed: Pay 80000 CNY to Acme Ltd"


def test_overlong_labels_of_ours_are_shortened_rather_than_refused() -> None:
    assert CARD.buttons is not None
    long = replace(
        CARD.buttons,
        approve_label="批准" * 60,
        deny_label="拒绝" * 60,
        confirm_title="?" * 300,
        confirm_text="!" * 900,
        cancel_label="",
    )
    card = replace(CARD, buttons=long)
    check_blocks(render(card)[1])
    field = Field(name="reason", label="why " * 900, hint="")
    check_view(modal(Form(title="拒绝" * 60, submit="", cancel="", note="n" * 7_000, fields=(field,)), CLICK))


CLICK = Click(
    token="s" * 200,
    app_id="A0APPR0VAL",
    tenant="T9TK3CUKW",
    account_id="U061F7AUR",
    chat_id="CBR2V3XEX",
    message_id="1700000000.123459",
    event_key="k",
    wants_form=True,
)


@pytest.mark.parametrize("form", [REASON, HAND_OVER], ids=lambda form: form.title)
def test_what_is_typed_into_a_form_may_be_as_long_as_on_every_platform(form: Form) -> None:
    inputs = inputs_of(modal(form, CLICK))
    assert {box["max_length"] for box in inputs if box["type"] == "plain_text_input"} == {MOST}


def inputs_of(view: dict[str, object]) -> list[dict[str, object]]:
    check_view(view)
    blocks = cast("list[dict[str, object]]", view["blocks"])
    return [cast("dict[str, object]", block["element"]) for block in blocks if block["type"] == "input"]


@requirement("S-18")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_form_is_inert_and_carries_token_and_place_alone(text: str) -> None:
    line = Field(name="f_1", label=text, hint=text, value=text, kind=FieldKind.LINE)
    person = Field(name="person", label=text, value=text, kind=FieldKind.PERSON, required=False)
    view = modal(Form(title=text, submit=text, cancel=text, note=text, fields=(line, person)), CLICK)
    check_view(view)
    assert markup_in([view]) == []
    assert text in joined([view])
    assert [box.get("initial_value", box.get("initial_user")) for box in inputs_of(view)] == [text, None]
    place = {"v": 1, "token": CLICK.token, "chat": "CBR2V3XEX", "ts": "1700000000.123459", "fields": ["f_1", "person"]}
    assert json.loads(str(view["private_metadata"])) == place


def test_each_kind_of_field_has_the_input_that_slack_has_for_it() -> None:
    fields = (
        Field(name="who", label="Who?", kind=FieldKind.PERSON, value="U061F7AUR"),
        Field(name="amount", label="Amount", kind=FieldKind.LINE, value="80000"),
        Field(name="why", label="Why?", required=False),
    )
    view = modal(replace(HAND_OVER, fields=fields), CLICK)
    who, amount, why = inputs_of(view)
    assert (who["type"], who["initial_user"]) == ("users_select", "U061F7AUR")
    assert (amount["multiline"], amount["initial_value"], amount["min_length"]) == (False, "80000", 1)
    assert (why["multiline"], "initial_value" in why, "min_length" in why) == (True, False, False)
    asked = cast("list[dict[str, object]]", view["blocks"])[1:]
    assert [block["optional"] for block in asked] == [False, False, True]


def test_a_form_that_a_modal_cannot_carry_whole_is_refused() -> None:
    long = Field(name="memo", label="Memo", value="x" * (MOST + 1))
    many = tuple(Field(name=f"field_{number}", label="?") for number in range(120))
    for form in (replace(REASON, fields=(long,)), replace(REASON, fields=many)):
        with pytest.raises(ChannelRefusedError):
            modal(form, CLICK)


@pytest.mark.parametrize("text", HOSTILE)
def test_private_answers_are_inert_as_well(text: str) -> None:
    outcome = ClickOutcome(result=ClickResult.REFUSED, sentence=text)
    note = private_note(outcome)
    check_blocks(note["blocks"])
    assert joined(cast("list[dict[str, object]]", note["blocks"])) == text
    assert note["text"] == escape(text)
    check_view(outcome_modal(outcome))


def test_a_link_for_one_person_can_be_followed_and_is_not_in_what_notifications_show() -> None:
    link = "https://assent.example/sign-in?t=r1.0f-_&x=1"
    outcome = ClickOutcome(result=ClickResult.RECORDED, sentence=f"For your eyes only: {link}", link=link)
    note = private_note(outcome)
    blocks = cast("list[dict[str, object]]", note["blocks"])
    check_blocks(blocks)
    assert (note["text"], joined(blocks)) == ("For your eyes only:", "For your eyes only:")
    assert blocks[-1]["text"] == {"type": "mrkdwn", "text": f"<{link.replace('&', '&amp;')}>"}
    assert (note["unfurl_links"], note["unfurl_media"]) == (False, False)
    assert link.partition("?")[0] in str(outcome_modal(outcome))


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "https://a.example/|Approve", "https://a.example/><!channel>", "https://a b", "x"]
)
def test_what_is_no_plain_address_is_no_link(link: str) -> None:
    note = private_note(ClickOutcome(result=ClickResult.RECORDED, sentence=f"See {link}", link=link))
    assert joined(cast("list[dict[str, object]]", note["blocks"])) == f"See {link}"
    assert "mrkdwn" not in str(note["blocks"])


def test_the_notification_is_cut_before_it_is_escaped() -> None:
    notice, _ = render(replace(CARD, title="<" * 5000))
    assert len(notice) <= 600
    assert stray_markup(notice) == []
    assert notice.endswith("&lt;…")


# --- what people added ------------------------------------------------------------------------------------------------


CHANGE = Fact(label="Changed by Ann: amount", value="80000 → 60000")
TALK = (Fact(label="Ann asks", value="Whose invoice?"), Fact(label="the agent answers", value="Acme's."))
EVERYTHING = (Action.REVIEW, Action.ASK, Action.HAND_OVER, Action.ADD, Action.REMIND, Action.EXTEND)
OTHER = "a1.0123abcd.zzzz8w6c1tz5n0v3b7k2m9x6d1f8g0h4p"


def test_what_people_changed_stands_right_below_the_sentence_and_what_was_asked_before_the_arguments() -> None:
    _, blocks = render(replace(CARD, changes=(CHANGE,), dialogue=TALK))
    check_blocks(blocks)
    names = [block["block_id"] for block in blocks]
    order = ["assent_title", "assent_changes", "assent_facts", "assent_progress", "assent_dialogue", "assent_rest"]
    assert [name for name in names if name in order] == order
    assert "✏️ Changed by Ann: amount: 80000 → 60000" in joined(blocks)
    assert "💬 Ann asks: Whose invoice?\n💬 the agent answers: Acme's." in joined(blocks)


def options(element: dict[str, object]) -> list[tuple[str, str]]:
    found = cast("list[dict[str, object]]", element["options"])
    return [(next(plain_texts(option["text"])), str(option["value"])) for option in found]


def test_two_to_five_further_controls_share_an_overflow_menu_and_the_review_has_its_own_button() -> None:
    card = replace(CARD, controls=controls(*EVERYTHING))
    approve, deny, review, menu = actions(card)
    check_blocks(render(card)[1])
    assert [each["action_id"] for each in (approve, deny)] == ["assent_approve", "assent_deny"]
    assert (review["action_id"], review["value"]) == ("assent_use_review", token(Action.REVIEW))
    assert menu["type"] == "overflow"
    assert [label for label, _ in options(menu)] == [LABELS[action] for action in EVERYTHING[1:]]


def test_approving_with_changes_has_its_own_button_so_that_the_rest_fits_an_overflow_menu() -> None:
    """A select would keep showing what was chosen, and not say so again when it is chosen anew."""
    card = replace(CARD, controls=controls(EVERYTHING[0], Action.EDIT, *EVERYTHING[1:]))
    *_, edit, menu = actions(card)
    check_blocks(render(card)[1])
    assert (edit["action_id"], menu["type"]) == ("assent_form_edit", "overflow")


def test_more_than_five_further_controls_share_a_select_that_says_what_it_is_for() -> None:
    card = replace(CARD, controls=controls(Action.ANSWER, *EVERYTHING))
    menu = actions(card)[-1]
    check_blocks(render(card)[1])
    assert menu["type"] == "static_select"
    assert menu["placeholder"] == plain("More…")
    assert len(options(menu)) == 6


@pytest.mark.parametrize("action", [Action.REMIND, Action.ASK])
def test_a_single_further_control_is_a_plain_button(action: Action) -> None:
    card = replace(CARD, controls=controls(Action.REVIEW, action))
    check_blocks(render(card)[1])
    button = actions(card)[-1]
    kind = "assent_use" if action is Action.REMIND else "assent_form"
    assert (button["action_id"], button["value"]) == (f"{kind}_{action.value}", token(action))


def test_a_menus_option_and_its_block_make_the_token_again() -> None:
    card = replace(CARD, controls=controls(*EVERYTHING))
    block = next(block for block in render(card)[1] if block["type"] == "actions")
    for control, (_, value) in zip(card.controls[1:], options(actions(card)[-1]), strict=True):
        assert len(value) <= 75
        assert token_of_option(str(block["block_id"]), value) == (control.token, control.form is not None)


@pytest.mark.parametrize(
    "odd",
    ["sealed-add", f"{HEAD}.a.{'0' * 90}", f"{OTHER}.a.{'0f' * 20}", f"{HEAD}.a.00:0", f"{HEAD}.A.{'0f' * 20}"],
)
def test_a_token_that_cannot_be_taken_apart_gets_a_button(odd: str) -> None:
    whole = controls(*EVERYTHING)
    card = replace(CARD, controls=tuple(replace(c, token=odd) if c.action is Action.ADD else c for c in whole))
    check_blocks(render(card)[1])
    _, _, review, add, menu = actions(card)
    assert (review["value"], add["value"]) == (whole[0].token, odd)
    assert [label for label, _ in options(menu)] == ["Ask a question", "Hand over", "Remind", "More time"]


def test_an_expired_card_can_be_asked_again_and_a_requesters_copy_be_answered() -> None:
    expired = replace(SETTLED, controls=controls(Action.REOPEN))
    assert [button["action_id"] for button in actions(expired)] == ["assent_use_reopen"]
    own = replace(CARD, buttons=None, own=True, dialogue=TALK[:1], controls=controls(Action.ANSWER, Action.REMIND))
    assert [button["action_id"] for button in actions(own)] == ["assent_form_answer", "assent_use_remind"]
    assert [button.get("style") for button in actions(own)] == ["primary", None]
    for card in (expired, own):
        check_blocks(render(card)[1])


def sharing(count: int, value: str = "Acme Ltd") -> Card:
    others = tuple(
        replace(
            with_text(f"{value} {number}"),
            request_id=f"req_{number}",
            footer=f"code {number}",
            outcome=f"Approved by Ann {number}" if number == 2 else None,
            buttons=None if number == 2 else CARD.buttons,
            controls=() if number == 2 else controls(*EVERYTHING, head=f"a1.0123abcd.handle{number}"),
        )
        for number in range(1, count + 1)
    )
    return replace(CARD, controls=controls(*EVERYTHING), also=others)


def test_requests_that_share_a_message_are_each_whole_with_controls_of_their_own() -> None:
    card = sharing(5)
    _, blocks = render(card)
    check_blocks(blocks)
    for number, other in enumerate(card.also, 1):
        begin = next(i for i, block in enumerate(blocks) if block["block_id"] == f"assent_also_{number}")
        end = next((i for i, block in enumerate(blocks) if block["block_id"] == f"assent_also_{number + 1}"), None)
        part = blocks[begin:end]
        assert joined(part).count(f"Acme Ltd {number}") >= 12
        assert all(text in joined(part) for text in (other.outcome or other.headline, other.footer, other.tool))
        pressed = [block for block in part if block["type"] == "actions"]
        assert len(pressed) == (other.buttons is not None)
        if pressed:
            elements = cast("list[dict[str, object]]", pressed[0]["elements"])
            assert [element["action_id"] for element in elements] == [
                f"assent_approve_{number}",
                f"assent_deny_{number}",
                f"assent_use_review_{number}",
                f"assent_menu_{number}",
            ]
            assert pressed[0]["block_id"] == f"assent_decision_{number}:a1.0123abcd.handle{number}"


def test_six_requests_with_everything_on_them_fit_one_message() -> None:
    full = replace(with_text("x" * 40), buttons=CARD.buttons, controls=controls(Action.EDIT, *EVERYTHING))
    _, blocks = render(replace(full, also=(full,) * 5))
    check_blocks(blocks)


def test_requests_that_do_not_fit_one_message_together_are_refused_instead_of_cut() -> None:
    with pytest.raises(ChannelRefusedError, match="blocks"):
        render(sharing(12, "x"))
    with pytest.raises(ChannelRefusedError, match="9000 whole"):
        render(sharing(2, "x" * 600))


@requirement("S-18")
@pytest.mark.parametrize("text", HOSTILE)
def test_requests_that_share_a_message_are_inert_as_well(text: str) -> None:
    notice, blocks = render(replace(CARD, also=(with_text(text),)))
    check_blocks(blocks)
    assert markup_in(blocks) == []
    assert stray_markup(notice) == []
    assert joined(blocks).count(text) >= 12


@requirement("S-18")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_notice_rings_up_whom_it_names_and_acts_on_nothing_else(text: str) -> None:
    mentions = ("U061F7AUR", "W0B0B00001", "channel", "!here", "U1> <!everyone", "u061f7aur", text)
    shown, blocks = thread_note(Notice(text=text, mentions=mentions, key="note-1"))
    check_blocks(blocks)
    bell = "<@U061F7AUR> <@W0B0B00001>"
    assert joined(blocks) == text
    assert markup_in(blocks) == ["<@U061F7AUR>", "<@W0B0B00001>"]
    assert shown == f"{bell} {escape(text)}"


def test_a_notice_without_people_rings_nobody_up() -> None:
    shown, blocks = thread_note(Notice(text="Answered: yes", mentions=(), key="note-1"))
    assert (shown, [block["type"] for block in blocks]) == ("Answered: yes", ["section"])
