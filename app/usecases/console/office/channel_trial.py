"""A test card that is posted from a page, and how far it has come, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.errors import NotFoundError
from app.domain.rules.name_of import name_of
from app.domain.text.visible import visible
from app.domain.trail.refused import refused_words
from app.domain.words.people.trial_card import MENDS
from app.domain.words.say import say
from app.usecases.asking.trial_card import TrialCard
from app.usecases.console.rights import Page
from app.usecases.console.sessions import refusal_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.errors import AssentError
    from app.domain.identity.seals import Seals
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.asking.trial_card import CardProgress, Pressed
    from app.usecases.console.sessions import Right
    from app.usecases.platforms.channel_book import ChannelBook


class Step(Struct, frozen=True, kw_only=True):
    """One step of a test card. `good` None: it has not come yet. `mend`: what to do about one that went wrong."""

    good: bool | None
    text: str
    mend: str = ""


class ChannelTrial:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, seals: Seals, channels: ChannelBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._channels = channels
        self._trial = TrialCard(store=store, seals=seals)

    async def post(self, right: Right, name: str) -> str:
        """Post a test card to a channel and return its request's id.

        Raises UnauthenticatedError, ForbiddenError, NotFoundError and InvalidError.
        """
        await self._may(right)
        channel = self._channels.find(right.org, name)
        if channel is None:
            raise NotFoundError
        return await self._trial.post(self._book.current(right.org).policy, channel, by=right.person)

    async def look(self, right: Right, request_id: str, language: Language) -> tuple[str, tuple[Step, ...]]:
        """Return which channel a test card is for, and its steps. Raises what `post` raises."""
        await self._may(right)
        policy = self._book.current(right.org).policy
        found = await self._trial.look(policy, request_id)
        return visible(found.channel), tuple(_steps(found, policy, language))

    async def _may(self, right: Right) -> None:
        def unit(tx: Tx) -> bool | AssentError:
            return refusal_for(tx, right, Page.PAUSE) or True

        await self._store.read(unit, org=right.org)


def _steps(found: CardProgress, policy: Policy, language: Language) -> Iterator[Step]:
    channel = visible(found.channel)
    if not found.posted:
        text = say(language, "trial.not_posted", why=visible(found.failed)) if found.failed else ""
        yield Step(
            good=False if text else None,
            text=text or say(language, "trial.posting"),
            mend=say(language, "trial.mend.not_posted"),
        )
        return
    yield Step(good=True, text=say(language, "trial.posted", channel=channel))
    if found.shown:
        yield Step(good=True, text=say(language, "trial.shown"))
    for each in found.pressed:
        yield _refused(each, policy, language)
    if found.counted is None:
        yield Step(good=None, text=say(language, "trial.waits"), mend=say(language, "trial.mend.not_pressed"))
        return
    who = _who(found.counted, policy, language)
    yield Step(good=True, text=say(language, "trial.pressed", who=who))
    if found.settled:
        yield Step(good=True, text=say(language, "trial.settled"))
    else:
        yield Step(good=None, text=say(language, "trial.unsettled"), mend=say(language, "trial.mend.not_settled"))


def _refused(pressed: Pressed, policy: Policy, language: Language) -> Step:
    why = refused_words(pressed.why, language)
    return Step(
        good=False,
        text=say(language, "trial.refused", who=_who(pressed, policy, language), why=why),
        mend=say(language, f"trial.mend.{pressed.why if pressed.why in MENDS else 'other'}"),
    )


def _who(pressed: Pressed, policy: Policy, language: Language) -> str:
    if not pressed.person:
        return say(language, "trial.account", account=visible(pressed.account))
    return visible(name_of(policy, pressed.person, language))
