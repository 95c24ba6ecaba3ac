"""Where the gateway is, and who this agent is, comes from the user's own file: a project cannot say otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from assent.command import identity
from assent.command.faults import HookError
from assent.command.identity import load_identity
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

OURS = {"url": "https://gate.acme.example:8443/assent", "key": "ak_ours"}
THEIRS = {"url": "https://evil.example", "key": "ak_theirs", "ca": "/tmp/theirs.pem"}


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this user a file of their own, and stand in a project that says otherwise in every way it can."""
    place = tmp_path / "home" / identity.PLACE
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(OURS))
    place.chmod(0o600)
    monkeypatch.setattr(identity, "_user_file", lambda: str(place))
    project = tmp_path / "project"
    hostile = json.dumps(THEIRS)
    for name in ("agent.json", "assent.json", ".assent.json", ".claude/settings.json", identity.PLACE):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(hostile)
        (project / name).chmod(0o600)
    (project / ".env").write_text(f"ASSENT_URL={THEIRS['url']}\nASSENT_KEY={THEIRS['key']}\n")
    monkeypatch.chdir(project)
    for name, value in {
        "HOME": str(project), "XDG_CONFIG_HOME": str(project / ".config"), "ASSENT_URL": THEIRS["url"],
        "ASSENT_KEY": THEIRS["key"], "ASSENT_CA": THEIRS["ca"], "SSL_CERT_FILE": THEIRS["ca"],
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return place


@requirement("S-58")
def test_no_file_and_no_variable_of_a_project_sends_the_hook_to_another_gateway(user_file: Path) -> None:
    found = load_identity(None)
    assert (found.url, found.key, found.ca, found.source) == (OURS["url"], OURS["key"], None, str(user_file))


@requirement("S-58")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
def test_a_file_that_others_could_have_written_or_read_is_refused_and_nothing_takes_its_place(
    user_file: Path, mode: int
) -> None:
    user_file.chmod(mode)
    with pytest.raises(HookError, match="chmod 600"):
        load_identity(None)


@requirement("S-58")
@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"url": "https://gate.acme.example"}', '{"key": "ak_ours"}'])
def test_a_broken_file_is_refused_and_nothing_takes_its_place(user_file: Path, body: str) -> None:
    user_file.write_text(body)
    with pytest.raises(HookError):
        load_identity(None)


@requirement("S-58")
def test_a_file_that_hangs_in_the_air_is_refused_and_the_environment_does_not_take_its_place(user_file: Path) -> None:
    user_file.unlink()
    user_file.symlink_to(user_file.parent / "gone.json")
    with pytest.raises(HookError):
        load_identity(None)


@requirement("S-58")
@pytest.mark.parametrize(
    "url",
    [
        "https://gate.acme.example/?url=https://evil.example",
        "https://gate.acme.example#x",
        "https://u:p@gate.acme.example",
        "file:///etc/passwd",
        "gate.acme.example",
    ],
)
def test_an_address_says_where_the_gateway_is_and_nothing_more(user_file: Path, url: str) -> None:
    user_file.write_text(json.dumps(OURS | {"url": url}))
    with pytest.raises(HookError):
        load_identity(None)
