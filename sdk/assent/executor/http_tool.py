"""`HttpTool`: a tool behind the executor that is an HTTP call.

    bank = HttpTool("https://bank.acme.example/payments", lookup="https://bank.acme.example/payments/{key}",
                    headers={"Authorization": f"Bearer {os.environ['BANK_TOKEN']}"}, read=read_payment)
    executor.tool("oa__purchase_pay", run=bank, lookup=bank.lookup)

The approved arguments are POSTed as JSON with the header `Idempotency-Key`. `read` turns the service's JSON into
`ToolSucceeded`, `ToolFailed` or None (not clear yet); nothing is guessed from it. A 4xx is a refusal, except for those
that a call under way gets as well (408, 409, 425, 429); those, redirects, 5xx and lost connections are unknown.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio.to_thread
import httpx2

from assent.executor.tools import Settling, ToolFailed, ToolOutcome, ToolUnknown, scrubbed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_log = logging.getLogger("assent")
_LARGEST_ANSWER = 256 * 1024
_NOT_A_REFUSAL = frozenset({408, 409, 425, 429})


class HttpTool:
    """One HTTP service. Raises `ValueError` for a lookup address without `{key}`.

    Proxies named in the environment are not used, and redirects are not followed: pass a `transport` for those.
    """

    def __init__(
        self,
        url: str,
        *,
        read: Callable[[Any], Settling | None],
        lookup: str | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        if lookup is not None and "{key}" not in lookup:
            raise ValueError("the address of a lookup needs {key} in the place of the idempotency key")
        self._url = url
        self._read = read
        self._lookup = lookup
        self._headers = dict(headers or {})
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def __call__(self, *, idempotency_key: str, **arguments: Any) -> ToolOutcome:
        """Send the call."""
        status, body = await self._exchange(
            "POST", self._url, json=arguments, headers={"Idempotency-Key": idempotency_key}
        )
        if 200 <= status < 300:
            return self._understood(body) or ToolUnknown(why=f"the service's answer ({status}) does not say")
        if 400 <= status < 500 and status not in _NOT_A_REFUSAL:
            return ToolFailed(error=scrubbed(f"the service refused ({status}): {body.decode(errors='replace')}"))
        return ToolUnknown(why=f"the service answered {status}")

    async def lookup(self, idempotency_key: str) -> Settling | None:
        """Ask what became of a key; None where the service knows none, or there is no address to ask."""
        if self._lookup is None:
            return None
        status, body = await self._exchange("GET", self._lookup.replace("{key}", quote(idempotency_key, safe="")))
        if status == 404:
            return None
        if not 200 <= status < 300:
            raise ConnectionError(f"the service answered {status}")
        return self._understood(body)

    def _understood(self, body: bytes) -> Settling | None:
        """Read an answer to something that was done: a reader that fails says nothing, least of all that it failed."""
        try:
            return self._read(_decoded(body))
        except Exception as error:  # noqa: BLE001 - the caller's own function
            _log.warning("an answer of %s could not be read: %s", self._url.partition("?")[0], type(error).__name__)
            return None

    async def _exchange(self, method: str, url: str, **sent: Any) -> tuple[int, bytes]:
        if self._client is None:  # two that come first at once make one too many, which holds nothing
            self._client = await anyio.to_thread.run_sync(self._open)
        async with self._client.stream(method, url, **sent) as response:
            body = b""
            async for part in response.aiter_bytes():
                body += part
                if len(body) > _LARGEST_ANSWER:
                    break
            return response.status_code, body[:_LARGEST_ANSWER]

    def _open(self) -> httpx2.AsyncClient:
        """Make the client, on a thread: it reads the system's certificates.

        It keeps no connection: one that the service closed a moment ago would make a payment unknown for nothing.
        """
        return httpx2.AsyncClient(
            headers=self._headers,
            timeout=httpx2.Timeout(None, connect=5.0),  # the executor bounds the whole
            limits=httpx2.Limits(max_keepalive_connections=0),
            trust_env=False,
            transport=self._transport,
        )


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
