"""Slack's Web API through slack_sdk, the only importer of that SDK, and what its failures mean.

The SDK is loaded when a client is built, not when this module is. Four of its habits are switched off: the second
attempt after a lost connection (it would post twice; the outbox retries), the proxy taken from the environment (its
async client then ignores NO_PROXY), following redirects with our token, and debug logs of whole payloads. A failure
becomes one of three errors: try later, never, or too old to edit. None of their texts holds a token, an address with a
secret, or anything that a message said.
"""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn, Protocol, cast

import structlog

from app.ports import ChannelRefusedError, ChannelUnavailableError, ContentRefusedError, EditClosedError
from channels.slack.settings import is_own_socket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import SimpleNamespace

    import aiohttp
    from slack_sdk.web.async_client import AsyncWebClient

    from channels.slack.settings import SlackSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_HTTP_OK: Final = 200
_HTTP_BROKEN: Final = 500
_HTTP_RATE_LIMITED: Final = 429
_HTTP_LATER: Final = frozenset({408, 425})
_SDK: Final = ("slack_sdk.web.async_client", "slack_sdk.socket_mode.aiohttp")
_LATER: Final = frozenset(
    {"request_timeout", "service_unavailable", "internal_error", "fatal_error", "update_failed", "team_added_to_org"}
)
_RATE_LIMITED: Final = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_HALF_DONE: Final = frozenset({"request_timeout", "internal_error", "fatal_error"})
_EDIT_CLOSED: Final = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive"})
_CONTENT: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})
_CREATES: Final = frozenset({"chat.postMessage"})  # a second attempt may leave a second message
_MENDS: Final = {
    "not_in_channel": "invite the app to the channel: /invite @app",
    "channel_not_found": "check `channel` in assent.yaml, and that the app is a member",
    "is_archived": "the channel is archived: choose another in assent.yaml",
    "invalid_auth": "the token is wrong: copy it anew from the Slack app's page",
    "not_authed": "the token is missing",
    "token_revoked": "the token was revoked: reinstall the Slack app",
    "token_expired": "the token was one of twelve hours: take one of an app without token rotation",
    "account_inactive": "the app was removed from the workspace: reinstall it",
}


class _Answer(Protocol):
    """What the SDK returns of a call; it leaves these parts untyped."""

    data: object
    headers: Mapping[str, str]


class _Web(Protocol):
    """The one method of the SDK's web client that is used here."""

    async def api_call(self, api_method: str, *, http_verb: str, **arguments: dict[str, object]) -> _Answer: ...


class Socket(Protocol):
    """The SDK's Socket Mode client, as far as it is used here."""

    wss_uri: str | None
    proxy: str | None
    issue_new_wss_url: Callable[[], Awaitable[str]]
    aiohttp_client_session: aiohttp.ClientSession
    message_listeners: list[Callable[[object, dict[str, object], str | None], Awaitable[None]]]
    message_processor: asyncio.Future[None]
    current_session_monitor: asyncio.Future[None] | None
    message_receiver: asyncio.Future[None] | None

    async def connect(self) -> None:
        """Open the WebSocket at `wss_uri`."""
        ...

    async def is_connected(self) -> bool:
        """Say whether it is open and answers pings."""
        ...

    async def close(self) -> None:
        """Close it for good."""
        ...

    async def send_socket_mode_response(self, response: dict[str, object]) -> None:
        """Acknowledge an envelope."""
        ...


