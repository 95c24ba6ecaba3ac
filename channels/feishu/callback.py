"""Is this call the platform's, and what does it ask? Pure: nothing is decided here.

The wire (event subscription, schema 2.0): the body is ``{"encrypt": "<base64>"}``, AES-256-CBC under SHA-256 of the
Encrypt Key with the IV in front; ``X-Lark-Signature`` is the hex SHA-256 of timestamp + nonce + Encrypt Key + body.
There is no separator in that text, so the timestamp must have exactly ten digits: a replayed call could otherwise move
a digit between timestamp and nonce and look fresh under the same signature.

Order: size, headers once each, signature over the raw bytes, time window, and only then decryption, token, app, shape.
A call without any signature header can only be the platform trying our address (``url_verification``). Whatever fails
ends in the same `CallbackRejectedError`; why is for our own log and holds nothing that came with the call.

The vendor's dispatcher is not used: it decrypts before it verifies, never looks at the time, and accepts a call without
a token (measured).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from msgspec import Struct

from app.ports import CallbackRejectedError, Challenge, Click, HttpAnswer, Ignored
from channels.feishu.controls import REASON_INPUT, own_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from app.ports import Inbound, InboundCall

MAX_BYTES = 256 * 1024
WINDOW_SECONDS = 300
MAX_TOKEN = 200
CARD_ACTION = "card.action.trigger"

_TIMESTAMP, _NONCE, _SIGNATURE = "x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature"
_TEN_DIGITS = re.compile(r"[0-9]{10}", re.ASCII)
_EVENT_TYPE = re.compile(r"[0-9A-Za-z_.]{1,80}", re.ASCII)
_BLOCK = 16
_NOT_OURS = "此按钮不归 Assent 处理。 This button is not one of Assent's."
"""The platform wants JSON in every case; without it people see an error, also for a button that is somebody else's."""
_MAX_CHALLENGE = 1000

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What a webhook call is checked against: while a secret is changed, also against the one from before."""

    encrypt_keys: tuple[str, ...] = field(repr=False)
    verification_tokens: tuple[str, ...] = field(repr=False)


class Audience(Struct, frozen=True, kw_only=True):
    """Whose events we take: one app, and one tenant when it is pinned."""

    app_id: str
    tenant_key: str | None


def read_webhook(call: InboundCall, *, now: datetime, secrets: Secrets, audience: Audience) -> Inbound:
    """Verify a webhook call and say what it asks. Raises CallbackRejectedError."""
    if len(call.body) > MAX_BYTES:
        raise CallbackRejectedError("the body is too large")
    signed = any(name in {_TIMESTAMP, _NONCE, _SIGNATURE} for name, _ in call.headers)
    keys = (_verify_signature(call, now=now, encrypt_keys=secrets.encrypt_keys),) if signed else secrets.encrypt_keys
    envelope = parse_json(call.body)
    encrypted = envelope.get("encrypt")
    if len(envelope) != 1 or not isinstance(encrypted, str):
        raise CallbackRejectedError("the body is not encrypted although an encrypt key is set")
    payload = _first_readable(keys, encrypted)
    if payload.get("type") == "url_verification":
        return _answer_challenge(payload, secrets.verification_tokens)
    if not signed:
        raise CallbackRejectedError("the signature is missing")
    _compare(_object(payload, "header").get("token"), secrets.verification_tokens, "the verification token is wrong")
    return parse_event(payload, audience=audience)


def parse_event(payload: Mapping[str, object], *, audience: Audience) -> Click | Ignored:
    """Turn an event that is known to be the platform's into a click; the long connection's frames come here directly.

    Raises CallbackRejectedError when it is another app's, another tenant's, or not of the documented shape.
    """
    header = _object(payload, "header")
    _compare(header.get("app_id"), (audience.app_id,), "the event is another app's")
    if audience.tenant_key is not None:
        _compare(header.get("tenant_key"), (audience.tenant_key,), "the event is another tenant's")
    event_type = _text(header, "event_type")
    if event_type != CARD_ACTION:
        why = f"event {event_type}" if _EVENT_TYPE.fullmatch(event_type) else "event of an odd type"
        return Ignored(why=why, answer=HttpAnswer(body={}))
    event = _object(payload, "event")
    operator, action, context = _object(event, "operator"), _object(event, "action"), _object(event, "context")
    token = _token(action)
    if token is None:
        toast = {"type": "info", "content": _NOT_OURS}
        return Ignored(why="a control that is not ours", answer=HttpAnswer(body={"toast": toast}))
    fields = _fields(action)
    return Click(
        token=token,
        app_id=audience.app_id,
        tenant=_text(operator, "tenant_key"),
        account_id=_text(operator, "open_id"),
        chat_id=_text(context, "open_chat_id"),
        message_id=_text(context, "open_message_id"),
        event_key=_text(header, "event_id"),
        reason=fields.get(REASON_INPUT, "").strip() or None,
        fields=fields,
    )


def parse_json(raw: bytes) -> Json:
    """Parse one JSON object. A key that comes twice is refused: two readers could disagree on what it says."""
    try:
        value: object = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise CallbackRejectedError("the body is not strict JSON") from None
    if not isinstance(value, dict):
        raise CallbackRejectedError("the body is not a JSON object")
    return cast("Json", value)  # JSON objects have string keys


def decrypt(encrypt_key: str, encrypted: str) -> bytes:
    """Undo the platform's encryption. Every failure is the same error, so that it tells nothing of the padding."""
    key = hashlib.sha256(encrypt_key.encode()).digest()
    try:
        blob = base64.b64decode(encrypted, validate=True)
        decryptor = Cipher(algorithms.AES(key), modes.CBC(blob[:_BLOCK])).decryptor()
        padded = decryptor.update(blob[_BLOCK:]) + decryptor.finalize()
        unpadder = PKCS7(_BLOCK * 8).unpadder()
        return unpadder.update(padded) + unpadder.finalize()
    except (ValueError, binascii.Error):
        raise CallbackRejectedError("the body cannot be decrypted") from None


