"""Why a host could not be reached, in words that lead to the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST: Final = 12
_NAME: Final = "its name is not known: correct it, or the DNS of this machine"
_CERTIFICATE: Final = "its certificate is not accepted: is a proxy between, or is this another host?"
_TLS: Final = "it does not speak TLS: is it http rather than https, or another port?"
_REFUSED: Final = "it refuses the connection: is it running, and is the port right?"
_LATE: Final = "nothing answers in time: a firewall between, or a wrong address"
_SAID: Final = {  # by the names of what libraries raise, the most telling first: the domain knows no sockets
    "gaierror": _NAME,
    "NameResolutionError": _NAME,
    "SSLCertVerificationError": _CERTIFICATE,
    "SSLError": _TLS,
    "ConnectionRefusedError": _REFUSED,
    "TimeoutError": _LATE,
    "ConnectTimeout": _LATE,
    "TimeoutException": _LATE,
    "NewConnectionError": _REFUSED,
}


def why_unreached(error: BaseException) -> str:
    """Say why, and what to look at. Nothing of the error's text is kept: it may hold addresses with secrets."""
    names = {kind.__name__ for cause in _causes(error) for kind in type(cause).__mro__}
    return next((said for name, said in _SAID.items() if name in names), "the connection failed: see what is between")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what it came from, innermost last; libraries hide the cause in various places."""
    seen: list[BaseException] = []
    pending: list[object] = [error]
    while pending and len(seen) < _DEEPEST:
        each = pending.pop(0)
        if not isinstance(each, BaseException) or each in seen:
            continue
        seen.append(each)
        yield each
        inner = (
            getattr(each, "reason", None),
            getattr(each, "os_error", None),
            getattr(each, "certificate_error", None),
        )
        pending += [each.__cause__, each.__context__, *inner, *each.args]
