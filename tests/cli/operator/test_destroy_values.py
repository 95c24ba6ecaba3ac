"""`assent destroy-values`: on an operator's word, not while something is open, and said in the trail."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.requirements import requirement

if TYPE_CHECKING:
    from typer.testing import Result

    from tests.fixtures.gateway import Gateway

pytestmark = pytest.mark.may_block  # a command is a process of its own: its loop serves nobody else
WHO = ("--by", "olga@acme.example", "--reason", "they left")


@requirement("S-38")
async def test_what_an_orgs_calls_carried_is_destroyed_once_nothing_is_open(either_gateway: Gateway) -> None:
    g = either_gateway
    env = {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": g.url, "COLUMNS": "200"}

    async def run(*words: str, said: str = "") -> Result:
        beside = ("-c", str(g.config), "--org", "acme")
        return await asyncio.to_thread(CliRunner().invoke, app, [*words, *beside], input=said, env=env)

    request = await g.ask("by_api", {"n": 1})
    open_still = await run("destroy-values", *WHO, "--yes")
    assert (open_still.exit_code, open_still.stderr.partition(":")[0]) == (1, "1 request is open")
    await g.decide(request, "deny")
    assert (await run("destroy-values", *WHO, said="n\n")).exit_code == 1
    assert (await g.read(request))["arguments"] == {"n": 1}, "they thought better of it"
    done = await run("destroy-values", *WHO, said="y\n")
    assert (done.exit_code, "acme: 1 key destroyed" in done.stdout) == (0, True), done.output
    await g.container.timetable.refresh_keys()
    assert (await g.read(request))["arguments"] == {"": "unreadable"}
    told = (await run("audit", "show", "--plain")).stdout
    assert "olga@acme.example destroyed what all calls until here carried, with the keys 1: they left" in told
    await g.container.heads.note()
    verified = await run("audit", "verify")
    assert verified.exit_code == 0, verified.output
