"""An app with token rotation: its access ends after twelve hours, and what renews it is good for one exchange."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from app.domain.identity.seals import Seals
from app.identifiers import RandomIds
from app.ports import ChannelRefusedError, ChannelUnavailableError, Notice
from app.usecases.platforms.renew_access import RenewAccess
from app.workers.supervisor import Supervisor
from channels.slack.channel import SlackChannel
from channels.slack.settings import SlackSettings
from channels.slack.simulator.rotation import METHOD
from channels.slack.simulator.simulator import Fault, SlackSimulator
from tests.fixtures.patience import HANGS
from tests.requirements import requirement
from tests.storage.rig import ManualClock, behind, look, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from app.storage.engine.store import Store

SECRET = "a-master-secret-of-thirty-two-characters"
HOUR = timedelta(hours=1)
WORD = Notice(text="A word", mentions=(), key="word-1")


@dataclass(slots=True)
class Replica:
    """One gateway, as far as its channel's access is concerned."""

    store: Store
    access: RenewAccess
    channel: SlackChannel

    async def speak(self) -> None:
        """Make a call that needs a token."""
        await self.channel.announce(self.channel.chat_id, WORD)

    async def refused(self) -> str:
        """Make such a call, which fails; return what is said of it."""
        with pytest.raises((ChannelRefusedError, ChannelUnavailableError)) as caught:
            await self.speak()
        return str(caught.value)

    async def tick(self) -> None:
        """Look whether something is due, as the scheduler does."""
        await self.access()


@asynccontextmanager
async def replica(
    url: str,
    clock: ManualClock,
    settings: dict[str, object],
    *,
    secrets: tuple[str, ...] = (SECRET,),
    org: str = "acme",
) -> AsyncIterator[Replica]:
    """Start one; several may be at work on one database."""
    seals, supervisor = Seals(secrets), Supervisor()
    async with open_store(url, clock, seals=seals) as store:
        access = RenewAccess(store=store, seals=seals, clock=clock, ids=RandomIds(), later=supervisor.later)
        channel = SlackChannel("pay-slack", SlackSettings.model_validate(settings), call_seconds=HANGS)
        access.serve(org, channel)
        yield Replica(store, access, channel)
        await access.finish()
        await supervisor.stop()
        await channel.close()


@dataclass(slots=True)
class Workspace:
    """The stand-in, whose app's tokens rotate."""

    slack: SlackSimulator
    clock: ManualClock
    settings: dict[str, object]

    def reinstalled(self) -> dict[str, object]:
        """Return the settings with a new refresh token, as somebody pastes them."""
        return self.settings | self.slack.rotate_tokens()

    @property
    def exchanges(self) -> int:
        """How many refresh tokens were spent."""
        return self.slack.rotation.exchanges

    @property
    def attempts(self) -> int:
        """How often Slack was asked to exchange one."""
        return len(self.slack.calls(METHOD))

    @property
    def words(self) -> int:
        """How much was said in the channel."""
        return len(self.slack.view(self.slack.room.id))


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    clock = ManualClock()
    async with SlackSimulator(clock=clock) as slack:
        settings = slack.configuration()
        del settings["bot_token"]
        yield Workspace(slack, clock, settings | slack.rotate_tokens())


def told(logged: list[Any], event: str) -> list[Any]:
    return [line for line in logged if line["event"] == event]


@requirement("S-80")
async def test_the_first_call_gets_a_pair_and_the_next_ones_use_it(database_url: str, workspace: Workspace) -> None:
    async with replica(database_url, workspace.clock, workspace.settings) as one:
        for _ in range(3):
            await one.speak()
    assert (workspace.words, workspace.exchanges) == (3, 1)


@requirement("S-80")
async def test_after_a_restart_the_pair_is_there(database_url: str, workspace: Workspace) -> None:
    for _ in range(3):
        async with replica(database_url, workspace.clock, workspace.settings) as one:
            await one.speak()
    assert (workspace.words, workspace.exchanges) == (3, 1)