class SlackClient:
    """One app's connection to the Web API. `timeout` bounds a whole call, in seconds."""

    def __init__(self, settings: SlackSettings, *, timeout: float) -> None:
        """Load the SDK (reading files, so not on a busy loop); connect to nothing yet."""
        for module in _SDK:
            import_module(module)
        self._settings = settings
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None

    async def call(
        self, method: str, arguments: Mapping[str, object], *, verb: str = "POST", within: float | None = None
    ) -> dict[str, object]:
        """Call a Web API method and return its answer, with the scopes it named under ``_scopes`` ("" if none).

        `verb` is POST (arguments as JSON), GET (as query), or FORM (POST, as query; a ``token`` there becomes the
        header). `within` is a shorter bound in seconds than the client's own.

        Raises ChannelUnavailableError, ChannelRefusedError, or EditClosedError (from ``chat.update`` only).
        """
        import aiohttp
        from slack_sdk.errors import SlackApiError

        web = cast("_Web", self._connection())
        filled = {"json" if verb == "POST" else "params": dict(arguments)}
        ambiguous = method in _CREATES
        try:
            async with asyncio.timeout(within):
                answer = await web.api_call(method, http_verb="GET" if verb == "GET" else "POST", **filled)
        except SlackApiError as error:
            _classify(method, cast("object", error.response))
        except _RedirectRefusedError:
            why = f"{method}: Slack answered with a redirect; check api_url"
            raise ChannelRefusedError(why) from None
        except aiohttp.ClientConnectorError:
            why = f"{method}: no connection to Slack"
            raise ChannelUnavailableError(why) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = f"{method}: the connection to Slack was lost ({type(error).__name__})"
            raise ChannelUnavailableError(why, ambiguous=ambiguous) from None
        except (AttributeError, ValueError):
            # The SDK's own stumbling over an answer of 200 that is no JSON object (a proxy's page).
            why = f"{method}: Slack's answer is not in its form"
            raise ChannelUnavailableError(why, ambiguous=ambiguous) from None
        table = cast("dict[str, object]", answer.data)
        return {**table, "_scopes": str(answer.headers.get("x-oauth-scopes", ""))}

    async def answer_privately(self, address: str, note: Mapping[str, object]) -> None:
        """Post to a response_url. The caller has checked its host; no redirect is followed and no token is sent.

        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        import aiohttp

        try:
            async with self._http().post(address, json=dict(note), allow_redirects=False) as response:
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            why = f"response_url: the connection to Slack was lost ({type(error).__name__})"
            raise ChannelUnavailableError(why) from None
        if status != _HTTP_OK:
            why = f"response_url: Slack answered with status {status}"
            raise ChannelUnavailableError(why) if status >= _HTTP_BROKEN else ChannelRefusedError(why)

    async def socket(self, app_token: str) -> Socket:
        """Return a Socket Mode client that is not connected yet, on this client's API address.

        It follows no redirect, and every address that it asks for by itself is checked like the first one.
        """
        from slack_sdk.socket_mode.aiohttp import SocketModeClient

        client = cast(
            "Socket", SocketModeClient(app_token=app_token, web_client=self._connection(), logger=_quiet_log())
        )
        client.proxy = None
        client.issue_new_wss_url = lambda: self.open_socket_address(app_token)
        await client.aiohttp_client_session.close()
        client.aiohttp_client_session = _session()
        return client

    async def close_socket(self, socket: Socket) -> None:
        """Close a Socket Mode client and wait for its tasks to end."""
        await socket.close()
        tasks = [socket.message_processor, socket.current_session_monitor, socket.message_receiver]
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)

    async def open_socket_address(self, app_token: str) -> str:
        """Ask for a Socket Mode address, once, so that a token that will never do is told apart from a bad day.

        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        answer = await self.call("apps.connections.open", {"token": app_token}, verb="FORM")
        url = answer.get("url")
        if not isinstance(url, str) or not url.startswith(("wss://", "ws://")):
            why = "apps.connections.open: Slack's answer names no address"
            raise ChannelUnavailableError(why)
        if not is_own_socket(url, api_url=self._settings.api_url):
            why = "apps.connections.open: the address is not one of Slack's hosts, or not encrypted"
            raise ChannelRefusedError(why)
        return url

    async def close(self) -> None:
        """Let go of the connections; a later call opens them again."""
        session, self._session, self._web = self._session, None, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # lets the transports run their closing callbacks on this loop

    def _http(self) -> aiohttp.ClientSession:
        """One session for all calls: the SDK would open one a call, and leaves its total time-out to the session."""
        if self._session is None or self._session.closed:
            self._session = _session(self._timeout)
        return self._session

    def _connection(self) -> AsyncWebClient:
        from slack_sdk.web.async_client import AsyncWebClient

        session = self._http()
        if self._web is None or self._web.session is not session:
            self._web = AsyncWebClient(
                token=self._settings.bot_token.get_secret_value(),
                base_url=self._settings.api_url,
                session=session,
                retry_handlers=[],
                logger=_quiet_log(),
            )
            self._web.proxy = None  # the constructor's proxy=None would still read the environment
        return self._web


def _session(timeout: float | None = None) -> aiohttp.ClientSession:
    """Open a session that follows no redirect; `timeout` bounds a whole call, in seconds."""
    import aiohttp

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_refuse_redirect)
    limits = aiohttp.ClientTimeout(total=timeout)
    return aiohttp.ClientSession(timeout=limits, trace_configs=[trace])


class _RedirectRefusedError(Exception):
    """The API answered with a redirect; our token does not follow it."""


async def _refuse_redirect(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    del session, context, params
    raise _RedirectRefusedError


def _classify(method: str, response: object) -> NoReturn:
    """Turn an answer that is no success into an error: by status first, for a page of HTML leaves the body empty."""
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    body = getattr(response, "data", None)
    table = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    code = re.sub(r"[^a-z0-9_]", "", str(table.get("error", "")))[:60]
    named = f"{method}: {code or f'status {status}'}"
    ambiguous = method in _CREATES
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
    refusal = ContentRefusedError if code in _CONTENT else ChannelRefusedError
    raise refusal(f"{named}{_detail(table, code)}") from None


def _detail(table: dict[str, object], code: str) -> str:
    """Add what helps to mend it: the missing scope, the places of faulty blocks (never their texts)."""
    match table:
        case {"error": "missing_scope", "needed": str(needed)}:
            return f"; add the scope {needed} and reinstall the app"
        case {"errors": list()}:
            told = [re.sub(r'"[^"]*"', "…", str(fault)) for fault in cast("list[object]", table["errors"])]
            return f": {'; '.join(told)[:300]}"
        case _:
            return f"; {_MENDS[code]}" if code in _MENDS else ""


def _retry_after(response: object) -> timedelta | None:
    headers = getattr(response, "headers", None)
    wish = str(headers.get("Retry-After", "")) if headers is not None else ""
    return timedelta(seconds=int(wish)) if re.fullmatch(r"[0-9]{1,5}", wish) else None


class _Complaints(logging.Handler):
    """Tells that the SDK complained, and of which error, but not its words: they may quote addresses and payloads."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        log.warning("slack_sdk.complained", level=record.levelname, error=error, place=record.funcName)


def _quiet_log() -> logging.Logger:
    """Return a logger of its own for the SDK, outside the tree, that keeps payloads out of every log."""
    logger = logging.Logger("slack_sdk.quiet", level=logging.WARNING)  # noqa: LOG001 - outside the tree on purpose
    logger.addHandler(_Complaints())
    return logger
