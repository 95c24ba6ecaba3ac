"""Take the configuration into use: remember its text, seal what stands, and let its channels serve.

At the start, and whenever a file has changed. A file with a fault is refused, said, and the one before stays in force;
what broke off half-way is gone on with at the next tick.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog

from app.bulkhead.building import ChannelUnbuiltError, build_channel, mend_of
from app.domain.errors import AssentError
from app.domain.trail.audit import Kind, Record
from app.policies.marks.faults import told_lines
from app.ports import ChannelRefusedError, ChannelUnavailableError
from app.storage.trail.policy_versions import remember_policy
from app.usecases.permits.session_approval import EndSessionApprovals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Channel
    from app.spec import Spec
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.hooks.known_call import HookBook
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.fetch_groups import FetchGroups
    from app.usecases.platforms.renew_access import RenewAccess
    from app.usecases.proving.seal_standing import SealStanding
    from app.workers.channel_work import ChannelWork

log = structlog.get_logger(__name__)

_GROUPS_AT_FIRST = 5.0


class Configuration:
    """What the files ask for, running."""

    def __init__(
        self,
        *,
        store: Store,
        book: PolicyBook,
        hooks: HookBook,
        channels: ChannelBook,
        platforms: Mapping[str, Spec],
        work: ChannelWork,
        seal_standing: SealStanding,
        fetch_groups: FetchGroups,
        renew_access: RenewAccess,
        hide_secrets: Callable[[], None],
    ) -> None:
        """Take what it works on; `hide_secrets` keeps the secrets of the platforms in use out of the logs."""
        self._store = store
        self._book = book
        self._hooks = hooks
        self._channels = channels
        self._platforms = platforms
        self._work = work
        self._seal_standing = seal_standing
        self.end_session_approvals = EndSessionApprovals(store=store, book=book)
        self._fetch_groups = fetch_groups
        self._renew_access = renew_access
        self._hide_secrets = hide_secrets
        self._built: dict[tuple[str, str], tuple[object, Channel]] = {}
        self.unbuilt: dict[tuple[str, str], str] = {}
        """The files' channels that could not be built, and why: no card goes there, and a call for one is refused."""
        self._in_use = False  # whether the configuration in force has been taken into use to the end

    async def begin(self) -> None:
        """Go on where the process before ended, and take what is in force into use."""
        for org in self._book.orgs():
            await self._work.take_up(org)
        await self.use()

    async def use(self) -> None:
        """Take what is in force into use: remember its text, build and start its channels, stop the others."""
        self._in_use = False
        await asyncio.to_thread(self._hooks.prepare)  # it imports what the files name
        self._hide_secrets()
        wanted: dict[tuple[str, str], tuple[object, Channel]] = {}
        self.unbuilt = {}
        for org in self._book.orgs():
            loaded = self._book.current(org)
            await self._seal_standing(org)
            await self._remember(org, loaded.policy.version, loaded.text)
            await self.end_session_approvals.with_file(org)
            for name, settings in loaded.channel_settings.items():
                known = self._built.get((org, name))
                if known is not None and known[0] == settings:
                    wanted[org, name] = known
                elif (channel := self._build(loaded, org, name)) is not None:
                    wanted[org, name] = (settings, channel)
        self._work.contact.unbuilt = frozenset(name for _, name in self.unbuilt)
        # Everything that may fail is behind us: from here on the new channels serve, then the old ones go.
        dropped = {key: built for key, built in self._built.items() if wanted.get(key) is not built}
        self._built = wanted
        self._channels.replace({key: channel for key, (_, channel) in wanted.items()})
        for key, (_, channel) in dropped.items():
            if key not in wanted:
                self._renew_access.forget(*key)
            await self._work.stop(key, channel)
        for (org, name), (_, channel) in wanted.items():
            self._work.start(org, name, channel)
        await self._know_groups()
        self._in_use = True

    async def use_if_changed(self) -> None:
        """Take a changed file into use; a faulty one is reported and the old one stays."""
        if await asyncio.to_thread(self._book.changed):  # it reads files
            faults = await asyncio.to_thread(self._book.reload)
            for line in told_lines(faults):
                log.error("policy.refused", fault=line, stays_in_force=self._versions())
            self._in_use = self._in_use and bool(faults)
        if not self._in_use:  # also when taking it into use failed half-way: the next tick goes on
            await self.use()
            for warning in (each for org in self._book.orgs() for each in self._book.current(org).warnings):
                log.warning("policy.warned", warning=str(warning))
            log.info("policy.reloaded", orgs=list(self._book.orgs()))

    def _versions(self) -> dict[str, str]:
        """Return the version of each org's file that is in force."""
        return {org: self._book.current(org).policy.version for org in self._book.orgs()}

    async def close(self) -> None:
        """Close the channels; what they had in hand has ended."""
        await asyncio.gather(*(channel.close() for _, channel in self._built.values()))

    def _build(self, loaded: LoadedPolicy, org: str, name: str) -> Channel | None:
        """Build a channel; None: its package fails at it. That keeps no other channel from its people."""
        try:
            channel = build_channel(self._platforms, loaded.kind_of(name), name, loaded.channel_settings[name])
            self._renew_access.serve(org, channel)
        except (ChannelUnbuiltError, ChannelUnavailableError, ChannelRefusedError) as error:
            self.unbuilt[org, name] = error.why
            log.error("channel.unbuilt", channel=name, why=error.why, mend=mend_of(error))  # noqa: TRY400 - its place is in `why`
            return None
        return channel

    async def _know_groups(self) -> None:
        """Ask who is in the platforms' groups before the next call is judged: until then nobody is."""
        with suppress(TimeoutError, AssentError):
            async with asyncio.timeout(_GROUPS_AT_FIRST):
                await self._fetch_groups()

    async def _remember(self, org: str, version: str, text: str) -> None:
        def unit(tx: Tx) -> None:
            if remember_policy(tx, version, text):
                facts = {"policy_version": version, "text": hashlib.sha256(text.encode()).hexdigest()}
                tx.append(Record(kind=Kind.POLICY_LOADED, actor="system", facts=facts))

        await self._store.write(unit, org=org)
