"""Post to an address of the file, and nowhere else: no redirect, no proxy, no name that leads inside.

A name is looked up here, every address that it has is checked, and the connection is made to exactly the one that was
checked, with the certificate held against the name: who answers a second lookup differently gains nothing by it.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from app.domain.text.addresses import why_not
from app.usecases.platforms.send_webhooks import NotTakenError
from app.usecases.signing_in.issuer import UnreachedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx2

    from app.domain.trail.webhooks import Webhook

_SECONDS: Final = 10.0
_GOOD: Final = 200
_LAST_GOOD: Final = 299
_MOST: Final = 262_144  # bytes of an answer that is read


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class _Message(Struct, frozen=True, kw_only=True):
    """What is sent; `most` bytes of the answer are read, nothing beside its status for 0."""

    method: str
    url: str
    private: bool
    body: bytes
    headers: Mapping[str, str]
    most: int = 0


class Outbound:
    """Sends webhooks, and asks those who sign people in. See `app.usecases.platforms.send_webhooks.Sender`."""

    def __init__(
        self, *, resolve: Callable[[str, int], Awaitable[list[str]]] = resolve, seconds: float = _SECONDS
    ) -> None:
        """Connect to nothing yet. `seconds` bounds a whole message."""
        self._resolve = resolve
        self._seconds = seconds
        self._tls: ssl.SSLContext | None = None

    async def __call__(self, webhook: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        """Post one message."""
        sent = {**headers, "content-type": "application/json"}
        answer, _ = await self._bounded(
            _Message(method="POST", url=webhook.url, private=webhook.private, body=body, headers=sent)
        )
        if not _GOOD <= answer.status_code <= _LAST_GOOD:
            raise NotTakenError(f"status {answer.status_code}", retry_after=_retry_after(answer))

    async def fetch(
        self, method: str, url: str, *, private: bool, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> bytes:
        """Return what stands at an address. See `app.usecases.signing_in.issuer.Fetch`."""
        try:
            sent = {**(headers or {}), "accept-encoding": "identity"}
            answer, found = await self._bounded(
                _Message(method=method, url=url, private=private, body=body, headers=sent, most=_MOST)
            )
        except NotTakenError as error:
            raise UnreachedError(str(error)) from None
        if answer.status_code != _GOOD:
            raise UnreachedError(f"status {answer.status_code}")
        return found

    async def _bounded(self, message: _Message) -> tuple[httpx2.Response, bytes]:
        import httpx2  # who sends nothing need not load it

        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(message)
        except TimeoutError:
            raise NotTakenError(f"no answer within {self._seconds:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise NotTakenError(f"no connection ({type(error).__name__})") from None

    async def _send(self, message: _Message) -> tuple[httpx2.Response, bytes]:
        import httpx2

        url = httpx2.URL(message.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        address = await self._address(url.host, port, private=message.private)
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # it reads files
        sent = {**message.headers, "host": url.netloc.decode("ascii"), "user-agent": "assent-gateway"}
        # A client of its own: connections to one address are not shared between two names.
        async with httpx2.AsyncClient(verify=self._tls, trust_env=False, timeout=self._seconds) as client:
            pinned = url.copy_with(host=address)
            request = client.build_request(message.method, pinned, content=message.body, headers=sent)
            request.extensions["sni_hostname"] = url.host
            answer = await client.send(request, follow_redirects=False, stream=True)
            try:
                return answer, await _read(answer, message.most)
            finally:
                await answer.aclose()

    async def _address(self, host: str, port: int, *, private: bool) -> str:
        """Return an address of the host, all of which are allowed."""
        try:
            addresses = await self._resolve(host, port)
        except OSError as error:
            raise NotTakenError(f"its name is not known ({type(error).__name__})") from None
        for address in addresses:
            refused = why_not(address, host=host, private=private)
            if refused:
                raise NotTakenError(f"{host} leads to {address}: {refused}")
        if not addresses:
            raise NotTakenError("its name leads nowhere")
        return addresses[0]


async def _read(answer: httpx2.Response, most: int) -> bytes:
    """Read an answer's body as it came, if anything of it is wanted: what is packed small may be large."""
    found = b""
    if most:
        async for part in answer.aiter_raw():
            found += part
            if len(found) > most:
                raise NotTakenError(f"more than {most} bytes")
    return found


def _retry_after(answer: httpx2.Response) -> timedelta | None:
    wish = answer.headers.get("retry-after", "")
    return timedelta(seconds=int(wish)) if re.fullmatch(r"[0-9]{1,5}", wish) else None
