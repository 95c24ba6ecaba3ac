"""What a tool's error says about the deed: whether it came before it or behind it, or others still decide.

*Failed* is only said where it is certain. An answer that did not come, a connection that was lost: the deed may have
been done, so that is *unknown*, and nobody does it again. A service that asks its own people has not refused.

No HTTP library is imported here: their errors are known by their names, whichever of them a tool uses.
"""

from __future__ import annotations

import re

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
        "RequestError",  # httpx, also for an answer that could not be decoded
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
NOT_A_REFUSAL = frozenset({408, 409, 425, 429})
"""What a call under way is answered as well."""
_PAYMENT_REQUIRED = 402  # also what a service says that asks its own people
_DEEPEST = 20
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

    An error that was made of another one is judged by the first of them that says anything.
    """
    named: BaseException | None = error
    for _ in range(_DEEPEST):
        if named is None:
            return False
        status = _status_of(named)
        if status is not None:
            return not 400 <= status < 500 or status in NOT_A_REFUSAL or status == _PAYMENT_REQUIRED
        names = {kind.__name__ for kind in type(named).__mro__}
        if names & _NEVER_SENT:
            return False
        if names & _MAY_HAVE_RUN:
            return True
        named = named.__cause__ or (None if named.__suppress_context__ else named.__context__)
    return True


def _status_of(error: BaseException) -> int | None:
    """Return the status of the answer that an HTTP library's error is about (`raise_for_status`)."""
    answer = getattr(error, "response", None)
    found = getattr(answer, "status_code", None) if answer is not None else getattr(error, "status", None)
    return found if isinstance(found, int) and 100 <= found < 600 else None


def after_error(error: BaseException) -> tuple[OutcomeStatus, Elsewhere | None]:
    """What an error is reported as, and where the call waits if it waits."""
    if isinstance(error, ToolElsewhere):
        return (OutcomeStatus.PENDING_ELSEWHERE, error.place) if error.place else (OutcomeStatus.UNKNOWN, None)
    if not isinstance(error, Exception) or may_have_run(error):  # cancelled in the middle is as unclear
        return OutcomeStatus.UNKNOWN, None
    return OutcomeStatus.FAILED, None
