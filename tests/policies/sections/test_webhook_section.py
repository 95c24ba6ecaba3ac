"""The file's `webhooks`: who is told what, and every fault with its place, without a secret in it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.trail.webhooks import Webhook

NEW, BEFORE = b"a secret of thirty-two bytes, ok", b"one from before, of thirty bytes"
ENVIRON = {
    "SIEM": "whsec_" + base64.b64encode(NEW).decode(),
    "SIEM_OLD": "whsec_" + base64.b64encode(BEFORE).decode(),
    "WEAK": "whsec_canary",
    "KEY": "canary-in-the-path",
}
GOOD = {"url": "https://siem.acme.example/hook", "secret": "${SIEM}", "kinds": ["request.*", "key.created"]}


def load(entry: object, *, name: str = "siem") -> tuple[Webhook, ...]:
    text = f"org: acme\ndefault: deny\nwebhooks: {json.dumps({name: entry})}\n"
    return load_policy(text, environ=ENVIRON, channel_types={}).webhooks


def faults(entry: object, *, name: str = "siem") -> str:
    with pytest.raises(PolicyFaultsError) as refused:
        load(entry, name=name)
    return "\n".join(map(str, refused.value.faults))


def test_a_file_that_says_nothing_tells_nobody() -> None:
    assert load_policy("org: acme\ndefault: deny\n", environ={}, channel_types={}).webhooks == ()


@requirement("S-36")
def test_a_receiver_has_an_address_kinds_and_a_secret_and_for_a_while_two() -> None:
    [one] = load(GOOD)
    assert (one.name, one.url, one.host) == ("siem", "https://siem.acme.example/hook", "siem.acme.example")
    assert (one.kinds, one.secrets, one.private) == (("request.*", "key.created"), (NEW,), False)
    [two] = load(GOOD | {"secret_old": "${SIEM_OLD}", "private": True})
    assert (two.secrets, two.private) == ((NEW, BEFORE), True)


@requirement("S-35")
@pytest.mark.parametrize(
    "url",
    [
        "http://siem.acme.example/hook", "ftp://siem.acme.example/", "file:///etc/passwd", "gopher://x.example/",
        "https://user@x.example/", "https://user:word@x.example/", "https://x.example/#part", "https://", "https:///x",
        "https://x.example:0/", "https://x.example:99999/", "https://x.example/ a", "https://x y.example/", "x.example",
        "https://169.254.169.254/", "https://[fd00:ec2::254]/", "https://127.1.2.3/", "https://2130706433/",
        "https://0x7f.1/", "https://0177.0.0.1/", "https://[::ffff:127.0.0.1]/", "https://0/", "https://[::]/",
    ],
)  # fmt: skip
def test_an_address_that_leads_inside_or_is_none_is_refused_at_load(url: str) -> None:
    for private in (False, True):
        assert "webhooks.siem.url" in faults(GOOD | {"url": url, "private": private})


@requirement("S-35")
def test_a_private_address_needs_the_word_and_this_machine_its_name() -> None:
    assert "private: true allows that" in faults(GOOD | {"url": "https://10.0.0.7/"})
    assert load(GOOD | {"url": "https://10.0.0.7:8443/", "private": True})
    for url in ("http://localhost:9/x", "http://127.0.0.1:9/x", "http://[::1]:9/x", "https://localhost/"):
        assert load(GOOD | {"url": url})


@requirement("S-36")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kinds": []}, "webhooks.siem.kinds"),
        ({"kinds": ["request.aproved"]}, 'is no kind of event; did you mean "request.approved"?'),
        ({"kinds": ["request"]}, "is no kind of event"),
        ({"kinds": None}, "webhooks.siem.kinds"),
        ({"secret": "${WEAK}"}, "openssl rand -base64 32"),
        ({"secret": "${MISSING}"}, "MISSING is not set"),
        ({"secret": "whsec_in-the-file"}, "a secret may not stand in this file"),
        ({"secret_old": "${SIEM}"}, "the one from before"),
        ({"secret_old": "${WEAK}"}, "webhooks.siem.secret_old"),
        ({"secrets": ["${SIEM}"]}, 'unknown key "secrets"'),
        ({"type": "slack"}, 'unknown key "type"'),
    ],
)
def test_what_could_not_work_is_refused_with_its_place(change: dict[str, object], told: str) -> None:
    said = faults(GOOD | change)
    assert told in said
    assert "canary" not in said


def test_a_name_is_plain_and_an_entry_a_mapping() -> None:
    assert "a webhook's name" in faults(GOOD, name="My SIEM")
    assert "must be a mapping" in faults("https://siem.acme.example/hook")


def test_a_key_in_the_address_comes_from_the_environment_and_into_no_fault() -> None:
    [one] = load(GOOD | {"url": "https://siem.acme.example/${KEY}"})
    assert one.url.endswith("/canary-in-the-path")
    assert "canary" not in faults(GOOD | {"url": "http://siem.acme.example/${KEY}"})
