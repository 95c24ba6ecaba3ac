"""PostgreSQL at its worst moments: locks held past deadlines, replicas that freeze, answers that get lost, restarts."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from datetime import timedelta
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import psycopg
import pytest

from app.domain.errors import AlreadySettledError, AssentError, UnavailableError
from app.domain.request.decision import Verdict
from app.domain.request.quorum import Stage
from app.domain.request.request import State
from app.storage.engine.dialect import CommitFate
from tests.domain.samples import FINANCE, a_call, a_request
from tests.durability.fault_proxy import fault_proxy
from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.durability.own_server import own_server
from tests.durability.replicas import replicas
from tests.requirements import requirement
from tests.storage.rig import ORG, WAITING_FOR_A_LOCK, behind, look, opening

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx
    from tests.durability.gateway_process import Gateway
    from tests.durability.replicas import Replica

pytestmark = pytest.mark.postgres

ANN, BOB, CHO = sorted(FINANCE)
TWO = (Stage(of=("finance",), need=2),)


# --- locks ------------------------------------------------------------------------------------------------------------


@requirement("F-19", "S-11")
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("rounds", [1, pytest.param(250, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_a_lock_held_past_the_deadline_ends_in_expired_whatever_its_holder_does(
    postgres_url: str, tmp_path: Path, end: str, rounds: int, *, bounded: bool
) -> None:
    async with replicas(postgres_url, tmp_path) as them:
        for index in range(min(rounds, 10) if bounded else rounds):
            request = await them[0].open(f"req_{index}", lives_for=timedelta(milliseconds=250))
            with behind(postgres_url) as blocker:
                blocker.execute("BEGIN")
                blocker.execute("SELECT 1 FROM requests WHERE id = %s FOR UPDATE", (request.id,))
                voting = asyncio.ensure_future(them[-1].vote(request, ANN))
                await until("the vote waits for the lock", lambda: look(postgres_url, WAITING_FOR_A_LOCK) == [(1,)])
                over = f"SELECT clock_timestamp() > to_timestamp({request.expires_at.timestamp() + 0.01})"
                await until("the deadline has passed", lambda over=over: look(postgres_url, over) == [(True,)])
                assert not voting.done()
                blocker.execute(end)
            answer = await asyncio.wait_for(voting, 30)
            assert isinstance(answer, AlreadySettledError)
            assert answer.more["state"] == "expired"
            assert (await them[0].read(request.id)).state is State.EXPIRED
    assert look(postgres_url, "SELECT count(*) FROM grants") == [(0,)]
    assert faults(postgres_url) == []


@requirement("F-19", "S-11")
async def test_a_batch_that_waits_for_one_lock_past_its_deadline_approves_only_its_neighbours(
    postgres_url: str, tmp_path: Path
) -> None:
    """Two votes wait together, so their rows are locked together; one of the rows is held past its deadline."""
    async with replicas(postgres_url, tmp_path) as them:
        late, neighbour = "req_late", "req_neighbour"
        requests = [
            await them[0].open(late, lives_for=timedelta(milliseconds=400)),
            await them[0].open(neighbour, lives_for=timedelta(minutes=5)),
        ]
        with behind(postgres_url) as blocker:
            blocker.execute("BEGIN")
            blocker.execute("SELECT 1 FROM requests WHERE id = %s FOR UPDATE", (late,))
            entered, release = threading.Event(), threading.Event()
            busy = asyncio.ensure_future(them[0].store.write(lambda _: entered.set() or release.wait(30), org=ORG))
            assert await asyncio.to_thread(entered.wait, 30)
            voting = [asyncio.ensure_future(them[0].vote(request, ANN)) for request in requests]
            await asyncio.sleep(0)
            release.set()
            await busy
            await until("the batch waits for the lock", lambda: look(postgres_url, WAITING_FOR_A_LOCK) == [(1,)])
            over = f"SELECT clock_timestamp() > to_timestamp({requests[0].expires_at.timestamp() + 0.01})"
            await until("the deadline has passed", lambda: look(postgres_url, over) == [(True,)])
            blocker.execute("COMMIT")
        answers = await asyncio.wait_for(asyncio.gather(*voting), 30)
        assert isinstance(answers[0], AlreadySettledError)
        assert answers[1].state is State.APPROVED
        assert (await them[0].read(late)).state is State.EXPIRED
    assert faults(postgres_url) == []


async def test_a_lock_that_is_never_let_go_is_an_error_and_not_a_decision(postgres_url: str, tmp_path: Path) -> None:
    async with replicas(postgres_url, tmp_path) as them:
        request = await them[0].open("req_1")
        with behind(postgres_url) as blocker:
            blocker.execute("BEGIN")
            blocker.execute("SELECT 1 FROM requests FOR UPDATE")
            answer = await asyncio.wait_for(them[0].vote(request, ANN), 15)
            assert isinstance(answer, UnavailableError)
        assert (await them[0].vote(request, ANN)).state is State.APPROVED
    assert faults(postgres_url) == []


# --- a frozen replica -------------------------------------------------------------------------------------------------


@requirement("F-13")
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(1, marks=pytest.mark.timeout(120)),
        pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_a_replica_frozen_inside_a_decision_cannot_write_when_it_thaws(
    postgres_url: str, tmp_path: Path, rounds: int, *, bounded: bool
) -> None:
    """It stops after its units ran and before COMMIT, holding the row's lock; the server ends its session meanwhile."""
    async with scene(postgres_url, tmp_path) as made, made.gateway() as other:
        for _ in range(min(rounds, 3) if bounded else rounds):
            async with made.gateway("commit.before:pause") as frozen:
                request = await frozen.ask("wire", session=f"s-{made.started}")
                approving = asyncio.ensure_future(frozen.decide("ann", request))
                await until("it is frozen", lambda pid=frozen.process.pid: _state_of(pid) == "T")
                denied = await _denied(other, request)
                assert denied.json()["state"] == "denied"
                os.kill(frozen.process.pid, signal.SIGCONT)
                answer = await asyncio.wait_for(approving, 20)
                assert answer.status_code in {409, 503}
                again = await frozen.decide("ann", request)
                assert (again.status_code, again.json()["settled_by"]) == (409, "bob@acme.example")
                assert (await other.read(request))["state"] == "denied"
    assert look(postgres_url, "SELECT count(*) FROM grants") == [(0,)]
    assert faults(postgres_url) == []


