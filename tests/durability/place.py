"""A database that was made as an operator makes it, and commands of ours run beside it."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.durability.gateway_process import SECRET
from tests.fixtures import forked
from tests.fixtures.databases import running_server
from tests.fixtures.patience import HANGS
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import pytest


class Place:
    """A database that was made as an operator makes it, and how it is put back from a file."""

    def __init__(self, url: str, *, migrates: str, backs_up: str, restore: Callable[[Path], None]) -> None:
        self.url = url
        self.migrates = migrates
        self.backs_up = backs_up
        self.restore = restore


@asynccontextmanager
async def place(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """Make one: a SQLite file, or a PostgreSQL of its own with the roles of `deploy/roles.sh`."""
    if kind == "sqlite":
        file = folder / "assent.db"

        def put_back(copy: Path) -> None:
            for beside in ("", "-wal", "-shm"):
                Path(f"{file}{beside}").unlink(missing_ok=True)
            shutil.copyfile(copy, file)

        url = f"sqlite:///{file}"
        yield Place(url, migrates=url, backs_up=url, restore=put_back)
        return
    stack = running_server(f"assent-pg-own-{secrets.token_hex(6)}")
    server = await asyncio.to_thread(stack.__enter__)
    try:
        socket = server.get_postmaster_info().socket_dir
        monkeypatch.setenv("PATH", f"{server.bin_path}{os.pathsep}{os.environ['PATH']}")

        def tool(*words: str) -> None:
            names = (
                "POSTGRES_USER",
                "PGUSER",
                "ASSENT_OWNER_PASSWORD",
                "ASSENT_APP_PASSWORD",
                "ASSENT_BACKUP_PASSWORD",
            )
            environ = {**os.environ, "PGHOST": str(socket), **dict.fromkeys(names, "postgres")}
            done = subprocess.run(words, env=environ, check=False, capture_output=True, text=True, timeout=HANGS)
            assert done.returncode == 0, done.stderr

        def put_back(copy: Path) -> None:
            tool("dropdb", "--force", "assent")
            tool("pg_restore", "--create", "--exit-on-error", "--dbname", "postgres", str(copy))

        await asyncio.to_thread(tool, "sh", str(ROOT / "deploy" / "roles.sh"))
        url = "postgresql://assent_{}@/assent?host=" + str(socket)
        yield Place(url.format("app"), migrates=url.format("owner"), backs_up=url.format("backup"), restore=put_back)
    finally:
        await asyncio.to_thread(stack.__exit__, None, None, None)


def run(made: Place, folder: Path, *words: str, url: str | None = None) -> tuple[int, str]:
    """Run a command of ours in a process of its own; return its code and what it said."""
    log = folder / f"{words[0]}.log"
    environ = {
        **os.environ,
        "ASSENT_SECRET": SECRET,
        "ASSENT_DATABASE_URL": url or made.url,
        "ASSENT_BACKUP_URL": made.backs_up,
        "ASSENT_STATE_DIR": str(folder / "state"),
    }
    with log.open("wb") as out:
        process = forked.start("app.cli.main", *words, env=environ, stdout=out, stderr=out, cwd=folder)
        code = process.wait(60)
    return code, log.read_text()
