"""Slack's calls, proven and read. Pure.

A call is proven before a byte of it is parsed (api.slack.com/authentication/verifying-requests-from-slack)::

    X-Slack-Signature = "v0=" + hex(HMAC-SHA256(signing secret, "v0:" + X-Slack-Request-Timestamp + ":" + raw body))

with both headers exactly once, the time-stamp within five minutes of ours, and a comparison in constant time. Frames of
Socket Mode carry no signature (the connection is the proof); their payloads pass through the same `parse_payload`.

What a button or a modal carries back is opaque here: the sealed token says what is asked, and the core opens it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn, cast
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.ports import CallbackRejectedError, Challenge, Click, HttpAnswer, Ignored
from channels.slack.card import APPROVE, DENY, REASON_BLOCK, REASON_INPUT, REASON_MODAL

if TYPE_CHECKING:
    from datetime import datetime

    from app.ports import Inbound, InboundCall

_WINDOW_SECONDS: Final = 300
_FORM_FIELDS_MOST: Final = 20


def read_call(call: InboundCall, *, signing_secret: str, app_id: str, now: datetime) -> Inbound:
    """Verify a webhook call and say what it asks. `app_id` is ours, or "" where it is not pinned.

    Raises CallbackRejectedError for whatever is not provably Slack's or not in its form.
    """
    verify(call, signing_secret=signing_secret, now=now)
    kind = (call.header("content-type") or "").split(";")[0].strip().lower()
    match kind:
        case "application/x-www-form-urlencoded":
            fields = _form(call.body)
        case "application/json":
            return _event(parse_json(call.body))
        case _:
            _reject("a content type that Slack does not send")
    payloads = [value for name, value in fields if name == "payload"]
    if not payloads and ("ssl_check", "1") in fields:
        return Ignored(why="ssl_check")
    if len(payloads) != 1:
        _reject(f"{len(payloads)} payload fields")
    return parse_payload(parse_json(payloads[0].encode()), app_id=app_id)


def verify(call: InboundCall, *, signing_secret: str, now: datetime) -> None:
    """Prove that the call is Slack's and fresh. Raises CallbackRejectedError."""
    stamp = call.header("x-slack-request-timestamp")
    given = call.header("x-slack-signature")
    if stamp is None or given is None:
        _reject("a signature header is missing or came twice")
    if not re.fullmatch(r"[0-9]{1,11}", stamp):
        _reject("the time-stamp is no whole number")
    if abs(now.timestamp() - int(stamp)) > _WINDOW_SECONDS:
        _reject("the time-stamp is more than five minutes away")
    expected = sign(call.body, stamp=stamp, signing_secret=signing_secret)
    if not hmac.compare_digest(expected.encode(), given.encode("utf-8", "surrogatepass")):
        _reject("the signature does not match")


def sign(body: bytes, *, stamp: str, signing_secret: str) -> str:
    """Return the v0 signature of a raw body."""
    text = b"v0:" + stamp.encode("ascii") + b":" + body
    return "v0=" + hmac.new(signing_secret.encode(), text, hashlib.sha256).hexdigest()


def parse_json(raw: bytes | str) -> dict[str, object]:
    """Parse a JSON object strictly: UTF-8, no name twice, no NaN. Raises CallbackRejectedError."""
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        parsed: object = json.loads(text, object_pairs_hook=_no_name_twice, parse_constant=_reject)
    except (ValueError, RecursionError):
        _reject("the JSON is broken")
    if not isinstance(parsed, dict):
        _reject("the JSON is no object")
    return cast("dict[str, object]", parsed)


def parse_payload(payload: dict[str, object], *, app_id: str) -> Inbound:
    """Say what an interactive payload asks, from a webhook or a Socket Mode frame alike.

    Raises CallbackRejectedError when it is of another app or not in Slack's form.
    """
    try:
        match payload.get("type"):
            case "block_actions":
                return _press(_BlockActions.model_validate(payload), app_id=app_id)
            case "view_submission":
                return _submission(_ViewSubmission.model_validate(payload), app_id=app_id)
            case str(other):
                return Ignored(why=f"interaction {other[:40]!r}")
            case _:
                _reject("the payload has no type")
    except ValidationError as error:
        places = sorted({".".join(str(part) for part in fault["loc"]) for fault in error.errors(include_input=False)})
        raise CallbackRejectedError(f"not in Slack's form at {', '.join(places)[:200]}") from None


