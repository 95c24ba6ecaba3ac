"""Replicas know each other: each writes down every few seconds what it has, and looks at what the others have.

What must be the same and is not, it says: in the log, where `/readyz` and the figures show it, and once in the trail of
each org that it concerns. What makes this gateway itself unfit to serve, it knows at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog
from msgspec import Struct, field
from msgspec.structs import replace

from app.domain.errors import UnavailableError
from app.domain.trail.audit import Kind, Record
from app.domain.trail.replicas import APART, Difference, Matter, Replica, accepted, differ, unread_secrets
from app.storage.engine.transaction import EVERY_ORG
from app.storage.identity.lacking_secrets import count_open
from app.storage.identity.secret_ids import list_all_seal_ids
from app.storage.trail.replicas import (
    Written,
    forget_silent,
    keep_said,
    leave,
    list_written,
    lock_written,
    write_down,
)
from app.usecases.proving.seal_standing import why_lacking

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

log = structlog.get_logger(__name__)

EVERY = timedelta(seconds=5)
_KEPT_FOR = timedelta(minutes=10)
_MOST_SAID = 300
_COUNTED_FOR = 30.0
Sealed = Mapping[str, Mapping[str, int]]
"""How many open requests of an org are sealed with which secret, as far as one of its gateways lacks any."""
MILD = frozenset({Matter.SOFTWARE, Matter.KEYS})
"""What a rollout or a rotation may bring for as long as it takes."""
_REFUSED = (
    "the configuration on this gateway's disk is refused ({where}), and the one before is in force: "
    "`assent config check` says why"
)
_UNREAD = (
    "rows and cards are sealed with a secret that this gateway does not have ({ids}): give it in ASSENT_SECRET, see "
    "docs/operations.md"
)


class Seen(Struct, frozen=True, kw_only=True):
    """What the last look showed: how many gateways are live, how they differ in each org, which secrets lack here.

    `lacking` says of each org what is open and sealed with a secret that it had, and this gateway lacks.
    """

    live: int = 1
    orgs: Mapping[str, tuple[Difference, ...]] = field(default_factory=dict[str, "tuple[Difference, ...]"])
    unread: frozenset[str] = frozenset()
    lacking: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def differences(self) -> list[Difference]:
        """The differences of all orgs, each once."""
        return list({str(each): each for of_org in self.orgs.values() for each in of_org}.values())


def look(written: Mapping[str, Written], now: datetime, sealed: Sealed, *, at_once: bool = False) -> Seen:
    """Say of what gateways have written down how many are live, and in what those of each org differ."""
    found = {
        org: differ(of_org.replicas, now=now, sealed=sealed.get(org, ()), at_once=at_once)
        for org, of_org in written.items()
    }
    return Seen(
        live=len({each.id for of_org in written.values() for each in of_org.replicas if each.is_live(now)}),
        orgs={org: of_org for org, of_org in found.items() if of_org},
    )


def list_sealed(tx: Tx, orgs: Iterable[str], given: Collection[str], *, before: Sealed | None = None) -> Sealed:
    """Count the open requests of orgs by the secrets they are sealed with, where one was had that somebody lacks now.

    Where all gateways accept the same, what was counted `before` will do. Where they do not, each of them counts now:
    all of them come to the same differences.
    """
    known, written, now = list_all_seal_ids(tx), list_written(tx), tx.now()
    found: dict[str, Mapping[str, int]] = {}
    for org in orgs:
        sets = accepted(written.get(org, Written()).replicas, mine=given, now=now)
        if any(each not in accepts for each in known.get(org, ()) for accepts in sets):
            found[org] = before.get(org, {}) if before is not None and len(sets) == 1 else count_open(tx.of(org))
    return found


class WatchReplicas:
    """The use case."""

    def __init__(
        self, *, store: Store, book: PolicyBook, clock: Clock, name: str, key_ids: Sequence[str], software: str
    ) -> None:
        """Take what it works on, and what this gateway has; `name` is its own for as long as it runs."""
        self.id = name
        self.seen = Seen()
        self._store = store
        self._book = book
        self._clock = clock
        self._key_ids = tuple(key_ids)
        self._software = software
        self.off = timedelta(0)
        """How far this host's clock is ahead of the database's, where that is an alarm: by the last look."""
        self._logged: frozenset[Matter] = frozenset()
        self._sealed: Sealed = {}
        self._counted: float | None = None
        self._told: Mapping[str, str] = {}

    async def __call__(self) -> None:
        """Write down what this gateway has, look at the others, and say what has changed."""
        await self._count_sealed()

        def unit(tx: Tx) -> tuple[datetime, timedelta, dict[str, Written], set[str]]:
            before = self._clock.now()
            now = tx.lock_now()
            ahead = before + (self._clock.now() - before) / 2 - now
            written = list_written(tx)
            mine = self._mine(written, now, ahead)
            write_down(tx, mine, written)
            for org, of_org in written.items():
                if org not in mine and any(each.id == self.id for each in of_org.replicas):
                    leave(tx, self.id, org=org)
            if any(now - each.seen_at > _KEPT_FOR for of_org in written.values() for each in of_org.replicas):
                forget_silent(tx, before=now - _KEPT_FOR)
            known = list_all_seal_ids(tx)
            unread: set[str] = set()
            for org in mine:
                others = [each for each in written.get(org, Written()).replicas if self._is_other(each, now)]
                unread |= unread_secrets(self._key_ids, others, known.get(org, ()))
            return now, ahead, _with(written, mine), unread

        now, ahead, written, unread = await self._store.write(unit, org=EVERY_ORG)
        self.off = ahead if abs(ahead) > APART else timedelta(0)
        seen = look(written, now, self._sealed)
        mine = {org: found for org, found in seen.orgs.items() if org in self._book.orgs()}
        lacking = {
            org: why
            for org, sealed in self._sealed.items()
            if org in self._book.orgs() and (why := why_lacking(org, sealed, self._key_ids)) is not None
        }
        self.seen = replace(seen, orgs=mine, unread=frozenset(unread), lacking=lacking)
        self._log()
        for org in self._book.orgs():
            if _matters(self.seen.orgs.get(org, ())) != written.get(org, Written()).said:
                await self._tell(org)

    async def leave(self) -> None:
        """Say that this gateway is gone: nobody need be told that it has become silent."""
        await self._store.write(lambda tx: leave(tx, self.id), org=EVERY_ORG)

    def check(self) -> None:
        """Raise UnavailableError if this gateway should not be asked anything, and say why."""
        refused = self._book.refused
        if refused:
            where = ", ".join(dict.fromkeys(f"{fault.file}, line {fault.line}" for fault in refused))
            raise UnavailableError(_REFUSED.format(where=where), retry_after=5)
        if self.seen.unread:
            raise UnavailableError(_UNREAD.format(ids=", ".join(sorted(self.seen.unread))), retry_after=5)
        if self.seen.lacking:
            raise UnavailableError("; ".join(self.seen.lacking.values()), retry_after=5)

    async def _count_sealed(self) -> None:
        """Count at once while gateways accept different secrets; else twice a minute, for what was restored or missed.

        Nothing is counted of an org all of whose secrets every gateway has.
        """
        at, last = time.monotonic(), self._counted
        before = self._sealed if last is not None and at - last < _COUNTED_FOR else None
        self._sealed = await self._store.read(
            lambda tx: list_sealed(tx, self._book.orgs(), self._key_ids, before=before), org=EVERY_ORG, long=True
        )
        self._counted = at if before is None else last

    def _mine(self, written: Mapping[str, Written], now: datetime, ahead: timedelta) -> dict[str, Replica]:
        refused = "; ".join(str(fault) for fault in self._book.refused)[:_MOST_SAID] or None
        mine: dict[str, Replica] = {}
        for org in self._book.orgs():
            known = next((each for each in written.get(org, Written()).replicas if each.id == self.id), None)
            version = self._book.current(org).policy.version
            mine[org] = Replica(
                id=self.id,
                policy_version=version,
                key_ids=self._key_ids,
                software=self._software,
                ahead=ahead,
                refused=refused,
                since=known.since if known is not None and known.policy_version == version else now,
                seen_at=now,
            )
        return mine

    def _is_other(self, replica: Replica, now: datetime) -> bool:
        return replica.id != self.id and replica.is_live(now)

    def _log(self) -> None:
        """Log what has come, loud, and that nothing is left."""
        for org, why in self.seen.lacking.items():
            if org not in self._told:
                log.critical("secret.lacking", org=org, why=why)
        for org in self._told.keys() - self.seen.lacking.keys():
            log.info("secret.lacks_no_more", org=org)
        self._told = self.seen.lacking
        found = {each.matter: each for each in self.seen.differences}
        for matter, difference in found.items():
            if matter not in self._logged:
                say = log.warning if matter in MILD else log.critical
                say("replicas.differ", matter=matter.value, how=str(difference))
        if self._logged and not found:
            log.info("replicas.agree", replicas=self.seen.live)
        self._logged = frozenset(found)

    async def _tell(self, org: str) -> None:
        """Say in an org's trail in what its gateways differ now; once, whoever of them comes first."""

        def unit(tx: Tx) -> None:
            written = lock_written(tx)
            now = tx.lock_now()
            found = differ(written.replicas, now=now, sealed=self._sealed.get(org, ()))
            said = _matters(found)
            if said == written.said:
                return
            facts: dict[str, object] = {"replicas": len([each for each in written.replicas if each.is_live(now)])}
            facts |= {each.matter.value: each.listed for each in found}
            kind = Kind.REPLICAS_DIFFER if found else Kind.REPLICAS_AGREE
            tx.append(Record(kind=kind, actor="system", facts=facts))
            keep_said(tx, said)

        await self._store.write(unit, org=org)


def _with(written: Mapping[str, Written], mine: Mapping[str, Replica]) -> dict[str, Written]:
    """Put what was just written in the place of what was read."""
    return {
        org: replace(
            of_org,
            replicas=(
                *(each for each in of_org.replicas if org not in mine or each.id != mine[org].id),
                *([mine[org]] if org in mine else []),
            ),
        )
        for org in {**written, **mine}
        for of_org in [written.get(org, Written())]
    }


def _matters(found: Sequence[Difference]) -> str:
    return " ".join(sorted(each.matter.value for each in found))
