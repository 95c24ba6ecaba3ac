"""The form of a call that may be changed, what comes out of it, and what counts as only lowering an amount."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.call.tool import Tool
from app.domain.card.editing import (
    FieldFaultError,
    builds_on,
    changes_for_model,
    only_lowered,
)
from app.domain.card.editing import edit_form as domain_form
from app.domain.card.editing import edited_arguments as domain_arguments
from app.domain.card.form import MOST
from app.domain.errors import BadArgumentsError
from app.domain.text.canonical import canonical
from app.domain.text.language import Language
from app.domain.text.masking import masked
from app.domain.text.paths import values_at
from app.domain.text.unmasking import unmasked
from app.usecases.cards.secret_texts import without_secrets
from tests.domain.samples import a_call, a_request

if TYPE_CHECKING:
    from app.domain.card.form import Form
    from app.domain.request.request import ConfirmationRequest

TOOL = Tool(name="oa__purchase_pay", title="Pay {payee} {lines.price}", money=("amount", "lines.price"))


def edit_form(request: ConfirmationRequest, tool: Tool | None, language: Language) -> Form | None:
    return domain_form(request, tool, language, shown=without_secrets(request.call.arguments))


def edited_arguments(request: ConfirmationRequest, tool: Tool | None, fields: dict[str, str]) -> dict[str, Any]:
    return domain_arguments(request, tool, fields, shown=without_secrets(request.call.arguments))


SECRET = "sk-ant-api03-" + "x" * 40


def labels(pinned: tuple[str, ...], arguments: dict[str, Any], *, sensitive: tuple[str, ...] = ()) -> list[str]:
    request = a_request(call=a_call(arguments=arguments), pinned=pinned, sensitive=sensitive)
    form = edit_form(request, TOOL, Language.EN)
    return [field.label for field in form.fields] if form else []


# --- the form ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "offered"),
    [
        ("Acme Ltd", True),
        ("12.50", True),
        ("", True),
        ("上海甲公司", True),
        (80000, True),
        (-5, True),
        (True, True),
        ("x" * MOST, True),
        ("x" * (MOST + 1), False),
        ("😀" * (MOST // 2 + 1), False),  # as platforms count
        ("a\nb", False),
        ("a\\b", False),
        ("a\u202eb", False),
        ("a    b", False),
        (SECRET, False),
        (1.5, False),
        (None, False),
        ([1], False),
        ({"a": 1}, False),
    ],
)
def test_a_form_has_only_what_it_can_carry_without_loss(value: Any, offered: bool) -> None:
    assert labels(("value",), {"value": value}) == (["value"] if offered else [])


def test_a_form_has_the_pinned_arguments_or_else_those_of_the_title() -> None:
    arguments = {"payee": "Acme", "lines": [{"price": 1}, {"price": "2.50"}], "memo": "x", "账号": "1"}
    assert labels(("memo", "lines.price", "账号"), arguments) == ["memo", "lines[0].price", "lines[1].price", "账号"]
    assert labels((), arguments) == ["payee", "lines[0].price", "lines[1].price"]
    assert edit_form(a_request(pinned=()), None, Language.EN) is None


@pytest.mark.parametrize("sensitive", [("bank",), ("bank.iban",), ("bank.iban.digits",)])
def test_a_form_has_nothing_sensitive(sensitive: tuple[str, ...]) -> None:
    assert labels(("bank.iban", "payee"), {"payee": "x", "bank": {"iban": "DE1"}}, sensitive=sensitive) == ["payee"]


def test_a_form_has_ten_fields_at_most_and_each_place_once() -> None:
    arguments = {f"a{index}": index for index in range(20)}
    assert labels((*arguments, *arguments), arguments) == [f"a{index}" for index in range(10)]


@pytest.mark.parametrize("language", list(Language))
@given(
    arguments=st.dictionaries(
        st.sampled_from(["a", "b", "c", "d"]), st.text(max_size=20) | st.integers(-(10**15), 10**15) | st.booleans()
    )
)
def test_a_form_that_comes_back_as_it_was_changes_nothing(language: Language, arguments: dict[str, Any]) -> None:
    request = a_request(call=a_call(arguments=arguments), pinned=("a", "b", "c", "d"))
    form = edit_form(request, None, language)
    for trim in (str, str.strip):  # some platforms take the blanks off
        fields = {field.name: trim(field.value) for field in form.fields} if form else {}
        if form:
            assert canonical(edited_arguments(request, None, fields)) == canonical(arguments)


@given(text=st.text(max_size=30), value=st.sampled_from(["Acme", 5, True]))
def test_what_is_typed_becomes_a_value_of_the_type_that_stood_there_or_is_a_fault(text: str, value: Any) -> None:
    request = a_request(call=a_call(arguments={"value": value, "rest": [1, {"x": None}]}), pinned=("value",))
    form = edit_form(request, None, Language.EN)
    assert form is not None
    try:
        edited = edited_arguments(request, None, {form.fields[0].name: text})
    except FieldFaultError:
        return
    assert type(edited["value"]) is type(value)
    assert edited["rest"] == [1, {"x": None}]


@pytest.mark.parametrize(("text", "value"), [("true", True), ("FALSE", False), ("是", True), ("否", False)])
def test_truths_are_read_in_both_languages(text: str, value: bool) -> None:
    request = a_request(call=a_call(arguments={"urgent": not value}), pinned=("urgent",))
    form = edit_form(request, None, Language.ZH)
    assert form is not None
    assert form.fields[0].value == ("否" if value else "是")
    assert edited_arguments(request, None, {form.fields[0].name: text}) == {"urgent": value}


def test_a_field_that_is_missing_is_an_emptied_one() -> None:
    request = a_request(pinned=("payee", "amount"))
    form = edit_form(request, None, Language.EN)
    assert form is not None
    with pytest.raises(FieldFaultError) as fault:
        edited_arguments(request, None, {form.fields[1].name: "5"})
    assert (fault.value.key, fault.value.field) == ("edit_empty", "payee")


def test_a_form_of_other_arguments_is_none_of_these() -> None:
    """The title's fields may have moved since: a value must not land in another argument."""
    request = a_request(call=a_call(arguments={"a": "x", "b": "y"}), pinned=())
    before = edit_form(request, Tool(name="t", title="{a} {b}"), Language.EN)
    assert before is not None
    fields = {field.name: field.value for field in before.fields}
    with pytest.raises(FieldFaultError):
        edited_arguments(request, Tool(name="t", title="{b} {a}"), fields)


