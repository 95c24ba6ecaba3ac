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

BOUND = 300  # it ends what hangs; on a busy machine a PostgreSQL is a minute in coming
WAITING = """\
import os, pathlib, signal, psycopg
from migrations import run

run.upgrade = lambda url: None  # what is in the server's databases is all the same here, and dear

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
    """Return an environment without this run's own id (its server must not be shared) and without needless plugins."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TESTS_RUN"))}
    return {**own, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.mark.postgres
@pytest.mark.timeout(4 * BOUND)
@pytest.mark.parametrize(
    ("sent", "workers"),
    [
        (signal.SIGKILL, "2"),
        (signal.SIGINT, "0"),
        *(
            pytest.param(*run, marks=pytest.mark.long)  # `make crash`
            for run in ((signal.SIGKILL, "0"), (signal.SIGINT, "2"), (signal.SIGTERM, "0"), (signal.SIGTERM, "2"))
        ),
    ],
)
async def test_a_run_that_is_ended_takes_its_server_along(tmp_path: Path, sent: signal.Signals, workers: str) -> None:
    (tmp_path / "test_waiting.py").write_text(WAITING)
    at_work = tmp_path / "at-work"
    words = ["-c", os.devnull, "--rootdir", str(tmp_path), "-p", "tests.fixtures.databases", "-p", "xdist"]
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
