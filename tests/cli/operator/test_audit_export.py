"""`assent audit export`: the trail, or a span of it, as a file for a stranger; nothing in the database changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from app.cli import progress
from tests.cli.operator.test_audit_cut import Archive, archive, seqs
from tests.fixtures.tampering import Stranger
from tests.places import ROOT
from tests.requirements import requirement
from tests.usecases.upkeep.test_retention import events

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.trail.audit import AuditEvent

__all__ = ["archive"]
pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else

DAY = 86_400_000_000


async def export(a: Archive, *words: str, code: int = 0) -> str:
    done = await a.run("audit", "export", "--to", str(a.folder), *words)
    assert done.exit_code == code, done.output
    return done.output


def walk(files: list[Path], *after: tuple[int, str]) -> tuple[int, str]:
    """Verify as the page says that a stranger does."""
    page = (ROOT / "docs/trail.md").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], scope)
    return scope["walk"](files, *after)


async def end(a: Archive) -> AuditEvent:
    return (await events(a.g))[-1]


@requirement("S-17", "S-59")
async def test_a_trail_is_exported_whole_and_stays_as_it_is(archive: Archive) -> None:
    a = archive
    await a.story("denied", "succeeded", "cancelled")
    before, head = a.g.content(), await end(a)
    said = await export(a)
    [file] = a.files()
    assert a.g.content() == before
    assert file.name == f"acme-{0:012}-{head.seq:012}.jsonl"
    assert walk([file]) == (head.seq, head.hash)
    assert f"acme: {head.seq + 1} events, 0 to {head.seq}, are in {file}" in said
    assert f"sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}\nhead: {head.seq} {head.hash}" in said
    assert file.stat().st_mode & 0o077 == 0
    assert await export(a) == said  # the same again is the same file
    assert a.files() == [file]


async def test_a_span_of_days_follows_the_event_before_it(archive: Archive) -> None:
    a = archive
    await a.story("denied", "cancelled")
    strange = await asyncio.to_thread(Stranger, a.g)
    [row] = a.g.rows("SELECT min(at) AS at FROM audit_events WHERE org = 'acme'")
    today = row["at"] // DAY * DAY
    day = (await events(a.g))[0].at.date()
    await export(a, "--since", str(day))
    assert walk(a.files()) == ((await end(a)).seq, (await end(a)).hash)
    assert "no event is in this span" in await export(a, "--before", str(day), code=2)
    assert "no event is in this span" in await export(a, "--since", "2099-01-01", code=2)
    a.files()[0].unlink()
    # The first three are of the day before, and their hashes are made anew: as if a day had gone by.
    strange(f"UPDATE audit_events SET at = {today - DAY} WHERE org = 'acme' AND seq < 3")
    assert "nothing is exported: event 0 was changed" in await export(a, "--before", str(day), code=1)
    assert a.files() == []
    said = await export(a, "--since", str(day))
    [file] = a.files()
    third = (await events(a.g))[2]
    assert f"3 to {(await end(a)).seq}, are in" in said
    assert walk([file], (2, third.hash)) == ((await end(a)).seq, (await end(a)).hash)
    with pytest.raises(ValueError, match="does not follow"):
        walk([file])


async def test_what_was_cut_off_before_is_said_and_the_files_follow_one_another(archive: Archive) -> None:
    a = archive
    await a.story("denied")
    await a.cut()
    [segment] = a.files()
    last = json.loads(segment.read_text().splitlines()[-1])["last"]
    await a.story("cancelled")
    kept = seqs(a)
    assert f"the events until {last} were cut off: they are in {segment.name}" in await export(a)
    assert seqs(a) == kept
    assert walk(a.files()) == ((await end(a)).seq, (await end(a)).hash)


async def test_a_broken_trail_and_a_folder_that_takes_nothing_leave_no_file(archive: Archive) -> None:
    a = archive
    await a.story("denied")
    assert "is no folder" in (await a.run("audit", "export", "--to", str(a.folder / "none"))).output
    assert "--since: is a day" in await export(a, "--since", "soon", code=2)
    newest = (await end(a)).seq
    there = a.folder / f"acme-{0:012}-{newest:012}.jsonl"
    there.write_text("another\n")
    assert "is there already and is another one" in await export(a, code=1)
    assert there.read_text() == "another\n"
    there.unlink()
    strange = await asyncio.to_thread(Stranger, a.g)
    for edit, fault in (
        ("UPDATE audit_events SET actor = 'mallory' WHERE org = 'acme' AND seq = 2", "event 2 was changed"),
        ("DELETE FROM audit_events WHERE org = 'acme' AND seq = 3", "event 3 is missing"),
        ("UPDATE audit_events SET facts = '{' WHERE org = 'acme' AND seq = 4", "event 4"),
    ):
        strange(edit)
        assert fault in await export(a, code=1)
        assert a.files() == []
        strange.put_back()


async def test_it_says_how_far_it_is(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    await archive.story("denied")
    said = (await archive.run("audit", "export", "--to", str(archive.folder))).stderr.splitlines()
    assert [line.split(" ", 1)[1] for line in said] == ["events exported …", "events read back …"]


@requirement("S-17")
async def test_a_stranger_sees_whose_and_how_many_the_events_are_and_not_who_sealed_them(
    archive: Archive, tmp_path: Path
) -> None:
    a = archive
    await a.story("denied")
    await a.cut()
    await a.story("cancelled")
    await a.cut()
    first, second = a.files()
    head, *events, foot = first.read_text().splitlines()
    spoiled = tmp_path / "spoiled.jsonl"

    def with_ends(head: str, foot: str) -> Path:
        spoiled.write_text("\n".join([head, *events, foot]) + "\n")
        return spoiled

    of_another = head.replace('"org":"acme"', '"org":"umbrella"')
    assert of_another != head
    with pytest.raises(ValueError, match="event 0 is of another org"):
        walk([with_ends(of_another, foot), second])
    told = json.loads(foot)
    with pytest.raises(ValueError, match="was changed"):
        walk([with_ends(head, json.dumps(told | {"events": told["events"] + 1})), second])
    forged = with_ends(head, json.dumps(told | {"seal": told["seal"][:-4] + "AAAA"}))
    assert walk([forged, second]) == walk([first, second]), "it takes the secret"
    first.write_bytes(forged.read_bytes())
    code, said = await a.verify(segments=True)
    assert code == 1, said
    assert first.name in said
