"""A card that tests a channel, on the very path of every other card; and how far it has come.

It is a true request, which says that it is a test: it is posted, pressed, counted and settled as all are. Nothing runs
because of it: its call names no tool, and the agent that asks has no key (`app/domain/call/trial_call.py`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.call.tool_call import binding_digest, call_digest
from app.domain.call.trial_call import TRIAL_AGENT, TRIAL_RULE, trial_call
from app.domain.errors import InvalidError, NotFoundError
from app.domain.lifecycle.lifecycle import opened
from app.domain.request.quorum import Stage
from app.domain.request.request import ConfirmationRequest, DeliveryStatus, Risk
from app.domain.trail.audit import Kind
from app.domain.words.say import say
from app.storage.cards.deliveries import list_deliveries
from app.storage.cards.unseen import is_seen
from app.storage.requests.requests import find_request
from app.storage.trail.audit_chain import list_of_request
from app.usecases.writing.carry_out import open_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.ports import Channel
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx

LASTS = timedelta(minutes=10)
MOST_PEOPLE = 200


class Pressed(Struct, frozen=True, kw_only=True):
    """One press on a test card. `why` says why it did not count: "" where it did."""

    account: str
    person: str  # "": nobody whom the file knows by this account
    verdict: str = ""
    why: str = ""


class CardProgress(Struct, frozen=True, kw_only=True):
    """How far a test card has come."""

    channel: str
    posted: bool = False
    shown: bool = False  # the platform was asked, and shows it, or does not say
    failed: str = ""  # why it could not be brought there
    pressed: tuple[Pressed, ...] = ()
    counted: Pressed | None = None
    settled: bool = False  # the card in the chat says how it ended
    over: bool = False


class TrialCard:
    """The use case."""

    def __init__(self, *, store: Store, seals: Seals) -> None:
        """Take what it works on."""
        self._store = store
        self._seals = seals

    async def post(self, policy: Policy, channel: Channel, *, by: str) -> str:
        """Have a test card posted; return its request's id. Raises InvalidError where nobody could press it."""
        people = tuple(sorted(policy.directory.groups)) or tuple(sorted(policy.directory.people))[:MOST_PEOPLE]
        if not people:
            raise InvalidError("the file has no people: nobody could press", path="people")

        def unit(tx: Tx) -> str:
            request = self._built(tx, policy, channel, people, by)
            open_request(tx, opened(request), targets={channel.name: channel.chat_id})
            return request.id

        return await self._store.write(unit, org=policy.org)

    async def look(self, policy: Policy, request_id: str) -> CardProgress:
        """Return how far a test card has come. Raises NotFoundError."""

        def unit(tx: Tx) -> CardProgress | NotFoundError:
            request = find_request(tx, request_id)
            return _told(tx, request) if request and request.call.agent == TRIAL_AGENT else NotFoundError()

        return await self._store.read(unit, org=policy.org)

    def _built(self, tx: Tx, policy: Policy, channel: Channel, people: tuple[str, ...], by: str) -> ConfirmationRequest:
        now, language = tx.now(), channel.language
        call = trial_call(policy.org, language)
        request_id, nonce = tx.ids.new("req"), tx.ids.new("n")
        bound = binding_digest(
            call, request_id=request_id, nonce=nonce, policy_version=policy.version, expires_at=now + LASTS
        )
        return ConfirmationRequest(
            id=request_id,
            call=call,
            call_digest=call_digest(call),
            digest=bound,
            nonce=nonce,
            code=self._seals.code(nonce=nonce, digest=bound),
            title=say(language, "trial.title"),
            pinned=(),
            sensitive=(),
            rule_id=TRIAL_RULE,
            policy_version=policy.version,
            why=f"{say(language, 'trial.why')} {by}".strip(),
            stages=(Stage(of=people, need=1),),
            channels=(channel.name,),
            claim_within=LASTS,
            lease=LASTS,
            created_at=now,
            expires_at=now + LASTS,
            risk=Risk.NORMAL,
        )


def _told(tx: Tx, request: ConfirmationRequest) -> CardProgress:
    copies = list_deliveries(tx, request.id)
    posted = any(each.message is not None for each in copies)
    pressed: list[Pressed] = []
    failed = ""
    for event in list_of_request(tx, request.id):
        facts = event.record.facts
        match event.record.kind:
            case Kind.CARD_FAILED | Kind.CARD_LATE:
                failed = _text(facts, "why")
            case Kind.CARD_POSTED:
                failed = ""
            case Kind.CLICK_REFUSED:
                who = event.record.actor if "@" in event.record.actor else ""
                pressed.append(Pressed(account=_text(facts, "account"), person=who, why=_text(facts, "why")))
            case _:
                pass
    counted = next(
        (
            Pressed(account=each.evidence.account_id or "", person=each.person, verdict=each.verdict.value)
            for each in request.decisions
        ),
        None,
    )
    final = request.settlement is not None
    return CardProgress(
        channel=request.channels[0],
        posted=posted,
        shown=any(is_seen(tx, each.id) for each in copies),
        failed=failed if not posted else "",
        pressed=tuple(pressed),
        counted=counted,
        settled=final and all(each.shown_version >= request.version or _is_left(each.status) for each in copies),
        over=final,
    )


def _is_left(status: DeliveryStatus) -> bool:
    return status is DeliveryStatus.UNDELIVERABLE


def _text(facts: Mapping[str, object], name: str) -> str:
    return str(facts.get(name) or "")
