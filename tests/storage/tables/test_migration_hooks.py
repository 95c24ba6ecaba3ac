"""The second schema: keys that were there stay, evaluation keys become possible, and going back loses only those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from migrations import run
from tests.storage.rig import REFUSED, behind, look

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = (
    "INSERT INTO api_keys (id, org, scope, agent, label, secret_hash, created_at) "
    "VALUES ('{id}', 'acme', '{scope}', {agent}, 'l', 'h', 1)"
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with request.getfixturevalue("postgres_template").clone(migrated=False) as url:
        yield url


def insert(url: str, key_id: str, scope: str, agent: str) -> bool:
    with behind(url, scope="*") as connection:
        try:
            connection.execute(KEY.format(id=key_id, scope=scope, agent=agent))
        except REFUSED:
            return False
    return True


@pytest.mark.heavy
def test_keys_survive_the_change_of_their_scopes_both_ways(empty_url: str) -> None:
    run.upgrade(empty_url, "0001")
    assert insert(empty_url, "old", "agent", "'shop'")
    assert not insert(empty_url, "early", "evaluation", "'shop'")
    run.upgrade(empty_url)
    assert insert(empty_url, "new", "evaluation", "'shop'")
    assert not insert(empty_url, "whose", "evaluation", "NULL")
    assert not insert(empty_url, "admins", "admin", "'shop'")
    assert not insert(empty_url, "approvers", "approver", "NULL")  # it has no person
    run.downgrade(empty_url, "0001")
    assert look(empty_url, "SELECT id, scope FROM api_keys") == [("old", "agent")]
    assert not insert(empty_url, "late", "evaluation", "'shop'")
    assert not insert(empty_url, "approvers", "approver", "NULL")
