"""The next way to people when a card reaches nobody: their own direct messages, then the other channels of the file.

A way is opened when no copy of the card is with people, or on its way in time. Each is tried once. When none is left,
and one has failed for good while the others are late or have failed too, the request ends as undeliverable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from msgspec import Struct

from app.domain.errors import NotFoundError
from app.domain.lifecycle.lifecycle import NobodyReachable, advance
from app.domain.request.request import API, Audience
from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.domain.trail.audit import Kind, Record
from app.storage.cards.deliveries import list_deliveries
from app.storage.cards.undelivered import list_causes
from app.usecases.cards.notices import outstanding
from app.usecases.writing.carry_out import carry_out, plan_channels, plan_people

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_book import PolicyBook
    from app.storage.cards.deliveries import Delivery
    from app.storage.engine.transaction import Tx
    from app.usecases.platforms.channel_book import ChannelBook

log = structlog.get_logger(__name__)


class Ended(Struct, frozen=True, kw_only=True):
    """A request that nobody could be asked about, with each cause."""

    request_id: str
    why: str


class NextWays:
    """Knows the channels that are running and the people of today."""

    def __init__(self, *, book: PolicyBook, channels: ChannelBook) -> None:
        """Take what it works on."""
        self._book = book
        self._channels = channels

    def policy(self, org: str) -> Policy:
        """Return the org's policy; of an org whose file is gone, one in which there is nobody."""
        try:
            return self._book.current(org).policy
        except NotFoundError:
            return Policy(org=org, version="", default=Then.DENY)

    def chats(self, org: str) -> dict[str, str]:
        """Return the chat of each channel of an org that is running."""
        return {name: chat for (of, name), chat in self._channels.chats.items() if of == org}

    def open_next(self, tx: Tx, request: ConfirmationRequest, now: datetime, *, ending: bool) -> Ended | None:
        """Open the next way of a locked request if it needs one.

        If none is left, say so loudly; and if one was tried long enough (`ending`) and nobody can answer, end it.
        """
        if request.status.final or now >= request.expires_at or not request.card_channels:
            return None
        copies = [each for each in list_deliveries(tx, request.id) if each.audience is Audience.APPROVERS]
        causes = list_causes(tx, request.id)
        if any(copy.id not in causes for copy in copies):
            return None  # it is with people, or on its way in time
        chats = self.chats(tx.org)
        people = outstanding(request, self.policy(tx.org), now=now)
        for channels, to_people in _next_ways(request):
            running = [name for name in channels if name in chats]
            if to_people:
                opened = _own_copies(tx, request, running, people, copies)
            else:
                opened = plan_channels(tx, request, running, chats=chats)
            if opened:
                _tell(tx, request, running, opened if to_people else (), causes)
                return None
        why = _said(causes)
        if API in request.channels or not ending:
            # People may still decide with their keys, or what is late may still arrive.
            log.error("request.unreached", request=request.id, why=why)
            return None
        step = advance(request, NobodyReachable(why=why), now=now)
        carry_out(tx, request, step)
        return Ended(request_id=request.id, why=why) if step.refusal is None else None


def _next_ways(request: ConfirmationRequest) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield each way after the first cards, in order: the channels, and whether to people one by one."""
    yield request.card_channels, True
    for name in request.fallback:
        yield (name,), False
        yield (name,), True


def _own_copies(
    tx: Tx, request: ConfirmationRequest, channels: Sequence[str], people: frozenset[str], copies: Sequence[Delivery]
) -> list[str]:
    """Plan private copies for those who have none yet in these channels; return for whom."""
    reached: list[str] = []
    for channel in channels:
        had = {copy.person for copy in copies if copy.channel == channel}
        reached += plan_people(tx, request, sorted(people - had), channels=[channel])
    return sorted(set(reached))


def _tell(
    tx: Tx,
    request: ConfirmationRequest,
    channels: Sequence[str],
    people: Sequence[str],
    causes: Mapping[str, tuple[str, str]],
) -> None:
    why = _said(causes)
    facts = {"channels": list(channels), "people": list(people), "why": why}
    tx.append(Record(kind=Kind.CARD_REROUTED, actor="system", facts=facts), request_id=request.id)
    log.warning("request.rerouted", request=request.id, channels=list(channels), people=len(people), why=why)


def _said(causes: Mapping[str, tuple[str, str]]) -> str:
    """Name each cause once, with its channel."""
    return "; ".join(dict.fromkeys(f"{channel}: {why}" for channel, why in causes.values()))
