"""A submission has one set of members: the doors take them, what is judged has them, and the SDK sends only those."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_type_hints

import pytest
from starlette.requests import Request

from app.api.agents.moments import PreToolUse
from app.api.wire import schemas
from app.api.wire.verdicts import submitted
from app.domain.call.submission import Submission
from app.domain.identity.api_key import ApiKey, Scope
from assent import ToolCall
from tests.domain.samples import START
from tests.sdk.client.test_wire_view import family

OF_THE_KEY = {"org", "agent", "owner", "evaluation_key"}
OF_THE_HEADER = {"idempotency_key", "joins", "is_small"}
OF_THE_PROOF = {"proof", "unproven"}
"""What became of the requester's token."""
OF_US = OF_THE_KEY | OF_THE_HEADER | OF_THE_PROOF
OF_THE_ANSWER = set(schemas.HeldBody.model_fields)
"""How the caller wants to be answered: nothing of it is judged."""
NOT_OF_RUNTIMES = {"confirm"}
"""A runtime only tells what happens; whoever asks by `POST /v1/requests` may want people asked."""
NOT_SENT = {"parent_agent", "metadata", "evaluation", "can_route", "host_event"}
"""What the SDK does not say in a check."""

KEY = ApiKey(
    id="key_1",
    org="acme",
    scope=Scope.AGENT,
    agent="payer",
    person=None,
    label="payer",
    secret_hash="",
    created_at=START,
    expires_at=None,
    revoked_at=None,
)
NO_HEADERS = Request({"type": "http", "headers": []})
SAID: dict[str, Any] = {
    "tool": "pay",
    "arguments": {"amount": 1},
    "session": "s",
    "call_id": "c",
    "requester": "rex@acme.example",
    "requester_token": "e30.e30.e30",
    "claim": "it is due",
    "confirm": "the amount",
    "parent_session": "p",
    "parent_agent": "planner",
    "sub_agent": "worker",
    "cwd": "/srv",
    "host_event": '{"hook_event_name": "PreToolUse"}',
    "metadata": {"turn": 1},
    "evidence": [{"kind": "link", "url": "https://erp.acme.example/7"}],
    "evaluation": False,
    "can_route": True,
}


def test_the_body_of_a_call_and_what_is_judged_have_the_same_members() -> None:
    judged = {field.name: field for field in fields(Submission)}
    assert set(schemas.Submission.model_fields) - OF_THE_ANSWER == set(judged) - OF_US == set(SAID)
    assert set(PreToolUse.model_fields) == set(schemas.Submission.model_fields) - NOT_OF_RUNTIMES
    for name in SAID:
        member, field = schemas.Submission.model_fields[name], judged[name]
        assert (name, member.is_required()) == (name, field.default is MISSING and field.default_factory is MISSING)


def test_every_member_that_a_door_takes_arrives() -> None:
    body = schemas.Submission.model_validate({**SAID, "wait": 5, "claim_id": "c"})
    asked = submitted(KEY, body, NO_HEADERS)
    assert {name: getattr(asked, name) for name in SAID} == SAID
    assert (asked.org, asked.agent, asked.owner, asked.evaluation_key) == ("acme", "payer", None, None)
    names = {name: member.alias or name for name, member in PreToolUse.model_fields.items() if name in SAID}
    told = submitted(KEY, PreToolUse.model_validate({names[name]: SAID[name] for name in names}), NO_HEADERS)
    assert {name: getattr(told, name) for name in SAID} == {**SAID, "confirm": None}


def test_the_sdk_sends_members_of_a_submission_and_lacks_only_those_named_here() -> None:
    theirs = get_type_hints(ToolCall, localns={"Json": dict[str, Any]})
    theirs.pop("_", None)
    assert set(SAID) - set(theirs) == NOT_SENT
    ours = get_type_hints(schemas.Submission, include_extras=True)
    for name, annotation in theirs.items():
        assert (name, family(annotation)) == (name, family(ours[name]))


def test_what_is_left_out_of_a_call_is_not_sent() -> None:
    assert ToolCall("pay", {"n": 1}).as_body() == {"tool": "pay", "arguments": {"n": 1}}
    whole = {name: value for name, value in SAID.items() if name not in NOT_SENT}
    assert ToolCall(**whole).as_body() == whole
    with pytest.raises(TypeError, match="colour"):
        ToolCall("pay", {}, colour="red")  # pyright: ignore[reportCallIssue]
