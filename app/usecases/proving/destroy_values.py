"""Destroy what an org's calls carried, by destroying the keys that it was encrypted with; the trail goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import AssentError, ConflictError
from app.domain.trail.audit import Kind, Record
from app.storage.identity.value_keys import destroy_value_keys
from app.storage.trail.restores import list_open

if TYPE_CHECKING:
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_MOST = 1_000


class DestroyValues:
    """The use case: on an operator's word, when an org leaves or what it asked must be forgotten."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(self, org: str, *, by: str, reason: str) -> list[int]:
        """Destroy all keys of the org's values; return their numbers. Raises ConflictError.

        What is asked from then on is encrypted with another key.
        """

        def unit(tx: Tx) -> list[int] | AssentError:
            still = len(list_open(tx, behind="", most=_MOST))
            if still:
                return ConflictError(
                    f"{still} request{'s are' if still > 1 else ' is'} open: decide, cancel or report, and try again"
                )
            numbers = destroy_value_keys(tx)
            tx.append(Record(kind=Kind.VALUES_DESTROYED, actor=by, facts={"keys": numbers, "reason": reason}))
            return numbers

        return await self._store.write(unit, org=org)
