"""`HttpTool`: a tool behind the executor that is an HTTP call.

    bank = HttpTool("https://bank.acme.example/payments", lookup="https://bank.acme.example/payments/{key}",
                    headers={"Authorization": f"Bearer {os.environ['BANK_TOKEN']}"}, read=read_payment)
    executor.tool("oa__purchase_pay", run=bank, lookup=bank.lookup)

The approved arguments are POSTed as JSON with the header `Idempotency-Key`. `read` turns the service's JSON into
`ToolSucceeded`, `ToolFailed` or None (not clear yet); nothing is guessed from it. A 4xx is a refusal, except for those
that a call under way gets as well (408, 409, 425, 429); those, redirects, 5xx and lost connections are unknown.

A 202, 402 or 403 may also say that the service asks its own people: its body is read, and with the id of an approval
in it the call waits there (`ToolElsewhere`). Where such a body speaks of an approval without an id, was cut off, or
where a 402 says nothing at all, nobody knows: that is no refusal either. `waits` reads the bodies of services that say
it in another way.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin

import anyio
import anyio.to_thread
import httpx2

from assent.executor.elsewhere import speaks_of_one, waits_in
from assent.executor.tools import Found, ToolFailed, ToolOutcome, ToolUnknown, readable, scrubbed
from assent.gate.aftermath import NOT_A_REFUSAL, ToolElsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_log = logging.getLogger("assent")
_LARGEST_ANSWER = 256 * 1024
_REFUSAL_SECONDS = 10.0  # in which the body of an answer that is no success has to arrive
_MAY_WAIT = frozenset({202, 402, 403})
_NOT_SAID = "the service's answer ({}) does not say"
_ACCEPTED, _PAYMENT_REQUIRED = 202, 402


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a service answered. `whole`: its body arrived to its end, within the bounds."""

    status: int
    body: bytes
    whole: bool
    location: str | None

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300


