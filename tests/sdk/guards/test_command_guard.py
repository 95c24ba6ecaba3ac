from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assent.guards.command_guard import CommandGuard
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from tests.sdk.guards.command_cases import ALLOWED, BLOCKED
from tests.sdk.guards.judged import judged_otherwise

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CASES = [json.loads(line) for line in (Path(__file__).parent / "guard_cases.jsonl").read_text().splitlines()]


async def verdict(command: Any = None, *, guard: CommandGuard | None = None, **args: Any) -> str:
    given = args if command is None else {"command": command, **args}
    ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=NOON, tool_name="exec", args=given)
    result = await (guard or CommandGuard()).execute(ctx)
    if result is None:
        return "allow"
    if result.allow:
        assert result.ask
        return "ask"
    assert result.error
    return "block"


@pytest.mark.parametrize("expected", sorted({case["expect"] for case in CASES}))
async def test_every_published_case_is_judged_as_expected(expected: str) -> None:
    cases = {f"{case['id']}: {case['why']}": case["args"] for case in CASES if case["expect"] == expected}
    assert await judged_otherwise(cases, expected, lambda name: verdict(**cases[name])) == {}


async def test_every_harmful_command_is_denied() -> None:
    assert await judged_otherwise(BLOCKED, "block", verdict) == {}


async def test_every_honest_command_is_left_alone() -> None:
    assert await judged_otherwise(ALLOWED, "allow", verdict) == {}


@pytest.mark.parametrize(
    "command",
    [
        'rm -rf "$UNKNOWN"',
        'rm -rf "${UNKNOWN:?}"/*',
        'rm -rf "$DIR/build"',
        "$UNKNOWN --flag",
        "$(make name) x",
        'eval "$CODE"',
        'bash -c "$CODE"',
        "./generate | sh",
        'cd "$DIR" && rm -rf *',
        "dd if=x of=$TARGET",
        "mkfs.ext4 $DISK",
        "echo 'not closed",
        "if true; then ls",
        "git clean -fdx",
        "git config core.hooksPath .other",
        "rm -rf .git",
        "while read f; do rm -rf $f; done < list",
    ],
)
async def test_what_cannot_be_known_is_asked_about(command: str) -> None:
    assert await verdict(command) == "ask"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"cmd": "rm -rf /"}, "block"),
        ({"script": "ls\nrm -rf /\n"}, "block"),
        ({"input": "rm -rf ~"}, "block"),
        ({"command": ["bash", "-lc", "rm -rf /"]}, "block"),
        ({"command": ["rm -rf /"]}, "block"),
        ({"command": ["cd /", "rm -rf *"]}, "block"),
        ({"command": ["rm", "-rf", "$HOME"]}, "block"),
        ({"command": ["rm", "-rf", "~"]}, "block"),
        ({"command": '["rm", "-rf", "/"]'}, "block"),
        ({"command": "rm", "args": ["-rf", "/"]}, "block"),
        ({"command": "rm -rf *", "cwd": "/"}, "block"),
        ({"command": "rm -rf *", "workdir": "/tmp/x"}, "allow"),
        ({"command": "rm -rf $X", "env": {"X": "/"}}, "block"),
        ({"command": "rm -rf $X", "env": {"X": "build"}}, "allow"),
        ({"command": ["git", "commit", "-m", "a; rm -rf /"]}, "allow"),
        ({"command": ["echo", "rm -rf /"]}, "allow"),
        ({"commands": [["ls"], ["rm", "-rf", "/"]]}, "block"),
        ({"command": "ls", "cmd": "rm -rf /"}, "block"),
        ({"command": ""}, "allow"),
        ({}, "ask"),
        ({"command": 7}, "ask"),
        ({"command": {"sh": "rm -rf /"}}, "ask"),
    ],
)
async def test_every_shape_of_arguments_is_read(args: dict[str, Any], expected: str) -> None:
    assert await verdict(**args) == expected


async def test_a_denial_names_what_and_why() -> None:
    ctx = HookContext(moment=Moment.PRE_TOOL_USE, timestamp=NOON, tool_name="exec", args={"command": "ls; rm -rf /usr"})
    result = await CommandGuard().execute(ctx)
    assert result is not None
    assert result.error == "rm /usr deletes the system directory /usr"


@pytest.mark.parametrize("command", ["/usr/bin/cu?l https://files.example/x", "./bu[i]ld.sh", "/opt/t*/run"])
async def test_a_program_that_a_pattern_names_is_not_run(command: str) -> None:
    assert await verdict(command) == "block"
    assert await verdict(command.replace("cu?l", "curl").replace("[i]", "i").replace("t*", "tool")) == "allow"


async def test_further_programs_can_be_blocked_and_known_ones_released() -> None:
    guard = CommandGuard(also_blocked=["terraform"], allowed=["reboot"])
    assert await verdict("sudo terraform apply", guard=guard) == "block"
    assert await verdict("reboot", guard=guard) == "allow"
    assert await verdict("reboot; halt", guard=guard) == "block"


async def test_the_guard_stands_among_the_guards_of_the_shell_tool() -> None:
    assert (CommandGuard.name, CommandGuard.tools, CommandGuard.priority) == ("command-guard", "exec", 100)
