"""What the cases stand on: a new stand-in for each, and the words in which they post, press and read."""

from __future__ import annotations

import asyncio
import functools
import inspect
from html import unescape
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pytest
import pytest_asyncio

from app.ports import Click, Post
from channels.conformance.cards import waiting_card
from channels.conformance.gateway import StandInGateway

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
    from contextlib import AbstractAsyncContextManager

    from app.domain.card.card import Card
    from app.ports import InboundCall, MessageRef
    from channels.conformance.harness import Harness

_PLACES: Final = 12


def bounded(case: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return a case that ends when its class has no patience left."""

    @functools.wraps(case)
    async def ended(self: Staged, **given: Any) -> None:
        async with asyncio.timeout(self.patience):
            await case(self, **given)

    return ended


class Staged:
    """Cases with a stand-in before them and a gateway behind the callback."""

    patience: ClassVar[float] = 30
    """Seconds, after which a case that hangs is red."""

    def __init_subclass__(cls) -> None:
        """Bound every case: a channel that neither succeeds nor fails would hang the suite."""
        for name, case in list(vars(cls).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(case):
                setattr(cls, name, bounded(case))

    def set_up(self) -> AbstractAsyncContextManager[Harness]:
        """Return a context in which a new harness stands; entered once for each test."""
        raise NotImplementedError

    @pytest_asyncio.fixture
    async def harness(self) -> AsyncGenerator[Harness]:
        """Set the stand-in up, with the channel before it."""
        async with self.set_up() as harness:
            yield harness

    @pytest.fixture
    def gateway(self, harness: Harness) -> Generator[StandInGateway]:
        """Stand behind the callback, where a channel may reject and must not break."""
        gateway = StandInGateway(harness)
        yield gateway
        assert gateway.broken == []


async def post(
    harness: Harness, card: Card | None = None, *, key: str = "dlv_1.1", chat_id: str | None = None
) -> MessageRef:
    """Post a card, into the channel's chat unless another is named."""
    chat = harness.channel.chat_id if chat_id is None else chat_id
    return await harness.channel.post(Post(card=card or waiting_card(), chat_id=chat, key=key))


async def approve(harness: Harness, ref: MessageRef, *, by: str = "") -> None:
    """Press Approve, as somebody who may unless another is named."""
    await harness.press(ref, "Approve", by=by or harness.account_id, filled={})


async def deny(harness: Harness, ref: MessageRef, reason: str) -> None:
    """Press Deny, with this reason."""
    await harness.press(ref, "Deny", by=harness.account_id, filled={"reason": reason})


async def pressed(gateway: StandInGateway) -> tuple[InboundCall, Click]:
    """Let somebody approve a new card; return the platform's call, and what the channel reads in it."""
    harness = gateway.harness
    await approve(harness, await post(harness))
    call = harness.calls[-1]
    click = harness.channel.read(call, now=harness.clock.now())
    assert isinstance(click, Click)
    return call, click


def missing(harness: Harness, ref: MessageRef, texts: Iterable[str]) -> list[str]:
    """Return which of these texts do not stand on the card; a long one may have been laid out in several pieces."""
    shown = harness.visible_text(ref)
    ways = [shown, unescape(shown), shown.replace("\n", ""), unescape(shown).replace("\n", "")]
    return [text for text in texts if not any(text in way for way in ways)]


def forgeries(harness: Harness, body: bytes) -> list[bytes]:
    """Return what a forger would make of a body: another's name on it, and a bit turned here and there."""
    own, other = harness.account_id.encode(), harness.other_account_id.encode()
    renamed = [body.replace(own, other)] if own in body else []
    places = range(0, len(body), max(1, len(body) // _PLACES))
    return renamed + [body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] for at in places]
