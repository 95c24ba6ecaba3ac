"""From the call to each platform's JSON: nothing an agent writes is acted upon, lost, or approved unseen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from app.domain.card.card_for import card_for
from app.domain.card.shown_call import Terms
from app.domain.request.quorum import Tally
from app.domain.text.language import Language
from app.domain.text.visible import visible
from channels.feishu.card import TEXT_BUDGET as FEISHU_BUDGET
from channels.feishu.card import render_content
from channels.feishu.simulator.cards import check_card, list_controls, list_texts
from channels.slack.card import TEXT_BUDGET as SLACK_BUDGET
from channels.slack.card import render
from channels.slack.simulator.blocks import check_blocks, markup_in, stray_markup
from tests.domain.samples import a_call, a_request
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from app.domain.card.card import Card
    from app.domain.request.request import ConfirmationRequest

PAYLOADS = [
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
    "*bold* _it_ ~gone~ `code`",
    "&lt;!here&gt;",
    "&#60;at id=all&#62;",
    ":white_check_mark:",
    "[Approve](https://evil.example)",
    "![x](img_v2_38811724)",
    "<at id=all></at>",
    '<at user_id="ou_1">Boss</at>',
    "<font color='red'>red</font>",
    "<person id='ou_1'></person>",
    "<b>html</b><img src=x onerror=alert(1)>",
    "@channel @here @everyone @all @所有人",
    "{{amount}} ${amount} %s {0} {size}",
    '"},{"tag":"button","text":{"tag":"plain_text","content":"Approve"}},{"a":"',
    "\\u003cat id=all\\u003e",
    "\u202eapprove\u202c\u200b",
]
WRAPPERS = [
    "{}",
    "`{}`",
    "```\n{}\n```",
    "``` {} ``` {}",
    "> {}",
    "• {}\n• {}",
    "*{}*",
    "[{}](https://evil.example)",
    "<{}|{}>",
    "'\"{}\"'",
    "amount\n80000\n\npayee\n{}",
    "✅ Approved by Ann\n{}",
    "\x00{}\x1b[2J",
]
CORPUS = [wrapper.replace("{}", payload) for wrapper in WRAPPERS for payload in PAYLOADS]


def card(request: ConfirmationRequest, budget: int) -> Card:
    terms = Terms(language=Language.EN, name_of=visible, money=("amount",), review="See it at the gate.")
    tally = Tally(have=(0,), stage=0, met=False)
    return card_for(request, terms, revision=1, tally=tally, tokens=("sealed-yes", "sealed-no"), budget=budget)


def hostile(text: str) -> ConfirmationRequest:
    """Put a text wherever an agent can put one."""
    arguments = {"payee": text, "amount": 5, "memo": {"deep": [text]}, text: text}
    call = a_call(arguments=arguments, claim=text, agent=text, requester=text)
    return a_request(call=call, why=text, title=visible(f"Pay {text}"), sensitive=())


def nodes(branch: object) -> Iterator[dict[str, object]]:
    if isinstance(branch, dict):
        yield cast("dict[str, object]", branch)
    if isinstance(branch, dict | list):
        for child in branch.values() if isinstance(branch, dict) else branch:
            yield from nodes(child)


@requirement("S-18", "S-19")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.sampled(4)
def test_slack_acts_on_nothing_that_an_agent_writes_and_shows_all_of_it(wrapper: str) -> None:
    for text in CORPUS[WRAPPERS.index(wrapper) * len(PAYLOADS) :][: len(PAYLOADS)]:
        notice, blocks = render(card(hostile(text), SLACK_BUDGET))
        check_blocks(blocks)
        marked = [str(node["text"]) for node in nodes(blocks) if node.get("type") == "mrkdwn"]
        assert marked == ["<!date^1772361000^{date_short_pretty} {time}|2026-03-01 10:30 UTC>"], text
        assert markup_in(blocks) == [], text
        assert [found for found in stray_markup(notice) if not found.startswith("http")] == [], text
        plain = [node for node in nodes(blocks) if node.get("type") == "plain_text"]
        assert all(node["emoji"] is False for node in plain)
        shown = "".join(str(node["text"]) for node in plain)
        assert shown.count(visible(text)) >= 6, text
        assert {node["action_id"] for node in nodes(blocks) if "action_id" in node} == {"assent_approve", "assent_deny"}


@requirement("S-18", "S-19")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.heavy
@pytest.mark.sampled(4)
def test_feishu_acts_on_nothing_that_an_agent_writes_and_shows_all_of_it(wrapper: str) -> None:
    tags = {"div", "plain_text", "column_set", "column", "hr", "button", "form", "input"}
    for text in CORPUS[WRAPPERS.index(wrapper) * len(PAYLOADS) :][: len(PAYLOADS)]:
        rendered = check_card(json.loads(render_content(card(hostile(text), FEISHU_BUDGET))))
        assert {str(node["tag"]) for node in nodes(rendered) if "tag" in node} == tags, text
        assert len(list_controls(rendered)) == 2, text
        assert "\n".join(list_texts(rendered)).count(visible(text)) >= 6, text


def controls_on_slack(shown: Card) -> list[str]:
    _, blocks = render(shown)
    check_blocks(blocks)
    return [str(node["value"]) for node in nodes(blocks) if "value" in node]


def controls_on_feishu(shown: Card) -> list[str]:
    rendered = check_card(json.loads(render_content(shown)))
    return [str(cast("dict[str, object]", control.value)["t"]) for control in list_controls(rendered)]


@requirement("S-13")
@pytest.mark.parametrize("char", ["x", "金", "\N{PILE OF POO}", "<", '"', "\u202e"])
@pytest.mark.parametrize(
    ("budget", "controls"), [(SLACK_BUDGET, controls_on_slack), (FEISHU_BUDGET, controls_on_feishu)]
)
@pytest.mark.heavy
@pytest.mark.sampled(3)
def test_each_platform_offers_approve_up_to_its_budget_and_never_beyond(
    char: str, budget: int, controls: Callable[[Card], list[str]]
) -> None:
    def request(length: int) -> ConfirmationRequest:
        return a_request(call=a_call(arguments={"payee": "Acme", "memo": char * length}, claim=None), sensitive=())

    one, two = (card(request(length), 10**7).size() for length in (1, 2))
    fits = 1 + (budget - one) // (two - one)
    whole, over = card(request(fits), budget), card(request(fits + 1), budget)
    tenfold, huge = card(request(fits * 10), budget), card(request(1_000_000), budget)
    assert controls(whole) == ["sealed-yes", "sealed-no"]
    assert [controls(shown) for shown in (over, tenfold, huge)] == [["sealed-no"]] * 3
    assert all(str(shown.withheld).endswith("See it at the gate.") for shown in (over, tenfold, huge))


@requirement("S-13")
def test_a_title_that_fills_the_card_takes_approve_away_too() -> None:
    shown = card(replace(a_request(), title="t" * 9_000), FEISHU_BUDGET)
    assert controls_on_feishu(shown) == ["sealed-no"]
    assert "more characters not shown" in shown.title
