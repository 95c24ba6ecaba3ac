"""What the engine needs of the keys that values are encrypted with; the keys themselves are whoever's hands them in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections import OrderedDict
    from collections.abc import Sequence

Tx = Any  # of `transaction.py`, which knows these keys


class ValueKeys(Protocol):
    """The keys that values are encrypted with where they are kept: see `app/storage/identity/vault.py`."""

    shown: OrderedDict[str, object]  # what was read with them, by its row's id: it is forgotten with any of them
    had: set[tuple[str, str]]  # secrets that an org's gateways have had, by their ids: as the trail said of them

    def newest(self, tx: Tx, org: str) -> Any:
        """Return the key that an org's values are encrypted with; it is made if there is none that can be read."""

    def readable(self, tx: Tx, org: str) -> Sequence[Any]:
        """Return the org's keys that can be read."""
        ...

    def find(self, tx: Tx, org: str, number: int) -> Any:
        """Return a key by its number, or why there is none."""

    def alarm(self, org: str, request_id: str) -> None:
        """Say that something cannot be read and was not destroyed."""

    def renew(self, tx: Tx) -> None:
        """Wrap the org's keys with the newest secret, as far as they can be read; make the first one."""

    def refresh(self, tx: Tx) -> None:
        """Look at the org's keys as they are kept now; one that was destroyed meanwhile is forgotten."""
