"""A Slack channel is configured completely or refused at load, with the way to mend it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from app.domain.text.language import Language
from channels.slack.settings import SlackSettings

GOOD: dict[str, object] = {
    "type": "slack",
    "bot_token": "xoxb-1234-5678-abcdef",
    "signing_secret": "8f742231b10e8888abcd99yyyzzz85a5",
    "channel": "C0PAY",
}


def test_a_webhook_channel_needs_four_lines() -> None:
    settings = SlackSettings.model_validate(GOOD)
    assert settings.language is Language.EN
    assert (settings.api_url, settings.response_host) == ("https://slack.com/api/", "hooks.slack.com")


def test_a_stand_in_on_loopback_answers_on_its_own_host() -> None:
    settings = SlackSettings.model_validate({**GOOD, "api_url": "http://127.0.0.1:9002/api"})
    assert (settings.api_url, settings.response_host) == ("http://127.0.0.1:9002/api/", "127.0.0.1:9002")


@pytest.mark.parametrize(
    ("change", "mend"),
    [
        ({"signing_secret": ""}, "is blank: it is the app's Signing Secret, 32 hex characters, from App Credentials"),
        ({"signing_secret": "   \t  "}, "is blank: it is the app's Signing Secret"),
        ({"signing_secret": "abc"}, "has 3 characters: it is the app's Signing Secret, 32 hex characters"),
        ({"signing_secret": "  abcdefghijklmno   "}, "has 15 characters"),
        (
            {"signing_secret": None},
            "signing_secret\n  is missing, .*Signing Secret, 32 hex characters.*or choose receive: socket",
        ),
        ({"bot_token": ""}, "OAuth & Permissions"),
        ({"bot_token": "xoxp-user-token"}, "OAuth & Permissions"),
        ({"bot_token": "xoxb-with space"}, "OAuth & Permissions"),
        ({"app_token": "xoxb-1234-5678"}, "connections:write"),
        ({"receive": "socket"}, "app_token\n  is missing"),
        ({"receive": "polling"}, "webhook"),
        ({"channel": "#agent-approvals"}, "not its name"),
        ({"channel": "U061F7AUR"}, "not its name"),
        ({"api_url": "http://slack.com/api/"}, "https"),
        ({"api_url": "https://user:word@slack.com/api/"}, "https"),
        ({"api_url": "ftp://127.0.0.1/api/"}, "https"),
        ({"api_url": "https://slack.com.evil.example/api/"}, "tokens would be sent there"),
        ({"api_url": "https://slack.evil.example/api/"}, "own_host: true"),
        ({"scim_url": "https://evil.example/scim/v1/"}, "own_host: true"),
        ({"response_host": "hooks.evil.example"}, "private answers would be sent there"),
        ({"response_host": "hooks.slack.com:99999"}, "bare host"),
        ({"response_host": "https://hooks.slack.com/"}, "bare host"),
        ({"response_host": "hooks.slack.com@evil.example"}, "bare host"),
        ({"team_id": "example-corp"}, "must be the workspace's id"),
        ({"app_id": "example"}, "must be the app's id"),
        ({"singing_secret": "x"}, "Extra inputs"),
    ],
)
def test_what_could_not_work_is_refused_with_the_mend(change: dict[str, object], mend: str) -> None:
    with pytest.raises(ValidationError, match=mend):
        SlackSettings.model_validate({**GOOD, **change})


def test_a_host_of_ones_own_is_wanted_in_so_many_words() -> None:
    own = {"api_url": "https://slack.proxy.example/api/", "response_host": "hooks.proxy.example", "own_host": True}
    assert SlackSettings.model_validate({**GOOD, **own}).api_url == "https://slack.proxy.example/api/"
    government = {"api_url": "https://slack-gov.com/api/", "response_host": "hooks.slack-gov.com"}
    assert SlackSettings.model_validate({**GOOD, **government}).response_host == "hooks.slack-gov.com"


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = {"type": "slack", "team_id": "acme", "refresh_token": "xoxe-1-abcdef", "client_id": "1", "colour": "red"}
    with pytest.raises(ValidationError) as refusal:
        SlackSettings.model_validate(wrong)
    told = {fault["loc"][0] for fault in refusal.value.errors()}
    assert told == {"channel", "client_id", "client_secret", "colour", "signing_secret", "team_id"}


ROTATING = {name: value for name, value in GOOD.items() if name != "bot_token"} | {
    "refresh_token": "xoxe-1-abcdefghijkl",
    "client_id": "17653672481.19874698323",
    "client_secret": "4f1b2c3d4e5f60718293a4b5c6d7e8f9",
}


def test_a_channel_whose_tokens_rotate_needs_three_lines_for_the_one() -> None:
    settings = SlackSettings.model_validate(ROTATING)
    assert settings.bot_token is None
    assert "abcdefghijkl" not in repr(settings)
    assert "4f1b2c3d" not in repr(settings)


@pytest.mark.parametrize(
    ("change", "mend"),
    [
        ({"refresh_token": None}, "bot_token\n  is missing"),
        ({"refresh_token": None, "bot_token": "xoxb-1234"}, "is for refresh_token alone"),
        ({"refresh_token": "xoxb-1234-5678"}, "OAuth & Permissions"),
        ({"refresh_token": "xoxe.xoxb-1-of-access"}, "must be the app's refresh token"),
        ({"client_id": None}, "client_id\n  is missing, which refresh_token needs"),
        ({"client_id": "A0APPR0VAL"}, "must be the app's Client ID"),
        ({"client_secret": None}, "client_secret\n  is missing, which refresh_token needs"),
        ({"client_secret": "  "}, "is blank: it is the app's Client Secret"),
        ({"bot_token": "xoxe.xoxb-1-of-access"}, "bot_token\n  stands beside refresh_token: leave it out"),
    ],
)
def test_half_of_what_renews_tokens_is_refused_with_the_mend(change: dict[str, object], mend: str) -> None:
    with pytest.raises(ValidationError, match=mend):
        SlackSettings.model_validate({**ROTATING, **change})


@pytest.mark.parametrize("field", ["bot_token", "signing_secret", "app_token"])
def test_neither_a_refusal_nor_a_printed_setting_shows_a_secret(field: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        SlackSettings.model_validate({**GOOD, field: "canary"})
    assert "canary" not in str(refusal.value)
    shown = repr(SlackSettings.model_validate({**GOOD, "app_token": "xapp-1-canary"}))
    assert "canary" not in shown
    assert "abcdef" not in shown
    assert "8f742231" not in shown


def test_socket_mode_needs_no_signing_secret() -> None:
    without = {name: value for name, value in GOOD.items() if name != "signing_secret"}
    settings = SlackSettings.model_validate({**without, "receive": "socket", "app_token": "xapp-1-A0-abc"})
    assert settings.signing_secret is None