@requirement("S-80")
async def test_it_is_renewed_two_hours_before_it_ends_and_nobody_waits(database_url: str, workspace: Workspace) -> None:
    async with replica(database_url, workspace.clock, workspace.settings) as one:
        for hours, exchanges in ((0, 1), (9, 1), (2, 2), (9, 2), (2, 3)):
            workspace.clock.advance(hours * HOUR)
            await one.tick()
            assert workspace.exchanges == exchanges
            await one.speak()
    assert workspace.words == 5


@requirement("S-80")
async def test_two_replicas_at_once_make_one_exchange_and_both_go_on_with_it(
    database_url: str, workspace: Workspace
) -> None:
    workspace.slack.world.late[METHOD] = asyncio.Event()
    async with (
        replica(database_url, workspace.clock, workspace.settings) as one,
        replica(database_url, workspace.clock, workspace.settings) as two,
    ):
        both = asyncio.gather(*(each.speak() for each in (one, two) for _ in range(4)))
        async with asyncio.timeout(HANGS):
            while not workspace.attempts:  # noqa: ASYNC110 - the stand-in has no event for it
                await asyncio.sleep(0.01)
        workspace.slack.world.late[METHOD].set()
        await both
        assert (workspace.words, workspace.exchanges, workspace.attempts) == (8, 1, 1)
        workspace.clock.advance(11 * HOUR)
        await asyncio.gather(one.tick(), two.tick())
        assert (workspace.exchanges, workspace.attempts) == (2, 2)
        await asyncio.gather(one.speak(), two.speak())
    assert (workspace.words, workspace.attempts) == (10, 2)


@requirement("S-80")
async def test_who_goes_on_with_a_token_that_another_replica_replaced_reads_the_new_one(
    database_url: str, workspace: Workspace
) -> None:
    async with (
        replica(database_url, workspace.clock, workspace.settings) as one,
        replica(database_url, workspace.clock, workspace.settings) as two,
    ):
        await one.speak()
        await two.speak()
        workspace.clock.advance(11 * HOUR)
        await one.tick()  # and the token that `two` remembers is revoked
        await two.speak()
    assert (workspace.words, workspace.exchanges) == (3, 2)


@requirement("S-80")
@pytest.mark.parametrize("code", ["token_expired", "token_revoked", "invalid_auth"])
async def test_a_token_that_ends_under_a_call_is_replaced_and_the_call_made_once_more(
    sqlite_url: str, workspace: Workspace, code: str
) -> None:
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        await one.speak()
        workspace.clock.advance(timedelta(minutes=1))
        token = workspace.slack.world.tokens[workspace.slack.rotation.access]
        match code:
            case "token_expired":
                token.until = workspace.clock.now()
            case "token_revoked":
                token.revoked = True
            case _:
                workspace.slack.world.tokens["xoxe.xoxb-of-nobody"] = workspace.slack.world.tokens.pop(
                    workspace.slack.rotation.access
                )
                workspace.slack.rotation.access = "xoxe.xoxb-of-nobody"
        await one.speak()
        assert (workspace.words, workspace.exchanges) == (2, 2)
        assert len(workspace.slack.calls("chat.postMessage")) == 3


async def test_a_second_refusal_of_one_call_is_told_and_nobody_asks_again_and_again(
    sqlite_url: str, workspace: Workspace
) -> None:
    workspace.slack.world.tampers["chat.postMessage"] = lambda _: {"ok": False, "error": "token_revoked"}
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        for _ in range(5):
            with pytest.raises((ChannelRefusedError, ChannelUnavailableError)):
                await one.speak()
    assert workspace.exchanges <= 2


# --- what is lost -----------------------------------------------------------------------------------------------------


@requirement("S-80")
@pytest.mark.parametrize("fault", [Fault.RESET_AFTER_RECEIVE, Fault.BROKEN_JSON])
async def test_an_answer_that_never_arrives_cuts_the_channel_off_until_a_new_token_is_pasted(
    database_url: str, workspace: Workspace, fault: Fault
) -> None:
    workspace.slack.fail_next(METHOD, fault)
    with structlog.testing.capture_logs() as logged:
        async with replica(database_url, workspace.clock, workspace.settings) as one:
            assert "connection to Slack was lost" in await one.refused() or fault is Fault.BROKEN_JSON
            workspace.clock.advance(timedelta(minutes=1))
            for _ in range(3):
                assert "cut off: oauth.v2.access: invalid_refresh_token" in await one.refused()
            await one.tick()
            [trouble] = one.access.troubles
            assert (trouble.org, trouble.channel, trouble.lost) == ("acme", "pay-slack", True)
        assert workspace.attempts == 2  # nobody hammers at what is lost
    [lost] = told(logged, "access.lost")
    assert lost["log_level"] == "critical"
    assert "refresh_token" in lost["mend"]
    async with replica(database_url, workspace.clock, workspace.reinstalled()) as mended:
        await mended.speak()
        await mended.tick()
        assert mended.access.troubles == ()
    assert workspace.words == 1


