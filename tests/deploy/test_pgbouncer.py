"""A real PgBouncer before PostgreSQL: in session mode all goes on as without it, in the others nothing starts."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import make_url

from app.cli.commands import app
from app.embedded import embedded_gateway
from app.serve import StartRefusedError
from app.storage.database import pooler
from app.storage.database.pooler import shares_sessions
from tests.deploy.programs import needs, place_of
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, open_gateway
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = [pytest.mark.process, needs("pgbouncer")]
TOLD = "shares sessions between transactions"


@pytest.fixture
def pooled(postgres_url: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Run one before the test's database; yield the database's URL through each mode of it."""
    there = make_url(postgres_url)
    sockets = str(there.query["host"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    there_too = f"host={sockets} dbname={there.database} user={there.username}"
    ours = (ROOT / "deploy/pgbouncer.ini").read_text(encoding="utf-8")
    for written, here in {
        "assent = host=postgres.acme.example port=5432 dbname=assent": (
            f"session = {there_too}\n"
            f"transaction = {there_too} pool_mode=transaction\nstatement = {there_too} pool_mode=statement\n"
            f"narrow = {there_too} pool_size=1"
        ),
        "listen_addr = 0.0.0.0": "listen_addr = 127.0.0.1\nunix_socket_dir =",
        "listen_port = 6432": f"listen_port = {port}",
        "auth_type = scram-sha-256\nauth_file = /etc/pgbouncer/userlist.txt": "auth_type = any",
    }.items():
        assert written in ours
        ours = ours.replace(written, here)
    (tmp_path / "pgbouncer.ini").write_text(ours)
    # It does not run as root; the server's account may use the server's socket.
    account = ["-u", pwd.getpwuid(Path(sockets).stat().st_uid).pw_name] if os.geteuid() == 0 else []
    with (tmp_path / "pgbouncer.ini").open() as given, (tmp_path / "pgbouncer.log").open("w") as log:
        words = [place_of("pgbouncer"), *account, "/dev/stdin"]
        process = subprocess.Popen(words, stdin=given, stdout=log, stderr=log, cwd="/")
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "pgbouncer.log").read_text()
        yield {
            mode: f"postgresql://{there.username}@127.0.0.1:{port}/{mode}"
            for mode in ("session", "transaction", "statement", "narrow")
        }
    finally:
        process.terminate()
        process.wait(120)


async def test_in_session_mode_a_payment_is_approved_and_run_and_replicas_hear_each_other(
    pooled: dict[str, str], config: Path, platform: MemoryPlatform
) -> None:
    url = pooled["session"]
    async with open_gateway(url, config, platform) as one, open_gateway(url, config, platform) as other:
        paying = await one.ask("pay")
        held = asyncio.create_task(one.call("GET", f"/v1/requests/{paying['id']}?wait=30"))
        assert (await other.press(paying))["result"] == "recorded"
        assert (await held).json()["state"] == "approved"  # by LISTEN alone: nobody looks again within the hour
        assert (await other.claim(paying)).status_code == 200
        assert (await one.report(paying)).status_code == 200
        assert (await other.read(paying))["state"] == "succeeded"
        assert (await one.verify())[1] is None


def test_only_a_pooler_that_shares_sessions_is_taken_for_one(
    pooled: dict[str, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pooler, "OPENS_WITHIN", 1)  # it waits for a second session, in vain
        assert not shares_sessions(pooled.pop("narrow"))
    found = {mode: shares_sessions(url) for mode, url in pooled.items()}
    assert found == {"session": False, "transaction": True, "statement": True}
    assert not shares_sessions(postgres_url)
    with psycopg.connect(pooled["transaction"], autocommit=True) as busy:  # somebody else uses it, too
        busy.execute("BEGIN")
        assert shares_sessions(pooled["transaction"])


@pytest.mark.may_block  # a command's own loop serves nobody else
def test_in_transaction_mode_nothing_starts_and_says_why(
    pooled: dict[str, str], config: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    monkeypatch.setenv("ASSENT_DATABASE_URL", pooled["transaction"])
    at = ["-c", str(config)]
    for words in (["serve", *at, "--port", "0"], ["migrate"], ["serve", "--migrate", *at], ["keys", "list", *at]):
        done = CliRunner().invoke(app, words)
        assert (done.exit_code, TOLD in done.stderr, "pool_mode = session" in done.stderr) == (2, True, True), words
    done = CliRunner().invoke(app, ["doctor", *at])
    assert (done.exit_code, TOLD in done.stdout) == (1, True)
    with pytest.raises(StartRefusedError, match=TOLD):
        asyncio.run(start_embedded(pooled["transaction"], config))


async def start_embedded(url: str, config: Path) -> None:
    async with embedded_gateway(url, config, agent="shop", org="acme", secret=SECRET):
        pass
