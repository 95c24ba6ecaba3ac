"""An answer that cannot be written is said, with exit code 1; and a key that nobody has seen opens nothing."""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures import forked
from tests.fixtures.gateway import SECRET
from tests.fixtures.patience import HANGS

pytestmark = pytest.mark.process

FILE = """\
org: acme
default: ask
url: http://localhost:8787
people: {wang@acme.example: {}}
groups: {finance: [wang@acme.example]}
ask: {stages: [{of: [finance]}], channels: [api]}
"""
KEY = "keys create --scope agent --agent shop --person wang@acme.example --label x"
NO_ROOM = "the answer could not be written: No space left on device; "


def said(folder: Path, url: str, words: str, *, onto: str = "/dev/full") -> tuple[int, str]:
    """Run a command whose standard output takes nothing; return its code, and what it said on the other one."""
    (folder / "assent.yaml").write_text(FILE)
    environ = {"PATH": os.environ["PATH"], "ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": url}
    with Path(onto).open("w") as full, tempfile.TemporaryFile() as err:
        process = forked.start("app.cli.main", *words.split(), env=environ, cwd=folder, stdout=full, stderr=err)
        code = process.wait(HANGS)
        err.seek(0)
        return code, err.read().decode()


def test_a_key_that_nobody_has_seen_is_revoked(tmp_path: Path, sqlite_url: str) -> None:
    code, told = said(tmp_path, sqlite_url, KEY)
    found = re.fullmatch(f"{NO_ROOM}nobody has seen the key, and (\\w+) is revoked: make another one\n", told)
    assert (code, bool(found)) == (1, True), told
    assert found is not None
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        [(key_id, revoked)] = connection.execute("SELECT id, revoked_at FROM api_keys").fetchall()
    assert key_id == found[1]
    assert revoked is not None


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("secret", "what was to be done may be done all the same"),
        ("config check", "what was to be done may be done all the same"),
        ("link wang@acme.example", "nobody has seen the link, and it ends by itself at "),
        ("factors invite wang@acme.example", "nobody has seen the code: invite again, which ends this invitation"),
    ],
)
def test_what_could_not_be_said_ends_with_1_in_one_line(tmp_path: Path, sqlite_url: str, words: str, more: str) -> None:
    code, told = said(tmp_path, sqlite_url, words)
    assert (code, told.count("\n")) == (1, 1), told
    assert told.startswith(NO_ROOM + more)


def test_what_is_written_somewhere_ends_with_0(tmp_path: Path, sqlite_url: str) -> None:
    code, told = said(tmp_path, sqlite_url, KEY, onto="/dev/null")
    assert (code, told.startswith("keep it now")) == (0, True), told