@requirement("S-80")
async def test_a_renewal_whose_answer_is_lost_is_not_asked_for_again_and_again(
    database_url: str, workspace: Workspace
) -> None:
    async with replica(database_url, workspace.clock, workspace.settings) as one:
        await one.speak()
        workspace.clock.advance(11 * HOUR)
        workspace.slack.fail_next(METHOD, Fault.RESET_AFTER_RECEIVE)
        for _ in range(5):
            await one.tick()
            workspace.clock.advance(timedelta(minutes=1))
            assert "cut off" in await one.refused() or workspace.attempts == 2
        assert workspace.attempts == 3  # the first pair, the answer that was lost, and the one that says so
    async with replica(database_url, workspace.clock, workspace.reinstalled()) as mended:
        await mended.speak()
    assert workspace.words == 2


@requirement("S-80")
@pytest.mark.parametrize("fault", [Fault.RESET_BEFORE, Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.RATE_LIMITED])
async def test_where_slack_did_nothing_the_same_token_is_tried_again(
    sqlite_url: str, workspace: Workspace, fault: Fault
) -> None:
    workspace.slack.fail_next(METHOD, fault)
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        for _ in range(3):
            with pytest.raises(ChannelUnavailableError):
                await one.speak()
        assert workspace.attempts == 1  # not more often than every ten seconds
        await one.tick()
        assert [trouble.lost for trouble in one.access.troubles] == [False]
        workspace.clock.advance(timedelta(minutes=1))
        await one.speak()
        await one.tick()
        assert one.access.troubles == ()
    assert (workspace.words, workspace.exchanges) == (1, 1)


@requirement("S-80")
async def test_an_answer_that_comes_late_is_not_given_up_with_whoever_waited(
    sqlite_url: str, workspace: Workspace
) -> None:
    workspace.slack.world.late[METHOD] = asyncio.Event()
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one.speak(), 0.3)
        workspace.slack.world.late[METHOD].set()
        await one.access.finish()
        await one.speak()
    assert (workspace.words, workspace.exchanges, workspace.attempts) == (1, 1, 1)


@requirement("S-80")
async def test_an_answer_that_comes_after_its_lease_leaves_the_newer_pair_alone(
    database_url: str, workspace: Workspace
) -> None:
    held = workspace.slack.world.late[METHOD] = asyncio.Event()
    async with replica(database_url, workspace.clock, workspace.settings) as slow:
        speaking = asyncio.gather(slow.speak(), return_exceptions=True)
        async with asyncio.timeout(HANGS):
            while not workspace.attempts:  # noqa: ASYNC110 - the stand-in has no event for it
                await asyncio.sleep(0.01)
        del workspace.slack.world.late[METHOD]
        workspace.clock.advance(timedelta(seconds=61))  # the lease of whoever waits for an answer
        newer = workspace.reinstalled()
        async with replica(database_url, workspace.clock, newer) as other:
            await other.speak()
        held.set()
        await slow.access.finish()
        await speaking
    async with replica(database_url, workspace.clock, newer) as after:
        for _ in range(2):
            await after.speak()
    assert workspace.exchanges == 2


@requirement("S-80")
async def test_a_channel_that_is_closed_waits_for_the_answer_that_is_under_way(
    sqlite_url: str, workspace: Workspace
) -> None:
    workspace.slack.world.late[METHOD] = asyncio.Event()
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        speaking = asyncio.gather(one.speak(), return_exceptions=True)
        async with asyncio.timeout(HANGS):
            while not workspace.attempts:  # noqa: ASYNC110 - the stand-in has no event for it
                await asyncio.sleep(0.01)
        closing = asyncio.gather(one.channel.close())
        await asyncio.sleep(0.05)
        assert not closing.done()
        workspace.slack.world.late[METHOD].set()
        await closing
        await speaking
        await one.access.finish()
    async with replica(sqlite_url, workspace.clock, workspace.settings) as other:
        await other.speak()
    assert workspace.attempts == 1


