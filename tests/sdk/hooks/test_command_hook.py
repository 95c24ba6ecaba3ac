"""Hooks that are commands: real processes, and every way in which one can end."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assent.hooks.commands.command_hook import CommandHook, event_text
from assent.hooks.commands.spawn import MOST_OUTPUT
from assent.hooks.contract.context import HookContext
from assent.hooks.contract.model_request import ModelRequest
from assent.hooks.contract.moments import Moment
from assent.hooks.engine.chain import HookFaultError, run_chain
from assent.hooks.engine.outcome import Decision
from assent.hooks.engine.registry import HookRegistry
from tests.fixtures.patience import eventually

if TYPE_CHECKING:
    from assent.hooks.contract.verdicts import HookResult

pytestmark = pytest.mark.process

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BOUND = 10.0


def event(moment: Moment = Moment.PRE_TOOL_USE, **more: Any) -> HookContext:
    told: dict[str, Any] = {
        "org": "acme",
        "agent": "builder",
        "session": "s-1",
        "parent_session": "s-0",
        "user": "wang@acme.example",
        "cwd": "/work/tree",
        "tool_name": "exec",
        "called_as": "Bash",
        "args": {"command": "make"},
        "call_id": "c-1",
        "metadata": {"team": "a"},
        **more,
    }
    return HookContext(moment=moment, timestamp=NOON, **told)


async def ends(command: str | list[str], ctx: HookContext | None = None) -> HookResult | None:
    ctx = ctx or event()
    async with asyncio.timeout(BOUND):
        return await CommandHook(ctx.moment, command).execute(ctx)


async def fault(command: str | list[str], ctx: HookContext | None = None) -> str:
    with pytest.raises(HookFaultError) as raised:
        await ends(command, ctx)
    return str(raised.value)


def printing(said: object, code: int = 0) -> list[str]:
    """A program that prints this (a text as it is, all else as JSON)."""
    text = said if isinstance(said, str) else json.dumps(said)
    return ["/bin/sh", "-c", 'printf %s "$0"; exit ' + str(code), text]


def script(folder: Path, source: str) -> list[str]:
    path = folder / "hook.py"
    path.write_text(source)
    return [sys.executable, "-I", "-S", str(path)]


async def test_a_command_sees_the_event_on_its_standard_input(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    assert await ends(f"cat > {seen}") is None
    assert json.loads(seen.read_text()) == {
        "hook_event_name": "PreToolUse",
        "session_id": "s-1",
        "parent_session_id": "s-0",
        "agent": "builder",
        "user": "wang@acme.example",
        "org": "acme",
        "cwd": "/work/tree",
        "timestamp": "2026-11-20T12:00:00+00:00",
        "metadata": {"team": "a"},
        "tool_name": "Bash",
        "tool": "exec",
        "tool_input": {"command": "make"},
        "tool_use_id": "c-1",
        "asks": [],
        "route": "",
        "rejudging": False,
    }


@pytest.mark.parametrize(
    ("ctx", "told"),
    [
        (event(Moment.SESSION_START, source="new"), {"source": "startup"}),
        (event(Moment.SESSION_START, source="resumed"), {"source": "resume"}),
        (event(Moment.USER_PROMPT_SUBMIT, prompt="hello"), {"prompt": "hello"}),
        (event(Moment.PRE_COMPACT, reason="auto"), {"trigger": "auto", "custom_instructions": None}),
        (event(Moment.SESSION_END, reason="logout"), {"reason": "logout"}),
        (
            event(Moment.STOP, sent_back=True, last_message="done"),
            {"stop_hook_active": True, "last_assistant_message": "done"},
        ),
        (
            event(Moment.POST_TOOL_USE, result={"out": 1}, duration=1.25),
            {"tool_response": {"out": 1}, "duration_ms": 1250, "tool_name": "Bash"},
        ),
        (event(Moment.POST_TOOL_USE_FAILURE, error="boom"), {"error": "boom", "duration_ms": None}),
        (
            event(
                Moment.PRE_MODEL_REQUEST,
                request=ModelRequest(provider="p", model="m", messages=({"role": "user"},)),
            ),
            {
                "request": {
                    "provider": "p",
                    "model": "m",
                    "system": "",
                    "messages": [{"role": "user"}],
                    "tools": [],
                    "temperature": None,
                    "thinking": None,
                    "reasoning": None,
                    "extra": {},
                }
            },
        ),
    ],
)
def test_every_moment_tells_what_it_is_about(ctx: HookContext, told: dict[str, Any]) -> None:
    seen = json.loads(event_text(ctx))
    assert seen["hook_event_name"] == ctx.moment.value
    assert {key: seen[key] for key in told} == told


async def test_an_event_that_is_no_json_is_a_fault_and_the_command_does_not_run(tmp_path: Path) -> None:
    said = await fault(f"touch {tmp_path / 'ran'}", event(args={"amount": float("nan")}))
    assert said.startswith("the event cannot be written as JSON")
    assert not (tmp_path / "ran").exists()


# --- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["", "  \n", "{}", {"suppressOutput": True}, {"continue": True}])
async def test_nothing_said_is_no_opinion(said: object) -> None:
    assert await ends(printing(said)) is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"decision": "allow"}, {"allow": True}),
        ({"decision": "approve", "reason": "fine"}, {"allow": True}),
        ({"decision": "deny", "reason": "no"}, {"allow": False, "error": "no"}),
        ({"decision": "block", "reason": "no"}, {"allow": False, "error": "no"}),
        ({"decision": "deny"}, {"allow": False, "error": "the hook gave no reason"}),
        ({"decision": "ask", "reason": "big"}, {"ask": "big"}),
        ({"decision": "ask"}, {"ask": "the hook gave no reason"}),
        ({"decision": "ask", "reason": "b", "args": {"n": 1}}, {"ask": "b", "modified_args": {"n": 1}}),
        ({"decision": "modify", "args": {"command": "make -n"}}, {"modified_args": {"command": "make -n"}}),
        ({"decision": "modify", "name": "Bash", "arguments": {}}, {"modified_args": {}}),
        ({"decision": "modify", "name": "exec", "args": {"a": 1}}, {"modified_args": {"a": 1}}),
        ({"decision": "context", "context": "closed"}, {"context": "closed"}),
        ({"context": "closed", "tags": {"a": 1}}, {"context": "closed", "tags": {"a": 1}}),
        ({"decision": "allow", "hide_output": True}, {"hidden": True}),
        ({"decision": "allow", "side_effects": {"n": 1}}, {"side_effects": {"n": 1}}),
        ({"continue": False, "stopReason": "enough"}, {"allow": False, "error": "enough"}),
        ({"continue": False, "decision": "allow"}, {"allow": False}),
        ({"systemMessage": "hm"}, {"allow": True, "side_effects": {"system_message": "hm"}}),
    ],
)
async def test_the_short_form_is_a_verdict(said: dict[str, Any], expected: dict[str, Any]) -> None:
    result = await ends(printing(said))
    assert result is not None
    assert {name: getattr(result, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"permissionDecision": "allow"}, {"allow": True}),
        ({"permissionDecision": "deny", "permissionDecisionReason": "no"}, {"allow": False, "error": "no"}),
        ({"permissionDecision": "ask", "permissionDecisionReason": "big"}, {"ask": "big"}),
        ({"permissionDecision": "defer"}, {"ask": "the hook gave no reason"}),
        ({"permissionDecision": "allow", "updatedInput": {"a": 1}}, {"modified_args": {"a": 1}}),
        ({"updatedInput": {"a": 1}}, {"modified_args": {"a": 1}}),
        ({"additionalContext": "closed"}, {"context": "closed"}),
    ],
)
async def test_claude_codes_form_is_a_verdict(said: dict[str, Any], expected: dict[str, Any]) -> None:
    result = await ends(printing({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}))
    assert result is not None
    assert {name: getattr(result, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"permissionDecision": "allow"}, {"allow": True}),
        ({"permissionDecision": "deny", "permissionDecisionReason": "no"}, {"allow": False, "error": "no"}),
        ({"permissionDecision": "ask", "permissionDecisionReason": "big"}, {"ask": "big"}),
        ({"permissionDecision": "allow", "modifiedArgs": {"a": 1}}, {"modified_args": {"a": 1}}),
        ({"modifiedArgs": {"a": 1}}, {"modified_args": {"a": 1}}),
        ({"additionalContext": "closed"}, {"context": "closed"}),
    ],
)
async def test_copilots_flat_form_is_a_verdict(said: dict[str, Any], expected: dict[str, Any]) -> None:
    result = await ends(printing(said))
    assert result is not None
    assert {name: getattr(result, name) for name in expected} == expected


async def test_a_route_names_its_sandbox() -> None:
    result = await ends(printing({"decision": "route", "provider": "local", "options": {"network": False}}))
    assert result is not None
    assert result.route is not None
    assert (result.route.provider, result.route.command, result.route.options) == ("local", None, {"network": False})


@pytest.mark.parametrize(
    ("ctx", "said", "expected"),
    [
        (event(Moment.POST_TOOL_USE, result="x"), {"decision": "modify", "result": "y"}, {"modified_result": "y"}),
        (event(Moment.POST_TOOL_USE, result="x"), {"decision": "block", "reason": "secret"}, {"error": "secret"}),
        (
            event(Moment.POST_TOOL_USE, result="x"),
            {"hookSpecificOutput": {"updatedToolOutput": [1], "additionalContext": "c"}},
            {"modified_result": [1], "context": "c"},
        ),
        (event(Moment.USER_PROMPT_SUBMIT, prompt="a"), {"decision": "modify", "prompt": "b"}, {"modified_prompt": "b"}),
        (event(Moment.STOP), {"decision": "block", "reason": "run the tests"}, {"send_back": "run the tests"}),
        (event(Moment.STOP), {"continue": False}, {"allow": True}),
        (
            event(Moment.PRE_MODEL_REQUEST, request=ModelRequest(provider="p", model="a", system="s")),
            {"decision": "modify", "request": {"model": "b", "messages": [{"role": "user"}]}},
            {"modified_request": ModelRequest(provider="p", model="b", system="s", messages=({"role": "user"},))},
        ),
        (
            event(Moment.PRE_MODEL_REQUEST, request=ModelRequest(provider="p", model="a")),
            {"decision": "modify", "request": {"provider": "q"}},
            {"modified_request": ModelRequest(provider="q", model="a")},
        ),
    ],
)
async def test_every_moment_is_modified_in_its_own_words(
    ctx: HookContext, said: dict[str, Any], expected: dict[str, Any]
) -> None:
    result = await ends(printing(said), ctx)
    if said == {"continue": False}:
        assert result is None
        return
    assert result is not None
    assert {name: getattr(result, name) for name in expected} == expected


async def test_exit_2_blocks_with_what_stands_on_standard_error() -> None:
    result = await ends("echo '{\"decision\": \"allow\"}'; echo 'not on Fridays' >&2; exit 2")
    assert result is not None
    assert (result.allow, result.error) == (False, "not on Fridays")


async def test_exit_2_without_a_word_blocks_all_the_same() -> None:
    result = await ends("exit 2")
    assert result is not None
    assert (result.allow, result.error) == (False, "the hook gave no reason")


async def test_exit_2_at_stop_sends_the_agent_back() -> None:
    result = await ends("echo 'run the tests' >&2; exit 2", event(Moment.STOP))
    assert result is not None
    assert (result.allow, result.send_back) == (True, "run the tests")


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("all is well", "what is no JSON"),
        ('{"decision": "allow"', "what is no JSON"),
        ('{"decision": "allow"}{"decision": "deny"}', "more than one JSON value"),
        ('{"decision": "allow"}\n{"decision": "deny"}', "more than one JSON value"),
        ('{"decision": "allow", "decision": "deny"}', "'decision' stands there twice"),
        ('{"decision": "modify", "args": {"a": 1, "a": 2}}', "'a' stands there twice"),
        ('{"decision": "modify", "args": {"a": NaN}}', "NaN is no JSON"),
        ('{"decision": "modify", "args": {"a": 1e999}}', "1e999 is too large"),
        ("[" * 100_000, "JSON that cannot be taken"),
        ("[]", "a JSON list instead of an object"),
        ('"deny"', "a JSON text instead of an object"),
        ("null", "a JSON null instead of an object"),
        ({"decision": "DENY"}, 'unknown decision "DENY"; did you mean "deny"?'),
        ({"decision": "perhaps"}, 'unknown decision "perhaps"; there are: allow, approve'),
        ({"decision": True}, '"decision" must be a text, not true or false'),
        ({"decison": "deny"}, 'unknown key "decison"; did you mean "decision"?'),
        ({"decision": "modify"}, 'its decision is "modify", but it printed no "args"'),
        ({"decision": "modify", "name": "Bash"}, 'its decision is "modify", but it printed no "args"'),
        ({"decision": "modify", "args": None}, '"args" must be an object, not null'),
        ({"decision": "modify", "args": []}, '"args" must be an object, not a list'),
        ({"decision": "modify", "args": {}, "arguments": {}}, 'both "args" and "arguments"'),
        ({"decision": "modify", "name": "pay", "args": {}}, "about the tool 'pay', but was asked about 'exec'"),
        ({"decision": "context"}, 'its decision is "context", but it printed no "context"'),
        ({"decision": "route"}, 'its decision is "route", but it printed no "provider"'),
        ({"reason": "no"}, 'no "decision"'),
        ({"args": {"a": 1}}, 'no "decision"'),
        ({"hookSpecificOutput": {"permissionDecision": "Deny"}}, 'unknown decision "Deny"'),
        ({"hookSpecificOutput": {"permissionDecison": "deny"}}, 'did you mean "permissionDecision"?'),
        ({"hookSpecificOutput": {"permissionDecisionReason": "no"}}, 'no "permissionDecision"'),
        ({"hookSpecificOutput": {"hookEventName": "Stop"}}, "the moment is PreToolUse"),
        ({"hookSpecificOutput": []}, '"hookSpecificOutput" must be an object, not a list'),
        ({"decision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}}, 'both "decision" and'),
        ({"continue": "no"}, '"continue" must be true or false, not a text'),
        ({"permissionDecision": "DENY"}, 'unknown decision "DENY"'),
        ({"permissionDecison": "deny"}, 'unknown key "permissionDecison"'),
        ({"permissionDecisionReason": "no"}, 'no "decision"'),
        ({"permissionDecision": "deny", "decision": "allow"}, 'both "decision" and "decision", which mean the same'),
        ({"permissionDecision": "deny", "hookSpecificOutput": {"permissionDecision": "allow"}}, "which mean the same"),
    ],
)
@pytest.mark.sampled(4)
async def test_half_a_verdict_is_a_fault(said: object, why: str) -> None:
    text = said if isinstance(said, str) else json.dumps(said)
    assert why in await fault([sys.executable, "-I", "-S", "-c", f"print({text!r})"])


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"modle": "b"}, 'did you mean "model"?'),
        ({"messages": ["hi"]}, '"messages" must be a list of objects'),
        ({"temperature": "hot"}, '"temperature" cannot be a text'),
        ({"temperature": True}, '"temperature" cannot be true or false'),
        ({"model": None}, '"model" cannot be null'),
        ({"provider": None}, '"provider" cannot be null'),
        ({"provider": 7}, '"provider" cannot be a number'),
    ],
)
async def test_half_a_model_request_is_a_fault(request_: dict[str, Any], why: str) -> None:
    said = {"decision": "modify", "request": request_}
    assert why in await fault(printing(said), event(Moment.PRE_MODEL_REQUEST, request=ModelRequest()))


async def test_bytes_that_are_no_text_are_a_fault() -> None:
    assert "no UTF-8 (at byte 1)" in await fault(r"printf '{\377}'")


async def test_at_an_observing_moment_there_is_nothing_to_modify() -> None:
    said = await fault(printing({"decision": "modify", "args": {}}), event(Moment.SESSION_END))
    assert said.endswith("there is nothing to modify at SessionEnd")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 1", "exit code 1, which is no verdict (0 and 2 are)"),
        ("echo '{\"decision\": \"allow\"}'; exit 1", "exit code 1, which"),
        ("echo oops >&2; echo 'KeyError: x' >&2; echo >&2; exit 3", ("exit code 3, which is no verdict (0 and 2 are); "
         "it said: KeyError: x")),
        ("no-such-program-at-all", "exit code 127: what it names was not found"),
        ("exit 126", "exit code 126: what it names is not executable"),
        ("kill -9 $$", "was ended by SIGKILL"),
        ("kill -TERM $$", "was ended by SIGTERM"),
        ("exit 137", "a program that was ended by SIGKILL"),
        ("exit 255", "exit code 255, which is no verdict"),
        (["/no/such/program"], "there is no program '/no/such/program'"),
    ],
)  # fmt: skip
async def test_any_other_end_is_a_fault(command: str | list[str], why: str) -> None:
    assert why in await fault(command)


async def test_a_script_that_is_not_executable_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "scan"
    path.write_text("#!/bin/sh\nexit 0\n")
    assert "is not executable: chmod +x, or name its interpreter" in await fault([str(path)])
    assert "exit code 126: what it names is not executable" in await fault(str(path))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert await ends([str(path)]) is None
    path.write_text("no shebang: \x7fELF")
    assert "cannot be started" in await fault([str(path)])


@pytest.mark.parametrize("command", ["", "  ", [], [""], "a\0b"])
def test_an_empty_command_is_refused_at_once(command: str | list[str]) -> None:
    with pytest.raises(ValueError, match="the command "):
        CommandHook(Moment.PRE_TOOL_USE, command)


async def test_a_list_is_no_shell_line(tmp_path: Path) -> None:
    said = await ends(["/bin/echo", '{"decision": "deny", "reason": "$(touch x); `id`"}'])
    assert said is not None
    assert said.error == "$(touch x); `id`"


# --- pipes and processes ----------------------------------------------------------------------------------------------


async def test_a_megabyte_in_out_and_err_at_once_does_not_hang(tmp_path: Path) -> None:
    million = 1_000_000
    command = script(
        tmp_path,
        "import json, sys\n"
        f"sys.stderr.write('e' * {million}); sys.stderr.flush()\n"
        f"sys.stdout.write(' ' * {million}); sys.stdout.flush()\n"
        "size = len(json.load(sys.stdin)['tool_input']['text'])\n"
        f"sys.stderr.write('e' * {million}); sys.stderr.flush()\n"
        f"print(json.dumps({{'decision': 'modify', 'args': {{'size': size, 'text': 'o' * {million}}}}}))\n",
    )
    result = await ends(command, event(args={"text": "i" * million}))
    assert result is not None
    assert result.modified_args == {"size": million, "text": "o" * million}


async def test_a_command_need_not_read_its_input() -> None:
    result = await ends(printing({"decision": "deny", "reason": "no"}), event(args={"text": "i" * 1_000_000}))
    assert result is not None
    assert result.error == "no"


async def test_a_command_that_closes_its_input_and_goes_on_is_heard(tmp_path: Path) -> None:
    result = await ends(
        'exec 0<&-; echo \'{"decision": "deny", "reason": "no"}\'', event(args={"text": "i" * 1_000_000})
    )
    assert result is not None
    assert result.error == "no"


@pytest.mark.parametrize("setsid", ["", "setsid "])
async def test_a_child_that_keeps_the_pipes_open_holds_up_nobody(tmp_path: Path, setsid: str) -> None:
    pid = tmp_path / "pid"
    result = await ends(
        f"{setsid}sh -c 'echo $$ > {pid}; exec sleep 60' & while [ ! -s {pid} ]; do :; done; "
        'echo \'{"decision": "deny", "reason": "no"}\''
    )
    assert result is not None
    assert result.error == "no"
    assert is_running(int(pid.read_text()))  # nobody waited for its end
    os.kill(int(pid.read_text()), 9)


async def test_more_output_than_there_may_be_is_a_fault_and_ends_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    for stream in ("1", "2"):
        said = await fault(f"echo $$ > {pid}; exec cat /dev/zero >&{stream}")
        assert said == "the command wrote more than 4 MiB and was stopped"
        await gone(int(pid.read_text()))


async def test_as_much_output_as_there_may_be_is_taken() -> None:
    said = '{"decision": "allow"}'
    assert await ends(f"printf '{said}'; head -c {MOST_OUTPUT - len(said)} /dev/zero | tr '\\0' ' '") is not None


async def gone(pid: int) -> None:
    await eventually(lambda: not is_running(pid), seconds=BOUND)


def is_running(pid: int) -> bool:
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return told.rpartition(")")[2].split()[0] != "Z"


async def wait_for(path: Path) -> int:
    await eventually(lambda: path.exists() and path.read_text().endswith("\n"), seconds=BOUND)
    return int(path.read_text())


async def test_a_time_out_kills_the_command_and_what_it_started(tmp_path: Path) -> None:
    own, child = tmp_path / "own", tmp_path / "child"
    registry = HookRegistry()
    command = f"echo $$ > {own}; sh -c 'trap : TERM; echo $$ > {child}; sleep 60; true'; true"
    registry.add(CommandHook(Moment.PRE_TOOL_USE, command), id="slow", timeout=2)
    outcome = await run_chain(registry.get(Moment.PRE_TOOL_USE, tool="Bash"), event())
    assert (outcome.decision, outcome.by, outcome.fault) == (Decision.DENY, "slow", True)
    assert "no answer within 2 seconds" in outcome.reason
    await gone(await wait_for(own))
    await gone(await wait_for(child))


async def test_a_cancelled_call_leaves_no_process_behind(tmp_path: Path) -> None:
    own = tmp_path / "own"
    running = asyncio.create_task(ends(f"echo $$ > {own}; sleep 60; true"))
    pid = await wait_for(own)
    assert is_running(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(pid)


async def test_a_call_that_is_cancelled_while_its_command_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    pids = [tmp_path / str(turns) for turns in range(12)]
    for turns, pid in enumerate(pids):
        running = asyncio.create_task(ends(f"echo $$ > {pid}; sleep 60 & wait"))
        for _ in range(turns):  # each time a step further into the start
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(running), BOUND)  # what it started sleeps for a minute
    for pid in pids:
        if pid.exists() and (written := pid.read_text().strip()):
            await gone(int(written))


async def test_the_loop_goes_on_while_commands_run() -> None:
    turns = 0

    async def turning() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(turning())
    await asyncio.gather(*(ends("sleep 0.3") for _ in range(5)))
    ticking.cancel()
    assert turns >= 10


async def test_our_secrets_are_not_handed_to_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ASSENT_SECRET", "ASSENT_DATABASE_URL", "E2B_API_KEY", "SLACK_BOT_TOKEN", "KEPT"):
        monkeypatch.setenv(name, "value")
    seen = tmp_path / "seen"
    hook = CommandHook(Moment.PRE_TOOL_USE, f"env > {seen}", hidden=["SLACK_BOT_TOKEN"])
    assert await hook.execute(event()) is None
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert "KEPT" in names
    assert "PATH" in names
    assert not names & {"ASSENT_SECRET", "ASSENT_DATABASE_URL", "E2B_API_KEY", "SLACK_BOT_TOKEN"}


async def test_the_agents_working_directory_does_not_choose_the_script(tmp_path: Path) -> None:
    (tmp_path / "scan.sh").write_text("exit 0")
    assert "127" in await fault("sh ./scan.sh || exit 127", event(cwd=str(tmp_path)))
    assert await CommandHook(Moment.PRE_TOOL_USE, "sh ./scan.sh", cwd=str(tmp_path)).execute(event()) is None


async def test_in_a_chain_a_fault_denies_and_an_opinion_counts() -> None:
    registry = HookRegistry()
    registry.add(CommandHook(Moment.PRE_TOOL_USE, "exit 7"), id="broken", on_error="ask", priority=50)
    registry.add(CommandHook(Moment.PRE_TOOL_USE, printing({"decision": "modify", "args": {"command": "true"}})))
    chain = registry.get(Moment.PRE_TOOL_USE, tool="Bash")
    outcome = await run_chain(chain, event())
    assert outcome.decision is Decision.ASK
    assert outcome.args == {"command": "true"}
    assert "exit code 7" in outcome.reason
