"""Know the secret that rows are sealed with; seal once what stood before there were seals, and say so in the trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import structlog

from app.domain.identity.api_key import sealed_as_it_is
from app.domain.lifecycle.against_trail import request_faults
from app.domain.lifecycle.replayed import replay
from app.domain.lifecycle.restored import LOST, fence
from app.domain.trail.audit import Kind, Record
from app.storage.identity.api_keys import list_keys, put_hash
from app.storage.identity.clear_values import encrypt_values, list_clear
from app.storage.identity.secret_ids import list_seal_ids, remember_secret
from app.storage.identity.value_keys import has_caught_up, note_caught_up
from app.storage.payments.accounts import list_unmarked, mark_accounts
from app.storage.requests.requests import find_request, is_unread
from app.storage.trail.audit_chain import has_kind, list_of_requests
from app.storage.trail.cuts import find_cut
from app.storage.trail.restores import list_open
from app.storage.trail.rows_beside import count_at_once
from app.usecases.proving.trail_walk import Walk, walk_on
from app.usecases.writing.carry_out import carry_out, seal_as_it_stands

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.trail.audit import AuditEvent
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

log = structlog.get_logger(__name__)

_PAGE = 200
FOREIGN = (
    "the rows of {org} were sealed with the secrets {known}, the last one now, and ASSENT_SECRET has {given}: its keys "
    "are not known and its open requests are refused. Give that one behind the one that is to seal from now on, "
    "separated by a comma; if it is lost: assent reseal"
)

LACKING = (
    "{which} sealed with {ids}, a secret that ASSENT_SECRET does not have here: put it back behind the new one, "
    "separated by a comma, until they are over; nothing comes of them before. If it is lost: assent reseal"
)


class Resealed(NamedTuple):
    """How many requests were sealed as they stand, and how many were ended: what they carried is lost."""

    sealed: int
    lost: int


class SealStanding:
    """The use case: at every start, for every org, before anything else is done with its rows."""

    def __init__(self, *, store: Store, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._seals = seals

    async def __call__(self, org: str) -> None:
        """Remember a new secret beside a known one; seal what stands if there is none yet; else say that it is foreign.

        Only the very first time is anything sealed as it is. Were the memory of it taken away, the trail still has it.
        """
        given = self._seals.key_ids
        known = await self._store.read(list_seal_ids, org=org)
        why = why_foreign(org, known, given)
        if why is not None:
            log.critical("secret.foreign", org=org, why=why)
            return
        if known[-1:] != [given[0]]:
            await self._seal_rows(org, known)
        await self._encrypt(org)

    async def _seal_rows(self, org: str, known: Sequence[str]) -> None:
        sealed = 0
        if not known:
            why = await self._why_not_first(org)
            if why is not None:
                log.critical("secret.forgotten", org=org, why=f"{why}: no row is sealed anew before `assent reseal`")
                return
            sealed = (await self._seal_all(org, by="system", if_said=True)).sealed
        await self._remember(org, sealed, by="system", reason=None)

    async def _why_not_first(self, org: str) -> str | None:
        """Say why rows may have been sealed before; None: the whole trail knows of none.

        A trail that somebody has changed says nothing of it, and neither does one whose beginning was cut off: nothing
        is cut before a gateway has sealed its first rows.
        """
        if await self._store.read(lambda tx: has_kind(tx, Kind.SECRET_KNOWN) or find_cut(tx), org=org, long=True):
            return "the trail says that rows are sealed"
        walk = Walk()
        await walk_on(self._store, org, walk)
        return f"the trail is broken ({walk.faults[0].text})" if walk.faults else None

    async def refresh(self, org: str) -> None:
        """Forget a value key that was destroyed beside this process."""
        if (vault := self._store.vault) is not None:
            await self._store.read(vault.refresh, org=org)

    async def _encrypt(self, org: str) -> None:
        """Wrap the value keys with the newest secret; once, encrypt what stands in clear from before there were any."""
        if (vault := self._store.vault) is None:
            return

        def renew(tx: Tx) -> bool:
            vault.renew(tx)
            return has_caught_up(tx)

        caught_up = await self._store.write(renew, org=org)
        await self.refresh(org)
        if not caught_up:
            await self._catch_up(org)
        await self._mark_accounts(org)

    async def _mark_accounts(self, org: str) -> None:
        """Mark what accounts were kept before there were marks; also what a tool without a key has put in since."""
        done = 0
        while found := await self._store.read(lambda tx: list_unmarked(tx, most=_PAGE), org=org, long=True):
            await self._store.write(lambda tx, keys=found: mark_accounts(tx, keys), org=org)
            done += len(found)
            log.info("accounts.marked", org=org, accounts=done)

    async def _catch_up(self, org: str) -> None:
        done, behind = 0, ""
        while True:
            page = await self._store.read(
                lambda tx, after=behind: list_clear(tx, behind=after, most=_PAGE), org=org, long=True
            )
            if not page:
                break
            behind = page[-1]
            done += await self._store.write(lambda tx, ids=page: encrypt_values(tx, ids), org=org)
            log.info("values.encrypted", org=org, requests=done)

        def said(tx: Tx) -> None:
            note_caught_up(tx)
            if done:
                tx.append(Record(kind=Kind.VALUES_ENCRYPTED, actor="system", facts={"requests": done}))

        await self._store.write(said, org=org)

    async def again(self, org: str, *, by: str, reason: str) -> Resealed:
        """Seal what stands as it is, on an operator's word. API keys cannot be.

        What an open request carried may be lost with its secret: it is ended instead.
        """
        await self._store.write(lambda tx: remember_secret(tx, self._seals.key_ids[0]), org=org)
        done = await self._seal_all(org, by=by)
        await self._remember(org, done.sealed, by=by, reason=reason)
        return done

    async def _remember(self, org: str, sealed: int, *, by: str, reason: str | None) -> None:
        newest = self._seals.key_ids[0]

        def unit(tx: Tx) -> None:
            if remember_secret(tx, newest) or reason is not None:
                more = {"reason": reason, "spent": count_at_once(tx)} if reason is not None else {}
                facts = {"key_id": newest, "requests": sealed, **more}
                tx.append(Record(kind=Kind.SECRET_KNOWN, actor=by, facts=facts))

        await self._store.write(unit, org=org)

    async def _seal_all(self, org: str, *, by: str, if_said: bool = False) -> Resealed:
        """Seal keys, and requests page by page; `if_said`: those alone that are what their events say."""
        sealed, lost, behind = 0, 0, ""

        def keys(tx: Tx) -> None:
            for key in list_keys(tx):
                anew = sealed_as_it_is(self._seals, key)
                if anew is not None:
                    put_hash(tx, key.id, anew)

        await self._store.write(keys, org=org)
        while True:
            page = await self._store.read(lambda tx, after=behind: list_open(tx, behind=after, most=_PAGE), org=org)
            if not page:
                return Resealed(sealed, lost)
            behind = page[-1]
            whole, gone = await self._store.write(
                lambda tx, ids=page: self._seal(tx, ids, by, if_said=if_said), org=org
            )
            sealed += whole
            lost += gone

    def _seal(self, tx: Tx, ids: Sequence[str], by: str, *, if_said: bool) -> tuple[int, int]:
        found = [request for request_id in ids if (request := find_request(tx, request_id)) is not None]
        if if_said:
            said = list_of_requests(tx, ids)
            found = [request for request in found if _is_as_said(tx.org, request, said[request.id])]
        lost = [request for request in found if is_unread(tx, request)]  # nobody can say what was asked
        for request in lost:
            carry_out(tx, request, fence(request, now=tx.now(), why=LOST))
        whole = [request for request in found if request not in lost]
        for request in whole:
            seal_as_it_stands(tx, request, by=by, key_id=self._seals.key_ids[0])
        return len(whole), len(lost)


def _is_as_said(org: str, request: ConfirmationRequest, events: Sequence[AuditEvent]) -> bool:
    faults = request_faults(request, replay(events), end=-1)
    if faults:
        log.critical("request.forged", org=org, request=request.id, why=faults[0].text)
    return not faults


def why_lacking(org: str, sealed: Mapping[str, int], given: Collection[str]) -> str | None:
    """Say how many open requests are sealed with secrets that were had, and are not given; None: none.

    `sealed` counts them by the ids of their secrets.
    """
    lacking = {key_id: many for key_id, many in sorted(sealed.items()) if key_id not in given}
    if not lacking:
        return None
    many = sum(lacking.values())
    which = f"{many} open requests of {org} are" if many > 1 else f"1 open request of {org} is"
    return LACKING.format(which=which, ids=", ".join(lacking))


def why_foreign(org: str, known: Sequence[str], given: Sequence[str]) -> str | None:
    """Say that rows are sealed with another secret than those that are given; None: they are not.

    The last of the known ones counts: keys and values hang on it, whatever else was given before.
    """
    if not known or known[-1] in given:
        return None
    return FOREIGN.format(org=org, known=", ".join(map(str, known)), given=", ".join(given))