async def _denied(gateway: Gateway, request: dict[str, Any]) -> httpx2.Response:
    denied = await gateway.decide("bob", request, "deny")
    while denied.status_code == 503:  # until the server has ended the frozen session
        denied = await gateway.decide("bob", request, "deny")
    return denied


def _state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


# --- lost answers -----------------------------------------------------------------------------------------------------


async def _prepared(replica: Replica, index: int, *, votes: int, need: int = 1) -> ConfirmationRequest:
    stages = (Stage(of=("finance",), need=need),)
    request = await replica.open(f"req_{index}", stages=stages)
    for person in (ANN, BOB)[:votes]:
        assert not isinstance(await replica.vote(request, person), AssentError)
    return request


ACTS: dict[str, tuple[int, int, Callable[[Replica, ConfirmationRequest], Awaitable[Any]], State]] = {
    "vote": (0, 2, lambda replica, request: replica.vote(request, ANN), State.PENDING),
    "approve": (0, 1, lambda replica, request: replica.vote(request, ANN), State.APPROVED),
    "deny": (0, 1, lambda replica, request: replica.vote(request, ANN, Verdict.DENY), State.DENIED),
    "cancel": (0, 1, lambda replica, request: replica.withdraw(request), State.CANCELLED),
    "claim": (1, 1, lambda replica, request: replica.take(request), State.EXECUTING),
}


