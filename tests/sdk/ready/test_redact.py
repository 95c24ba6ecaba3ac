"""Redaction: secrets go, whatever holds them; everything that merely looks random stays."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.hooks.contract.hook import PostToolUseFailureHook, PostToolUseHook
from assent.hooks.ready.off_loop import LARGE, is_large
from assent.hooks.ready.redact import Redact, matches, redact
from assent.hooks.ready.redact_shapes import SHAPES
from tests.sdk.ready.moments import after, failed

HEX = "0123456789abcdef"
LETTERS = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz"
KEY_BLOCK = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", "MIIE" + LETTERS, LETTERS, "ab==", "-----END RSA PRIVATE KEY-----"]
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SECRETS = {
    "private-key": KEY_BLOCK,
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "google-key": "AIza" + LETTERS[:35],
    "azure-secret": "abc8Q~" + LETTERS[:34],
    "alibaba-key": "LTAI" + LETTERS[:20],
    "tencent-key": "AKID" + LETTERS[:32],
    "github-token": "ghp_" + LETTERS[:36],
    "gitlab-token": "glpat-" + LETTERS[:20],
    "slack-token": "xoxb-123456789012-1234567890123-" + LETTERS[:24],
    "slack-webhook": "T00000000/B00000000/" + LETTERS[:24],
    "anthropic-key": "sk-ant-api03-" + LETTERS + "-AA",
    "openai-key": "sk-proj-" + LETTERS + "_T3BlbkFJ",
    "stripe-key": "sk_" + "live_" + LETTERS[:24],
    "sendgrid-key": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "npm-token": "npm_" + LETTERS[:36],
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + LETTERS,
    "hugging-face-token": "hf_" + LETTERS[:34],
    "digitalocean-token": "dop_v1_" + HEX * 4,
    "vault-token": "hvs." + LETTERS[:24],
    "telegram-token": "110201543:AA" + LETTERS[:33],
    "assent-key": "ak_" + "abcdefgh234567ab_" + "a" * 52 + "_0f0f0f",
    "jwt": JWT,
    "bearer": "mF_9.B5f-4.1JqM_abcdef",
    "basic-auth": "dXNlcjpodW50ZXIy",
    "url-password": "s3cr3t-pw",
    "url-signature": "2b7f9Qx%2Fabcdef0123456789",
    "assignment": "hunter2!",
    "option": "hunter2!",
    "card-number": "4111 1111 1111 1111",
}
CARRIERS = {
    "slack-webhook": "https://hooks.slack.com/services/{}",
    "bearer": "Authorization: Bearer {}",
    "basic-auth": "authorization: Basic {}",
    "url-password": "postgresql://app:{}@db.internal:5432/prod",
    "url-signature": "https://acme.blob.core.windows.net/c/b?sv=2022&sig={}",
    "assignment": "DB_PASSWORD={}",
    "option": "mysql --password {} -h db",
}


def test_every_shape_is_told_here() -> None:
    assert list(SECRETS) == [shape.name for shape in SHAPES]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("around", ["{}", "before {} after", '{{"note": "{}"}}', "第一行\n{}\n第三行", "({})", "<{}>"])
def test_a_secret_goes_and_what_is_around_it_stays(name: str, around: str) -> None:
    secret = SECRETS[name]
    carried = CARRIERS.get(name, "{}").format(secret)
    kind = next(shape.kind for shape in SHAPES if shape.name == name)
    text, found = redact(around.format(carried))
    assert secret not in text
    assert text == around.format(carried.replace(secret, f"[redacted: {kind}]"))
    assert found == (kind,)
    assert redact(text) == (text, ())  # once is enough


@pytest.mark.parametrize(
    "text",
    [
        'api_key: "q8f-42xx"',
        "api_key: q8f-42xx\nnext: line",
        "'clientSecret': 'q8f-42xx',",
        '{\\"password\\": \\"q8f-42xx\\"}',
        "AWS_SECRET_ACCESS_KEY=q8f-42xx/+ab",
        "AccountKey=q8f-42xx==;EndpointSuffix=core.windows.net",
        "passwd := `q8f-42xx`",
        "export GITHUB_TOKEN=q8f-42xx-0001",
        "curl -H 'X-Api-Key: q8f-42xx' https://x",
        "env['password'] = 'q8f-42xx'",
        "login?password=q8f-42xx&next=/",
        "token: q8f-42xx-0001",
        "tool --client-secret=q8f-42xx",
        "tool --access-token q8f-42xx run",
        "password = q8f-42xx",
    ],
)
def test_a_value_goes_by_the_name_that_it_stands_under(text: str) -> None:
    clean, found = redact(text)
    assert found == ("secret value",)
    assert "q8f-42xx" not in clean


@pytest.mark.parametrize(
    "text",
    [
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "550e8400-e29b-41d4-a716-446655440000",
        "req_abcdefghij234567abcdefghij234567",
        "AKIA is how an access key begins",
        "sk-learn, task-force and risk-averse",
        "the skeleton is sk-eleton",
        "password = getpass.getpass()",
        "password = user.password",
        "password=password, api_key=api_key",
        "api_key=os.environ['KEY']",
        "password: str",
        "Password: Please enter your password",
        "password is required; wrong password",
        'if password == "":',
        "PASSWORD=${DB_PASSWORD}",
        "password: {{ vault.db }}",
        "token: Identifier, // the next token",
        "next_page_token: eyJvZmZzZXQiOjEwMH0",
        '{"next_token": "abc123def456ghi"}',
        '"max_tokens": 4096, "tokens": 123456',
        "secret: my-tls-secret",
        "PWD=/home/wang/app-2",
        "private_key: /etc/ssl/private/server.key",
        "https://docs.acme.example:8443/path@v2",
        "https://user@github.com/acme/app.git",
        "postgres://app:${PGPASSWORD}@db/prod",
        "git@github.com:acme/app.git",
        "bearer of bad news, bearer authentication-required",
        "basic authentication",
        'if "-----BEGIN PRIVATE KEY-----" in text and that is the first line of a key file',
        "1700000000000 1700000000000000000",
        "order 4111111111111112",
        "3.4111111111111111",
        "tel. +8613800138000",
        "2026-03-01T10:00:00.123456+08:00",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
        "def f(x): return eyJ.parse(x)",
        "passphrase-free operation",
        "one-password manager --passwords all",
        "compass: north, tokens::Kind",
    ],
)
def test_what_merely_looks_random_stays(text: str) -> None:
    assert redact(text) == (text, ())


def test_members_go_by_their_names_however_deep() -> None:
    value = {
        "rows": [
            {"user": "wang", "Password": "letmein", "IBAN-number": "DE02", "n": 7},
            {"password": None, "api_key": True, "note": ("ok", "xoxb-" + LETTERS[:20])},
        ],
        "iban_number": {"country": "DE", "rest": [1, 2]},
        "usage": {"tokens": 12, "token": "abc"},
    }
    clean, found = redact(value, fields=["ibanNumber"])
    assert clean == {
        "rows": [
            {
                "user": "wang",
                "Password": "[redacted: secret value]",
                "IBAN-number": "[redacted: field ibanNumber]",
                "n": 7,
            },
            {"password": None, "api_key": True, "note": ("ok", "[redacted: Slack token]")},
        ],
        "iban_number": "[redacted: field ibanNumber]",
        "usage": {"tokens": 12, "token": "abc"},
    }
    assert found == ("secret value", "field ibanNumber", "Slack token")
    assert value["rows"][0]["Password"] == "letmein"  # type: ignore[index]
    assert redact(clean, fields=["ibanNumber"]) == (clean, ())


def test_a_secret_that_serves_as_a_name_goes_too() -> None:
    one, two = "AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPL2"
    assert redact({one: 1, two: 2})[0] == {"[redacted: AWS key]": 1, "[redacted: AWS key]'": 2}


def test_what_is_no_json_goes_if_its_text_holds_a_secret() -> None:
    class Row:
        def __init__(self, text: str) -> None:
            self.text = text

        def __str__(self) -> str:
            return self.text

    harmless = Row("nothing")
    assert redact(harmless)[0] is harmless
    assert redact(Row("key AKIAIOSFODNN7EXAMPLE"))[0] == "key [redacted: AWS key]"
    assert redact(b"key AKIAIOSFODNN7EXAMPLE")[0] == "key [redacted: AWS key]"


def test_what_nests_without_end_is_taken_out() -> None:
    circle: list[Any] = ["AKIAIOSFODNN7EXAMPLE"]
    circle.append(circle)
    assert redact(circle)[0] == ["[redacted: AWS key]", "[redacted: nested too deep]"]
    deep: Any = "AKIAIOSFODNN7EXAMPLE"
    for _ in range(5000):
        deep = [deep]
    assert "AKIA" not in repr(redact(deep)[0])


def test_only_the_shapes_that_are_asked_for_are_looked_for() -> None:
    text = {"password": "letmein", "key": "AKIAIOSFODNN7EXAMPLE"}
    aws = [shape for shape in SHAPES if shape.name == "aws-key"]
    assert redact(text, shapes=aws)[0] == {"password": "letmein", "key": "[redacted: AWS key]"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_holds_no_secret_comes_back_as_it_is(value: Any) -> None:
    clean, found = redact(value)
    if not found:
        assert clean is value
    assert redact(clean)[0] == clean


HOSTILE = [
    "a",
    "A",
    "0",
    "-",
    " ",
    "\n",
    "eyJ",
    "eyJa",
    "eyJaaaaaaaa.",
    "AKIA",
    "sk-",
    "sk-ant-",
    "xoxb-",
    "ghp_",
    "://",
    "://a:",
    "a:b@",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nA: b",
    "password",
    "password=",
    "password: ",
    "password='",
    'password="a',
    "token",
    "--token ",
    "--a-",
    "--aaaa-aaaa-",
    "bearer ",
    "bearer a",
    "authorization:",
    "authorization: basic ",
    "?sig=",
    "4111 ",
    "4111-",
    "41111111",
    "ya29.",
    "hvs.",
    "hooks.slack.com/services/",
    "1:AA",
    "a8Q~",
    "{",
    "\\",
    '\\"',
    'password\\"',
    "secret_",
    "api-",
    "k_live_",
]


@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=pytest.mark.whole if place % 4 else ()) for place, unit in enumerate(HOSTILE)]
)
@pytest.mark.heavy
def test_a_long_hostile_text_takes_a_time_in_proportion(unit: str) -> None:
    text = (unit * (400_000 // len(unit) + 1))[:400_000]
    redact(text + "!")  # what is quadratic in 400,000 characters takes hours: the time limit of every test tells it


def test_what_fails_behind_a_long_repetition_does_not_begin_again_within_it() -> None:
    def seconds(unit: str) -> float:
        text = (unit * (2_000_000 // len(unit)))[:2_000_000]
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    assert seconds("ya29.") < 5 * seconds("words.")


# --- long texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [400, 517, 1000])
@pytest.mark.parametrize("name", SECRETS)
def test_a_long_text_loses_the_same_secrets_as_a_short_one(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assent.hooks.ready.redact._PIECE", size)
    monkeypatch.setattr("assent.hooks.ready.redact._MARGIN", 4000)
    (shape,) = [shape for shape in SHAPES if shape.name == name]
    carried = CARRIERS.get(name, "{}").format(SECRETS[name])
    text = "".join(f"{'words ' * (number * 7)}\n {carried} \n" for number in range(60))
    once = [match.span() for match in shape.pattern.finditer(text)]
    assert len(once) >= 60
    assert [match.span() for match in matches(shape.pattern, text)] == once


def test_a_secret_that_is_longer_than_a_piece_goes_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assent.hooks.ready.redact._PIECE", 300)
    monkeypatch.setattr("assent.hooks.ready.redact._MARGIN", 200)
    body = "\n".join([LETTERS] * 50)
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    for before in range(0, 600, 37):
        clean, _ = redact(f"{'x' * before} {key} {key} end")
        assert clean == f"{'x' * before} [redacted: private key] [redacted: private key] end"


@pytest.mark.parametrize("unit", ["api_key_token_secret_password_", "4111-1111-1111-1112 ", "--password "])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.heavy
@pytest.mark.sampled(3)
async def test_the_event_loop_goes_on_while_a_large_result_is_redacted(unit: str, nested: bool) -> None:
    text = unit * (500_000 // len(unit))
    result = {"rows": [text[at : at + 1000] for at in range(0, len(text), 1000)]} if nested else text
    beats = 0
    task = asyncio.create_task(Redact().execute(after(result)))
    while not task.done():
        await asyncio.sleep(0.001)
        beats += 1
    await task
    assert beats > 5


SMALL = "x" * (LARGE - 100)


@pytest.mark.parametrize("result", [SMALL, {"a": SMALL}, ["x" * 100] * (LARGE // 128), list(range(LARGE // 20)), None])
def test_what_is_small_needs_no_thread(result: Any) -> None:
    assert not is_large(result)


def test_what_is_large_is_found_out_quickly_whatever_it_is() -> None:
    circle: list[Any] = []
    circle.append(circle)
    well: Any = "x" * 70_000
    for _ in range(500):
        well = {"deeper": [well]}
    for result in ("x" * 70_000, b"x" * 70_000, {"x" * 70_000: 1}, ["x" * 100] * 700, [0] * 5000, circle, well):
        assert is_large(result)


async def test_the_hook_replaces_a_result_and_says_what_it_took_out() -> None:
    hook = Redact(fields=["iban"])
    assert await hook.execute(after({"iban": None, "rows": ["plain"]})) is None
    said = await hook.execute(after({"iban": "DE02", "text": "AKIAIOSFODNN7EXAMPLE"}))
    assert said is not None
    assert said.modified_result == {"iban": "[redacted: field iban]", "text": "[redacted: AWS key]"}
    assert said.side_effects == {"redacted": ["field iban", "AWS key"]}
    assert isinstance(hook, PostToolUseHook)
    assert (hook.name, hook.priority) == ("redact", 100)


async def test_a_failure_is_redacted_by_the_same_options() -> None:
    hook = Redact(shapes=["aws-key"]).sibling
    assert isinstance(hook, PostToolUseFailureHook)
    told = await hook.execute(failed("AKIAIOSFODNN7EXAMPLE refused, password=hunter2!"))
    assert told is not None
    assert told.modified_result == "[redacted: AWS key] refused, password=hunter2!"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields": "iban"}, "fields: give a list"),
        ({"fields": ["--"]}, "fields: give a list"),
        ({"shapes": ["aws"]}, "shapes: 'aws' is none; give a list out of private-key, aws-key"),
        ({"shapes": "aws-key"}, "shapes: 'aws-key'"),
    ],
)
def test_a_bad_option_is_named_with_its_mend(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Redact(**options)
