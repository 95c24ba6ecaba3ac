"""What `assent serve` says of itself: lines for a person, one line for a log; and the doctor warns alike."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.cli.greeting import database_shown
from app.domain.identity.api_key import ApiKey, Scope
from app.domain.text.addresses import at_port, other_port
from app.policies.file.policy_file import load_policy
from app.usecases.reading.at_start import warnings_at_start
from channels import registry
from channels.slack.simulator.simulator import SlackSimulator
from tests.durability.gateway_process import SECRET, scene, until
from tests.fixtures import forked
from tests.fixtures.gateway import SystemClock
from tests.fixtures.patience import HANGS
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RULES = """\
org: acme
default: ask
people:
  alice@acme.example: {}
  carol@acme.example: {}
groups:
  finance: [alice@acme.example]
tools:
  pay: {}
"""
ASK = "ask: {stages: [{of: [finance]}], channels: [NAME]}\n"


async def words_of(there: int, last: str) -> str:
    """Read a terminal until it says that."""
    loop, said, over = asyncio.get_running_loop(), bytearray(), asyncio.Event()

    def read() -> None:
        with suppress(OSError):
            said.extend(os.read(there, 65536))
        if last.encode() in said:
            over.set()

    loop.add_reader(there, read)
    try:
        async with asyncio.timeout(HANGS):
            await over.wait()
    finally:
        loop.remove_reader(there)
    return said.decode()


async def greeted(config: Path, environ: Mapping[str, str], *, until: str) -> str:
    """Serve on a terminal, and return what stands there once `until` does."""
    there, terminal = pty.openpty()
    words = ("app.cli.main", "serve", "-c", str(config), "--port", "0")
    process = forked.start(*words, env=environ, cwd=ROOT, stdout=terminal, stderr=terminal)
    os.close(terminal)
    try:
        return await words_of(there, until)
    finally:
        process.kill()
        await process.ended()
        os.close(there)


@pytest.mark.process
async def test_a_person_is_greeted_and_the_doctor_warns_of_the_same(tmp_path: Path, sqlite_url: str) -> None:
    async with SlackSimulator(clock=SystemClock()) as slack:
        settings, environ = slack.configuration(), dict(os.environ)
        for name in ("bot_token", "signing_secret", "app_token"):
            environ[name.upper()], settings[name] = str(settings[name]), f"${{{name.upper()}}}"
        environ |= {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": sqlite_url}
        channels = f"channels:\n  team: {json.dumps(settings)}\n"
        config = tmp_path / "assent.yaml"
        config.write_text(RULES + ASK.replace("NAME", "team") + channels)
        said = await greeted(config, environ, until="correct the e-mail")
        checked = await asyncio.to_thread(
            forked.run, "app.cli.main", "doctor", "-c", str(config), env=environ, cwd=ROOT
        )

    greeting = said[said.index("Assent ") :].replace("\r", "")
    assert re.match(r"Assent \S+ answers on http://127\.0\.0\.1:\d+\n  ready\?    http://\S+/readyz\n", greeting)
    assert f"  database  SQLite, {sqlite_url.removeprefix('sqlite:///')}\n" in greeting
    assert "  acme: 0 rules, 1 tool; everything else: ask\n" in greeting
    assert "    team (slack): 0 of 2 people found\n" in greeting
    warned = re.findall(r"^  WARNING   (.*)$", greeting, re.MULTILINE)
    assert [line.partition(": ")[2][:21] for line in warned] == ["no agent has a key: n", "nobody will be asked:"]
    assert [line for line in warned if f"WARNING  {line}" not in checked.stdout] == []
    secrets = [SECRET, *(environ[name] for name in ("BOT_TOKEN", "SIGNING_SECRET", "APP_TOKEN"))]
    assert [secret for secret in secrets if secret in said] == []


@pytest.mark.process
async def test_no_link_is_shown_to_another_port_of_this_machine_than_the_gateways_own(
    tmp_path: Path, sqlite_url: str
) -> None:
    config = tmp_path / "assent.yaml"
    config.write_text(f"url: http://127.0.0.1:1\n{RULES}{ASK.replace('NAME', 'api')}")
    environ = dict(os.environ) | {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": sqlite_url, "ASSENT_PORT": "2"}
    said = await greeted(config, environ, until="--agent NAME --label")
    [port] = re.findall(r"answers on http://127\.0\.0\.1:(\d+)", said)
    assert "/sign-in?t=" not in said
    assert f"acme: `url` is http://127.0.0.1:1, and the gateway listens on port {port}: no link leads to it" in said
    assert f"mend: write url: http://127.0.0.1:{port}, or listen there: --port 1, ASSENT_PORT=1" in said
    words = ("app.cli.main", "doctor", "-c", str(config))
    checked = await asyncio.to_thread(forked.run, *words, env=environ, cwd=ROOT)
    assert "WARNING  acme: `url` is http://127.0.0.1:1, and the gateway listens on port 2" in checked.stdout


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://127.0.0.1:8080", 8080),
        ("http://localhost/assent", 80),
        ("http://[::1]:8614", None),
        ("https://127.0.0.1", None),  # a proxy's: the gateway itself speaks http alone
        ("https://assent.acme.example", None),
        (None, None),
    ],
)
def test_which_port_of_this_machine_an_address_leads_to_instead(url: str | None, named: int | None) -> None:
    assert other_port(url, 8614) == named


def test_an_address_keeps_all_but_its_port() -> None:
    assert at_port("http://[::1]:8080/assent", 8614) == "http://[::1]:8614/assent"


@pytest.mark.process
async def test_where_nobody_looks_the_same_is_one_line_of_the_log(tmp_path: Path, sqlite_url: str) -> None:
    async with scene(sqlite_url, tmp_path, "slack") as made:
        made.environ["ASSENT_LOG_FORMAT"] = "json"
        async with made.gateway() as gateway:
            await until("it greets", lambda: "gateway.greeted" in gateway.log.read_text())
            lines = [json.loads(line) for line in gateway.log.read_text().splitlines() if "gateway.greeted" in line]
            [line] = lines
            assert line["address"] == gateway.address
    assert line["database"].startswith("SQLite, ")
    assert line["orgs"]["acme"]["rules"] == 5
    assert line["orgs"]["acme"]["channels"] == {"pay-slack": "3 of 4 people found"}
    assert line["warnings"] == []


def _key(scope: Scope, person: str | None) -> ApiKey:
    return ApiKey(
        id="k", org="acme", scope=scope, label="", secret_hash="", created_at=datetime(2026, 1, 5, tzinfo=UTC),
        expires_at=None, revoked_at=None, agent="shop" if scope is Scope.AGENT else None, person=person,
    )  # fmt: skip


AGENT, ALICE, CAROL = (
    _key(Scope.AGENT, None),
    _key(Scope.APPROVER, "alice@acme.example"),
    _key(Scope.APPROVER, "carol@acme.example"),
)
CHAT = 'channels: {c: {type: slack, bot_token: "${T}", app_token: "${A}", channel: C0PAY0001, receive: socket}}\n'


@pytest.mark.parametrize(
    ("channel", "keys", "active", "said"),
    [
        ("api", (), set(), ["no agent has a key", "nobody can decide: there is no channel"]),
        ("api", (AGENT,), set(), ["nobody can decide: there is no channel"]),
        ("api", (AGENT, CAROL), set(), ["nobody can decide: there is no channel"]),  # nobody asks her
        ("api", (AGENT, ALICE), set(), []),
        ("page", (AGENT,), set(), []),  # in the console, by a link
        ("c", (AGENT,), set(), ["nobody will be asked: no approver has an account"]),
        ("c", (AGENT,), {"carol@acme.example"}, ["nobody will be asked: no approver has an account"]),
        ("c", (AGENT,), {"alice@acme.example"}, []),
        ("c", (AGENT,), None, []),  # the platform has not said
        ("c", (AGENT, ALICE), set(), []),
    ],
)
def test_warned_is_of_what_would_be_noticed_only_when_a_call_waits_in_vain(
    tmp_path: Path, channel: str, keys: tuple[ApiKey, ...], active: set[str] | None, said: list[str]
) -> None:
    path = tmp_path / "assent.yaml"
    more = {"c": CHAT, "page": "url: http://127.0.0.1:8080\n"}.get(channel, "")
    path.write_text(RULES + ASK.replace("NAME", "c" if channel == "c" else "api") + more)
    environ = {"T": "xoxb-0123456789", "A": "xapp-0123456789"}
    policy = load_policy(path, environ=environ, channel_types=registry.platforms()).policy
    found = warnings_at_start(policy, keys, active=active)
    assert [finding.what.removeprefix("acme: ")[: len(what)] for finding, what in zip(found, said, strict=True)] == said
    assert all(finding.mend for finding in found)


def test_warned_is_of_who_is_to_hear_how_calls_end_and_can_be_told_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    text = ASK.replace("NAME", "c").replace("channels: [c]", "channels: [c], cc: [owner, carol@acme.example]")
    path.write_text(RULES + text + CHAT)
    environ = {"T": "xoxb-0123456789", "A": "xapp-0123456789"}
    policy = load_policy(path, environ=environ, channel_types=registry.platforms()).policy
    owned = replace(AGENT, person="olga@acme.example")
    alice = {"alice@acme.example"}
    (found,) = warnings_at_start(policy, (owned,), active=alice)
    assert found.what.startswith("acme: cc tells carol@acme.example, olga@acme.example how calls end")
    assert warnings_at_start(policy, (owned,), active={*alice, "carol@acme.example", "olga@acme.example"}) == []
    assert warnings_at_start(policy, (owned,), active=None) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////var/lib/a%20b/assent.db", "SQLite, /var/lib/a b/assent.db"),
        ("postgresql+psycopg://app:hid%40den@one:5432,two/assent", "PostgreSQL, assent on one,two"),
        ("postgresql:///assent?host=/run/pg&password=hidden", "PostgreSQL, assent on /run/pg"),
    ],
)
def test_a_database_is_named_without_its_password(url: str, shown: str) -> None:
    assert database_shown(url) == shown
