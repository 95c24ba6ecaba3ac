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
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, cast

import structlog

from app.ports import ChannelRefusedError, ChannelUnavailableError
from channels.slack.details.failures import (
    LOST,
    RENEWAL,
    SCIM,
    AccessOverError,
    RedirectRefusedError,
    classify,
    classify_directory,
    lost,
)
from channels.slack.details.renewed import access_in
from channels.slack.settings import is_own_socket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import SimpleNamespace

    import aiohttp
    from slack_sdk.web.async_client import AsyncWebClient

    from app.abilities.renewal import Access, AccessKeeper
    from channels.slack.settings import SlackSettings

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

_HTTP_OK: Final = 200
_HTTP_BROKEN: Final = 500
_HTTP_UNKNOWN: Final = 404
_SDK: Final = ("slack_sdk.web.async_client", "slack_sdk.socket_mode.aiohttp", "slack_sdk.scim.v1.async_client")
_RENEWED_WITHIN: Final = 15.0  # its answer is worth waiting for: there is no second one
_CREATES: Final = frozenset({"chat.postMessage"})  # a second attempt may leave a second message


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
        self._keeper: AccessKeeper | None = None
        self._renewing = asyncio.Lock()

    def use_access(self, keeper: AccessKeeper) -> None:
        """Take the bot token from here instead of the settings, anew for every call."""
        self._keeper = keeper

    async def call(
        self, method: str, arguments: Mapping[str, object], *, verb: str = "POST", within: float | None = None
    ) -> dict[str, object]:
        """Call a Web API method and return its answer, with the scopes it named under ``_scopes`` ("" if none).

        `verb` is POST (arguments as JSON), GET (as query), or FORM (POST, as query; a ``token`` there becomes the
        header). `within` is a shorter bound in seconds than the client's own. A token that has ended is replaced, and
        the call made once more: Slack has done nothing of the first.

        Raises ChannelUnavailableError, ChannelRefusedError, or EditClosedError (from ``chat.update`` only).
        """
        if self._keeper is None or "token" in arguments:
            return await self._call(self._fixed_token(), method, arguments, verb=verb, within=within)
        until = asyncio.get_running_loop().time() + within if within is not None else None
        token = await self._in_time(self._keeper.token(), until)
        try:
            return await self._call(token, method, arguments, verb=verb, within=within)
        except AccessOverError:
            token = await self._in_time(self._keeper.token_after(token), until)
            return await self._call(token, method, arguments, verb=verb, within=within)

    async def renew(self, renewal: str) -> Access:
        """Exchange a refresh token. Raises RenewalSpentError, ChannelRefusedError or ChannelUnavailableError."""
        import aiohttp
        from slack_sdk.errors import SlackApiError
        from slack_sdk.web.async_client import AsyncWebClient

        secret = self._settings.client_secret
        async with self._renewing, _session(_RENEWED_WITHIN) as session:
            web = AsyncWebClient(
                base_url=self._settings.api_url, session=session, retry_handlers=[], logger=_quiet_log()
            )
            web.proxy = None
            # In the form, not as the SDK's own method sends them: that warns of a future aiohttp at every call.
            form: dict[str, object] = {"grant_type": "refresh_token", "refresh_token": renewal}
            form |= {
                "client_id": self._settings.client_id,
                "client_secret": secret.get_secret_value() if secret else "",
            }
            try:
                answer = await cast("_Web", web).api_call(RENEWAL, http_verb="POST", data=form)
            except SlackApiError as error:
                classify(RENEWAL, cast("object", error.response))
            except (*LOST, aiohttp.ClientError) as error:
                lost(RENEWAL, error, ambiguous=True)
        return access_in(answer.data)

    async def _in_time(self, token: Awaitable[str], until: float | None) -> str:
        try:
            async with asyncio.timeout_at(until):
                return await token
        except TimeoutError:
            why = "no token in time for this call"
            raise ChannelUnavailableError(why) from None

    def _fixed_token(self) -> str:
        """The token of the settings; an app-level one travels as an argument."""
        return self._settings.bot_token.get_secret_value() if self._settings.bot_token else ""

    async def _call(
        self, token: str, method: str, arguments: Mapping[str, object], *, verb: str, within: float | None
    ) -> dict[str, object]:
        import aiohttp
        from slack_sdk.errors import SlackApiError

        web = cast("_Web", self._connection(token))
        filled = {"json" if verb == "POST" else "params": dict(arguments)}
        try:
            async with asyncio.timeout(within):
                answer = await web.api_call(method, http_verb="GET" if verb == "GET" else "POST", **filled)
        except SlackApiError as error:
            classify(method, cast("object", error.response), ambiguous=method in _CREATES)
        except (*LOST, aiohttp.ClientError) as error:
            lost(method, error, ambiguous=method in _CREATES)
        table = cast("dict[str, object]", answer.data)
        return {**table, "_scopes": str(answer.headers.get("x-oauth-scopes", ""))}

    async def read_directory(self, user: str) -> dict[str, object] | None:
        """Ask SCIM about one account, with the token for that alone. None: it knows nobody by this id.

        Raises ChannelUnavailableError or ChannelRefusedError.
        """
        import aiohttp
        from slack_sdk.scim.v1.async_client import AsyncSCIMClient

        token = self._settings.scim_token
        scim = AsyncSCIMClient(
            token=token.get_secret_value() if token else "",
            base_url=self._settings.scim_url,
            session=self._http(),
            retry_handlers=[],
            logger=_quiet_log(),
        )
        scim.proxy = None
        try:
            answer = await scim.read_user(user)
        except (*LOST, aiohttp.ClientError) as error:
            lost(SCIM, error, ambiguous=False)
        if answer.status_code == _HTTP_UNKNOWN:
            return None
        if answer.status_code != _HTTP_OK or answer.body is None:
            classify_directory(answer)
        return cast("dict[str, object]", answer.body)

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
            "Socket", SocketModeClient(app_token=app_token, web_client=self._connection(""), logger=_quiet_log())
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
        async with self._renewing:  # an answer that brings new tokens is waited for
            session, self._session, self._web = self._session, None, None
        if session is not None:
            await session.close()
            await asyncio.sleep(0)  # lets the transports run their closing callbacks on this loop

    def _http(self) -> aiohttp.ClientSession:
        """One session for all calls: the SDK would open one a call, and leaves its total time-out to the session."""
        if self._session is None or self._session.closed:
            self._session = _session(self._timeout)
        return self._session

    def _connection(self, token: str) -> AsyncWebClient:
        from slack_sdk.web.async_client import AsyncWebClient

        session = self._http()
        if self._web is None or self._web.session is not session or self._web.token != token:
            self._web = AsyncWebClient(
                token=token,
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


async def _refuse_redirect(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    del session, context, params
    raise RedirectRefusedError


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
