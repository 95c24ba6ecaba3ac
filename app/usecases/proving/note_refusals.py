"""Every refused attempt leaves a trace: who tried what, and why it was refused; of the same ones one event a minute."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from app.domain.errors import AssentError
from app.domain.trail.audit import Kind, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from app.storage.engine.store import Store

log = structlog.get_logger(__name__)

_EVERY_SECONDS = 60.0
_MOST = 10_000
"""Different attempts that are remembered; beyond them it begins anew."""


class Attempt(Struct, frozen=True, kw_only=True):
    """Something that was refused. `org` is None where the key is nobody's: every org is then told."""

    org: str | None
    actor: str
    what: str  # method and route
    code: str
    request_id: str | None = None


class NoteRefusals:
    """The use case."""

    def __init__(
        self,
        *,
        store: Store,
        orgs: Callable[[], Collection[str]],
        counted: Callable[[str], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what it works on. `counted` hears of every attempt, by its code."""
        self._store = store
        self._orgs = orgs
        self._counted = counted
        self._monotonic = monotonic
        self._said: dict[tuple[str | None, str, str, str], tuple[float, int]] = {}

    async def __call__(self, attempt: Attempt) -> None:
        """Say it in the trail, and in the log, unless the same was said within the last minute; then it is counted."""
        self._counted(attempt.code)
        name = (attempt.org, attempt.actor, attempt.what, attempt.code)
        now = self._monotonic()
        said = self._said.get(name)
        if said is not None and now - said[0] < _EVERY_SECONDS:
            self._said[name] = (said[0], said[1] + 1)
            return
        if len(self._said) >= _MOST:  # whoever invents names must not fill the memory
            self._said.clear()
        self._said[name] = (now, 0)
        facts: dict[str, object] = {"what": attempt.what, "why": attempt.code}
        facts |= {"request": attempt.request_id} if attempt.request_id else {}
        facts |= {"unsaid": said[1]} if said is not None and said[1] else {}
        log.warning("access.refused", org=attempt.org, actor=attempt.actor, **facts)
        record = Record(kind=Kind.ACCESS_REFUSED, actor=attempt.actor, facts=facts)
        for org in [attempt.org] if attempt.org is not None else self._orgs():
            with suppress(AssentError):  # what cannot be written is in the log; the refusal stands
                await self._store.write(lambda tx: tx.append(record), org=org)
