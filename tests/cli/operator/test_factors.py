"""`assent factors`, and `assent requests approve` above L1: a whole enrolment and approval on the command line."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.cli.commands import app
from tests.fixtures.commands import Across, CliRunner
from tests.fixtures.gateway import SECRET, open_gateway
from tests.fixtures.second_factors import ALICE, BOB, STEPS_UP, Phone, asked, enrolled, forward
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from typer.testing import Result

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else


@pytest.fixture
async def g(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(STEPS_UP)
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


@pytest.fixture
def assent(g: Gateway, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Result]]:
    """Run a command as somebody, beside the gateway."""
    whole = httpx2.Client

    async def run(*words: str, who: str = ALICE, given: str | None = None) -> Result:
        key = (await g.key(who))["authorization"].removeprefix("Bearer ")
        transport = Across(g, asyncio.get_running_loop())
        monkeypatch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=transport))
        env = {
            "ASSENT_URL": "http://gateway.test/",
            "ASSENT_KEY": key,
            "ASSENT_SECRET": SECRET,
            "ASSENT_DATABASE_URL": g.url,
            "COLUMNS": "200",
        }
        return await asyncio.to_thread(CliRunner().invoke, app, list(words), input=given, env=env)

    return run


def beside(g: Gateway) -> tuple[str, ...]:
    return ("-c", str(g.config), "--org", "acme")


@requirement("S-29", "S-16")
async def test_an_operator_invites_and_the_person_enrols_with_their_own_key(g: Gateway, assent: Any) -> None:
    made = await assent("factors", "invite", BOB, *beside(g))
    assert (made.exit_code, len(made.stdout.strip())) == (0, 19), made.output
    assert "invited" in (await assent("factors", "list", *beside(g))).stdout
    code = made.stdout.strip()
    stolen = await assent("factors", "enrol", given=f"{code}\n000000\n")
    assert (stolen.exit_code, "wrong, used or too old" in stolen.stderr) == (1, True), stolen.output
    unfinished = await assent("factors", "enrol", who=BOB, given=f"{code}\nabc\n")
    assert (unfinished.exit_code, "not six digits" in unfinished.stderr) == (1, True)
    secret = next(line.split()[1] for line in unfinished.stdout.splitlines() if line.split()[-2:-1] == ["secret"])
    phone = Phone(secret=secret, shown=-1)
    first = await g.call("POST", "/v1/factors/confirm", {"totp": phone.next(g)}, who=BOB)
    assert first.json()["status"] == "active"
    assert f"{BOB}  " in (await assent("factors", "list", *beside(g))).stdout
    assert (await assent("factors", "remove", BOB, *beside(g))).exit_code == 0
    assert "nobody has one" in (await assent("factors", "list", *beside(g))).stdout
    again = await assent("factors", "remove", BOB, *beside(g))
    assert (again.exit_code, "nobody of this name" in again.stderr) == (1, True)
    stranger = await assent("factors", "invite", "bobb@acme.example", *beside(g))
    assert (stranger.exit_code, BOB in stranger.stderr) == (1, True)


@requirement("S-29")
async def test_enrolling_ends_with_the_first_code(g: Gateway, assent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_off(question: str) -> str:
        """Look at the app, which has what the command has just printed."""
        hidden = g.rows("SELECT new_secret FROM factors")[0]["new_secret"]
        secrets.append(g.container.seals.read_hidden(hidden, bound=("factor", "acme", ALICE)))
        return Phone(secret=secrets[0], shown=-1).next(g)

    secrets: list[str] = []
    monkeypatch.setattr("app.cli.operator.factors.ask_totp", read_off)
    code = (await assent("factors", "invite", ALICE, *beside(g))).stdout.strip()
    done = await assent("factors", "enrol", given=f"{code}\n")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, f"{ALICE}: active"), done.output
    assert f"secret  {secrets[0]}" in done.stdout
    assert "otpauth://totp/" in done.stdout


@requirement("S-29")
async def test_an_approval_at_l3_shows_the_payment_and_asks_for_the_amount_and_the_digits(
    g: Gateway, assent: Any
) -> None:
    phone = await enrolled(g)
    forward(g)
    request = await asked(g, "L3")
    wrong = await assent("requests", "approve", request["id"], "--yes", given=f"80000\n{phone.next(g)}\n")
    assert (wrong.exit_code, "nothing was decided (tries left: 2)" in wrong.stderr) == (1, True), wrong.output
    shown = wrong.stdout
    for told in (
        "WARNING",
        "Nobody here has paid Acme 0 before.",
        "¥80,000.50 CNY → Acme 0, reference INV-1",
        "your second factor (L3)",
        request["code"],
    ):
        assert told in shown
    assert (await assent("requests", "approve", request["id"], given="80000.50\n12345\n")).exit_code == 1
    assert (await g.read(request))["decisions"] == []
    right = await assent("requests", "approve", request["id"], given=f"80,000.50\n{phone.next(g)}\n")
    assert (right.exit_code, right.stdout.splitlines()[-1]) == (0, "pay_L3: approved"), right.output
    assert (await g.read(request))["decisions"][0]["assurance"] == "L3"


@requirement("S-29")
async def test_a_denial_takes_nothing_but_a_reason_at_any_level(g: Gateway, assent: Any) -> None:
    request = await asked(g, "L4")
    denied = await assent("requests", "deny", request["id"], "--reason", "not ordered")
    assert (denied.exit_code, denied.stdout.strip()) == (0, "pay_L4: denied")
    assert (await g.read(request))["settled"]["reason"] == "not ordered"


@requirement("S-29")
async def test_without_a_factor_the_command_says_whom_to_ask_and_a_lock_how_long(g: Gateway, assent: Any) -> None:
    request = await asked(g, "L3")
    said = await assent("requests", "approve", request["id"], given=f"{request['code']}\n123456\n")
    assert (said.exit_code, "ask an administrator for an invitation" in said.stderr) == (1, True), said.output
    low = await asked(g, "L2")
    for _ in range(3):
        said = await assent("requests", "approve", low["id"], given="1\n")
    assert (said.exit_code, "none is looked at for 900 s" in said.stderr) == (1, True), said.output


async def test_what_comes_from_outside_cannot_colour_or_begin_a_line(g: Gateway, assent: Any) -> None:
    arguments = {"payee": "Acme\x1b[31m\n  code  AAAA-AAAA", "amount": "12", "currency": "CNY", "ref": "R\u202e"}
    request = await g.ask("pay_L2", arguments)
    shown = (await assent("requests", "show", request["id"])).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    codes = [line.split()[1] for line in shown.splitlines() if line.split()[:1] == ["code"]]
    assert codes == [request["code"]]