class HttpTool:
    """One HTTP service. Raises `ValueError` for a lookup address without `{key}`, or `{id}` for `lookup_elsewhere`.

    `lookup_elsewhere` is where the service tells what its people decided; `read` reads that as well. `waits(status,
    answer)` is asked before anything else about a 202, 402 or 403, and returns `ToolElsewhere` or None.

    Proxies named in the environment are not used, and redirects are not followed: pass a `transport` for those.
    """

    def __init__(
        self,
        url: str,
        *,
        read: Callable[[Any], Found | None],
        lookup: str | None = None,
        lookup_elsewhere: str | None = None,
        waits: Callable[[int, Any], ToolElsewhere | None] | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        if lookup is not None and "{key}" not in lookup:
            raise ValueError("the address of a lookup needs {key} in the place of the idempotency key")
        if lookup_elsewhere is not None and "{id}" not in lookup_elsewhere:
            raise ValueError("the address of what waits there needs {id} in the place of the service's own id")
        self._url = url
        self._read = read
        self._lookup = lookup
        self._lookup_elsewhere = lookup_elsewhere
        self._waits = waits
        self._headers = dict(headers or {})
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None

    async def __call__(self, *, idempotency_key: str, **arguments: Any) -> ToolOutcome:
        """Send the call."""
        answer = await self._exchange("POST", self._url, json=arguments, headers={"Idempotency-Key": idempotency_key})
        waits = self._asks_people(answer)
        if waits is not None:
            return waits
        if answer.succeeded:
            return self._understood(answer) or ToolUnknown(why=_NOT_SAID.format(answer.status))
        if 400 <= answer.status < 500 and answer.status not in NOT_A_REFUSAL:
            told = answer.body.decode(errors="replace")
            return ToolFailed(error=scrubbed(f"the service refused ({answer.status}): {told}"))
        return ToolUnknown(why=f"the service answered {answer.status}")

    async def lookup(self, idempotency_key: str) -> Found | ToolUnknown | None:
        """Ask what became of a key; None where the service knows none (404), or there is no address to ask.

        A record that `read` does not understand, or not yet, is no "none": `ToolUnknown`.
        """
        return await self._looked_up(self._lookup, "{key}", idempotency_key)

    async def lookup_elsewhere(self, place: str) -> Found | ToolUnknown | None:
        """Ask what the service's people decided; None where that is not clear yet, or there is no address to ask."""
        return await self._looked_up(self._lookup_elsewhere, "{id}", place)

    async def _looked_up(self, address: str | None, blank: str, of: str) -> Found | ToolUnknown | None:
        if address is None:
            return None
        answer = await self._exchange("GET", address.replace(blank, quote(of, safe="")))
        if answer.status == 404:
            return None
        if not answer.succeeded:
            raise ConnectionError(f"the service answered {answer.status}")
        waits = self._asks_people(answer)
        if waits is not None:
            return waits if isinstance(waits, ToolElsewhere) else ToolUnknown(why=_NOT_SAID.format(answer.status))
        return self._understood(answer) or ToolUnknown(why=_NOT_SAID.format(answer.status))

    def _asks_people(self, answer: _Answer) -> ToolOutcome | None:
        """Say whether an answer means that the service asks its own people; None: it is what its status says."""
        if answer.status not in _MAY_WAIT:
            return None
        said = _decoded(answer.body) if answer.whole else None
        found = self._own_words(answer.status, said)
        if found is not None:
            return found
        if isinstance(said, dict | list):
            waits = waits_in(said)
            if waits is None or (answer.succeeded and not waits.coded):
                return None  # words for people in an answer that took the call: `read` knows better
            if waits.id is None:
                return ToolUnknown(why=f"the service ({answer.status}) speaks of an approval of its own, without an id")
            link = waits.link or (answer.location and urljoin(self._url, answer.location))
            return readable(ToolElsewhere(waits.id, link))
        return _unclear(answer)

    def _own_words(self, status: int, said: Any) -> ToolElsewhere | None:
        """Ask the caller's own reader; one that fails says nothing."""
        if self._waits is None:
            return None
        try:
            found = self._waits(status, said)
        except Exception as error:  # noqa: BLE001 - the caller's own function
            _log.warning("an answer of %s could not be read: %s", self._url.partition("?")[0], type(error).__name__)
            return None
        return found if isinstance(found, ToolElsewhere) else None

    def _understood(self, answer: _Answer) -> Found | None:
        """Read an answer to something that was done: a reader that fails says nothing, least of all that it failed."""
        try:
            return self._read(_decoded(answer.body))
        except ToolElsewhere as waits:
            return waits
        except Exception as error:  # noqa: BLE001 - the caller's own function
            _log.warning("an answer of %s could not be read: %s", self._url.partition("?")[0], type(error).__name__)
            return None

    async def _exchange(self, method: str, url: str, **sent: Any) -> _Answer:
        if self._client is None:  # two that come first at once make one too many, which holds nothing
            self._client = await anyio.to_thread.run_sync(self._open)
        async with self._client.stream(method, url, **sent) as response:
            body, whole = await _read(response)
            location = response.headers.get("location")
            return _Answer(status=response.status_code, body=body, whole=whole, location=location)

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


async def _read(response: httpx2.Response) -> tuple[bytes, bool]:
    """Read a body as far as is bearable, and say whether that was all of it.

    Of a refusal the status says enough after a while; a success is waited for as long as the executor waits.
    """
    body = b""
    with anyio.move_on_after(None if response.is_success else _REFUSAL_SECONDS):
        async for part in response.aiter_bytes():
            body += part
            if len(body) > _LARGEST_ANSWER:
                return body[:_LARGEST_ANSWER], False
        return body, True
    return body, False


def _unclear(answer: _Answer) -> ToolUnknown | None:
    """Say what an answer means that is no JSON, or not all of it: a 403 is a refusal, unless it speaks of approval."""
    if not answer.whole:
        return ToolUnknown(why=f"the service's answer ({answer.status}) did not arrive to its end")
    if answer.status in {_ACCEPTED, _PAYMENT_REQUIRED} or speaks_of_one(answer.body.decode(errors="replace")):
        return ToolUnknown(why=f"the service's answer ({answer.status}) does not say what becomes of it")
    return None


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
