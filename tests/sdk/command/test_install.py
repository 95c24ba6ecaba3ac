"""`--install` puts the hook into a host's own file, `--uninstall` takes it out: nothing else changes, twice is once."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from assent.command.hosts.table import HOSTS
from assent.command.setup.install import installed, uninstalled
from assent.command.setup.jsonc import read_object
from assent.command.setup.settings import settings
from tests.requirements import requirement
from tests.sdk.hook_process import HOOK, Said, run_words

if TYPE_CHECKING:
    from pathlib import Path

CLAUDE = HOSTS["claude-code"]
STANDING = [
    "{}",
    "{ }\n",
    '{"model": "opus"}',
    '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls)"]\n  }\n}\n',
    '{\n\t"b": 1, // why\n\t"a": [1, 2] /* kept */\n}\n',
    """{
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ]
    }
}""",
    """{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}, // mine
    ], /* kept */
  },
  "z": "}{", // why
}
""",
    '{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "x"}]}]}, "é": "中 // no"}',
]


@pytest.mark.parametrize("host", [name for name in HOSTS if name != "opencode"])
@pytest.mark.parametrize("text", STANDING)
def test_what_stands_in_a_file_stays_and_taken_out_again_it_is_as_before(host: str, text: str) -> None:
    row = HOSTS[host]
    once = installed(row, text, config=None)
    assert installed(row, once, config=None) == once
    before, after = read_object(text), read_object(once)
    wanted = settings(row, config=None)
    for event, groups in wanted["hooks"].items():
        assert after["hooks"][event] == before.get("hooks", {}).get(event, []) + groups
    untouched = {key: value for key, value in before.items() if key != "hooks"}
    assert untouched.items() <= after.items()
    for comment in ("// why", "/* kept */", "// mine"):
        assert once.count(comment) == text.count(comment)
    left = uninstalled(row, once)
    if not row.place.top:
        assert left == text or (not before and left is not None and read_object(left) == {})
    elif left is not None:
        assert {**read_object(left), **row.place.top} == {**before, **row.place.top}


def test_an_entry_of_ours_that_is_not_as_it_should_be_is_replaced() -> None:
    wrong = installed(CLAUDE, "{}", config=None).replace('"timeout": 86400', '"timeout": 60')
    narrow = installed(CLAUDE, "{}", config=None).replace('"matcher": "*"', '"matcher": "Bash"')
    good = settings(CLAUDE, config=None)
    assert read_object(installed(CLAUDE, wrong, config=None)) == good
    assert read_object(installed(CLAUDE, narrow, config=None)) == good


def test_what_is_right_is_left_where_it_stands_and_as_it_is_written() -> None:
    right = json.loads(installed(CLAUDE, "{}", config=None))
    right["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]})
    text = json.dumps(right, indent=7)
    assert installed(CLAUDE, text, config=None) == text


def test_another_hook_in_the_same_group_stays() -> None:
    text = installed(CLAUDE, "{}", config=None)
    mixed = json.loads(text)
    mixed["hooks"]["PreToolUse"][0]["hooks"].insert(0, {"type": "command", "command": "mine"})
    left = uninstalled(CLAUDE, json.dumps(mixed, indent=2))
    assert left is not None
    assert read_object(left) == {
        "hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "mine"}]}]}
    }


@pytest.mark.parametrize("text", ["[]", "{", '{"hooks": []}', '{"a": 1, "a": 2}', '{"hooks": {"PreToolUse": 1}}'])
def test_what_is_no_settings_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError):
        installed(CLAUDE, text, config=None)


def test_a_file_of_another_dialect_is_left_alone() -> None:
    with pytest.raises(ValueError, match='"version" is 2'):
        installed(HOSTS["copilot"], '{"version": 2}', config=None)


def test_another_plugin_is_left_alone() -> None:
    row = HOSTS["opencode"]
    with pytest.raises(ValueError, match="another plugin"):
        installed(row, "export const Mine = 1", config=None)
    assert uninstalled(row, "export const Mine = 1") == "export const Mine = 1"
    assert uninstalled(row, installed(row, None, config=None)) is None


# --- as a command -----------------------------------------------------------------------------------------------------


def run(home: Path, *words: str) -> Said:
    return run_words(
        [sys.executable, "-I", "-S", str(HOOK), *words], env={"PATH": os.environ["PATH"], "HOME": str(home)}
    )


@requirement("S-08")
@pytest.mark.process
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.sampled(3)
def test_the_difference_is_shown_first_and_written_when_it_is_wanted(tmp_path: Path, host: str) -> None:
    place = tmp_path / HOSTS[host].place.file
    shown = run(tmp_path, host, "--install")
    assert shown.code == 1
    assert b"+++ " in shown.out
    assert b"nothing was written; --yes writes it" in shown.out
    assert not place.exists()
    assert run(tmp_path, host, "--install", "--yes").code == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert place.read_bytes() == run(tmp_path, host, "--print-settings").out
    again = run(tmp_path, host, "--install", "--yes")
    assert (again.code, again.out.decode()) == (0, f"{place}: nothing to change\n")
    assert run(tmp_path, host, "--uninstall", "--yes").code == 0
    assert not place.exists() or place.read_text() in {"{}\n", '{\n  "version": 1\n}\n'}


@pytest.mark.process
def test_a_link_and_its_rights_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{"a": 1}')
    real.chmod(0o644)
    (tmp_path / "settings.json").symlink_to(real)
    assert run(tmp_path, "claude-code", "--install", str(tmp_path / "settings.json"), "--yes").code == 0
    assert (tmp_path / "settings.json").is_symlink()
    assert "hook_command.py" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


@pytest.mark.process
@pytest.mark.parametrize("words", [["--install", "--uninstall"], ["--install", "a", "b"], ["a"]])
def test_a_wrong_line_changes_nothing_and_says_no(tmp_path: Path, words: list[str]) -> None:
    said = run(tmp_path, "claude-code", *words)
    assert (said.code, said.out) == (2, b"")


@pytest.mark.process
def test_a_file_that_cannot_be_read_is_said_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{ broken")
    said = run(tmp_path, "claude-code", "--install", str(path), "--yes")
    assert said.code == 2
    assert "is left as it is" in said.err
    assert path.read_text() == "{ broken"
