"""Hold a caller until its request has been settled, or its time is up.

A waiter is a future in a dictionary: no thread, no task and no query of its own. Whoever commits a change resolves it
(in this process right after the commit, in another by one NOTIFY per group commit); a slow poll, one query for all
waiters, stands behind both. The row is the truth: a waiter registers first, then reads, and reads again when woken.
Only what this process has just written itself is not read: a waiter is handed that.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from app.domain.errors import NotFoundError, UnavailableError
from app.domain.request.request import State
from app.storage.requests.request_lists import list_versions
from app.storage.requests.requests import find_request
from app.usecases.reading.shares import Shares

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from app.domain.errors import AssentError
    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store

    Gone = Callable[[], Awaitable[bool]]
    Ring = asyncio.Future[ConfirmationRequest | None]
    """Rung with the request as it was committed here; with None where the waiter is to look for itself."""


_COMES_BACK_WITHIN = 1.0
"""Seconds in which a caller asks again that was told how its request stands."""

_MOST_UNHEARD = 4_096
"""Changes that nobody waited for and that are remembered: it takes a caller some turns of the loop to begin to wait."""


_POLLED_AT_ONCE = 500
"""Requests whose versions one look at the store asks for."""


class _Told(NamedTuple):
    """A caller that was told how its request stands; `over` is done when it has come back, or its second is over."""

    version: int
    decided: bool
    over: asyncio.Future[None]
    timer: asyncio.TimerHandle


class Waiters:
    """Who waits for which request, in this process."""

    def __init__(self, *, most: int) -> None:
        """`most`: beyond so many, a caller is answered at once with what is so now, and asks again."""
        self._places = Shares(most)
        self._by_request: dict[tuple[str, str], dict[Ring, Gone | None]] = {}
        self._unheard: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._expected: dict[tuple[str, str], _Told] = {}
        self._seen: dict[tuple[str, str], int] = {}
        self._stopping = False

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._places)

    def crowded(self, who: str) -> bool:
        """Whether more have registered than may be held, or more of this key than its share: it is not held."""
        return self._places.crowded(who)

    @property
    def stopping(self) -> bool:
        """Whether the process is going away: callers are told to try again."""
        return self._stopping

    def register(self, org: str, request_id: str, who: str = "", *, gone: Gone | None = None) -> Ring:
        """Begin to wait, with a key; `forget` must follow. `gone` asks whether the caller's connection is closed."""
        future: Ring = asyncio.get_running_loop().create_future()
        if self._stopping:
            future.set_result(None)
        self._by_request.setdefault((org, request_id), {})[future] = gone
        self._come(org, request_id)
        self._places.take(who)
        return future

    def forget(self, org: str, request_id: str, future: Ring, who: str = "") -> None:
        """Stop waiting."""
        waiting = self._by_request.get((org, request_id))
        if waiting is not None:
            waiting.pop(future, None)
            if not waiting:
                del self._by_request[org, request_id]
                self._seen.pop((org, request_id), None)
        self._places.give(who)

    def expect(self, org: str, request_id: str, version: int, *, decided: bool) -> None:
        """Remember that a caller was told how its request stands: it is about to come (back), to wait or to claim."""
        self._come(org, request_id)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_COMES_BACK_WITHIN, self._come, org, request_id)
        self._expected[org, request_id] = _Told(version, decided, loop.create_future(), timer)

    async def attended(self, org: str, request_id: str, version: int) -> bool:
        """Say whether somebody here still waits for a request, or is about to: another call must not take its place.

        Whoever was told of an older version has not come back since. Whoever was told of a decision claims at once, if
        it lives: that second is waited for, so that an agent that was killed right then asks nobody anew.
        """
        if await self._is_listened_for(org, request_id):
            return True
        told = self._expected.get((org, request_id))
        if told is None or told.version != version:
            return False
        if not told.decided:
            return True
        await asyncio.shield(told.over)  # others may wait for it, too
        return await self._is_listened_for(org, request_id)

    async def _is_listened_for(self, org: str, request_id: str) -> bool:
        for gone in list(self._by_request.get((org, request_id), {}).values()):
            if gone is not None and not await gone():
                return True
        return False

    def _come(self, org: str, request_id: str) -> None:
        told = self._expected.pop((org, request_id), None)
        if told is not None:
            told.timer.cancel()
            told.over.set_result(None)

    def wake(self, changed: Mapping[tuple[str, str], ConfirmationRequest | None]) -> None:
        """Tell those who wait for these requests what was committed; None: they look. Call it on the loop."""
        for key, after in changed.items():
            waiting = self._by_request.get(key)
            if waiting is None:
                self._unheard[key] = None
                if len(self._unheard) > _MOST_UNHEARD:
                    self._unheard.popitem(last=False)
                continue
            for future in waiting:
                if not future.done():
                    future.set_result(after)

    def went_unheard(self, org: str, request_id: str) -> bool:
        """Say whether a request has changed lately while nobody waited for it."""
        return (org, request_id) in self._unheard

    def stop(self) -> None:
        """Send everyone away, politely: the process is stopping."""
        self._stopping = True
        self.wake(dict.fromkeys(self._by_request))

    def saw(self, org: str, request_id: str, version: int) -> None:
        """Remember the oldest version that somebody who waits has read: the poll wakes them if the row has another."""
        self._seen[org, request_id] = min(version, self._seen.get((org, request_id), version))

    def waited_for(self) -> dict[tuple[str, str], int]:
        """Return the version that was last seen of each (org, request id) that somebody waits for."""
        return dict(self._seen)


