"""What a tool's error says about the deed: whether it came before it or behind it, or others still decide.

*Failed* is only said where it is certain. An answer that did not come, a connection that was lost: the deed may have
been done, so that is *unknown*, and nobody does it again. A service that asks its own people has not refused.

No HTTP library is imported here: their errors are known by their names, whichever of them a tool uses.
"""

from __future__ import annotations

from assent.client.models import Elsewhere, OutcomeStatus

_NEVER_SENT = frozenset(
    {
        "ConnectionRefusedError",
        "gaierror",
        "ConnectError",  # httpx
        "ConnectTimeout",  # httpx, requests
        "PoolTimeout",
        "UnsupportedProtocol",
        "ClientConnectorError",  # aiohttp
        "NewConnectionError",  # urllib3
        "ConnectTimeoutError",
    }
)
"""There was no connection on which anything could have been sent."""
_MAY_HAVE_RUN = frozenset(
    {
        "TimeoutError",
        "ConnectionError",  # also of requests, which is another
        "UnknownOutcomeError",
        "TransportError",  # httpx
        "Timeout",  # requests
        "ChunkedEncodingError",
        "ClientConnectionError",  # aiohttp
        "ClientPayloadError",
        "ProtocolError",  # urllib3
        "ReadTimeoutError",
        "IncompleteRead",  # the standard library
        "APIConnectionError",  # what services' own libraries call it
        "APITimeoutError",
    }
)
"""Something may have been sent, and what came of it was not heard."""
_DEEPEST = 20


class UnknownOutcomeError(Exception):
    """A tool raises this when it cannot say whether it has done what it was asked to."""


class ToolElsewhere(Exception):  # noqa: N818 - it is no error: the service has the call, and its people decide
    """A tool raises or returns this when the service that it calls asks its own people before it does anything.

    `id` is the service's own of what waits there, `link` (http or https) where its people find it.
    """

    def __init__(self, id: str, link: str | None = None) -> None:  # noqa: A002 - the word of the wire
        super().__init__(id, link)
        self.place = Elsewhere(id=id, link=link)

    def __str__(self) -> str:
        return (
            f"the service asks its own people, as {self.place.id}: that is no refusal, it may still be done, and it "
            "is not to be repeated"
        )


def may_have_run(error: BaseException) -> bool:
    """Whether something was possibly sent before the error: then it is nobody's to say that it failed.

    An error that was made of another one is judged by the first of them that says anything.
    """
    named: BaseException | None = error
    for _ in range(_DEEPEST):
        if named is None:
            return False
        names = {kind.__name__ for kind in type(named).__mro__}
        if names & _NEVER_SENT:
            return False
        if names & _MAY_HAVE_RUN:
            return True
        named = named.__cause__ or (None if named.__suppress_context__ else named.__context__)
    return True


def after_error(error: BaseException) -> tuple[OutcomeStatus, Elsewhere | None]:
    """What an error is reported as, and where the call waits if it waits."""
    if isinstance(error, ToolElsewhere):
        return OutcomeStatus.PENDING_ELSEWHERE, error.place
    if not isinstance(error, Exception) or may_have_run(error):  # cancelled in the middle is as unclear
        return OutcomeStatus.UNKNOWN, None
    return OutcomeStatus.FAILED, None
