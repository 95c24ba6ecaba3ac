"""Notice that the database has another schema than this gateway was made for: a rollout that has begun, or a way back.

A newer one only adds to what is there, as far as the release notes do not say otherwise: who runs goes on, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.domain.errors import UnavailableError
from app.storage.engine.transaction import EVERY_ORG
from app.storage.tables.revision import find_revision

if TYPE_CHECKING:
    from app.storage.engine.store import Store

log = structlog.get_logger(__name__)


class WatchSchema:
    """The use case."""

    def __init__(self, *, store: Store, needed: str) -> None:
        """Take what it works on, and the revision that this gateway was made for."""
        self.present = needed
        self._needed = needed
        self._store = store

    async def __call__(self) -> None:
        """Look, and log what has changed."""
        present = await self._store.read(find_revision, org=EVERY_ORG, long=True)
        if present != self.present:
            say = log.warning if present >= self._needed else log.critical
            say("schema.changed", database=present, gateway=self._needed)
        self.present = present

    @property
    def newer(self) -> str | None:
        """Return the revision of a database that is ahead of this gateway."""
        return self.present if self.present > self._needed else None

    def check(self) -> None:
        """Raise UnavailableError if the database lacks what this gateway needs."""
        if self.present < self._needed:
            said = f"the database went back to the schema {self.present}, and this gateway needs {self._needed}"
            raise UnavailableError(said, retry_after=5)
