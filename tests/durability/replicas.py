"""Replicas of the gateway's core in one process: each has its own store, lanes and connections, all one database."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from app.clock import SystemClock
from app.domain.errors import AlreadySettledError, AssentError, NotApprovedError
from app.domain.identity.seals import Seals
from app.domain.request.action import Action
from app.domain.request.decision import Verdict
from app.domain.text.language import Language
from app.hooks.org_hooks import Supplies, build_hooks
from app.policies.file.policy_book import PolicyBook
from app.ports import Account, AccountStatus, Click, MessageRef
from app.storage.cards.accounts import put_account
from app.storage.cards.deliveries import list_deliveries, mark_live, place_of
from app.storage.requests.requests import find_request
from app.usecases.clicks.receive import Receive
from app.usecases.deciding.cancel import Cancel
from app.usecases.deciding.decide_api import DecideByApi
from app.usecases.executing.claim import Caller, Claim, Report
from app.usecases.hooks.known_call import HookBook, read_only_of_the_call
from app.usecases.platforms.channel_book import ChannelBook
from app.usecases.upkeep.sweep import Sweep
from tests.domain.samples import FINANCE, OWNER, a_call, a_request
from tests.durability.history import EXPIRED, PENDING, Call, History, first_impossible
from tests.fixtures.memory_platform import APP, TENANT, MemoryChannel, MemoryPlatform, MemorySettings
from tests.storage.rig import ORG, open_store, opening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.clicks.receive import Received
    from assent.hooks.engine.registry import HookRegistry

POLICY = """\
org: acme
default: ask
ask: {{stages: [{{of: [finance]}}], channels: [api]}}
people:
{people}
groups:
  finance: [{members}]
"""


CLOCKS_WITHIN = 0.001


def write_policy(path: Path, members: frozenset[str] = FINANCE) -> Path:
    """Write a file in which `members`, and the agent's owner, are the finance group."""
    people = "\n".join(f"  {email}: {{name: {email[:3]}}}" for email in sorted({*FINANCE, OWNER}))
    path.write_text(POLICY.format(people=people, members=", ".join(sorted({*members, OWNER}))))
    return path


def channel(name: str) -> MemoryChannel:
    """Return a channel that a click can have come from."""
    settings = MemorySettings(type="memory", chat=f"C-{name}", language=Language.EN)
    return MemoryChannel(name, settings, MemoryPlatform())


def _hooks_of(loaded: LoadedPolicy) -> HookRegistry:
    return build_hooks(loaded, supplies=Supplies(is_read_only=read_only_of_the_call))


class Replica:
    """The use cases of one gateway."""

    def __init__(self, store: Store, book: PolicyBook) -> None:
        self.store = store
        self.book = book
        self.seals = Seals(["replica-" * 5])
        self.decide = DecideByApi(store=store, book=book, seals=self.seals)
        self.cancel = Cancel(store=store)
        self.claim = Claim(store=store, hooks=HookBook(book, _hooks_of))
        self.report = Report(store=store)
        self.sweep = Sweep(store=store, book=book, channels=ChannelBook())
        self.receive = Receive(store=store, book=book, seals=self.seals)

    async def open(self, request_id: str, **changes: Any) -> ConfirmationRequest:
        """Open a request at the database's own time; `lives_for` sets its deadline."""
        now = await self.store.read(lambda tx: tx.now(), org=ORG)
        if "lives_for" in changes:
            changes["expires_at"] = now + changes.pop("lives_for")
        changes.setdefault("call", a_call(session=request_id))
        request = a_request(request_id, now=now, **changes)
        await self.store.write(opening(request), org=ORG, about=request_id)
        return request

    async def read(self, request_id: str) -> ConfirmationRequest:
        """Read a request."""
        found = await self.store.read(lambda tx: find_request(tx, request_id), org=ORG)
        assert found is not None
        return found

    async def vote(self, request: ConfirmationRequest, person: str, verdict: Verdict = Verdict.APPROVE) -> Any:
        """Decide through the API; return the request, or the refusal."""
        reason = None if verdict is Verdict.APPROVE else "no"
        try:
            return await self.decide(
                org=ORG, request_id=request.id, person=person, verdict=verdict, reason=reason, digest=request.digest
            )
        except AssentError as refusal:
            return refusal

    async def withdraw(self, request: ConfirmationRequest) -> Any:
        """Cancel as the agent."""
        try:
            return await self.cancel(org=ORG, request_id=request.id, agent="payer", by="agent:payer", reason=None)
        except AssentError as refusal:
            return refusal

    async def take(self, request: ConfirmationRequest, claim_id: str = "c-1") -> Any:
        """Claim as the agent."""
        try:
            return await self.claim(
                Caller(org=ORG, agent="payer"), request_id=request.id, digest=request.digest, claim_id=claim_id
            )
        except AssentError as refusal:
            return refusal

    async def click(
        self, request_id: str, of: MemoryChannel, account: str, verdict: Verdict, event_key: str
    ) -> Received:
        """Press a button of the card that is live in a channel."""

        def button(tx: Tx) -> tuple[str, MessageRef]:
            [delivery] = [each for each in list_deliveries(tx, request_id) if each.channel == of.name]
            request = find_request(tx, request_id)
            assert request is not None
            assert delivery.message is not None
            return self.seals.token(
                Action(verdict.value), delivery.handle, place_of(request, delivery)
            ), delivery.message

        token, message = await self.store.read(button, org=ORG)
        click = Click(
            token=token,
            app_id=APP,
            tenant=TENANT,
            account_id=account,
            chat_id=message.chat_id,
            message_id=message.message_id,
            event_key=event_key,
            reason=None if verdict is Verdict.APPROVE else "no",
        )
        return await self.receive(ORG, of, click)  # pyright: ignore[reportArgumentType] - names are attributes here

    async def go_live(self, request_id: str, *channels: MemoryChannel) -> None:
        """Say that the cards are out, and who is who in each channel."""

        def unit(tx: Tx) -> None:
            for delivery in list_deliveries(tx, request_id):
                if delivery.channel in {of.name for of in channels}:
                    ref = MessageRef(app_id=APP, tenant=TENANT, chat_id=delivery.chat_id, message_id=f"m-{delivery.id}")
                    mark_live(tx, delivery, ref, repost_at=tx.now().replace(year=2099), shown_version=1)

        await self.store.write(unit, org=ORG, about=request_id)
        await self.confirm(*channels)

    async def confirm(self, *channels: MemoryChannel) -> None:
        """Say who is who in each channel, as of now."""

        def unit(tx: Tx) -> None:
            for of in channels:
                for person in (*FINANCE, OWNER):
                    account = Account(tenant=TENANT, account_id=f"U-{person}", status=AccountStatus.ACTIVE)
                    put_account(tx, of.name, person, account)

        await self.store.write(unit, org=ORG)


