"""The composition root: builds the object graph by hand, starts it in order, and stops it in order."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Self

from app.api.wire.access import access_for
from app.api.wire.services import Services
from app.clock import SystemClock
from app.domain.errors import AssentError
from app.domain.identity.seals import Seals
from app.domain.request.action import Action
from app.hooks.org_hooks import Supplies, build_hooks
from app.identifiers import RandomIds
from app.policies.file.policy_book import PolicyBook
from app.storage.engine.answers import KINDS
from app.storage.make_store import dialect_for, make_store
from app.storage.place.address import is_postgres, libpq_url
from app.storage.trail.head_file import head_file_of
from app.telemetry.figures import Telemetry
from app.telemetry.logs import hide_secrets_of, log_deed
from app.telemetry.provider import find_spans
from app.usecases.asking.lift import Lift
from app.usecases.asking.quota import Quota
from app.usecases.asking.reopen import Reopen
from app.usecases.asking.submit import Submit
from app.usecases.cards.deliver import Deliver
from app.usecases.clicks.click import AnswerClick
from app.usecases.clicks.consult_clicks import ACTIONS, ConsultByClick
from app.usecases.clicks.edit_click import EditByClick
from app.usecases.clicks.extend_click import ExtendClick
from app.usecases.clicks.receive import ClickTaker, Receive
from app.usecases.clicks.reopen_click import ReopenClick
from app.usecases.clicks.review_click import ReviewClick
from app.usecases.deciding.cancel import Cancel
from app.usecases.deciding.consult import Consult
from app.usecases.deciding.decide_api import DecideByApi
from app.usecases.deciding.edit import Edit
from app.usecases.deciding.edit_api import EditByApi
from app.usecases.deciding.extend import Extend
from app.usecases.executing.claim import Claim, Report
from app.usecases.executing.reconcile import Reconcile
from app.usecases.executing.settle_by_call import SettleByCall
from app.usecases.executing.take_when_decided import TakeWhenDecided
from app.usecases.hooks.count_calls import CountCalls
from app.usecases.hooks.known_call import HookBook, LookUp, read_only_of_the_call
from app.usecases.hooks.run_hooks import RunHooks
from app.usecases.judging.judge_call import JudgeCall
from app.usecases.pauses.switch import Switches
from app.usecases.pauses.under_pause import UnderPause
from app.usecases.payments.payees import Payees
from app.usecases.permits.break_glass import BreakGlass
from app.usecases.permits.standing import StandingApprovals
from app.usecases.platforms.announce import Announce
from app.usecases.platforms.channel_book import ChannelBook
from app.usecases.platforms.confirm_accounts import ConfirmAccounts
from app.usecases.platforms.contact import Contact
from app.usecases.platforms.fetch_groups import FetchGroups
from app.usecases.platforms.pacing import Pacing
from app.usecases.platforms.renew_access import RenewAccess
from app.usecases.platforms.send_webhooks import SendWebhooks
from app.usecases.proving.factors import Factors
from app.usecases.proving.note_refusals import NoteRefusals
from app.usecases.proving.seal_standing import SealStanding
from app.usecases.reading.follow import Feed
from app.usecases.reading.keys import Keys
from app.usecases.reading.read import Read
from app.usecases.reading.review import Review
from app.usecases.reading.wait import Wait, Waiters
from app.usecases.sessions.lineage import Lineage
from app.usecases.signing_in.handed_over import ProveRequester
from app.usecases.upkeep.fail_over import FailOver
from app.usecases.upkeep.retain import Retain
from app.usecases.upkeep.sweep import Sweep
from app.usecases.upkeep.watch_alarms import WatchAlarms
from app.usecases.upkeep.watch_cards import WatchCards
from app.usecases.upkeep.watch_heads import WatchHeads
from app.usecases.upkeep.watch_pace import WatchPace
from app.usecases.upkeep.watch_replicas import WatchReplicas
from app.usecases.upkeep.watch_schema import WatchSchema
from app.usecases.upkeep.watch_writes import WatchWrites
from app.workers.after_commit import AfterCommit
from app.workers.channel_work import ChannelWork
from app.workers.configuration import Configuration
from app.workers.outbound import Outbound
from app.workers.supervisor import Supervisor
from app.workers.timers import Timers
from app.workers.timetable import Timetable
from assent.hooks.commands.spawn import Terms
from assent.hooks.engine.observer import Observer
from channels import registry
from migrations.state import NEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Clock, IdFactory
    from app.settings import Settings
    from app.usecases.console_verbs import ConsoleVerbs
    from assent.hooks.engine.registry import HookRegistry


class Container:
    """Everything that a running gateway is made of. An async context manager: inside it, the gateway works."""

    def __init__(
        self,
        settings: Settings,
        config: Path,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        ids: IdFactory | None = None,
    ) -> None:
        """Build the graph. Raises PolicyFaultsError for a faulty configuration; nothing is opened yet."""
        self.settings, self.clock = settings, clock or SystemClock()
        self.spans = find_spans()
        self.telemetry = Telemetry(database_errors=KINDS)
        self.platforms = registry.platforms()
        self.book = PolicyBook(config, environ=environ, channel_types=self.platforms)
        hide_secrets_of(registry.loaded())
        self.seals = Seals([secret.get_secret_value() for secret in settings.secret])
        self.ids = ids or RandomIds()
        self.store = make_store(dialect_for(settings.database_url, self.clock), self.ids, seals=self.seals)
        self.store.spans = self.spans
        self.heads = WatchHeads(store=self.store, path=head_file_of(settings.database_url, settings.state_dir))
        self.channels = ChannelBook()
        self.contact = Contact(self.channels)
        self.waiters = Waiters(most=settings.max_waiters)
        self.feed = Feed(store=self.store, most=settings.max_streams)
        self.supervisor = Supervisor()
        self.timers = Timers(SystemClock())  # whatever clock we are given: the scheduler has the wall's
        self._terms = Terms(
            at_once=asyncio.Semaphore(settings.hook_processes),
            passes=frozenset(name.strip() for name in settings.hook_environment.split(",")),
            user=settings.hook_user,
        )
        self._build_usecases()
        self.timetable = self._timetable()

    def _build_usecases(self) -> None:
        store, book, settings = self.store, self.book, self.settings
        self.prove = ProveRequester(book=book, fetch=Outbound().fetch, clock=self.clock)
        self.lineage = Lineage(store=store, book=book, clock=self.clock)
        self.hooks = HookBook(book, self._build_hooks)
        observer = Observer(on_event=log_deed, tracer=self.spans and self.spans.hooks)
        look_up = LookUp(hooks=self.hooks, lineage=self.lineage, store=store, clock=self.clock)
        self.switches = Switches(store=store, flipped=look_up.forget)
        self.run_hooks = RunHooks(store=store, look_up=look_up, clock=self.clock, observer=observer)
        judge = JudgeCall(hooks=self.run_hooks, clock=self.clock, spans=self.spans)
        self.submit = Submit(
            store=store,
            judge=judge,
            channels=self.channels,
            seals=self.seals,
            quota=Quota(most_pending=settings.max_pending_per_agent, most_cards=settings.max_cards_per_agent),
            attended=self.waiters.attended,
            prove=self.prove,
        )
        self.decide = DecideByApi(store=store, book=book, seals=self.seals)
        self.cancel = Cancel(store=store)
        self.claim = Claim(store=store, hooks=self.hooks, observer=observer)
        self.report = Report(store=store)
        self.read = Read(store=store, book=book)
        self.wait = Wait(store=store, waiters=self.waiters)
        self.sweep = Sweep(store=store, book=book, channels=self.channels)
        self.retain = Retain(store=store, book=book, counted=self.telemetry.retained)
        self.pace = WatchPace(store=store)
        self.writes = WatchWrites(store=store)
        self.schema = WatchSchema(store=store, needed=NEWEST)
        self.fail_over = FailOver(store=store, is_synchronous=self.settings.synchronous_standby)
        self.replicas = WatchReplicas(
            store=store,
            book=book,
            clock=self.clock,
            name=self.ids.new("gw"),
            key_ids=self.seals.key_ids,
            software=version("assent-gateway"),
        )
        announce = Announce(channels=self.channels, ids=self.ids, later=self.supervisor.later)
        self.break_glass = BreakGlass(store=store, book=book, announce=announce, seals=self.seals)
        self.keys = Keys(store=store, seals=self.seals, clock=self.clock)
        self.factors = Factors(store=store, book=book, seals=self.seals)
        self.seal_standing = SealStanding(store=store, seals=self.seals)
        self.edit = edit = Edit(store=store, book=book, judge=judge, channels=self.channels, seals=self.seals)
        self.review = review = Review(store=store, book=book, seals=self.seals, clock=self.clock)
        self.extend = Extend(store=store, book=book)
        self.reopen = Reopen(store=store, book=book, judge=judge, submit=self.submit)
        others: dict[Action, ClickTaker] = {
            **dict.fromkeys(ACTIONS, ConsultByClick(store=store, book=book, seals=self.seals)),
            Action.EDIT: EditByClick(edit=edit, store=store, book=book, seals=self.seals),
            Action.REVIEW: ReviewClick(store=store, book=book, seals=self.seals, review=review),
            Action.EXTEND: ExtendClick(store=store, book=book, seals=self.seals),
            Action.REOPEN: ReopenClick(store=store, book=book, seals=self.seals, reopen=self.reopen),
        }
        receive = Receive(store=store, book=book, seals=self.seals, others=others)
        self.clicks = AnswerClick(receive=receive, later=self.supervisor.later)
        self.pacing = Pacing(self.platforms, shared=None if store.dialect.name == "sqlite" else store)
        self.deliver = Deliver(
            store=store,
            book=book,
            channels=self.channels,
            pacing=self.pacing,
            seals=self.seals,
            give_up_after=self.settings.give_up_after,
            contact=self.contact,
        )
        self.watch_cards = WatchCards(store=store, book=book, channels=self.channels, pacing=self.pacing)
        self.confirm_accounts = ConfirmAccounts(store=store, book=book, contact=self.contact)
        self.fetch_groups = FetchGroups(store=store, book=book, channels=self.channels, clock=self.clock)
        self.renew_access = RenewAccess(
            store=store, seals=self.seals, clock=self.clock, ids=self.ids, later=self.supervisor.later
        )
        self.webhooks = SendWebhooks(
            store=store, book=book, clock=self.clock, send=Outbound(), every=self.settings.tick, spans=self.spans
        )
        self.work = ChannelWork(
            store=store,
            deliver=self.deliver,
            clicks=self.clicks,
            confirm_accounts=self.confirm_accounts,
            fetch_groups=self.fetch_groups,
            contact=self.contact,
            supervisor=self.supervisor,
            tick=self.settings.tick,
            spans=self.spans,
        )
        self.alarms = WatchAlarms(
            store=store,
            book=book,
            channels=self.channels,
            contact=self.contact,
            troubles=lambda: self.renew_access.troubles,
            announce=announce,
            name=self.replicas.id,
        )
        self.after_commit = AfterCommit(
            waiters=self.waiters,
            feed=self.feed,
            webhooks=self.webhooks,
            fail_over=self.fail_over,
            alarms=self.alarms,
            telemetry=self.telemetry,
            work=self.work,
        )
        self.configuration = Configuration(
            store=store,
            book=book,
            hooks=self.hooks,
            channels=self.channels,
            platforms=self.platforms,
            work=self.work,
            seal_standing=self.seal_standing,
            fetch_groups=self.fetch_groups,
            renew_access=self.renew_access,
            hide_secrets=lambda: hide_secrets_of(registry.loaded()),
        )
        self.services = Services(
            access=access_for(self.keys, book.has_person, settings.calls_per_second, settings.operations_token),
            submit=self.submit,
            wait=self.wait,
            waiters=self.waiters,
            read=self.read,
            review=review,
            feed=self.feed,
            decide=self.decide,
            edit=EditByApi(edit=edit, store=store, book=book, seals=self.seals),
            cancel=self.cancel,
            consult=Consult(store=store, book=book),
            extend=self.extend,
            reopen=self.reopen,
            claim=self.claim,
            take_when_decided=TakeWhenDecided(wait=self.wait, claim=self.claim),
            report=self.report,
            reconcile=Reconcile(store=store),
            lift=Lift(store=store, book=book),
            payees=Payees(store=store),
            run_hooks=self.run_hooks,
            settle_by_call=SettleByCall(store=store, book=book),
            standing=StandingApprovals(store=store, book=book),
            end_session_approvals=self.configuration.end_session_approvals,
            break_glass=self.break_glass,
            switches=self.switches,
            under_pause=UnderPause(store=store),
            clicks=self.clicks,
            channels=self.channels,
            contact=self.contact,
            keys=self.keys,
            factors=self.factors,
            clock=self.clock,
            telemetry=self.telemetry,
            replicas=self.replicas,
            schema=self.schema,
            renew_access=self.renew_access,
            webhooks=self.webhooks,
            max_call_bytes=self.settings.max_call_bytes,
            note_refusal=NoteRefusals(
                store=store, orgs=book.orgs, counted=lambda code: self.telemetry.access_refused.labels(code).inc()
            ),
        )

    @cached_property
    def console(self) -> ConsoleVerbs:
        """What the console's pages can call, built for the first of them."""
        from app.usecases.console_verbs import console_verbs

        return console_verbs(
            *(self.store, self.book, self.seals, self.clock, self.edit, self.reopen),
            review=self.review,
            factors=self.factors,
            switches=self.switches,
            contact=self.contact,
            keys=self.keys,
            head_file=self.heads.path,
            later=self.supervisor.later,
            issuers=self.prove.issuers,
            feed=self.feed,
        )

    def _timetable(self) -> Timetable:
        return Timetable(
            tick=self.settings.tick,
            poll=self.settings.poll,
            reload=self.configuration.use_if_changed,
            book=self.book,
            channels=self.channels,
            alarms=self.alarms,
            break_glass=self.break_glass,
            confirm_accounts=self.confirm_accounts,
            fail_over=self.fail_over,
            feed=self.feed,
            fetch_groups=self.fetch_groups,
            heads=self.heads,
            keys=self.keys,
            pace=self.pace,
            renew_access=self.renew_access,
            replicas=self.replicas,
            retain=self.retain,
            schema=self.schema,
            seal_standing=self.seal_standing,
            sweep=self.sweep,
            wait=self.wait,
            watch_cards=self.watch_cards,
            work=self.work,
            writes=self.writes,
        )

    def _build_hooks(self, loaded: LoadedPolicy) -> HookRegistry:
        counters, terms = CountCalls(self.store, loaded.policy.org), self._terms
        return build_hooks(loaded, Supplies(counters=counters, is_read_only=read_only_of_the_call, terms=terms))

    async def __aenter__(self) -> Self:
        """Open the store, the channels and the loops; what waits is rows. Raises RestoredError, with nothing open."""
        self.store.on_commit(self.after_commit)
        self.store.on_failure(self.telemetry.database_failed)
        self.store.start()
        try:
            await self.heads.check()
        except BaseException:
            await self.store.stop()
            raise
        await self.configuration.begin()
        await self.factors.renew_seals()
        await self.replicas()
        await self.heads.note()  # at once: a trail that the file does not know of looks like one that was cut off
        self._start_loops()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Stop in order: waiters are told to come back, loops end, accepted work is committed, connections close."""
        for each in (self.waiters, self.feed, self.timers):
            each.stop()
        await self.supervisor.stop()
        with suppress(AssentError):
            await self.lineage.flush()
        with suppress(AssentError):
            await self.replicas.leave()
            await self.keys.note_uses()
        await self.renew_access.finish()
        await self.configuration.close()
        await self.heads.note()
        await self.store.stop()

    def _start_loops(self) -> None:
        self.supervisor.keep("feed", self.feed.run)
        self.supervisor.keep("sessions", self.lineage.run)
        self.supervisor.keep("webhooks", self.webhooks.run)
        if is_postgres(url := self.settings.database_url):
            from app.workers.notifications import Notifications

            own, after = self.store.dialect.sender, self.after_commit
            listener = Notifications(libpq_url(url), own=own, heard=after.heard, missed=after.missed)
            self.supervisor.keep("notifications", listener.run)
        self.timetable.begin(self.timers)
