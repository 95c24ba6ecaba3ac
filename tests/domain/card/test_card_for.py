"""What people and models read: inert, masked, whole or not approvable, and the same in every language."""

from __future__ import annotations

import json
import re
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.call.exhibit import read_evidence
from app.domain.card.card_for import HIDDEN, card_for, masked, message_for_model, outcome_sentence
from app.domain.card.shown_call import Terms
from app.domain.lifecycle.lifecycle import advance
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage, count
from app.domain.request.request import ExecutionStatus, GrantStatus, State, Status
from app.domain.text.language import Language
from app.domain.words.say import CATALOGUE
from tests.domain.exhibit_files import ALL, INVOICE, a_file, a_link
from tests.domain.samples import START, a_call, a_decision, a_request, approved, claimed, settled, vote, voters
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.domain.card.card import Card
    from app.domain.request.request import ConfirmationRequest

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
    **terms: Any,
) -> Card:
    pending = request.status is Status.PENDING
    tally = count(request.stages, request.decisions, voters(request.stages)) if pending else None
    return card_for(
        request,
        Terms(language=language, name_of=lambda email: email.partition("@")[0], review="See it at the gate.", **terms),
        revision=1,
        tally=tally,
        tokens=TOKENS if pending else None,
        budget=budget,
    )


def test_whom_is_never_below_the_buttons_alone_however_long_a_name_an_agent_makes_of_it() -> None:
    name = "Acme Ltd " + "and associated companies " * 4
    asked = a_request(call=a_call(arguments={"payee": name, "amount": 80000, "currency": "CNY"}))
    shown = card(asked, money=("amount",), payees=("payee",))
    assert [fact.label for fact in shown.highlights] == ["amount", "payee"]
    assert shown.highlights[1].value == "Acme Ltd and associated companies and as… (whole below)"
    assert name in [fact.value for fact in shown.facts]
    assert shown.buttons is not None
    assert shown.buttons.approve is not None


def texts(of: Card) -> str:
    return msgspec.json.encode(of, enc_hook=str).decode()


def with_arguments(arguments: dict[str, Any], **changes: Any) -> ConfirmationRequest:
    return a_request(call=a_call(arguments=arguments), **changes)


EVIDENCE = tuple(
    each.exhibit
    for each in read_evidence(
        [*ALL, a_link("https://bank.example/x"), a_file(INVOICE, name=f"a\u202eb {'x' * 90}")], told=str
    )
)


@requirement("S-18", "S-105")
def test_a_card_says_that_there_is_evidence_and_where_and_shows_none_of_it() -> None:
    brought = a_request(call=a_call(evidence=EVIDENCE))
    fact = next(fact for fact in card(brought, page="https://gate.example/r/req_1").facts if "Evidence" in fact.label)
    assert fact.label == "Evidence (from the agent, not verified)"
    assert fact.value == "3 files, 2 links: “See all of it” shows them\ninvoice.pdf, photo.png, erp.acme.example, …"
    only = card(a_request(call=a_call(evidence=EVIDENCE[-1:])), language=Language.ZH)
    fact = next(fact for fact in only.facts if "附件" in fact.label)
    assert fact.value.startswith("1 个文件：请通过网关查看此请求\na\\u{202E}b xxxx")
    assert len(fact.value) < 80
    assert card(a_request()).facts == tuple(each for each in card(brought).facts if "Evidence" not in each.label)
    assert "orders/7" not in texts(card(brought)), "no address of an agent's is on a card"


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
    seen = "\n".join(fact.value for fact in (*shown.highlights, *shown.facts, *shown.arguments))
    assert shown.buttons is not None
    for path, text in leaves:
        if under(path, sensitive):
            assert text not in seen
        elif shown.buttons.approve is not None:
            assert text in seen, path


def test_an_argument_named_like_a_pinned_path_hides_nothing() -> None:
    arguments: dict[str, Any] = {"payee": {"name": "Good", "bank": "B1"}, "payee.name": "EVIL", "amount": 5}
    shown = card(with_arguments(arguments, pinned=("payee.name", "amount"), sensitive=()))
    assert [(fact.label, fact.value) for fact in shown.highlights] == [("payee.name", "Good")]
    assert [(fact.label, fact.value) for fact in shown.facts[2:]] == [("amount", "5")]
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
        for fact in (*shown.highlights, *shown.facts, *shown.arguments, shown.agent_says)
        if fact is not None
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


