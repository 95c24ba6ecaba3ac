"""What the failures of a call to Slack mean: try later, never, too old to edit, or with another token."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, NoReturn, cast

from app.abilities.renewal import RenewalSpentError
from app.domain.text.unreached import why_unreached
from app.ports import ChannelRefusedError, ChannelUnavailableError, ContentRefusedError, EditClosedError

_HTTP_OK: Final = 200
_HTTP_BROKEN: Final = 500
_HTTP_RATE_LIMITED: Final = 429
_HTTP_LATER: Final = frozenset({408, 425})
_LATER: Final = frozenset(
    {"request_timeout", "service_unavailable", "internal_error", "fatal_error", "update_failed", "team_added_to_org"}
)
_RATE_LIMITED: Final = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_HALF_DONE: Final = frozenset({"request_timeout", "internal_error", "fatal_error"})
_EDIT_CLOSED: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"})
_CONTENT: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})
_ACCESS_OVER: Final = frozenset({"token_expired", "token_revoked", "invalid_auth"})
_RENEWAL_OVER: Final = frozenset({"invalid_refresh_token", "invalid_grant", "token_revoked", "token_expired"})
_CODE: Final = re.compile(r"[a-z_]{1,60}")
_SCOPES: Final = re.compile(r"[a-z:._,]{1,100}")
_PLACE: Final = re.compile(r"\[json-pointer:((?:/(?:[0-9]{1,3}|[a-z_]{1,30})){1,12})\]")
SCIM: Final = "scim.Users"
"""What the directory's answers are called here."""

RENEWAL: Final = "oauth.v2.access"
"""The method that exchanges a refresh token."""

_MENDS: Final = {
    "not_in_channel": "invite the app to the channel: /invite @app",
    "channel_not_found": "check `channel` in assent.yaml, and that the app is a member",
    "is_archived": "the channel is archived: choose another in assent.yaml",
    "invalid_auth": "the token is wrong: copy it anew from the Slack app's page",
    "not_authed": "the token is missing",
    "token_revoked": "the token was revoked: reinstall the Slack app",
    "token_expired": "the token was one of twelve hours: give refresh_token, client_id and client_secret in its place",
    "bad_client_secret": "client_secret is wrong: copy it anew from Basic Information of the Slack app",
    "invalid_client_id": "client_id is wrong: copy it anew from Basic Information of the Slack app",
    "account_inactive": "the app was removed from the workspace: reinstall it",
}


_DIRECTORY_MENDS: Final = {
    401: "scim_token is wrong or was revoked, or its owner is none any more: take a new one",
    403: "scim_token lacks the scope admin, or the plan has no SCIM (Business+ and Enterprise have)",
}


class RedirectRefusedError(Exception):
    """The API answered with a redirect; our token does not follow it."""


class AccessOverError(ChannelRefusedError):
    """The token with which this was asked has ended, or is not known: nothing was done."""


LOST: Final = (RedirectRefusedError, TimeoutError, OSError, AttributeError, ValueError)
"""What a call without a usable answer raises, besides aiohttp's own errors."""


def lost(method: str, error: Exception, *, ambiguous: bool) -> NoReturn:
    """Turn what is no answer at all into an error."""
    import aiohttp

    if isinstance(error, RedirectRefusedError):
        why = f"{method}: Slack answered with a redirect; check api_url"
        raise ChannelRefusedError(why) from None
    if isinstance(error, aiohttp.ClientConnectorError):
        why = f"{method}: no connection to Slack at {error.host}: {why_unreached(error)}"
        raise ChannelUnavailableError(why) from None
    if isinstance(error, (aiohttp.ClientError, TimeoutError, OSError)):
        why = f"{method}: the connection to Slack was lost ({type(error).__name__})"
        raise ChannelUnavailableError(why, ambiguous=ambiguous) from None
    # The SDK's own stumbling over an answer of 200 that is no JSON object (a proxy's page).
    why = f"{method}: Slack's answer is not in its form"
    raise ChannelUnavailableError(why, ambiguous=ambiguous) from None


def classify(method: str, response: object, *, ambiguous: bool = False) -> NoReturn:
    """Turn an answer that is no success into an error: by status first, for a page of HTML leaves the body empty."""
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    body = getattr(response, "data", None)
    table = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    code = _code(table.get("error"))
    named = f"{method}: {code or f'status {status}'}"
    if status == _HTTP_RATE_LIMITED or code in _RATE_LIMITED:
        raise ChannelUnavailableError(named, retry_after=_retry_after(response), limited=True) from None
    if status >= _HTTP_BROKEN:
        raise ChannelUnavailableError(f"{method}: status {status}", ambiguous=ambiguous) from None
    if code in _LATER:
        raise ChannelUnavailableError(named, ambiguous=ambiguous and code in _HALF_DONE) from None
    if status in _HTTP_LATER or (status == _HTTP_OK and not code):
        raise ChannelUnavailableError(named, ambiguous=ambiguous) from None
    if method == "chat.update" and code in _EDIT_CLOSED:
        raise EditClosedError(named) from None
    raise _refusal(method, code)(f"{named}{_detail(table, code)}") from None


def classify_directory(response: object) -> NoReturn:
    """Turn an answer of SCIM that is no success into an error, by its status: its words may quote whom we asked for."""
    status = int(getattr(response, "status_code", 0))
    named = f"{SCIM}: status {status}"
    if status == _HTTP_RATE_LIMITED:
        raise ChannelUnavailableError(named, retry_after=_retry_after(response), limited=True)
    if status in _DIRECTORY_MENDS:
        raise ChannelRefusedError(f"{named}; {_DIRECTORY_MENDS[status]}")
    raise ChannelUnavailableError(named)


def _code(told: object) -> str:
    """Return the error's code; "" where what stands there is none: a text may quote the card."""
    return told if isinstance(told, str) and _CODE.fullmatch(told) else ""


def _refusal(method: str, code: str) -> type[ChannelRefusedError]:
    if method == RENEWAL:
        return RenewalSpentError if code in _RENEWAL_OVER else ChannelRefusedError
    if code in _ACCESS_OVER:
        return AccessOverError
    return ContentRefusedError if code in _CONTENT else ChannelRefusedError


def _detail(table: dict[str, object], code: str) -> str:
    """Add what helps to mend it: the missing scope, the places of faulty blocks (never their texts)."""
    match table:
        case {"error": "missing_scope", "needed": str(needed)} if _SCOPES.fullmatch(needed):
            return f"; add the scope {needed} and reinstall the app"
        case {"errors": list()}:
            told = _PLACE.findall(str(table["errors"]))
            return f": {'; '.join(dict.fromkeys(told))[:300]}" if told else ""
        case _:
            return f"; {_MENDS[code]}" if code in _MENDS else ""


def _retry_after(response: object) -> timedelta | None:
    headers = getattr(response, "headers", None)
    wish = str(headers.get("Retry-After", "")) if headers is not None else ""
    return timedelta(seconds=int(wish)) if re.fullmatch(r"[0-9]{1,5}", wish) else None
