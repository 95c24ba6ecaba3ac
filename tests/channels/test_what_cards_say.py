"""What a reader of either platform finds on a card, and where: what counts before the buttons, the small print after.

The cards are the gallery's, drawn as each platform gets them; its stand-in has checked them.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from app.domain.call.exhibit import read_evidence
from app.domain.text.language import Language
from app.domain.text.visible import visible
from channels.feishu.card import TEXT_BUDGET as FEISHU_BUDGET
from channels.feishu.card import render_content
from channels.feishu.simulator.cards import check_card, list_texts
from channels.slack.card import TEXT_BUDGET as SLACK_BUDGET
from channels.slack.card import render
from channels.slack.simulator.blocks import check_blocks, markup_in
from examples.gallery_catalogue import Exhibit, Pane, card_of, payment
from examples.gallery_payments import payments
from tests.domain.exhibit_files import INVOICE, PHOTO, a_file, a_link
from tests.fixtures.gateway import ManualClock
from tests.fixtures.patience import eventually
from tests.fixtures.platforms import open_stage
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.domain.card.card import Card
    from tests.fixtures.memory_platform import MemoryPlatform

BOTH = pytest.mark.parametrize("platform_name", ["slack", "feishu"])
EITHER = pytest.mark.parametrize("language", list(Language))


def texts_of(node: object) -> Iterator[str]:
    """Yield what stands in Slack's blocks, in order."""
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        if isinstance(child, str) and isinstance(node, dict) and child == node.get("text"):
            yield child
        yield from texts_of(child)


def has_button(node: object) -> bool:
    children = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    return (isinstance(node, dict) and node.get("tag", node.get("type")) == "button") or any(map(has_button, children))


def drawn(platform_name: str, card: Card) -> tuple[str, str, str]:
    """Return what the platform shows: in the line of a phone, above the first button, and below the last one."""
    if platform_name == "slack":
        push, blocks = render(card)
        check_blocks(blocks)
        parts: list[tuple[object, str]] = [(block, "\n".join(texts_of(block))) for block in blocks]
        before = ""
    else:
        rendered = check_card(json.loads(render_content(card)))
        push = str(rendered["config"]["summary"]["content"])  # pyright: ignore[reportIndexIssue] - checked JSON
        elements = cast("list[dict[str, Any]]", rendered["body"]["elements"])  # pyright: ignore[reportIndexIssue] - too
        parts = [(each, "\n".join(list_texts({"body": each}))) for each in elements]
        before = "\n".join(list_texts({"header": rendered["header"]}))
    pressed = [at for at, (part, _) in enumerate(parts) if has_button(part)]
    above, below = parts[: pressed[0]], parts[pressed[-1] + 1 :]
    return push, "\n".join([before, *(text for _, text in above)]), "\n".join(text for _, text in below)


def card_on(platform_name: str, exhibit: Exhibit, language: Language) -> Card:
    budget = SLACK_BUDGET if platform_name == "slack" else FEISHU_BUDGET
    pane = Pane(name="chat", language=language, text_budget=budget, opens_forms=platform_name == "slack")
    return card_of(exhibit, pane)


@BOTH
@EITHER
def test_the_line_of_a_phone_begins_with_the_warning(platform_name: str, language: Language) -> None:
    warned, plain = payments(language)[0], Exhibit(name="plain", request=payment(language))
    told = {Language.EN: "⚠️ New bank details", Language.ZH: "⚠️ 收款账户有变"}[language]
    assert told in drawn(platform_name, card_on(platform_name, warned, language))[0][:40]
    assert "⚠️" not in drawn(platform_name, card_on(platform_name, plain, language))[0]


@BOTH
@EITHER
def test_by_how_much_a_budget_is_exceeded_is_computed(platform_name: str, language: Language) -> None:
    """18,000 of 20,000 are used and 80,000 come on top: nobody has to reckon that this is 78,000 too much."""
    exhibit = payments(language)[0]
    assert exhibit.request.payments[0].amount == 80_000
    _, over = exhibit.request.cautions
    alone = dataclasses.replace(exhibit, request=replace(exhibit.request, cautions=(over,)))
    _, above, _ = drawn(platform_name, card_on(platform_name, alone, language))
    told = {
        Language.EN: "¥78,000.00 CNY over budget agent-day: 18,000.00 of 20,000.00 asked for or paid",
        Language.ZH: "超出预算 agent-day ¥78,000.00 ",
    }[language]
    assert told in above


