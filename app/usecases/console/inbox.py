"""What concerns one person: to decide, waiting for others, done, asked by them. Looking at it changes nothing.

What waits is sorted by risk, and then by the time that is left; what came last is not what matters most. However much
waits or was stored, a page looks at so many rows of each list and no more, and the next goes on behind them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from app.domain.card.card_for import instant_text
from app.domain.identity.press import drawn, render_press
from app.domain.lifecycle.wishes import may_answer
from app.domain.people.people import email_key
from app.domain.request.request import Risk, State
from app.domain.words.say import say
from app.storage.requests.concerning import (
    FIRST,
    NEWEST,
    Place,
    list_asked,
    list_decided,
    list_voted,
    list_waiting,
    read_all,
    stages_of,
)
from app.storage.sessions.switches import list_switches
from app.storage.trail.audit_chain import get_head
from app.usecases.console.glance import may_do
from app.usecases.console.rows import Group, Item, facts_together, groups_of, item_of
from app.usecases.pauses.pauses import pauses_of
from app.usecases.pauses.stop_paused import pause_shown
from app.usecases.proving.second_factor import has_factor
from app.usecases.reading.review import may_look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.domain.identity.seals import Seals
    from app.domain.request.request import ConfirmationRequest
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.sessions import Right

MOST_LOOKED = 128
"""So many requests that wait are looked at for one page."""

MOST_SHOWN = 20
"""So many of those to decide are on a page."""

BESIDE = 6
"""So many of each other list stand below them; on a page of its own, as many as are to decide on one."""

NAMES = ("decide", "others", "asked", "done")

WALKED = 2_000
"""So many requests that wait one page walks past, to find those that are for this person; the next goes on there."""

_STEP = 250

_WEIGHT = (Risk.HIGH, Risk.NORMAL, Risk.LOW)
_MARK = re.compile(r"(high|normal|low)\.([0-9]{1,18})\.([A-Za-z0-9_-]{1,80})")


class Mark(NamedTuple):
    """Where a page ends."""

    risk: Risk
    place: Place

    def __str__(self) -> str:
        """Return it as an address carries it."""
        return f"{self.risk.value}.{self.place.at}.{self.place.id}"


class Page(Struct, frozen=True, kw_only=True):
    """A page of one list. `onward` is where the next begins; "": there is none."""

    groups: tuple[Group, ...] = ()
    onward: str = ""

    @property
    def items(self) -> tuple[Item, ...]:
        """All rows."""
        return tuple(item for group in self.groups for item in group.items)


class Lists(Struct, frozen=True, kw_only=True):
    """The lists, each in its order; of those that a page does not show, none."""

    to_decide: Page
    others: Page = Page()
    done: Page = Page()
    asked: Page = Page()
    counted: int  # to decide, of those that were looked at
    open_ended: bool  # whether there may be more of them
    walked: int  # so many that wait were walked past for them
    head: int  # how far the trail had come: what is behind it has not been shown
    alone: str  # the one list that is shown; "" for all
    read_at: str


class Inbox:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals) -> None:
        """Take what it reads."""
        self._store = store
        self._book = book
        self._seals = seals

    async def __call__(self, right: Right, language: Language, *, alone: str = "", after: str = "") -> Lists:
        """Return all that concerns the person of a session, or one list `alone`, from where another page ended."""

        def unit(tx: Tx) -> Lists:
            look = _Look(tx, self._book.current(right.org), language, right, self._seals)
            return look.lists(alone if alone in NAMES else "", _mark(after))

        return await self._store.read(unit, org=right.org, long=True)

    async def rows(self, right: Right, language: Language, ids: Sequence[str]) -> dict[str, Item]:
        """Return some of what the person may look at as it stands now."""

        def unit(tx: Tx) -> dict[str, Item]:
            policy, now = self._book.current(right.org).policy, tx.now()
            found = (each for each in read_all(tx, ids) if may_look(each, policy, right.person, now=now))
            return {each.id: item_of(each, policy, language, now) for each in found}

        return await self._store.read(unit, org=right.org, long=True)


class _Look:
    """One look at what concerns a person."""

    def __init__(self, tx: Tx, loaded: LoadedPolicy, language: Language, right: Right, seals: Seals) -> None:
        self._tx = tx
        self._loaded = loaded
        self._policy = policy = loaded.policy
        self._language = language
        self._right = right
        self._seals = seals
        self._now = tx.now()
        self._me = email_key(right.person)
        self._paused = bool(pauses_of(list_switches(tx)))
        self._concerns: dict[str, bool] = {}
        self._denied_only: dict[str, str] = {}  # why this person cannot approve it, by its id
        self._walked = 0
        acting = policy.directory.acting_on(self._now.astimezone(policy.zone).date())
        self._names = {right.person, *(of for to, of in acting if to == right.person)}

    def lists(self, alone: str, after: Mark | None) -> Lists:
        """Read them."""
        mine, others, onward, more = self._to_decide(after if alone == "decide" else None)
        shown = mine[:MOST_SHOWN] if alone in {"", "decide"} else []
        first = after is None and alone == ""
        return Lists(
            to_decide=Page(groups=groups_of([self._pressable(each) for each in shown], self._policy), onward=onward),
            others=self._others(others, alone) if first or alone == "others" else Page(),
            done=self._newest(list_decided, self._right.person, alone, after) if first or alone == "done" else Page(),
            asked=self._newest(list_asked, self._me, alone, after) if first or alone == "asked" else Page(),
            counted=len(mine),
            open_ended=more,
            walked=self._walked,
            head=get_head(self._tx)[0],
            alone=alone,
            read_at=instant_text(self._now, self._policy.zone),
        )

    def _to_decide(self, after: Mark | None) -> tuple[list[ConfirmationRequest], list[ConfirmationRequest], str, bool]:
        """Return what is for this person, what of the same is not, where the next page begins, and if there is more."""
        marks, walked = self._waiting(after or Mark(Risk.HIGH, FIRST))
        more, marks = len(marks) > MOST_LOOKED or walked is not None, marks[:MOST_LOOKED]
        known = {mark.place.id: mark for mark in marks}
        mine: list[ConfirmationRequest] = []
        others: list[ConfirmationRequest] = []
        factor = has_factor(self._tx, self._right.person)
        for request in read_all(self._tx, list(known)):
            if not may_look(request, self._policy, self._right.person, now=self._now):
                continue
            may = may_do(
                self._tx, request, self._loaded, self._language, reader=self._right.person, now=self._now, factor=factor
            )
            if may.deny:
                mine.append(request)
                if not may.approve and may.why_not is not None:
                    self._denied_only[request.id] = may.why_not
            elif not may.withdraw and not self._asked(request):
                others.append(request)
        last = walked if walked is not None else marks[-1] if more else None
        beyond = known[mine[MOST_SHOWN - 1].id] if len(mine) > MOST_SHOWN else last
        return mine, others, str(beyond) if beyond else "", more

    def _waiting(self, start: Mark) -> tuple[list[Mark], Mark | None]:
        """Return one more than are looked at, in the order of their weight; and where the walk was ended, if it was."""
        found: list[Mark] = []
        for risk in _WEIGHT[_WEIGHT.index(start.risk) :]:
            behind = start.place if risk is start.risk else FIRST
            while len(found) <= MOST_LOOKED:
                if self._walked >= WALKED:
                    return found, Mark(risk, behind)
                step = min(_STEP, WALKED - self._walked)
                rows = list_waiting(self._tx, risk, behind=behind, since=self._now, most=step)
                found += [Mark(risk, row.place) for row in rows if self._may_concern(row.asked_of)]
                self._walked += len(rows)
                if len(rows) < step:
                    break
                behind = rows[-1].place
        return found[: MOST_LOOKED + 1], None

    def _may_concern(self, asked_of: str) -> bool:
        """Say whether this person may have a place in some stages. Many requests are asked of the same people."""
        known = self._concerns.get(asked_of)
        if known is None:
            names = (n for stage in stages_of(asked_of) for n in (*stage.of, *stage.open_to))
            known = self._concerns[asked_of] = any(map(self._stands_for_me, names))
        return known

    def _stands_for_me(self, name: str) -> bool:
        """Say whether a name may stand for this person; of one that is not the file's, nobody can say it."""
        directory = self._policy.directory
        if "@" not in name and name not in directory.groups:
            return True
        return not self._names.isdisjoint(directory.members(name))

    def _others(self, found: list[ConfirmationRequest], alone: str) -> Page:
        """Return what waits for others: what this person voted on, and what is not for them to decide."""
        most = MOST_SHOWN if alone else BESIDE
        voted = read_all(self._tx, list_voted(self._tx, self._right.person, most=MOST_LOOKED if alone else most + 1))
        rest = {each.id: each for each in (*voted, *found) if self._now < each.expires_at}
        return self._page(list(rest.values()), most, onward="others" if len(rest) > most and not alone else "")

    def _newest(self, read: Callable[..., list[Place]], person: str, alone: str, after: Mark | None) -> Page:
        most = MOST_SHOWN if alone else BESIDE
        places = read(self._tx, person, behind=after.place if after else NEWEST, most=most + 1)
        onward = str(Mark(Risk.NORMAL, places[most - 1])) if len(places) > most else ""
        return self._page(read_all(self._tx, [place.id for place in places]), most, onward=onward)

    def _page(self, found: Sequence[ConfirmationRequest], most: int, *, onward: str) -> Page:
        items = map(self._item, found[:most])
        return Page(groups=tuple(Group(items=(item,)) for item in items), onward=onward)

    def _item(self, request: ConfirmationRequest) -> Item:
        item = item_of(request, self._policy, self._language, self._now)
        is_asked = request.state is State.PENDING and request.open_question and may_answer(request, self._right.person)
        return replace(item, asks=say(self._language, "inbox.asks")) if is_asked else item

    def _asked(self, request: ConfirmationRequest) -> bool:
        return self._me in {email_key(who) for who in (request.call.requester, request.call.owner) if who}

    def _pressable(self, request: ConfirmationRequest) -> tuple[ConfirmationRequest, Item]:
        """Return a row; where it shows the whole call and this person may approve it, with what approves just that."""
        item = item_of(request, self._policy, self._language, self._now, warned=True)
        if request.id in self._denied_only:
            return request, replace(item, why_not=self._denied_only[request.id])
        facts = facts_together(
            request, self._policy, self._language, pause_shown(self._tx, request) if self._paused else None
        )
        if not facts:
            return request, item
        press = drawn(request, session=self._right.name, at=self._now)
        return request, replace(item, facts=facts, press=render_press(self._seals, press))


def _mark(text: str) -> Mark | None:
    found = _MARK.fullmatch(text)
    return Mark(Risk(found[1]), Place(int(found[2]), found[3])) if found else None
