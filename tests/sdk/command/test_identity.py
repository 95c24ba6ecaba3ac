"""Where the gateway is, and who this agent is, comes from the user's own file: a project cannot say otherwise."""

from __future__ import annotations

import json
import os
import pwd
import socket
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest

from assent.command import identity
from assent.command.faults import HookError
from assent.command.identity import load_identity
from tests.requirements import requirement
from tests.sdk.gateway_stub import KEY
from tests.sdk.hook_process import HOOK, Said, event, run_words

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sdk.gateway_stub import StubGateway

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
        "https://gate.acme.example:99999",
        "https://gate.acme.example:65536",
        "https://gate.acme.example:0",
        "https://gate.acme.example:",
        "https://[::1]:",
        "https://[::1]8443",
    ],
)
def test_an_address_says_where_the_gateway_is_and_nothing_more(user_file: Path, url: str) -> None:
    user_file.write_text(json.dumps(OURS | {"url": url}))
    with pytest.raises(HookError, match=r"the gateway's URL must be http\(s\)://host\[:port\]: .* \(.*agent.json\)"):
        load_identity(None)


@requirement("S-58")
@pytest.mark.process
def test_a_port_that_does_not_exist_takes_the_key_to_no_other_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0)
        url = f"http://127.0.0.1:{other.getsockname()[1] + 65536}"
        said = as_nobody("claude-code", stdin=event(), ASSENT_URL=url, ASSENT_KEY=KEY)
        assert said.blocks()
        assert "a port is a number from 1 to 65535" in (said.reason if said.out else said.err)
        with pytest.raises(BlockingIOError):
            other.accept()


# --- whose home it is -------------------------------------------------------------------------------------------------


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be an account that the system does not know, with a home that only $HOME says."""

    def unknown(uid: int) -> NoReturn:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ASSENT_URL", "ASSENT_KEY", "ASSENT_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def written_below(home: Path) -> Path:
    place = home / identity.PLACE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(OURS))
    place.chmod(0o600)
    return place


def test_an_account_without_a_home_is_known_by_the_environment(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written_below(nobody)  # what $HOME says is not read here either
    monkeypatch.setenv("ASSENT_URL", "https://gate.acme.example")
    monkeypatch.setenv("ASSENT_KEY", "ak_env")
    found = load_identity(None)
    assert (found.host, found.key, found.source) == ("gate.acme.example", "ak_env", "environment")


def test_an_account_without_a_home_and_without_an_environment_is_told_what_is_missing(nobody: Path) -> None:
    with pytest.raises(HookError) as refused:
        load_identity(None)
    assert str(refused.value) == (
        f"no gateway or no key: the account (uid {os.getuid()}) has no entry in passwd, and so no home with a "
        ".config/assent/agent.json; set ASSENT_URL and ASSENT_KEY (or ASSENT_KEY_FILE), or name a file with --config"
    )
    place = written_below(nobody)
    with pytest.raises(HookError, match=f"{place} is not read: the home that counts is the account's in passwd"):
        load_identity(None)


@pytest.mark.parametrize("body", [None, "{}", "{"])
def test_the_path_that_is_read_is_said_and_that_another_is_not(
    user_file: Path, monkeypatch: pytest.MonkeyPatch, body: str | None
) -> None:
    user_file.unlink() if body is None else user_file.write_text(body)
    for name in ("ASSENT_URL", "ASSENT_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(HookError) as refused:
        load_identity(None)
    told = str(refused.value)
    assert str(user_file) in told
    assert f"{os.environ['HOME']}/{identity.PLACE} is not read" in told
    assert "~" not in told
    assert ("or set ASSENT_URL and ASSENT_KEY" in told) == (body is None)
    monkeypatch.setenv("HOME", str(user_file.parents[2]))  # the same home by both ways
    with pytest.raises(HookError) as refused:
        load_identity(None)
    assert "is not read" not in str(refused.value)


def test_who_asked_for_the_environment_is_told_of_the_environment(
    user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSENT_KEY")
    with pytest.raises(HookError) as refused:
        load_identity("env")
    assert str(refused.value) == (
        "no gateway or no key in the environment: set ASSENT_URL and ASSENT_KEY (or ASSENT_KEY_FILE)"
    )


UNKNOWN = """
import os, sys
os.getuid = lambda: 54321
sys.path.insert(0, {sdk!r})
sys.argv = ["assent-hook", *sys.argv[1:]]
from assent.hook_command import main
main()
"""


def as_nobody(*words: str, stdin: bytes = b"", **environ: str) -> Said:
    """Run the command as an account that the system does not know."""
    program = UNKNOWN.format(sdk=str(HOOK.parents[1]))
    env = {"PATH": os.environ["PATH"], **environ}
    return run_words([sys.executable, "-I", "-c", program, *words], env=env, stdin=stdin)


@pytest.mark.process
def test_the_hook_of_an_account_without_a_home_works_by_the_environment(gateway: StubGateway) -> None:
    gateway.rules = {"Bash": "allow"}
    assert as_nobody("claude-code", stdin=event(), ASSENT_URL=gateway.url, ASSENT_KEY=KEY).decision == "allow"
    refused = as_nobody("claude-code", stdin=event())
    assert refused.blocks()
    for said in (refused.reason if refused.out else refused.err, as_nobody("mcp", "--", "true").err):
        assert "the account (uid 54321) has no entry in passwd" in said
        assert "set ASSENT_URL and ASSENT_KEY" in said
        assert "KeyError" not in said


@pytest.mark.process
@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_the_doctor_says_that_an_account_has_no_home_and_looks_at_the_rest(
    gateway: StubGateway, tmp_path: Path, host: str
) -> None:
    said = as_nobody("doctor", host)
    assert said.code == 1
    told = said.out.decode()
    assert "fault: no gateway or no key: the account (uid 54321) has no entry in passwd" in told
    assert "fault: there is no home folder: HOME is not set" in told
    assert "set HOME, or name the settings file" in as_nobody(host, "--install").err
    settings = tmp_path / "settings.json"
    settings.write_text("{}")
    told = as_nobody("doctor", host, str(settings), ASSENT_URL=gateway.url, ASSENT_KEY=KEY).out.decode()
    assert "no gateway" not in told
    assert ("set HOME or CODEX_HOME" in told) == (host == "codex")  # its book of trust stands there
    assert "no PreToolUse hook calls assent-hook" in told