def _first_readable(encrypt_keys: Sequence[str], encrypted: str) -> Json:
    """Return what a body says under the first key that opens it; the platform's try of our address is not signed."""
    for key in encrypt_keys[:-1]:
        with suppress(CallbackRejectedError):
            return parse_json(decrypt(key, encrypted))
    return parse_json(decrypt(encrypt_keys[-1], encrypted))


def _verify_signature(call: InboundCall, *, now: datetime, encrypt_keys: Sequence[str]) -> str:
    """Return the key that the call was signed with. Raises CallbackRejectedError."""
    timestamp, nonce, signature = call.header(_TIMESTAMP), call.header(_NONCE), call.header(_SIGNATURE)
    if timestamp is None or nonce is None or signature is None:
        raise CallbackRejectedError("a signature header is missing or doubled")
    signatures = [_sign(timestamp + nonce + key, call.body) for key in encrypt_keys]
    matched = _compare(signature, signatures, "the signature is wrong")
    if _TEN_DIGITS.fullmatch(timestamp) is None or abs(now.timestamp() - int(timestamp)) > WINDOW_SECONDS:
        raise CallbackRejectedError("the timestamp is outside the window")
    return encrypt_keys[matched]


def _sign(text: str, body: bytes) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape") + body).hexdigest()


def _answer_challenge(payload: Json, verification_tokens: Sequence[str]) -> Challenge:
    _compare(payload.get("token"), verification_tokens, "the verification token is wrong")
    challenge = _text(payload, "challenge")
    if len(challenge) > _MAX_CHALLENGE:
        raise CallbackRejectedError("the challenge is too long")
    return Challenge(answer=HttpAnswer(body={"challenge": challenge}))


def _compare(given: object, expected: Sequence[str], why: str) -> int:
    """Return which of these it is. Each is compared, in constant time; one that is empty matches nothing."""
    candidate = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else b""
    matches = [bool(each) & hmac.compare_digest(candidate, each.encode()) for each in expected]
    if True not in matches:
        raise CallbackRejectedError(why)
    return matches.index(True)


def _token(action: Json) -> str | None:
    """Find our token in what the button carried; None when the button is somebody else's."""
    value = action.get("value")
    if not isinstance(value, dict):
        return None
    fields = cast("Json", value)  # JSON objects have string keys
    token = fields.get("t")
    ours = fields.get("v") == 1 and isinstance(token, str) and 0 < len(token) <= MAX_TOKEN and token.isascii()
    return token if ours and isinstance(token, str) else None


def _fields(action: Json) -> dict[str, str]:
    """Return what was typed into the form whose button was pressed; nothing for a button outside a form."""
    form, name = action.get("form_value"), action.get("name")
    if not isinstance(form, dict):
        return {}
    values = cast("Json", form)  # JSON objects have string keys
    # JSON can spell half a surrogate pair, which no database takes.
    typed = {key: text.encode("utf-8", "replace").decode() for key, text in values.items() if isinstance(text, str)}
    return own_fields(name if isinstance(name, str) else None, typed)


def _object(owner: Mapping[str, object], name: str) -> Json:
    value = owner.get(name)
    if not isinstance(value, dict):
        raise CallbackRejectedError(f"{name} is missing")
    return cast("Json", value)  # JSON objects have string keys


def _text(owner: Mapping[str, object], name: str) -> str:
    value = owner.get(name)
    if not isinstance(value, str) or not value or not value.isascii():
        raise CallbackRejectedError(f"{name} is missing")
    return value


def _unique(pairs: list[tuple[str, object]]) -> Json:
    seen = dict(pairs)
    if len(seen) != len(pairs):
        raise ValueError("a key comes twice")
    return seen


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