# --- only lowered -----------------------------------------------------------------------------------------------------

BEFORE = {"payee": "Acme", "amount": 100, "lines": [{"price": "10.00", "n": 1}, {"price": "5.00", "n": 2}]}


@pytest.mark.parametrize(
    ("changed", "lowered"),
    [
        ({}, True),
        ({"amount": 99}, True),
        ({"amount": 0}, True),
        ({"amount": 101}, False),
        ({"amount": -1}, False),
        ({"amount": "99"}, False),
        ({"amount": True}, False),
        ({"amount": None}, False),
        ({"amount": 99.5}, False),
        ({"amount": [1]}, False),
        ({"amount": 50, "payee": "Acme "}, False),
        ({"amount": 50, "more": 1}, False),
        ({"lines": [{"price": "9.99", "n": 1}, {"price": "5.00", "n": 2}]}, True),
        ({"lines": [{"price": "10", "n": 1}, {"price": "5", "n": 2}]}, True),
        ({"lines": [{"price": "9.99", "n": 1}, {"price": "5.01", "n": 2}]}, False),
        ({"lines": [{"price": "1e1", "n": 1}, {"price": "5.00", "n": 2}]}, False),
        ({"lines": [{"price": "9.99", "n": 3}, {"price": "5.00", "n": 2}]}, False),
        ({"lines": [{"price": "5.00", "n": 2}, {"price": "5.00", "n": 2}]}, False),
        ({"lines": [{"price": "10.00", "n": 1}]}, False),
    ],
)
def test_only_exact_amounts_that_went_down_are_lowered(changed: dict[str, Any], lowered: bool) -> None:
    assert only_lowered(BEFORE, {**BEFORE, **changed}, TOOL.money) is lowered


