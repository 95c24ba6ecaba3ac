"""`use: claude-code`: the tools that an agent program brings along are known, and what each of them does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.domain.errors import UnknownToolError
from app.domain.rules.policy import judge
from app.hooks.org_hooks import Supplies, build_hooks
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from assent.command.hosts.table import HOSTS
from assent.hooks.contract.presets import PRESETS
from tests.domain.samples import a_call
from tests.places import ROOT

FILE = """\
org: acme
default: deny
unknown_tools: deny
use: claude-code
rules:
  - {id: look, tools: [Read, Grep], then: allow}
  - {id: issue, tools: [mcp__github__create_issue, "mcp__jira__*"], then: allow}
"""


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={})


def answer(loaded: LoadedPolicy, tool: str) -> str:
    ruling = judge(loaded.policy, a_call(tool=tool), now=datetime(2026, 11, 22, tzinfo=UTC))
    return f"{type(ruling).__name__}:{ruling.rule_id}"


def test_every_program_of_the_hook_command_has_its_tools() -> None:
    assert set(PRESETS) == set(HOSTS)
    assert all("exec" in {does.value[:4] for does in preset.tools.values()} for preset in PRESETS.values())


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("Read", "Allow:look"),
        ("Write", "Deny:default"),
        ("mcp__github__create_issue", "Allow:issue"),
        ("mcp__jira__search", "Allow:issue"),
        ("mcp__github__delete_repository", "Deny:default"),
        ("Raed", "Deny:unknown-tool"),
    ],
)
def test_rules_name_them_without_a_catalogue(tool: str, said: str) -> None:
    assert answer(load(), tool) == said


def test_without_the_preset_the_same_rules_name_nothing() -> None:
    with pytest.raises(PolicyFaultsError) as refused:
        load(FILE.replace("use: claude-code\n", ""))
    assert all(f'unknown tool "{name}"' in str(refused.value) for name in ("Read", "Grep"))


def test_what_is_not_of_the_program_is_refused_where_the_file_says_so() -> None:
    policy = load(FILE.replace("unknown_tools: deny", "unknown_tools: refuse")).policy
    assert policy.get_tool("mcp__any__thing").writes is None
    with pytest.raises(UnknownToolError):
        policy.get_tool("Raed")


def test_only_what_reads_runs_while_read_only_is_on() -> None:
    tools = load().policy.tools
    assert tools["Read"].writes is False
    assert {tools[name].writes for name in ("Bash", "Write", "WebFetch", "Agent")} == {True}


def test_the_files_own_entry_says_the_rest() -> None:
    own = 'tools: {Read: {title: "Read {file_path}"}, Grep: {writes: true}}\n'
    tools = load(FILE + own).policy.tools
    assert (tools["Read"].title, tools["Read"].writes) == ("Read {file_path}", False)
    assert tools["Grep"].writes is True


def test_where_two_programs_differ_a_tool_writes() -> None:
    tools = load(FILE.replace("use: claude-code", "use: [claude-code, cursor, gemini]")).policy.tools
    assert tools["Read"].writes is False
    assert tools["run_shell_command"].writes is True


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("claude", 'there is no preset "claude"'),
        ("[codex, codex]", '"codex" again'),
        ("5", "must be a list, and here is"),
    ],
)
def test_a_preset_that_is_none_is_said(said: str, why: str) -> None:
    with pytest.raises(PolicyFaultsError) as refused:
        load(FILE.replace("use: claude-code", f"use: {said}"))
    assert why in str(refused.value)


@pytest.mark.may_block
def test_hooks_name_them_as_well() -> None:
    hooks = 'hooks:\n  - {on: PreToolUse, tools: [Bash, "mcp__github__*"], use: command-guard}\n'
    registry = build_hooks(load(FILE + hooks), supplies=Supplies())
    assert "command-guard" in {each.name for each in registry.list()}


def test_the_page_lists_what_each_tool_does() -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for name, preset in PRESETS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` | "))
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        told = dict(zip(("reads", "writes", "executes", "fetches"), cells[1:5], strict=True))
        for does, cell in told.items():
            listed = {tool for tool, what in preset.tools.items() if what == does}
            assert set(cell.replace("`", "").split()) - {"–"} == listed, (name, does)
        assert cells[5] == (f"`{preset.mcp}…`" if preset.mcp else "–")