def test_a_card_reads_from_what_matters_most_down_and_has_every_argument_once() -> None:
    shown = card(a_request(), money=("amount",))
    assert [(fact.label, fact.value) for fact in shown.highlights] == [
        ("amount", "¥80,000.00 CNY"),
        ("payee", "Acme Ltd"),
    ]
    assert [fact.label for fact in shown.facts] == ["Asked by", "Why you are asked", "currency"]
    assert [(fact.label, fact.value) for fact in shown.arguments] == [("bank_account", HIDDEN)]
    assert shown.agent_says is not None
    assert shown.agent_says.label == "The agent says (not verified)"


@requirement("S-68")
@pytest.mark.parametrize(
    ("requester", "who"),
    [
        ("rex@acme.example", "agent payer; it says: for rex <rex@acme.example> (not verified)"),
        (None, "agent payer (no requester named)"),
    ],
)
def test_a_card_says_who_asks_for_whom_and_through_which_agent(requester: str | None, who: str) -> None:
    assert card(a_request(call=a_call(requester=requester))).facts[0].value == who


@requirement("S-68")
@pytest.mark.parametrize(
    ("language", "mark"),
    [
        (Language.EN, "it says: for ceo <ceo@acme.example> (not verified)"),
        (Language.ZH, "自述代 ceo <ceo@acme.example> 申请（未经核实）"),
    ],
)
def test_whoever_the_agent_names_stands_on_no_card_as_a_fact(language: Language, mark: str) -> None:
    shown = card(a_request(call=a_call(requester="ceo@acme.example")), language=language)
    told = [fact.value for fact in (*shown.facts, *shown.arguments) if "ceo@acme.example" in fact.value]
    assert len(told) == 1
    assert mark in told[0]


def test_a_card_says_which_rule_asks_and_the_values_that_tripped_it() -> None:
    shown = card(a_request())
    assert shown.facts[1].value == "Payments over 50000 need finance."
    assert (shown.details[0].label, shown.details[0].value) == ("Rule", "large · args.amount = 80000")


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


@requirement("S-13")
@given(st.integers(0, 6_000), st.integers(0, 3_000), st.sampled_from([1_200, 1_500, 3_000]))
def test_a_card_shows_all_of_the_call_or_cannot_be_approved(memo: int, claim: int, budget: int) -> None:
    arguments = {"payee": "Acme", "memo": "m" * memo}
    shown = card(a_request(call=a_call(arguments=arguments, claim="c" * claim), pinned=("payee",)), budget=budget)
    assert shown.buttons is not None
    whole = any(fact.value == arguments["memo"] for fact in shown.arguments)
    assert (shown.buttons.approve is not None) == whole
    assert (shown.withheld is None) == whole
    assert shown.size() <= budget
    assert shown.buttons.deny == TOKENS[1]
    if shown.withheld is not None:
        assert shown.withheld.endswith("See it at the gate.")


def one_long(field: str, length: int, last: str = "") -> ConfirmationRequest:
    text = "x" * (length - len(last)) + last
    if field in {"payee", "memo"}:
        arguments = {"payee": "Acme", "memo": "m"} | {field: text}
        return a_request(call=a_call(arguments=arguments, claim=None), pinned=("payee",), sensitive=())
    return a_request(call=a_call(arguments={"payee": "Acme", text: 1}, claim=None), pinned=("payee",), sensitive=())


@requirement("S-13")
@pytest.mark.parametrize("field", ["payee", "memo", "a name"])
@pytest.mark.parametrize("language", Language)
def test_one_character_too_many_anywhere_takes_approve_away(field: str, language: Language) -> None:
    budget = card(one_long(field, 3_000), language=language).size()
    whole, over = (card(one_long(field, length), language=language, budget=budget) for length in (3_000, 3_001))
    under = card(one_long(field, 2_999), language=language, budget=budget)
    for shown in (whole, under):
        assert shown.buttons is not None
        assert (shown.buttons.approve, shown.withheld) == (TOKENS[0], None)
    assert over.buttons is not None
    assert over.buttons.approve is None
    assert over.withheld


@requirement("S-13")
@pytest.mark.parametrize("length", [30_000, 1_000_000])
def test_what_stands_in_the_last_byte_is_never_approved_unseen(length: int) -> None:
    shown = card(one_long("memo", length, last="DELETE ALL"), budget=9_000)
    assert "DELETE ALL" not in texts(shown)
    assert shown.buttons is not None
    assert shown.buttons.approve is None
    assert shown.size() <= 9_000
    assert any("more characters not shown" in fact.value for fact in shown.arguments)


@requirement("S-13")
def test_thousands_of_arguments_are_counted_where_they_are_left_out() -> None:
    arguments = {"payee": "Acme"} | {f"a{number}": number for number in range(3_000)}
    shown = card(with_arguments(arguments, pinned=("payee",)), budget=5_000)
    assert shown.size() <= 5_000
    assert shown.buttons is not None
    assert shown.buttons.approve is None
    assert re.fullmatch(r"\d+ more not shown", shown.arguments[-1].value)


