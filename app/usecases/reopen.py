"""Ask again for what nobody decided in time: the same call, judged by the guards and rules of now, as a new request.

The call that is judged is the agent's own: what people changed of it is theirs to change again. Where the rules no
longer ask, nothing is opened, and the person is told so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from app.domain.decision import Evidence
from app.domain.errors import AssentError, ConflictError, InvalidError, NotEligibleError, NotFoundError, TooManyError
from app.domain.lifecycle import DeadlinePassed, advance
from app.domain.policy import Allow, Ask, Deny
from app.domain.request import API, Status
from app.domain.visible import visible
from app.domain.words import say
from app.ports import ClickOutcome, ClickResult
from app.storage.reopened import find_successor
from app.storage.requests import find_request, lock_request
from app.usecases.asked_before import asked_again, sub_agent_of
from app.usecases.carry_out import carry_out
from app.usecases.decide import refused_click
from app.usecases.extend import may_ask_for
from app.usecases.pressed import Received
from app.usecases.recognise import Recognised, recognise
from app.usecases.submit import Asked

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.policy import Policy
    from app.domain.request import ConfirmationRequest
    from app.domain.seals import SealedClick, Seals
    from app.policies.policy_book import PolicyBook
    from app.ports import Channel, Click
    from app.storage.store import Store
    from app.storage.transaction import Tx
    from app.usecases.judge_call import JudgeCall, Submission
    from app.usecases.submit import Submit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expired:
    """A request that this person may ask again. `successor`: it was, as that one."""

    request: ConfirmationRequest
    person: str
    sub_agent: str | None
    successor: ConfirmationRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """What came of it: a request, opened now or `before`; or why none was, in the words of `key`."""

    request: ConfirmationRequest | None = None
    before: bool = False
    key: str = ""
    reason: str = ""


class Reopen:
    """The use case, for the card and for the API."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, judge: JudgeCall, submit: Submit) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._seals = seals
        self._judge = judge
        self._submit = submit

    async def __call__(self, org: str, channel: Channel, click: Click, sealed: SealedClick, /) -> Received:
        """Carry a click out. Raises UnavailableError when nothing could be recorded."""
        found = await self._store.write(lambda tx: self._pressed(tx, channel, click, sealed), org=org)
        if isinstance(found, Received):
            return found
        return Received(outcome=_told(channel, await self._again(found)))

    async def reopen(self, *, org: str, request_id: str, person: str) -> ConfirmationRequest:
        """Ask again, once, and return the new request: later calls return the same one, and so does a call that waits.

        `person` may decide the request, or asked for it. Raises NotFoundError, NotEligibleError, ConflictError (it is
        not expired, or by today's rules people need not, or must not, be asked), InvalidError, TooManyError,
        UnavailableError.
        """

        def unit(tx: Tx) -> _Expired | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return NotFoundError()
            request, now = _settled(tx, *locked)
            if not may_ask_for(request, person, self._policy(org), now):
                refused = refused_click(Evidence(channel=API), why="not_eligible", person=person)
                tx.append(refused, request_id=request.id)
                return NotEligibleError()
            if request.status is not Status.EXPIRED:
                return ConflictError(
                    f"the request is {request.state.value}: only what expired can be asked again",
                    state=request.state.value,
                )
            return _expired(tx, request, person)

        again = await self._again(await self._store.write(unit, org=org, about=request_id))
        if again.request is None:
            raise ConflictError(say(self._policy(org).language, f"click.{again.key}", reason=again.reason))
        return again.request

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy

    def _pressed(self, tx: Tx, channel: Channel, click: Click, sealed: SealedClick) -> _Expired | Received:
        policy = self._policy(tx.org)
        known = recognise(tx, channel, click, sealed, policy=policy, seals=self._seals)
        if not isinstance(known, Recognised):
            return Received(outcome=known)
        request, now = _settled(tx, known.request, known.now)
        if not may_ask_for(request, known.person, policy, now):
            return Received(outcome=known.refuse(tx, "not_eligible"))
        if request.status is not Status.EXPIRED:
            return Received(outcome=known.pressed.showing(request).standing())
        # The click is not counted as seen: whoever presses twice finds the same request.
        return _expired(tx, request, known.person)

    async def _again(self, expired: _Expired) -> _Again:
        """Judge the call as of now, outside of any transaction, and open a request for it if people are to be asked."""
        if expired.successor is not None:
            return _Again(request=expired.successor, before=True)
        try:
            judged = await self._judge(_submission(expired))
            ruling = judged.ruling
            match ruling:
                case Deny():
                    return _Again(key="now_denied", reason=ruling.reason)
                case Allow():
                    return _Again(key="now_allowed")
                case Ask():
                    again = replace(judged, predecessor_id=expired.request.id, asked_again_by=expired.person)
                    asked = await self._submit.ask_again(again, ruling)
                case _:
                    assert_never(ruling)
        except (InvalidError, TooManyError) as error:
            return _Again(key="not_asked_again", reason=error.detail)
        if not isinstance(asked, Asked):
            return _Again(key="now_denied", reason=asked.reason)
        return _Again(request=asked.request, before=asked.attached)


def _settled(tx: Tx, request: ConfirmationRequest, now: datetime) -> tuple[ConfirmationRequest, datetime]:
    """Return a locked request as it stands, expired if its time is over and the sweep has not come by."""
    return carry_out(tx, request, advance(request, DeadlinePassed(), now=now)), now


def _expired(tx: Tx, request: ConfirmationRequest, person: str) -> _Expired:
    successor_id = find_successor(tx, request.id)
    return _Expired(
        request=request,
        person=person,
        sub_agent=sub_agent_of(tx, request.id),
        successor=find_request(tx, successor_id) if successor_id else None,
    )


def _submission(expired: _Expired) -> Submission:
    """Build the agent's own call again, as it was asked: what people changed of it was theirs."""
    request, call = expired.request, expired.request.call
    arguments = call.arguments if request.proposed is None else request.proposed
    return asked_again(call, arguments, sub_agent=expired.sub_agent)


def _told(channel: Channel, again: _Again) -> ClickOutcome:
    language = channel.language
    if again.request is None:
        sentence = say(language, f"click.{again.key}", reason=visible(again.reason))
        return ClickOutcome(result=ClickResult.REFUSED, sentence=sentence)
    key, result = ("reopened_before", ClickResult.ALREADY) if again.before else ("reopened", ClickResult.RECORDED)
    return ClickOutcome(result=result, sentence=say(language, f"click.{key}", code=again.request.code))
