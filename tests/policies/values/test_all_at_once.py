"""Every fault of every section is told in one go, each once, in the order of the file, and very many are bounded."""

from __future__ import annotations

from collections import Counter

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import MOST_FAULTS, PolicyFaultsError
from channels import registry
from tests.requirements import requirement

FAULTY = """\
org: Acme
default: sometimes
timezone: Mars
people:
  a@acme.example: {nmae: Ann Lee, limit: 5, language: de, manager: z@acme.example}
  b@acme.example: {away: [{from: soon, until: 2026-01-01, to: a@acme.example}], slack: "?"}
groups:
  one: [x@acme.example, y@acme.example]
  two: {members: 5, chanel: ops}
channels:
  ops: {type: slack, bot_token: "${BOT}", signing_secret: "${SHORT}", channel: 123, team_id: acme, colour: red}
  pay: {type: feishu, app_id: 5, app_secret: "${UNSET}", chat: team, domain: https://feishu.example, receive: post}
tools:
  pay: {title: 5, pin: payee, writes: never, schema: {type: objekt}}
rules:
  - {id: one, tools: [pay], then: maybe, reason: 5}
  - {id: two, tools: [pay], then: allow, record: 5, when: "args."}
hooks:
  - {on: Never, use: nothing, priority: high}
agents:
  shop: {inherit: maybe, hooks: [{on: PreToolUse, use: nothing}]}
webhooks:
  siem: {url: "http://siem.example", secret: plain, kinds: [nothing], private: 5}
  pager: {url: 5, secret: "${SHORT}", kinds: [nothing]}
sign_in:
  okta: {issuer: "ftp://okta.example", client_id: "", client_secret: "${UNSET}", subjects: {z@acme.example: s},
         algorithms: [HS256]}
calendar: {work: {someday: "9-5"}, holidays: [never], timezone: 5}
attention: {cards_per_hour: 0, quiet: late, digest: [noon]}
payments: {duplicates: long, step_up: [night], budgets: [{id: a, per: world, within: 1d, count: 0, tools: [nothing]}]}
retention: {outbox: 1h, requests: 1h}
"""
TOLD = """\
org default timezone
people.a@acme.example.nmae people.a@acme.example.limit people.a@acme.example.language people.a@acme.example.manager
people.b@acme.example.away[0].from people.b@acme.example.slack
groups.one[0] groups.one[1] groups.two.members groups.two.chanel
channels.ops.signing_secret channels.ops.channel channels.ops.team_id channels.ops.colour
channels.pay.app_id channels.pay.app_secret channels.pay.chat channels.pay.domain channels.pay.receive
tools.pay.title tools.pay.pin tools.pay.writes
rules[0].then rules[0].reason rules[1].record rules[1].when
hooks[0].priority
agents.shop.inherit agents.shop.hooks[0].use
webhooks.siem.url webhooks.siem.secret webhooks.siem.kinds[0] webhooks.siem.private
webhooks.pager.url webhooks.pager.secret webhooks.pager.kinds[0]
sign_in.okta.issuer sign_in.okta.client_id sign_in.okta.client_secret sign_in.okta.subjects.z@acme.example
sign_in.okta.algorithms[0]
calendar.work.someday calendar.holidays[0] calendar.timezone
attention.cards_per_hour attention.quiet attention.digest[0]
payments.duplicates payments.step_up[0] payments.budgets[0].per payments.budgets[0].count payments.budgets[0].tools[0]
retention.outbox retention.requests
"""
ENVIRON = {"BOT": "xoxb-1234-5678-abcdef", "SHORT": "abc"}


def refused(text: str) -> PolicyFaultsError:
    with pytest.raises(PolicyFaultsError) as found:
        load_policy(text, environ=ENVIRON, channel_types=registry.platforms())
    return found.value


@requirement("S-57")
def test_the_faults_of_all_sections_are_told_in_one_go_in_the_order_of_the_file() -> None:
    faults = refused(FAULTY).faults
    missing = {*TOLD.split()} - {fault.path for fault in faults}
    assert missing == set()
    assert [fault.line for fault in faults] == sorted(fault.line for fault in faults)
    told = Counter(fault.path for fault in faults)
    assert [path for path in TOLD.split() if told[path] > 1] == []


@requirement("S-57", "S-04")
def test_a_channel_says_what_each_of_its_secrets_is_and_where_it_is_found() -> None:
    told = {fault.path: str(fault) for fault in refused(FAULTY).faults}
    assert told["channels.ops.signing_secret"] == (
        "assent.yaml:11: channels.ops.signing_secret: has 3 characters: it is the app's Signing Secret, 32 hex "
        "characters, from App Credentials under Basic Information of the Slack app (api.slack.com/apps)"
    )
    assert "the environment variable UNSET is not set; export UNSET=" in told["channels.pay.app_secret"]
    assert "channels.pay" not in told


@pytest.mark.parametrize("payment", ["5", "{amount: 5, currency: c, payee: p}", "{amount: a, currency: c}"])
def test_a_payment_at_fault_is_told_where_it_stands_and_not_wherever_payments_are_named(payment: str) -> None:
    text = f"""\
org: acme
default: deny
tools:
  pay: {{payment: {payment}, schema: {{type: object, properties: {{}}, additionalProperties: false}}}}
rules:
  - {{id: a, tools: [pay], tiers: [{{up_to: {{CNY: 5}}, then: deny}}, {{then: deny}}]}}
payments: {{budgets: [{{id: d, per: agent, within: 1d, count: 5, tools: [pay]}}]}}
"""
    told = [fault.path for fault in refused(text).faults if not fault.path.startswith("tools.pay.payment")]
    assert told == []


def test_an_issuer_at_fault_is_told_where_it_stands_and_not_wherever_it_is_relied_on() -> None:
    text = """\
org: acme
default: deny
url: https://assent.acme.example
tools: {pay: {}}
sign_in: {okta: {issuer: 5, client_id: 5, client_secret: "${BOT}", groups: 5, requesters: {audiences: []}}}
roles: {auditor: ["claim:admins"]}
rules: [{id: a, tools: [pay], then: allow, requester: verified}]
"""
    assert {fault.line for fault in refused(text).faults} == {5}


def test_of_very_many_faults_the_first_are_told_and_how_many_more_there_are() -> None:
    text = "org: acme\ndefault: deny\ngroups:\n" + "".join(f"  g{n}: [p{n}@acme.example]\n" for n in range(150))
    lines = str(refused(text)).splitlines()
    assert len(lines) == 101
    assert lines[0].startswith('assent.yaml:4: groups.g0[0]: unknown person "p0@acme.example"')
    assert lines[-1] == "and 50 more"


def test_no_more_faults_are_looked_for_than_anybody_would_read() -> None:
    text = "org: acme\ndefault: deny\n" + "".join(f"key{n}: 1\n" for n in range(3 * MOST_FAULTS))
    error = refused(text)
    assert len(error.faults) == MOST_FAULTS
    assert str(error).splitlines()[-1] == "and 900 more at least: no more were looked for"
