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

import httpx2

from app.domain.text.addresses import why_not
from app.usecases.platforms.send_webhooks import NotTakenError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from app.domain.trail.webhooks import Webhook

_SECONDS: Final = 10.0
_LAST_GOOD: Final = 299


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class Outbound:
    """Sends webhooks. See `app.usecases.platforms.send_webhooks.Sender`."""

    def __init__(
        self, *, resolve: Callable[[str, int], Awaitable[list[str]]] = resolve, seconds: float = _SECONDS
    ) -> None:
        """Connect to nothing yet. `seconds` bounds a whole message."""
        self._resolve = resolve
        self._seconds = seconds
        self._tls: ssl.SSLContext | None = None

    async def __call__(self, webhook: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        """Post one message."""
        try:
            async with asyncio.timeout(self._seconds):
                await self._post(webhook, body, headers)
        except TimeoutError:
            raise NotTakenError(f"no answer within {self._seconds:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise NotTakenError(f"no connection ({type(error).__name__})") from None

    async def _post(self, webhook: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        url = httpx2.URL(webhook.url)
        address = await self._address(webhook, url.port or (443 if url.scheme == "https" else 80))
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # it reads files
        sent = {
            **headers,
            "host": url.netloc.decode("ascii"),
            "content-type": "application/json",
            "user-agent": "assent-gateway",
        }
        # A client of its own: connections to one address are not shared between two names.
        async with httpx2.AsyncClient(verify=self._tls, trust_env=False, timeout=self._seconds) as client:
            pinned = url.copy_with(host=address)
            request = client.build_request("POST", pinned, content=body, headers=sent)
            request.extensions["sni_hostname"] = webhook.host
            answer = await client.send(request, follow_redirects=False, stream=True)
            await answer.aclose()  # whatever it says beside its status is not read
        if not httpx2.codes.OK <= answer.status_code <= _LAST_GOOD:
            raise NotTakenError(f"status {answer.status_code}", retry_after=_retry_after(answer))

    async def _address(self, webhook: Webhook, port: int) -> str:
        """Return an address of the host, all of which are allowed."""
        try:
            addresses = await self._resolve(webhook.host, port)
        except OSError as error:
            raise NotTakenError(f"its name is not known ({type(error).__name__})") from None
        for address in addresses:
            refused = why_not(address, host=webhook.host, private=webhook.private)
            if refused:
                raise NotTakenError(f"{webhook.host} leads to {address}: {refused}")
        if not addresses:
            raise NotTakenError("its name leads nowhere")
        return addresses[0]


def _retry_after(answer: httpx2.Response) -> timedelta | None:
    wish = answer.headers.get("retry-after", "")
    return timedelta(seconds=int(wish)) if re.fullmatch(r"[0-9]{1,5}", wish) else None
