"""What people and models read: inert, masked, whole or not approvable, and the same in every language."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.card import Card, Language
from app.domain.decision import Verdict
from app.domain.lifecycle import advance
from app.domain.present import HIDDEN, card_for, masked, message_for_model, outcome_sentence
from app.domain.quorum import Stage, count
from app.domain.request import ExecutionStatus, GrantStatus, State, Status
from app.domain.visible import visible, visible_value
from app.domain.words import CATALOGUE
from tests.domain.samples import START, a_call, a_request, approved, claimed, settled, vote, voters

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.domain.request import ConfirmationRequest

TOKENS = ("token-yes", "token-no")
CANARY = "CANARY-6222-0001"
HOSTILE = "<!channel> *bold* \u202egnp.exe\u202c \x1b[2J\x00 line\nnext   \u200b\u3164 \\u{202E} {{x}} ${HOME}"
SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3),
    max_leaves=8,
)


def card(
    request: ConfirmationRequest,
    *,
    language: Language = Language.EN,
    budget: int = 20_000,
    money: Collection[str] = (),
) -> Card:
    pending = request.status is Status.PENDING
    tally = count(request.stages, request.decisions, voters(request.stages)) if pending else None
    return card_for(
        request,
        language=language,
        revision=1,
        tally=tally,
        tokens=TOKENS if pending else None,
        budget=budget,
        name_of=lambda email: email.partition("@")[0],
        money=money,
    )


def texts(of: Card) -> str:
    return json.dumps(asdict(of), default=str, ensure_ascii=False)


def with_arguments(arguments: dict[str, Any], **changes: Any) -> ConfirmationRequest:
    return a_request(call=a_call(arguments=arguments), **changes)


# --- visible ----------------------------------------------------------------------------------------------------------


@given(st.text())
def test_nothing_invisible_or_turning_is_left(text: str) -> None:
    shown = visible(text).replace("⏎\n", "").replace("→\t", "")
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}]
    assert "   " not in shown


@given(st.text())
def test_what_is_shown_says_exactly_what_was_there(text: str) -> None:
    """Two different texts never look the same: the shown form can be read back."""
    shown = visible(text)

    def read(match: re.Match[str]) -> str:
        token = match.group()
        if token.startswith(" \\u{20}"):
            return " " * (int(match["run"]) + 1)
        return {"⏎\n": "\n", "→\t": "\t", "\\\\": "\\"}.get(token) or chr(int(match["code"], 16))

    pattern = r" \\u\{20\}×(?P<run>\d+) |\\\\|⏎\n|→\t|\\u\{(?P<code>[0-9A-F]+)\}"
    assert re.sub(pattern, read, shown) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Acme Ltd", "Acme Ltd"),
        ("王芳 付款", "王芳 付款"),
        ("a\u202eb", "a\\u{202E}b"),
        ("a\u200bb", "a\\u{200B}b"),
        ("a\u00a0b", "a\\u{A0}b"),
        ("a\u3164b", "a\\u{3164}b"),
        ("a\nb", "a⏎\nb"),
        ("\\u{202E}", "\\\\u{202E}"),
        ("a" + " " * 40 + "b", "a \\u{20}×39 b"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_values_are_compact_json_and_texts_are_themselves() -> None:
    assert visible_value("x") == "x"
    assert visible_value({"b": [1, None], "a": True}) == '{"a": true, "b": [1, null]}'


# --- masking ----------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.sampled_from(["bank", "other"]), JSON, max_size=2), JSON)
def test_a_sensitive_value_is_nowhere_whatever_its_shape(arguments: dict[str, Any], deep: Any) -> None:
    hidden = {
        "bank": {"account": [{"no": CANARY, "deep": deep}], "name": "n"},
        "token": CANARY,
        "list": [{"k": CANARY}],
    }
    request = with_arguments(
        {**arguments, **hidden},
        sensitive=("bank.account", "token", "list.k"),
        pinned=("bank", "token", "list", "bank.account"),
    )
    for each in (request, replace(settled(Status.DENIED), call=request.call, sensitive=request.sensitive)):
        for language in Language:
            assert CANARY not in texts(card(each, language=language))
        assert CANARY not in message_for_model(each)


@given(st.dictionaries(st.text(min_size=1, max_size=6), JSON, max_size=4))
def test_without_sensitive_paths_nothing_is_masked(arguments: dict[str, Any]) -> None:
    assert masked(arguments, ()) == arguments


def test_masking_hides_under_the_path_and_nothing_beside_it() -> None:
    shown = masked({"a": {"b": {"c": 1}, "d": 2}, "e": [{"b": 3}, {"d": 4}], "ab": 5}, ("a.b", "e.b"))
    assert shown == {"a": {"b": HIDDEN, "d": 2}, "e": [{"b": HIDDEN}, {"d": 4}], "ab": 5}


# Keys that hold dots themselves beside the paths that read alike: the way to hide one argument behind another.
DOTTED = ["a", "b", "c", "a.b", "b.c", "a.b.c"]
NESTED = st.dictionaries(
    st.sampled_from(DOTTED),
    st.recursive(
        st.none(),
        lambda inner: st.lists(inner, min_size=1, max_size=2) | st.dictionaries(st.sampled_from(DOTTED), inner),
        max_leaves=6,
    ),
    max_size=5,
)
PATHS = st.lists(st.sampled_from(DOTTED), max_size=4, unique=True).map(tuple)


def planted(value: Any, path: tuple[str, ...], at: list[tuple[tuple[str, ...], str]]) -> Any:
    """Put a text that occurs nowhere else in the place of each leaf, and note its keys."""
    match value:
        case dict():
            return {key: planted(inner, (*path, key), at) for key, inner in value.items()}
        case list():
            return [planted(inner, path, at) for inner in value]
        case _:
            at.append((path, f"<leaf-{len(at)}>"))
            return at[-1][1]


def under(path: tuple[str, ...], outer: Collection[str]) -> bool:
    return any(path[: len(steps)] == steps for steps in (tuple(each.split(".")) for each in outer))


@given(NESTED, PATHS, PATHS, st.sampled_from([400, 700, 20_000]))
def test_every_value_is_on_the_card_or_masked_or_there_is_no_approve(
    shape: dict[str, Any], pinned: tuple[str, ...], sensitive: tuple[str, ...], budget: int
) -> None:
    leaves: list[tuple[tuple[str, ...], str]] = []
    arguments = planted(shape, (), leaves)
    shown = card(with_arguments(arguments, pinned=pinned, sensitive=sensitive), budget=budget)
    seen = "\n".join(fact.value for fact in (*shown.facts, *shown.arguments))
    assert shown.buttons is not None
    for path, text in leaves:
        if under(path, sensitive):
            assert text not in seen
        elif shown.buttons.approve is not None:
            assert text in seen, path


def test_an_argument_named_like_a_pinned_path_hides_nothing() -> None:
    arguments: dict[str, Any] = {"payee": {"name": "Good", "bank": "B1"}, "payee.name": "EVIL", "amount": 5}
    shown = card(with_arguments(arguments, pinned=("payee.name", "amount"), sensitive=()))
    assert [(fact.label, fact.value) for fact in shown.facts[:2]] == [("payee.name", "Good"), ("amount", "5")]
    assert [(fact.label, fact.value) for fact in shown.arguments] == [
        ("payee", '{"bank": "B1", "name": "Good"}'),
        ('"payee.name"', "EVIL"),
    ]


def test_an_argument_named_like_a_sensitive_path_is_not_that_path() -> None:
    assert masked({"a": {"b": 1}, "a.b": 2, "c": {"a.b": 3}}, ("a.b", "c.a.b")) == {
        "a": {"b": HIDDEN},
        "a.b": 2,
        "c": {"a.b": 3},
    }


# --- the card ---------------------------------------------------------------------------------------------------------


def test_outside_text_is_inert_wherever_it_stands() -> None:
    call = a_call(arguments={"payee": HOSTILE, "memo": HOSTILE, HOSTILE: 1}, claim=HOSTILE, agent=HOSTILE)
    shown = card(a_request(call=call, pinned=("payee",), why=HOSTILE))
    joined = "".join(
        part
        for fact in (*shown.facts, *shown.arguments, *([shown.agent_says] if shown.agent_says else []))
        for part in (fact.label, fact.value)
    )
    assert not set(joined) & set("\u202e\u202c\x1b\x00\u200b\u3164")
    assert joined.count("\\u{202E}") >= 6
    assert "{{x}} ${HOME}" in joined  # not interpreted, and not removed


def test_a_reason_and_a_name_are_inert_too() -> None:
    request = a_request()
    denied = advance(request, vote(request, "ann@acme.example", Verdict.DENY), now=START).request
    assert denied.settlement is not None
    denied = replace(denied, settlement=replace(denied.settlement, reason=HOSTILE))
    for said in (message_for_model(denied), outcome_sentence(denied, Language.EN, str)):
        assert not set(said) & set("\u202e\x1b\x00\u200b")


def test_the_pinned_come_first_and_every_argument_is_there_once() -> None:
    shown = card(a_request())
    assert [fact.label for fact in shown.facts[:3]] == ["payee", "amount", "currency"]
    assert [(fact.label, fact.value) for fact in shown.arguments] == [("bank_account", HIDDEN)]
    assert shown.agent_says is not None
    assert shown.agent_says.label == "The agent says (not verified)"


def test_only_a_pending_card_has_buttons_and_a_deadline() -> None:
    pending = card(a_request())
    assert pending.buttons is not None
    assert (pending.buttons.approve, pending.buttons.deny) == TOKENS
    assert pending.deadline is not None
    for request in [
        *(settled(status) for status in Status if status.final and status is not Status.APPROVED),
        approved(),
    ]:
        shown = card(request)
        assert (shown.buttons, shown.deadline, shown.progress) == (None, None, None)
        assert shown.outcome


@given(st.integers(0, 6_000), st.integers(0, 3_000), st.sampled_from([900, 1_500, 3_000]))
def test_a_card_shows_all_of_the_call_or_cannot_be_approved(memo: int, claim: int, budget: int) -> None:
    arguments = {"payee": "Acme", "memo": "m" * memo}
    shown = card(a_request(call=a_call(arguments=arguments, claim="c" * claim), pinned=("payee",)), budget=budget)
    assert shown.buttons is not None
    whole = any(fact.value == arguments["memo"] for fact in shown.arguments)
    assert (shown.buttons.approve is not None) == whole
    assert (shown.withheld is None) == whole
    if whole:
        assert shown.size() <= budget
    assert shown.buttons.deny == TOKENS[1]


def test_a_quorum_shows_how_far_it_has_come() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2),))
    after = advance(request, vote(request, "ann@acme.example"), now=START).request
    assert card(after).progress == "1 of 2 approvals · finance · Approved so far by ann"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (80000, "80,000"),
        (-1234567, "-1,234,567"),
        (999, "999"),
        ("1234567.50", "1,234,567.50"),
        ("-100.5", "-100.5"),
        ("0001234", "0,001,234"),
        ("1e9", "1e9"),
        (True, "true"),
        ([80000], "[80000]"),
    ],
)
def test_money_is_grouped_and_otherwise_exactly_what_was_asked(value: Any, text: str) -> None:
    arguments = {"amount": value, "order": {"total": value}, "count": value}
    shown = card(
        with_arguments(arguments, pinned=("order.total", "count"), sensitive=()), money=("amount", "order.total")
    )
    plain = value if isinstance(value, str) else json.dumps(value)
    assert [fact.value for fact in shown.facts[:2]] == [text, plain]
    assert (shown.arguments[0].label, shown.arguments[0].value) == ("amount", text)


def test_hidden_money_stays_hidden() -> None:
    shown = card(with_arguments({"amount": 80000}, pinned=("amount",), sensitive=("amount",)), money=("amount",))
    assert shown.facts[0].value == HIDDEN


@pytest.mark.parametrize(
    ("language", "span", "until"),
    [
        (Language.EN, timedelta(minutes=30), "2026-03-01 10:30:00 UTC (30 min from when it was asked)"),
        (Language.ZH, timedelta(minutes=30), "自申请起 30 分钟内，即 2026-03-01 10:30:00 UTC 之前"),
        (
            Language.ZH,
            timedelta(days=1, hours=2, seconds=5),
            "自申请起 1 天 2 小时 5 秒内，即 2026-03-02 12:00:05 UTC 之前",
        ),
    ],
)
def test_the_deadline_is_the_last_fact_in_the_readers_own_units(
    language: Language, span: timedelta, until: str
) -> None:
    assert card(a_request(expires_at=START + span), language=language).facts[-1].value == until


# --- every state, every language --------------------------------------------------------------------------------------

EVERY_STATE = [
    a_request(),
    approved(),
    approved(grant=GrantStatus.LAPSED),
    *(claimed(status) for status in ExecutionStatus),
    *(settled(status) for status in Status if status.final and status is not Status.APPROVED),
]


def test_the_examples_cover_every_state() -> None:
    assert {request.state for request in EVERY_STATE} == set(State)


@pytest.mark.parametrize("request_", EVERY_STATE, ids=lambda request: request.state.value)
@pytest.mark.parametrize("language", Language)
def test_every_state_has_its_words(request_: ConfirmationRequest, language: Language) -> None:
    shown = card(request_, language=language)
    assert shown.headline
    assert request_.code in shown.footer
    if request_.state is not State.PENDING:
        assert shown.outcome
    model = message_for_model(request_)
    assert request_.id in model
    assert "{" not in model
    assert "ann@acme.example" not in model


@pytest.mark.parametrize("language", Language)
def test_every_outcome_has_one_mark_and_says_the_day_as_well(language: Language) -> None:
    for request in EVERY_STATE:
        if request.state is not State.PENDING:
            outcome = outcome_sentence(request, language, str)
            assert outcome[0] in "✅⛔⌛"
            assert outcome[1] == " "
            assert "2026-03-01 10:00 UTC" in outcome


@pytest.mark.parametrize("key", ["barred", "not_eligible", "unmapped", "inactive"])
def test_who_may_not_decide_is_told_that_the_request_still_waits(key: str) -> None:
    assert CATALOGUE[Language.EN][f"click.{key}"].endswith(" The request still waits.")


@pytest.mark.parametrize("state", [State.DENIED, State.EXPIRED, State.CANCELLED, State.UNDELIVERABLE])
def test_a_no_tells_the_model_not_to_try_around_it(state: State) -> None:
    [request] = [each for each in EVERY_STATE if each.state is state]
    assert message_for_model(request).endswith(
        "It did not run. Do not retry it, rephrase it, or try to reach the same end another way."
    )


def test_no_language_lacks_a_sentence_or_a_placeholder() -> None:
    def places(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    english = CATALOGUE[Language.EN]
    for language, words in CATALOGUE.items():
        assert words.keys() == english.keys(), language
        assert [key for key in words if places(words[key]) != places(english[key])] == []
