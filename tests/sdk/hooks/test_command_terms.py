"""Commands that run for strangers: so many at once, with an environment of named things, and without descriptors."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from assent.hooks.commands.command_hook import CommandHook
from assent.hooks.commands.spawn import HARMLESS, Terms, environment, run
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.memory_platform import MemoryPlatform

pytestmark = [pytest.mark.process]

SECRETS = {"PGPASSWORD": "hunter2", "AWS_SECRET_ACCESS_KEY": "k", "ASSENT_SECRET": "s", "OTHER": "x", "NAMED": "y"}


@requirement("S-77")
def test_a_command_sees_what_is_harmless_and_what_is_named() -> None:
    around = {**dict.fromkeys(HARMLESS, "h"), **SECRETS}
    assert set(environment(around, passes={"NAMED", "ASSENT_SECRET"})) == HARMLESS | {"NAMED"}
    assert set(environment(around, passes=())) == set(HARMLESS)
    assert set(environment(around, passes=("NAMED",), without={"NAMED"})) == set(HARMLESS)


@requirement("S-77")
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_command_gets_no_descriptor_of_ours(loop: Any, tmp_path: Path) -> None:
    kept = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(kept, True)  # as a library leaves one that was not careful
    running = loop()
    try:
        argv = (sys.executable, "-c", _LOOK)
        finished = running.run_until_complete(run(argv, stdin=b"", env={"PATH": os.defpath}))
    finally:
        running.close()
        os.close(kept)
    seen = {int(number): what for number, what in json.loads(finished.out).items()}
    assert kept not in seen
    own = {seen[number] for number in (0, 1, 2)}  # uvloop leaves each of these open a second time
    assert not [what for number, what in seen.items() if number > 2 and what not in own], seen


_LOOK = """
import json, os
look = {}
for number in os.listdir('/proc/self/fd'):
    try:
        look[number] = os.readlink(f'/proc/self/fd/{number}')
    except FileNotFoundError:
        pass  # the folder itself
print(json.dumps(look))
"""


@requirement("S-77")
async def test_so_many_run_at_once_and_the_others_wait_for_their_turn(tmp_path: Path) -> None:
    """Each says that it runs, and how many do; a turn that is cut off, as by its time limit, is given back."""
    terms = Terms(at_once=asyncio.Semaphore(2))
    script = tmp_path / "count.py"
    script.write_text(
        "import os, pathlib, sys, time\n"
        f"mine = pathlib.Path({str(tmp_path)!r}, f'run-{{os.getpid()}}'); mine.touch()\n"
        f"print(len(list(pathlib.Path({str(tmp_path)!r}).glob('run-*')))); time.sleep(0.1); mine.unlink()\n"
    )
    env = {"PATH": os.defpath}
    many = [run((sys.executable, "-S", str(script)), stdin=b"", env=env, terms=terms) for _ in range(7)]
    counts = [int(finished.out) for finished in await asyncio.gather(*many)]
    assert max(counts) <= 2
    held = [asyncio.ensure_future(run(("sleep", "60"), stdin=b"", env=env, terms=terms)) for _ in range(2)]
    await asyncio.sleep(0)  # both have their turn
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):  # its limit, as the engine sets it: waiting counts
            await run(("true",), stdin=b"", env=env, terms=terms)
    for each in held:
        each.cancel()
    await asyncio.gather(*held, return_exceptions=True)
    assert (await asyncio.wait_for(run(("true",), stdin=b"", env=env, terms=terms), 20)).code == 0


@requirement("S-77")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run a program as somebody else")
async def test_a_command_runs_as_the_account_that_is_named() -> None:
    terms = await asyncio.to_thread(Terms, at_once=asyncio.Semaphore(1), user="nobody")
    finished = await run(("id", "-un"), stdin=b"", env={"PATH": "/usr/bin:/bin"}, terms=terms)
    assert finished.out.strip() == b"nobody", finished.err


def test_an_account_that_cannot_be_taken_on_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="setpriv"):
        Terms(at_once=asyncio.Semaphore(1), user="nobody")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="'nosuch' is no account of this machine"):
        Terms(at_once=asyncio.Semaphore(1), user="nosuch")


@requirement("S-77")
async def test_the_gateways_own_commands_are_bound_so(
    sqlite_url: str, config: Path, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    file, seen = config / "acme.yaml", config.with_name("seen.txt")
    text = await asyncio.to_thread(file.read_text)
    hooks = f'\nhooks:\n  - {{id: look, on: PreToolUse, command: "env | cut -d= -f1 | sort > {seen}"}}\n'
    await asyncio.to_thread(file.write_text, text + hooks)
    async with open_gateway(sqlite_url, config, platform, hook_environment="NAMED", hook_processes=3) as g:
        await g.call("POST", "/v1/requests", {"tool": "ping", "arguments": {"n": 1}}, who="agent:shop")
        _, registry = g.container.hooks.current("acme")
        [hook] = [each.hook for each in registry.list() if isinstance(each.hook, CommandHook)]
        assert hook._terms is g.container._terms  # pyright: ignore[reportPrivateUsage]
        assert g.container._terms.at_once._value == 3  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    names = set((await asyncio.to_thread(seen.read_text)).split())
    assert "NAMED" in names
    assert not names & (SECRETS.keys() - {"NAMED"})
