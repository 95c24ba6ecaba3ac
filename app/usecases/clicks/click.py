"""Answer an inbound call of a channel, whether it came by webhook or over a long connection."""

from __future__ import annotations

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


class AnswerClick:
    """The use case."""

    def __init__(self, *, receive: Receive, later: Callable[[Coroutine[object, object, None]], None]) -> None:
        """`later` runs what must not delay the answer: what is told privately after it."""
        self._receive = receive
        self._later = later

    async def __call__(self, org: str, channel: Channel, inbound: Inbound) -> HttpAnswer:
        """Return what the platform is told. Never raises for what a person did."""
        match inbound:
            case Challenge():
                return inbound.answer
            case Ignored():
                log.info("callback.ignored", channel=channel.name, why=inbound.why)
                return HttpAnswer()
            case Click():
                return await self._click(org, channel, inbound)
            case _:
                assert_never(inbound)

    async def _click(self, org: str, channel: Channel, click: Click) -> HttpAnswer:
        failpoint("click.received")
        try:
            received = await self._receive(org, channel, click)
        except UnavailableError as error:
            log.error("click.unrecorded", channel=channel.name, why=error.detail)  # noqa: TRY400 - an outage, not a defect
            return self._answer(channel, click, _try_again(channel))
        failpoint("click.recorded")
        outcome = received.outcome
        log.info("click.answered", channel=channel.name, result=outcome.result.value)
        if received.form is not None:
            try:
                # The one call that is made before the answer: the right to open a form dies after three seconds.
                await channel.open_form(click, received.form)
            except (ChannelUnavailableError, ChannelRefusedError) as error:
                log.warning("form.unopened", channel=channel.name, why=error.why)
                return self._answer(channel, click, _try_again(channel))
            return HttpAnswer()
        return self._answer(channel, click, outcome)

    def _answer(self, channel: Channel, click: Click, outcome: ClickOutcome) -> HttpAnswer:
        self._later(_tell(channel, click, outcome))
        return channel.answer(click, outcome)


async def _tell(channel: Channel, click: Click, outcome: ClickOutcome) -> None:
    try:
        await channel.tell(click, outcome)
    except (ChannelUnavailableError, ChannelRefusedError) as error:
        log.info("outcome.untold", channel=channel.name, why=error.why)


def _try_again(channel: Channel) -> ClickOutcome:
    return ClickOutcome(result=ClickResult.RETRY, sentence=say(channel.language, "click.retry"))
