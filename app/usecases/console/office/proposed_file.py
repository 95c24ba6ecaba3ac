"""A file that somebody proposes, judged against the last calls: what it would have answered otherwise.

It comes into force nowhere. Only who may read the trail may do it: conditions of one's own would tell what stands in
calls that one may not read; what is sensitive is taken out of them before, whoever asks.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import instant_text
from app.domain.errors import AssentError, UnavailableError
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.policies.file.recorded import version_of
from app.policies.marks.faults import PolicyFaultsError
from app.usecases.console.office.rules_page import values_told
from app.usecases.console.rights import Page
from app.usecases.console.sessions import refusal_for
from app.usecases.judging.propose_rules import ProposeRules
from app.usecases.judging.replay import Replay
from app.usecases.reading.read import Read

if TYPE_CHECKING:
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right
    from app.usecases.judging.replay import Change, Replayed

MOST_TEXT = 64_000
"""Bytes of a file that is judged on a page; longer ones take a terminal."""
MOST_CALLS = 500
MOST_SHOWN = 30
_MOST_FAULTS = 20
_MOST_COVERED = 8


class Differs(Struct, frozen=True, kw_only=True):
    """A call that would be answered otherwise."""

    at: str
    request: str  # "" for a call that people were not asked about
    ref: str
    tool: str
    agent: str
    then: str
    now: str
    values: str


class Judged(Struct, frozen=True, kw_only=True):
    """What came of it."""

    version: str
    seen: int
    pairs: tuple[tuple[str, str, int], ...]
    changes: tuple[Differs, ...]
    more: int
    untold: tuple[tuple[str, int], ...]
    by_hooks: int
    warned: int
    not_replayed: int
    paged: tuple[tuple[str, int], ...]
    faults: tuple[str, ...] = ()


class Suggested(Struct, frozen=True, kw_only=True):
    """A rule that approvals suggest."""

    id: str
    above: str
    yaml: str
    count: int
    days: int
    people: str
    covers: tuple[tuple[str, str], ...]  # the newest: when, and the request


class ProposedFile:
    """The use case. One at a time: what it costs is a page's, and calls are judged beside it."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        read = Read(store=store, book=book)
        self._replay = Replay(read=read)
        self._propose = ProposeRules(read=read)
        self._busy = asyncio.Lock()

    async def judge(self, right: Right, text: str) -> Judged:
        """Judge the last calls by a text. Raises UnauthenticatedError, ForbiddenError, UnavailableError: one runs."""
        await self._note(right, "replay", await asyncio.to_thread(version_of, text) or "?")
        self._refuse_second()
        async with self._busy:
            running = self._book.current(right.org).policy
            try:
                loaded = await asyncio.to_thread(self._book.proposed, right.org, text)
            except PolicyFaultsError as error:
                return _faulty(tuple(visible(str(fault)) for fault in error.faults[:_MOST_FAULTS]))
            if loaded.policy.org != running.org:
                return _faulty((visible(f"it is about {loaded.policy.org}, not about {running.org}"),))
            return _told(await self._replay.last(loaded, running, most=MOST_CALLS), loaded, running)

    async def suggest(self, right: Right) -> tuple[Suggested, ...]:
        """Return the rules that approvals suggest. Raises what `judge` does."""
        policy = self._book.current(right.org).policy
        await self._note(right, "proposed", policy.version)
        self._refuse_second()
        async with self._busy:
            now = await self._store.read(lambda tx: tx.now(), org=right.org)
            found = await self._propose(policy, now=now)
        return tuple(
            Suggested(
                id=each.id,
                above=visible(each.above),
                yaml=each.yaml,
                count=len(each.covers),
                days=each.days,
                people=visible(", ".join(name_of(policy, who) for who in each.people)),
                covers=tuple(
                    (instant_text(one.created_at, policy.zone), one.id) for one in each.covers[:_MOST_COVERED]
                ),
            )
            for each in found
        )

    def _refuse_second(self) -> None:
        if self._busy.locked():
            raise UnavailableError("another file is being judged", retry_after=5)

    async def _note(self, right: Right, form: str, what: str) -> None:
        def unit(tx: Tx) -> AssentError | bool:
            for page in (Page.RULES, Page.TRAIL):
                refused = refusal_for(tx, right, page)
                if refused is not None:
                    return refused
            tx.append(Record(kind=Kind.RULES_READ, actor=right.person, facts={"form": form, "what": what}))
            return True

        await self._store.write(unit, org=right.org)


def _faulty(faults: tuple[str, ...]) -> Judged:
    return Judged(
        version="",
        seen=0,
        pairs=(),
        changes=(),
        more=0,
        untold=(),
        by_hooks=0,
        warned=0,
        not_replayed=0,
        paged=(),
        faults=faults,
    )


def _told(replayed: Replayed, loaded: LoadedPolicy, running: Policy) -> Judged:
    changes = sorted(replayed.changes, key=lambda each: each.recorded.at, reverse=True)
    return Judged(
        version=loaded.policy.version,
        seen=replayed.seen,
        pairs=tuple((then.value, now.value, count) for (then, now), count in sorted(replayed.pairs.items())),
        changes=tuple(_differs(each, running) for each in changes[:MOST_SHOWN]),
        more=max(0, len(changes) - MOST_SHOWN),
        untold=tuple((visible(tool), count) for tool, count in replayed.untold.most_common(MOST_SHOWN)),
        by_hooks=replayed.by_hooks,
        warned=replayed.warned.total(),
        not_replayed=replayed.not_replayed,
        paged=tuple((visible(who), count) for who, count in replayed.paged.most_common(MOST_SHOWN)),
    )


def _differs(change: Change, running: Policy) -> Differs:
    then, now = change.recorded, change.now
    values = [value for step in now.trace if step.matched for value in step.values]
    return Differs(
        at=instant_text(then.at, running.zone),
        request="" if then.ref.startswith("#") else then.ref,
        ref=then.ref,
        tool=visible(then.call.tool),
        agent=visible(then.call.agent),
        then=visible(f"{then.then.value} · {then.rule}"),
        now=visible(f"{now.verdict.value} · {now.rule}"),
        values=values_told(values),
    )
