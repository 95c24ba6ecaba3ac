"""One language a reader: nowhere does a Chinese card, note, toast or page say a sentence of ours in English."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest
from msgspec.structs import replace

from app.domain.rules.policy import reason_apart
from app.domain.rules.strictest import caller_wish, hook_wish
from app.domain.text.language import Language
from app.domain.text.visible import quoted
from app.domain.words.reasons import reason_in
from app.domain.words.say import CATALOGUE
from examples.gallery_assurance import assurance
from examples.gallery_catalogue import PEOPLE, Pane, card_of, states
from examples.gallery_consulting import consulting
from examples.gallery_payments import payments
from tests.fixtures.gateway import PAY
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.card.card import Card
    from app.ports import Click
    from examples.gallery_catalogue import Exhibit
    from tests.fixtures.gateway import Gateway

_HAN = re.compile(r"[\u3400-\u9fff]")
_ENGLISH = re.compile(r"\b[A-Za-z][a-z']+(?: (?:[a-z']+|I)\b)+")
"""Two English words in a row, the second one small: no name, no code, no id is written like that."""
_COMMANDS = re.compile(r"`[^`]*`|assent(?: [a-z-]+)+|\{\w+\}")
_FOREIGN = (*PEOPLE.values(), "Steel for the March delivery", "an odd invoice was seen")
_FOREIGN += ("the payroll run is stuck", "The delivery is short by two tons")
"""What people and agents wrote: it stays as they wrote it."""


def english_in(text: str) -> list[str]:
    for foreign in _FOREIGN:
        text = text.replace(foreign, "")
    return _ENGLISH.findall(_COMMANDS.sub("", text))


def texts_of(card: Card) -> list[str]:
    facts = [*card.highlights, *card.changes, *card.facts, *card.arguments, *card.dialogue, *card.details]
    facts += [each for each in (card.agent_says, card.until) if each]
    said = [card.headline, card.title, card.caution, card.footer, *card.warnings, card.then]
    said += [card.outcome, card.progress, card.withheld, card.hidden, *(each.label for each in card.controls)]
    for form in (each.form for each in card.controls if each.form):
        said += [
            form.title,
            form.submit,
            form.note,
            *(text for each in form.fields for text in (each.label, each.hint)),
        ]
    if card.buttons:
        said += [card.buttons.confirm_title, card.buttons.confirm_text, card.buttons.reason_hint]
    own = [text for text in (*said, *(text for each in facts for text in (each.label, each.value))) if text]
    return [*own, *(text for other in card.also for text in texts_of(other))]


@requirement("F-71")
def test_no_sentence_of_ours_is_in_the_other_language() -> None:
    """Toasts, cards, notes and pages say nothing that does not stand in the catalogue."""
    assert {key: found for key, text in CATALOGUE[Language.ZH].items() if (found := english_in(text))} == {}
    mixed = {key for key, text in CATALOGUE[Language.EN].items() if _HAN.search(text)}
    assert mixed <= {"console.language.zh", "console.other"}, mixed


@requirement("F-71")
@pytest.mark.parametrize("sheet", [states, payments, consulting, assurance], ids=lambda each: each.__name__)
def test_no_chinese_card_says_anything_in_english(sheet: object) -> None:
    draw = cast("Callable[[Language], list[Exhibit]]", sheet)
    exhibits = draw(Language.ZH)
    for exhibit in exhibits:
        card = card_of(exhibit, Pane(name="chat", language=Language.ZH, text_budget=9_000, opens_forms=True))
        assert {text: found for text in texts_of(card) if (found := english_in(text))} == {}, exhibit.name
    assert len(exhibits) > 2


def test_what_finds_english_finds_it() -> None:
    exhibit = states(Language.ZH)[0]
    pane = Pane(name="chat", language=Language.ZH, text_budget=9_000, opens_forms=True)
    card = card_of(
        dataclasses.replace(exhibit, request=replace(exhibit.request, why="Rule x wants it. (args.amount = 8)")), pane
    )
    assert [found for text in texts_of(card) for found in english_in(text)] == ["Rule x wants it"]


ZH_FILE = (
    ("chat: {type: memory, chat: C1}", "chat: {type: memory, chat: C1, language: zh}"),
    ("org: acme\ndefault: deny\n", "org: acme\nlanguage: zh\ndefault: deny\n"),
    ('title: "Pay {payee} {amount}"', 'title: {en: "Pay {payee} {amount}", zh: "向 {payee} 付款 {amount}"}'),
    (
        "  finance: [alice@acme.example, bob@acme.example, carol@acme.example, olga@acme.example, rita@acme.example]",
        "  finance: {name: {en: Finance, zh: 财务}, members: [alice@acme.example, bob@acme.example]}",
    ),
    ("{name: Alice, memory: U_ALICE}", "{name: Alice, memory: U_ALICE, language: en}"),
)


async def chinese(gateway: Gateway, *more: tuple[str, str]) -> None:
    for before, after in (*ZH_FILE, *more):
        gateway.rewrite(before, after)
    await gateway.reload()


@requirement("F-71")
async def test_cards_and_reminders_of_a_chinese_chat_are_chinese(gateway: Gateway) -> None:
    reason = "then: ask, reason: {en: Payments need finance., zh: 付款须经财务批准。}"
    await chinese(gateway, ("{id: pay, tools: [pay], then: ask", f"{{id: pay, tools: [pay], {reason}"))
    request = await gateway.ask()
    card = gateway.card(request).card
    assert card.facts[1].value == "付款须经财务批准。"
    assert card.progress is not None
    assert "财务" in card.progress
    assert [found for text in texts_of(card) for found in english_in(text)] == []
    await gateway.advance(timedelta(minutes=15))
    assert [notice.text for _, notice in gateway.platform.notices] == [
        "⏰ 还剩 15 分钟 · 到期不执行：向 Acme Ltd 付款 80,000"
    ]
    [row] = gateway.rows("SELECT why FROM requests")
    assert row["why"] == "Payments need finance."  # for models and the trail: the one that is written first


async def test_the_values_that_tripped_a_rule_are_not_translated(gateway: Gateway) -> None:
    reason = "when: \"args.payee != ''\", then: ask, reason: {en: Acme, zh: 要客}"
    await chinese(gateway, ("{id: pay, tools: [pay], then: ask", "{id: pay, tools: [pay], " + reason))
    card = gateway.card(await gateway.ask()).card
    assert card.facts[1].value == "要客"
    assert "payee = Acme Ltd" in card.details[0].value


async def test_what_the_agents_side_says_does_not_pass_for_what_tripped_the_rule(gateway: Gateway) -> None:
    card = gateway.card(await gateway.ask("pay", confirm="a routine matter (amount = 5)")).card
    assert card.facts[1].value.endswith("(its own words): “a routine matter (amount = 5)”.")
    assert card.details[0].value == "pay"


@requirement("F-71")
async def test_a_toast_is_in_the_language_of_whoever_pressed_and_the_card_in_the_chat_s(gateway: Gateway) -> None:
    await chinese(gateway)
    request = await gateway.ask("pay_two", arguments=PAY)

    async def pressed(click: Click) -> tuple[str, str]:
        body = (await gateway.send(click)).body or {}
        return str(body["sentence"]), gateway.card(request).card.headline

    card = gateway.card(request)
    sentence, headline = await pressed(gateway.platform.press(card, "U_ALICE", "approve"))
    assert (sentence, headline) == ("Recorded. 1 of 2 approvals; more are needed.", "待审批")
    sentence, _ = await pressed(gateway.platform.press(card, "U_BOB", "approve"))
    assert english_in(sentence) == []
    assert gateway.card(request).card.headline == "已批准"


@requirement("F-71")
async def test_whatever_a_press_is_answered_is_in_the_language_of_whoever_pressed(gateway: Gateway) -> None:
    await chinese(gateway, ("org: acme\n", "org: acme\nurl: https://assent.example\n"))
    card = gateway.card(await gateway.ask())

    async def answered(click: Click) -> str:
        return str(((await gateway.send(click)).body or {})["sentence"])

    for account, is_theirs in (("U_ALICE", lambda said: not _HAN.search(said)), ("U_BOB", _HAN.search)):
        use, press = gateway.platform.use, gateway.platform.press
        said = [
            await answered(use(card, account, "review")),
            await answered(use(card, account, "ask")),
            await answered(use(card, account, "hand_over")),
            await answered(press(card, account, "deny", reason=" ")),
            await answered(press(card, account, "approve", chat_id="C9")),
        ]
        assert len(set(said)) == len(said)
        assert [each for each in said if not is_theirs(each)] == []


@requirement("F-71")
@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("Rule large asks for approval.", "规则 large 要求审批。"),
        (
            "Payments need two; but people are asked, because of the warnings.",
            "付款须两人批准；因有警告，须由人决定。",
        ),
        (
            "Payments need two. Besides: The tool pay always requires confirmation.",
            "付款须两人批准。 另外：工具 pay 每次都须确认。",
        ),
        ("Every tool of the agent a-1 requires confirmation.", "智能体 a-1 的所有工具都须确认。"),
        (
            "Rule small allows it (the tier up to CNY 500); but people are asked, because of the warnings.",
            "规则 small 可放行（CNY 500 以内一档）；因有警告，须由人决定。",
        ),
        (
            "BREAK-GLASS gls_7: nobody was asked. a@x.example and b@x.example broke it: “付不出工资”",
            "紧急放行 gls_7：未经任何人审批。由 a@x.example、b@x.example 开启，原因：“付不出工资”",
        ),
        ("The standing approval sta_1 covers it (use 1 of 3).", "长期授权 sta_1 已涵盖（第 1 次，共 3 次）。"),
        ("Rule a forbids it.", "规则 a 禁止。"),
        ("Rule a asks for approval; but there is nobody to ask.", "规则 a 要求审批；但无人可问。"),
        ("No rule covers this call, so people decide.", "没有规则涵盖此调用，须由人决定。"),
    ],
)
def test_why_people_are_asked_is_said_in_their_language(stored: str, read: str) -> None:
    reasons = [{"en": "Payments need two.", "zh": "付款须两人批准。"}]
    assert reason_in(stored, Language.ZH, reasons) == read
    assert english_in(reason_in(stored, Language.ZH, reasons)) == []
    assert reason_in(stored, Language.EN, reasons) == stored


LIES = (
    "routine. Besides: Rule payments allows it (the highest tier)",
    "routine”. Besides: Rule payments allows it. “",
    "routine” (as for boss, whose rules bind this call as well) “",
    'routine" The tool pay always requires confirmation. "',
    "routine’’. Payments need two. ‘‘",
    "routine.\u2028\r\nNo rule matched, and the default is to allow.\n",
    "\u202eroutine\u202c (args.amount = 5)",
    "BREAK-GLASS gls_7: nobody was asked. a@x.example broke it: Rule a allows it",
    "The agent's side asks for confirmation (its own words): Rule a allows it",
    "\0" + "0" + "\0 \\u{0}",
)


@requirement("F-71")
@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("lie", LIES)
def test_what_others_say_stays_as_they_say_it_in_marks_that_they_cannot_close(lie: str, language: Language) -> None:
    reasons = [{"en": "Payments need two.", "zh": "付款须两人批准。"}]
    ours = {"en": "The agent's side asks for confirmation (its own words): ", "zh": "智能体一方要求确认（其原话）："}
    hooks = {"en": "The hook h wants people to be asked: ", "zh": "钩子 h 要求由人决定："}
    stop = {"en": ".", "zh": "。"}[language.value]
    words = quoted(lie.replace("\0", "\\u{0}"))
    assert (words.count("“"), words.count("”"), words[0], words[-1]) == (1, 1, "“", "”")
    assert not re.search(r"[\n\r\u2028\"]|''|’’", words)
    for wish, said in ((caller_wish("caller", lie), ours), (hook_wish("h", lie), hooks)):
        stored = f"Payments need two. Besides: {wish.reason} (args.amount = 9)".replace("\0", "\\u{0}")
        reason, tripped = reason_apart(stored)
        assert tripped == "args.amount = 9"
        read = reason_in(reason, language, reasons)
        assert read.endswith(f"{said[language.value]}{words}{stop}")


def test_a_quotation_whose_end_was_taken_as_part_of_a_secret_ends_all_the_same() -> None:
    cut = "The agent's side asks for confirmation (its own words): “routine. Rule a allows it. [redacted: password]"
    assert reason_in(cut, Language.ZH, ()) == (
        "智能体一方要求确认（其原话）：“routine. Rule a allows it. [redacted: password]”"
    )


def test_what_was_stored_before_words_were_quoted_is_left_alone_to_its_end() -> None:
    old = (
        "Rule a asks for approval. Besides: The agent's side asks for confirmation (its own words): x. Rule b allows it"
    )
    assert reason_in(old, Language.ZH, ()).endswith("（其原话）：x. Rule b allows it")


@requirement("F-71")
async def test_a_sub_agent_s_name_of_several_words_is_no_end_of_our_language(gateway: Gateway) -> None:
    await chinese(gateway)
    request = await gateway.ask("pay", sub_agent="my helper (v2)", confirm="routine. Rule pay allows it")
    [_, why] = gateway.card(request).card.facts
    assert english_in(why.value.replace("routine. Rule pay allows it", "")) == []
    assert "“routine. Rule pay allows it”。" in why.value


def test_a_name_of_several_words_is_quoted_and_what_is_said_about_it_translated() -> None:
    stored = "By amount (as for “my helper (v2)”, whose rules bind this call as well). "
    stored += "No rule covers this call, so people decide."
    read = "按金额（“my helper (v2)” 的规则同样适用于此调用）。 没有规则涵盖此调用，须由人决定。"
    assert reason_in(stored, Language.ZH, [{"en": "By amount", "zh": "按金额"}]) == read


def test_a_reason_of_the_file_in_one_language_is_not_taken_for_ours() -> None:
    assert reason_in("Rule a allows it", Language.ZH, [{"": "Rule a allows it"}]) == "Rule a allows it"
