"""What the demo does beside its running gateway, as the small commands do: keys, payees, second factors, links.

It would take `assent keys create`, `assent payees add`, `assent link` and the like a program each, and their seconds.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyotp import TOTP

from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.identity.seals import Seals
from app.domain.identity.totp import STEP_SECONDS
from app.identifiers import RandomIds
from app.policies.file.policy_book import PolicyBook
from app.storage.cards.deliveries import list_deliveries, mark_outdated
from app.storage.make_store import dialect_for, make_store
from app.storage.requests.requests import lock_request
from app.usecases.console.sessions import Sessions
from app.usecases.payments.payees import Payees
from app.usecases.proving.factors import Factors
from app.usecases.reading.keys import Keys
from app.usecases.reading.review import Review
from app.usecases.writing.carry_out import refresh_cards
from channels import registry
from examples.demo.orders import KNOWN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from pathlib import Path

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

ORG, BY = "acme", "demo"


@dataclass(slots=True, kw_only=True)
class Authenticator:
    """Somebody's app. Each code counts once: of one that was used nothing is shown but when the next one comes."""

    secret: str = field(repr=False)
    used: str = ""

    def now(self) -> tuple[str, float]:
        """Return the code, "" for a used one, and the instant (seconds since 1970) at which the next one comes."""
        step = int(time.time()) // STEP_SECONDS
        code = TOTP(self.secret).generate_otp(step)
        return ("" if code == self.used else code), float((step + 1) * STEP_SECONDS)


class Beside:
    """Short visits to the gateway's database."""

    def __init__(self, *, config: Path, environ: Mapping[str, str]) -> None:
        """Open nothing yet. `environ` is the gateway's."""
        self._config = config
        self._environ = environ
        self._url = environ["ASSENT_DATABASE_URL"]
        self._seals = Seals([environ["ASSENT_SECRET"]])
        self._clock = SystemClock()

    async def make_keys(self, agent: str, owner: str) -> dict[Scope, str]:
        """Make the keys of agent, timeline and executor, and put the known payees into the register."""
        async with self._store() as store:
            keys, payees = Keys(store=store, seals=self._seals, clock=self._clock), Payees(store=store)
            made = (
                await keys.create(
                    org=ORG, scope=Scope.AGENT, agent=agent, person=owner, label="the demo's agent", by=BY
                ),
                await keys.create(org=ORG, scope=Scope.AUDITOR, label="the demo's timeline", by=BY),
                await keys.create(org=ORG, scope=Scope.EXECUTOR, label="the demo's executor", tools=["*"], by=BY),
            )
            for name, account in KNOWN:
                await payees.add(ORG, name, account=account, by=BY)
        return {each.key.scope: each.text for each in made}

    async def enrol(self, person: str) -> Authenticator:
        """Give a person a second factor: invited, redeemed and confirmed, as `assent factors` does it."""
        async with self._store() as store:
            factors = Factors(store=store, book=await self._book(), seals=self._seals)
            invitation = await factors.invite(ORG, person, by=BY)
            enrolment = await factors.redeem(ORG, person, invitation.code)
            # A phone may be a step behind; the code of now is left for the first approval.
            before = TOTP(enrolment.secret).generate_otp(int(time.time()) // STEP_SECONDS - 1)
            await factors.confirm(ORG, person, before)
        return Authenticator(secret=enrolment.secret)

    async def link(self, person: str) -> str:
        """Make a sign-in link as `assent link` does: it works once. Raises InvalidError for whom the file lacks."""
        async with self._store() as store:
            book = await self._book()
            review = Review(store=store, book=book, seals=self._seals, clock=self._clock)
            sessions = Sessions(store=store, book=book, seals=self._seals, clock=self._clock, review=review)
            return (await sessions.invite(ORG, person, by=BY)).url

    async def show_anew(self, request_ids: Iterable[str]) -> None:
        """Have every card of these requests drawn again, although nothing about them has changed."""

        def unit(tx: Tx) -> None:
            for request_id in request_ids:
                found = lock_request(tx, request_id)
                if found is not None:
                    for delivery in list_deliveries(tx, request_id):
                        mark_outdated(tx, delivery)
                    refresh_cards(tx, found[0])

        async with self._store() as store:
            await store.write(unit, org=ORG)

    async def _book(self) -> PolicyBook:
        return await asyncio.to_thread(
            PolicyBook, self._config, environ=self._environ, channel_types=registry.platforms()
        )

    @asynccontextmanager
    async def _store(self) -> AsyncIterator[Store]:
        store = make_store(dialect_for(self._url, self._clock), RandomIds(), seals=self._seals)
        store.start()
        try:
            yield store
        finally:
            await store.stop()
