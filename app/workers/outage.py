"""What is known to keep something from its work is said when it begins, when it changes and when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from app.domain.errors import UnavailableError

log = structlog.get_logger(__name__)


class Outage:
    """Of one loop or one tick, by its name."""

    def __init__(self, what: str, name: str) -> None:
        """`what` it is: a worker, a tick."""
        self._what = what
        self._name = name
        self._why: str | None = None

    def found(self, error: UnavailableError) -> None:
        """Hear of it; said again only where there is something else to say."""
        if error.detail != self._why:
            event = f"{self._what}.waits"
            log.warning(event, **{self._what: self._name}, why=error.detail)
        self._why = error.detail

    def over(self) -> None:
        """Hear that the work is done again."""
        if self._why is not None:
            event = f"{self._what}.resumed"
            log.info(event, **{self._what: self._name})
        self._why = None