def test_prose_of_the_agent_that_does_not_fit_is_left_out_and_said_so() -> None:
    shown = card(a_request(call=a_call(claim="c" * 9_000)), budget=5_000)
    assert shown.agent_says is not None
    assert shown.agent_says.value == "Left out: it is too long for this card (9000 characters)."
    assert shown.buttons is not None
    assert shown.buttons.approve == TOKENS[0]


@requirement("S-13")
def test_emoji_count_as_the_platforms_count_them() -> None:
    plain, emoji = (card(with_arguments({"memo": char * 10})).size() for char in ("x", "\N{PILE OF POO}"))
    assert emoji == plain + 10


def test_a_quorum_shows_how_far_it_has_come() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2),))
    after = advance(request, vote(request, "ann@acme.example"), now=START).request
    assert card(after).progress == "1 of 2 approvals · finance · Approved so far by ann"


def test_a_quorum_of_several_steps_says_which_one_is_asked() -> None:
    stages = (
        Stage(of=("finance",), need=1),
        Stage(of=("security",), need=1, joined=True),
        Stage(of=("board",), need=2),
    )
    request = a_request(stages=stages)
    assert card(request).progress == "Step 1 of 2: 0 of 1 approvals · finance + 0 of 1 approvals · security"


def test_a_vote_for_somebody_who_is_away_shows_both_names() -> None:
    request = a_request(stages=(Stage(of=("finance",), need=2),))
    decision = replace(a_decision("bob@acme.example"), on_behalf_of="ann@acme.example")
    shown = card(replace(request, decisions=(decision,)))
    assert shown.progress is not None
    assert shown.progress.endswith("Approved so far by bob (for ann)")


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
    found = {fact.label: fact.value for fact in (*shown.arguments, *shown.facts, *shown.highlights)}
    assert (found["amount"], found["order.total"], found["count"]) == (text, text, plain)


def test_an_amount_takes_the_currency_beside_it_and_no_other() -> None:
    arguments = {
        "order": {"total": "12.5", "currency": "USD"},
        "fee": 3,
        "currency": "JPY",
        "lines": [{"price": 1, "currency": "EUR"}, {"price": 2, "currency": "GBP"}],
    }
    shown = card(with_arguments(arguments, pinned=()), money=("order.total", "fee", "lines.price"))
    assert [fact.value for fact in shown.highlights] == ["US$12.50 USD", "¥3 JPY", "¥1 JPY, ¥2 JPY"]


def test_hidden_money_stays_hidden() -> None:
    shown = card(with_arguments({"amount": 80000}, pinned=("amount",), sensitive=("amount",)), money=("amount",))
    assert [fact.value for fact in shown.highlights] == [HIDDEN]


@pytest.mark.parametrize(
    ("language", "span", "until"),
    [
        (Language.EN, timedelta(minutes=30), "2026-03-01 10:30 UTC (30 min from being asked)"),
        (Language.ZH, timedelta(minutes=30), "2026-03-01 10:30 UTC（自申请起 30 分钟）"),
        (
            Language.ZH,
            timedelta(days=1, hours=2, seconds=5),
            "2026-03-02 12:00:05 UTC（自申请起 1 天 2 小时 5 秒）",
        ),
    ],
)
def test_the_deadline_is_said_in_the_readers_own_units(language: Language, span: timedelta, until: str) -> None:
    shown = card(a_request(expires_at=START + span), language=language)
    assert shown.details[-1].value == until
    assert shown.until is not None
    day = "03-02 12:00" if span > timedelta(days=1) else "10:30"
    assert shown.until.value == f"{day} · {shown.then}"


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        (timezone(timedelta(hours=8)), "2026-03-01 18:30 UTC+8"),
        (timezone(timedelta(hours=5, minutes=30)), "2026-03-01 16:00 UTC+5:30"),
        (timezone(-timedelta(hours=3)), "2026-03-01 07:30 UTC-3"),
        (timezone(-timedelta(hours=3, minutes=30)), "2026-03-01 07:00 UTC-3:30"),
    ],
)
def test_dates_are_those_of_the_org_s_zone(zone: timezone, said: str) -> None:
    assert card(a_request(), zone=zone).details[-1].value.startswith(said)
    settled_card = card(approved(), zone=zone)
    assert f"{START.astimezone(zone):%Y-%m-%d %H:%M}" in str(settled_card.outcome)
    assert settled_card.footer.endswith(f"UTC{said.partition('UTC')[2]}")  # which zone that is stands with the ids


# --- what may deceive -------------------------------------------------------------------------------------------------


