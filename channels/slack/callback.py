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
from channels.slack.controls import is_menu, is_ours, token_of_option, wants_form
from channels.slack.details.forms import FORM_MODAL, PERSON_ID, field_block, field_input

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from app.ports import Inbound, InboundCall

_WINDOW_SECONDS: Final = 300
_FORM_FIELDS_MOST: Final = 20
_REASON: Final = "reason"  # the one field that the core takes by a name of its own
_TYPED_MOST: Final = 3_000  # Slack's own bound; ours is in the form, and the core's


def read_call(call: InboundCall, *, signing_secrets: Sequence[str], app_id: str, now: datetime) -> Inbound:
    """Verify a webhook call and say what it asks. `app_id` is ours, or "" where it is not pinned.

    Raises CallbackRejectedError for whatever is not provably Slack's or not in its form.
    """
    verify(call, signing_secrets=signing_secrets, now=now)
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


def verify(call: InboundCall, *, signing_secrets: Sequence[str], now: datetime) -> None:
    """Prove that the call is Slack's and fresh, by any of our secrets. Raises CallbackRejectedError."""
    stamp = call.header("x-slack-request-timestamp")
    given = call.header("x-slack-signature")
    if stamp is None or given is None:
        _reject("a signature header is missing or came twice")
    if not re.fullmatch(r"[0-9]{1,11}", stamp):
        _reject("the time-stamp is no whole number")
    if abs(now.timestamp() - int(stamp)) > _WINDOW_SECONDS:
        _reject("the time-stamp is more than five minutes away")
    signature = given.encode("utf-8", "surrogatepass")
    expected = [sign(call.body, stamp=stamp, signing_secret=secret).encode() for secret in signing_secrets]
    # All of them, whichever matches: how long it takes tells nothing of which.
    if not any([hmac.compare_digest(each, signature) for each in expected]):  # noqa: C419 - no early end
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
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,100}$")]


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


class _Option(_Shape):
    value: _Sealed


class _Action(_Shape):
    type: str
    action_id: _Id
    action_ts: _Id
    block_id: Annotated[str, StringConstraints(max_length=255)] = ""
    value: _Sealed | None = None
    selected_option: _Option | None = None


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
    type: Literal["plain_text_input", "users_select"]
    value: Annotated[str, StringConstraints(max_length=_TYPED_MOST)] | None = None
    selected_user: _Id | None = None

    def answer(self) -> str:
        """What was typed or chosen; "" where an optional field was left empty."""
        if self.type == "plain_text_input":
            return self.value or "" if self.selected_user is None else _reject("a text box with a person")
        chosen = self.selected_user or ""
        fits = self.value is None and (not chosen or PERSON_ID.fullmatch(chosen))
        return chosen if fits else _reject("a choice that is no person")


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
    trigger_id: Annotated[str, StringConstraints(max_length=500)] = ""


class _Place(_Shape):
    """What `forms.modal` put into the modal."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    v: Literal[1]
    token: _Sealed
    chat: _Id
    ts: _Id
    fields: Annotated[list[_Name], Field(max_length=100)]


# --- what it asks -----------------------------------------------------------------------------------------------------


def _press(payload: _BlockActions, *, app_id: str) -> Inbound:
    _same_app(payload, app_id)
    place, action = payload.container, payload.actions[0]
    if place.type != "message" or place.is_ephemeral or not is_ours(action.action_id):
        return Ignored(why="not one of our buttons on a message")
    if not place.message_ts or not place.channel_id or payload.channel is None:
        _reject("the button's message or its channel is not named")
    if payload.channel.id != place.channel_id:
        _reject("the payload contradicts itself")
    token, asks_form = _pressed(action)
    return Click(
        token=token,
        app_id=payload.api_app_id,
        tenant=payload.tenant(),
        account_id=payload.user.id,
        chat_id=place.channel_id,
        message_id=place.message_ts,
        event_key=f"{place.message_ts}:{payload.user.id}:{action.action_id}:{action.action_ts}",
        wants_form=asks_form,
        reply_to=payload.response_url,
        trigger=payload.trigger_id,
    )


def _pressed(action: _Action) -> tuple[str, bool]:
    """Return the token of what was pressed, and whether a form comes first."""
    if not is_menu(action.action_id):
        if action.type != "button" or action.value is None or action.selected_option is not None:
            _reject("a button that is none, or has no value")
        return action.value, wants_form(action.action_id)
    if action.type not in {"overflow", "static_select"} or action.selected_option is None or action.value is not None:
        _reject("a menu that is none, or in which nothing was chosen")
    return token_of_option(action.block_id, action.selected_option.value) or _reject("an option that is not ours")


def _submission(payload: _ViewSubmission, *, app_id: str) -> Inbound:
    _same_app(payload, app_id)
    view = payload.view
    if view.callback_id != FORM_MODAL:
        return Ignored(why="not our modal")
    place = _Place.model_validate(parse_json(view.private_metadata))
    fields = _fields(place, view.state)
    # An answer that was sent back for mending comes again from the same view: what was filled in tells it apart.
    filled = json.dumps([payload.trigger_id, fields]).encode()
    return Click(
        token=place.token,
        app_id=payload.api_app_id,
        tenant=payload.tenant(),
        account_id=payload.user.id,
        chat_id=place.chat,
        message_id=place.ts,
        event_key=f"{view.id}:{payload.user.id}:{view.hash}:{hashlib.sha256(filled).hexdigest()[:16]}",
        reason=fields.get(_REASON) or None,
        fields=fields,
        via_modal=True,
    )


def _fields(place: _Place, state: _State) -> dict[str, str]:
    """Return what a form was filled in with, in its own order: every field that it has, and no other."""
    blocks = {field_block(name): name for name in place.fields}
    if len(blocks) != len(place.fields) or state.values.keys() != blocks.keys():
        _reject("the modal's fields are not those of its form")
    if any(state.values[block].keys() != {field_input(name)} for block, name in blocks.items()):
        _reject("a field of the modal has not one answer")
    return {name: state.values[block][field_input(name)].answer() for block, name in blocks.items()}


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
