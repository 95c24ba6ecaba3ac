"""Which session started which, and so whose hooks and rules bind a call besides its own agent's.

A session names its parent once; the row is then the truth. What is known of the rows is believed for half a second, so
that a running session costs no query a call, and an org without sub-agents one in half a second. Sessions that nobody
started are noted beside the calls, so that they can be named as parents: nobody waits for that.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import AssentError, InvalidError
from app.domain.trail.audit import Kind, Record
from app.storage.sessions.sessions import (
    Session,
    adopt,
    find_session,
    list_children,
    list_named,
    note_session,
)
from app.usecases.sessions.believed import Believed

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.call.tool_call import ToolCall
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

_MOST_KNOWN = 20_000
_NOTE_AGAIN_AFTER = timedelta(days=1)
_DEEPEST = 16
"""Sessions above one another: deeper is a fault of whoever starts them."""
_MOST_BELOW = 1000
"""Sessions below one that is to get a parent: more are not counted, and it gets none."""


class Descent(Struct, frozen=True, kw_only=True):
    """Whose session it is, and what it says of who started it."""

    org: str
    agent: str
    session: str | None = None
    parent_session: str | None = None
    parent_agent: str | None = None
    """Whose the parent is. Left out, it is whoever has a session of that name; nobody: the agent itself."""


class Above(Struct, frozen=True, kw_only=True):
    """Who is above a session: the agents whose hooks and rules bind it too, nearest first, without its own."""

    agents: tuple[str, ...] = ()
    parent: tuple[str, str] | None = None
    """The (agent, session) that started it, whether it inherits of that or not."""


NOBODY_ABOVE = Above()


class Lineage:
    """Notes sessions and finds the agents above one."""

    def __init__(self, *, store: Store, book: PolicyBook, clock: Clock) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._clock = clock
        self.noted: set[tuple[str, str, str | None]] = set()
        """The (org, agent, session) that need not be noted again: of them there is, or soon will be, a row."""
        self._noted_since = clock.now()
        self._unwritten: set[tuple[str, str, str]] = set()
        self._to_write = asyncio.Event()
        self._known = Believed[Above](most=_MOST_KNOWN)

    async def above(self, descent: Descent, *, has_family: bool) -> Above:
        """Find who is above a session. `has_family`: some session of the org was started by another.

        Raises InvalidError for a parent that cannot be one: another agent's that the org has not seen, of several
        agents, the session itself or one below it, or another than the session has already; and for a line that is
        too deep.
        """
        if descent.session is None:
            if descent.parent_session is not None:
                raise InvalidError("a call that names its parent session needs a session of its own", path="session")
            return NOBODY_ABOVE
        key = (descent.org, descent.agent, descent.session)
        self._note(key)
        if descent.parent_session is None and not has_family:
            return NOBODY_ABOVE
        now = self._clock.now()
        known = self._known.find(key, now)
        if known is not None and _names(descent, known.parent):
            return known
        return await self._known.read(key, now, self._look_up(descent, descent.session))

    async def run(self) -> None:
        """Write noted sessions for ever, in the background."""
        while True:
            await self._to_write.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write the sessions that were noted and are not written yet."""
        self._to_write.clear()
        while self._unwritten:
            taken = sorted(self._unwritten)[:500]
            self._unwritten.difference_update(taken)
            by_org: dict[str, list[tuple[str, str]]] = {}
            for org, agent, session in taken:
                by_org.setdefault(org, []).append((agent, session))
            try:
                for org, sessions in by_org.items():
                    await self._store.write(_noting(sessions), org=org)
            except AssentError:
                self._unwritten.update(taken)
                self._to_write.set()
                raise

    def _note(self, key: tuple[str, str, str]) -> None:
        if key in self.noted:
            return
        now = self._clock.now()
        if len(self.noted) >= _MOST_KNOWN or abs(now - self._noted_since) > _NOTE_AGAIN_AFTER:
            self.noted.clear()
            self._noted_since = now
        self.noted.add(key)
        if len(self._unwritten) < _MOST_KNOWN:
            self._unwritten.add(key)
            self._to_write.set()

    async def _look_up(self, descent: Descent, session: str) -> Above:
        if descent.parent_session is None:
            return await self._store.read(lambda tx: self._standing(tx, descent.agent, session), org=descent.org)
        await self.flush()  # the parent may have been noted only just now
        return await self._store.write(lambda tx: self._begin(tx, descent, session), org=descent.org)

    def _begin(self, tx: Tx, descent: Descent, session: str) -> Above | AssentError:
        """Write down the session's parent, if it may be one and is not there yet."""
        parent = _find_parent(tx, descent, session)
        if isinstance(parent, AssentError):
            return parent
        own = find_session(tx, descent.agent, session, lock=True)
        if own is not None and own.parent is not None:
            if own.parent != parent:
                return InvalidError("the session has another parent already, and keeps it", path="parent_session")
            return self._standing(tx, descent.agent, session)
        find_session(tx, *parent, lock=True)  # two sessions that name each other at once: the second one sees the first
        if find_session(tx, *parent) is None:  # the agent's own, which had nothing to ask until now
            note_session(tx, *parent)
        above = _walk(tx, parent)
        if (descent.agent, session) in [(each.agent, each.session) for each in above]:
            return InvalidError("the parent session was itself started from this one", path="parent_session")
        if len(above) + _height(tx, (descent.agent, session), _DEEPEST - len(above)) > _DEEPEST:
            return _too_deep()
        detached = not _inherits(self._book.current(tx.org), descent.agent)
        adopt(tx, descent.agent, session, parent=parent, known=own is not None, detached=detached)
        if detached:
            facts = {"session": session, "parent_agent": parent[0], "parent_session": parent[1]}
            tx.append(Record(kind=Kind.SESSION_DETACHED, actor=f"agent:{descent.agent}", facts=facts))
        return self._standing(tx, descent.agent, session)

    def _standing(self, tx: Tx, agent: str, session: str) -> Above | AssentError:
        """Read who is above a session. A detached one inherits nothing, as long as the file still says so."""
        return above_now(tx, self._book.current(tx.org), agent, session)


