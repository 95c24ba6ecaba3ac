"""How the simulated platform says no."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ApiFaultError(Exception):
    """The platform's answer is an error."""

    def __init__(self, code: int, msg: str, *, status: int = 400, headers: Mapping[str, str] | None = None) -> None:
        """Keep what the answer will hold."""
        super().__init__(msg)
        self.code = code
        self.msg = msg
        self.status = status
        self.headers = dict(headers or {})
