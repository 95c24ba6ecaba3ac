"""What a tool's error says about the deed: whether it came before it or behind it, or others still decide.

*Failed* is only said where it is certain. An answer that did not come, was cut off or could not be read, a connection
that was lost: the deed may have been done, so that is *unknown*, and nobody does it again. A service that asks its own
people has not refused.

No library is imported here: errors are known by their names, whichever library a tool uses, its own subclasses too.
An error is judged with all that it was made of, since a retry that got no connection says nothing of the first try.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Any, cast

from assent.client.models import Elsewhere, OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEVER_SENT = frozenset(
    {
        "ConnectionRefusedError",
        "gaierror",
        "SSLCertVerificationError",
        "http.client.InvalidURL",
        "ConnectError",  # httpx
        "ConnectTimeout",  # httpx, requests
        "PoolTimeout",
        "UnsupportedProtocol",
        "ClientConnectorError",  # aiohttp
        "NewConnectionError",  # urllib3
        "ConnectTimeoutError",
    }
)
"""There was no connection on which anything could have been sent, this time."""
_MAY_HAVE_RUN = frozenset(
    {
        # the standard library
        "TimeoutError",
        "TimeoutExpired",  # a program that did not end in time
        "ConnectionError",  # also of requests, botocore and redis, which are others
        "CancelledError",
        "BrokenExecutor",  # a pool whose worker died
        "EOFError",  # also asyncio.IncompleteReadError
        "LimitOverrunError",
        "SSLError",
        "BadStatusLine",
        "IncompleteRead",
        "http.client.HTTPException",
        "_queue.Empty",  # of whoever waits for a worker's answer
        "SMTPServerDisconnected",
        "MemoryError",
        "RecursionError",
        # an answer was there, and could not be read
        "JSONDecodeError",
        "UnicodeDecodeError",
        "ParseError",  # XML
        "ExpatError",
        "XMLSyntaxError",
        "DecodeError",
        "ContentDecodingError",
        "ResponseParserError",
        "BadGzipFile",
        "zlib.error",
        # HTTP libraries
        "UnknownOutcomeError",
        "RequestError",  # httpx, also for an answer that could not be decoded; urllib3
        "StreamError",
        "TimeoutException",  # httpcore
        "NetworkError",
        "Timeout",  # requests
        "ChunkedEncodingError",
        "StreamConsumedError",
        "TooManyRedirects",
        "UnrewindableBodyError",
        "RetryError",  # also of what repeats calls by itself
        "ClientConnectionError",  # aiohttp
        "ClientPayloadError",
        "ProtocolError",  # urllib3
        "ReadTimeoutError",
        "HTTPClientError",  # botocore, tornado
        "TransportError",
        "pycurl.error",
        # what services' own libraries, and other lines than HTTP's, call it
        "APIConnectionError",
        "APITimeoutError",
        "GoogleAPICallError",
        "RpcError",  # gRPC
        "McpError",
        "MCPError",
        "ConnectionClosed",  # WebSockets
        "WebSocketException",
        "BrokenResourceError",  # anyio, trio
        "ClosedResourceError",
        "EndOfStream",
        "DelimiterNotFound",
        "TooSlowError",
        "SSHException",
        "AMQPError",
        "OperationalError",  # databases: the line was lost, perhaps within the commit
        "InterfaceError",
        "PostgresConnectionError",
        "ConnectionFailure",
    }
)
"""Something may have been sent, and what came of it was not heard."""
_HOW_IT_FAILED = frozenset({"OSError", "CancelledError", "MaxRetryError", "BrokenResourceError", "EndOfStream"})
"""What a connection that was not made was made of, besides: it says why, and nothing of the deed."""
_LOST = frozenset(
    {errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTUNREACH, errno.ENOTCONN, errno.ETIMEDOUT}
)
_GRPC_REFUSALS = frozenset(
    {
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "FAILED_PRECONDITION",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
    }
)
NOT_A_REFUSAL = frozenset({408, 409, 425, 429})
"""What a call under way is answered as well."""
_PAYMENT_REQUIRED = 402  # also what a service says that asks its own people
_DEEPEST, _MOST = 20, 200
_LONGEST_ID, _LONGEST_LINK = 200, 2000
_LINK = re.compile(r"https?://[^/?#@\s]+(?:[/?#][!-~]*)?", re.ASCII | re.IGNORECASE)


class UnknownOutcomeError(Exception):
    """A tool raises this when it cannot say whether it has done what it was asked to."""


class ToolElsewhere(Exception):  # noqa: N818 - it is no error: the service has the call, and its people decide
    """A tool raises or returns this when the service that it calls asks its own people before it does anything.

    `id` is the service's own of what waits there (200 visible characters at most), `link` (http or https) where its
    people find it. With an id that nobody could read it counts as unknown, and such a link is left out.
    """

    def __init__(self, id: str, link: str | None = None) -> None:  # noqa: A002 - the word of the wire
        super().__init__(id, link)
        name = str(id).strip()
        good = 0 < len(name) <= _LONGEST_ID and name.isprintable()
        leads = link is not None and len(link) <= _LONGEST_LINK and _LINK.fullmatch(link) is not None
        self.place = Elsewhere(id=name, link=link if leads else None) if good else None

    def __str__(self) -> str:
        where = f", as {self.place.id}" if self.place else ""
        return (
            f"the service asks its own people{where}: that is no refusal, it may still be done, and it is not to be "
            "repeated"
        )


def may_have_run(error: BaseException) -> bool:
    """Whether something was possibly sent before the error: then it is nobody's to say that it failed.

    One thing in all that an error was made of, and came after, is enough. Only a tool's own word, `raise … from None`
    of an error that names no line and no answer, leaves out what was before it; libraries write that for tidiness. A
    chain that has no end, or is longer than anyone reads, is unclear.
    """
    return _Look().finds(error, ())


class _Look:
    """One look through an error and all that it was made of."""

    def __init__(self) -> None:
        self._left = _MOST

    def finds(self, error: BaseException, above: tuple[int, ...], *, of_no_connection: bool = False) -> bool:
        """Whether it may have come behind the deed; `of_no_connection`: it explains why there was none."""
        self._left -= 1
        if id(error) in above or len(above) >= _DEEPEST or self._left < 0:
            return True
        names = _names_of(error)
        never, explains = bool(names & _NEVER_SENT), of_no_connection and _explains(error, names)
        if not never and not explains and _says_that_it_may_have_run(error, names):
            return True
        if not above and not never and _is_its_own_word(error, names):
            return False
        below = (*above, id(error))
        for made_of, directly in _made_of(error):
            own = (never and error.__cause__ is None and _is_its_clock(made_of, names)) or _was_cut(made_of)
            if self.finds(made_of, below, of_no_connection=(never or explains) and (directly or own)):
                return True
        return False


def _made_of(error: BaseException) -> Iterator[tuple[BaseException, bool]]:
    """Yield what an error was made of, and whether that is its very cause or only what was there before."""
    if isinstance(error, BaseExceptionGroup):
        for each in cast("tuple[BaseException, ...]", error.exceptions)[:_MOST]:
            yield each, True
    cause, before, reason = error.__cause__, error.__context__, _told(error, "reason")  # of urllib, and urllib3
    if cause is not None:
        yield cause, True
    if isinstance(reason, BaseException) and reason is not cause and reason is not before:
        yield reason, True
    if before is not None and before is not cause:
        yield before, cause is None and error.__suppress_context__  # `from None`: httpcore hides a cause so


def _says_that_it_may_have_run(error: BaseException, names: set[str]) -> bool:
    """Judge an error by itself. A group is unclear: whatever else ran beside its errors was cut, and is not in it."""
    if not isinstance(error, Exception) or isinstance(error, BaseExceptionGroup):
        return True
    status = _status_of(error, names)
    if status is not None:
        return not 400 <= status < 500 or status in NOT_A_REFUSAL or status == _PAYMENT_REQUIRED
    if "RpcError" in names and _grpc_code_of(error) in _GRPC_REFUSALS:
        return False
    killed = _told(error, "returncode")  # a program that a signal ended in its middle
    lost = "OSError" in names and _told(error, "errno") in _LOST
    return bool(names & _MAY_HAVE_RUN) or lost or (isinstance(killed, int) and killed < 0)


def _is_its_own_word(error: BaseException, names: set[str]) -> bool:
    return error.__suppress_context__ and error.__cause__ is None and _status_of(error, names) is None


def _explains(error: BaseException, names: set[str]) -> bool:
    """Whether it says why there was no connection: the system's own words, and no other library's of an exchange."""
    own = type(error).__module__ in {"builtins", "socket", "ssl", "asyncio.exceptions", "urllib3.exceptions"}
    anyios = type(error).__module__.startswith("anyio")
    return isinstance(error, BaseExceptionGroup) or ((own or anyios) and bool(names & _HOW_IT_FAILED))


def _is_its_clock(error: BaseException, names: set[str]) -> bool:
    """Whether it is how a connection's time ended, which not every library names as its cause."""
    late = any("Timeout" in name for name in names)
    return late and (type(error) is TimeoutError or type(error).__name__ == "MaxRetryError")


