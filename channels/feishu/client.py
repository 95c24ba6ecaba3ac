"""The platform's API through its own SDK: the only importer of lark-oapi.

What the SDK does, and what is done about it here (all measured on 1.7.5):

* Importing it costs seconds and about 170 MiB, and touches the event loop: it is imported at the first call, in a
  thread of this client, and the loop that the import creates is closed.
* Its ``async`` methods fetch the token synchronously inside the loop: only the synchronous methods are used, in a small
  thread pool of each client's own.
* Its token cache is global, keyed by app id alone, and never forgets a token that the platform has revoked; its token
  request is one shared object that two clients overwrite under one another's feet. So the token is fetched and kept
  here, a client each, and handed to every call (``enable_set_token``). A dead one is fetched anew once.
* It raises its HTTP client's exceptions and returns codes: `failures` turns both into the errors of `app.ports`.
"""

# The SDK has no type marker and no stubs; what is taken from it is Any from `Sdk` on.
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from app.ports import ChannelUnavailableError, EditClosedError
from channels.feishu.details.failures import DEAD_TOKEN, UNKNOWN_PERSON, NoMessageError, classify, translate
from channels.feishu.details.people import PERSON_PREFIX, people_by_email, person_by_id
from channels.feishu.details.transport import follow_no_redirect, keep_loopback_off_proxies
from channels.feishu.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from channels.feishu.details.people import Contact
    from channels.feishu.settings import FeishuSettings

CALL_SECONDS = 5.0
"""How long the platform may be silent within one HTTP call."""

IMPORT_SECONDS = 120.0
WHOLE_SECONDS = 20.0
"""How long one operation may take in all: a token fetch, a call, and both once more, or a trickling answer."""

MOST_AT_ONCE = 50
"""E-mails in one call of ``batch_get_id``."""

_THREADS = 4
_USUAL_SPAN, _LONGEST_SPAN = 120.0, 3600.0  # seconds: the SDK's own, and more than any platform sensibly asks for
_RENEW_BEFORE = 600.0  # half an hour before its end the platform already hands out the next token
_T = TypeVar("_T")


