"""Answer an inbound call of a channel, whether it came by webhook or over a long connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, assert_never

import structlog

from app.domain.errors import UnavailableError
from app.domain.words.say import say
from app.failpoints import failpoint
from app.ports import (
    Challenge,
    ChannelRefusedError,
    ChannelUnavailableError,
    Click,
    ClickOutcome,
    ClickResult,
    HttpAnswer,
    Ignored,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from app.ports import Channel, Inbound
    from app.usecases.clicks.receive import Receive

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 2.4
"""When a platform has its answer at the latest. After three seconds it shows people an error, whatever happens then."""

_LEAST_SECONDS = 0.2


class AnswerClick:
    """The use case."""

    def __init__(self, *, receive: Receive, later: Callable[[Coroutine[object, object, None]], None]) -> None:
        """`later` runs what must not delay the answer: what is told privately after it."""
        self._receive = receive
        self._later = later
        self.answer_within = ANSWER_SECONDS

    async def __call__(self, org: str, channel: Channel, inbound: Inbound, *, spent: float = 0.0) -> HttpAnswer:
        """Return what the platform is told, in time. Never raises for what a person did.

        `spent`: seconds that reading the call took. What is not recorded by then (the database hangs) goes on behind
        the answer, which says so; what came of it is told privately, where the platform has a way to.
        """
        match inbound:
            case Challenge():
                return inbound.answer
            case Ignored():
                log.info("callback.ignored", channel=channel.name, why=inbound.why)
                return inbound.answer
            case Click():
                return await self._in_time(org, channel, inbound, max(_LEAST_SECONDS, self.answer_within - spent))
            case _:
                assert_never(inbound)

    async def _in_time(self, org: str, channel: Channel, click: Click, seconds: float) -> HttpAnswer:
        """Answer within so many seconds; the click itself is never cut off."""
        outcome: asyncio.Future[ClickOutcome | None] = asyncio.get_running_loop().create_future()
        self._later(_into(outcome, self._click(org, channel, click)))
        try:
            async with asyncio.timeout(seconds):
                told = await asyncio.shield(outcome)
        except TimeoutError:
            log.warning("click.late", channel=channel.name)
            self._later(_tell_late(channel, click, outcome))
            return channel.answer(click, _say(channel, "click.late"))
        if told is None:
            return HttpAnswer()
        self._later(_tell(channel, click, told))
        return channel.answer(click, told)

    async def _click(self, org: str, channel: Channel, click: Click) -> ClickOutcome | None:
        """Carry a click out and return what is said of it; None: a form is open now, which says everything."""
        failpoint("click.received")
        try:
            received = await self._receive(org, channel, click)
        except UnavailableError as error:
            log.error("click.unrecorded", channel=channel.name, why=error.detail)  # noqa: TRY400 - an outage, not a defect
            return _say(channel, "click.retry")
        failpoint("click.recorded")
        outcome = received.outcome
        log.info("click.answered", channel=channel.name, result=outcome.result.value)
        if received.form is None:
            return outcome
        try:
            # The one call that is made before the answer: the right to open a form dies after three seconds.
            await channel.open_form(click, received.form)
        except (ChannelUnavailableError, ChannelRefusedError) as error:
            log.warning("form.unopened", channel=channel.name, why=error.why)
            return _say(channel, "click.retry")
        return None


async def _into(
    outcome: asyncio.Future[ClickOutcome | None], work: Coroutine[object, object, ClickOutcome | None]
) -> None:
    """Let whoever waits for it have what comes of a click, also when that is an error."""
    try:
        told = await work
    except BaseException as error:
        if not outcome.done():
            outcome.set_exception(error if isinstance(error, Exception) else UnavailableError("the gateway stops"))
        if not isinstance(error, Exception):
            raise
    else:
        if not outcome.done():
            outcome.set_result(told)


async def _tell_late(channel: Channel, click: Click, outcome: asyncio.Future[ClickOutcome | None]) -> None:
    told = await outcome
    if told is not None:
        await _tell(channel, click, told)


async def _tell(channel: Channel, click: Click, outcome: ClickOutcome) -> None:
    try:
        await channel.tell(click, outcome)
    except (ChannelUnavailableError, ChannelRefusedError) as error:
        log.info("outcome.untold", channel=channel.name, why=error.why)


def _say(channel: Channel, key: str) -> ClickOutcome:
    """Say that nothing is recorded, or not yet: a person looks again, or presses again."""
    return ClickOutcome(result=ClickResult.RETRY, sentence=say(channel.language, key))
