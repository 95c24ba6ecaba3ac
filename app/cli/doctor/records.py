"""What `assent doctor` reads in the database: who can do what the file asks of them, and what somebody owes a look.

Only what concerns every gateway is looked at everywhere; the rest where tools pay, or run behind an executor.
"""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from app.cli.beside_database import counted, foreign_secret, lacking_secret
from app.cli.doctor.payments import PAGE, askings, error, ok, paying_tools, warning
from app.cli.doctor.replicas import look_at_replicas
from app.domain.call.name_pattern import NamePattern
from app.domain.errors import AssentError
from app.domain.identity.api_key import Scope, is_newest, sealed_under
from app.domain.lifecycle.replayed import Lacks
from app.domain.people.assurance import Assurance
from app.domain.rules.permits import PermitKind
from app.domain.text.visible import on_one_line
from app.storage.cards.outbox import list_rows
from app.storage.identity.api_keys import list_keys
from app.storage.identity.lacking_secrets import given_up
from app.storage.permits.permits import list_permits
from app.storage.requests.executions import list_elsewhere, list_unknown
from app.storage.tables.columns import MISREAD
from app.storage.trail.head_file import SQLITE, head_file_of
from app.usecases.permits.break_glass import awaits_review
from app.usecases.permits.glass_terms import takes_factor
from app.usecases.proving.factors import without_factor
from app.usecases.proving.trail_walk import list_false_keys
from app.usecases.proving.verify_trail import VerifyTrail
from app.usecases.upkeep.watch_heads import RestoredError, WatchHeads

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Finding
    from app.settings import Settings
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

MOST_EVENTS = 10_000
"""Events that are verified here: under ten seconds, also where each of them opened a request (0.9 ms)."""
DECLARE = "assent restored: see docs/operations.md"
"""The mend of a database that is behind what a gateway has seen of it: what is told of that is told once."""
_SECRETS = "ASSENT_SECRET=new,old"
_PUT_BACK = "put the old secret back, ASSENT_SECRET=new,old, until they are over; if it is lost: assent reseal"
_REVIVE = (
    "put the old secret back behind the new one until each was used once; if it is lost, make and revoke them anew"
)
_NOT_HELD = "{org}: the trail was not held against the rows: they are sealed with another secret"
_UNVERIFIED = (
    "{org}: the trail is unbroken, and the rows say the same, as far as it can be verified: not the seals of {many}"
)
_SETTLED_WITHIN = timedelta(minutes=5)
_DECIDED_WITHIN = timedelta(days=1)  # by the people of a service that asks its own
_MOST = 500
_NETWORKS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "lustre", "afs", "ncpfs", "fuse.sshfs"}
)
_MOUNTS = Path("/proc/self/mounts")


async def look_at_database(store: Store, settings: Settings) -> list[Finding]:
    """Look at what concerns the database as a whole."""
    return [
        *await _head(store, settings),
        *await asyncio.to_thread(_disk, settings.database_url),
        *await look_at_replicas(store),
    ]


async def look_at_records(store: Store, book: PolicyBook, org: str, *, head_file: Path | None) -> list[Finding]:
    """Look at what the rows of one org say. `head_file`: where a gateway notes how far the trail has come."""
    policy = book.current(org).policy
    why = await foreign_secret(store, org) if store.seals is not None else None
    lacking = await lacking_secret(store, org) if store.seals is not None and why is None else None
    return [
        *([error(lacking, _PUT_BACK)] if lacking is not None else []),
        *([error(why, _SECRETS)] if why is not None else await _look(org, _secret(store, org))),
        *([warning(_NOT_HELD.format(org=org), _SECRETS)] if why is not None else await _trail(store, org, head_file)),
        *await _look(org, _executor(store, policy)),
        *await _look(org, _factors(store, policy)),
        *await _look(org, _owed(store, org)),
    ]


async def _look(org: str, looking: Awaitable[list[Finding]]) -> list[Finding]:
    """Await what is found; rows that no gateway wrote are found as well."""
    try:
        return await looking
    except AssentError:
        raise
    except MISREAD:
        return [error(f"{org}: rows cannot be read: no gateway wrote them so", "`assent audit verify` names them")]