@asynccontextmanager
async def replicas(url: str, folder: Path, *, most: int = 2) -> AsyncIterator[list[Replica]]:
    """Open `most` replicas on PostgreSQL; SQLite has one process, so one."""
    path = write_policy(folder / "race.yaml")
    async with AsyncExitStack() as stack:
        opened: list[Replica] = []
        for _ in range(1 if url.startswith("sqlite") else most):
            store = await stack.enter_async_context(open_store(url))
            book = await asyncio.to_thread(PolicyBook, path, environ={}, channel_types={})
            opened.append(Replica(store, book))
        yield opened


class Race:
    """What happened to one request, as everyone who took part saw it."""

    def __init__(self, request: ConfirmationRequest) -> None:
        self.request = request
        self.history = History()
        # The deadline on the monotonic clock that the history is written in; both clocks are read within a millisecond.
        before, wall, after = 0.0, request.created_at, 1.0
        while after - before > CLOCKS_WITHIN:
            before, wall, after = time.monotonic(), SystemClock().now(), time.monotonic()
        self.deadline = before + (request.expires_at - wall).total_seconds()

    async def vote(self, of: Replica, person: str, verdict: Verdict = Verdict.APPROVE) -> Any:
        wrote = f"{'approved' if verdict is Verdict.APPROVE else 'denied'} by {person}"
        self.sweeping()  # a vote that comes too late ends the request itself
        return await self.history.record(wrote, lambda: of.vote(self.request, person, verdict), self._told)

    async def withdraw(self, of: Replica) -> Any:
        return await self.history.record("cancelled by agent:payer", lambda: of.withdraw(self.request), self._told)

    async def read(self, of: Replica) -> Any:
        return await self.history.record("", lambda: of.read(self.request.id), lambda found: (False, value(found)))

    def sweeping(self) -> None:
        """Note that a sweep begins. It answers with a number over all: this request it may have decided, or not."""
        self.history.calls.append(Call(begin=time.monotonic(), wrote=EXPIRED))

    def impossible(self) -> str | None:
        """Say why what the callers saw cannot have been, or None."""
        return first_impossible(self.history.calls, deadline=self.deadline, give=2 * CLOCKS_WITHIN)

    def _told(self, answer: Any) -> tuple[bool, str | None]:
        match answer:
            case AlreadySettledError():
                by, state = answer.more.get("settled_by"), answer.more["state"]
                return False, EXPIRED if state == EXPIRED else f"{_verdict(str(state))} by {by}" if by else None
            case NotApprovedError() | AssentError():
                return False, None
            case _:
                return True, None


def _verdict(state: str) -> str:
    return state if state in {"denied", "cancelled", PENDING} else "approved"


def value(request: ConfirmationRequest) -> str:
    """Return what a reader saw, in the history's words."""
    if request.settlement is None:
        return PENDING
    if request.status.value == EXPIRED:
        return EXPIRED
    return f"{request.status.value} by {request.settlement.by}"
