"""Hooks and agents in `assent.yaml`: what they become, and every fault with its line and its mend."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from app.domain.call.agent import AgentSettings
from app.hooks.org_hooks import BUILT_IN, READ_ONLY, Supplies, build_hooks
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.hook import OnError
from assent.hooks.contract.moments import Moment
from assent.hooks.engine.chain import run_chain
from assent.hooks.engine.outcome import Decision
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from assent.hooks.engine.outcome import Outcome
    from assent.hooks.engine.registry import HookRegistry

pytestmark = pytest.mark.may_block  # files are read and hooks built before there is a loop to serve

GOOD = """\
org: acme
default: allow
tools:
  oa__pay: {requires_confirmation: true, writes: true}
  oa__list: {writes: false}
  oa__note:
hooks:
  - {on: PreToolUse, tools: [bash], use: read-only, id: quiet}
  - on: PreToolUse
    tools: ["oa__*"]
    agents: [buyer]
    python: acme_section_hooks.no_fridays
    on_error: ask
    priority: 120
  - {on: PostToolUse, command: "python scan.py", timeout: 10s}
  - {on: SessionEnd, command: [python, note.py], timeout: 500ms}
agents:
  buyer:
    confirm_all_tools: true
    hooks:
      - {on: PreToolUse, use: rate-limit, options: {limit: 10/minute, per: [user]}}
  seller: {inherit: false}
  clerk:
