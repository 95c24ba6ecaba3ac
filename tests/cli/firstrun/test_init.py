"""`assent init`: four questions, a file that is a good example, a secret, three commands that work."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.cli.commands import app
from app.cli.firstrun.answers import starters
from tests.fixtures.commands import CliRunner
from tests.fixtures.shell import pasted
from tests.places import ROOT

if TYPE_CHECKING:
    from typer.testing import Result

pytestmark = pytest.mark.may_block

WANG = ("--approver", "wang@acme.example")


_ADDRESS = "http://127.0.0.1:8080"


def init(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["init", str(folder), *words])


def answer(folder: Path, tool: str, **arguments: object) -> str:
    """Say what the written file answers to a call: its verdict and the rule."""
    words = ["policy", "explain", "--tool", tool, "--args", json.dumps(arguments), "-c", str(folder / "assent.yaml")]
    return CliRunner().invoke(app, words).stdout.partition(":")[0]


def test_what_it_writes_is_a_good_example(tmp_path: Path) -> None:
    done = init(tmp_path, "--yes", *WANG, "--ask", "pay 1000 EUR", "--ask", "delete_user", "--ask", "mail.*")
    assert done.exit_code == 0, done.output
    paid = {"payee": "Acme", "currency": "EUR"}
    assert answer(tmp_path, "pay", amount=1000, **paid) == "ALLOW by ask-pay"
    assert answer(tmp_path, "pay", amount="1000.01", **paid) == "ASK by ask-pay"
    assert answer(tmp_path, "pay", amount=5, payee="Acme", currency="USD") == "ASK by ask-pay"
    assert answer(tmp_path, "pay", amount=5.5, **paid) == "DENY by arguments"  # no exact amount
    assert answer(tmp_path, "pay", amount=-5, **paid) == "DENY by arguments"
    assert answer(tmp_path, "mail.send") == "ASK by ask-mail"
    assert answer(tmp_path, "mail.delete_all") == "DENY by destructive"
    assert answer(tmp_path, "delete_user") == "ASK by ask-delete-user"  # named: above what is denied by its name
    assert answer(tmp_path, "anything") == "DENY by default"
    written = (tmp_path / "assent.yaml").read_text()
    assert "limit: {EUR: 5000}, counts: unasked" in written
    assert "wang@acme.example: {}" in written
    assert written.startswith("# Written by `assent init`")


def test_one_approver_is_told_how_to_try_it_alone_and_what_stands_there_is_sound(tmp_path: Path) -> None:
    init(tmp_path, "--yes", *WANG, "--ask", "pay 1000 EUR")
    file = tmp_path / "assent.yaml"
    lone, plain = file.read_text(), "  stages: [{of: [approvers], need: 1}]"
    assert lone.count("allow_alone: true") == 1
    told = [line for line in lone.splitlines() if line.startswith("  #   ")]
    inside = [line for line in lone.splitlines() if not line.startswith(plain)]
    file.write_text("\n".join("  " + line[6:] if line in told else line for line in inside))
    assert answer(tmp_path, "pay", amount="1000.01", payee="Acme", currency="EUR") == "ASK by ask-pay"
    init(tmp_path / "two", "--yes", *WANG, "--approver", "chen@acme.example")
    assert "allow_alone" not in (tmp_path / "two" / "assent.yaml").read_text()


@pytest.mark.parametrize("kind", ["none", *starters()])
def test_every_platform_has_a_first_channel_that_is_sound(tmp_path: Path, kind: str) -> None:
    done = init(tmp_path, "--yes", *WANG, "--channel", kind)
    assert done.exit_code == 0, done.output
    assert "no faults" in done.stdout
    needs = starters()[kind].needs if kind != "none" else ()
    written, secrets = ((tmp_path / name).read_text() for name in ("assent.yaml", ".env"))
    assert set(re.findall(r'"\$\{(\w+)\}"', written)) == {need.name for need in needs}
    assert all(re.search(f"^{need.name}=$", secrets, re.MULTILINE) for need in needs)
    assert ("channels: [api]" in written) == (kind == "none")
    # Whoever is without a chat has the console at once; a card in a chat leads nobody to a machine of their own.
    assert re.findall(r"^(?:# )?url: (\S+)", written, re.MULTILINE) == [_ADDRESS if kind == "none" else "https://HOST"]
    assert ("\nurl: " in written) == (kind == "none")
    if kind != "none":
        told = next_lines(done)[0].partition(" && ")[2].split()
        assert told[0] == "assent"
        assert CliRunner().invoke(app, told[1:]).exit_code == 0


def test_the_file_of_secrets_is_for_its_owner_alone_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert init(tmp_path / "new" / "deep", "--yes", *WANG).exit_code == 0
    finally:
        os.umask(before)
    path = tmp_path / "new" / "deep" / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert re.search(r"^ASSENT_SECRET=[\w-]{64}$", path.read_text(), re.MULTILINE)
    shown = init(tmp_path / "other", "--yes", *WANG).output
    assert (tmp_path / "other" / ".env").read_text().partition("ASSENT_SECRET=")[2][:64] not in shown


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    assert init(tmp_path, "--yes", *WANG).exit_code == 0
    both = {name: (tmp_path / name).read_bytes() for name in ("assent.yaml", ".env")}
    again = init(tmp_path, "--yes", "--approver", "chen@acme.example")
    assert again.exit_code == 0
    assert again.stdout.count("is there already: left alone") == 2
    assert {name: (tmp_path / name).read_bytes() for name in both} == both

    (tmp_path / ".env").unlink()
    (tmp_path / ".env").symlink_to(tmp_path / "elsewhere")
    dangling = init(tmp_path, "--yes", *WANG)
    assert (tmp_path / "elsewhere").exists() is False
    assert ".env is there already: left alone" in dangling.stdout

    (tmp_path / "assent.yaml").write_text("org: acme\ndefault: maybe\n")
    faulty = init(tmp_path, "--yes", *WANG)
    assert faulty.exit_code == 2
    assert "default" in faulty.stderr
    assert f"mend that in {tmp_path / 'assent.yaml'}" in faulty.stderr
    assert (tmp_path / "assent.yaml").read_text() == "org: acme\ndefault: maybe\n"


def test_what_the_environment_has_is_not_copied_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "ASSENT_SECRET": "k" * 40,
        "ASSENT_DATABASE_URL": "postgresql://role:hidden@db/assent",
        "SLACK_BOT_TOKEN": "xoxb-hidden-token",
    }
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    done = init(tmp_path, "--yes", *WANG, "--channel", "slack")
    assert done.exit_code == 0, done.output
    secrets = (tmp_path / ".env").read_text()
    assert not [value for value in known.values() if value in secrets + done.output]
    assert "`assent migrate` first" in done.stdout  # as whom, where the gateway's own role may not
    assert done.stdout.rstrip().endswith("&& assent serve")
    assert "\nSLACK_APP_TOKEN=\n" in secrets
    assert "SLACK_APP_TOKEN, SLACK_CHANNEL" in done.stdout
    assert "SLACK_BOT_TOKEN" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say --channel, --approver, --ask, --database, or --yes for the usual of all but --approver"),
        (("--yes",), "say --approver"),
        ((*WANG, "--channel", "none", "--ask", "pay"), "say --database"),
        (("--yes", *WANG, "--channel", "pigeon"), 'unknown channel "pigeon": none, feishu, slack'),
        (("--yes", "--approver", "wang"), '"wang" is no e-mail address'),
        (("--yes", *WANG, "--ask", "pay 1000"), "write pay, or pay 1000 EUR"),
        (("--yes", *WANG, "--ask", "pay 0 EUR"), "an amount is above 0"),
        (("--yes", *WANG, "--ask", "pay* 5 EUR"), "an amount belongs to one"),
        (("--yes", *WANG, "--ask", "pay", "--ask", "pay"), '"pay" is named twice'),
        (("--yes", *WANG, "--ask", "800"), '"800" names no tool: write pay 800 EUR'),
        (("--yes", *WANG, "--database", "mysql://x/y"), "is sqlite:///FILE or postgresql://…"),
        (("--yes", *WANG, "--database", "postgresql://a:b/c@d/e"), "write / @ : # ? in the password as %2F"),
        (("--yes", *WANG, "--org", "Acme Ltd"), "nothing was written: answer what the lines above name differently"),
    ],
)
def test_a_wrong_answer_is_told_what_would_be_right_and_nothing_stays(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = init(tmp_path, *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("--approver", "notmail"),
        (*WANG, "--channel", "telegram"),
        (*WANG, "--ask", "pay -5 CNY"),
        (*WANG, "--org", "Acme Ltd"),
        ("--channel", "none"),
    ],
)
def test_a_refused_answer_leaves_no_folder_behind(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "new" / "deep", tmp_path / "there" / "new", tmp_path / "there"):
        assert init(folder, "--yes", *words).exit_code == 2
    assert [str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")] == ["there"]


def test_a_folder_that_is_none_or_takes_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/self")):
        done = init(folder, "--yes", *WANG)
        assert (done.exit_code, f"cannot write in {folder}: " in done.stderr) == (2, True), folder
        assert "assent init DIR" in done.stderr


@pytest.mark.process
def test_a_person_is_asked_until_the_answer_is_good(tmp_path: Path) -> None:
    there, terminal = pty.openpty()
    environ = {"PATH": os.environ["PATH"], "TERM": "dumb", "PYTHONPATH": f"{ROOT}:{ROOT / 'sdk'}"}
    words = [sys.executable, "-m", "app.cli.main", "init", str(tmp_path)]
    process = subprocess.Popen(words, stdin=terminal, stdout=terminal, stderr=terminal, env=environ, cwd=ROOT)
    os.close(terminal)
    for line in ("pigeon", "", "wang", "wang@acme.example, chen@acme.example", "bank.pay 50 usd", "", ""):
        os.write(there, f"{line}\n".encode())
    said = b""
    try:
        while chunk := os.read(there, 4096):
            said += chunk
    except OSError:  # how a terminal ends
        pass
    assert process.wait(20) == 0, said.decode()
    os.close(there)
    text = said.decode()
    assert len(re.findall(r"[1-4]\. W", text)) == 6  # four, and two once more
    assert 'unknown channel "pigeon"' in text
    assert '"wang" is no e-mail address' in text
    written = (tmp_path / "assent.yaml").read_text()
    assert "approvers: [wang@acme.example, chen@acme.example]" in written
    assert "up_to: {USD: 50}" in written
    assert f"sqlite:///{tmp_path}/assent.db" in (tmp_path / ".env").read_text()


def next_lines(done: Result) -> list[str]:
    assert "assent_owner" not in done.stdout  # a SQLite file has no roles
    lines = done.stdout.partition("\nnext:\n")[2].splitlines()
    assert len(lines) == 3
    return lines


@pytest.mark.process
def test_the_three_commands_work_when_they_are_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "a gateway's folder"
    lines = next_lines(init(folder, "--yes", *WANG))
    with pasted(lines, cwd=tmp_path, ASSENT_PORT="0") as shell:
        shell.waits_for("gateway.ready")
        assert "ERROR" not in shell.said
        assert "WARNING  the database is new" in shell.said
        assert (folder / "assent.db").exists()


@pytest.mark.process
def test_the_three_commands_lead_to_a_platform_as_well(tmp_path: Path) -> None:
    """Up to what only the platform can answer: there is none here."""
    needs = starters()["slack"].needs
    editor = tmp_path / "editor"
    fills = "".join(f"s|^{need.name}=$|{need.name}={need.example}|;" for need in needs)
    editor.write_text(f"#!/bin/sh\nsed -i '{fills}' \"$1\"\n")
    editor.chmod(0o755)
    lines = next_lines(init(tmp_path / "g", "--yes", *WANG, "--channel", "slack"))
    last = lines[2].partition(" && assent doctor")
    assert last[2] == " && assent serve --migrate"
    with pasted([*lines[:2], f"{last[0]} && assent config check"], cwd=tmp_path, EDITOR=str(editor)) as shell:
        shell.waits_for("no faults: acme")
        assert '"socket_mode_enabled": true' in shell.said
