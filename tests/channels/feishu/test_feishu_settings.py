from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from channels.feishu.settings import FeishuSettings
from tests.requirements import requirement

GOOD: dict[str, Any] = {
    "type": "feishu",
    "app_id": "cli_a5fb0ae6a4c8d00e",
    "app_secret": "an-app-secret",
    "encrypt_key": "an-encrypt-key-of-ours",
    "verification_token": "a-verification-token",
    "chat": "oc_e4d2605ca917e695f54f11aaf560a1b2",
}


def test_complete_settings_are_taken_and_hide_their_secrets() -> None:
    settings = FeishuSettings.model_validate(GOOD)
    assert (settings.receive, settings.language, settings.domain) == ("webhook", "zh", "https://open.feishu.cn")
    assert "an-app-secret" not in repr(settings)
    assert "an-encrypt-key" not in repr(settings)


def test_a_secret_file_s_line_break_is_dropped() -> None:
    settings = FeishuSettings.model_validate(GOOD | {"encrypt_key": "an-encrypt-key-of-ours\n"})
    assert settings.encrypt_key.get_secret_value() == "an-encrypt-key-of-ours"


@requirement("S-04")
@pytest.mark.parametrize(
    ("change", "mend"),
    [
        ({"encrypt_key": ""}, "Encryption Strategy"),
        ({"encrypt_key": "                    "}, "Encryption Strategy"),
        ({"encrypt_key": "abc"}, "shorter than 16"),
        ({"encrypt_key": "fifteen-letters"}, "shorter than 16"),
        ({"verification_token": ""}, "verification_token is missing"),
        ({"verification_token": "  \t "}, "verification_token is missing"),
        ({"verification_token": "abc"}, "verification_token is missing"),
        ({"app_secret": ""}, "App Secret"),
        ({"app_secret": "abc"}, "App Secret"),
        ({"app_id": "a5fb0ae6a4c8d00e"}, "pattern"),
        ({"chat": "ou_e4d2605ca917e695f54f11aaf560a1b2"}, "pattern"),
        ({"domain": "http://open.feishu.cn"}, "https origin"),
        ({"domain": "https://open.feishu.cn/"}, "https origin"),
        ({"domain": "https://user:pass@open.feishu.cn"}, "https origin"),
        ({"domain": "ftp://127.0.0.1"}, "https origin"),
        ({"receive": "polling"}, "webhook"),
        ({"encryptkey": "a-typo-of-the-name"}, "Extra inputs"),
    ],
)
def test_what_would_let_a_forger_in_is_refused_with_the_mend(change: dict[str, Any], mend: str) -> None:
    with pytest.raises(ValidationError, match=mend):
        FeishuSettings.model_validate(GOOD | change)


@pytest.mark.parametrize("missing", ["encrypt_key", "verification_token", "app_secret"])
def test_a_missing_secret_is_refused(missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        FeishuSettings.model_validate({key: value for key, value in GOOD.items() if key != missing})


def test_a_long_connection_needs_neither_key_nor_token() -> None:
    fields = {key: value for key, value in GOOD.items() if key not in {"encrypt_key", "verification_token"}}
    assert FeishuSettings.model_validate(fields | {"receive": "websocket"}).receive == "websocket"


def test_a_simulator_on_this_machine_needs_no_tls() -> None:
    assert FeishuSettings.model_validate(GOOD | {"domain": "http://127.0.0.1:9001"}).domain == "http://127.0.0.1:9001"
