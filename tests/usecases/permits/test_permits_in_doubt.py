"""Permissions given beforehand, in bad hours: a unit that is run twice, a row that somebody broke by hand."""

from __future__ import annotations

from contextlib import closing
from sqlite3 import connect
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from app.domain.trail.audit import Kind
from app.storage.engine.lane import Lane
from app.storage.statements.together import LostGuardError
from tests.fixtures.standing import ALICE, PAY, RITA, approved, break_glass, confirm, propose, standing, submit
from tests.fixtures.standing import write_standing as write
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from app.storage.engine.answers import Job
    from app.storage.engine.transaction import Batch
    from tests.fixtures.gateway import Gateway


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org that permits standing approvals and names who may break its glass."""
    return write(tmp_path)


@requirement("S-50")
async def test_a_call_under_a_broken_glass_is_an_alarm_once_also_where_its_unit_was_run_twice(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    await break_glass(gateway)
    run = Lane._run_units
    lost: list[Batch] = []

    def lose_once(lane: Lane, connection: object, jobs: Sequence[Job], batch: Batch, began: float) -> None:
        run(lane, connection, jobs, batch, began)
        kinds = {item.record.kind for pending in batch.records.values() for item in pending}
        if Kind.GLASS_USED in kinds and not lost:
            lost.append(batch)
            raise LostGuardError

    monkeypatch.setattr(Lane, "_run_units", lose_once)
    with capture_logs() as logs:
        said = await submit(gateway)
    assert len(lost) == 1
    [alarm] = [each for each in logs if each["event"] == "break_glass.used"]
    assert (alarm["log_level"], alarm["request"]) == ("critical", said["request"]["id"])
    assert ALICE in alarm["reason"]


@requirement("S-50", "S-29")
@pytest.mark.parametrize("broken", ["{", "[]", "null", '"', '{"rule": 1}'])
@pytest.mark.sampled(3)
async def test_one_that_cannot_be_read_lets_nothing_pass_and_hinders_nobody(
    gateway: Gateway, sqlite_url: str, broken: str
) -> None:
    g = gateway
    first = await standing(g)
    with closing(connect(sqlite_url.removeprefix("sqlite:///"))) as by_hand, by_hand:
        by_hand.execute("UPDATE standing_approvals SET scope = ? WHERE id = ?", (broken, first["id"]))
    said = await submit(g, arguments={**PAY, "amount": "10"})
    assert (said["decision"], said["request"]["state"]) == ("ask", "pending"), "people are asked"
    [listed] = (await g.call("GET", "/v1/standing-approvals", who=RITA)).json()["items"]
    assert listed["state"] == "unreadable"
    other = await confirm(g, (await propose(g, await approved(g, arguments={**PAY, "amount": "11"}))).json())
    assert other.status_code == 200
    assert (await submit(g, arguments={**PAY, "amount": "12"}))["decision"] == "allow", "the next one holds"
    assert (await g.call("DELETE", f"/v1/standing-approvals/{first['id']}", who="admin")).json()[
        "state"
    ] == "unreadable"
    assert g.rows(f"SELECT status FROM standing_approvals WHERE id = '{first['id']}'") == [{"status": "revoked"}]
