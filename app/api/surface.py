"""What the routes can call: the use cases, and nothing beneath them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.api.access import Access
    from app.ports import Clock
    from app.telemetry import Telemetry
    from app.usecases.break_glass import BreakGlass
    from app.usecases.cancel import Cancel
    from app.usecases.channel_book import ChannelBook
    from app.usecases.claim import Claim, Report
    from app.usecases.click import AnswerClick
    from app.usecases.consult import Consult
    from app.usecases.decide_api import DecideByApi
    from app.usecases.edit_api import EditByApi
    from app.usecases.extend import Extend
    from app.usecases.factors import Factors
    from app.usecases.follow import Feed
    from app.usecases.keys import Keys
    from app.usecases.lift import Lift
    from app.usecases.payees import Payees
    from app.usecases.read import Read
    from app.usecases.reconcile import Reconcile
    from app.usecases.reopen import Reopen
    from app.usecases.review import Review
    from app.usecases.run_hooks import RunHooks
    from app.usecases.settle_by_call import SettleByCall
    from app.usecases.standing import StandingApprovals
    from app.usecases.submit import Submit
    from app.usecases.switch import Switches
    from app.usecases.under_pause import UnderPause
    from app.usecases.wait import Wait, Waiters


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
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
    report: Report
    reconcile: Reconcile
    lift: Lift
    run_hooks: RunHooks
    settle_by_call: SettleByCall
    switches: Switches
    payees: Payees
    standing: StandingApprovals
    break_glass: BreakGlass
    under_pause: UnderPause
    clicks: AnswerClick
    channels: ChannelBook
    keys: Keys
    factors: Factors
    clock: Clock
    telemetry: Telemetry
