"""The command line, as an operator uses it: what it says, and the code with which it ends."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Self

import pytest

from app.cli.beside_database import check_schema
from app.cli.commands import app
from app.cli.main import main
from app.storage.engine.dialect import to_us
from channels.slack.simulator.simulator import SlackSimulator
from migrations.run import bring, known
from migrations.state import NEWEST, find_present
from tests.fixtures import forked
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, SystemClock, query
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

pytestmark = pytest.mark.may_block  # a command's own loop serves nobody else

PLAIN = """\
org: acme
default: ask
people:
  alice@acme.example: {name: Alice}
groups:
  finance: [alice@acme.example]
tools:
  pay: {pin: [amount]}
ask: {stages: [{of: [finance]}], channels: [api]}
rules:
  - {id: small, tools: [pay], when: args.amount < 10, then: allow}
"""


class Desk:
    """A folder with a configuration and a database, and a terminal."""

    def __init__(self, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = folder / "assent.yaml"
        self.config.write_text(PLAIN)
        self.url = url
        monkeypatch.setenv("ASSENT_SECRET", SECRET)
        monkeypatch.setenv("ASSENT_DATABASE_URL", url)

    def __call__(self, *words: str) -> Result:
        with_config = words[0] not in {"migrate", "secret", "slack", "feishu", "--version"}
        return CliRunner().invoke(app, [*words, *(["-c", str(self.config)] if with_config else [])])


@pytest.fixture
def desk(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, sqlite_url, monkeypatch)


@pytest.mark.process
@requirement("S-04", "S-57")
@pytest.mark.parametrize("secret", [None, "", "   ", "abc", "x" * 31, f"{'x' * 40},", f"{'x' * 40},short"])
def test_without_a_strong_secret_nothing_listens(tmp_path: Path, sqlite_url: str, secret: str | None) -> None:
    (tmp_path / "assent.yaml").write_text(PLAIN)
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ASSENT_")}
    environ |= {"ASSENT_DATABASE_URL": sqlite_url} | ({} if secret is None else {"ASSENT_SECRET": secret})
    words = ("app.cli.main", "serve", "-c", str(tmp_path / "assent.yaml"), "--port", "0")
    done = forked.run(*words, env=environ, cwd=ROOT)
    assert done.returncode == 2
    assert "ASSENT_SECRET" in done.stderr
    assert "Uvicorn running" not in done.stderr + done.stdout
    assert secret is None or len(secret.strip()) < 3 or secret not in done.stderr


@requirement("S-04", "S-57")
@pytest.mark.parametrize("name", ["signing_secret", "bot_token"])
@pytest.mark.parametrize("value", ["", "   ", "abc", None])
def test_a_channel_without_its_secret_does_not_start(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    good = {"signing_secret": "0123456789abcdef0123456789abcdef", "bot_token": "xoxb-0123456789"}
    for key, text in good.items():
        monkeypatch.setenv(key.upper(), text)
    desk.config.write_text(
        PLAIN.replace("people:", "channels:\n  s: {type: slack, channel: C0PAY0001, bot_token: '${BOT_TOKEN}', "
                      "signing_secret: '${SIGNING_SECRET}'}\npeople:", 1)
    )  # fmt: skip
    assert desk("config", "check").exit_code == 0
    if value is None:
        monkeypatch.delenv(name.upper())
    else:
        monkeypatch.setenv(name.upper(), value)
    for words in (("config", "check"), ("serve", "--port", "0")):
        done = desk(*words)
        assert done.exit_code == 2
        assert f"{desk.config}:" in done.stderr
        assert not value or not value.strip() or value not in done.stderr.replace(name, "")


@requirement("S-57")
def test_all_faults_are_told_at_once_with_their_lines(desk: Desk) -> None:
    desk.config.write_text(
        PLAIN.replace("default: ask", "default: maybe\ncolour: red")
        .replace("finance: [alice@acme.example]", "finance: []")
        .replace("then: allow", "then: allow, timeout: soon, whne: x")
    )
    for words in (("config", "check"), ("serve", "--port", "0"), ("keys", "list")):
        done = desk(*words)
        assert done.exit_code == 2, words
        places = re.findall(r"assent\.yaml:(\d+)", done.stderr)
        assert len(places) >= 4
        assert len(set(places)) >= 3
        for word in ("colour", "whne", "finance", "default"):
            assert word in done.stderr, word
        assert re.search(r"\b\d+ faults\b", done.stderr)
        assert ("nothing was started" in done.stderr) == (words[0] != "config")


def test_a_sound_configuration_is_summed_up(desk: Desk) -> None:
    done = desk("config", "check")
    assert done.exit_code == 0
    assert "no faults: acme: version" in done.stdout
    assert "1 rule, 1 tool, 1 person, 0 channels" in done.stdout
    assert "warning" not in done.output
    desk.config.write_text(PLAIN.replace("default: ask", "default: maybe"))
    assert desk("config", "check").stderr.splitlines()[-1] == "1 fault"


def test_a_pattern_that_stands_for_no_tool_is_told_and_is_no_fault(desk: Desk) -> None:
    desk.config.write_text(PLAIN.replace("rules:\n", 'rules:\n  - {id: odd, tools: ["pya*"], then: deny}\n', 1))
    done = desk("config", "check")
    assert done.exit_code == 0
    assert '"pya*" stands for no tool of this file; did you mean one such as "pay"?' in done.stderr
    assert "no faults: acme: version" in done.stdout


@requirement("S-57")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "70000"),
        ("LOG_FORMAT", "xml"),
        ("MAX_WAITERS", "0"),
        ("DATABASE_URL", "mysql://x/y"),
        ("CALLS_PER_SECOND", "-1"),
    ],
)
def test_a_bad_setting_does_not_start(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"ASSENT_{name}", value)
    done = desk("serve", "--port", "0")
    assert done.exit_code != 0
    assert "ASSENT_" in done.stderr


@requirement("S-57")
def test_an_old_schema_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path, f"sqlite:///{tmp_path / 'empty.db'}", monkeypatch)
    for words in (("serve", "--port", "0"), ("keys", "list"), ("audit", "verify")):
        done = desk(*words)
        assert done.exit_code == 2
        assert "the database is new: `assent migrate` (or `assent serve --migrate`) makes its tables" in done.stderr
    looked = desk("doctor")
    assert (looked.exit_code, "WARNING  the database is new" in looked.stdout) == (0, True)
    done = desk("migrate")
    assert done.exit_code == 0
    assert "newest" in done.stdout
    assert desk("keys", "list").exit_code == 0
    present, newest = find_present(desk.url), NEWEST
    assert present == newest


@requirement("F-43")
def test_a_migration_goes_where_it_is_told_and_back_only_if_rows_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, f"sqlite:///{tmp_path / 'empty.db'}", monkeypatch)
    done = desk("migrate", "0011")
    assert (done.exit_code, find_present(desk.url)) == (0, "0011")
    assert "to 0011: " in done.stdout
    refused = desk("serve", "--port", "0")
    assert (refused.exit_code, f"at 0011, this gateway needs {NEWEST}" in refused.stderr) == (2, True)
    refused = desk("migrate", "0010")
    assert (refused.exit_code, find_present(desk.url)) == (2, "0011")
    assert "going back to 0010 drops what 0011 to 0011 have brought" in refused.stderr
    done = desk("migrate", "0010", "--lose-rows")
    assert (done.exit_code, find_present(desk.url)) == (0, "0010")
    assert desk("migrate", "x").exit_code == 2


@requirement("S-34")
def test_keys_are_made_listed_and_ended(desk: Desk) -> None:
    made = desk(
        "keys", "create", "--scope", "agent", "--agent", "shop", "--person", "alice@acme.example", "--label", "ci"
    )
    assert made.exit_code == 0
    text = made.stdout.strip()
    assert re.fullmatch(r"ak_[a-z2-7]+_[a-z2-7]+_[0-9a-f]{6}", text)
    listed = desk("keys", "list")
    key_id = text.split("_")[1]
    assert key_id in listed.stdout
    assert text.split("_")[2] not in listed.stdout
    assert desk("keys", "revoke", key_id).exit_code == 0
    assert "revoked" in desk("keys", "list").stdout
    again = desk("keys", "revoke", key_id)
    assert (again.exit_code, "was revoked" in again.stdout) == (0, True)
    missing = desk("keys", "create", "--scope", "approver", "--label", "x")
    assert missing.exit_code == 1
    assert "e-mail" in missing.stderr


def test_the_trail_is_verified_and_a_change_in_it_is_found(desk: Desk) -> None:
    empty = desk("audit", "verify")
    assert (empty.exit_code, "nothing was verified" in empty.stderr) == (2, True)
    for n in range(3):
        desk("keys", "create", "--scope", "auditor", "--label", f"k{n}")
    sound = desk("audit", "verify")
    assert sound.exit_code == 0
    assert re.fullmatch(r"3 events, unbroken\nhead: 2 [0-9a-f]{64}\n", sound.stdout)
    shown = [json.loads(line) for line in desk("audit", "show").stdout.splitlines()]
    assert sound.stdout.split()[-1] == shown[-1]["hash"]
    assert [event["kind"] for event in shown] == ["key.created"] * 3
    query(desk.url, "DROP TRIGGER audit_events_unchanged")
    query(desk.url, "UPDATE audit_events SET actor = 'mallory' WHERE seq = 1")
    broken = desk("audit", "verify")
    assert broken.exit_code == 1
    assert "BROKEN" in broken.stderr
    query(desk.url, "UPDATE audit_events SET actor = 'cli' WHERE seq = 1")
    assert desk("audit", "verify").exit_code == 0
    query(desk.url, "DROP TRIGGER audit_events_kept")
    query(desk.url, "DELETE FROM audit_events WHERE seq = 2")
    assert desk("audit", "verify").exit_code == 1


def test_a_secret_is_strong_enough_for_itself(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    made = desk("secret").stdout.strip()
    monkeypatch.setenv("ASSENT_SECRET", made)
    assert desk("keys", "list").exit_code == 0
    assert desk("secret").stdout.strip() != made


def test_the_outbox_can_be_looked_at_and_queued_again(desk: Desk) -> None:
    assert desk("outbox", "list").exit_code == 0
    assert "0 rows queued again" in desk("outbox", "retry").stdout


def test_the_platforms_set_ups_are_printed(desk: Desk) -> None:
    manifest = json.loads(desk("slack", "manifest", "--name", "pay", "--public-url", "https://a.example").stdout)
    assert manifest["settings"]["interactivity"]["request_url"] == "https://a.example/v1/channels/pay/callback"
    socket = json.loads(desk("slack", "manifest", "--receive", "socket").stdout)
    assert socket["settings"]["token_rotation_enabled"] is False
    rotating = json.loads(desk("slack", "manifest", "--receive", "socket", "--rotate-tokens").stdout)
    assert rotating["settings"].pop("token_rotation_enabled") is True
    assert socket["settings"].items() >= rotating["settings"].items()
    assert socket["settings"]["socket_mode_enabled"] is True
    steps = desk("feishu", "setup", "--name", "pay", "--public-url", "https://a.example").stdout
    assert "https://a.example/v1/channels/pay/callback" in steps
    assert steps.startswith("1. ")


def test_the_doctor_looks_at_everything_and_says_how_to_mend(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = desk("doctor")
    assert sound.exit_code == 0
    assert f"key ids {hashlib.sha256(b'assent.key-id.v1' + bytes(1) + SECRET.encode()).hexdigest()[:8]}" in sound.stdout
    monkeypatch.setenv("ASSENT_SECRET", "short")
    assert desk("doctor").exit_code == 1
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    desk.config.write_text(PLAIN.replace("default: ask", "default: maybe"))
    done = desk("doctor")
    assert done.exit_code == 1
    assert "ERROR" in done.stdout


def test_the_doctor_says_how_each_receiver_stands(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SIEM", "SIEM_OLD"):
        monkeypatch.setenv(name, "whsec_" + base64.b64encode(name.encode() * 8).decode())
    hook = '{url: "https://siem.acme.example/", secret: "${SIEM}", secret_old: "${SIEM_OLD}", kinds: ["*"]}'
    desk.config.write_text(f"{PLAIN}webhooks: {{siem: {hook}}}\n")
    new = desk("doctor")
    assert (new.exit_code, "siem: is told of what comes once a gateway has started" in new.stdout) == (0, True)
    assert "siem: secret_old is set: messages bear two signatures" in new.stdout

    def rows(statement: str) -> None:
        with closing(sqlite3.connect(desk.url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(statement)

    since = to_us(SystemClock().now())
    rows(f"INSERT INTO webhooks VALUES ('acme', 'siem', -3, 4, 0, {since}, 'status 503')")
    failing = desk("doctor")
    assert failing.exit_code == 0
    assert "WARNING  siem: takes nothing since" in failing.stdout
    assert "(status 503), and is 2 of the trail's events behind" in failing.stdout
    rows("UPDATE webhooks SET failing_since = failing_since - 900000000")
    late = desk("doctor")
    assert (late.exit_code, "ERROR    siem: takes nothing since" in late.stdout) == (1, True)
    rows("UPDATE webhooks SET failing_since = NULL")
    assert "siem: has taken what it was told" in desk("doctor").stdout


@pytest.mark.parametrize("days", ["0", "-1", "3651"])
def test_a_key_lives_for_a_sensible_number_of_days_or_for_ever(desk: Desk, days: str) -> None:
    words = ("keys", "create", "--scope", "auditor", "--label", "x", "--days")
    assert desk(*words, days).exit_code == 2
    assert desk("keys", "list").stdout == ""
    assert desk(*words, "1").exit_code == 0
    assert "until" in desk("keys", "list").stdout


def test_the_list_says_which_keys_still_work(desk: Desk) -> None:
    ids = [
        desk("keys", "create", "--scope", "auditor", "--label", label, "--days", "9").stdout.split("_")[1]
        for label in ("old", "ended", "good")
    ]
    query(desk.url, f"UPDATE api_keys SET expires_at = 1000000 WHERE id = '{ids[0]}'")
    query(desk.url, f"UPDATE api_keys SET last_used_at = 1772359230000000 WHERE id = '{ids[2]}'")
    assert desk("keys", "revoke", ids[1]).exit_code == 0
    lines = {line.split()[0]: line for line in desk("keys", "list").stdout.splitlines()}
    assert "expired 1970-01-01" in lines[ids[0]]
    assert "revoked" in lines[ids[1]]
    assert "live until" in lines[ids[2]]
    assert ("used 2026-03-01 10:00" in lines[ids[2]], "no use noted" in lines[ids[0]]) == (True, True)


def test_a_key_is_revoked_by_its_whole_text_too(desk: Desk) -> None:
    text = desk("keys", "create", "--scope", "auditor", "--label", "leaked").stdout.strip()
    done = desk("keys", "revoke", text)
    assert (done.exit_code, done.stdout.strip()) == (0, f"{text.split('_')[1]} is revoked")
    assert text.split("_")[2] not in done.stdout + done.stderr
    assert "revoked" in desk("keys", "list").stdout
    unknown = desk("keys", "revoke", "nobodys")
    assert (unknown.exit_code, "`assent keys list`" in unknown.stderr) == (1, True)


def test_an_approvers_key_is_for_somebody_whom_the_file_knows(desk: Desk) -> None:
    made = desk("keys", "create", "--scope", "approver", "--label", "x", "--person", "alise@acme.example")
    assert made.exit_code == 1
    assert 'did you mean "alice@acme.example"?' in made.stderr
    assert made.stdout == ""
    words = ("keys", "create", "--scope", "agent", "--agent", "shop", "--label", "x", "--person")
    owner = desk(*words, "boss@acme.example")
    assert owner.exit_code == 0
    assert "warning: boss@acme.example is not under people" in owner.stderr
    assert "warning" not in desk(*words, "ALICE@acme.example").stderr


def test_the_trail_is_told_in_sentences(desk: Desk) -> None:
    desk("pause", "--agent", "shop", "--reason", "for the\nauditor")
    done = desk("audit", "show", "--plain")
    [line] = done.stdout.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  cli set pause to on for shop: for the\\nauditor", line)
    unknown = desk("audit", "show", "req_nobodys")
    assert (unknown.exit_code, unknown.stderr.strip()) == (1, "no such request: req_nobodys")


@pytest.mark.parametrize(
    "words",
    [
        ("slack", "manifest", "--receive", "webhook"),
        ("feishu", "setup", "--receive", "webhook"),
        ("slack", "manifest", "--public-url", "http://a.example"),
        ("feishu", "setup", "--public-url", "a.example"),
    ],
)
def test_a_webhook_needs_an_https_address(desk: Desk, words: tuple[str, ...]) -> None:
    done = desk(*words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--public-url https://" in done.stderr
    assert "--receive " in done.stderr


def test_the_version_is_told(desk: Desk) -> None:
    assert re.fullmatch(r"assent \d+\.\d+\.\d+\S*\n", desk("--version").stdout)


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("keys", "list"), ("migrate",), ("audit", "verify")])
@pytest.mark.parametrize(
    "url",
    ["sqlite:////nowhere/at/all.db", "postgresql://me:pass-word@127.0.0.1:1/x", "postgresql://me:pass-word@h:x/y"],
)
def test_a_database_that_is_away_is_one_line(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], url: str
) -> None:
    monkeypatch.setenv("ASSENT_DATABASE_URL", url)
    done = desk(*words)
    assert done.exit_code == 2, done.exception
    line, *mend = done.stderr.splitlines()
    assert line.startswith("ASSENT_DATABASE_URL: ")
    assert len(mend) <= 1
    assert "pass-word" not in done.stderr


def test_a_file_that_is_no_database_is_named(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").write_text("not a database at all, but a long enough text to be read as one" * 20)
    monkeypatch.setenv("ASSENT_DATABASE_URL", f"sqlite:///{tmp_path / 'notes.txt'}")
    done = desk("keys", "list")
    said, mend = done.stderr.splitlines()
    assert (done.exit_code, said) == (2, "ASSENT_DATABASE_URL: the database cannot be used: file is not a database")
    assert mend.startswith(f"mend: {tmp_path / 'notes.txt'} is no sound SQLite file")


class Served:
    """`assent serve` as a process of its own."""

    def __init__(self, desk: Desk, *words: str) -> None:
        environ = {**os.environ, "ASSENT_LOG_FORMAT": "json", "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "app.cli.main", "serve", "-c", str(desk.config), *words]
        self.process = subprocess.Popen(command, env=environ, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def says(self, word: str) -> str:
        """Read its log up to a line with this word."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if word in line:
                return line
        raise AssertionError("".join(self.lines))

    def end(self) -> tuple[int, str]:
        """Wait for its end; its code and what it said."""
        _, rest = self.process.communicate(timeout=HANGS)
        return self.process.returncode, "".join(self.lines) + rest


