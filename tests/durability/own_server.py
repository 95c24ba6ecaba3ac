"""A PostgreSQL that nobody shares, with everything on that keeps commits: to be stopped, frozen and filled."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import psycopg

from migrations import run
from tests.fixtures.databases import running_server
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Server:
    """A PostgreSQL of the test's own, to be stopped the hard way."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def pg_ctl(self, *arguments: str) -> None:
        """Run pg_ctl as the server's own account."""
        command = [str(self._server.bin_path / "pg_ctl"), "-D", str(self._server.pgdata), "-w", *arguments]
        user = self._server.system_user
        subprocess.run(
            command, check=True, capture_output=True, timeout=HANGS, **({"user": user} if user else {}), cwd="/"
        )

    def checkpoint(self) -> None:
        """Bring all that is there to the disk: what a test then loses, it lost itself."""
        with psycopg.connect(self._server.get_uri(), autocommit=True) as admin:
            admin.execute("CHECKPOINT")

    def stop_at_once(self) -> None:
        self.pg_ctl("stop", "-m", "immediate")

    def processes(self) -> list[psutil.Process]:
        """Return all of it: the postmaster, what it does beside, and a process for each connection."""
        first = int((Path(self._server.pgdata) / "postmaster.pid").read_text().splitlines()[0])
        postmaster = psutil.Process(first)
        return [postmaster, *postmaster.children(recursive=True)]

    def freeze(self) -> None:
        """Stop every process where it stands: no connection ends, and none is answered."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):  # its connection was closed, and it ended meanwhile
                process.suspend()

    def thaw(self) -> None:
        """Let them go on."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):  # it had ended before, and whoever thawed first took note of it
                process.resume()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stand still for a while."""
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def start(self) -> None:
        socket_folder = self._server.get_postmaster_info().socket_dir
        self.pg_ctl("-l", str(self._server.log), "-o", f'-h "" -k {socket_folder}', "start")


@asynccontextmanager
async def own_server() -> AsyncIterator[tuple[Server, str]]:
    """Start a server that nobody shares, with everything on that keeps commits (fsync and full_page_writes)."""
    with ExitStack() as stack:
        server = await asyncio.to_thread(stack.enter_context, running_server(f"assent-pg-own-{secrets.token_hex(6)}"))
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            # Nothing but a COMMIT brings the log to the disk, so that none lives on because its neighbour in time did.
            for setting in ("wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'", "autovacuum = off"):
                admin.execute(f"ALTER SYSTEM SET {setting}")
            admin.execute("SELECT pg_reload_conf()")
            admin.execute("CREATE ROLE owner LOGIN NOSUPERUSER")
            admin.execute("CREATE DATABASE own OWNER owner")
        url = server.get_uri().replace("postgres:", "owner:").replace("/postgres?", "/own?")
        await asyncio.to_thread(run.upgrade, url)
        try:
            yield Server(server), url
        finally:
            await asyncio.to_thread(stack.close)