def above_now(tx: Tx, loaded: LoadedPolicy, agent: str, session: str) -> Above | AssentError:
    """Read who is above a session, in the caller's own transaction; refused if the line is too deep."""
    line = _walk(tx, (agent, session))
    if len(line) > _DEEPEST:  # whoever is above what was read would be left out
        return _too_deep()
    names: list[str] = []
    for each in line:
        if each.parent is None or (each.detached and not _inherits(loaded, each.agent)):
            break
        names.append(each.parent[0])
    agents = tuple(name for name in dict.fromkeys(names) if name != agent)
    return Above(agents=agents, parent=line[0].parent if line else None)


def agents_now(tx: Tx, loaded: LoadedPolicy, call: ToolCall) -> tuple[str, ...] | AssentError:
    """Read every agent whose rules bind a call, its own first; refused if its line is too deep."""
    above = above_now(tx, loaded, call.agent, call.session) if call.session is not None else None
    return above if isinstance(above, AssentError) else (call.agent, *(above.agents if above else ()))


def names_above(tx: Tx, agent: str, session: str) -> tuple[str, ...]:
    """Return the agents above a session as its rows say, for showing; what may run is asked of `above_now`."""
    names: list[str] = []
    for each in _walk(tx, (agent, session)):
        if each.parent is None or each.detached:
            break
        names.append(each.parent[0])
    return tuple(dict.fromkeys(names))


def _inherits(loaded: LoadedPolicy, agent: str) -> bool:
    settings = loaded.agents.get(agent)
    return settings is None or settings.inherit


def _find_parent(tx: Tx, descent: Descent, session: str) -> tuple[str, str] | AssentError:
    wanted, of_agent = str(descent.parent_session), descent.parent_agent
    found = [
        (each.agent, each.session)
        for each in list_named(tx, wanted)
        if (each.agent, each.session) != (descent.agent, session) and of_agent in {None, each.agent}
    ]
    own = (descent.agent, wanted)
    if not found and of_agent in {None, descent.agent} and wanted != session:
        return own
    if not found:
        return InvalidError("this org has no session of that name that could be the parent", path="parent_session")
    if len(found) > 1:
        return InvalidError("several agents have a session of that name: say `parent_agent`", path="parent_agent")
    return found[0]


def _walk(tx: Tx, start: tuple[str, str]) -> list[Session]:
    """Return a session and those above it, as far as they have rows; one more than there may be, at most."""
    line: list[Session] = []
    at: tuple[str, str] | None = start
    while at is not None and len(line) <= _DEEPEST and at not in [(each.agent, each.session) for each in line]:
        found = find_session(tx, *at)
        if found is None:
            break
        line.append(found)
        at = found.parent
    return line


def _height(tx: Tx, root: tuple[str, str], most: int) -> int:
    """Return how many sessions deep it goes from a session down, itself counted; `most` + 1 stands for all above."""
    level, height, seen = [root], 0, 0
    while level:
        height += 1
        seen += len(level)
        if height > most or seen > _MOST_BELOW:
            return most + 1
        level = [child for each in level for child in list_children(tx, *each)]
    return height


def _too_deep() -> InvalidError:
    return InvalidError(f"sessions may start one another {_DEEPEST} deep", path="parent_session")


def _noting(sessions: list[tuple[str, str]]) -> Callable[[Tx], None]:
    def unit(tx: Tx) -> None:
        for agent, session in sessions:
            note_session(tx, agent, session)

    return unit


def _names(descent: Descent, parent: tuple[str, str] | None) -> bool:
    """Say whether what the call names as parent (if it does) is the one that is known."""
    if descent.parent_session is None:
        return True
    if parent is None or parent[1] != descent.parent_session:
        return False
    return descent.parent_agent in {None, parent[0]}