@BOTH
@EITHER
def test_ids_the_zone_and_what_tripped_the_rule_stand_in_the_small_print_alone(
    platform_name: str, language: Language
) -> None:
    card = card_on(platform_name, Exhibit(name="pending", request=payment(language)), language)
    push, above, below = drawn(platform_name, card)
    for small in ("req_4f7w2k", "args.amount", "UTC+8", "oa__purchase_pay"):
        assert small not in push + above, small
        assert small in below, small
    lines = below.splitlines()
    why = next(line for line in lines if {Language.EN: "Payments over", Language.ZH: "超过 50,000"}[language] in line)
    assert "args.amount" not in why, "the condition stands with the rule, not in the sentence for people"
    last = next(at for at, line in enumerate(lines) if "args.amount = 80000" in line)
    assert last > lines.index(why)


@EITHER
async def test_a_reminder_carries_the_warning_of_its_card(
    language: Language, sqlite_url: str, tmp_path: Path, platform: MemoryPlatform
) -> None:
    own = {"language": language.value}
    told = {Language.EN: "⚠️ Odd characters · ⏰ 15 min left", Language.ZH: "⚠️ 异常字符 · ⏰ 还剩 15 分钟"}[language]
    async with open_stage(sqlite_url, tmp_path, platform, slack_more=own, feishu_more=own) as stage:

        def reminders() -> list[str]:
            slack = [str(reply) for each in stage.slack.view(stage.slack.room.id) for reply in _list(each, "replies")]
            feishu = [str(reply) for each in stage.feishu.view(stage.feishu_chat) for reply in _list(each, "remarks")]
            return [each for each in (*slack, *feishu) if "⏰" in each]

        await stage.ask(arguments={"payee": "Hеngtong Steel", "amount": 80_000})  # the second letter is Cyrillic
        clock = stage.gateway.clock
        assert isinstance(clock, ManualClock)
        clock.advance(timedelta(minutes=15))
        await stage.gateway.container.sweep()
        await eventually(lambda: len(reminders()) == 2)
        assert all(told in each for each in reminders()), reminders()


def _list(entry: dict[str, Any], name: str) -> list[Any]:
    return list(entry.get(name) or [])


HOSTILE = (
    a_link("https://xn--bnk-5cd.example/pay", title="[Approve](https://evil.example)"),
    a_file(PHOTO, "image/png", "<at id=all><!channel>\u202egnp.exe"),
    a_file(INVOICE, name="*paid* `x` <https:||evil.example|ok>\u2066" + "n" * 60),
    a_link("https://fourth.example/"),
)


def with_evidence(language: Language, *given: dict[str, Any]) -> Exhibit:
    asked = payment(language)
    evidence = tuple(each.exhibit for each in read_evidence(given, told=lambda text: text))
    return Exhibit(name="with evidence", request=replace(asked, call=replace(asked.call, evidence=evidence)))


@BOTH
@EITHER
@requirement("S-18", "S-105")
def test_evidence_is_named_on_a_card_as_the_agents_claim_and_nothing_of_its_names_is_acted_upon(
    platform_name: str, language: Language
) -> None:
    card = card_on(platform_name, with_evidence(language, *HOSTILE), language)
    _, above, below = drawn(platform_name, card)
    assert "xn--bnk-5cd.example" not in above, "the agent's words stand below what counts"
    shown = below.replace("\n", " ")
    for told in {
        Language.EN: ("Evidence (from the agent, not verified)", "2 files, 2 links"),
        Language.ZH: ("附件与链接（智能体提供，未经核实）", "2 个文件、2 个链接"),
    }[language]:
        assert told in shown, shown
    assert "xn--bnk-5cd.example" in shown, "where a link leads, not what it is called"
    assert "evil.example)" not in shown
    assert visible("<at id=all><!channel>\u202egnp.exe") in shown
    assert "\u202e" not in shown
    assert "\u2066" not in shown
    assert "n" * 30 not in shown, "a name is shortened: a card only says that there is something"
    assert "fourth.example" not in shown
    if platform_name == "slack":
        _, blocks = render(card)
        assert markup_in(blocks) == []
        halves = [block["fields"] for block in blocks if "fields" in block]
        assert "xn--bnk-5cd.example" not in json.dumps(halves), "names take the whole width"
    else:
        rendered = json.loads(render_content(card))
        assert '"tag": "markdown"' not in json.dumps(rendered)
        assert '"tag": "lark_md"' not in json.dumps(rendered)


@BOTH
@EITHER
@requirement("S-105")
def test_a_card_without_evidence_does_not_speak_of_any(platform_name: str, language: Language) -> None:
    card = card_on(platform_name, Exhibit(name="none", request=payment(language)), language)
    assert {Language.EN: "Evidence", Language.ZH: "附件"}[language] not in "".join(drawn(platform_name, card))
