"""A run of the tests that is ended from outside leaves no PostgreSQL behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.fixtures.patience import eventually
from tests.places import ROOT

pytestmark = pytest.mark.process

BOUND = 60
WAITING = """\
import os, pathlib, signal, psycopg

def test_that_is_still_at_work(postgres_template, tmp_path):
    with postgres_template._admin() as admin:
        folder = pathlib.Path(admin.execute("SHOW data_directory").fetchone()[0])
        server = (folder / "postmaster.pid").read_text().split()[0]
        at_work = pathlib.Path(os.environ["AT_WORK"])
        at_work.with_suffix(".new").write_text(f"{server} {folder}")
        at_work.with_suffix(".new").rename(at_work)
        signal.pause()
"""


def _alone() -> dict[str, str]:
    """Return an environment without this run's own id: the inner run must not share its server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


@pytest.mark.postgres
@pytest.mark.timeout(120)
@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda sent: sent.name)
async def test_a_run_that_is_ended_takes_its_server_along(tmp_path: Path, sent: signal.Signals, workers: str) -> None:
    (tmp_path / "test_waiting.py").write_text(WAITING)
    at_work = tmp_path / "at-work"
    words = ["-c", os.devnull, "--rootdir", str(tmp_path), "-p", "tests.fixtures.databases", "-p", "no:cacheprovider"]
    run = subprocess.Popen(  # noqa: ASYNC220 - nothing else is on this loop
        [sys.executable, "-m", "pytest", *words, "-n", workers, str(tmp_path)],
        cwd=ROOT,
        env={**_alone(), "AT_WORK": str(at_work)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await eventually(lambda: at_work.exists() or run.poll() is not None, seconds=BOUND)
        server, folder = at_work.read_text().split(" ", 1)
        assert psutil.pid_exists(int(server))
        run.send_signal(sent)
        run.wait(BOUND)
        await eventually(lambda: not psutil.pid_exists(int(server)), seconds=BOUND)
        await eventually(lambda: not Path(folder).exists() and not Path(f"{folder}.lock").exists(), seconds=BOUND)
    finally:
        run.kill()
        run.wait()
