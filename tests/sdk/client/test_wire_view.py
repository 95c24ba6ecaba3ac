"""The wire has one declaration: what the gateway shows is it, and what the SDK reads is held to it, both ways."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
from msgspec.structs import replace
from pydantic import TypeAdapter
from typing_extensions import is_typeddict

from app.api.wire.request_view import ExecutionView, QuestionView, RequestView, view_request
from app.api.wire.schemas import ClaimView
from app.domain.request.consultation import Question as AskedBack
from app.domain.request.quorum import count
from app.domain.request.request import ConfirmationRequest, ExecutionStatus, Status
from app.usecases.reading.warned import Warned
from assent.client.models import Claimed, Execution, Question, Request, parse_request
from tests.domain.samples import START, a_decision, a_request, approved, claimed, settled, voters

PAIRS = [(Request, RequestView), (Execution, ExecutionView), (Question, QuestionView), (Claimed, ClaimView)]
SPOKEN_OTHERWISE = {(Question, "asked_at"): "at", (Request, "settled_reason"): "settled.reason"}
OF_THE_SDK = {(Request, "raw"), (Claimed, "request_id"), (Claimed, "claim_id")}
"""Not on the wire: the whole answer, and what the caller itself said."""
MAY_BE_MISSING = {"code", "reason"}
"""The wire always has them; the SDK does without."""
ONLY_IN_RAW = {
    Request: (
        "status agent sub_agent requester requester_proof changed call_digest policy_version channels stages "
        "decisions grant revoked_why predecessor risk assurance payments cautions allowed_by extensions handovers "
        "host_event evidence"
    ),
    Execution: "ended_at result error",
    Question: "by answered_by answered_at",
    Claimed: "",
}
"""What the SDK has no word for: whoever adds a member to the wire says so here, or gives it one."""


def family(annotation: Any) -> tuple[str, bool]:
    """Return what a type is as JSON, and whether null is."""
    if get_origin(annotation) is Annotated:
        return family(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        [one] = [each for each in get_args(annotation) if each is not type(None)]
        return family(one)[0], True
    kind = get_origin(annotation) or annotation
    if is_typeddict(kind) or is_dataclass(kind) or kind is dict:
        return "object", False
    if kind in {list, tuple}:
        return "list", False
    if issubclass(kind, bool | int):
        return kind.__name__, False
    assert issubclass(kind, str | StrEnum | datetime), f"say what {kind} is on the wire"
    return "text", False


def declared(shape: Any, path: str) -> tuple[str, bool]:
    """Return what the wire has at a path; null anywhere on the way makes it null."""
    name, _, rest = path.partition(".")
    hints = get_type_hints(shape, include_extras=True)
    assert name in hints, f"{shape.__name__} has no {name}"
    if not rest:
        return family(hints[name])
    [inner] = [each for each in get_args(hints[name]) if each is not type(None)]
    kind, null = declared(inner, rest)
    return kind, null or family(hints[name])[1]


@pytest.mark.parametrize(("model", "shape"), PAIRS)
def test_what_the_sdk_reads_is_on_the_wire_and_of_that_type(model: type[Any], shape: Any) -> None:
    hints = get_type_hints(model)
    for field in fields(model):
        if (model, field.name) in OF_THE_SDK:
            continue
        kind, null = declared(shape, SPOKEN_OTHERWISE.get((model, field.name), field.name))
        read, may_be_none = family(hints[field.name])
        assert (field.name, read) == (field.name, kind)
        assert (field.name, may_be_none) == (field.name, null or field.name in MAY_BE_MISSING)


@pytest.mark.parametrize(("model", "shape"), PAIRS)
def test_what_is_on_the_wire_has_a_word_in_the_sdk_or_is_known_to_have_none(model: type[Any], shape: Any) -> None:
    read = {SPOKEN_OTHERWISE.get((model, field.name), field.name).partition(".")[0] for field in fields(model)}
    left = set(get_type_hints(shape)) - read
    assert left == set(ONLY_IN_RAW[model].split())


def consulted() -> ConfirmationRequest:
    question = AskedBack(id="que_1", by="ann@acme.example", text="which invoice?", at=START)
    return a_request(questions=(question, replace(question, id="que_2", answer="4711", answered_at=START)))


WARNED = Warned(kind="unseen", path="payee", text="payee has a character that cannot be seen", values={})
SAMPLES = {
    "pending": a_request(),
    "expired": settled(Status.EXPIRED),
    "approved": approved(),
    "running": claimed(),
    "succeeded": claimed(ExecutionStatus.SUCCEEDED),
    "edited": replace(approved(), proposed={"amount": 1}, edited_by="ann@acme.example"),
    "voted": a_request(decisions=(a_decision("ann@acme.example"),)),
    "asked back": consulted(),
    "bare": a_request(rule_id=None, enforced=True),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("whole", [True, False])
def test_a_request_is_shown_as_declared_and_read_as_shown(name: str, *, whole: bool) -> None:
    request = SAMPLES[name]
    tally = count(request.stages, request.decisions, voters(request.stages))
    shown = view_request(request, tally, () if whole else (WARNED,), whole=whole)
    assert (
        TypeAdapter(RequestView).validate_python(shown, strict=True) == shown
    )  # what is not declared would be left out
    read = parse_request(shown)
    told = {field.name: getattr(read, field.name) for field in fields(read) if field.name in shown}
    plain = {
        **{key: value.isoformat() if isinstance(value, datetime) else value for key, value in told.items()},
        "execution": told["execution"] and told["execution"].id,
        "questions": [(each.id, each.text, each.answer) for each in read.questions],
        "warnings": list(read.warnings),
    }
    assert plain == {
        **{key: value for key, value in shown.items() if key in told},
        "execution": shown["execution"] and shown["execution"]["id"],
        "questions": [(each["id"], each["text"], each["answer"]) for each in shown["questions"]],
        "warnings": [each["text"] for each in shown["warnings"]],
    }
    assert read.settled_reason == (shown["settled"] and shown["settled"]["reason"])