# --- what Slack sends -------------------------------------------------------------------------------------------------

_Id = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_Sealed = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


class _Shape(BaseModel):
    """A part of a payload: strict in type, tolerant of fields that it does not know."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _User(_Shape):
    id: _Id
    team_id: _Id | None = None


class _Team(_Shape):
    id: _Id


class _Channel(_Shape):
    id: _Id


class _Container(_Shape):
    type: str
    message_ts: _Id | None = None
    channel_id: _Id | None = None
    is_ephemeral: bool = False


class _Action(_Shape):
    type: str
    action_id: _Id
    action_ts: _Id
    value: _Sealed | None = None


class _Interaction(_Shape):
    api_app_id: _Id
    user: _User
    team: _Team | None = None

    def tenant(self) -> str:
        """The workspace of the *person*: in shared channels it is not the app's."""
        return self.user.team_id or (self.team.id if self.team else "") or _reject("no workspace is named")


class _BlockActions(_Interaction):
    container: _Container
    channel: _Channel | None = None
    actions: Annotated[list[_Action], Field(min_length=1, max_length=1)]
    response_url: Annotated[str, StringConstraints(max_length=1_000)] = ""
    trigger_id: Annotated[str, StringConstraints(max_length=500)] = ""


class _Input(_Shape):
    value: str | None = None


class _State(_Shape):
    values: dict[str, dict[str, _Input]]


class _View(_Shape):
    id: _Id
    hash: _Id
    callback_id: str = ""
    private_metadata: str = ""
    state: _State


class _ViewSubmission(_Interaction):
    view: _View


class _Place(_Shape):
    """What `card.deny_modal` sealed into the modal."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    v: Literal[1]
    token: _Sealed
    chat: _Id
    ts: _Id


# --- what it asks -----------------------------------------------------------------------------------------------------


def _press(payload: _BlockActions, *, app_id: str) -> Inbound:
    _same_app(payload, app_id)
    place, action = payload.container, payload.actions[0]
    if place.type != "message" or place.is_ephemeral or action.action_id not in {APPROVE, DENY}:
        return Ignored(why="not one of our buttons on a message")
    if not place.message_ts or not place.channel_id or payload.channel is None or action.value is None:
        _reject("the button, its message or its channel is not named")
    if payload.channel.id != place.channel_id or action.type != "button":
        _reject("the payload contradicts itself")
    return Click(
        token=action.value,
        app_id=payload.api_app_id,
        tenant=payload.tenant(),
        account_id=payload.user.id,
        chat_id=place.channel_id,
        message_id=place.message_ts,
        event_key=f"{place.message_ts}:{payload.user.id}:{action.action_id}:{action.action_ts}",
        wants_reason=action.action_id == DENY,
        reply_to=payload.response_url,
        trigger=payload.trigger_id,
    )


def _submission(payload: _ViewSubmission, *, app_id: str) -> Inbound:
    _same_app(payload, app_id)
    view = payload.view
    if view.callback_id != REASON_MODAL:
        return Ignored(why="not our modal")
    place = _Place.model_validate(parse_json(view.private_metadata))
    answer = view.state.values.get(REASON_BLOCK, {}).get(REASON_INPUT, _Input())
    return Click(
        token=place.token,
        app_id=payload.api_app_id,
        tenant=payload.tenant(),
        account_id=payload.user.id,
        chat_id=place.chat,
        message_id=place.ts,
        event_key=f"{view.id}:{payload.user.id}:{view.hash}",
        reason=answer.value or None,
        via_modal=True,
    )


def _event(event: dict[str, object]) -> Inbound:
    match event:
        case {"type": "url_verification", "challenge": str(challenge)}:
            return Challenge(answer=HttpAnswer(body={"challenge": challenge}))
        case {"type": str(kind)}:
            return Ignored(why=f"event {kind[:40]!r}")
        case _:
            return _reject("the event has no type")


def _same_app(payload: _Interaction, app_id: str) -> None:
    if app_id and payload.api_app_id != app_id:
        _reject("the call is meant for another app")


def _form(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_FORM_FIELDS_MOST,
        )
    except ValueError:
        _reject("the form is broken")


def _no_name_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        _reject("a name comes twice in the JSON")
    return table


def _reject(why: str) -> NoReturn:
    raise CallbackRejectedError(why)
