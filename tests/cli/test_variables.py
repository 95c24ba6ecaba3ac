"""What the environment and the command line say is read strictly, and told in words, never with a value."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from app.cli.beside_database import settings_faults
from app.cli.commands import app
from app.cli.doctor.secret_files import look_at_variables
from app.settings import Settings
from tests.fixtures.commands import CliRunner
from tests.fixtures.gateway import SECRET
from tests.policies.values.test_wrong_values import RAW
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

WRONG = (
    "",
    "  ",
    "zzz",
    "-1",
    "0",
    "1.5",
    "9" * 30,
    "true",
    "PT0S",
    "-PT5S",
    "P1000D",
    "a\nb",
    "http://x",
    "[1]",
    "0.0.0.0:80",
)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ASSENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASSENT_SECRET", SECRET)


def faults(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> list[tuple[str, str]]:
    with monkeypatch.context() as for_now:
        for_now.setenv(f"ASSENT_{name.upper()}", value)
        try:
            Settings()  # pyright: ignore[reportCallIssue] - its fields come from the environment
        except ValidationError as error:
            return settings_faults(error)
    return []


@requirement("S-57")
@pytest.mark.parametrize("name", Settings.model_fields)
def test_no_setting_is_told_in_the_words_of_a_library(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    told = [what for value in WRONG for what, _ in faults(monkeypatch, name, value)]
    assert told or name == "state_dir"
    assert [what for what in told if any(each in what for each in (*RAW, "timedelta", "nothing"))] == []
    assert all(what.startswith(f"ASSENT_{name.upper()}: ") for what in told)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("port", "70000", "must be 65535 or less"),
        ("log_format", "xml", "must be json or console"),
        ("host", "0.0.0.0:8080", "is a name or an address alone, such as 0.0.0.0 or ::; the port is ASSENT_PORT"),
        ("host", "http://a.example", "is a name or an address alone, such as 0.0.0.0 or ::; the port is ASSENT_PORT"),
        ("tick", "0s", "must be more than 0s, and 1h at most"),
        ("poll", "2h", "must be more than 0s, and 1h at most"),
        ("give_up_after", "31d", "must be more than 0s, and 30d at most"),
        ("give_up_after", "soon", "is no span of time: write 15m for fifteen minutes, 2s for two seconds"),
        ("hook_environment", "PATH HOME", "'PATH HOME' is no name of a variable: write names alone, with commas"),
        ("operations_token", "  ", "is empty: say what it is, or leave it out"),
        (
            "backup_url",
            "mysql://x",
            "is postgresql://ROLE:PASSWORD@HOST/DATABASE; in the password, write / @ : # ? as %2F %40 …",
        ),
    ],
)
def test_what_a_setting_may_be_is_said(monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str) -> None:
    assert [what for what, _ in faults(monkeypatch, name, value)] == [f"ASSENT_{name.upper()}: {told}"]


@pytest.mark.parametrize("value", ["15m", " 15m", "900s", "PT15M"])
def test_a_span_is_written_as_in_the_file_or_as_iso_8601_has_it(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ASSENT_GIVE_UP_AFTER", value)
    assert Settings().give_up_after == timedelta(minutes=15)  # pyright: ignore[reportCallIssue] - as above


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::", "::1", "localhost", "gateway-1.acme.example"])
def test_a_host_is_a_name_or_an_address(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert faults(monkeypatch, "host", host) == []


def test_a_variable_that_is_nearly_a_setting_is_told_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text('org: acme\ndefault: deny\nchannels: {a: {type: slack, bot_token: "${ASSENT_SECRETS}"}}\n')
    environ: dict[str, str] = dict.fromkeys(
        (
            "ASSENT_LOG_FORMATT",
            "ASSENT_SECRETS",
            "ASSENT_URL",
            "ASSENT_KEY_FILE",
            "ASSENT_PORT",
            "ASSENT_OUR_OWN_THING",
            "HOME",
        ),
        "x",
    )
    assert [(each.what, each.mend) for each in look_at_variables(file, environ)] == [
        ("ASSENT_LOG_FORMATT is no setting: nobody reads it", 'did you mean "ASSENT_LOG_FORMAT"?')
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("slack", "manifest", "--public-url", "https://me:word@a.example"), "has a user or a password in it"),
        (("feishu", "setup", "--public-url", "https://a.example/#x"), "has a #"),
        (("slack", "manifest", "--public-url", "https://a b"), "has a space"),
        (("channels", "test", "pay", "--wait", "-1"), "--wait"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(words: tuple[str, ...], told: str) -> None:
    done = CliRunner().invoke(app, [*words])
    assert (done.exit_code, told in done.stderr) == (2, True), done.output


@requirement("S-57")
def test_config_check_tells_the_first_of_very_many_faults_and_how_many_more(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text(
        "org: acme\ndefault: deny\ngroups:\n" + "".join(f"  g{n}: [p{n}@acme.example]\n" for n in range(150))
    )
    done = CliRunner().invoke(app, ["config", "check", "-c", str(file)])
    lines = done.stderr.splitlines()
    assert (done.exit_code, len(lines), lines[-2:]) == (2, 102, ["and 50 more", "150 faults"])
