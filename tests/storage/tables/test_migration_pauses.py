"""The fifth schema: switches that are set stay set, also twice of one agent with different tools; back, pauses go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from migrations import run
from tests.storage.rig import REFUSED, behind, look

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PUT = "INSERT INTO switches (org, name, agent, is_on, reason, set_by, set_at{column}) VALUES {rows}"
SEEN = "SELECT org, name, agent, is_on, reason, set_by, set_at FROM switches ORDER BY name"
OLD = ("acme", "read-only", "shop", 1, "month end", "cli", 1)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with request.getfixturevalue("postgres_template").clone(migrated=False) as url:
        yield url


@pytest.mark.heavy
def test_switches_survive_the_change_both_ways(empty_url: str) -> None:
    run.upgrade(empty_url, "0004")
    with behind(empty_url) as connection:
        connection.execute(PUT.format(column="", rows=OLD))
    run.upgrade(empty_url)
    assert look(empty_url, SEEN) == [OLD]
    assert look(empty_url, "SELECT tool FROM switches") == [("",)]
    pauses = ", ".join(f"('acme', 'pause', 'shop', 1, 'x', 'cli', 2, '{tool}')" for tool in ("", "pay"))
    with behind(empty_url) as connection:
        connection.execute(PUT.format(column=", tool", rows=pauses))
        with pytest.raises(REFUSED):  # one row a switch
            connection.execute(PUT.format(column=", tool", rows=pauses))
    assert len(look(empty_url, SEEN)) == 3
    run.downgrade(empty_url, "0004")
    assert look(empty_url, SEEN) == [OLD]
    with behind(empty_url) as connection, pytest.raises(REFUSED):
        connection.execute(PUT.format(column="", rows=OLD))
    run.upgrade(empty_url)
    assert look(empty_url, SEEN) == [OLD]


@pytest.mark.postgres
def test_an_org_still_sees_its_own_switches_only(request: pytest.FixtureRequest) -> None:
    with request.getfixturevalue("postgres_template").clone(migrated=False) as url:
        run.upgrade(url)
        with behind(url) as connection:
            connection.execute(PUT.format(column="", rows=OLD))
        with behind(url, scope="globex") as connection:
            assert connection.execute(SEEN).fetchall() == []
