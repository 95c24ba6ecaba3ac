"""The kill switch on the command line: with the database alone, for one org or for all of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from app.clock import SystemClock
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET, ManualClock, open_gateway, query
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else


@pytest.fixture
def orgs(tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    for name in ("acme", "globex"):
        (folder / f"{name}.yaml").write_text(f"org: {name}\ndefault: deny\n")
    return folder


@pytest.fixture
def desk(sqlite_url: str, orgs: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("ASSENT_DATABASE_URL", sqlite_url)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, "-c", str(orgs)], env={"COLUMNS": "200"})

    return run


def scopes(done: Result) -> list[str]:
    assert done.exit_code == 0, done.output
    return [line.partition(" since")[0] for line in done.stdout.splitlines()]


@requirement("S-49")
def test_a_tool_an_agent_or_an_org_is_paused_listed_and_lifted(desk: Callable[..., Result]) -> None:
    assert desk("pause", "list").stdout == "nothing is paused\n"
    done = desk("pause", "--org", "acme", "--tool", "pay", "--reason", "wrong payees")
    assert scopes(done) == ["acme: the tool pay is paused"]
    assert done.stdout.endswith("UTC, by cli: wrong payees\n")
    desk("pause", "--org", "acme", "--agent", "shop")
    desk("pause", "--org", "acme", "--agent", "shop", "--tool", "pay")
    listed = ["acme: the tool pay", "acme: the agent shop", "acme: the tool pay of the agent shop"]
    assert scopes(desk("pause", "list")) == [f"{each} is paused" for each in listed]
    told = desk("audit", "show", "--plain", "--org", "acme").stdout
    assert "cli set pause to on for every agent, the tool pay: wrong payees" in told
    assert scopes(desk("pause", "--lift", "--org", "acme", "--agent", "shop")) == [
        "acme: the pause of the agent shop is lifted",
        "still paused: acme: the tool pay is paused",
        "still paused: acme: the tool pay of the agent shop is paused",
    ]
    assert desk("read-only", "show", "--org", "acme").stdout == "off: nobody has touched it\n"


@requirement("S-49")
def test_all_is_every_org_of_this_gateway_each_in_its_own_trail(desk: Callable[..., Result], sqlite_url: str) -> None:
    assert scopes(desk("pause", "--all")) == ["acme: everything is paused", "globex: everything is paused"]
    events = query(sqlite_url, "SELECT org, kind, actor FROM audit_events ORDER BY org")
    assert [tuple(row.values()) for row in events] == [
        ("acme", "switch.set", "cli"),
        ("globex", "switch.set", "cli"),
    ]
    assert scopes(desk("pause", "--all", "--lift")) == [
        "acme: the pause of everything is lifted",
        "globex: the pause of everything is lifted",
    ]
    assert desk("pause", "list").stdout == "nothing is paused\n"


NAMES = """\
org: acme
default: deny
agents: {shop: {}}
ask: {stages: [{of: [desk]}], channels: [api]}
people: {ann@acme.example: {}}
groups: {desk: [ann@acme.example]}
tools: {bank.pay: {}}
rules: [{id: mail, tools: ["mail.*"], then: ask}]
"""


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        ("--tool bank.pya", "warning: the file does not name the tool 'bank.pya'; did you mean \"bank.pay\"?\n"),
        ("--tool bnk.*", "warning: the file does not name the tool 'bnk.*'; tools: bank.pay\n"),
        (
            "--agent shpo",
            "warning: no key and no file names the agent 'shpo', so this may bind nobody; did you mean \"shop\"?\n",
        ),
        ("--tool bank.pay --agent shop", ""),
        ("--tool mail.send", ""),
        ("--tool bank.*", ""),
        ("--agent *", ""),
        ("", "acme: every tool of every agent stands still, until `assent pause --lift --org acme`\n"),
    ],
)
def test_a_pause_of_what_nothing_knows_is_set_with_a_warning_and_one_of_everything_says_so(
    desk: Callable[..., Result], orgs: Path, words: str, warned: str
) -> None:
    (orgs / "acme.yaml").write_text(NAMES)
    (orgs / "globex.yaml").unlink()
    done = desk("pause", *words.split(), "--reason", "x")
    assert (done.exit_code, done.stderr) == (0, warned)
    assert len(desk("pause", "list").stdout.splitlines()) == 1


def test_a_read_only_agent_that_nothing_knows_is_warned_of(desk: Callable[..., Result], orgs: Path) -> None:
    (orgs / "acme.yaml").write_text(NAMES)
    done = desk("read-only", "on", "--org", "acme", "--agent", "shpo")
    assert (done.exit_code, 'did you mean "shop"?' in done.stderr) == (0, True)
    done = desk("read-only", "on", "--org", "acme", "--agent", "shop")
    assert (done.exit_code, done.stderr) == (0, "")


def test_keys_say_whom_nobody_answers_for_and_which_tools_nothing_knows(
    desk: Callable[..., Result], orgs: Path
) -> None:
    (orgs / "acme.yaml").write_text(NAMES)
    (orgs / "globex.yaml").unlink()
    key = ("keys", "create", "--label", "x", "--scope")
    done = desk(*key, "agent", "--agent", "shop")
    assert (done.exit_code, done.stderr.startswith("note: nobody answers for this agent")) == (0, True), done.stderr
    done = desk(*key, "agent", "--agent", "shop", "--person", "ann@acme.example")
    assert done.stderr.startswith("keep it now")
    done = desk(*key, "executor", "--tool", "bank.pya", "--tool", "*")
    assert "warning: the file does not name the tool 'bank.pya'; did you mean \"bank.pay\"?\n" in done.stderr
    assert done.exit_code == 0


def test_it_guesses_no_org_and_takes_no_contradiction(desk: Callable[..., Result]) -> None:
    done = desk("pause")
    assert (done.exit_code, done.stderr) == (2, "say which org with --org, or --all: acme, globex\n")
    assert desk("pause", "--all", "--org", "acme").exit_code == 2
    assert desk("pause", "list").stdout == "nothing is paused\n"


@requirement("S-49")
def test_a_broken_configuration_does_not_keep_it_from_working(desk: Callable[..., Result], orgs: Path) -> None:
    desk("pause", "--all")
    desk("pause", "--all", "--lift")
    (orgs / "acme.yaml").write_text("org: acme\ndefault: maybe\n")
    done = desk("pause", "--all", "--reason", "now")
    assert "the configuration cannot be read" in done.stderr
    assert scopes(done) == ["acme: everything is paused", "globex: everything is paused"]


def test_an_org_that_nothing_knows_is_paused_with_a_warning(desk: Callable[..., Result]) -> None:
    done = desk("pause", "--org", "acmee")
    assert "no file and no trail names the org 'acmee'; known: acme, globex" in done.stderr
    assert scopes(done) == ["acmee: everything is paused"]


@requirement("S-49")
async def test_deny_waiting_ends_what_waits_and_says_how_much(
    sqlite_url: str, config: Path, platform: MemoryPlatform, desk: Callable[..., Result]
) -> None:
    clock = ManualClock(SystemClock().now())  # a command is a process of its own: it has no other
    async with open_gateway(sqlite_url, config, platform, clock=clock) as g:
        waiting = [await g.ask("by_api", {"n": n}) for n in range(3)]
        granted = await g.ask("by_api", {"n": 3})
        await g.decide(granted)
        for wrong in (["--lift", "--org", "acme"], ["list"]):
            assert desk("pause", *wrong, "--deny-waiting").exit_code == 2
        assert (await g.read(granted))["state"] == "approved"
        done = await asyncio.to_thread(desk, "pause", "--org", "acme", "--deny-waiting", "--reason", "it leaks")
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines()[-1] == "acme: 3 requests cancelled, 1 unused approval revoked"
        assert "acme: 3 requests cancelled, 0 unused approvals revoked so far" in done.stderr
        assert {(await g.read(each))["state"] for each in waiting} == {"cancelled"}
        assert ("grant.revoked", "cli") in g.trail(granted)
        again = await asyncio.to_thread(desk, "pause", "--org", "acme", "--deny-waiting")
        assert again.stdout.splitlines()[-1] == "acme: 0 requests cancelled, 0 unused approvals revoked"
        assert again.stdout.splitlines()[0].endswith("by cli: it leaks"), "set again, it keeps its reason"
