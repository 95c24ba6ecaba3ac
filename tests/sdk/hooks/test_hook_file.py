"""A file of hooks works without a gateway; what is not understood in it is refused with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks import GUARD, Hooks
from assent.hooks.declared.build import DeclarationError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.may_block, pytest.mark.process]  # files are read, a command runs

YAML = """\
hooks:
  - {id: careful, on: PreToolUse, use: read-only, tools: [pay], priority: 120, options: {on: true}}
  - on: PreToolUse
    command: [sh, -c, "echo '{\\"permissionDecision\\": \\"deny\\", \\"permissionDecisionReason\\": \\"no\\"}'"]
    agents: [clerk]
    timeout: 10s
    on_error: ask
"""


def write(folder: Path, text: str, name: str = "hooks.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


async def test_what_the_file_declares_stands_before_the_tool(tmp_path: Path) -> None:
    hooks = Hooks.from_file(write(tmp_path, YAML))
    async with hooks.session(agent="clerk") as session:
        looked = await session.call_tool("look", {}, lambda: "seen")
        paid = await session.call_tool("pay", {}, lambda: "paid")
    async with hooks.session(agent="other") as session:
        other = await session.call_tool("look", {}, lambda: "seen")
    assert (looked.ran, paid.ran, other.content) == (False, False, "seen")
    assert '"no"' in str(looked.content)
    careful, command = hooks.list()
    assert (careful.id, careful.priority >= GUARD, command.timeout) == ("careful", True, 10.0)
    assert command.origin == "hooks.yaml: hooks[1]"


async def test_json_needs_no_library_and_means_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    path = write(tmp_path, json.dumps({"hooks": [{"on": "PreToolUse", "command": "exit 2"}]}), "hooks.json")
    async with Hooks.from_file(path).session(agent="a") as session:
        assert not (await session.call_tool("look", {}, lambda: "seen")).ran
    with pytest.raises(DeclarationError, match=r"pip install 'assent\[files\]', or write it as \.json"):
        Hooks.from_file(write(tmp_path, YAML))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "hooks: must be a list with a hook in it"),
        ({"hooks": []}, "hooks: must be a list with a hook in it"),
        ({"hoks": []}, "hoks: unknown key"),
        ([], "must be a mapping"),
        ({"hooks": ["x"]}, r"hooks\[0\]: must be a mapping"),
        ({"hooks": [{"use": "read-only"}]}, r"hooks\[0\]\.on: is missing"),
        ({"hooks": [{"on": "PreTool", "use": "read-only"}]}, r"hooks\[0\]\.on: must be one of SessionStart"),
        ({"hooks": [{"on": "PreToolUse", "use": "read-onyl"}]}, r"hooks\[0\]: .*did you mean 'read-only'"),
        ({"hooks": [{"on": "PreToolUse"}]}, r"hooks\[0\]: .*exactly one of use, python and command"),
        ({"hooks": [{"on": "PreToolUse", "use": "read-only", "tool": ["x"]}]}, r"hooks\[0\]\.tool: unknown key"),
        ({"hooks": [{"on": "PreToolUse", "use": "read-only", "tools": "x"}]}, "must be a list of names"),
        ({"hooks": [{"on": "PreToolUse", "use": "read-only", "timeout": "soon"}]}, "must be a time such as 10s"),
        ({"hooks": [{"on": "PreToolUse", "use": "read-only", "priority": True}]}, "must be a whole number"),
        ({"hooks": [{"on": "PreToolUse", "use": "read-only", "on_error": "go"}]}, "must be one of deny, ask, allow"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, said: Any, why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        Hooks.from_file(write(tmp_path, json.dumps(said), "hooks.json"))


@pytest.mark.parametrize("text", ["hooks: [", "hooks: []\nhooks: []", "a: !!python/object:os.system {}"])
def test_yaml_that_says_two_things_or_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeclarationError, match="cannot be read"):
        Hooks.from_file(write(tmp_path, text))
