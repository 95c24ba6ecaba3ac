"""What a person sees in Slack: inert, whole, within the platform's limits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.card import Fact, Language
from app.domain.present import card_for
from app.domain.request import ExecutionStatus, GrantStatus, Status
from app.domain.shown import Terms
from app.ports import ChannelRefusedError, Click
from channels.feishu.card import MAX_REASON
from channels.slack.card import TEXT_BUDGET, deny_modal, escape, outcome_modal, plain, private_note, render
from channels.slack.simulator_blocks import check_blocks, check_view, markup_in, stray_markup
from tests.channels.conformance_slack import CARD, SETTLED
from tests.domain.samples import approved, claimed, settled
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.card import Card
    from app.domain.request import ConfirmationRequest

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
        warnings=(text,),
        facts=(fact,),
        arguments=(fact,),
        hidden=text,
        agent_says=fact,
        progress=text,
        withheld=text,
        span=text,
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
    assert joined(blocks).count(text) >= 11


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
    assert kinds[:3] == [("section", "assent_headline"), ("header", "assent_title"), ("section", "assent_facts")]
    names = [name for _, name in kinds]
    order = ["assent_facts", "assent_progress", "assent_argument_0", "assent_claim", "assent_decision", "assent_footer"]
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
    until = Fact(label="Decide by", value="2026-03-01 10:30 UTC (within 30 min of being asked)")
    forged = Fact(label="memo", value="2026-03-01 10:30 UTC")
    card = replace(CARD, arguments=(forged,), until=until, span="within 30 min of being asked")
    _, blocks = render(card)
    check_blocks(blocks)
    deadline = next(block for block in blocks if block["block_id"] == "assent_deadline")
    elements = cast("list[object]", deadline["elements"])
    assert (elements[0], elements[2]) == (plain("⏳ Decide by"), plain("within 30 min of being asked"))
    assert joined(blocks).count("10:30") == 1  # the argument that says the same is still there


def test_how_much_and_to_whom_stand_large_and_above_the_facts() -> None:
    large = (Fact(label="amount", value="¥80,000.00 CNY"), Fact(label="payee", value="Acme Ltd"))
    _, blocks = render(replace(CARD, highlights=large, warnings=("payee: look twice.",)))
    check_blocks(blocks)
    assert [block["text"] for block in blocks if block["type"] == "header"] == [
        plain("amount: ¥80,000.00 CNY"),
        plain("payee: Acme Ltd"),
    ]
    order = ["assent_title", "assent_highlight_0", "assent_highlight_1", "assent_warnings", "assent_facts"]
    assert [block["block_id"] for block in blocks if block["block_id"] in order] == order
    assert "⚠️ payee: look twice." in joined(blocks)


def test_buttons_carry_the_token_alone_and_approve_asks_again() -> None:
    approve, deny = actions(CARD)
    assert (approve["action_id"], approve["value"]) == ("assent_approve", "sealed-approve")
    assert (deny["action_id"], deny["value"]) == ("assent_deny", "sealed-deny")
    assert next(plain_texts(approve["confirm"])) == "Approve?"
    assert "confirm" not in deny


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
    assert sum(notice.count(mark) for mark in "✅⛔⌛") == 1


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
        reason_label="why " * 900,
        reason_hint="",
    )
    card = replace(CARD, buttons=long)
    check_blocks(render(card)[1])
    check_view(deny_modal(card, CLICK))


CLICK = Click(
    token="s" * 200,
    app_id="A0APPR0VAL",
    tenant="T9TK3CUKW",
    account_id="U061F7AUR",
    chat_id="CBR2V3XEX",
    message_id="1700000000.123459",
    event_key="k",
    wants_reason=True,
)


def test_a_reason_may_be_as_long_in_slack_as_in_feishu() -> None:
    blocks = cast("list[dict[str, dict[str, object]]]", deny_modal(CARD, CLICK)["blocks"])
    assert blocks[-1]["element"]["max_length"] == MAX_REASON


@pytest.mark.parametrize("text", HOSTILE)
def test_the_modal_for_the_reason_is_inert_and_carries_token_and_place_alone(text: str) -> None:
    view = deny_modal(with_text(text), CLICK)
    check_view(view)
    assert markup_in(cast("list[dict[str, object]]", view["blocks"])) == []
    place = {"v": 1, "token": CLICK.token, "chat": "CBR2V3XEX", "ts": "1700000000.123459"}
    assert json.loads(str(view["private_metadata"])) == place


def test_a_settled_card_opens_no_modal() -> None:
    with pytest.raises(ChannelRefusedError):
        deny_modal(SETTLED, CLICK)


@pytest.mark.parametrize("text", HOSTILE)
def test_private_answers_are_inert_as_well(text: str) -> None:
    note = private_note(text)
    check_blocks(note["blocks"])
    assert joined(cast("list[dict[str, object]]", note["blocks"])) == text
    assert note["text"] == escape(text)
    check_view(outcome_modal(text, text))


def test_the_notification_is_cut_before_it_is_escaped() -> None:
    notice, _ = render(replace(CARD, title="<" * 5000))
    assert len(notice) <= 600
    assert stray_markup(notice) == []
    assert notice.endswith("&lt;…")