"""


@pytest.fixture(autouse=True)
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "acme_section_hooks.py").write_text(
        "from assent.hooks.contract.verdicts import deny\n"
        "def no_fridays(ctx):\n    return deny('not on Fridays') if ctx.timestamp.weekday() == 4 else None\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("acme_section_hooks", None)


def load(text: str) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={})


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text)
    return [str(fault).removeprefix("assent.yaml:") for fault in refused.value.faults]


async def ask(hooks: HookRegistry, tool: str, *, agent: str = "", args: Mapping[str, Any] | None = None) -> Outcome:
    ctx = HookContext(
        moment=Moment.PRE_TOOL_USE,
        timestamp=datetime(2026, 11, 20, tzinfo=UTC),
        org="acme",
        agent=agent,
        tool_name=hooks.canonical(tool),
        called_as=tool,
        args=args or {},
    )
    return await run_chain(hooks.get(Moment.PRE_TOOL_USE, tool=tool, agent=agent), ctx)


def test_a_good_file_becomes_declarations_in_its_order() -> None:
    quiet, fridays, scan, note, rate = load(GOOD).hooks
    assert (quiet.on, quiet.tools, quiet.use, quiet.id) == (Moment.PRE_TOOL_USE, ("bash",), "read-only", "quiet")
    assert (fridays.python, fridays.on_error, fridays.priority) == (
        "acme_section_hooks.no_fridays",
        OnError.ASK,
        120,
    )
    assert (fridays.tools, fridays.agents, fridays.origin) == (("oa__*",), ("buyer",), "assent.yaml:9")
    assert (scan.command, scan.timeout, scan.on_error, scan.agents) == ("python scan.py", 10.0, None, ())
    assert (note.command, note.timeout) == (("python", "note.py"), 0.5)
    assert (rate.agents, rate.options, rate.origin) == (
        ("buyer",),
        {"limit": "10/minute", "per": ["user"]},
        "assent.yaml:21",
    )


def test_agents_have_their_settings() -> None:
    assert load(GOOD).agents == {
        "buyer": AgentSettings(inherit=True, confirm_all_tools=True),
        "seller": AgentSettings(inherit=False, confirm_all_tools=False),
        "clerk": AgentSettings(),
    }


def test_tools_say_whether_they_write_and_whether_people_are_asked() -> None:
    tools = load(GOOD).policy.tools
    assert {name: (tool.writes, tool.requires_confirmation) for name, tool in tools.items()} == {
        "oa__pay": (True, True),
        "oa__list": (False, False),
        "oa__note": (None, False),
    }


def test_the_version_changes_with_a_hook_and_with_an_agent() -> None:
    version = load(GOOD).policy.version
    assert load(GOOD.replace("scan.py", "scan2.py")).policy.version != version
    assert load(GOOD.replace("inherit: false", "inherit: true")).policy.version != version


@requirement("S-57")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("timeout: 10s", "timout: 10s", '15: hooks[2].timout: unknown key "timout"; did you mean "timeout"?'),
        ("timeout: 10s", "timeout: 10", "15: hooks[2].timeout: must be a time such as 500ms, 10s, 2m or 1h"),
        ("timeout: 10s", "timeout: 25h", "15: hooks[2].timeout: must be a day (24h) at most"),
        ("on: PostToolUse", "on: PostTolUse",
         '15: hooks[2].on: unknown moment "PostTolUse"; did you mean "PostToolUse"?'),
        ("on: PostToolUse, ", "", '15: hooks[2]: "on" is missing'),
        ('command: "python scan.py", ', "",
         "15: hooks[2]: does not say what runs; a hook is exactly one of use, python and command"),
        ("use: read-only", "use: read-only, command: x",
         "8: hooks[0]: has use and command; a hook is exactly one of use, python and command"),
        ("use: read-only", "use: readonly",
         "8: hooks[0].use: there is no ready hook 'readonly'; did you mean 'read-only'?"),
        ("use: read-only", "use: read-only, options: {onn: true}",
         "8: hooks[0].options.onn: unknown option 'onn'; did you mean 'on'?"),
        ("use: read-only", "use: read-only, options: {is_on: true}",
         "8: hooks[0].options.is_on: unknown option 'is_on'"),
        ("limit: 10/minute", "limit: often", "21: agents.buyer.hooks[0].options.limit: write one like '10/minute'"),
        ("no_fridays", "no_friday",
         "12: hooks[1].python: acme_section_hooks has no 'no_friday'; did you mean 'no_fridays'?"),
        ("acme_section_hooks.", "acme_hocks.", "12: hooks[1].python: there is no module 'acme_hocks'"),
        ('"python scan.py"', '""', "15: hooks[2].command: must be a shell line"),
        ('"python scan.py"', "[]", "15: hooks[2].command: must be a shell line"),
        ('"python scan.py"', "[python, 3]", "15: hooks[2].command: must be a shell line"),
        ("on_error: ask", "on_error: maybe", "13: hooks[1].on_error: must be deny, ask or allow"),
        ("timeout: 10s", "on_error: ask", "15: hooks[2].on_error: people are asked about tool calls"),
        ("timeout: 500ms", "on_error: deny", "16: hooks[3].on_error: at SessionEnd nothing can be stopped"),
        ("timeout: 500ms", "tools: [bash]", "16: hooks[3].tools: SessionEnd is about no tool; leave it out"),
        ("tools: [bash]", "tools: [exce]",
         "8: hooks[0].tools[0]: 'exce' can never match: did you mean 'exec'? the known tools are apply_patch, edit, "),
        ('tools: ["oa__*"]', 'tools: [bash, "ao__*"]', "10: hooks[1].tools[1]: 'ao__*' can never match: "),
        ('tools: ["oa__*"]', "tools: oa__pay", "10: hooks[1].tools: must be a list, and here is"),
        ('tools: ["oa__*"]', "tools: []", "10: hooks[1].tools: "),
        ("agents: [buyer]", "agents: [byuer]",
         "11: hooks[1].agents[0]: 'byuer' can never match: did you mean 'buyer'? the known agents are buyer, clerk, "),
        ("priority: 120", "priority: high", "14: hooks[1].priority: must be a whole number, and here is"),
        ("timeout: 10s", "id: quiet", "15: hooks[2].id: the id 'quiet' is taken"),
        ("id: quiet", "id: read-only", '8: hooks[0].id: "read-only" is a name of our own; choose another one'),
        ("use: rate-limit", "use: rate-limit, agents: [seller]",
         '21: agents.buyer.hooks[0].agents: stands under the agent "buyer" and is for it alone; leave it out'),
        ("inherit: false", "inherits: false",
         '22: agents.seller.inherits: unknown key "inherits"; did you mean "inherit"?'),
        ("inherit: false", "inherit: maybe", "22: agents.seller.inherit: must be true or false"),
        ("  clerk:", '  "ci-*":', "23: agents.ci-*: an agent's name has no spaces, and none of * ? [ ]"),
        ("  seller: {inherit: false}", "  seller: 1", "22: agents.seller: must be a mapping"),
        ("hooks:\n  - {on: PreToolUse, tools: [bash]", "hooks:\n  - nothing\n  - {on: PreToolUse, tools: [bash]",
         "8: hooks[0]: must be a mapping"),
        ("requires_confirmation: true", "requires_confirmation: often",
         "4: tools.oa__pay.requires_confirmation: must be true or false"),
        ("requires_confirmation:", "require_confirmation:",
         '4: tools.oa__pay.require_confirmation: unknown key "require_confirmation"; did you mean'),
        ("writes: false", "writes: never", "5: tools.oa__list.writes: must be true or false"),
        ("use: read-only", 'command: "echo ${SLACK_BOT_TOKEN}"', "8: hooks[0].command: ${SLACK_BOT_TOKEN}: secrets"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line_and_its_mend(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    found = faults(GOOD.replace(old, new, 1))
    assert any(fault.startswith(expected) for fault in found), found
    assert len(found) == 1


@requirement("S-57")
def test_all_faults_of_hooks_are_told_at_once() -> None:
    text = (
        GOOD.replace("tools: [bash]", "tools: [bsah]")
        .replace("on: PostToolUse", "on: Later")
        .replace("limit: 10/minute", "limt: 10/minute")
    )
    assert [fault.split(": ")[1] for fault in faults(text)] == [
        "hooks[0].tools[0]",
        "hooks[2].on",
        "agents.buyer.hooks[0].options.limt",
    ]


@pytest.mark.parametrize(
    ("head", "tools", "refused"),
    [
        ("", "[bash]", False),
        ("", "[exec]", False),
        ("", "[mcp__github__merge]", True),  # a name that nobody knows
        ("", '["mcp__github__*"]', False),  # no catalogue: a pattern may stand for what only agents know
        ("unknown_tools: deny\n", '["mcp__github__*"]', True),
        ("tools: {pay: }\n", '["mcp__github__*"]', True),
        ("tools: {mcp__github__merge: }\n", '["mcp__github__*"]', False),
        ("tools: {run_shell_command: }\n", "[bash]", False),
    ],
)
def test_a_matcher_must_be_able_to_match(head: str, tools: str, refused: bool) -> None:
    text = f"org: acme\ndefault: allow\n{head}hooks:\n  - {{on: PreToolUse, tools: {tools}, use: read-only}}\n"
    if refused:
        assert "can never match" in faults(text)[0]
    else:
        assert build_hooks(load(text), supplies=Supplies()).get(Moment.PRE_TOOL_USE, tool="bash")


def test_without_an_agents_section_any_agent_may_be_named() -> None:
    text = "org: acme\ndefault: allow\nhooks:\n  - {on: PreToolUse, agents: [whoever], use: read-only}\n"
    assert load(text).hooks[0].agents == ("whoever",)


# --- the registry of an org -------------------------------------------------------------------------------------------


def test_the_read_only_guard_stands_there_undeclared() -> None:
    hooks = build_hooks(load("org: acme\ndefault: deny\n"), supplies=Supplies())
    [guard] = hooks.list()
    assert (guard.id, guard.origin) == (READ_ONLY, BUILT_IN)


async def test_the_switch_moves_the_guard_and_the_catalogue_says_what_writes() -> None:
    on = True
    supplies = Supplies(is_read_only=lambda _: on)
    hooks = build_hooks(load(GOOD), supplies=supplies)
    assert (await ask(hooks, "oa__pay")).by == READ_ONLY
    assert (await ask(hooks, "oa__note")).decision is Decision.DENY
    assert (await ask(hooks, "unheard_of")).decision is Decision.DENY
    assert (await ask(hooks, "oa__list")).decision is Decision.ALLOW
    on = False
    assert (await ask(hooks, "oa__pay")).decision is Decision.ALLOW


async def test_a_catalogues_name_stands_for_itself_alone() -> None:
    text = 'org: acme\ndefault: allow\ntools:\n  "read[ab]": {writes: false}\n'
    hooks = build_hooks(load(text), supplies=Supplies(is_read_only=lambda _: True))
    assert (await ask(hooks, "read[ab]")).decision is Decision.ALLOW
    assert (await ask(hooks, "reada")).decision is Decision.DENY


async def test_hooks_run_for_their_agents_and_tools() -> None:
    hooks = build_hooks(load(GOOD), supplies=Supplies())
    outcome = await ask(hooks, "oa__note", agent="buyer")
    assert (outcome.decision, outcome.by, outcome.reason) == (Decision.DENY, "no-fridays", "not on Fridays")
    assert (await ask(hooks, "oa__note", agent="seller")).decision is Decision.ALLOW
    assert (await ask(hooks, "bash", agent="buyer")).decision is Decision.ALLOW


async def test_the_gateways_counters_count() -> None:
    class Full:
        async def take(self, key: str, *, calls: int, window_seconds: float) -> float | None:
            return 60.0 if calls == 10 else None

    hooks = build_hooks(load(GOOD), supplies=Supplies(counters=Full()))
    outcome = await ask(hooks, "bash", agent="buyer")
    assert (outcome.decision, outcome.by) == (Decision.DENY, "rate-limit")
    assert (await ask(hooks, "bash", agent="seller")).decision is Decision.ALLOW


def test_a_hook_keeps_what_the_file_does_not_say() -> None:
    hooks = {entry.id: entry for entry in build_hooks(load(GOOD), supplies=Supplies()).list()}
    assert (hooks["no-fridays"].priority, hooks["no-fridays"].on_error) == (120, OnError.ASK)
    assert (hooks["quiet"].priority, hooks["quiet"].on_error, hooks["quiet"].timeout) == (100, OnError.DENY, 30.0)
    assert (hooks["python scan.py"].timeout, hooks["python scan.py"].origin) == (10.0, "assent.yaml:15")


async def test_a_declared_switch_that_never_moves_holds_beside_the_gateways() -> None:
    text = GOOD.replace("use: read-only, id: quiet", "use: read-only, id: quiet, options: {on: true}")
    hooks = build_hooks(load(text), supplies=Supplies(is_read_only=lambda _: False))
    assert (await ask(hooks, "bash")).by == "quiet"
    assert (await ask(hooks, "oa__pay")).decision is Decision.ALLOW


@pytest.mark.process
async def test_commands_do_not_see_the_secrets_that_the_file_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_SLACK_TOKEN", "xoxb-1")
    monkeypatch.setenv("HARMLESS", "1")
    seen = tmp_path / "seen"
    text = (
        f"# ${{MY_SLACK_TOKEN}}\norg: acme\ndefault: allow\nhooks:\n  - {{on: PreToolUse, command: 'env > {seen}'}}\n"
    )
    assert (await ask(build_hooks(load(text), supplies=Supplies()), "bash")).decision is Decision.ALLOW
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert "HARMLESS" in names
    assert "MY_SLACK_TOKEN" not in names
