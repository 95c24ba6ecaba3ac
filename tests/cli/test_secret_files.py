"""Secrets in files: read in the place of their variables, named when they cannot be, noticed when replaced."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal

import httpx2
import pytest
from pydantic import BaseModel, SecretStr

from app.cli.commands import app
from app.domain.identity.seals import seal_ids
from app.embedded import embedded_gateway
from app.policies.file.policy_book import PolicyBook
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from app.serve import StartRefusedError
from app.settings import IN_FILES, Settings
from assent.command.faults import HookError
from assent.command.identity import load_identity
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.fixtures.specs import a_spec
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.may_block  # a command's own loop serves nobody else

FILE = """\
org: acme
default: deny
channels:
  pay: {type: slack, bot_token: "${BOT_TOKEN}"}
"""


class SlackLike(BaseModel):
    type: Literal["slack"]
    bot_token: SecretStr


TYPES = {"slack": a_spec("slack", SlackLike)}


@pytest.fixture
def held(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep a gateway's secrets in files, as what mounts them does; return their folder."""
    for name in [name for name in os.environ if name.startswith("ASSENT_")]:
        monkeypatch.delenv(name)
    for name, text in {"ASSENT_SECRET": SECRET, "ASSENT_DATABASE_URL": sqlite_url}.items():
        place = tmp_path / "secrets" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{text}\n")
        place.chmod(0o400)
        monkeypatch.setenv(f"{name}_FILE", str(place))
    (tmp_path / "assent.yaml").write_text("org: acme\ndefault: deny\n")
    return tmp_path / "secrets"


def doctor(held: Path) -> str:
    done = CliRunner().invoke(app, ["doctor", "-c", str(held.parent / "assent.yaml")])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_settings_that_are_secrets_are_read_from_their_files(held: Path) -> None:
    assert CliRunner().invoke(app, ["migrate"]).exit_code == 0
    said = doctor(held)
    assert f"key ids {seal_ids([SECRET])[0]}" in said  # without the newline at the file's end
    assert "database: schema" in said
    assert "every account" not in said


def test_a_file_that_everybody_may_read_is_warned_of(held: Path) -> None:
    (held / "ASSENT_SECRET").chmod(0o644)
    assert f"ASSENT_SECRET_FILE: every account of this machine may read {held / 'ASSENT_SECRET'}" in doctor(held)


@requirement("S-57")
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("both", r"ASSENT_SECRET and ASSENT_SECRET_FILE are both set: unset one of them"),
        ("missing", r"ASSENT_SECRET_FILE: \S+ cannot be read \(No such file .*must be there, and user \d+ must"),
        ("empty", r"ASSENT_SECRET_FILE: \S+ is empty: write the secret into it"),
        ("binary", r"ASSENT_SECRET_FILE: \S+ is not UTF-8 text"),
        ("large", r"ASSENT_SECRET_FILE: \S+ cannot be read \(larger than 65,536 bytes"),
        ("pipe", r"ASSENT_SECRET_FILE: \S+ cannot be read \(no ordinary file"),
    ],
)
async def test_a_file_at_fault_is_named_with_its_mend(
    held: Path, monkeypatch: pytest.MonkeyPatch, fault: str, told: str
) -> None:
    place = held / "ASSENT_SECRET"
    place.unlink()
    match fault:
        case "both":
            place.write_text(SECRET)
            monkeypatch.setenv("ASSENT_SECRET", SECRET)
        case "empty":
            place.write_text(" \n")
        case "binary":
            place.write_bytes(b"\xff" * 40)
        case "large":
            place.write_text("x" * 65_537)
        case "pipe":
            os.mkfifo(place)
        case _:
            pass
    said = CliRunner().invoke(app, ["migrate"])
    assert said.exit_code == 2
    assert re.search(told, said.stderr)
    assert "export ASSENT_SECRET" not in said.stderr  # the cure of another fault
    assert SECRET not in said.stderr
    with pytest.raises(StartRefusedError, match=told):
        async with embedded_gateway("sqlite:///unused.db", held.parent / "assent.yaml", agent="shop"):
            pass


def test_every_setting_that_is_a_secret_may_stand_in_a_file() -> None:
    secret = {name for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    assert secret < set(IN_FILES)


def test_a_secret_of_the_file_is_read_from_its_file_and_noticed_when_it_is_replaced(tmp_path: Path) -> None:
    config, token = tmp_path / "assent.yaml", tmp_path / "token"
    config.write_text(FILE)
    token.write_text("xoxb-one\n")
    book = PolicyBook(config, environ={"BOT_TOKEN": "", "BOT_TOKEN_FILE": str(token)}, channel_types=TYPES)

    def in_force() -> Any:
        return book.current("acme").channel_settings["pay"]

    assert in_force().bot_token.get_secret_value() == "xoxb-one"
    assert not book.changed()
    token.write_text("")  # half-way through being written
    assert book.changed()
    [fault] = book.reload()
    assert f"BOT_TOKEN_FILE: {token} is empty" in fault.message
    assert in_force().bot_token.get_secret_value() == "xoxb-one"
    token.write_text("xoxb-two\n")
    assert book.changed()
    assert book.reload() == ()
    assert in_force().bot_token.get_secret_value() == "xoxb-two"
    assert not book.changed()


@pytest.mark.parametrize(
    ("written", "environ", "told"),
    [
        (
            "${BOT_TOKEN_FILE}",
            {"BOT_TOKEN_FILE": "/run/token"},
            '${BOT_TOKEN_FILE} would be a path; write "${BOT_TOKEN}"',
        ),
        ("${BOT_TOKEN}", {"BOT_TOKEN_FILE": "/nowhere/token"}, "BOT_TOKEN_FILE: /nowhere/token cannot be read"),
        ("${BOT_TOKEN}", {"BOT_TOKEN_FILE": "/run/token", "BOT_TOKEN": "x"}, "are both set: unset one of them"),
        ("${BOT_TOKEN}", {"BOT_TOKEN_FILE": ""}, "the environment variable BOT_TOKEN is not set"),
    ],
)
def test_a_reference_to_a_file_at_fault_is_a_fault_with_its_line(
    written: str, environ: dict[str, str], told: str
) -> None:
    with pytest.raises(PolicyFaultsError) as refused:
        load_policy(FILE.replace("${BOT_TOKEN}", written), environ=environ, channel_types=TYPES)
    [fault] = refused.value.faults
    assert (fault.line, fault.path) == (4, "channels.pay.bot_token")
    assert told in str(fault)


def test_a_person_s_and_an_agent_s_key_stand_in_a_file_that_holds_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    whole = httpx2.Client

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["authorization"])
        return httpx2.Response(200, json={"items": [], "next_cursor": None})

    monkeypatch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=httpx2.MockTransport(answer)))
    place = tmp_path / "key"
    place.write_text("ak_abc_def_0\n")
    for name, value in {"ASSENT_URL": "http://127.0.0.1:1", "ASSENT_KEY_FILE": str(place)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ASSENT_KEY", raising=False)
    assert CliRunner().invoke(app, ["requests", "list"]).exit_code == 0
    assert load_identity("env").key == "ak_abc_def_0"
    place.write_text("hvs.another-program-s-token\n")
    refused = CliRunner().invoke(app, ["requests", "list"])
    assert (refused.exit_code, "ASSENT_KEY_FILE: what it names holds no key" in refused.stderr) == (2, True)
    assert "hvs." not in refused.stderr
    with pytest.raises(HookError, match="ASSENT_KEY_FILE: what it names holds no key"):
        load_identity("env")
    assert seen == ["Bearer ak_abc_def_0"]