class SentMessage(Struct, frozen=True, kw_only=True):
    """Where a message went."""

    tenant_key: str
    chat_id: str
    message_id: str


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where the long connection is to be opened, and how the platform wants it kept."""

    url: str  # holds a ticket: a secret
    ping_seconds: float
    retry_seconds: float


class Sdk(Struct, frozen=True, kw_only=True):
    """The parts of the SDK in use, for `FeishuClient.call`. It carries no type marker, so its types end here."""

    lark: Any
    im: Any
    contact: Any
    transport: Any
    frame: Any
    malformed: type[Exception]
    client: Any

    def run(self, call: Callable[[], Any], *, writes: bool) -> Any:
        """Run one call; whatever it raises becomes one of our errors."""
        return translate(call, http=self.transport.requests.exceptions, malformed=self.malformed, writes=writes)


class FeishuClient:
    """One app's access to the API. Every method may raise ChannelUnavailableError or ChannelRefusedError."""

    def __init__(self, settings: FeishuSettings, *, call_seconds: float = CALL_SECONDS) -> None:
        """Prepare; nothing is imported or called yet."""
        self._settings = settings
        self._call_seconds = call_seconds
        self._pool = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="feishu")
        self._lock = threading.Lock()
        self._sdk: Sdk | None = None
        self._token = ""
        self._token_ends = 0.0

    async def warm_up(self) -> None:
        """Import the SDK now, so that the first card need not wait for it."""
        await self._loaded()

    async def send_card(self, receiver: str, content: str, uuid: str) -> SentMessage:
        """Post a card to a chat, or to the person whose open_id `receiver` is.

        A second call with one uuid within an hour posts nothing new. The answer names the chat, also a person's own.
        """
        message = await self._send(receiver, "interactive", content, uuid)
        told = message.sender.tenant_key if message.sender is not None else None
        tenant_key = str(told) if _begins(told, "") else ""
        chat_id = str(message.chat_id) if _begins(message.chat_id, "oc_") else ""
        if not chat_id and receiver.startswith(PERSON_PREFIX):
            # Clicks there will name a chat that we do not know: posting again under this uuid asks once more.
            raise ChannelUnavailableError("Feishu's answer does not name the chat", ambiguous=True)
        return SentMessage(tenant_key=tenant_key, chat_id=chat_id or receiver, message_id=message.message_id)

    async def send_text(self, receiver: str, content: str, uuid: str) -> None:
        """Say something, in rich text, to a chat or a person; with `uuid` as in `send_card`."""
        await self._send(receiver, "post", content, uuid)

    async def _send(self, receiver: str, kind: str, content: str, uuid: str) -> Any:
        receiver_kind = "open_id" if receiver.startswith(PERSON_PREFIX) else "chat_id"

        def call(sdk: Sdk, option: Any) -> Any:
            body = sdk.im.CreateMessageRequestBody.builder().receive_id(receiver).msg_type(kind)
            body = body.content(content).uuid(uuid).build()
            builder = sdk.im.CreateMessageRequest.builder().receive_id_type(receiver_kind)
            return sdk.client.im.v1.message.create(builder.request_body(body).build(), option)

        answer = await self.call(call, writes=True)
        if answer.data is None or not _begins(answer.data.message_id, "om_"):
            raise ChannelUnavailableError("Feishu's answer names no message", ambiguous=True)
        return answer.data

    async def reply(self, message_id: str, content: str, uuid: str) -> None:
        """Say something under a message, in rich text; a second call with one uuid within an hour says nothing new."""

        def call(sdk: Sdk, option: Any) -> Any:
            body = sdk.im.ReplyMessageRequestBody.builder().msg_type("post").content(content).uuid(uuid).build()
            request = sdk.im.ReplyMessageRequest.builder().message_id(message_id).request_body(body).build()
            return sdk.client.im.v1.message.reply(request, option)

        await self.call(call, writes=True)

    async def replace_card(self, message_id: str, content: str) -> None:
        """Make a message show another card. Raises EditClosedError when it no longer can."""

        def call(sdk: Sdk, option: Any) -> Any:
            body = sdk.im.PatchMessageRequestBody.builder().content(content).build()
            request = sdk.im.PatchMessageRequest.builder().message_id(message_id).request_body(body).build()
            return sdk.client.im.v1.message.patch(request, option)

        await self.call(call, writes=True)

    async def is_there(self, message_id: str) -> bool:
        """Say whether there is a message of this id, which nobody recalled."""

        def call(sdk: Sdk, option: Any) -> Any:
            request = sdk.im.GetMessageRequest.builder().message_id(message_id).build()
            return sdk.client.im.v1.message.get(request, option)

        try:
            answer = await self.call(call)
        except (EditClosedError, NoMessageError):
            return False
        items: object = answer.data.items if answer.data is not None else None
        for item in cast("list[Any]", items) if isinstance(items, list) else ():
            if item.message_id == message_id:
                return item.deleted is not True
        raise ChannelUnavailableError("Feishu's answer does not say whether the message is there")

    async def find_contacts(self, emails: tuple[str, ...]) -> dict[str, Contact | None]:
        """Find at most `MOST_AT_ONCE` people by login e-mail, also who has left. None: unknown, or not visible."""

        def call(sdk: Sdk, option: Any) -> Any:
            body = sdk.contact.BatchGetIdUserRequestBody.builder().emails(list(emails)).include_resigned(True).build()
            request = sdk.contact.BatchGetIdUserRequest.builder().user_id_type("open_id").request_body(body).build()
            return sdk.client.contact.v3.user.batch_get_id(request, option)

        answer = await self.call(call)
        found = people_by_email(answer)
        if any(email.casefold() not in found for email in emails):
            raise ChannelUnavailableError("Feishu's answer does not name everybody who was asked for")
        return {email: found[email.casefold()] for email in emails}

    async def find_contact(self, open_id: str) -> Contact | None:
        """Find a person by open_id. None: the platform knows nobody by it."""

        def call(sdk: Sdk, option: Any) -> Any:
            request = sdk.contact.GetUserRequest.builder().user_id(open_id).user_id_type("open_id").build()
            return sdk.client.contact.v3.user.get(request, option)

        answer = await self.call(call, tolerates=UNKNOWN_PERSON)
        return None if answer is None else person_by_id(answer, open_id)

    async def is_in_chat(self, chat_id: str) -> bool:
        """Say whether our bot is a member of a chat."""

        def call(sdk: Sdk, option: Any) -> Any:
            request = sdk.im.IsInChatChatMembersRequest.builder().chat_id(chat_id).build()
            return sdk.client.im.v1.chat_members.is_in_chat(request, option)

        answer = await self.call(call)
        member: object = answer.data.is_in_chat if answer.data is not None else None
        if not isinstance(member, bool):
            raise ChannelUnavailableError("Feishu's answer does not say whether the bot is a member")
        return member

    async def check_credentials(self) -> None:
        """Fetch a token, whatever is kept. Raises ChannelRefusedError when app id or secret are wrong."""
        await self._in_thread(lambda: self._fetch_token(self._load()))

    async def find_endpoint(self) -> Endpoint:
        """Ask where to open the long connection."""
        secret = self._settings.app_secret.get_secret_value()

        def call() -> dict[str, Any]:
            sdk = self._load()
            return self._post(sdk, "/callback/ws/endpoint", {"AppID": self._settings.app_id, "AppSecret": secret})

        answer = await self._in_thread(call)
        try:
            url: object = answer["data"]["URL"]
        except (KeyError, TypeError):
            url = None
        if not _begins(url, "ws"):
            raise ChannelUnavailableError("Feishu's answer names no long connection")
        config = answer["data"].get("ClientConfig")
        return Endpoint(
            url=str(url),
            ping_seconds=_seconds(config, "PingInterval"),
            retry_seconds=_seconds(config, "ReconnectInterval"),
        )

    async def load_frame(self) -> Any:
        """Return the SDK's protobuf class for the long connection's frames."""
        return (await self._loaded()).frame

    async def call(
        self,
        call: Callable[[Sdk, Any], Any],
        *,
        writes: bool = False,
        tolerates: frozenset[int] = frozenset(),
    ) -> Any:
        """Run one API call with a token that works. None when it failed with a code of `tolerates`."""

        def attempt() -> Any:
            sdk = self._load()
            token = self._keep_token(sdk)
            answer = _with_token(sdk, token, call, writes=writes)
            if answer.code in DEAD_TOKEN:
                self._forget_token(token)
                answer = _with_token(sdk, self._keep_token(sdk), call, writes=writes)
            if answer.code in tolerates:
                return None
            classify(answer, writes=writes)
            return answer

        return await self._in_thread(attempt, writes=writes)

    async def close(self) -> None:
        """Take no more calls; those under way end by their own time limit."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    # --- in a thread --------------------------------------------------------------------------------------------------

    async def _loaded(self) -> Sdk:
        """Import the SDK, once; on a busy machine that alone may take longer than any operation may."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(IMPORT_SECONDS):
                return self._sdk or await loop.run_in_executor(self._pool, self._load)
        except TimeoutError:
            raise ChannelUnavailableError("Feishu's SDK is still loading") from None

    async def _in_thread(self, act: Callable[[], _T], *, writes: bool = False) -> _T:
        await self._loaded()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                return await loop.run_in_executor(self._pool, act)
        except TimeoutError:
            raise ChannelUnavailableError("Feishu took too long", ambiguous=writes) from None

    def _keep_token(self, sdk: Sdk) -> str:
        with self._lock:  # one fetch serves all threads that wait for it
            if not self._token or time.monotonic() >= self._token_ends:
                self._fetch_token(sdk)
            return self._token

    def _forget_token(self, token: str) -> None:
        with self._lock:
            if self._token == token:  # another thread may have fetched the next one already
                self._token = ""

    def _fetch_token(self, sdk: Sdk) -> None:
        secret = self._settings.app_secret.get_secret_value()
        path = "/open-apis/auth/v3/tenant_access_token/internal"
        answer = self._post(sdk, path, {"app_id": self._settings.app_id, "app_secret": secret})
        token, life = answer.get("tenant_access_token"), answer.get("expire")
        if not isinstance(token, str) or not token or not isinstance(life, int):
            raise ChannelUnavailableError("Feishu's answer holds no token")
        self._token = token
        self._token_ends = time.monotonic() + max(life - _RENEW_BEFORE, life / 2)

    def _post(self, sdk: Sdk, path: str, body: dict[str, str]) -> dict[str, Any]:
        """Make one of the two calls that need no token. Their failure is never ambiguous: nothing was posted."""
        builder = sdk.lark.BaseRequest.builder().http_method(sdk.lark.HttpMethod.POST).uri(path)
        request = builder.headers({"Content-Type": "application/json; charset=utf-8"}).body(body).build()

        def call() -> Any:
            raw = sdk.transport.Transport.execute(sdk.client.config, request)
            answer = sdk.lark.BaseResponse(json.loads(raw.content))
            answer.raw = raw
            return answer

        answer = sdk.run(call, writes=False)
        classify(answer, writes=False)
        fields: dict[str, Any] = json.loads(answer.raw.content)
        return fields

    def _load(self) -> Sdk:
        with self._lock:
            if self._sdk is None:
                self._sdk = _import_sdk(self._settings, self._call_seconds)
            return self._sdk


