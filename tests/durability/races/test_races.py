"""Everything at once, on one gateway and on two replicas: one decision, one vote a person, everyone told the same.

Each round is checked twice: what the callers saw against `history`, and what stands in the rows against `invariants`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.errors import AlreadySettledError, AssentError
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import State, Status
from app.ports import ClickResult
from tests.domain.samples import FINANCE
from tests.durability.invariants import SETTLING, faults
from tests.durability.replicas import Race, Replica, channel, replicas, write_policy
from tests.requirements import requirement
from tests.storage.rig import look

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from app.domain.request.request import ConfirmationRequest

ANN, BOB, CHO = sorted(FINANCE)
TWO = (Stage(of=("finance",), need=2),)

ROUNDS = pytest.mark.parametrize(
    "rounds",
    [
        12,
        pytest.param((500, 10_000), marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="many"),
    ],
)


def number(rounds: Any, *, bounded: bool) -> int:
    return rounds if isinstance(rounds, int) else rounds[not bounded]


async def all_at_once(*calls: Awaitable[Any]) -> list[Any]:
    """Let them all stand ready, then go."""
    barrier = asyncio.Event()

    async def ready(call: Awaitable[Any]) -> Any:
        await barrier.wait()
        return await call

    waiting = [asyncio.ensure_future(ready(call)) for call in calls]
    await asyncio.sleep(0)
    barrier.set()
    return await asyncio.wait_for(asyncio.gather(*waiting), 30)


def impossible(races: list[Race]) -> list[tuple[str, str]]:
    """Say what somebody saw that cannot have been."""
    return [(race.request.id, fault) for race in races if (fault := race.impossible())]


def checked(url: str, races: list[Race]) -> None:
    """Hold what everyone saw, and what the rows say, against the rules."""
    assert impossible(races) == []
    assert faults(url) == []


@requirement("F-14", "S-10")
@ROUNDS
async def test_approve_and_deny_at_once_have_one_winner_and_the_loser_is_told_who(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    races: list[Race] = []
    async with replicas(database_url, tmp_path) as them:
        for index in range(number(rounds, bounded=bounded)):
            race = Race(await them[0].open(f"req_{index}"))
            races.append(race)
            yes, no, *_ = await all_at_once(
                race.vote(them[0], ANN, Verdict.APPROVE),
                race.vote(them[-1], BOB, Verdict.DENY),
                race.read(them[index % len(them)]),
                race.read(them[-1]),
            )
            losers = [answer for answer in (yes, no) if isinstance(answer, AlreadySettledError)]
            assert len(losers) == 1
            winner = BOB if losers[0] is yes else ANN
            assert losers[0].more["settled_by"] == winner
            await race.read(them[-1])
    checked(database_url, races)


def all_sweeping(races: list[Race]) -> None:
    for race in races:
        race.sweeping()


@requirement("F-15", "S-11", "S-54")
@ROUNDS
async def test_approvals_around_the_deadline_against_the_sweeper(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    """Votes fall from 50 ms before to 50 ms after, on many requests side by side; every replica sweeps all the time."""
    many = number(rounds, bounded=bounded) * 2
    width = 24
    async with replicas(database_url, tmp_path) as them:
        for start in range(0, many, width):
            races = [
                Race(await them[0].open(f"req_{start + index}", lives_for=timedelta(milliseconds=300)))
                for index in range(min(width, many - start))
            ]

            async def voting(race: Race, offset: float) -> Any:
                await asyncio.sleep(max(0, race.deadline + offset - asyncio.get_running_loop().time()))
                return await race.vote(them[len(race.request.id) % len(them)], ANN)

            async def sweeping(of: Replica, races: list[Race] = races) -> None:
                while (await of.read(races[-1].request.id)).status is Status.PENDING:  # its deadline is the last
                    all_sweeping(races)
                    await of.sweep()

            offsets = [(index / (len(races) - 1) - 0.5) / 10 for index in range(len(races))]
            await asyncio.wait_for(
                asyncio.gather(*map(voting, races, offsets), *map(sweeping, them)),
                20,
            )
            for replica in them:
                await replica.sweep()
            assert impossible(races) == []
    checked(database_url, [])  # once for all of them: nothing of it goes away, and to look at it all takes its time
    assert look(database_url, "SELECT count(*) FROM requests WHERE status = 'pending'") == [(0,)]
    late = "SELECT count(*) FROM requests WHERE status = 'approved' AND settled_at >= expires_at"
    assert look(database_url, late) == [(0,)]


@requirement("F-16", "S-01")
@ROUNDS
async def test_approve_against_cancel_never_leaves_a_grant_for_a_withdrawn_request(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    races: list[Race] = []
    async with replicas(database_url, tmp_path) as them:
        for index in range(number(rounds, bounded=bounded)):
            race = Race(await them[0].open(f"req_{index}"))
            races.append(race)
            await all_at_once(race.vote(them[0], ANN), race.withdraw(them[-1]))
            after = await them[-1].read(race.request.id)
            taken = await them[0].take(race.request)
            assert (after.grant is None) == (after.state is State.CANCELLED) == isinstance(taken, AssentError)
    checked(database_url, races)
    assert look(
        database_url,
        "SELECT count(*) FROM grants g JOIN requests r ON r.id = g.request_id WHERE r.status <> 'approved'",
    ) == [(0,)]


@requirement("S-03")
@ROUNDS
async def test_of_many_simultaneous_claims_one_succeeds(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    async with replicas(database_url, tmp_path) as them:
        for index in range(number(rounds, bounded=bounded) // 4):
            request = await them[0].open(f"req_{index}")
            await them[0].vote(request, ANN)
            answers = await all_at_once(*(them[n % len(them)].take(request, f"c-{n}") for n in range(16)))
            winners = [answer for answer in answers if not isinstance(answer, AssentError)]
            assert len(winners) == 1
            assert {answer.code for answer in answers if isinstance(answer, AssentError)} <= {"already_claimed"}
    assert faults(database_url) == []


@requirement("F-17", "F-14", "S-20", "S-23")
@ROUNDS
async def test_sixty_four_clicks_at_once_over_all_channels_are_one_vote_a_person(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    """Ann and Bob press in both channels, again and again, some presses delivered twice, and Ann uses the API too."""
    rooms = [channel("pay-slack"), channel("pay-feishu")]
    async with replicas(database_url, tmp_path) as them:
        for index in range(max(2, number(rounds, bounded=bounded) // 10)):
            request = await them[0].open(f"req_{index}", stages=TWO, channels=("pay-slack", "pay-feishu", "api"))
            await them[0].go_live(request.id, *rooms)
            clicks = [
                them[n % len(them)].click(
                    request.id,
                    rooms[n % 4 // 2],
                    f"U-{(ANN, BOB)[n % 2]}",
                    Verdict.APPROVE,
                    f"press-{index}-{n // 8 * 4 + n % 4}",
                )
                for n in range(64)
            ]
            answers = await all_at_once(*clicks, *(them[n % len(them)].vote(request, ANN) for n in range(4)))
            results = Counter(answer.outcome.result for answer in answers[:64])
            assert set(results) <= {ClickResult.RECORDED, ClickResult.ALREADY}
            assert results[ClickResult.RECORDED] in {1, 2}  # of the two votes, Ann's may have come through the API
            after = await them[-1].read(request.id)
            assert (after.state, sorted(d.person for d in after.decisions)) == (State.APPROVED, [ANN, BOB])
            story = look(database_url, f"SELECT kind FROM audit_events WHERE request_id = '{request.id}' ORDER BY seq")
            assert story == [("request.created",), ("request.voted",), ("request.approved",)]
    assert faults(database_url) == []


@requirement("F-14", "F-17")
async def test_one_approve_click_among_sixty_four_deciders_wins_and_all_others_hear_it(
    database_url: str, tmp_path: Path
) -> None:
    """Three people press both buttons of one card: one press is recorded, and all others hear the same outcome."""
    room = channel("pay-slack")
    async with replicas(database_url, tmp_path) as them:
        request = await them[0].open("req_1", channels=("pay-slack",))
        await them[0].go_live("req_1", room)
        answers = await all_at_once(
            *(
                them[n % len(them)].click("req_1", room, f"U-{(ANN, BOB, CHO)[n % 3]}", list(Verdict)[n % 2], f"p-{n}")
                for n in range(64)
            )
        )
        recorded = [answer.outcome for answer in answers if answer.outcome.result is ClickResult.RECORDED]
        others = [answer.outcome for answer in answers if answer.outcome.result is ClickResult.ALREADY]
        assert (len(recorded), len(others)) == (1, 63)
        assert len({outcome.sentence for outcome in others}) == 1
        assert all(outcome.card is not None and outcome.card.buttons is None for outcome in (*recorded, *others))
        assert (await them[-1].read(request.id)).version == 2
    assert faults(database_url) == []


@requirement("F-18", "S-23")
@ROUNDS
async def test_a_quorum_is_crossed_exactly_at_its_threshold(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    """Fifty votes of three people at once; in every second round Cho is taken out of the group meanwhile."""
    async with replicas(database_url, tmp_path) as them:
        for index in range(number(rounds, bounded=bounded) // 2):
            await set_members(them, tmp_path, FINANCE)
            request = await them[0].open(f"req_{index}", stages=TWO)
            revoked = index % 2 == 1
            votes = [them[n % len(them)].vote(request, (CHO, ANN, BOB)[n % 3]) for n in range(50)]
            await all_at_once(*votes, *([set_members(them, tmp_path, FINANCE - {CHO})] if revoked else []))
            after = await them[-1].read(request.id)
            assert after.state is State.APPROVED
            check_threshold(database_url, after, revoked=revoked)
    assert [fault for fault in faults(database_url) if "request.voted at 2 of 2" not in fault] == []


async def set_members(them: list[Replica], folder: Path, members: frozenset[str]) -> None:
    write_policy(folder / "race.yaml", members)
    for replica in them:
        assert await asyncio.to_thread(replica.book.reload) == ()


def check_threshold(url: str, request: ConfirmationRequest, *, revoked: bool) -> None:
    """Approved by the second person's vote; a third name can only stand there if its owner was revoked in between."""
    story = look(url, f"SELECT kind, actor FROM audit_events WHERE request_id = '{request.id}' ORDER BY seq")
    voters = [actor for kind, actor in story if kind == "request.voted" or kind in SETTLING]
    assert story[-1][0] in {"request.approved", "click.refused"}
    assert len(set(voters)) == len(voters)
    assert len(voters) == 2 or (revoked and len(voters) == 3 and CHO in voters[:2])


