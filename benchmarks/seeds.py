"""Rows to start from: many pending requests, written by the gateway's own storage; and what the rows say afterwards."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from msgspec.structs import replace

from app.container import Container
from app.domain.lifecycle.lifecycle import opened
from app.settings import Settings
from app.usecases.asking.submit import Asked, Submission
from app.usecases.writing.carry_out import open_request
from benchmarks.databases import sqlite_path
from benchmarks.processes import AGENT, CONFIG, ORG, PAY, SECRET
from benchmarks.talks import Opened

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Tx

_UNIT = 100  # rows of one commit: of five hundred it takes seconds on a starved machine, and eight are the most it may
_AGENTS = 100  # each commit counts what its agent has waiting, up to the bound on that: nobody lets one have so many


async def seed(url: str, folder: Path, count: int) -> list[Opened]:
    """Write `count` pending requests, as if as many calls had asked, each with its event in the trail."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "seed.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    settings = Settings(database_url=url, secret=SECRET)  # pyright: ignore[reportArgumentType] - parsed by Pydantic
    made: list[Opened] = []
    async with Container(settings, config, {}) as container:
        asked = await container.submit(
            Submission(org=ORG, agent=AGENT, owner="wang@acme.example", tool="pay", arguments=PAY)
        )
        assert isinstance(asked, Asked)
        made.append(Opened(f"/v1/requests/{asked.request.id}", asked.request.digest))
        while len(made) < count:
            wanted = min(_UNIT, count - len(made))
            made += await container.store.write(lambda tx, wanted=wanted: _copies(tx, asked.request, wanted), org=ORG)
    if not url.startswith("sqlite"):
        _look_through(url)
    return made


def _look_through(url: str) -> None:
    """Let PostgreSQL see what it has. By itself it looks once a minute, and rows come more slowly than these.

    Until it has looked, it plans for an empty table: a page of the list of 20,000 that wait took 30 ms, then 8 ms.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def _copies(tx: Tx, template: ConfirmationRequest, count: int) -> list[Opened]:
    made: list[Opened] = []
    for index in range(count):
        call = replace(template.call, agent=f"{AGENT}-{index % _AGENTS}")
        request_id, nonce = tx.ids.new("req"), tx.ids.new("n")
        bound = hashlib.sha256(nonce.encode()).hexdigest()
        open_request(tx, opened(replace(template, id=request_id, call=call, nonce=nonce, digest=bound)), targets={})
        made.append(Opened(f"/v1/requests/{request_id}", bound))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the rows say: how many decisions each request has."""

    by_request: dict[str, int]

    def lost(self, acknowledged: set[str]) -> int:
        """Count decisions that were acknowledged and are not there."""
        return sum(1 for path in acknowledged if not self.by_request.get(path.rpartition("/")[2]))

    def doubled(self) -> int:
        """Count requests with more than one decision of the only approver."""
        return sum(1 for count in self.by_request.values() if count > 1)


def standing(url: str) -> Standing:
    """Read every decision from the database itself."""
    import sqlite3

    connection: Any
    if url.startswith("sqlite"):
        connection = sqlite3.connect(sqlite_path(url))
    else:
        connection = psycopg.connect(url)
        connection.execute("SET assent.org = '*'")
    rows = connection.execute("SELECT request_id, count(*) FROM decisions GROUP BY request_id").fetchall()
    connection.close()
    return Standing(by_request={str(row[0]): int(row[1]) for row in rows})
