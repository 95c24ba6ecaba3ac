"""The disk lies, fails, or loses its power: what was acknowledged is there, and a failed sync is believed."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.durability.disk.disk import Disk, build_shim, read_log
from tests.durability.invariants import faults
from tests.durability.write_driver import ORDER
from tests.places import ROOT
from tests.requirements import requirement

pytestmark = [pytest.mark.process, pytest.mark.may_block]


def run(folder: Path, shim: Path, *words: str, out: Path | None = None, **environ: str) -> str:
    """Run a driver with the shim between it and its disk."""
    with (out or Path(os.devnull)).open("ab") as sink:
        done = subprocess.run(
            [sys.executable, "-u", "-m", *words],
            env={**os.environ, "LD_PRELOAD": str(shim), "SHIM_UNDER": str(folder), **environ},
            cwd=ROOT,
            stdout=sink if out else subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout.decode() if done.stdout else ""


def acknowledged(said: bytes) -> dict[str, int]:
    """Return how far each request was told to have come."""
    heard: dict[str, int] = {}
    for line in said.decode().splitlines():
        name, state = line.split()
        heard[name] = max(heard.get(name, 0), ORDER.index(state))
    return heard


def found_in(path: Path) -> dict[str, int]:
    """Recover a file as SQLite does, and return how far each request has come."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT id, state FROM requests").fetchall()
    return {name: ORDER.index(state) for name, state in rows}


def cuts(folder: Path, template: Path, *, requests: int, many: int, seed: int) -> int:
    """Record a run, cut the power at many places, and look at what is left; return how many lost something unsaid."""
    disk, log, image = folder / "disk", folder / "log", folder / "image"
    disk.mkdir()
    file, acks = disk / "assent.db", disk / "acks"
    shutil.copyfile(template, file)
    start = {str(file): file.read_bytes(), str(acks): b""}
    shim = build_shim(folder)
    run(disk, shim, "tests.durability.write_driver", str(file), str(requests), out=acks, SHIM_LOG=str(log))
    done = list(read_log(log))
    assert {each.kind for each in done} == {"w", "s", "t", "u"}, "a checkpoint and a close are in it"
    draw = random.Random(seed)
    places = sorted(draw.choices(range(len(done)), k=many))
    model, told, unsaid = Disk(start), b"", 0
    for at, each in enumerate(done):
        if each.path == str(acks):
            told += each.data
        else:
            model.do(each)
        while places and places[0] == at:
            places.pop(0)
            shutil.rmtree(image, ignore_errors=True)
            image.mkdir()
            there = {Path(path).name: content for path, content in model.fails(draw).items()}
            for name in {"assent.db", "assent.db-wal", "assent.db-journal"} & {*there}:  # its shared memory is not kept
                (image / name).write_bytes(there[name])
            heard, found = acknowledged(told), found_in(image / "assent.db")
            lost = {name: state for name, state in heard.items() if found.get(name, 0) < state}
            assert lost == {}, f"cut behind {at} of {len(done)} (seed {seed}): {lost}"
            unsaid += any(state > heard.get(name, 0) for name, state in found.items())
            assert len(places) % 20 or faults(f"sqlite:///{image / 'assent.db'}") == []
    return unsaid


@requirement("F-28")
@pytest.mark.seeds(28)
def test_whatever_a_power_cut_leaves_of_what_was_not_synced_all_that_was_acknowledged_is_there(
    tmp_path: Path, sqlite_template: Path, seed: int
) -> None:
    unsaid = cuts(tmp_path, sqlite_template, requests=30, many=60, seed=seed)
    assert unsaid < 60, "some cuts fell where everything that was there had been told"


@requirement("F-28")
@pytest.mark.seeds(29)
@pytest.mark.long
def test_thousands_of_power_cuts_lose_nothing_that_was_acknowledged(
    tmp_path: Path, sqlite_template: Path, bounded: bool, seed: int
) -> None:
    cuts(tmp_path, sqlite_template, requests=60, many=200 if bounded else 5_000, seed=seed)


@requirement("F-27")
def test_after_a_sync_that_failed_the_store_takes_nothing_until_it_is_opened_anew(
    tmp_path: Path, sqlite_template: Path
) -> None:
    """What a failed sync leaves nobody knows: the next one may succeed without it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    file, mark = disk / "assent.db", tmp_path / "mark"
    shutil.copyfile(sqlite_template, file)
    shim = build_shim(tmp_path)
    words = ("tests.durability.disk.failing_driver", str(file), str(mark))
    said = [
        line.split("\t") for line in run(disk, shim, *words, "req", SHIM_EIO=str(mark)).splitlines() if "\t" in line
    ]
    assert [each[:2] for each in said[:4]] == [
        ["req_before", "kept"],
        ["req_unsynced", "refused"],
        ["req_after_1", "refused"],
        ["req_after_2", "refused"],
    ]
    why = "whether the disk kept what was written last, nobody knows: look at it, then start this gateway again"
    assert {(each[2], each[3]) for each in said[1:4]} == {(why, "Trouble.UNSYNCED")}
    # The one whose sync failed may be there or not, and its caller was told so; of the later ones nothing was tried.
    assert {"req_before"} <= {*found_in(file)} <= {"req_before", "req_unsynced"}
    again = run(disk, shim, *words, "again")
    assert [line.split("\t")[:2] for line in again.splitlines() if "\t" in line][1:4] == [
        ["again_unsynced", "kept"],
        ["again_after_1", "kept"],
        ["again_after_2", "kept"],
    ]
