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
        ({"encrypt_key": "abc"}, "has 3 characters, fewer than 16"),
        ({"encrypt_key": "fifteen-letters"}, "has 15 characters, fewer than 16"),
        ({"verification_token": ""}, "verification_token\n  is missing or blank"),
        ({"verification_token": "  \t "}, "verification_token\n  is missing or blank"),
        ({"verification_token": "abc"}, "verification_token\n  has 3 characters, fewer than 8"),
        ({"app_secret": ""}, "App Secret"),
        ({"app_secret": "abc"}, "App Secret"),
        ({"app_id": "a5fb0ae6a4c8d00e"}, "must be the App ID"),
        ({"chat": "ou_e4d2605ca917e695f54f11aaf560a1b2"}, "must be the chat's id"),
        ({"domain": "http://open.feishu.cn"}, "is plain http"),
        ({"domain": "https://open.feishu.cn/"}, "has a path"),
        ({"domain": "https://user:pass@open.feishu.cn"}, "has a user or a password"),
        ({"domain": "ftp://127.0.0.1"}, "does not begin with https"),
        ({"domain": "https://[::1"}, "has a host or a port that is none"),
        ({"domain": "https://open.feishu.cn.evil.example"}, "the app secret would be sent there"),
        ({"domain": "https://open.feishu.example"}, "own_host: true"),
        ({"domain": "https://feishu.cn"}, "https://open.larksuite.com for Lark"),
        ({"domain": "https://10.0.0.7"}, "own_host: true"),
        ({"domain": "https://open.feishu.example", "own_host": "yes"}, "own_host"),
        ({"receive": "polling"}, "webhook"),
        ({"encryptkey": "a-typo-of-the-name"}, "Extra inputs"),
    ],
)
def test_what_would_let_a_forger_in_is_refused_with_the_mend(change: dict[str, Any], mend: str) -> None:
    with pytest.raises(ValidationError, match=mend):
        FeishuSettings.model_validate(GOOD | change)


def test_a_deployment_of_ones_own_is_wanted_in_so_many_words() -> None:
    own = {"domain": "https://open.feishu.acme.example", "own_host": True}
    assert FeishuSettings.model_validate(GOOD | own).domain == "https://open.feishu.acme.example"
    assert FeishuSettings.model_validate(GOOD | {"domain": "https://open.larksuite.com"}).own_host is False


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = {"type": "feishu", "app_secret": "short", "chat": "team", "domain": "https://a.example", "colour": "red"}
    with pytest.raises(ValidationError) as refusal:
        FeishuSettings.model_validate(wrong)
    told = {fault["loc"][0] for fault in refusal.value.errors()}
    assert told == {"app_id", "app_secret", "chat", "colour", "domain", "encrypt_key", "verification_token"}


@pytest.mark.parametrize("missing", ["encrypt_key", "verification_token", "app_secret"])
def test_a_missing_secret_is_refused(missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        FeishuSettings.model_validate({key: value for key, value in GOOD.items() if key != missing})


def test_a_long_connection_needs_neither_key_nor_token() -> None:
    fields = {key: value for key, value in GOOD.items() if key not in {"encrypt_key", "verification_token"}}
    assert FeishuSettings.model_validate(fields | {"receive": "websocket"}).receive == "websocket"


def test_a_simulator_on_this_machine_needs_no_tls() -> None:
    assert FeishuSettings.model_validate(GOOD | {"domain": "http://127.0.0.1:9001"}).domain == "http://127.0.0.1:9001"
