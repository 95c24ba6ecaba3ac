"""Calls by kind, judged by both guards as `assent check` does: everyday work passes, harm and its disguises do not."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from assent.guards.command_guard import CommandGuard
from assent.guards.commands.arguments import COMMAND_KEYS
from assent.guards.path_guard import FILE_TOOLS
from assent.hooks.contract.tool_names import canonical_name
from tests.sdk.guards.path_calls import GUARD
from tests.sdk.ready.moments import before

COMMANDS = CommandGuard()
Call = tuple[str, dict[str, Any]]


def calls() -> dict[tuple[str, str], list[Call]]:
    """Kind and expected verdict → calls. A line is a command (`⏎` for a line break) or a whole call as JSON."""
    found: dict[tuple[str, str], list[Call]] = defaultdict(list)
    heading = ("", "")
    for line in (Path(__file__).parent / "judged_calls.txt").read_text().splitlines():
        if line.startswith("== "):
            _, kind, expected = line.split()
            heading = (kind, expected)
        elif line.startswith('{"tool"'):
            call = json.loads(line)
            found[heading].append((call["tool"], call["args"]))
        else:
            found[heading].append(("exec", {"command": line.replace("⏎", "\n")}))
    return dict(found)


CALLS = calls()


async def judged(tool: str, args: dict[str, Any]) -> str:
    name = canonical_name(tool)
    guards = [guard for guard in (COMMANDS, GUARD) if guard is GUARD or name == "exec"]
    said = [await guard.execute(before(name, args=args)) for guard in guards if matches(guard, name)]
    given = [result for result in said if result is not None]
    if any(not result.allow for result in given):
        return "block"
    return "ask" if given else "allow"


def matches(guard: Any, name: str) -> bool:
    return guard is COMMANDS or FILE_TOOLS.fullmatch(name) is not None


@pytest.mark.parametrize(("kind", "expected"), list(CALLS))
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_every_call_of_a_kind_is_judged_as_expected(kind: str, expected: str) -> None:
    wrong = [call for call in CALLS[kind, expected] if await judged(*call) != expected]
    assert wrong == []


@pytest.mark.parametrize("key", sorted(COMMAND_KEYS))
@pytest.mark.parametrize("command", ["rm -rf /", "cat ~/.ssh/id_rsa"])
async def test_both_guards_read_the_same_arguments(key: str, command: str) -> None:
    assert await judged("exec", {key: command}) == "block"
    assert await judged("exec", {key: command.split()}) == "block"
    assert await judged("exec", {"params": {key.upper(): command}}) == "block"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"cmd": "cat", "args": ["/etc/shadow"]}, "block"),
        ({"cmd": "rm", "args": "-rf /"}, "block"),
        ({"program": "rm", "args": ["-rf", "/"]}, "block"),
        ({"command": {"cmd": "rm", "args": ["-rf", "/"]}}, "block"),
        ({"commands": [{"command": "ls"}, {"command": "rm -rf /"}]}, "block"),
        ({"command": '{"cmd": "rm -rf /"}'}, "block"),
        ({"command": "bash", "input": "rm -rf /"}, "block"),
        ({"command": "bash -s", "stdin": "cat .env"}, "block"),
        ({"command": "cat", "input": "rm -rf /"}, "allow"),
        ({"command": "psql app", "input": "select 1; -- it's"}, "allow"),
        ({"command": "ls", "env": {"A": "rm -rf /"}}, "allow"),
        ({"command": "cat $F", "env": {"F": ".env"}}, "block"),
        ({"command": 7}, "ask"),
        ({"timeout": 3}, "ask"),
    ],
)
async def test_what_a_call_runs_is_put_together_from_its_arguments(args: dict[str, Any], expected: str) -> None:
    assert await judged("exec", args) == expected


@pytest.mark.parametrize(
    "command",
    [
        "cat > a.py <<'EOF'\n" + "print('it is a line', x)  # and \"more\"\n" * 5000 + "EOF",
        "cat > a.txt <<EOF\n" + "line of $USER (x) [y] {z} it's\n" * 5000 + "EOF",
        "python3 - <<'EOF'\n" + "x = compute(1, 'name')\nprint(f'{x}')\n" * 1500 + "EOF",
        'python3 -c "' + "print(1)\n" * 5000 + '"',
        "sed -i " + " ".join(f"-e 's/foo{number}/bar{number}/g'" for number in range(2000)) + " notes.txt",
        "\n".join(f"mkdir -p out/{n}\ncp src/{n}.txt out/{n}/ || exit 1" for n in range(600)),
        "\n".join(f"if [ $x -eq {n} ]; then y{n}=1; else y{n}=0; fi" for n in range(40))
        + "\necho "
        + " ".join(f"$y{n}" for n in range(40)),
        "git commit -m '" + "a long text. " * 8000 + "'",
        "ls " + " ".join(f"file{number}.txt" for number in range(8000)),
    ],
)
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_a_long_and_ordinary_command_is_read_to_its_end(command: str) -> None:
    assert await judged("exec", {"command": command}) == "allow"
    assert await judged("exec", {"command": f"{command}\nrm -rf /"}) == "block"


async def test_where_a_call_runs_is_seen_from_its_session() -> None:
    said = await COMMANDS.execute(before("exec", args={"command": "rm -rf etc"}, cwd="/"))
    assert said is not None
    assert not said.allow
    assert await COMMANDS.execute(before("exec", args={"command": "rm -rf etc"}, cwd="/srv/app")) is None
