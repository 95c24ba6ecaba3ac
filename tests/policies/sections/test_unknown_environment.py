"""A file is read where its environment is not known (`policy test`, a proposal): what is from there is not judged."""

from __future__ import annotations

import json

import pytest

from app.policies.file.policy_file import load_policy, load_proposed
from app.policies.marks.faults import PolicyFaultsError
from app.policies.marks.surroundings import AnyEnvironment
from channels import registry

FILE = """\
org: acme
default: deny
url: https://assent.acme.example
people: {wang@acme.example: {}, chen@acme.example: {}}
webhooks:
  siem: {url: "https://${SIEM_HOST}/${SIEM_KEY}", secret: "${SIEM}", secret_old: "${SIEM_OLD}", kinds: ["request.*"]}
  other: {url: "${OTHER_URL}", secret: "${SIEM}", kinds: ["${KINDS}"]}
sign_in:
  okta: {issuer: "${ISSUER}", client_id: "${ID}", client_secret: "${OIDC}", label: "${A_RATHER_LONG_NAME}"}
  entra:
    issuer: "${ENTRA}"
    client_id: x
    client_secret: "${OIDC}"
    subjects: {wang@acme.example: "${WANG}", chen@acme.example: "${CHEN}"}
    requesters: {audiences: ["${AUDIENCE}"], actors: {bot: "${BOT}", other: "${OTHER}"}}
channels:
  slack: {type: slack, bot_token: "${BOT_TOKEN}", signing_secret: "${SIGNING}", channel: "${ROOM}"}
  feishu:
    type: feishu
    app_id: "${APP}"
    app_secret: "${APP_SECRET}"
    chat: "${CHAT}"
    encrypt_key: "${KEY}"
    verification_token: "${TOKEN}"
rules:
  - {id: proved, tools: ["*"], requester: verified, then: allow}
"""


def test_a_proposed_text_is_not_refused_for_what_the_environment_would_say() -> None:
    loaded = load_proposed(FILE, channel_types=registry.platforms())
    assert [each.name for each in loaded.webhooks] == ["siem", "other"]
    assert [each.name for each in loaded.providers] == ["okta", "entra"]
    assert [spec.name for spec in loaded.policy.channels] == ["slack", "feishu"]


def test_a_command_that_uses_no_secret_reads_the_same_file() -> None:
    load_policy(FILE, environ=AnyEnvironment(), channel_types=registry.platforms_unread())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('kinds: ["request.*"]', 'kinds: ["requests.*"]', 'webhooks.siem.kinds[0]: "requests.*" is no kind of event'),
        ('url: "${OTHER_URL}"', 'url: "http://siem.acme.example"', "webhooks.other.url: must be https"),
        ('secret: "${SIEM}", kinds', "kinds", '"secret" is missing'),
        ('secret: "${SIEM}", kinds', "secret: plain, kinds", "webhooks.other.secret: a secret may not stand in this"),
        ("client_id: x\n", "client_ids: x\n", 'sign_in.entra.client_ids: unknown key "client_ids"'),
        ('chat: "${CHAT}"', "chat: room", "channels.feishu.chat: "),
    ],
)
def test_what_the_file_itself_says_is_judged_as_ever(old: str, new: str, expected: str) -> None:
    assert old in FILE
    with pytest.raises(PolicyFaultsError) as refused:
        load_proposed(FILE.replace(old, new, 1), channel_types=registry.platforms())
    assert any(expected in str(fault) for fault in refused.value.faults), refused.value
    assert "unused" not in str(refused.value)


def test_where_the_environment_is_known_its_values_are_judged() -> None:
    webhook = {"url": "${URL}", "secret": "${SIEM}", "kinds": ["request.*"]}
    text = f"org: acme\ndefault: deny\nwebhooks: {json.dumps({'siem': webhook})}\n"
    with pytest.raises(PolicyFaultsError) as refused:
        load_policy(text, environ={"URL": "ftp://x", "SIEM": "weak"}, channel_types={})
    assert {fault.path for fault in refused.value.faults} == {"webhooks.siem.secret", "webhooks.siem.url"}
