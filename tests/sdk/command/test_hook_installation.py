"""A hook that is installed, called or configured wrongly says no."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from assent.command.hosts.table import HOSTS
from tests.requirements import requirement
from tests.sdk.hook_process import HOOK, HookLine, event, run_words

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

pytestmark = [pytest.mark.process, requirement("S-08")]


@pytest.mark.parametrize("missing", ["command", "client/messages.py", "command/judge.py", "command/exchange.py"])
def test_a_broken_installation_says_no(gateway: StubGateway, hook: HookLine, tmp_path: Path, missing: str) -> None:
    gateway.rules["Bash"] = "allow"
    package = tmp_path / "assent"
    shutil.copytree(HOOK.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    target = package / missing
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    words = [word.replace(str(HOOK), str(package / "hook_command.py")) for word in hook.words()]
    said = run_words(words, stdin=event())
    assert said.code == 2
    assert said.out == b""


@pytest.mark.parametrize(
    "options",
    [
        ["--deadline", "0"],
        ["--deadline", "soon"],
        ["--deadline"],
        ["--deadline", "1e12"],
        ["--allow"],
        ["codex"],
        ["--config", "/nowhere.json"],
        ["--deadline", "nan"],
    ],
)
def test_a_command_line_with_a_mistake_says_no(gateway: StubGateway, hook: HookLine, options: list[str]) -> None:
    gateway.rules["Bash"] = "allow"
    said = hook.run(event(), *options)
    assert said.code == 2
    assert said.out == b""


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_is_given_but_never_to_a_host(hook: HookLine, word: str) -> None:
    said = run_words([*hook.words()[:4], word])
    assert (said.code, said.err) == (0, "")
    assert b"assent-hook doctor" in said.out
    assert all(name.encode() in said.out for name in HOSTS)
    asked_as_a_hook = hook.run(event(), word)
    assert (asked_as_a_hook.code, asked_as_a_hook.out) == (2, b"")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"url": "ftp://x", "key": "k"}',
        '{"url": "http://x", "key": "a b"}',
        '{"url": "http://u@x", "key": "k"}',
    ],
)
def test_a_configuration_with_a_mistake_says_no(hook: HookLine, body: str) -> None:
    words = hook.words()
    (hook.folder / "agent.json").write_text(body)
    assert run_words(words, stdin=event()).code == 2
