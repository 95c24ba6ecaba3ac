"""The command line, as an operator uses it: what it says, and the code with which it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from app.cli import app
from channels.slack.simulator import SlackSimulator
from migrations.state import NEWEST, find_present
from tests.fixtures.gateway import SECRET, SystemClock, query
from tests.requirements import requirement

if TYPE_CHECKING:
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
        with_config = words[0] not in {"migrate", "secret", "slack", "feishu"}
        return CliRunner().invoke(app, [*words, *(["-c", str(self.config)] if with_config else [])])


@pytest.fixture
def desk(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, sqlite_url, monkeypatch)


@requirement("S-04", "S-57")
@pytest.mark.parametrize("secret", [None, "", "   ", "abc", "x" * 31, f"{'x' * 40},", f"{'x' * 40},short"])
def test_without_a_strong_secret_nothing_listens(tmp_path: Path, sqlite_url: str, secret: str | None) -> None:
    (tmp_path / "assent.yaml").write_text(PLAIN)
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ASSENT_")}
    environ |= {"ASSENT_DATABASE_URL": sqlite_url} | ({} if secret is None else {"ASSENT_SECRET": secret})
    command = [sys.executable, "-m", "app.cli", "serve", "-c", str(tmp_path / "assent.yaml"), "--port", "0"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, env=environ, cwd=root, capture_output=True, text=True, timeout=30, check=False)
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
        assert "nothing was started" in done.stderr


def test_a_sound_configuration_is_summed_up(desk: Desk) -> None:
    done = desk("config", "check")
    assert done.exit_code == 0
    assert "acme: version" in done.stdout
    assert "1 rules" in done.stdout


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
        assert "assent migrate" in done.stderr
    done = desk("migrate")
    assert done.exit_code == 0
    assert "newest" in done.stdout
    assert desk("keys", "list").exit_code == 0
    present, newest = find_present(desk.url), NEWEST
    assert present == newest


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
    assert (again.exit_code, "no such live key" in again.stderr) == (1, True)
    missing = desk("keys", "create", "--scope", "approver", "--label", "x")
    assert missing.exit_code == 1
    assert "e-mail" in missing.stderr


def test_the_trail_is_verified_and_a_change_in_it_is_found(desk: Desk) -> None:
    empty = desk("audit", "verify")
    assert (empty.exit_code, "nothing was verified" in empty.stderr) == (2, True)
    for n in range(3):
        desk("keys", "create", "--scope", "auditor", "--label", f"k{n}")
    sound = desk("audit", "verify")
    assert (sound.exit_code, sound.stdout.strip()) == (0, "3 events, unbroken")
    shown = [json.loads(line) for line in desk("audit", "show").stdout.splitlines()]
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
    assert socket["settings"]["socket_mode_enabled"] is True
    steps = desk("feishu", "setup", "--name", "pay", "--public-url", "https://a.example").stdout
    assert "https://a.example/v1/channels/pay/callback" in steps
    assert steps.startswith("1. ")


def test_the_doctor_looks_at_everything_and_says_how_to_mend(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk("doctor").exit_code == 0
    monkeypatch.setenv("ASSENT_SECRET", "short")
    assert desk("doctor").exit_code == 1
    monkeypatch.setenv("ASSENT_SECRET", SECRET)
    desk.config.write_text(PLAIN.replace("default: ask", "default: maybe"))
    done = desk("doctor")
    assert done.exit_code == 1
    assert "ERROR" in done.stdout


async def test_the_doctor_asks_the_platform(desk: Desk) -> None:
    async with SlackSimulator(clock=SystemClock()) as slack:
        slack.add_person("U0ALICE00", name="alice", email="alice@acme.example")
        settings = {**slack.configuration(), "bot_token": "${BOT_TOKEN}", "signing_secret": "${SIGNING_SECRET}"}
        settings.pop("app_token")
        desk.config.write_text(PLAIN.replace("people:", f"channels:\n  s: {json.dumps(settings)}\npeople:", 1))
        environ = {**os.environ, "BOT_TOKEN": slack._bot_token, "SIGNING_SECRET": slack.world.signing_secret}

        async def doctor() -> tuple[int | None, str]:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "app.cli", "doctor", "-c", str(desk.config), env=environ,
                cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            out, _ = await process.communicate()
            return process.returncode, out.decode()

        code, text = await doctor()
        assert (code, "ERROR" in text) == (0, False), text
        slack.world.people["U0ALICE00"].deleted = True
        code, text = await doctor()
        assert "alice@acme.example cannot decide here" in text
        environ["BOT_TOKEN"] = "xoxb-revoked"
        code, text = await doctor()
        assert (code, "ERROR" in text) == (1, True), text
        assert "xoxb-revoked" not in text
