"""`assent audit cut`: the old part of a trail becomes files that verify by themselves, and what is left goes on to."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from app.cli import progress
from app.cli.commands import app
from app.cli.doctor.webhooks import look_at_webhooks
from app.domain.identity.seals import Seals
from app.storage.engine.transaction import EVERY_ORG
from app.storage.identity.secret_ids import remember_secret
from app.storage.trail.cuts import list_cuts, put_cut
from app.storage.trail.head_file import find_heads, find_lost
from app.usecases.platforms.send_webhooks import SendWebhooks
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, Gateway
from tests.fixtures.tampering import Stranger
from tests.places import ROOT
from tests.requirements import requirement
from tests.usecases.platforms.test_send_webhooks import Book, hook
from tests.usecases.upkeep.test_retention import end_as, events, retain_now, standing

if TYPE_CHECKING:
    from typer.testing import Result

    from app.domain.trail.webhooks import Webhook

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else

WHO = ("--by", "olga@acme.example", "--before", "2099-01-01")


@dataclass(slots=True)
class Archive:
    """A gateway, and the folder that its trail is cut into."""

    g: Gateway
    folder: Path
    env: dict[str, str]
    heads: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    async def run(self, *words: str, **env: str) -> Result:
        beside = ("-c", str(self.g.config), "--org", "acme")
        return await asyncio.to_thread(CliRunner().invoke, app, [*words, *beside], env=self.env | env)

    async def cut(self, *words: str) -> str:
        done = await self.run("audit", "cut", "--to", str(self.folder), *(words or WHO))
        assert done.exit_code == 0, done.output
        return done.stdout

    async def verify(self, *words: str, segments: bool = False) -> tuple[int, str]:
        """Return the code of `audit verify`, and what it said."""
        await self.g.container.heads.note()
        more = ("--segments", str(self.folder)) if segments else ()
        done = await self.run("audit", "verify", *words, *more)
        return done.exit_code, done.output

    async def story(self, *ends: str) -> None:
        """Let requests end, and let retention remove those that are over."""
        for n, end in enumerate(ends):
            await end_as(self.g, end, n=n, of=len(self.heads))
        await retain_now(self.g)()
        newest = (await events(self.g))[-1]
        self.heads.append((newest.seq, newest.hash))

    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir())


@pytest.fixture
async def archive(either_gateway: Gateway, tmp_path: Path) -> Archive:
    g = either_gateway
    folder = tmp_path / "segments"
    folder.mkdir()
    return Archive(g=g, folder=folder, env={"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": g.url, "COLUMNS": "200"})


def seqs(a: Archive) -> list[int]:
    return [row["seq"] for row in a.g.rows("SELECT seq FROM audit_events WHERE org = 'acme' ORDER BY seq")]


@requirement("S-17", "S-59")
async def test_what_is_cut_off_is_in_files_and_the_trail_verifies_with_them_and_without(archive: Archive) -> None:
    a, g = archive, archive.g
    await a.story("denied", "succeeded", "cancelled")
    pending = await end_as(g, "pending", n=9)
    first = await a.cut()
    [file] = a.files()
    last = json.loads(file.read_text().splitlines()[-1])["last"]
    [asked] = g.rows(f"SELECT min(seq) AS seq FROM audit_events WHERE request_id = '{pending['id']}'")
    assert last == asked["seq"] - 1
    assert f"event {asked['seq']} is of {pending['id']}, whose rows stand" in first
    assert seqs(a)[0] == asked["seq"]
    code, said = await a.verify()
    assert (code, f"from the cut at {last} on" in said) == (0, True), said
    assert "held against" in said
    await g.decide(pending, "deny")
    await a.story("failed", "shown")
    await a.cut()
    assert len(a.files()) == 2
    code, said = await a.verify(segments=True)
    assert (code, "from 2 segments" in said) == (0, True), said
    assert said.startswith(f"{(await events(g))[-1].seq + 1} events, unbroken"), said
    assert (await a.run("audit", "cut", "--to", str(a.folder), *WHO)).stdout.startswith("acme: ")  # the cut's own event
    assert await a.cut("--by", "o@acme.example", "--before", "2020-01-01") == "nothing to cut: no event is older\n"
    told = (await a.run("audit", "show", "--plain")).stdout
    assert "olga@acme.example cut the trail off behind event" in told
    again = await end_as(g, "denied", n=1, anew=True)  # the gateway goes on
    assert again["id"] in standing(g)
    assert (await a.verify(segments=True))[0] == 0


async def test_a_head_that_was_noted_before_the_cut_is_found_in_the_files(archive: Archive) -> None:
    a = archive
    await a.story("denied")
    heads = await a.g.container.store.read(find_heads, org=EVERY_ORG)
    await a.story("denied", "cancelled")
    await a.cut()
    (seq, digest), other = a.heads[0], "0" * 64
    assert (await a.verify("--expect", f"{seq}:{digest}", segments=True))[0] == 0
    code, said = await a.verify("--expect", f"{seq}:{other}", segments=True)
    assert (code, f"event {seq} is not the one that you expect" in said) == (1, True)
    code, said = await a.verify("--expect", f"{seq}:{digest}")
    assert (code, "was cut off" in said, "--segments" in said) == (1, True, True)
    # A gateway that was away meanwhile has noted an event that is cut off by now.
    assert await a.g.container.store.read(lambda tx: find_lost(tx, heads), org=EVERY_ORG) is None
    strange = await asyncio.to_thread(Stranger, a.g)
    strange("UPDATE trail_cuts SET cut_by = 'mallory'")
    lost = await a.g.container.store.read(lambda tx: find_lost(tx, heads), org=EVERY_ORG)
    assert lost is not None
    assert "is not as it was sealed" in lost


async def test_a_cut_that_was_sealed_with_a_secret_of_before_is_believed_with_its_files_alone(archive: Archive) -> None:
    a = archive
    await a.story("denied")
    await a.cut()
    new = "another-master-secret-of-the-tests-0123456789"
    verify = ("audit", "verify")
    await a.g.container.heads.note()
    await a.g.container.store.write(lambda tx: remember_secret(tx, Seals([new]).key_ids[0]), org="acme")  # rotated
    done = await a.run(*verify, ASSENT_SECRET=new)
    assert (done.exit_code, "which ASSENT_SECRET has not: put the old secret behind the new one" in done.output) == (
        1,
        True,
    )
    assert (await a.run(*verify, ASSENT_SECRET=f"{new},{SECRET}")).exit_code == 0
    whole = await a.run(*verify, "--segments", str(a.folder), ASSENT_SECRET=new)
    assert "sealed with the secret" not in whole.output


async def test_what_a_webhook_was_not_told_of_stays(archive: Archive) -> None:
    a = archive
    await a.story("denied", "cancelled")
    more = '\nwebhooks: {siem: {url: "https://siem.acme.example/", secret: "${SIEM}", kinds: ["*"]}}\n'
    path = a.g.config / "acme.yaml"
    path.write_text(path.read_text() + more)
    a.env["SIEM"] = "whsec_" + "c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtb2s="
    a.g.rows("INSERT INTO webhooks VALUES ('acme', 'siem', 4, 0, 9999999999999999, NULL, '')")
    said = await a.cut()
    assert "no further: the webhook siem was told until event 4 only" in said
    assert seqs(a)[0] == 5
    a.g.rows("UPDATE webhooks SET name = 'gone'")  # the file does not name it any more
    assert "the webhook gone, which the file does not name, was told until event 4 only" in await a.cut()
    assert seqs(a)[0] > 5


@requirement("S-36")
async def test_a_webhook_that_comes_back_behind_a_cut_is_told_what_it_was_never_told_of(archive: Archive) -> None:
    a, store = archive, archive.g.container.store
    await a.story("denied", "cancelled")
    a.g.rows("INSERT INTO webhooks VALUES ('acme', 'siem', 4, 0, 0, NULL, '')")
    await a.cut()
    [(_, last)] = [(each.first, each.last) for each in await store.read(list_cuts, org="acme")]
    book = cast("Any", Book((hook("https://siem.acme.example/"),)))
    [behind, _] = await look_at_webhooks(store, book, "acme")
    assert f"siem: will not be told of events 5 to {last}: they were cut off" in behind.what
    told = list[dict[str, Any]]()

    async def take(_: Webhook, body: bytes, headers: Mapping[str, str]) -> None:
        del headers
        told.append(json.loads(body))

    send = SendWebhooks(store=store, book=book, clock=a.g.clock, send=take, every=timedelta(hours=1))
    with capture_logs() as logs:
        for _ in range(2):
            await send()
    assert [each["seq"] for each in told] == seqs(a)
    [skipped] = [each for each in told if each["kind"] == "webhook.skipped"]
    assert skipped["facts"] == {"webhook": "siem", "first": 5, "last": last}
    assert ("webhook.skipped", "critical") in {(line["event"], line["log_level"]) for line in logs}
    assert "never told of the events 5 to" in (await a.run("audit", "show", "--plain")).stdout
    [found] = await look_at_webhooks(store, book, "acme")
    assert "has taken what it was told" in found.what


async def test_nothing_is_cut_from_a_broken_trail_nor_into_a_file_that_is_another_one(archive: Archive) -> None:
    a = archive
    await a.story("denied")
    (a.folder / "acme-000000000000-000000000004.jsonl").write_text("another\n")
    before = seqs(a)
    day = ("--by", "olga@acme.example", "--before", "2099-01-01")
    a.g.rows("INSERT INTO webhooks VALUES ('acme', 'siem', 4, 0, 9999999999999999, NULL, '')")
    path = a.g.config / "acme.yaml"
    more = '\nwebhooks: {siem: {url: "https://siem.acme.example/", secret: "${SIEM}", kinds: ["*"]}}\n'
    path.write_text(path.read_text() + more)
    a.env["SIEM"] = "whsec_" + "c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtb2s="
    done = await a.run("audit", "cut", "--to", str(a.folder), *day)
    assert (done.exit_code, "is there already and is another one" in done.output) == (1, True), done.output
    assert len(a.files()) == 1
    strange = await asyncio.to_thread(Stranger, a.g)
    strange("UPDATE audit_events SET actor = 'mallory' WHERE org = 'acme' AND seq = 2")
    done = await a.run("audit", "cut", "--to", str(a.folder), *day)
    assert (done.exit_code, "the trail is broken, and nothing is cut off: event 2" in done.output) == (1, True)
    assert seqs(a) == before


@pytest.mark.parametrize(
    "words", [("--by", "olga"), ("--by", "o@a.example", "--before", "soon"), ("--by", "o@a.example")]
)
async def test_words_that_leave_open_who_or_how_much_are_refused(archive: Archive, words: tuple[str, ...]) -> None:
    done = await archive.run("audit", "cut", "--to", str(archive.folder), *words)
    assert (done.exit_code, archive.files()) == (2, [])
    assert "--by E-MAIL" in done.stderr or "--before" in done.stderr


# --- whoever changes the files, or the records of the cuts ------------------------------------------------------------

Edit = Callable[[Archive, Stranger], str]
EDITS: dict[str, Edit] = {}


def edit(found: Edit) -> Edit:
    """Put an edit into the matrix: it returns what verification must say."""
    EDITS[found.__name__.removeprefix("_").replace("_", " ")] = found
    return found


def _sealed_anew(path: Path) -> None:
    """Write the hashes of a file anew, as whoever knows how it is made, and has no secret, would."""
    lines = path.read_bytes().splitlines()
    head, foot = json.loads(lines[0]), json.loads(lines[-1])
    digest = head["prev"]
    for line in lines[1:-1]:
        digest = hashlib.sha256(b"\0" + bytes.fromhex(digest) + line).hexdigest()
    foot["hash"] = digest
    end = json.dumps(foot, sort_keys=True, separators=(",", ":")).encode()
    path.write_bytes(b"\n".join([*lines[:-1], end, b""]))


@edit
def _an_actor_in_a_file(a: Archive, _: Stranger) -> str:
    path = a.files()[0]
    path.write_bytes(path.read_bytes().replace(b"alice@acme.example", b"wanda@acme.example"))
    return f"{path.name} ends at event"


@edit
def _an_actor_in_a_file_and_its_hashes(a: Archive, _: Stranger) -> str:
    path = a.files()[0]
    path.write_bytes(path.read_bytes().replace(b"alice@acme.example", b"wanda@acme.example"))
    _sealed_anew(path)
    return f"{path.name} is not as it was sealed"


@edit
def _a_line_is_gone(a: Archive, _: Stranger) -> str:
    path = a.files()[0]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    return f"{path.name}: line 4 is not event 2"


@edit
def _the_end_is_gone(a: Archive, _: Stranger) -> str:
    path = a.files()[1]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    return f"{path.name} is cut short"


@edit
def _a_file_is_gone(a: Archive, _: Stranger) -> str:
    path = a.files()[0]
    path.unlink()
    return f"{path} cannot be read: No such file"


@edit
def _files_change_their_places(a: Archive, _: Stranger) -> str:
    one, two = a.files()
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    return f"{one.name} is not what follows event -1"


@edit
def _a_record_tells_another_hash(a: Archive, stranger: Stranger) -> str:
    stranger(f"UPDATE trail_cuts SET hash = '{'0' * 64}' WHERE seq = (SELECT max(seq) FROM trail_cuts)")
    return "is not the file that the events until"


@edit
def _a_record_tells_otherwise_what_stands(a: Archive, stranger: Stranger) -> str:
    stranger("UPDATE trail_cuts SET carried = replace(carried, '\"revoked\":false', '\"revoked\":true')")
    return "says otherwise what stands than the events until there"


@edit
def _a_record_is_gone(a: Archive, stranger: Stranger) -> str:
    stranger("DELETE FROM trail_cuts WHERE seq = (SELECT min(seq) FROM trail_cuts)")
    return "and what was cut before it ends at -1"


@edit
def _all_records_are_gone(a: Archive, stranger: Stranger) -> str:
    stranger("DELETE FROM trail_cuts")
    return "event 0 is missing"


@edit
def _a_cut_that_nobody_made(a: Archive, stranger: Stranger) -> str:
    """More is deleted, and a record like the others is put beside them."""
    [newest] = stranger.ask("SELECT * FROM trail_cuts ORDER BY seq DESC LIMIT 1")
    [event] = stranger.ask(f"SELECT seq, hash FROM audit_events WHERE seq = {newest['seq'] + 2} AND org = 'acme'")
    more = {**newest, "first_seq": newest["seq"] + 1, "prev_hash": newest["hash"], **event, "file": "acme-more.jsonl"}
    stranger.add("trail_cuts", **more)
    stranger(f"DELETE FROM audit_events WHERE org = 'acme' AND seq <= {event['seq']}")
    return f"the record of the cut at event {event['seq']} is not as it was sealed"


@pytest.mark.heavy
async def test_the_matrix_of_cuts(archive: Archive) -> None:
    a = archive
    await a.story("denied", "succeeded")
    await a.cut()
    await a.story("cancelled", "shown")
    await a.cut()
    await a.story("denied")
    strange = await asyncio.to_thread(Stranger, a.g)
    kept = {path.name: path.read_bytes() for path in a.files()}
    assert (await a.verify(segments=True))[0] == 0
    for name, spoil in EDITS.items():
        wanted = spoil(a, strange)
        code, said = await a.verify(segments=True)
        if name != "a cut that nobody made":
            assert (code, wanted in said) == (1, True), (name, wanted, said)
        if "record" in name or "nobody" in name:
            code, alone = await a.verify()
            assert code == 1 or name == "a record is gone", (name, alone)  # what is behind the newest needs only it
            if name == "a cut that nobody made":
                assert wanted in alone
        strange.put_back()
        for path in a.files():
            path.unlink()
        for file, text in kept.items():
            (a.folder / file).write_bytes(text)
    assert (await a.verify(segments=True))[0] == 0


async def test_a_cut_that_was_sealed_and_of_which_no_event_tells_is_named(archive: Archive) -> None:
    """Whoever has the secret as well can seal a record, but not behind what the trail says."""
    a = archive
    await a.story("denied")
    await a.cut()
    await a.story("cancelled")
    newest = (await a.g.container.store.read(list_cuts, org="acme"))[-1]
    event = (await events(a.g))[1]
    made = replace(newest, first=newest.last + 1, prev=newest.hash, last=event.seq, hash=event.hash)
    await a.g.container.store.write(lambda tx: put_cut(tx, made, a.g.container.seals), org="acme")
    code, said = await a.verify()
    assert (code, f"no event says of the cut at event {event.seq} what its record says" in said) == (1, True), said


@requirement("S-63")
async def test_a_gateway_remembers_behind_a_cut_that_its_rows_are_sealed(archive: Archive) -> None:
    a = archive
    await a.story("denied")
    await a.cut()
    assert "secret.known" not in {each.record.kind for each in await events(a.g)}
    strange = await asyncio.to_thread(Stranger, a.g)
    strange("DELETE FROM secret_ids")
    with capture_logs() as logs:
        await a.g.container.seal_standing("acme")
    assert "secret.forgotten" in {line["event"] for line in logs}


async def test_a_long_command_says_how_far_it_is(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    await archive.story("denied")
    done = await archive.run("audit", "cut", "--to", str(archive.folder), *WHO)
    said = [line.split(" ", 1)[1] for line in done.stderr.splitlines()]
    assert list(dict.fromkeys(said)) == [
        "events verified …", "events exported …", "events read back …", "events deleted …",
    ]  # fmt: skip
    assert "events verified …" in (await archive.run("audit", "verify")).stderr


async def test_a_folder_that_is_none_is_refused_and_where_nothing_was_cut_none_of_it_was_walked(
    archive: Archive,
) -> None:
    a = archive
    await a.story("denied")
    for none in (a.folder / "no" / "such", Path("/etc/passwd")):
        done = await a.run("audit", "verify", "--segments", str(none))
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"--segments: {none} is no folder" in done.stderr
    code, said = await a.verify(segments=True)
    assert (code, f"nothing was ever cut off: no file of {a.folder} was walked" in said) == (0, True), said
    assert "was walked" not in (await a.verify())[1]
    await a.cut()
    assert "was walked" not in (await a.verify(segments=True))[1]


async def test_a_stranger_verifies_the_files_with_what_the_page_says(archive: Archive, tmp_path: Path) -> None:
    a = archive
    await a.story("denied")
    await a.cut()
    await a.story("cancelled")
    await a.cut()
    page = (ROOT / "docs/trail.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    scope: dict[str, Any] = {}
    exec(code, scope)
    [newest] = a.g.rows("SELECT seq, hash FROM trail_cuts ORDER BY seq DESC LIMIT 1")
    assert scope["walk"](a.files()) == (newest["seq"], newest["hash"])
    spoiled = tmp_path / "spoiled.jsonl"
    spoiled.write_bytes(a.files()[0].read_bytes().replace(b"alice", b"wanda"))
    with pytest.raises(ValueError, match="event"):
        scope["walk"]([spoiled, a.files()[1]])
    with pytest.raises(ValueError, match="was changed"):
        scope["walk"]([spoiled])  # also where nothing follows it
