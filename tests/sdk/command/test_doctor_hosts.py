"""`assent-hook doctor HOST`: each way in which a host would let a tool run unasked is named, with its mend."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from assent.command.hosts.table import HOSTS
from tests.requirements import requirement
from tests.sdk.hook_process import HOOK, HookLine, Said, run_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = pytest.mark.process
JSON_HOSTS = [name for name, host in HOSTS.items() if host.place.file.endswith(".json")]


class Clinic:
    """A scratch home with stand-ins for every program; the doctor looks at a host's file in its place."""

    def __init__(self, hook: HookLine, folder: Path) -> None:
        self.hook = hook
        self.home = folder / "home"
        programs = folder / "bin"
        programs.mkdir()
        for host in HOSTS.values():
            (programs / host.program).write_text("#!/bin/sh\necho 2.1.327\n")
            (programs / host.program).chmod(0o755)
        self._env = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(self.home)}

    def run(self, *words: str) -> Said:
        line = [sys.executable, "-I", "-S", str(HOOK), *words, "--config", str(self.hook.config())]
        return run_words(line, env=self._env)

    def printed(self, host: str) -> Any:
        said = self.run(host, "--print-settings")
        assert said.code == 0, said.err
        return json.loads(said.out) if host in JSON_HOSTS else said.out.decode()

    def write(self, host: str, settings: Any) -> Path:
        path = self.home / HOSTS[host].place.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        if host == "codex":
            (path.parent / "config.toml").write_text(f'[hooks.state."{path}:pre_tool_use:0:0"]\ntrusted_hash = "x"\n')
        return path

    def examine(self, host: str, settings: Any) -> Said:
        self.write(host, settings)
        return self.run("doctor", host)


@pytest.fixture
def clinic(hook: HookLine, tmp_path: Path) -> Clinic:
    return Clinic(hook, tmp_path)


def gate_of(host: str, settings: dict[str, Any]) -> dict[str, Any]:
    (entry,) = settings["hooks"][HOSTS[host].gate]
    return entry["hooks"][0] if HOSTS[host].place.nested else entry


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.sampled(3)
def test_what_is_printed_is_sound(clinic: Clinic, gateway: StubGateway, host: str) -> None:
    said = clinic.examine(host, clinic.printed(host))
    assert said.out.decode().endswith(": sound\n"), said.out.decode()
    assert said.code == 0


@requirement("S-08")
@pytest.mark.parametrize("host", JSON_HOSTS)
def test_the_printed_timer_is_a_day_in_the_hosts_own_unit(clinic: Clinic, host: str) -> None:
    timer = HOSTS[host].timer
    assert timer is not None
    gate = gate_of(host, clinic.printed(host))
    assert timer.seconds(gate[timer.key]) == 86_400
    assert gate[timer.key] <= timer.most


def sets(**members: Any) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda gate, _: gate.update(members)


def says(old: str, new: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    def change(gate: dict[str, Any], _: dict[str, Any]) -> None:
        key = "bash" if "bash" in gate else "command"
        gate[key] = gate[key].replace(old, new)

    return change


def also(event: str, like: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda _, hooks: hooks.update({event: hooks[like]})


def only(event: str, like: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda _, hooks: hooks.update({event: hooks.pop(like)})


def drops(name: str) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda gate, _: gate.pop(name)


@requirement("S-08")
@pytest.mark.parametrize(
    ("host", "change", "words"),
    [
        ("codex", sets(timeout=86_000), "would end the hook first"),
        ("codex", sets(timeout=10**9), "not a number of seconds up to 2147483"),
        ("codex", drops("timeout"), "without a timeout, of 600 s"),
        (
            "codex",
            lambda _, hooks: hooks.update(Stop=[{"hooks": [{"type": "http", "url": "x"}]}]),
            "drops the whole file",
        ),
        ("copilot", drops("timeoutSec"), "without a timeoutSec, of 30 s"),
        ("copilot", also("PreToolUse", "preToolUse"), "people are asked twice; keep preToolUse"),
        ("copilot", says(" copilot ", " claude-code "), "answers as claude-code, and copilot does not understand that"),
        ("copilot", lambda gate, _: gate.update(command=gate.pop("bash")), 'under another key than "bash"'),
        ("gemini", sets(timeout=86_400), "of 86.4 s (86400 as milliseconds)"),
        ("gemini", sets(timeout=2**31), "hosts time out at once, and the tool runs): set 86400000"),
        ("gemini", only("PreToolUse", "BeforeTool"), "knows no event 'PreToolUse': that entry is never called"),
        ("qwen", sets(timeout=86_400), "of 86.4 s (86400 as milliseconds)"),
        ("qwen", sets(timeout=900), "of 900 s"),
        ("qwen", says("--deadline 86385", "--deadline 100"), "gives up long before"),
        ("cursor", drops("failClosed"), "failClosed is not true: a hook that crashes or times out lets the tool run"),
        ("cursor", also("beforeShellExecution", "preToolUse"), "people are asked twice; keep preToolUse"),
        ("claude-code", only("PermissionRequest", "PreToolUse"), "what the host does not ask about runs"),
        ("claude-code", sets(command="/nowhere/assent-hook claude-code --deadline 86385"), "--install writes it anew"),
    ],
)
@pytest.mark.sampled(3)
def test_each_way_to_fail_open_is_named(
    clinic: Clinic,
    gateway: StubGateway,
    host: str,
    change: Callable[[dict[str, Any], dict[str, Any]], object],
    words: str,
) -> None:
    settings = clinic.printed(host)
    change(gate_of(host, settings), settings["hooks"])
    said = clinic.examine(host, settings)
    assert said.code == 1
    assert words in said.out.decode()


@requirement("S-08")
def test_a_codex_hook_that_nobody_trusted_is_named(clinic: Clinic) -> None:
    path = clinic.write("codex", clinic.printed("codex"))
    (path.parent / "config.toml").write_text("")
    said = clinic.run("doctor", "codex")
    assert said.code == 1
    assert "start codex, type /hooks, and trust it" in said.out.decode()


@requirement("S-08")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "", "the plugin calls no assent-hook"),
        (lambda text: text.replace("throw new Error", "new Error"), "writes it anew"),
        (lambda text: text.replace('"opencode"', '"gemini"'), "answers as gemini"),
        (lambda text: text.replace("hook_command.py", "nothing/hook_command.py"), "cannot be read"),
    ],
)
def test_a_plugin_that_does_not_stop_calls_is_named(clinic: Clinic, change: Callable[[str], str], words: str) -> None:
    said = clinic.examine("opencode", change(clinic.printed("opencode")))
    assert said.code == 1
    assert words in said.out.decode()


def test_settings_with_comments_are_read(clinic: Clinic, gateway: StubGateway) -> None:
    text = json.dumps(clinic.printed("gemini"), indent=2)
    text = text.replace('"hooks": {', '// the gate: "x"\n"theme": "a // b", /* , */ "hooks": {', 1)
    said = clinic.examine("gemini", text.rstrip()[:-1] + ", }")
    assert said.code == 0, said.out