def note_runs(replica: Replica) -> list[str]:
    """Note each run of a unit that writes: what a vote or a claim leaves behind does not tell one run from two."""
    runs: list[str] = []
    write = replica.store.write

    async def noting(work: Callable[[Tx], Any], *, org: str, about: str = "", seeks: Hashable = None) -> Any:
        def run_noted(tx: Tx) -> Any:
            runs.append(about)
            return work(tx)

        return await write(run_noted, org=org, about=about, seeks=seeks)

    replica.store.write = noting
    return runs


@requirement("F-20")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("rounds", [2, pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_a_lost_commit_answer_is_confirmed_and_nothing_is_doubled(
    postgres_url: str, tmp_path: Path, act: str, rounds: int, *, bounded: bool
) -> None:
    """Confirmed, that is: the server is asked, and the unit does not run a second time to find its work done."""
    votes, need, call, state = ACTS[act]
    async with fault_proxy(postgres_url) as (proxy, through), replicas(through, tmp_path, most=1) as [replica]:
        runs = note_runs(replica)
        for index in range(min(rounds, 20) if bounded else rounds):
            request = await _prepared(replica, index, votes=votes, need=need)
            before = (await replica.read(request.id)).version
            runs.clear()
            proxy.swallow_reply("COMMIT")
            answer = await asyncio.wait_for(call(replica, request), 10)
            assert runs == [request.id]
            assert proxy.swallows == index + 1
            assert not isinstance(answer, AssentError), answer
            assert (answer.state, answer.version) == (state, before + 1)
            assert await replica.read(request.id) == answer
            again = await call(replica, request)  # a caller who was cut off himself asks again
            assert not isinstance(again, AssentError)
            assert again.version == before + 1
    assert faults(postgres_url) == []


@requirement("F-20", "S-43")
@pytest.mark.parametrize("rounds", [3, pytest.param(500, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
async def test_a_lost_commit_answer_of_a_creation_leaves_one_request(
    postgres_url: str, tmp_path: Path, rounds: int, *, bounded: bool
) -> None:
    many = min(rounds, 20) if bounded else rounds
    async with fault_proxy(postgres_url) as (proxy, through), replicas(through, tmp_path, most=1) as [replica]:
        now = (await _prepared(replica, 0, votes=0)).created_at
        runs = note_runs(replica)
        for index in range(many):
            created = a_request(f"req_{index}_new", call=a_call(session=f"new-{index}"), now=now)
            proxy.swallow_reply("COMMIT")
            await asyncio.wait_for(replica.store.write(opening(created), org=ORG, about=created.id), 10)
            assert await replica.read(created.id) == created
            assert proxy.swallows == len(runs) == index + 1
    assert look(postgres_url, "SELECT count(*) FROM requests") == [(many + 1,)]
    assert faults(postgres_url) == []


# Ends the session inside the COMMIT that sends it off, the first time; a sequence's step is not rolled back.
_DIES_IN_COMMIT = """
CREATE SEQUENCE commits;
CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('commits') = 1 THEN
    PERFORM pg_terminate_backend(pg_backend_pid());
    PERFORM pg_sleep(10);
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER die AFTER INSERT OR UPDATE ON requests DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION die()
"""


@requirement("F-20")
@pytest.mark.parametrize("act", ACTS)
async def test_a_commit_that_died_unanswered_is_not_taken_for_done(postgres_url: str, tmp_path: Path, act: str) -> None:
    """To the caller it looks like a lost answer, but nothing was written: the unit is run again, once."""
    votes, need, call, state = ACTS[act]
    async with replicas(postgres_url, tmp_path, most=1) as [replica]:
        request = await _prepared(replica, 0, votes=votes, need=need)
        before = (await replica.read(request.id)).version
        with behind(postgres_url) as owner:
            owner.execute(_DIES_IN_COMMIT)
        runs = note_runs(replica)
        answer = await asyncio.wait_for(call(replica, request), 10)
        assert not isinstance(answer, AssentError), answer
        assert (answer.state, answer.version) == (state, before + 1)
        assert await replica.read(request.id) == answer
        assert runs == [request.id, request.id]
    assert look(postgres_url, "SELECT last_value FROM commits") == [(2,)]
    assert faults(postgres_url) == []


@requirement("F-20", "S-43")
async def test_a_creation_that_died_in_its_commit_is_there_when_it_is_answered(
    postgres_url: str, tmp_path: Path
) -> None:
    async with replicas(postgres_url, tmp_path, most=1) as [replica]:
        now = (await _prepared(replica, 0, votes=0)).created_at
        with behind(postgres_url) as owner:
            owner.execute(_DIES_IN_COMMIT)
        created = a_request("req_new", call=a_call(session="new"), now=now)
        await asyncio.wait_for(replica.store.write(opening(created), org=ORG, about=created.id), 10)
        assert await replica.read(created.id) == created
    assert look(postgres_url, "SELECT last_value FROM commits") == [(2,)]
    assert faults(postgres_url) == []


@requirement("F-20")
async def test_a_read_that_was_not_answered_is_simply_read_again(postgres_url: str, tmp_path: Path) -> None:
    async with fault_proxy(postgres_url) as (proxy, through), replicas(through, tmp_path, most=1) as [replica]:
        request = await _prepared(replica, 0, votes=0)
        proxy.swallow_reply("SELECT requests.id")
        assert await asyncio.wait_for(replica.read(request.id), 2) == request
        assert proxy.swallows == 1


@requirement("F-20")
async def test_when_the_server_cannot_be_asked_the_caller_is_told_to_look(postgres_url: str, tmp_path: Path) -> None:
    """The answer is lost and no new connection comes through: neither "done" nor "not done" is said."""
    async with fault_proxy(postgres_url) as (proxy, through), replicas(through, tmp_path, most=1) as [replica]:
        request = await _prepared(replica, 0, votes=0)
        proxy.swallow_reply("COMMIT")
        proxy.refusing = True
        answer = await asyncio.wait_for(replica.vote(request, ANN), 30)
        assert isinstance(answer, UnavailableError)
        proxy.refusing = False
        assert (await replica.vote(request, ANN)).state is State.APPROVED  # he looks, and finds his own vote there
    assert look(postgres_url, "SELECT count(*) FROM audit_events WHERE kind = 'request.approved'") == [(1,)]
    assert faults(postgres_url) == []


@requirement("F-20")
async def test_a_commit_whose_fate_the_server_has_forgotten_is_not_repeated(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fault_proxy(postgres_url) as (proxy, through), replicas(through, tmp_path, most=1) as [replica]:
        request = await _prepared(replica, 0, votes=0)
        # The server's answer about a transaction older than its memory, which no test can wait for.
        monkeypatch.setattr(replica.store.dialect, "fate", lambda *_: CommitFate.UNKNOWN)
        runs = note_runs(replica)
        proxy.swallow_reply("COMMIT")
        answer = await asyncio.wait_for(replica.vote(request, ANN), 30)
        assert isinstance(answer, UnavailableError)
        assert runs == [request.id]
        assert (await replica.read(request.id)).state is State.APPROVED
    assert faults(postgres_url) == []


@requirement("F-20")
async def test_a_connection_that_breaks_before_commit_is_run_again(postgres_url: str, tmp_path: Path) -> None:
    async with replicas(postgres_url, tmp_path, most=1) as [replica]:
        for index in range(3):
            request = await _prepared(replica, index, votes=0)
            with behind(postgres_url) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            assert (await replica.vote(request, ANN)).state is State.APPROVED
            assert (await replica.read(request.id)).state is State.APPROVED
    assert faults(postgres_url) == []


# --- two replicas -----------------------------------------------------------------------------------------------------


@requirement("F-06")
async def test_what_is_decided_on_one_replica_wakes_a_waiter_on_another(postgres_url: str, tmp_path: Path) -> None:
    async with scene(postgres_url, tmp_path) as made:
        made.environ["ASSENT_POLL"] = "PT1H"  # only the notification is left
        async with made.gateway() as one, made.gateway() as two:
            request = await one.ask("wire")
            waiting = asyncio.ensure_future(two.read(request, wait=30))
            await until("both listen", lambda: look(postgres_url, _LISTENING) == [(2,)])
            await two.holds()
            await one.decide("ann", request)
            assert (await asyncio.wait_for(waiting, 30))["state"] == "approved"


@requirement("F-06")
async def test_the_slow_poll_wakes_a_waiter_whose_notification_was_lost(postgres_url: str, tmp_path: Path) -> None:
    async with scene(postgres_url, tmp_path) as made, made.gateway() as one:
        request = await one.ask("wire")
        waiting = asyncio.ensure_future(one.read(request, wait=30))
        await one.holds()
        await asyncio.sleep(0.5)  # two rounds of the poll have seen it pending
        async with replicas(postgres_url, tmp_path, most=1) as [silent]:
            silent.store.dialect.notify = lambda *_: None  # type: ignore[method-assign]
            found = await silent.read(request["id"])
            assert (await silent.vote(found, ANN)).state is State.APPROVED
        assert (await asyncio.wait_for(waiting, 30))["state"] == "approved"


_LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN assent' AND datname = current_database()"


@requirement("F-10", "F-02")
async def test_two_replicas_share_the_outbox_and_the_sweep(postgres_url: str, tmp_path: Path) -> None:
    """Cards opened on both come out once each, whoever carries them."""
    many = 12
    async with scene(postgres_url, tmp_path, "slack") as made:
        assert made.slack is not None
        async with made.gateway() as one, made.gateway() as two:
            await asyncio.gather(*((one, two)[n % 2].ask("pay", session=f"s-{n}") for n in range(many)))
            posted = "SELECT count(*) FROM audit_events WHERE kind = 'card.posted'"
            await until("every card is out", lambda: look(postgres_url, posted) == [(many,)])
        assert len(made.slack.calls("chat.postMessage")) == many
    assert faults(postgres_url) == []


async def test_an_argument_that_postgresql_has_no_letter_for_is_asked_about_like_any_other(
    postgres_url: str, tmp_path: Path
) -> None:
    """The condition names the value, so it stands in the request's reason: a column of TEXT, which knows no NUL."""
    async with scene(postgres_url, tmp_path) as made, made.gateway() as gateway:
        request = await gateway.ask("wire_to", payee="Acme\0Ltd")
        assert request["arguments"] == {"payee": "Acme\0Ltd"}
        assert "Acme\\u{0}Ltd" in request["reason"]


# --- restarts ---------------------------------------------------------------------------------------------------------


def more_than(decided: dict[str, str]) -> Callable[[], bool]:
    enough = len(decided) + 20
    return lambda: len(decided) >= enough


@requirement("F-22")
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(1, marks=pytest.mark.timeout(120)),
        pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
async def test_a_database_stopped_at_once_under_load_loses_nothing_that_was_acknowledged(
    tmp_path: Path, rounds: int, *, bounded: bool
) -> None:
    asked: set[str] = set()
    decided: dict[str, str] = {}
    async with own_server() as (server, url), scene(url, tmp_path) as made, made.gateway() as gateway:

        async def ask_and_decide(session: str, verdict: str) -> None:
            request = await gateway.ask("wire", session=session)
            asked.add(request["id"])
            said = await gateway.decide("ann", request, verdict)
            if said.status_code == 200:
                decided[request["id"]] = said.json()["state"]

        async def agent(name: str, stop: asyncio.Event) -> None:
            for number in takewhile(lambda _: not stop.is_set(), count(1)):
                try:
                    await ask_and_decide(f"{name}-{number}", ("approve", "deny")[number % 2])
                except (AssertionError, httpx2.HTTPError):
                    await asyncio.sleep(0.02)  # not acknowledged: the agent asks again later

        await asyncio.to_thread(server.checkpoint)
        for index in range(min(rounds, 3) if bounded else rounds):
            stop = asyncio.Event()

            agents = [asyncio.ensure_future(agent(f"{index}-{n}", stop)) for n in range(6)]
            await until("decisions flow", more_than(decided), seconds=20)
            await asyncio.to_thread(server.stop_at_once)
            await asyncio.to_thread(server.start)
            await until("it is ready again by itself", more_than(decided), seconds=30)
            stop.set()
            await asyncio.gather(*agents)
        states = dict(look(url, "SELECT id, state FROM requests"))
        assert asked <= set(states)
        assert {request_id: states.get(request_id) for request_id in decided} == decided
        assert faults(url) == []


# Holds every COMMIT of a change for as long as somebody else has the lock.
_WAITS_IN_COMMIT = """
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_xact_lock(22);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON requests DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wait()
"""
_WAITING_IN_COMMIT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'COMMIT'"


@requirement("F-22")
@pytest.mark.long  # a server of its own, stopped and started: `make crash`
@pytest.mark.timeout(120)
async def test_a_decision_is_acknowledged_only_behind_its_commit_which_the_stop_may_take_away(tmp_path: Path) -> None:
    async with own_server() as (server, url), scene(url, tmp_path) as made, made.gateway() as gateway:
        request = await gateway.ask("wire")
        with behind(url) as holder:
            holder.execute(_WAITS_IN_COMMIT)
            holder.execute("SELECT pg_advisory_lock(22)")
            deciding = asyncio.ensure_future(gateway.decide("ann", request))
            await until("it commits", lambda: look(url, _WAITING_IN_COMMIT) == [(1,)])
            await asyncio.wait({deciding}, timeout=1)  # what must not come has this long to come
            assert not deciding.done()
            await asyncio.to_thread(server.stop_at_once)
        await asyncio.to_thread(server.start)
        said = await asyncio.wait_for(deciding, 20)  # the lock went with its holder: it is decided anew, or refused
        state = look(url, "SELECT state FROM requests")[0][0]
        assert (said.status_code, state) in {(200, "approved"), (503, "pending")}
        assert faults(url) == []


@requirement("F-22")
@pytest.mark.long  # a server of its own, stopped and started: `make crash`
async def test_a_transaction_number_that_the_crash_gives_out_again_confirms_nothing(tmp_path: Path) -> None:
    """The batch's own audit event does: without it, another's commit under the same number would stand for ours."""
    async with own_server() as (server, url), scene(url, tmp_path) as made, made.gateway() as gateway:
        request = await gateway.ask("wire")
        await asyncio.to_thread(server.checkpoint)
        with behind(url) as holder:
            holder.execute(_WAITS_IN_COMMIT)
            holder.execute("SELECT pg_advisory_lock(22)")
            deciding = asyncio.ensure_future(gateway.decide("ann", request))
            await until("it commits", lambda: look(url, _WAITING_IN_COMMIT) == [(1,)])
            ours = look(url, "SELECT max(backend_xid::text::bigint) FROM pg_stat_activity")[0][0]
            await asyncio.to_thread(server.stop_at_once)
        await asyncio.to_thread(server.start)
        with psycopg.connect(url, autocommit=True) as other:
            given = 0
            while given < ours:
                row = other.execute("SELECT pg_current_xact_id()::text").fetchone()
                given = int(row[0]) if row else ours
        said = await asyncio.wait_for(deciding, 20)

        assert (said.status_code, look(url, "SELECT state FROM requests")[0][0]) in {
            (200, "approved"),
            (503, "pending"),
        }
