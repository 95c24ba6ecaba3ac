"""Find people who approve faster than anybody can read: the rubber-stamp alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.domain.rules.attention import LOOK_BACK, RubberStamp, rubber_stamps
from app.storage.searching.answers import list_answers

if TYPE_CHECKING:
    from app.storage.engine.store import Store

log = structlog.get_logger(__name__)


class WatchPace:
    """The use case."""

    def __init__(self, *, store: Store) -> None:
        """Take what it works on."""
        self._store = store

    async def find(self, org: str) -> tuple[RubberStamp, ...]:
        """Return who approved nearly everything of the last seven days at once."""
        answers = await self._store.read(lambda tx: list_answers(tx, since=tx.now() - LOOK_BACK), org=org, long=True)
        return rubber_stamps(answers)

    async def warn(self, org: str) -> None:
        """Log each of them."""
        for one in await self.find(org):
            log.warning(
                "approver.hurried", org=org, person=one.person, decisions=one.decisions, approved_at_once=one.at_once
            )