async def _head(store: Store, settings: Settings) -> list[Finding]:
    path = head_file_of(settings.database_url, settings.state_dir)
    if path is None:
        what = "a database that was restored from a backup would not be noticed: ASSENT_STATE_DIR is not set"
        return [warning(what, "ASSENT_STATE_DIR: a folder outside of the database's backups: see docs/operations.md")]
    try:
        await WatchHeads(store=store, path=path).check()
    except RestoredError as refusal:
        return [error(str(refusal), DECLARE)]
    if not await asyncio.to_thread(path.exists):
        return [warning(f"{path} is not there: a restored database would not be noticed", "start the gateway once")]
    return [ok(f"{path}: the trail has lost nothing that it had")]


def _disk(url: str) -> list[Finding]:
    if not url.startswith(SQLITE):
        return []
    folder = os.path.realpath(Path(unquote(url.removeprefix(SQLITE).partition("?")[0])).parent)
    try:
        kind = file_system_of(folder, _MOUNTS.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []  # not on this system
    if kind not in _NETWORKS:
        return []
    what = f"the database file is on a network file system ({kind}): SQLite's locks do not hold there"
    return [error(what, "a local disk, or PostgreSQL")]


def file_system_of(folder: str, mounts: str) -> str | None:
    """Return the type of the file system that a folder is on, by the lines of /proc/self/mounts."""
    found: tuple[int, str] | None = None
    for line in mounts.splitlines():
        _, place, kind, *_ = [*line.split(" "), "", "", ""]
        place = place.replace("\\040", " ")
        inside = place and (folder == place or folder.startswith(place.rstrip("/") + "/"))
        if inside and (found is None or len(place) >= found[0]):  # a later mount covers an earlier one
            found = (len(place), kind)
    return found[1] if found else None


async def _trail(store: Store, org: str, head_file: Path | None) -> list[Finding]:
    """Verify the trail as `assent audit verify` does, of a long one its end; and say what was not looked at."""
    there = head_file is not None and await asyncio.to_thread(head_file.exists)  # `_head` says where it is not
    found = await VerifyTrail(store=store, head_file=head_file if there else None)(org, most=MOST_EVENTS)
    faults = [fault for fault in found.faults if not isinstance(fault, Lacks)]
    if faults:
        first, more = on_one_line(faults[0].text), len(faults) - 1
        what = f"{org}: the trail is broken after {found.seen} events: {first}" + (f", and {more} more" if more else "")
        return [error(what, "keep a copy of the database; `assent audit verify` says where; restore")]
    if found.faults:
        return [warning(_UNVERIFIED.format(org=org, many=counted(len(found.faults), "open request")), _SECRETS)]
    if found.older:
        return [
            ok(
                f"{org}: the newest {found.seen} events of the trail are unbroken, and the requests that they opened "
                f"say the same; not looked at, for their number: the {found.older} before, their requests, keys, "
                "switches, payees, permissions and the kept versions of the file (`assent audit verify` does)"
            )
        ]
    return [ok(f"{org}: the trail is unbroken, {found.seen} events, and the rows say the same")] if found.seen else []


async def _secret(store: Store, org: str) -> list[Finding]:
    """Say which keys hang on an older secret than the newest that is given."""
    seals = store.seals
    if seals is None:
        return []
    now = await store.read(lambda tx: tx.now(), org=org)
    live = [key for key in await store.read(list_keys, org=org, long=True) if key.live(now)]
    lost = {key.id: sealed_under(key) for key in live if sealed_under(key) not in seals.key_ids}
    under = {key_id for key_id in lost.values() if key_id is not None}
    is_over = bool(lost) and under <= await store.read(lambda tx: given_up(tx, under), org=org, long=True)
    old = [key.id for key in live if key.id not in lost and not is_newest(seals, key)]
    mend = "make them anew, and revoke these" if is_over else _REVIVE
    said = [warning(f"{org}: dead with their secret: the keys {', '.join(lost)}", mend)] if lost else []
    if old:
        what = f"{org}: these keys were not used since the secret changed, and end with the old one: {', '.join(old)}"
        said.append(warning(what, "keep the old secret until each was used once"))
    return said


async def _executor(store: Store, policy: Policy) -> list[Finding]:
    enforced = [tool.name for tool in policy.tools.values() if tool.enforced]
    if not enforced:
        return []
    now = await store.read(lambda tx: tx.now(), org=policy.org)
    keys = await store.read(list_keys, org=policy.org, long=True)
    mine = [key for key in keys if key.scope is Scope.EXECUTOR and key.live(now)]
    false = await store.read(list_false_keys, org=policy.org, long=True)  # the gateway refuses them
    live = [key for key in mine if key.id not in false]
    found: list[Finding] = []
    if len(live) < len(mine):
        which = ", ".join(key.id for key in mine if key.id in false)
        what = f"{policy.org}: not what the trail says of them, and refused: the executor's keys {which}"
        found.append(error(what, "`assent audit verify` says what; revoke them, and make them anew"))
    missing = [name for name in enforced if not any(key.runs(name) for key in live)]
    if not missing:
        return [*found, ok(f"{policy.org}: an executor's key is live for each enforced tool")]
    what = f"{policy.org}: no executor's key is live for it: nobody can run {', '.join(missing)}"
    return [*found, error(what, "assent keys create --scope executor --tool … --label …")]


async def _factors(store: Store, policy: Policy) -> list[Finding]:
    """Whoever may have to approve at L3 can do so only with a second factor; one level more may come on top."""
    needed: set[str] = set()
    glass = policy.break_glass
    if glass is not None and takes_factor((pattern.text for pattern in glass.tools or (NamePattern("*"),)), policy):
        needed |= {who for name in glass.of for who in policy.directory.members(name)}
    may_rise = bool(policy.payments.step_up)
    for tool in paying_tools(policy):
        for _, asking in askings(policy, tool):
            reached = asking.assurance.raised if may_rise else asking.assurance
            if reached >= Assurance.L3:
                needed |= {who for stage in asking.stages for name in stage.of for who in policy.directory.ever(name)}
    if not needed:
        return []
    lacking = await store.read(lambda tx: without_factor(tx, needed), org=policy.org, long=True)
    if not lacking:
        return [ok(f"{policy.org}: all {len(needed)} who may have to approve at L3 have a second factor")]
    what = f"{policy.org}: no second factor, and payments may need one of them: {', '.join(lacking)}"
    return [warning(what, f"assent factors invite E-MAIL: {PAGE}")]


async def _owed(store: Store, org: str) -> list[Finding]:
    """What waits for a person: outcomes that nobody knows, glass that was broken, cards that were given up."""
    found: list[Finding] = []

    def look(tx: Tx) -> tuple[list[str], list[str]]:
        now = tx.now()
        return list_unknown(tx, now - _SETTLED_WITHIN, most=_MOST), list_unknown(tx, now, most=_MOST)

    unknown, any_unknown = await store.read(look, org=org, long=True)
    if fresh := [each for each in any_unknown if each not in unknown]:
        what = f"{org}: {counted(len(fresh), 'outcome')} became unknown within five minutes, first that of {fresh[0]}"
        found.append(warning(what, "see whether it is still reported; after that, `assent requests reconcile`"))
    if unknown:
        what = f"{org}: nobody knows whether {len(unknown)} of the calls ran, the oldest of them {unknown[0]}"
        found.append(error(what, "look the grant's id up in the tool's records, then `assent requests reconcile`"))
    waiting = await store.read(
        lambda tx: list_elsewhere(tx, tx.now() - _DECIDED_WITHIN, most=_MOST), org=org, long=True
    )
    if waiting:
        what = f"{org}: {len(waiting)} of the calls have waited at their service for over a day, first {waiting[0]}"
        found.append(
            warning(what, "assent requests show says where; have it decided there, then look it up or reconcile")
        )
    glasses = await store.read(lambda tx: list_permits(tx, PermitKind.BREAK_GLASS, most=_MOST), org=org, long=True)
    broken = [permit.id for permit in glasses.permits if awaits_review(permit)]
    if broken:
        what = f"{org}: the glass was broken and nobody has reviewed it: {', '.join(broken)}"
        found.append(warning(what, f"assent break-glass review: {PAGE}"))
    dead = await store.read(lambda tx: list_rows(tx, "dead", most=_MOST), org=org, long=True)
    if dead:
        what = f"{org}: {len(dead)} cards or changes of cards were given up"
        found.append(warning(what, "assent outbox list, then assent outbox retry"))
    return found or [ok(f"{org}: nothing is unknown, unreviewed or given up")]
