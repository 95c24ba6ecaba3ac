"""What a channel says of itself: looked at when it is built, and each time that it is asked."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from app.domain.text.language import Language
from app.guard.checked import is_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.guard.guard import Guard

FITS: Final[Mapping[str, Callable[[object], bool]]] = {
    "language": lambda said: isinstance(said, Language),
    "chat_id": is_id,
    "app_id": lambda said: is_id(said, empty=True),
    "text_budget": lambda said: type(said) is int and said > 0,
    "opens_forms": lambda said: isinstance(said, bool),
    "deduplicates_for": lambda said: isinstance(said, timedelta) and said >= timedelta(0),
    "edits_for": lambda said: isinstance(said, timedelta) and said >= timedelta(0),
}


class Said:
    """Asks the package, and says what it said last where it fails to: cards are composed with it, inside a write."""

    def __init__(self, guard: Guard, of: object) -> None:
        """Take what was looked at when the channel was built."""
        self._guard = guard
        self._of = of
        self._last = {what: getattr(of, what) for what in FITS}

    def __call__(self, what: str) -> Any:
        """Return what the package says."""
        try:
            said = getattr(self._of, what)
        except Exception as error:  # noqa: BLE001 - anything: it is somebody else's package
            self._guard.fault(what, error)
            return self._last[what]
        if said is not self._last[what] and FITS[what](said):
            self._last[what] = said
        return self._last[what]