@requirement("S-19")
@pytest.mark.parametrize(
    ("payee", "warning"),
    [
        ("\u0410cme Ltd", "payee: “\\u{410}cme” mixes letters of different alphabets. It may imitate another name."),
        ("\uff21cme", "payee: “\\u{FF21}cme” has letters or digits in an unusual form. It may imitate another text."),
        (
            "PayPaI",
            "payee: “PayPaI” has an I, 0 or 1 where a letter is expected. Compare it with the real name.",
        ),
    ],
)
def test_a_payee_that_looks_like_another_is_flagged(payee: str, warning: str) -> None:
    shown = card(with_arguments({"payee": payee, "amount": 1}, pinned=("payee",)))
    assert shown.warnings == (warning,)


@requirement("S-19")
def test_every_text_of_the_call_is_looked_at_and_the_first_warnings_are_shown() -> None:
    fake = "\u0410cme"
    arguments = {"payee": fake, "memo": {"deep": [f"{fake}2"]}, f"{fake}3": 1}
    call = a_call(arguments=arguments, agent=f"{fake}4", tool=f"{fake}5")
    warnings = card(a_request(call=call, pinned=("payee",))).warnings
    assert [warning.partition(":")[0] for warning in warnings[:3]] == ["payee", "memo", f"{fake}3"]
    assert len(warnings) == 5
    assert warnings[4] == "More warnings of this kind: 1."


def test_plain_names_raise_no_warning() -> None:
    for payee in ("Acme Ltd", "恒通钢铁 Hengtong Steel", "Société Générale", "Москва Строй", "Acme（北京）有限公司"):
        assert card(with_arguments({"payee": payee}, pinned=("payee",))).warnings == ()


def test_an_amount_finer_than_its_currency_is_flagged_and_keeps_its_digits() -> None:
    shown = card(with_arguments({"amount": "1.005", "currency": "CNY"}, pinned=()), money=("amount",))
    assert shown.highlights[0].value == "¥1.005 CNY"
    assert shown.warnings == ("amount: more digits after the point than this currency has.",)


# --- secrets ----------------------------------------------------------------------------------------------------------


@requirement("S-37")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("6222020200112233445", f"{HIDDEN}3445"),
        (6222020200112233446, f"{HIDDEN}3446"),
        ("DE02120300000000202051", f"{HIDDEN}2051"),
        ("short", HIDDEN),
        ("exactly15chars!", HIDDEN),
        ("x" * 40 + "\u202e123", HIDDEN),
        ({"a": "6222020200112233445"}, HIDDEN),
        (True, HIDDEN),
    ],
)
def test_a_sensitive_value_keeps_at_most_its_last_four(value: Any, shown: str) -> None:
    assert masked({"account": value}, ("account",)) == {"account": shown}


@requirement("S-37")
def test_the_card_says_how_many_values_it_hides_and_can_still_be_approved() -> None:
    arguments = {"payee": "Acme", "bank": {"no": "1", "pin": "2"}, "list": [{"k": "3"}, {"k": "4"}]}
    shown = card(with_arguments(arguments, pinned=("payee",), sensitive=("bank", "list.k")))
    assert shown.hidden == "Values hidden on this card: 3. The call runs with the real ones."
    assert shown.buttons is not None
    assert shown.buttons.approve == TOKENS[0]


@requirement("S-37")
@pytest.mark.parametrize(("pinned", "approvable"), [(("payee",), True), (("token",), False), ((), False)])
def test_a_secret_that_must_be_seen_takes_approve_away(pinned: tuple[str, ...], *, approvable: bool) -> None:
    arguments = {"payee": "Acme", "token": CANARY}
    shown = card(
        with_arguments(arguments, pinned=pinned, sensitive=()),
        visible_arguments={"payee": "Acme", "token": "[redacted: secret value]"},
    )
    assert CANARY not in texts(shown)
    assert shown.hidden is not None
    assert shown.buttons is not None
    assert (shown.buttons.approve is not None) == approvable
    assert (shown.withheld is None) == approvable


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


@requirement("S-55")
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
            mark, _, rest = outcome.partition(" ")
            assert mark in {"✅", "⛔", "⌛", "❌", "⚠️", "⏳"}
            assert (mark == "✅") == (request.state in {State.APPROVED, State.SUCCEEDED})  # nothing else begins so
            assert not set(rest) & set("✅⛔⌛❌⚠⏳")
            assert "2026-03-01 10:00" in rest


@pytest.mark.parametrize("key", ["barred", "not_eligible", "unmapped", "inactive"])
def test_who_may_not_decide_is_told_that_the_request_still_waits(key: str) -> None:
    assert CATALOGUE[Language.EN][f"click.{key}"].endswith(" The request still waits.")


@requirement("S-55")
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
