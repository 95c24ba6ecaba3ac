"""Ask the platforms which accounts the people of the file have, and how they stand: what clicks are authorised against.

Runs before the first card, every few minutes, and when the configuration changes. A platform that cannot be asked
leaves the last answer in place until it is too old to count (`receive.ACCOUNT_TRUSTED_FOR`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from app.ports import ChannelRefusedError, ChannelUnavailableError
from app.storage.cards.accounts import list_of_channel, put_account

if TYPE_CHECKING:
    from app.domain.people.people import Person
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Account, Channel
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook

log = structlog.get_logger(__name__)


class ConfirmAccounts:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, channels: ChannelBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._channels = channels

    async def __call__(self) -> int:
        """Ask every channel about everyone who may be asked; return how many accounts were confirmed."""
        return sum([await self.channel(org, channel) for (org, _), channel in self._channels.all().items()])

    async def channel(self, org: str, channel: Channel) -> int:
        """Ask one channel."""
        directory = self._book.current(org).policy.directory
        confirmed = 0
        for person in directory.people.values():
            try:
                account = await channel.look_up(email=person.email, account_id=person.accounts.get(channel.kind, ""))
            except (ChannelUnavailableError, ChannelRefusedError) as error:
                log.warning("account.unconfirmed", channel=channel.name, person=person.email, why=error.why)
                continue
            await self._store.write(_remember(channel.name, person, account), org=org)
            confirmed += account is not None
        await self._store.write(_drop_strangers(channel.name, set(directory.people)), org=org)
        return confirmed


def _remember(channel: str, person: Person, account: Account | None):  # noqa: ANN202 - a unit of work
    def unit(tx: Tx) -> None:
        put_account(tx, channel, person.email, account)

    return unit


def _drop_strangers(channel: str, known: set[str]):  # noqa: ANN202 - a unit of work
    """Whoever left the file has no account here any more."""

    def unit(tx: Tx) -> None:
        for account in list_of_channel(tx, channel):
            if account.person not in known:
                put_account(tx, channel, account.person, None)

    return unit