@requirement("F-18")
async def test_a_vote_of_whoever_was_revoked_no_longer_counts(database_url: str, tmp_path: Path) -> None:
    async with replicas(database_url, tmp_path) as them:
        request = await them[0].open("req_1", stages=TWO)
        await them[0].vote(request, CHO)
        await set_members(them, tmp_path, FINANCE - {CHO})
        assert (await them[0].vote(request, ANN)).state is State.PENDING
        assert isinstance(await them[-1].vote(request, CHO), AssentError)
        assert (await them[-1].vote(request, BOB)).state is State.APPROVED


@requirement("F-10", "S-53")
@ROUNDS
async def test_racing_sweepers_expire_each_request_once(
    database_url: str, tmp_path: Path, rounds: Any, *, bounded: bool
) -> None:
    async with replicas(database_url, tmp_path) as them:
        many = number(rounds, bounded=bounded) * 4
        for start in range(0, many, 200):
            due = [
                them[0].open(f"req_{start + index}", lives_for=timedelta(milliseconds=1))
                for index in range(min(200, many - start))
            ]
            await asyncio.gather(*due)
            await asyncio.sleep(0.005)
            sweepers = them * (4 // len(them))
            swept = await all_at_once(*(replica.sweep() for replica in sweepers))
            assert sum(each.expired for each in swept) == len(due)
    assert look(database_url, "SELECT count(*) FROM audit_events WHERE kind = 'request.expired'") == [(many,)]
    assert faults(database_url) == []
