"""What a process remembers of requests' rows is what anybody else reads there, and nothing else is ever handed out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from app.domain.identity.seals import Seals
from app.domain.lifecycle.execution import claim, report
from app.domain.lifecycle.lifecycle import Vote, advance
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.quorum import Electorate
from app.domain.request.request import ExecutionStatus
from app.storage.requests.known import find_known
from app.storage.requests.requests import find_request, lock_request
from app.storage.tables.guards import drop_statements
from tests.domain.samples import START, a_call, vote
from tests.fixtures.examples import examples
from tests.requirements import requirement
from tests.storage.requests.test_aggregate import EVIDENCE, requests
from tests.storage.rig import ORG, behind, given_request, open_store, opening, stepping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from tests.storage.rig import ManualClock

SEALS = Seals(["a-master-secret-of-these-tests-0123456789"])


@pytest.fixture
async def store(database_url: str, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(database_url, clock, seals=SEALS) as opened:
        yield opened


async def stands(store: Store, request_id: str) -> ConfirmationRequest | None:
    return await store.read(lambda tx: find_request(tx, request_id), org=ORG)


async def locked(store: Store, request_id: str) -> ConfirmationRequest | None:
    found = await store.write(lambda tx: lock_request(tx, request_id), org=ORG, about=request_id)
    return found[0] if found else None


async def is_known(store: Store, request_id: str) -> bool:
    """Say whether the whole of a request is remembered."""

    def unit(tx: Tx) -> bool:
        known = find_known(tx, request_id)
        return known is not None and known.request is not None

    return await store.write(unit, org=ORG)


@requirement("S-63")
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=requests(), evidence=EVIDENCE)
async def test_what_is_remembered_is_what_another_process_reads(
    store: Store, database_url: str, clock: ManualClock, request: ConfirmationRequest, evidence: Evidence
) -> None:
    """At each step: here from memory, there from the rows."""
    person = Electorate(stages=(frozenset({"p0"}),), barred=frozenset())
    decision = Decision(
        id=f"dec_{request.id}",
        person="p0",
        verdict=Verdict.DENY,
        reason=None,
        at=START,
        evidence=replace(evidence, shown_at=START),
    )
    approval = replace(decision, verdict=Verdict.APPROVE)
    steps: list[Callable[[Any, Any], Any]] = [
        lambda r, now: advance(r, Vote(decision=approval, voters=person), now=now),
        lambda r, now: claim(r, execution_id=f"exe_{r.id}", claim_id="c", by="agent:a", now=now),
        lambda r, now: report(
            r, claim_id="c", status=ExecutionStatus.SUCCEEDED, result=None, error=None, by="a", now=now
        ),
    ]
    request = replace(request, stages=(replace(request.stages[0], need=1),))
    await store.write(opening(request), org=ORG, about=request.id)
    async with open_store(database_url, clock, seals=SEALS) as other:
        for step in (None, *steps):
            if step is not None:
                await store.write(stepping(request.id, step), org=ORG, about=request.id)
            read = await stands(other, request.id)
            assert read is not None
            assert await stands(store, request.id) == await locked(store, request.id) == read


async def test_a_request_is_known_from_its_opening_to_its_claim_and_no_longer_than_its_outcome(store: Store) -> None:
    request = await given_request(store)
    assert await is_known(store, request.id)
    approving = vote(request, "ann@acme.example")
    await store.write(stepping("req_1", lambda r, now: advance(r, approving, now=now)), org=ORG, about="req_1")
    assert await is_known(store, request.id)
    await store.write(
        stepping("req_1", lambda r, now: claim(r, execution_id="exe_1", claim_id="c", by="agent:a", now=now)),
        org=ORG,
        about="req_1",
    )
    assert await is_known(store, request.id)
    done: dict[str, Any] = {"claim_id": "c", "status": ExecutionStatus.SUCCEEDED, "result": '"x"', "error": None}
    await store.write(stepping("req_1", lambda r, now: report(r, by="a", now=now, **done)), org=ORG, about="req_1")
    assert not await is_known(store, request.id)
    assert (await stands(store, "req_1")) == (await locked(store, "req_1"))


async def test_what_was_not_committed_is_never_found(store: Store) -> None:
    request = await given_request(store)
    approving = vote(request, "ann@acme.example")

    def unit(tx: Tx) -> None:
        stepping("req_1", lambda r, now: advance(r, approving, now=now))(tx)
        raise RuntimeError("the commit does not happen")

    with pytest.raises(RuntimeError):
        await store.write(unit, org=ORG, about="req_1")
    assert await locked(store, "req_1") == request


@requirement("S-63")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE requests SET status = 'denied'",
        "UPDATE requests SET settled_by = 'x'",
        "UPDATE requests SET why = 'x'",
        "UPDATE requests SET arguments = '{}'",
        "UPDATE requests SET seal = 's1.x.y'",
        "UPDATE decisions SET person = 'eve@acme.example'",
        "UPDATE grants SET not_after = not_after + 1",
        "DELETE FROM decisions",
    ],
)
async def test_a_row_that_was_changed_is_not_what_is_remembered(store: Store, database_url: str, change: str) -> None:
    request = await given_request(store)
    approving = vote(request, "ann@acme.example")
    await store.write(stepping("req_1", lambda r, now: advance(r, approving, now=now)), org=ORG, about="req_1")
    assert await locked(store, "req_1") is not None
    is_sqlite = database_url.startswith("sqlite")
    fences = list(drop_statements("sqlite" if is_sqlite else "postgresql")[: None if is_sqlite else -2])
    with behind(database_url) as connection:
        for statement in (*fences, change):
            connection.execute(statement)
    assert await locked(store, "req_1") is None


async def test_what_is_remembered_is_bounded_in_number_and_length(store: Store) -> None:
    await given_request(store, "req_long", call=a_call(session="s", arguments={"text": "x" * 20_000}))
    assert not await is_known(store, "req_long")
    for number in range(520):
        await given_request(store, f"req_{number}", expires_at=START + timedelta(hours=1))
    known = [number for number in range(520) if await is_known(store, f"req_{number}")]
    assert known == list(range(8, 520))