class Wait:
    """The use case."""

    def __init__(self, *, store: Store, waiters: Waiters) -> None:
        """Take what it works on."""
        self._store = store
        self._waiters = waiters

    async def __call__(
        self,
        *,
        org: str,
        request_id: str,
        agent: str | None,
        seconds: float,
        since: int | None,
        runs: Callable[[str], bool] | None = None,
        who: str = "",
        gone: Gone | None = None,
    ) -> ConfirmationRequest:
        """Return the request once it is settled (or its version is above `since`), or as it is when the time is up.

        `agent` (None for people) must be the one that asked; with `runs`, it must be an executor's to run. `who`
        is the key whose share of places this takes. Raises NotFoundError;
        UnavailableError with Retry-After when the process stops meanwhile: never a denial.
        """

        def refused(request: ConfirmationRequest) -> AssentError | None:
            if agent is not None and request.call.agent != agent:
                return NotFoundError()
            return NotFoundError() if runs is not None and not (request.enforced and runs(request.call.tool)) else None

        def answered(request: ConfirmationRequest) -> bool:
            return request.state is not State.PENDING if since is None else request.version > since

        request = await self.held(
            org, request_id, refused=refused, answered=answered, seconds=seconds, who=who, gone=gone
        )
        if self._waiters.stopping and not answered(request):
            raise UnavailableError("the gateway is restarting; ask again", retry_after=1)
        return request

    async def held(
        self,
        org: str,
        request_id: str,
        *,
        refused: Callable[[ConfirmationRequest], AssentError | None],
        answered: Callable[[ConfirmationRequest], bool],
        seconds: float,
        who: str,
        gone: Gone | None = None,
        opened: int = 0,
    ) -> ConfirmationRequest:
        """Return the request once it is `answered`, or as it stands when the time is up or the process stops.

        `refused` says why this caller may not look at it, `gone` whether it still listens. `opened`: in which
        version the caller itself has just opened it, not `answered`; 0: it has not. Raises what `refused` says, and
        NotFoundError.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            future = self._waiters.register(org, request_id, who, gone=gone)
            # Asked here, not behind the read: whoever comes meanwhile takes nobody's place.
            crowded = self._waiters.crowded(who)
            try:
                version = 0 if crowded or seconds <= 0 or self._waiters.went_unheard(org, request_id) else opened
                request = None if version else await self._look(org, request_id, refused)
                over = crowded or loop.time() >= until or self._waiters.stopping
                if request is not None and (over or answered(request)):
                    return request
                self._waiters.saw(org, request_id, version if request is None else request.version)
                request, opened = None, 0  # ten thousand waiters need not keep ten thousand rows
                told = await _rung(future, until - loop.time())
            finally:
                self._waiters.forget(org, request_id, future, who)
            if told is not None and (fault := refused(told)) is not None:
                raise fault
            if told is not None and answered(told):
                return told

    async def _look(
        self, org: str, request_id: str, refused: Callable[[ConfirmationRequest], AssentError | None]
    ) -> ConfirmationRequest:
        request = await self._store.read(lambda tx: find_request(tx, request_id), org=org)
        fault = NotFoundError() if request is None else refused(request)
        if request is None or fault is not None:
            raise fault or NotFoundError()
        return request

    async def poll(self) -> int:
        """Look once for everyone: wake those whose request changed unheard. Return how many requests were looked at."""
        waited_for = self._waiters.waited_for()
        by_org: dict[str, list[str]] = {}
        for org, request_id in waited_for:
            by_org.setdefault(org, []).append(request_id)
        for org, ids in by_org.items():
            for start in range(0, len(ids), _POLLED_AT_ONCE):
                part = ids[start : start + _POLLED_AT_ONCE]
                found = await self._store.read(lambda tx, part=part: list_versions(tx, part), org=org, long=True)
                changed = [(org, found_id) for found_id, version in found if waited_for[org, found_id] != version]
                self._waiters.wake(dict.fromkeys(changed))
        return len(waited_for)


async def _rung(future: Ring, seconds: float) -> ConfirmationRequest | None:
    timer = asyncio.get_running_loop().call_later(seconds, _ring, future)
    try:
        return await future
    finally:
        timer.cancel()


def _ring(future: Ring) -> None:
    if not future.done():
        future.set_result(None)
