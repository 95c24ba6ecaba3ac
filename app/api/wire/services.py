"""What the routes can call: the use cases, and nothing beneath them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from app.api.wire.access import Access
    from app.ports import Clock
    from app.telemetry.figures import Telemetry
    from app.usecases.asking.lift import Lift
    from app.usecases.asking.reopen import Reopen
    from app.usecases.asking.submit import Submit
    from app.usecases.clicks.click import AnswerClick
    from app.usecases.deciding.cancel import Cancel
    from app.usecases.deciding.consult import Consult
    from app.usecases.deciding.decide_api import DecideByApi
    from app.usecases.deciding.edit_api import EditByApi
    from app.usecases.deciding.extend import Extend
    from app.usecases.executing.claim import Claim, Report
    from app.usecases.executing.reconcile import Reconcile
    from app.usecases.executing.settle_by_call import SettleByCall
    from app.usecases.executing.take_when_decided import TakeWhenDecided
    from app.usecases.hooks.run_hooks import RunHooks
    from app.usecases.pauses.switch import Switches
    from app.usecases.pauses.under_pause import UnderPause
    from app.usecases.payments.payees import Payees
    from app.usecases.permits.break_glass import BreakGlass
    from app.usecases.permits.session_approval import EndSessionApprovals
    from app.usecases.permits.standing import StandingApprovals
    from app.usecases.platforms.channel_book import ChannelBook
    from app.usecases.platforms.contact import Contact
    from app.usecases.platforms.renew_access import RenewAccess
    from app.usecases.platforms.send_webhooks import SendWebhooks
    from app.usecases.proving.factors import Factors
    from app.usecases.proving.note_refusals import NoteRefusals
    from app.usecases.reading.follow import Feed
    from app.usecases.reading.keys import Keys
    from app.usecases.reading.read import Read
    from app.usecases.reading.review import Review
    from app.usecases.reading.wait import Wait, Waiters
    from app.usecases.upkeep.watch_replicas import WatchReplicas
    from app.usecases.upkeep.watch_schema import WatchSchema


class Services(Struct, frozen=True, kw_only=True):
    """One field a use case. The container fills it."""

    access: Access
    submit: Submit
    wait: Wait
    waiters: Waiters
    read: Read
    review: Review
    feed: Feed
    decide: DecideByApi
    edit: EditByApi
    cancel: Cancel
    consult: Consult
    extend: Extend
    reopen: Reopen
    claim: Claim
    take_when_decided: TakeWhenDecided
    report: Report
    reconcile: Reconcile
    lift: Lift
    run_hooks: RunHooks
    settle_by_call: SettleByCall
    switches: Switches
    payees: Payees
    standing: StandingApprovals
    end_session_approvals: EndSessionApprovals
    break_glass: BreakGlass
    under_pause: UnderPause
    clicks: AnswerClick
    channels: ChannelBook
    contact: Contact
    keys: Keys
    factors: Factors
    clock: Clock
    telemetry: Telemetry
    note_refusal: NoteRefusals
    replicas: WatchReplicas
    schema: WatchSchema
    renew_access: RenewAccess
    webhooks: SendWebhooks
    max_call_bytes: int
