"""A backup that cannot be written says why, and its mend speaks of the disk that is full."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from app.storage.database.mends import mend_of
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.fixtures.patience import HANGS
from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.may_block

URL = "postgresql://assent_app:pw@db.example/assent"
LOCAL = "pg_dump: error: could not write to output file: No space left on device"
SERVER = "pg_dump: error: Dumping failed: ERROR: could not extend file base/1: No space left on device"


@pytest.mark.process
@pytest.mark.parametrize(
    ("does", "why", "mend"),
    [
        (f"echo '{LOCAL}' >&2; exit 1", "No space left on device", "make room on the disk of FOLDER"),
        (f"echo '{SERVER}' >&2; exit 1", "could not extend", "make room on the disk of the PostgreSQL at db.example"),
        ("kill -XFSZ $$", "SIGXFSZ ended it", "a limit on the size of files (ulimit -f)"),
        ("echo 'pg_dump: dumping' >&2; kill -KILL $$", "SIGKILL ended it: pg_dump: dumping", "a lack of memory"),
    ],
)
def test_what_ended_a_dump_is_said_with_its_own_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, why: str, mend: str
) -> None:
    tool = tmp_path / "bin" / "pg_dump"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{does}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    env = {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": URL}
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "copy")], env=env)
    assert done.exit_code == 2
    said, told = done.stderr.splitlines()
    assert said.startswith("pg_dump failed, and nothing is kept: ")
    assert why in said
    assert told.startswith("mend: ")
    assert mend.replace("FOLDER", str(tmp_path)) in told
    assert "whether PostgreSQL runs" not in told
    assert [each.name for each in tmp_path.iterdir()] == ["bin"]


@pytest.mark.process
def test_a_copy_that_has_no_room_says_where_room_is_to_be_made(tmp_path: Path, sqlite_url: str) -> None:
    environ = os.environ | {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": sqlite_url}
    environ |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'sdk'}", "PYTHONDONTWRITEBYTECODE": "1"}
    limited = f"ulimit -f 16; exec '{sys.executable}' -m app.cli.main backup '{tmp_path}/into/copy'"
    (tmp_path / "into").mkdir()
    words = ["bash", "-c", limited]
    done = subprocess.run(words, env=environ, cwd=ROOT, capture_output=True, text=True, check=False, timeout=HANGS)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "the copy could not be written, and nothing is kept: " in done.stderr
    assert f"mend: make room on the disk of {tmp_path / 'into'}, lift a limit on it" in done.stderr
    assert list((tmp_path / "into").iterdir()) == []


def test_a_server_without_room_is_told_as_such_wherever_it_is_said() -> None:
    assert "the PostgreSQL at db.example" in mend_of(OSError("could not extend file: No space left on device"), URL)