@requirement("S-80")
async def test_a_wrong_client_secret_spends_nothing_and_is_named(sqlite_url: str, workspace: Workspace) -> None:
    wrong = workspace.settings | {"client_secret": "0" * 32}
    async with replica(sqlite_url, workspace.clock, wrong) as one:
        for _ in range(3):
            with pytest.raises(ChannelUnavailableError, match="bad_client_secret; client_secret is wrong"):
                await one.speak()
        assert workspace.attempts == 1
    workspace.clock.advance(timedelta(minutes=2))
    async with replica(sqlite_url, workspace.clock, workspace.settings) as mended:
        await mended.speak()
    assert (workspace.words, workspace.exchanges) == (1, 1)


# --- half answers -----------------------------------------------------------------------------------------------------


def without(*names: str) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda answer: {name: value for name, value in answer.items() if name not in names}


def nulled(*names: str) -> Callable[[dict[str, object]], dict[str, object]]:
    return lambda answer: {name: None if name in names else value for name, value in answer.items()}


@requirement("S-80", "F-46")
@pytest.mark.parametrize("tamper", [without, nulled])
async def test_an_answer_without_access_still_gives_what_renews_it(
    sqlite_url: str, workspace: Workspace, tamper: Callable[..., Any]
) -> None:
    workspace.slack.world.tampers[METHOD] = tamper("access_token")
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        with pytest.raises(ChannelUnavailableError):
            await one.speak()
        del workspace.slack.world.tampers[METHOD]
        workspace.clock.advance(timedelta(minutes=1))
        await one.speak()
    assert (workspace.words, workspace.exchanges) == (1, 2)


@requirement("S-80", "F-46")
@pytest.mark.parametrize("tamper", [without, nulled])
async def test_an_access_without_what_renews_it_is_used_to_its_end_and_said_at_once(
    sqlite_url: str, workspace: Workspace, tamper: Callable[..., Any]
) -> None:
    workspace.slack.world.tampers[METHOD] = tamper("refresh_token")
    with structlog.testing.capture_logs() as logged:
        async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
            await one.speak()
            await one.tick()
            assert [trouble.lost for trouble in one.access.troubles] == [True]
            workspace.clock.advance(11 * HOUR)
            await one.tick()
            await one.speak()
            workspace.clock.advance(HOUR)
            with pytest.raises(ChannelRefusedError, match="cut off"):
                await one.speak()
    assert told(logged, "access.half_renewed")
    assert (workspace.words, workspace.attempts) == (2, 1)


@requirement("S-80", "F-46")
@pytest.mark.parametrize("lasts", [None, 0, -1, True, "43200", 10**9])
async def test_a_span_that_is_no_span_is_taken_for_little(sqlite_url: str, workspace: Workspace, lasts: object) -> None:
    workspace.slack.world.tampers[METHOD] = lambda answer: answer | {"expires_in": lasts}
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        await one.speak()
        workspace.clock.advance(12 * HOUR)
        await one.speak()
    assert (workspace.words, workspace.exchanges) == (2, 2)


@requirement("S-80", "F-46")
@pytest.mark.parametrize(
    "tamper",
    [without("access_token", "refresh_token"), nulled("access_token", "refresh_token"),
     lambda answer: answer | {"access_token": 7, "refresh_token": ["xoxe-1-a"]},
     lambda answer: answer | {"access_token": "xoxb-\n", "refresh_token": "xoxp-of-a-user"}],
    ids=["absent", "null", "no texts", "no tokens"],
)  # fmt: skip
async def test_an_answer_without_any_token_is_no_answer(
    sqlite_url: str, workspace: Workspace, tamper: Callable[..., Any]
) -> None:
    workspace.slack.world.tampers[METHOD] = tamper
    async with replica(sqlite_url, workspace.clock, workspace.settings) as one:
        with pytest.raises(ChannelUnavailableError, match="holds no tokens"):
            await one.speak()
        workspace.clock.advance(timedelta(minutes=1))
        with pytest.raises(ChannelRefusedError, match="cut off"):
            await one.speak()


