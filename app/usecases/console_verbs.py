"""What the console's pages can call: the use cases, and nothing beneath them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.usecases.console.decide_page import DecideOnPage
from app.usecases.console.do_other import DoOther
from app.usecases.console.inbox import Inbox
from app.usecases.console.live import Live
from app.usecases.console.office.build import build_office
from app.usecases.console.office.channel_trial import ChannelTrial
from app.usecases.console.sessions import Sessions
from app.usecases.deciding.edit_api import EditByApi
from app.usecases.pauses.under_pause import UnderPause
from app.usecases.signing_in.elsewhere import Elsewhere
from app.usecases.signing_in.passkeys import Passkeys

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from app.domain.identity.seals import Seals
    from app.policies.file.policy_book import PolicyBook
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.usecases.asking.reopen import Reopen
    from app.usecases.console.office.build import Office
    from app.usecases.deciding.edit import Edit
    from app.usecases.pauses.switch import Switches
    from app.usecases.platforms.contact import Contact
    from app.usecases.proving.factors import Factors
    from app.usecases.reading.follow import Feed
    from app.usecases.reading.keys import Keys
    from app.usecases.reading.review import Review
    from app.usecases.signing_in.issuer import Issuers


class ConsoleVerbs(Struct, frozen=True, kw_only=True):
    """One field a use case."""

    sessions: Sessions
    inbox: Inbox
    decide_page: DecideOnPage
    do_other: DoOther
    office: Office
    passkeys: Passkeys
    elsewhere: Elsewhere
    factors: Factors
    switches: Switches
    under_pause: UnderPause
    contact: Contact
    live: Live
    trial: ChannelTrial


def console_verbs(  # noqa: PLR0917 - what the gateway runs on
    store: Store,
    book: PolicyBook,
    seals: Seals,
    clock: Clock,
    edit: Edit,
    reopen: Reopen,
    *,
    review: Review,
    factors: Factors,
    switches: Switches,
    contact: Contact,
    keys: Keys,
    head_file: Path | None,
    later: Callable[[Coroutine[object, object, None]], None],
    issuers: Issuers,
    feed: Feed,
) -> ConsoleVerbs:
    """Build them on what the gateway runs on; what it has already is handed in."""
    edit_by_form = EditByApi(edit=edit, store=store, book=book, seals=seals)
    return ConsoleVerbs(
        sessions=Sessions(store=store, book=book, seals=seals, clock=clock, review=review),
        inbox=Inbox(store=store, book=book, seals=seals),
        decide_page=DecideOnPage(store=store, book=book, seals=seals),
        do_other=DoOther(store=store, book=book, seals=seals, edit=edit_by_form, reopen=reopen),
        passkeys=Passkeys(store=store, book=book, seals=seals),
        elsewhere=Elsewhere(store=store, book=book, seals=seals, clock=clock, issuers=issuers),
        factors=factors,
        switches=switches,
        under_pause=UnderPause(store=store),
        contact=contact,
        office=build_office(store, book, seals, head_file=head_file, later=later, factors=factors, keys=keys),
        live=Live(store=store, book=book, feed=feed),
        trial=ChannelTrial(store=store, book=book, seals=seals, channels=contact.channels),
    )
