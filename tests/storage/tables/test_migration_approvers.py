"""The third schema: what was decided before stays as it was, and going back loses only the two new columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.domain.lifecycle.lifecycle import advance
from migrations import run
from tests.domain.samples import vote
from tests.storage.rig import ORG, behind, given_request, look, open_store, stepping

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.may_block  # migrations wait for the database on this thread


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with request.getfixturevalue("postgres_template").clone(migrated=False) as url:
        yield url


@pytest.mark.heavy
async def test_what_was_decided_survives_the_change_both_ways(empty_url: str) -> None:
    run.upgrade(empty_url)
    async with open_store(empty_url) as store:
        now = await store.read(lambda tx: tx.now(), org=ORG)
        request = await given_request(store, now=now)
        approving = vote(request, "ann@acme.example", at=now)
        await store.write(stepping("req_1", lambda r, at: advance(r, approving, now=at)), org=ORG, about="req_1")
    kept = "SELECT r.id, r.status, d.person, d.verdict FROM requests r JOIN decisions d ON d.request_id = r.id"
    run.downgrade(empty_url, "0002")
    before = look(empty_url, kept)
    assert before == [("req_1", "approved", "ann@acme.example", "approve")]
    with pytest.raises(Exception, match="on_behalf_of"):
        look(empty_url, "SELECT on_behalf_of FROM decisions")
    run.upgrade(empty_url)
    assert look(empty_url, kept) == before
    assert look(empty_url, "SELECT on_behalf_of FROM decisions") == [(None,)]
    assert look(empty_url, "SELECT revoked_why FROM requests") == [(None,)]
    with behind(empty_url) as connection, pytest.raises(Exception, match=r"settled|never"):
        connection.execute("UPDATE requests SET version = version + 1, settled_by = 'x'")  # the guards are still there
