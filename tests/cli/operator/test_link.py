"""`assent link`: a sign-in link for one person; and the first one, which a terminal alone is shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from app.cli.commands import app
from app.cli.greeting import Greeting
from app.usecases.reading.at_start import AtStart
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.fixtures.review_visits import Visitor, with_url

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

    from tests.fixtures.gateway import Gateway

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else


@pytest.fixture
def config(config: Path) -> Path:
    return with_url(config)


async def run(gateway: Gateway, *words: str) -> Result:
    """Run a command beside the gateway."""
    env = {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": gateway.url, "COLUMNS": "200"}
    given = ["link", *words, "-c", str(gateway.config), "--org", "acme"]
    return await asyncio.to_thread(CliRunner().invoke, app, given, env=env)


async def test_the_link_stands_alone_on_the_standard_output_and_signs_that_person_in(gateway: Gateway) -> None:
    # The clock of the command is the host's, that of the gateway stands: the link is of a time to come, and works.
    made = await run(gateway, "Alice@acme.example")
    assert made.exit_code == 0, made.output
    [link] = made.stdout.split()
    assert "whoever opens it first is signed in as them" in made.stderr
    visitor = Visitor(gateway=gateway)
    assert (await visitor.enter(link)).status_code == 303
    assert gateway.trail()[-1] == ("person.signed_in", "alice@acme.example")
    refused = await run(gateway, "alise@acme.example")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "did you mean" in refused.stderr or "alice@acme.example" in refused.stderr


async def test_the_greeting_shows_the_first_link_to_a_terminal(gateway: Gateway) -> None:
    c = gateway.container
    found = await AtStart(store=c.store, book=c.book)("acme", {})
    greeting = Greeting(c.settings)
    assert not any("sign in" in line for line in greeting.lines("127.0.0.1", 8000, [found]))
    first = await c.console.sessions.first_link("acme")
    lines = list(greeting.lines("127.0.0.1", 8000, [replace(found, sign_in=first)]))
    alone = greeting.lines("127.0.0.1", 8000, [replace(found, channels=())])
    assert any(
        "no channel: people decide in the console at http://127.0.0.1:8080, by `assent req" in each for each in alone
    )
    assert any("sign in as alice@acme.example, once, within ten minutes: http" in line for line in lines)
