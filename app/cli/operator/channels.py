"""`assent channels test`: a true test card to one channel, followed until somebody presses it and the card says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import HERE, Config, Org

# Everything else is imported where it runs: see `app.cli.commands`.
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.domain.rules.policy import Policy
    from app.ports import Channel
    from app.usecases.asking.trial_card import CardProgress, TrialCard

channels_app = typer.Typer(no_args_is_help=True, help="Ways to reach people.")

_POSTED_WITHIN = 30.0
_SETTLED_WITHIN = 30.0
_EVERY = 0.5


@channels_app.command("test")
def try_channel(
    name: Annotated[str, typer.Argument(help="the channel, as in the configuration")],
    config: Config = HERE,
    org: Org = None,
    wait: Annotated[int, typer.Option(help="seconds to wait for somebody's press", min=1, max=86_400)] = 300,
) -> None:
    """Post a test card to a channel, and follow it: posted, shown, pressed by whom, settled.

    The card says that it is a test, and nothing runs because of it. A gateway must be running: it posts the card and
    hears the press. Exit code 1, with what to mend, where a step does not come.
    """
    from app.cli.beside_database import run_command

    run_command(_test(config, org, name, wait))


async def _test(config: Path, org: str | None, name: str, wait: int) -> None:
    from app.bulkhead.building import ChannelUnbuiltError, build_channel
    from app.cli.beside_database import beside_gateway, read_settings, seals_of
    from app.usecases.asking.trial_card import TrialCard
    from channels import registry

    async with beside_gateway(config, org) as at:
        await at.warn_of_secret()
        policy, given = at.loaded.policy, at.loaded.channel_settings
        if name not in given:
            typer.echo(f"there is no channel {name}: the file has {', '.join(given) or 'none'}", err=True)
            raise typer.Exit(code=2)
        try:
            channel = build_channel(registry.platforms(), at.loaded.kind_of(name), name, given[name])
        except ChannelUnbuiltError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(code=1) from None
        try:
            trial = TrialCard(store=at.store, seals=seals_of(read_settings()))
            good = await follow(trial, policy, channel, wait=wait, say=typer.echo)
        finally:
            await channel.close()
    if not good:
        raise typer.Exit(code=1)


async def follow(
    trial: TrialCard, policy: Policy, channel: Channel, *, wait: float, say: Callable[[str], object], by: str = ""
) -> bool:
    """Post a test card and say each step as it comes; False, with what to mend, where one does not."""
    from app.domain.text.language import Language
    from app.domain.text.visible import on_one_line
    from app.domain.trail.refused import refused_words

    request_id = await trial.post(policy, channel, by=by)
    say(f"a test card for {channel.name} is on its way, as {request_id}")
    found = await _until(trial, policy, request_id, lambda it: it.posted or it.over, _POSTED_WITHIN)
    if not found.posted:
        say(f"it was not posted: {on_one_line(found.failed)}" if found.failed else "it was not posted")
        say(f"    mend: {mend_for('not_posted')}")
        return False
    say(f"{channel.name} took it. Press Approve or Deny on it; nothing runs because of it")
    told = 0

    def moved(it: CardProgress) -> bool:
        return it.counted is not None or it.over or len(it.pressed) > told

    while (found := await _until(trial, policy, request_id, moved, wait)).counted is None:
        if len(found.pressed) == told:
            shown = (
                "the platform was asked and shows it" if found.shown else "whether the platform shows it is not known"
            )
            say(f"nobody pressed it; {shown}")
            say(f"    mend: {mend_for('not_pressed')}")
            return False
        for each in found.pressed[told:]:
            who = each.person or f"the account {on_one_line(str(each.account))}"
            say(f"pressed by {who}: it did not count: {refused_words(each.why, Language.EN)}")
            say(f"    mend: {mend_for(each.why)}")
        told = len(found.pressed)
    pressed = found.counted
    account = on_one_line(pressed.account or "-")
    say(f"pressed by {pressed.person} (account {account}): {pressed.verdict}, and it counted")
    found = await _until(trial, policy, request_id, lambda it: it.settled, _SETTLED_WITHIN)
    say("the card says how it ended: this channel works" if found.settled else "the card still shows its buttons")
    if not found.settled:
        say(f"    mend: {mend_for('not_settled')}")
    return found.settled


def mend_for(step: str) -> str:
    """Say what to do about a step that did not come, or about why a press did not count."""
    from app.domain.text.language import Language
    from app.domain.words.people.trial_card import MENDS
    from app.domain.words.say import say

    return say(Language.EN, f"trial.mend.{step if step in MENDS else 'other'}")


async def _until(
    trial: TrialCard, policy: Policy, request_id: str, came: Callable[[CardProgress], bool], within: float
) -> CardProgress:
    """Look until something came, or the time is over; return what was seen last."""
    import asyncio

    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while True:
        found = await trial.look(policy, request_id)
        if came(found) or loop.time() >= end:
            return found
        await asyncio.sleep(min(_EVERY, within))
