"""A later release's migration runs beside gateways of this one that work: expand, backfill, contract, and back again.

The later release is the test's own: three steps as the rules of docs/operations.md want them, killed once each.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from migrations import run
from migrations.state import NEWEST
from tests.durability.gateway_process import scene, until
from tests.durability.invariants import faults
from tests.fixtures import forked
from tests.requirements import requirement
from tests.storage.rig import behind, look

if TYPE_CHECKING:
    from pathlib import Path

    from tests.durability.gateway_process import Gateway, Scene

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

STEPS = {
    "9001": ("op.add_column('api_keys', sa.Column('note', sa.Text()))", "op.drop_column('api_keys', 'note')"),
    "9002": ("op.execute('UPDATE api_keys SET note = label')", "pass"),
    "9003": (
        "op.create_index('ix_api_keys_note', 'api_keys', ['note'])",
        "op.drop_index('ix_api_keys_note', 'api_keys')",
    ),
}
_FILE = """\
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = {name!r}, {before!r}, None, None
def upgrade(): {up}
def downgrade(): {down}
"""


@pytest.fixture
def later(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a later release's steps beside ours, once the database stands; return its URL."""
    monkeypatch.setattr(run, "VERSIONS", [*run.VERSIONS, write_steps(tmp_path)])
    return database_url


def write_steps(beside: Path) -> Path:
    """Write the later release's steps into a folder, and return that."""
    folder, before = beside / "later", NEWEST
    folder.mkdir()
    for name, (up, down) in STEPS.items():
        (folder / f"{name}_step.py").write_text(_FILE.format(name=name, before=before, up=up, down=down))
        before = name
    return folder


class KilledError(Exception):
    """The migration ends here."""


def _die(_: str) -> None:
    raise KilledError


class Load:
    """Asks, decides and claims at every gateway in turn, until it is over."""

    def __init__(self, gateways: list[Gateway]) -> None:
        self.decided = 0
        self.refused: list[str] = []
        self._gateways = gateways
        self._over = asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    async def more(self) -> None:
        """Wait until some more were decided."""
        enough = self.decided + 3
        await until("it goes on", lambda: self.decided >= enough or self._task.done())
        assert not self._task.done()

    async def end(self) -> None:
        self._over.set()
        await self._task

    async def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            gateway = self._gateways[number % len(self._gateways)]
            request = await gateway.ask("wire", session=f"s-{number}")
            for said in (await gateway.decide("ann", request), await gateway.claim(request)):
                if said.status_code != 200:
                    self.refused.append(said.text)
            self.decided += 1
            number += 1


async def _stepwise(url: str, load: Load, steps: list[str], *, back: bool = False) -> None:
    """Go step by step, each killed once before it is done, while people decide."""
    for step in steps:
        with pytest.raises(KilledError):
            await asyncio.to_thread(run.bring, url, step, may_lose=back, told=_die)
        await load.more()
        await asyncio.to_thread(run.bring, url, step, may_lose=back)
        await load.more()


@requirement("F-39", "F-43")
async def test_a_later_release_migrates_beside_gateways_that_work_and_goes_back_and_no_decision_fails(
    later: str, tmp_path: Path
) -> None:
    async with scene(later, tmp_path) as made, made.gateway() as one:
        gateways = [one]
        if later.startswith("sqlite"):
            await _through(made, gateways)
            return
        async with made.gateway() as two:
            await _through(made, [one, two])


async def _through(made: Scene, gateways: list[Gateway]) -> None:
    load = Load(gateways)
    await load.more()
    await _stepwise(made.url, load, list(STEPS))
    assert look(made.url, "SELECT count(*) FROM api_keys WHERE note IS NULL") == [(0,)]
    for gateway in gateways:
        await _says_newer(gateway, "9003")
    key = await asyncio.to_thread(_refused_start, made)
    assert "newer than the" in key
    await _stepwise(made.url, load, ["9002", "9001", NEWEST], back=True)
    await load.end()
    assert load.refused == []
    assert look(made.url, "SELECT version_num FROM alembic_version") == [(NEWEST,)]
    assert faults(made.url) == []


async def _says_newer(gateway: Gateway, revision: str) -> None:
    async def told() -> dict[str, Any]:
        ready = await gateway.call("payer", "GET", "/readyz")
        assert ready.status_code == 200
        return ready.json()

    async with asyncio.timeout(20):
        while (await told()).get("newer_schema") != revision:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    assert "schema.changed" in gateway.log.read_text()


def _refused_start(made: Scene) -> str:
    """Start another gateway of this release on the newer schema; return what it says."""
    log = made.folder / "refused.log"
    environ = {"ASSENT_SECRET": "durability-" * 4, "ASSENT_DATABASE_URL": made.url}
    with log.open("wb") as out:
        words = ("app.cli.main", "keys", "list", "-c", str(made.folder / "assent.yaml"))
        process = forked.start(*words, env=environ, stdout=out, stderr=out, cwd=made.folder)
        assert process.wait(30) == 2
    return log.read_text()


@requirement("F-43")
async def test_a_gateway_whose_schema_went_back_is_not_ready_and_says_so(postgres_url: str, tmp_path: Path) -> None:
    async with scene(postgres_url, tmp_path) as made, made.gateway() as gateway:
        with behind(postgres_url) as owner:
            owner.execute("UPDATE alembic_version SET version_num = '0001'")
        async with asyncio.timeout(20):
            while (await gateway.call("payer", "GET", "/readyz")).status_code == 200:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
        unready = await gateway.call("payer", "GET", "/readyz")
        assert "went back to the schema 0001" in unready.json()["detail"]