# --- what the file gives ----------------------------------------------------------------------------------------------


@requirement("S-80")
async def test_a_token_of_the_file_is_spent_once_whoever_still_has_it(database_url: str, workspace: Workspace) -> None:
    """While files differ for a moment, the replica with the older one uses what the newer one got."""
    before = workspace.settings
    async with replica(database_url, workspace.clock, before) as old:
        await old.speak()
        after = workspace.reinstalled()
        async with replica(database_url, workspace.clock, after) as new:
            workspace.clock.advance(timedelta(minutes=1))
            await new.speak()
            for _ in range(2):
                workspace.clock.advance(timedelta(minutes=1))
                await old.tick()
                await old.speak()
                await new.speak()
        workspace.clock.advance(timedelta(minutes=1))
        async with replica(database_url, workspace.clock, before) as late:
            await late.speak()
    assert (workspace.words, workspace.exchanges, workspace.attempts) == (7, 2, 2)


@requirement("S-80")
async def test_a_spent_token_in_the_file_does_not_end_a_pair_that_is_good(
    database_url: str, workspace: Workspace
) -> None:
    async with replica(database_url, workspace.clock, workspace.settings) as one:
        await one.speak()
    workspace.clock.advance(timedelta(minutes=1))
    async with replica(database_url, workspace.clock, workspace.settings | {"refresh_token": "xoxe-1-mistyped"}) as two:
        await two.speak()
        workspace.clock.advance(11 * HOUR)
        await two.tick()
        await two.speak()
    assert (workspace.words, workspace.exchanges) == (3, 2)


# --- at rest ----------------------------------------------------------------------------------------------------------


@requirement("S-38", "S-80")
async def test_no_token_stands_in_clear_in_the_database_or_the_log(
    database_url: str, workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    with structlog.testing.capture_logs() as logged:
        async with replica(database_url, workspace.clock, workspace.settings) as one:
            await one.speak()
            workspace.clock.advance(11 * HOUR)
            await one.tick()
            await one.speak()
            shown = str(look(database_url, "SELECT * FROM platform_tokens"))
    secrets = [*workspace.slack.world.tokens, *workspace.slack.rotation.good, str(workspace.settings["refresh_token"])]
    assert len([secret for secret in secrets if secret.startswith("xoxe")]) >= 4
    secrets.append(workspace.slack.rotation.client_secret)
    for place in (shown, str(logged), *capfd.readouterr()):
        assert [secret for secret in secrets if secret in place] == []
    assert "xoxe" not in shown


@requirement("S-38", "S-80")
@pytest.mark.parametrize("moved", ["pair = substr(pair, 1, length(pair) - 3) || 'AAA'", "org = 'globex'"])
async def test_a_pair_opens_only_where_it_was_put(database_url: str, workspace: Workspace, moved: str) -> None:
    async with replica(database_url, workspace.clock, workspace.settings) as one:
        await one.speak()
    with behind(database_url) as connection:
        connection.execute(f"UPDATE platform_tokens SET {moved}")
    workspace.clock.advance(timedelta(minutes=1))
    org = "globex" if "globex" in moved else "acme"
    async with replica(database_url, workspace.clock, workspace.settings, org=org) as two:
        with pytest.raises(ChannelRefusedError, match="sealed under another ASSENT_SECRET"):
            await two.speak()
        await two.tick()
        assert [trouble.lost for trouble in two.access.troubles] == [True]


@requirement("S-38", "S-80")
async def test_the_pair_follows_the_master_secret_without_an_exchange(database_url: str, workspace: Workspace) -> None:
    new = "the-next-master-secret-of-thirty-two-characters"
    for secrets in ((SECRET,), (new, SECRET), (new,)):
        async with replica(database_url, workspace.clock, workspace.settings, secrets=secrets) as one:
            workspace.clock.advance(timedelta(minutes=1))
            await one.tick()
            await one.speak()
    assert (workspace.words, workspace.exchanges) == (3, 1)