def _was_cut(error: BaseException) -> bool:
    return type(error).__name__ == "CancelledError"  # how the clock ended what it measured


def _names_of(error: BaseException) -> set[str]:
    kinds = type(error).__mro__
    return {kind.__name__ for kind in kinds} | {f"{kind.__module__}.{kind.__name__}" for kind in kinds}


def _told(of: Any, name: str) -> Any:
    """Read a member of somebody else's error; one that cannot be read is not there."""
    try:
        return getattr(of, name, None)
    except Exception:  # noqa: BLE001 - a property of anybody's
        return None


def _status_of(error: BaseException, names: set[str]) -> int | None:
    """Return the status of the answer that a library's error is about (`raise_for_status`, and what services raise)."""
    answer = _told(error, "response")
    found = [_told(answer, "status_code"), _told(answer, "status")] if answer is not None else []
    if isinstance(answer, dict):  # botocore
        about = cast("dict[str, Any]", answer).get("ResponseMetadata")
        found.append(cast("dict[str, Any]", about).get("HTTPStatusCode") if isinstance(about, dict) else None)
    found += [_told(error, name) for name in ("status", "status_code", "http_status")]
    if names & {"GoogleAPICallError", "HTTPClientError"}:
        found.append(_told(error, "code"))
    return next((each for each in found if isinstance(each, int) and 100 <= each < 600), None)


def _grpc_code_of(error: BaseException) -> str | None:
    try:
        return str(error.code().name)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - as above
        return None


def after_error(error: BaseException) -> tuple[OutcomeStatus, Elsewhere | None]:
    """What an error is reported as, and where the call waits if it waits."""
    if isinstance(error, ToolElsewhere):
        return (OutcomeStatus.PENDING_ELSEWHERE, error.place) if error.place else (OutcomeStatus.UNKNOWN, None)
    if not isinstance(error, Exception) or may_have_run(error):  # cancelled in the middle is as unclear
        return OutcomeStatus.UNKNOWN, None
    return OutcomeStatus.FAILED, None
