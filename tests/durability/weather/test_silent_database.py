"""The database freezes, or its host vanishes without a word: no connection ends, and nothing is answered any more.

All of PostgreSQL's processes are stopped with SIGSTOP, or a wire swallows every byte. Callers are answered within their
bound all the same, nothing is lost, and it goes on by itself.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa

from app.domain.errors import AssentError, UnavailableError
from app.domain.request.request import State
from app.storage.engine.line import cut_after, is_silent
from app.workers.notifications import Notifications
from tests.domain.samples import FINANCE
from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.durability.own_server import own_server
from tests.durability.replicas import replicas
from tests.requirements import requirement
from tests.storage.rig import ORG, look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.durability.gateway_process import Gateway

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(180)]

ANN = min(FINANCE)
BOUND = 15.0
"""Seconds, on a busy machine; two looks, a question and an answer take four of them on an idle one."""


async def _timed(call: Any) -> tuple[Any, float]:
    began = time.monotonic()
    return await call, time.monotonic() - began


class Wire:
    """Carries bytes to PostgreSQL until it is told to lose them; its ends stay open."""

    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self.flows = asyncio.Event()
        self.flows.set()
        self.carried = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.carried += 1
        server_reader, server_writer = await asyncio.open_unix_connection(self._socket_path)
        both = [asyncio.ensure_future(self._carry(reader, server_writer))]
        both.append(asyncio.ensure_future(self._carry(server_reader, writer)))
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            for end in (writer, server_writer):
                end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while part := await reader.read(65_536):
                if self.flows.is_set():
                    writer.write(part)
                    await writer.drain()


@asynccontextmanager
async def wire(url: str) -> AsyncIterator[tuple[Wire, str]]:
    """Put a wire before a database; yield it and the URL that leads through it."""
    parsed = sa.make_url(url)
    made = Wire(f"{parsed.query['host']}/.s.PGSQL.{parsed.port or 5432}")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(made.serve(reader, writer))
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await task

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    through = parsed.set(
        host="127.0.0.1",
        port=server.sockets[0].getsockname()[1],
        query={"sslmode": "disable", "gssencmode": "disable"},
    )
    try:
        yield made, through.render_as_string(hide_password=False)
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# --- the whole gateway ------------------------------------------------------------------------------------------------


@requirement("F-41")
async def test_while_the_server_is_frozen_every_call_is_answered_and_afterwards_it_goes_on(tmp_path: Path) -> None:
    async with own_server() as (server, url), scene(url, tmp_path) as made, made.gateway() as gateway:
        standing = [await gateway.ask("wire", session=f"before-{n}") for n in range(4)]
        waiting = asyncio.ensure_future(_timed(gateway.call("payer", "GET", _path(standing[3], "?wait=6"))))
        assert "assent_database_trouble{" not in (await gateway.call("payer", "GET", "/metrics")).text
        server.freeze()
        try:
            unready, took = await _timed(gateway.call("payer", "GET", "/readyz"))
            assert (unready.status_code, took < 5) == (503, True)
            assert (await gateway.call("payer", "GET", "/healthz")).status_code == 200
            asked = [gateway.call("payer", "POST", "/v1/requests", _body(f"during-{n}")) for n in range(20)]
            decided = [gateway.decide("ann", request) for request in standing[:3]]
            said = await asyncio.gather(*(_timed(call) for call in (*asked, *decided)))
            figures = (await gateway.call("payer", "GET", "/metrics")).text
            assert 'assent_database_trouble{why="silent"} 1.0' in figures
            held, _ = await waiting
            assert held.status_code == 503
        finally:
            server.thaw()
        for answer, seconds in said:
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["retry-after"]) >= 1
            assert seconds < BOUND
        assert await _ready_again(gateway)
        for request in standing[:3]:
            again = await gateway.decide("ann", request)
            assert again.status_code in {200, 409}, again.text
            assert (await gateway.read(request))["state"] == "approved"
        again = [await gateway.ask("wire", session=f"during-{n}") for n in range(20)]
        rows = {row[0] for row in look(url, "SELECT id FROM requests")}
        assert {request["id"] for request in (*standing, *again)} == rows  # what was asked twice is there once
        assert faults(url) == []


def _path(request: dict[str, Any], more: str = "") -> str:
    return f"/v1/requests/{request['id']}{more}"


def _body(session: str) -> dict[str, Any]:
    return {"tool": "wire", "arguments": {"payee": "Acme", "amount": 80000}, "session": session}


async def _ready_again(gateway: Gateway) -> bool:
    async with asyncio.timeout(30):
        while (await gateway.call("payer", "GET", "/readyz")).status_code != 200:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    return True


# --- the store --------------------------------------------------------------------------------------------------------


@requirement("F-41", "F-32")
async def test_a_wire_that_swallows_everything_keeps_nobody_waiting(postgres_url: str, tmp_path: Path) -> None:
    async with wire(postgres_url) as (line, through), replicas(through, tmp_path, most=1) as [replica]:
        requests = [await replica.open(f"req_{n}") for n in range(3)]
        line.flows.clear()
        calls = [replica.vote(request, ANN) for request in requests]
        calls += [_told(replica.read(request.id)) for request in requests]
        for answer, seconds in await asyncio.gather(*(_timed(call) for call in calls)):
            assert isinstance(answer, UnavailableError), answer
            assert seconds < BOUND
        refused, at_once = await _timed(_told(replica.read("req_0")))
        assert isinstance(refused, UnavailableError)
        assert at_once < 0.5  # known by now: nobody waits to find it out again
        line.flows.set()
        async with asyncio.timeout(30):
            while isinstance(await replica.vote(requests[0], ANN), UnavailableError):  # noqa: ASYNC110 - no event comes
                await asyncio.sleep(0.1)
        for request in requests[1:]:
            assert (await replica.vote(request, ANN)).state is State.APPROVED
    assert faults(postgres_url) == []


async def _told(call: Any) -> Any:
    try:
        return await call
    except AssentError as error:
        return error


_SLOW_COMMIT = """
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_xact_lock(41);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER wait AFTER UPDATE ON requests DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION wait()
"""
_COMMITTING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'COMMIT'"


@requirement("F-41")
async def test_who_may_have_been_committed_is_never_told_that_it_was_not(postgres_url: str, tmp_path: Path) -> None:
    """The wire goes dead inside COMMIT, and the server commits behind it: the caller is told to look, and finds it."""
    async with wire(postgres_url) as (line, through), replicas(through, tmp_path, most=1) as [replica]:
        request = await replica.open("req_1")
        with psycopg.connect(postgres_url, autocommit=True) as owner:
            owner.execute(_SLOW_COMMIT)
            owner.execute("SELECT pg_advisory_lock(41)")
            voting = asyncio.ensure_future(_timed(replica.vote(request, ANN)))
            await until("it commits", lambda: look(postgres_url, _COMMITTING) == [(1,)])
            line.flows.clear()
            owner.execute("SELECT pg_advisory_unlock(41)")
            await until("it has", lambda: look(postgres_url, _STATE) == [("approved",)])
            answer, seconds = await voting
        assert isinstance(answer, UnavailableError)
        assert "did not say whether it committed" in answer.detail
        assert seconds < BOUND
        line.flows.set()
    assert look(postgres_url, "SELECT count(*) FROM decisions") == [(1,)]
    assert faults(postgres_url) == []


_STATE = "SELECT state FROM requests WHERE id = 'req_1'"


@requirement("F-41")
async def test_who_was_told_that_it_is_not_done_does_not_find_it_done_later(tmp_path: Path) -> None:
    """A unit is answered in the middle of its batch: when the server thaws, nobody goes on with it."""
    async with own_server() as (server, url), replicas(url, tmp_path, most=1) as [replica]:
        request = await replica.open("req_1")
        with server.frozen():
            answer = await replica.vote(request, ANN)
            assert isinstance(answer, UnavailableError)
            assert "does not answer" in answer.detail
        async with asyncio.timeout(30):
            while isinstance(await _told(replica.read("req_1")), UnavailableError):  # noqa: ASYNC110 - no event comes
                await asyncio.sleep(0.1)
        await replica.store.write(lambda tx: tx.now(), org=ORG)  # whatever the lane still had to do is behind it
        assert (await replica.read("req_1")).state is State.PENDING
        assert look(url, "SELECT count(*) FROM decisions") == [(0,)]
        with server.frozen():  # and a store stops while its database is silent
            voting = asyncio.ensure_future(replica.vote(request, ANN))
            _, took = await _timed(replica.store.stop())
            assert took < BOUND
            assert isinstance(await voting, UnavailableError)
        assert faults(url) == []


# --- its parts --------------------------------------------------------------------------------------------------------


@requirement("F-41")
async def test_the_listening_connection_notices_that_it_is_dead_and_another_one_listens(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.workers.notifications._QUIET_FOR", 0.2)
    monkeypatch.setattr("app.workers.notifications._ANSWERS_WITHIN", 0.5)
    connected = asyncio.Event()
    async with wire(postgres_url) as (line, through):
        listener = Notifications(through, own="", heard=lambda _: None, missed=connected.set)
        listening = asyncio.ensure_future(listener.run())
        await asyncio.wait_for(connected.wait(), 10)
        await asyncio.sleep(0.5)  # some rounds in which all is well
        assert not listening.done()
        line.flows.clear()
        with pytest.raises(UnavailableError):  # the supervisor starts it again
            await asyncio.wait_for(listening, BOUND)


@requirement("F-41")
async def test_the_question_for_a_commits_fate_is_bounded_too(postgres_url: str) -> None:
    async with wire(postgres_url) as (line, through):
        assert not await asyncio.to_thread(is_silent, through)
        opened = await asyncio.to_thread(psycopg.connect, through)
        line.flows.clear()

        def ask() -> None:
            with cut_after(opened, 0.5):
                opened.execute("SELECT 1")

        with pytest.raises(psycopg.OperationalError):
            await asyncio.wait_for(asyncio.to_thread(ask), BOUND)
        assert await asyncio.to_thread(is_silent, through)
