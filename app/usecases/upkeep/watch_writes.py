"""Find out that nothing can be written before a caller does, and that it can again once nobody calls any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.errors import UnavailableError
from app.storage.engine.transaction import EVERY_ORG
from app.storage.engine.trouble import Trouble, said_of
from app.storage.tables.writable import prove_writable

if TYPE_CHECKING:
    from app.storage.engine.store import Store

_SAID = {said_of(trouble): trouble for trouble in Trouble}


class WatchWrites:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def __call__(self) -> None:
        """Write one row, and let the store know how it went."""
        try:
            await self._store.write(prove_writable, org=EVERY_ORG)
        except UnavailableError as error:
            self._store.note(_SAID.get(error.detail))
        else:
            self._store.heal()