@pytest.mark.heavy  # `test_embedded.py` has two in one process
@pytest.mark.process
def test_a_second_gateway_on_the_same_file_is_refused_and_a_killed_one_leaves_nothing(desk: Desk) -> None:
    with Served(desk, "--port", "0") as first:
        first.says("gateway.ready")
        code, said = Served(desk, "--port", "0").end()
        assert (code, "gateway.ready" in said) == (2, False)
        file = desk.url.removeprefix("sqlite:///")
        assert f"another gateway already uses {file}; several replicas need PostgreSQL" in said
        assert desk("keys", "list").exit_code == 0
        assert desk("keys", "create", "--scope", "auditor", "--label", "beside").exit_code == 0
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
    with Served(desk, "--port", "0") as next_one:
        next_one.says("gateway.ready")


@pytest.mark.process
def test_ready_is_said_once_the_port_answers(desk: Desk) -> None:
    with Served(desk, "--port", "0") as gateway:
        port = json.loads(gateway.says("address.bound"))["port"]
        assert json.loads(gateway.says("gateway.ready"))["orgs"] == ["acme"]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass


_WEBSOCKET = (
    "GET /console HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.process
@pytest.mark.heavy
def test_what_no_start_waits_for_is_there_for_the_first_who_asks(desk: Desk) -> None:
    with Served(desk, "--port", "0") as gateway:
        port = json.loads(gateway.says("address.bound"))["port"]
        gateway.says("gateway.ready")
        for asked, answered in (
            (_WEBSOCKET, b"HTTP/1.1 403"),
            ("GET /console/nothing HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 404"),
            ("GET /console/console.css HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 200"),
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
                line.sendall(asked.encode())
                assert line.recv(1000).startswith(answered), asked


@pytest.mark.heavy
@pytest.mark.process
def test_a_taken_port_is_said_before_anything_starts(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, said = Served(desk, "--port", str(port)).end()
    assert (code, "gateway.ready" in said) == (2, False)
    assert f"port {port} is taken: choose another with --port or ASSENT_PORT" in said
    code, said = Served(desk, "--host", "192.0.2.1", "--port", "0").end()
    assert (code, "Traceback" in said) == (2, False)
    assert "192.0.2.1" in said


@pytest.mark.process
@pytest.mark.heavy
def test_a_gateway_says_with_which_keys_it_seals(desk: Desk) -> None:
    with Served(desk, "--port", "0") as one:
        told = json.loads(one.says("secrets.loaded"))
        assert told["key_ids"] == [hashlib.sha256(b"assent.key-id.v1\0" + SECRET.encode()).hexdigest()[:8]]
        assert json.loads(one.says("address.bound"))["port"] > 0


@pytest.mark.process
async def test_the_doctor_asks_the_platform(desk: Desk) -> None:
    async with SlackSimulator(clock=SystemClock()) as slack:
        slack.add_person("U0ALICE00", name="alice", email="alice@acme.example")
        settings = {**slack.configuration(), "bot_token": "${BOT_TOKEN}", "signing_secret": "${SIGNING_SECRET}"}
        settings.pop("app_token")
        desk.config.write_text(PLAIN.replace("people:", f"channels:\n  s: {json.dumps(settings)}\npeople:", 1))
        environ = {**os.environ, "BOT_TOKEN": slack._bot_token, "SIGNING_SECRET": slack.world.signing_secret}

        async def doctor() -> tuple[int, str]:
            words = ("app.cli.main", "doctor", "-c", str(desk.config))
            done = await asyncio.to_thread(forked.run, *words, env=environ, cwd=ROOT)
            return done.returncode, done.stdout + done.stderr

        code, text = await doctor()
        assert (code, "ERROR" in text) == (0, False), text
        slack.world.people["U0ALICE00"].deleted = True
        code, text = await doctor()
        assert "alice@acme.example cannot decide here" in text
        environ["BOT_TOKEN"] = "xoxb-revoked"
        code, text = await doctor()
        assert (code, "ERROR" in text) == (1, True), text
        assert "xoxb-revoked" not in text


@pytest.mark.process
async def test_the_doctor_spends_no_token_while_there_is_nowhere_to_keep_what_it_brings(desk: Desk) -> None:
    async with SlackSimulator(clock=SystemClock()) as slack:
        settings = slack.configuration() | slack.rotate_tokens()
        environ = dict(os.environ)
        for name in ("refresh_token", "client_secret", "signing_secret"):
            environ[name.upper()], settings[name] = str(settings[name]), f"${{{name.upper()}}}"
        for name in ("bot_token", "app_token"):
            del settings[name]
        desk.config.write_text(PLAIN.replace("people:", f"channels:\n  s: {json.dumps(settings)}\npeople:", 1))

        async def doctor() -> str:
            done = await asyncio.to_thread(
                forked.run, "app.cli.main", "doctor", "-c", str(desk.config), env=environ, cwd=ROOT
            )
            return done.stdout + done.stderr

        there = os.environ["ASSENT_DATABASE_URL"]
        environ["ASSENT_DATABASE_URL"] = f"{there}-that-is-not-there"
        assert "s: its access is got when a gateway first starts" in await doctor()
        assert slack.rotation.exchanges == 0
        environ["ASSENT_DATABASE_URL"] = there
        for _ in range(2):
            assert "s: the token is good for workspace T9TK3CUKW" in await doctor()
        assert slack.rotation.exchanges == 1


def test_of_a_new_database_one_line_says_how_many_steps_it_took_and_of_an_older_one_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    check_schema(url, migrate_first=True)
    assert capsys.readouterr().out == f"the database is set up ({len(known())} steps)\n"
    check_schema(url, migrate_first=True)
    assert capsys.readouterr().out == ""
    bring(url, known()[-2], may_lose=True)
    check_schema(url, migrate_first=True)
    assert capsys.readouterr().out.startswith(f"to {known()[-1]}: ")


@pytest.mark.parametrize(
    "words",
    [("--help",), ("--port", "70000"), ("--port",), ("--config", ""), ("--confg", "x"), ("extra",)],
    ids=" ".join,
)
def test_what_serve_says_by_itself_is_what_it_says_among_all_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    said: list[tuple[object, str]] = []
    for start in (main, app):
        monkeypatch.setattr(sys, "argv", ["assent", "serve", *words])
        with pytest.raises(SystemExit) as ended:
            start()
        said.append((ended.value.code, "".join(capsys.readouterr())))
    alone, among_all = said
    assert alone == among_all
    assert alone[0] == (0 if words == ("--help",) else 2)
    assert alone[1]
