"""What can go wrong in the hook command: `judge` turns the foreseen into a denial, `main` the rest into exit code 2."""

from __future__ import annotations


class HookError(Exception):
    """The hook cannot do its work: wrong command line, event or configuration."""


class InterruptedHookError(BaseException):
    """The host ended the hook."""


class AwayError(Exception):
    """The gateway did not answer sensibly; it may later. `retry_after`: seconds that it asked us to stay away."""

    def __init__(self, fault: str, retry_after: float = 0.0) -> None:
        super().__init__(fault)
        self.retry_after = retry_after


class RefusedError(Exception):
    """The gateway (or its certificate) gave an answer that no retry can mend."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{status} {code} {detail}".strip())
        self.status = status
        self.code = code
        self.detail = detail
