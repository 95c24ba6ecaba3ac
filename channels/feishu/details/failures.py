"""What the platform's refusals mean for us: its codes, broken answers and silences as the errors of `app.ports`.

The texts hold the platform's code and log id and how to mend it, never its message: that may repeat what we sent.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from app.domain.text.unreached import why_unreached
from app.ports import ChannelRefusedError, ChannelUnavailableError, ContentRefusedError, EditClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEAD_TOKEN = frozenset({99991661, 99991663, 99991664, 99991665, 99991668, 99991671, 99991677})
_RATE_LIMITS = frozenset({99991400, 230020, 11232, 11233, 11247})
_EDIT_CLOSED = frozenset({230011, 230110, 230031})
_BAD_CREDENTIALS = frozenset({10003, 10012, 10013, 10014, 10015, 99991543})
UNKNOWN_PERSON = frozenset({41012, 99992351})
_TEMPORARY = frozenset({1, 1000040343})  # the long connection's "system busy" and "internal error": its SDK tries again
_BEING_SENT = 230049
_PARAMETER = 230001
_CARD_FAULT = 230099
_CONTENT = frozenset({230022, 230025, 230028, _CARD_FAULT})  # a card that says less may pass
_SCOPE_MISSING = 99991672
_NOT_VISIBLE = 41050
_NO_DEPARTMENT = 40004
_SUB_CODE = re.compile(r"ErrCode:\s*(\d{1,9})")
_LOCKED = re.compile(r"card action is lock", re.IGNORECASE)
_LOG_ID = re.compile(r"[0-9A-Za-z]{1,64}", re.ASCII)
_LOCK_WAIT = timedelta(seconds=2)
_MENDS = {
    99991672: "a scope is missing: grant it under Permissions & Scopes and publish a new version of the app",
    _PARAMETER: "a parameter is wrong: check the chat id",
    230002: "the bot is not in the chat: add it under the chat's Settings > Bots",
    230006: "the app has no bot: switch on the Bot capability and publish a new version",
    230013: "the app is not available to these people: widen its availability",
    230022: "the card holds a word that the platform does not allow",
    230025: "the card is too long",
    230028: "the tenant's data-loss prevention refused the card (it does so for plain phone numbers and e-mails)",
    230035: "the bot may not post in this chat: it is muted or blocked",
    232006: "there is no such chat",
    232009: "the chat was dissolved",
    99992361: "the open_id belongs to another app: open_ids differ from app to app",
    _CARD_FAULT: "the card is invalid",
    _NO_DEPARTMENT: "there is no such department, or it is outside the app's contact range (Permissions & Scopes)",
    _NOT_VISIBLE: "the person is outside the app's contact range: widen it under Permissions & Scopes",
}


class NotPermittedError(ChannelRefusedError):
    """The app may not look this up: a scope is missing, or the person is outside its contact range."""


class NoMessageError(ChannelRefusedError):
    """There is no message of this id."""


class ScopeMissingError(NotPermittedError):
    """A scope is missing, whoever is asked for."""


_REFUSALS: dict[int, type[ChannelRefusedError]] = {
    **dict.fromkeys(_EDIT_CLOSED, EditClosedError),
    **dict.fromkeys(_CONTENT, ContentRefusedError),
    _SCOPE_MISSING: ScopeMissingError,
    _NOT_VISIBLE: NotPermittedError,
    _NO_DEPARTMENT: NotPermittedError,
}


def translate(call: Callable[[], Any], *, http: Any, malformed: type[Exception], writes: bool) -> Any:
    """Run one call of the SDK and turn what it lets through into our errors.

    `http` is the exceptions module of the SDK's HTTP client, `malformed` what the SDK raises for JSON of another shape,
    `writes` says that an answer that never came may hide an effect. Nothing of the exceptions' texts is kept: they hold
    addresses.
    """
    try:
        return call()
    except (http.ConnectTimeout, http.ProxyError, http.SSLError) as error:
        raise ChannelUnavailableError(f"Feishu cannot be reached: {why_unreached(error)}") from None
    except (http.InvalidURL, http.InvalidSchema, http.MissingSchema):
        raise ChannelRefusedError("the address of Feishu is not one: check domain") from None
    except http.ConnectionError as error:
        refused = "NewConnectionError" in repr(error) or "NameResolutionError" in repr(error)
        why = f"Feishu cannot be reached: {why_unreached(error)}" if refused else "the connection to Feishu broke"
        raise ChannelUnavailableError(why, ambiguous=writes and not refused) from None
    except http.RequestException as error:
        raise ChannelUnavailableError(f"the call to Feishu failed: {type(error).__name__}", ambiguous=writes) from None
    except (ValueError, TypeError, AttributeError, KeyError, malformed):
        # An HTML error page or JSON of another shape: the SDK loses the status, so the call may have taken effect.
        raise ChannelUnavailableError("Feishu's answer is not one", ambiguous=writes) from None


def classify(answer: Any, *, writes: bool) -> None:
    """Do nothing for success; raise what the code of an SDK answer means."""
    code: object = answer.code
    status: int = answer.raw.status_code
    if 300 <= status < 400:
        raise ChannelRefusedError("Feishu answered with a redirect, which is not followed: check domain")
    if code == 0 and status < 300:
        return
    if not isinstance(code, int):
        raise ChannelUnavailableError("Feishu's answer has no code", ambiguous=writes)
    why = _explain(code, answer)
    if code in _RATE_LIMITS or status == 429:
        raise ChannelUnavailableError(why, retry_after=_reset_after(answer.raw.headers), limited=True)
    if code == _BEING_SENT:
        raise ChannelUnavailableError(why, retry_after=_LOCK_WAIT, ambiguous=True)
    if code == _CARD_FAULT and _LOCKED.search(answer.msg or ""):
        raise ChannelUnavailableError(f"{why} (somebody's click is in flight)", retry_after=_LOCK_WAIT)
    if code in _TEMPORARY:
        raise ChannelUnavailableError(why, ambiguous=writes)
    if code in DEAD_TOKEN:
        raise ChannelUnavailableError(f"{why}, with a token just fetched", retry_after=timedelta(seconds=30))
    if status >= 500:
        raise ChannelUnavailableError(why, ambiguous=writes)
    raise _refusal(code, answer)(why)


def _refusal(code: int, answer: Any) -> type[ChannelRefusedError]:
    if code == _PARAMETER and "invalid message_id" in (answer.msg or ""):  # it has other causes: an error of theirs
        return NoMessageError
    return _REFUSALS.get(code, ChannelRefusedError)


def _explain(code: int, answer: Any) -> str:
    sub_code = _SUB_CODE.search(answer.msg or "") if code == _CARD_FAULT else None
    number = f"{code}/{sub_code[1]}" if sub_code else str(code)
    mend = "check app_id and app_secret" if code in _BAD_CREDENTIALS else _MENDS.get(code, "")
    log_id = _header(answer.raw.headers, "x-tt-logid")
    traced = f" (log id {log_id})" if _LOG_ID.fullmatch(log_id) else ""
    return f"Feishu answered {number}" + (f": {mend}" if mend else "") + traced


def _reset_after(headers: Mapping[str, str]) -> timedelta:
    text = _header(headers, "x-ogw-ratelimit-reset")
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 1
    return timedelta(seconds=max(1, seconds))


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")