def test_without_money_fields_nothing_is_a_lowered_amount() -> None:
    assert not only_lowered(BEFORE, {**BEFORE, "amount": 1}, ())
    assert only_lowered(BEFORE, BEFORE, ())


def test_money_within_money_is_compared_once() -> None:
    assert only_lowered({"a": {"b": 5}}, {"a": {"b": 5}}, ("a", "a.b"))
    assert not only_lowered({"a": {"b": 5}}, {"a": {"b": 6}}, ("a", "a.b"))


@given(before=st.integers(0, 10**15), after=st.integers(-(10**15), 10**15), rest=st.text())
def test_an_amount_is_lowered_exactly_if_it_is_not_more_and_not_below_zero(before: int, after: int, rest: str) -> None:
    one, other = {"amount": before, "rest": rest}, {"amount": after, "rest": rest}
    assert only_lowered(one, other, ("amount",)) is (0 <= after <= before)


# --- on top of another's change ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "builds"),
    [
        ({"payee": "Beta", "amount": 5}, True),
        ({"payee": "Acme", "amount": 5}, False),
        ({"payee": "Gamma", "amount": 5}, False),
        ({"payee": ["Beta"], "amount": 5}, True),
        ({"amount": 5}, True),
    ],
)
def test_a_change_builds_on_anothers_unless_that_is_undone_or_replaced(after: dict[str, Any], builds: bool) -> None:
    request = a_request(
        call=a_call(arguments={"payee": "Beta", "amount": 5}),
        proposed={"payee": "Acme", "amount": 5},
        edited_by="ann@acme.example",
    )
    assert builds_on(request, after) is builds


# --- what is told, and what comes back masked -------------------------------------------------------------------------


def test_a_model_is_told_what_was_changed_and_nothing_sensitive() -> None:
    request = a_request(
        call=a_call(arguments={"amount": 5, "bank_account": "6222000111122223", "memo": "a\nb", "new": [1]}),
        proposed={"amount": 9, "bank_account": "6222000111124444", "memo": "x" * 300, "old": True},
    )
    told = changes_for_model(request)
    assert "amount: 9 → 5" in told
    assert "bank_account: •••4444 → •••2223" in told
    assert "new: (left out) → [1]" in told
    assert "old: true → (left out)" in told
    assert "a⏎\nb" in told
    assert "x" * 200 not in told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["a", "6222-0001-1111-2222", "•••", "•••2222"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "iban"]), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "iban"]), JSON, max_size=3)


@given(stored=ARGUMENTS, sensitive=st.sets(st.sampled_from(["a", "b", "iban", "a.b", "b.iban"])))
def test_arguments_sent_back_as_they_were_shown_are_the_stored_ones(
    stored: dict[str, Any], sensitive: set[str]
) -> None:
    assert canonical(unmasked(masked(stored, sensitive), stored, sensitive)) == canonical(stored)


@given(stored=ARGUMENTS, sent=ARGUMENTS, sensitive=st.sets(st.sampled_from(["a", "b", "iban", "a.b", "b.iban"])))
def test_whatever_else_is_sent_is_taken_as_it_is_or_refused(
    stored: dict[str, Any], sent: dict[str, Any], sensitive: set[str]
) -> None:
    """Nothing else moves: a secret comes back only where its own mask was sent, and no mask is taken for a value."""
    try:
        taken = unmasked(sent, stored, sensitive)
    except BadArgumentsError:
        return
    assert canonical(without(taken, sensitive)) == canonical(without(sent, sensitive))
    before = json.dumps(stored)
    for path in sensitive:
        for _, value in values_at(taken, path):
            assert "•••" not in json.dumps(value, ensure_ascii=False) or json.dumps(value) in before


def without(arguments: dict[str, Any], sensitive: set[str]) -> dict[str, Any]:
    """Put the same in the place of all that is sensitive."""

    def plain(value: Any, path: tuple[str, ...]) -> Any:
        if ".".join(path) in sensitive:
            return None
        match value:
            case dict():
                return {name: plain(item, (*path, name)) for name, item in value.items()}
            case list():
                return [plain(item, path) for item in value]
            case _:
                return value

    return plain(arguments, ())