def _with_token(sdk: Sdk, token: str, call: Callable[[Sdk, Any], Any], *, writes: bool) -> Any:
    option = sdk.lark.RequestOption.builder().tenant_access_token(token).build()
    return sdk.run(lambda: call(sdk, option), writes=writes)


def _import_sdk(settings: FeishuSettings, call_seconds: float) -> Sdk:
    """Import the SDK and build its client; in a thread, for it takes seconds."""
    if is_loopback(settings.domain):
        keep_loopback_off_proxies()
    first = "lark_oapi" not in sys.modules
    import lark_oapi
    import lark_oapi.ws.client  # noqa: F401  # pyright: ignore[reportUnusedImport]  # reached through `lark`
    from lark_oapi.api.contact import v3 as contact
    from lark_oapi.api.im import v1 as im
    from lark_oapi.core.exception import UnmarshalException
    from lark_oapi.core.http import transport
    from lark_oapi.ws.pb import pbbp2_pb2

    lark: Any = lark_oapi
    follow_no_redirect(transport)
    if first and threading.current_thread() is not threading.main_thread():
        # The import made an event loop for the SDK's own long-connection client, which is not used here.
        lark.ws.client.loop.close()
        asyncio.set_event_loop(None)
    builder = lark.Client.builder().app_id(settings.app_id).app_secret(settings.app_secret.get_secret_value())
    builder = builder.domain(settings.domain).timeout(call_seconds).enable_set_token(enable_set_token=True)
    frames: Any = pbbp2_pb2
    return Sdk(
        lark=lark,
        im=im,
        contact=contact,
        transport=transport,
        frame=frames.Frame,
        malformed=UnmarshalException,
        client=builder.log_level(lark.LogLevel.CRITICAL).build(),
    )


def _begins(told: object, prefix: str) -> bool:
    """Say whether the platform told a name, and one of this kind; a JSON null, a number or a table is none."""
    return isinstance(told, str) and bool(told) and told.startswith(prefix)


def _seconds(config: object, name: str) -> float:
    """Return a span of the connection's settings; the SDK's own where the platform gives none that makes sense."""
    told = cast("dict[str, object]", config).get(name) if isinstance(config, dict) else None
    fits = isinstance(told, (int, float)) and not isinstance(told, bool) and 1 <= told <= _LONGEST_SPAN
    return float(told) if isinstance(told, (int, float)) and fits else _USUAL_SPAN
