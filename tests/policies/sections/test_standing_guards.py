"""Where everything is allowed, somebody reads commands and paths all the same, unless the file says otherwise."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.cli.doctor.doctor import _guards
from app.hooks.org_hooks import Supplies, build_hooks
from app.policies.file.policy_file import LoadedPolicy, load_policy
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.moments import Moment
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision
from tests.requirements import requirement

pytestmark = pytest.mark.may_block  # files are read and hooks built before there is a loop to serve

ALLOW = "org: acme\ndefault: allow\n"
OFF = f"{ALLOW}guards: off\n".replace("off", '"off"')
HOOKS = "hooks:\n  - {on: PreToolUse, use: command-guard, tools: [bash]}\n"


def loaded(text: str) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={})


async def decision(text: str, command: str = "rm -rf /") -> Decision:
    hooks = build_hooks(loaded(text), supplies=Supplies())
    ctx = HookContext(
        moment=Moment.PRE_TOOL_USE,
        timestamp=datetime(2026, 11, 22, tzinfo=UTC),
        tool_name="exec",
        called_as="bash",
        args={"command": command},
    )
    return (await run_chain(hooks.get(Moment.PRE_TOOL_USE, tool="bash", agent="a"), ctx)).decision


@requirement("S-71")
@pytest.mark.parametrize("command", ["rm -rf /", "cat ~/.ssh/id_rsa"])
async def test_the_ready_guards_stand_where_everything_is_allowed(command: str) -> None:
    assert await decision(ALLOW, command) is Decision.DENY
    assert await decision(ALLOW, "ls -la") is Decision.ALLOW
    assert await decision(OFF, command) is Decision.ALLOW
    assert await decision('org: acme\ndefault: deny\nguards: "on"\n', command) is Decision.DENY
    assert await decision(f"{ALLOW}guards: on\n{HOOKS}", command) is Decision.DENY


@requirement("S-71")
@pytest.mark.parametrize(
    ("text", "standing"),
    [
        (ALLOW, ["command-guard", "path-guard"]),
        (OFF, []),
        ("org: acme\ndefault: deny\n", []),
        (f"{ALLOW}hooks: []\n", ["command-guard", "path-guard"]),
        (ALLOW + HOOKS, ["command-guard"]),
        (f'{ALLOW}guards: "on"\n{HOOKS}', ["command-guard", "path-guard", "command-guard"]),
        (f"{ALLOW}guards: off\n", []),
        (f"{ALLOW}guards: on\n", ["command-guard", "path-guard"]),
    ],
)
def test_what_stands_is_what_the_file_says(text: str, standing: list[str]) -> None:
    assert [each.use for each in loaded(text).hooks] == standing


@requirement("S-71")
def test_doctor_says_who_reads_commands() -> None:
    assert "guards: command-guard, path-guard" in _guards(loaded(ALLOW))[0].what
    assert "no guard reads commands" in _guards(loaded(OFF))[0].what
    assert _guards(loaded("org: acme\ndefault: deny\n")) == []
