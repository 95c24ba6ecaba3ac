"""Ask again for what nobody decided in time: the same call, judged by the guards and rules of now, as a new request.

The call that is judged is the agent's own: what people changed of it is theirs to change again. Where the rules no
longer ask, nothing is opened, and the person is told so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.exhibit import sent_again
from app.domain.errors import AssentError, ConflictError, InvalidError, NotEligibleError, TooManyError
from app.domain.lifecycle.lifecycle import DeadlinePassed, advance
from app.domain.request.decision import Evidence
from app.domain.request.request import API, Status
from app.domain.rules.policy import Allow, Ask, Deny
from app.domain.words.say import say
from app.storage.exhibits.exhibits import list_contents
from app.storage.requests.reopened import find_successor
from app.storage.requests.requests import find_request, lock_request
from app.storage.requests.sealing import why_missing
from app.usecases.asking.submit import Asked
from app.usecases.judging.asked_before import asked_again, sub_agent_of
from app.usecases.voters.may_ask_for import may_ask_for
from app.usecases.writing.carry_out import carry_out
from app.usecases.writing.refused_click import refused_click

if TYPE_CHECKING:
    from datetime import datetime

    from app.domain.call.submission import Submission
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.asking.submit import Submit
    from app.usecases.judging.judge_call import JudgeCall


class Expired(Struct, frozen=True, kw_only=True):
    """A request that this person may ask again. `successor`: it was, as that one."""

    request: ConfirmationRequest
    person: str
    sub_agent: str | None
    successor: ConfirmationRequest | None
    evidence: tuple[dict[str, Any], ...] = ()


class AskedAgain(Struct, frozen=True, kw_only=True):
    """What came of it: a request, opened now or `before`; or why none was, in the words of `key`."""

    request: ConfirmationRequest | None = None
    before: bool = False
    key: str = ""
    reason: str = ""


class Reopen:
    """The use case, by API. A click comes in through `clicks/reopen_click.py` and ends in the same `again`."""

    def __init__(self, *, store: Store, book: PolicyBook, judge: JudgeCall, submit: Submit) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._judge = judge
        self._submit = submit

    async def reopen(self, *, org: str, request_id: str, person: str) -> ConfirmationRequest:
        """Ask again, once, and return the new request: later calls return the same one, and so does a call that waits.

        `person` may decide the request, or asked for it. Raises NotFoundError, NotEligibleError, ConflictError (it is
        not expired, or by today's rules people need not, or must not, be asked), InvalidError, TooManyError,
        UnavailableError.
        """

        def unit(tx: Tx) -> Expired | AssentError:
            locked = lock_request(tx, request_id)
            if locked is None:
                return why_missing(tx, request_id)
            request, now = as_it_stands(tx, *locked)
            if not may_ask_for(request, person, self._policy(org), now):
                refused = refused_click(Evidence(channel=API), why="not_eligible", person=person)
                tx.append(refused, request_id=request.id)
                return NotEligibleError()
            if request.status is not Status.EXPIRED:
                return ConflictError(
                    f"the request is {request.state.value}: only what expired can be asked again",
                    state=request.state.value,
                )
            return expired(tx, request, person)

        again = await self.again(await self._store.write(unit, org=org, about=request_id))
        if again.request is None:
            raise ConflictError(say(self._policy(org).language, f"click.{again.key}", reason=again.reason))
        return again.request

    def _policy(self, org: str) -> Policy:
        return self._book.current(org).policy

    async def again(self, over: Expired) -> AskedAgain:
        """Judge the call as of now, outside of any transaction, and open a request for it if people are to be asked."""
        if over.successor is not None:
            return AskedAgain(request=over.successor, before=True)
        try:
            judged = await self._judge(_submission(over))
            ruling = judged.ruling
            match ruling:
                case Deny():
                    return AskedAgain(key="now_denied", reason=ruling.reason)
                case Allow():
                    return AskedAgain(key="now_allowed")
                case Ask():
                    again = replace(judged, predecessor_id=over.request.id, asked_again_by=over.person)
                    asked = await self._submit.ask_again(again, ruling)
                case _:
                    assert_never(ruling)
        except (InvalidError, TooManyError) as error:
            return AskedAgain(key="not_asked_again", reason=error.detail)
        if not isinstance(asked, Asked):
            return AskedAgain(key="now_denied", reason=asked.reason)
        return AskedAgain(request=asked.request, before=asked.attached)


def as_it_stands(tx: Tx, request: ConfirmationRequest, now: datetime) -> tuple[ConfirmationRequest, datetime]:
    """Return a locked request as it stands, expired if its time is over and the sweep has not come by."""
    return carry_out(tx, request, advance(request, DeadlinePassed(), now=now)), now


def expired(tx: Tx, request: ConfirmationRequest, person: str) -> Expired:
    """Return what is to be asked again, and what came of it before."""
    successor_id = find_successor(tx, request.id)
    return Expired(
        request=request,
        person=person,
        sub_agent=sub_agent_of(tx, request.id),
        successor=find_request(tx, successor_id) if successor_id else None,
        evidence=_as_sent(tx, request) if request.call.evidence else (),
    )


def _as_sent(tx: Tx, request: ConfirmationRequest) -> tuple[dict[str, Any], ...]:
    """Return a request's evidence as it was sent; of a file that is not what it was, what nobody takes."""
    contents = list_contents(tx, request.id, request.call.evidence)
    evidence = enumerate(request.call.evidence, start=1)
    return tuple(sent_again(each, contents.get(number, b"")) for number, each in evidence)


def _submission(expired: Expired) -> Submission:
    """Build the agent's own call again, as it was asked: what people changed of it was theirs."""
    request, call = expired.request, expired.request.call
    arguments = call.arguments if request.proposed is None else request.proposed
    return asked_again(call, arguments, sub_agent=expired.sub_agent, evidence=expired.evidence)
