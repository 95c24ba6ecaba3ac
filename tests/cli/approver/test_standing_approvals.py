"""`assent standing` and `assent break-glass`: what two people do about permissions, each with their own key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.api.wire import queries
from app.cli.commands import app
from tests.fixtures.commands import Across, CliRunner
from tests.fixtures.standing import ALICE, BOB, RITA, approved, submit, write_standing
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from typer.testing import Result

    from tests.fixtures.gateway import Gateway

TERMS = ("--uses", "3", "--lasts", "8h", "--each", "CNY=500", "--total", "CNY=1500")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write an org whose rules permit standing approvals."""
    return write_standing(tmp_path)


@pytest.fixture
def assent(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Result]]:
    """Run a command as somebody, beside the gateway."""
    whole = httpx2.Client

    async def run(*words: str, who: str = ALICE, given: str | None = None) -> Result:
        key = (await gateway.key(who))["authorization"].removeprefix("Bearer ")
        transport = Across(gateway, asyncio.get_running_loop())
        monkeypatch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=transport))
        env = {"ASSENT_URL": "http://gateway.test/", "ASSENT_KEY": key}
        return await asyncio.to_thread(CliRunner().invoke, app, [*words], input=given, env=env)

    return run


def id_in(said: Result) -> str:
    """Return the id that a command names last."""
    assert said.exit_code == 0, said.output
    return said.stdout.split()[-1]


@requirement("S-26")
async def test_one_is_proposed_read_confirmed_used_listed_and_revoked(gateway: Gateway, assent: Any) -> None:
    assert (await assent("standing", "list")).stdout == "there are none\n"
    base = await approved(gateway)
    made = await assent("standing", "propose", base["id"], *TERMS, "--reason", "monthly\nfees")
    standing = id_in(made)
    assert "CNY 500 at most each, CNY 1,500 in all; 3 uses at most" in made.stdout
    assert "nothing holds yet" in made.stdout
    unsure = await assent("standing", "confirm", standing, who=BOB, given="\n")
    assert (unsure.exit_code, "nothing was done" in unsure.output) == (1, True)
    assert (await submit(gateway))["decision"] == "ask"
    own = await assent("standing", "confirm", standing, "--yes")
    assert (own.exit_code, "a second, different person" in own.stderr) == (1, True)
    said = await assent("standing", "confirm", standing, who=BOB, given="y\n")
    assert said.exit_code == 0, said.output
    assert "payee stays “Acme Ltd”" in said.stdout
    assert (await submit(gateway))["decision"] == "allow"
    listed = (await assent("standing", "list", who="admin")).stdout
    for part in (f"{standing}  active", "used 1 of 3, CNY 400 in all", f"by {ALICE} and {BOB}", "why: monthly⏎ fees"):
        assert part in listed
    assert (await assent("standing", "revoke", standing, who=RITA)).stdout == f"{standing}: revoked\n"
    assert (await submit(gateway))["decision"] == "ask"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (("--lasts", "soon"), "a time is a number with m, h or d"),
        (("--lasts", "0h"), "a time is a number with m, h or d"),
        (("--each", "CNY:500"), "takes a currency and an amount"),
        (("--each", "CNY=400"), "once a currency"),
    ],
)
async def test_what_cannot_be_read_is_said_and_nothing_is_sent(
    gateway: Gateway, assent: Any, changed: tuple[str, str], why: str
) -> None:
    said = await assent("standing", "propose", "req_x", *TERMS, *changed)
    assert (said.exit_code, why in said.stderr) == (2, True)
    assert gateway.rows("SELECT id FROM standing_approvals") == []


async def test_what_the_rule_does_not_permit_and_what_is_not_there_is_said(gateway: Gateway, assent: Any) -> None:
    base = await approved(gateway)
    more = await assent("standing", "propose", base["id"], *TERMS[2:], "--uses", "6")
    assert (more.exit_code, "uses must be 1 to 5" in more.stderr) == (1, True)
    for words in (("confirm", "sta_x", "--yes"), ("revoke", "sta_x")):
        said = await assent("standing", *words)
        assert (said.exit_code, "there is no" in said.stderr.lower()) == (1, True)


@requirement("S-50")
async def test_the_glass_is_broken_ended_and_reviewed_from_the_command_line(gateway: Gateway, assent: Any) -> None:
    assert (await assent("break-glass", "list")).stdout == "it was never broken\n"
    ask = ("break-glass", "ask", "--reason", "payroll is stuck", "--minutes", "10", "--tool", "pay", "--agent", "shop")
    glass = id_in(await assent(*ask))
    broken = await assent("break-glass", "confirm", glass, who=BOB, given="y\n")
    assert broken.exit_code == 0, broken.output
    assert f"{ALICE}: payroll is stuck" in broken.stdout
    assert "THE GLASS IS BROKEN until 2026-03-01 10:10:00 UTC" in broken.stdout
    assert (await submit(gateway))["request"]["state"] == "approved"
    assert (await assent("break-glass", "end", glass)).exit_code == 0
    listed = (await assent("break-glass", "list", who="auditor")).stdout
    assert f"{glass}  ended, NOT REVIEWED YET" in listed
    assert f"by {ALICE} and {BOB}" in listed
    assert "used once, CNY 400: payroll is stuck" in listed
    refused = await assent("break-glass", "review", glass, "--note", "fine", who=BOB)
    assert (refused.exit_code, "neither of the two" in refused.stderr) == (1, True)
    done = await assent("break-glass", "review", glass, "--note", "all was payroll", who=RITA)
    assert f"reviewed by {RITA}: all was payroll" in done.stdout


async def test_a_long_list_says_that_it_goes_on_and_what_is_further_down_is_found(
    gateway: Gateway, assent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_ITEMS", 2)
    base = await approved(gateway)
    made = [id_in(await assent("standing", "propose", base["id"], *TERMS)) for _ in range(5)]
    listed = (await assent("standing", "list", "--limit", "2")).stdout
    assert listed.count("proposed") == 2
    assert listed.endswith("there are more than 2: --limit shows more\n")
    for each in made:
        said = await assent("standing", "confirm", each, "--yes", who=BOB)
        assert said.stdout.splitlines()[-1].startswith(f"{each}: active")
    nowhere = await assent("standing", "confirm", "sta_x", "--yes", who=BOB)
    assert (nowhere.exit_code, "none of this id" in nowhere.stderr) == (1, True)
