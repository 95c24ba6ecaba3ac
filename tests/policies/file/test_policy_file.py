"""`assent.yaml`: what a good file becomes, and every fault of a bad one with its line and its mend."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from app.domain.rules.policy import UnknownTools
from app.domain.rules.rule import Then
from app.domain.text.language import Language
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.fixtures.specs import a_spec
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2-hunter2-hunter2"
ENVIRON = {"SLACK_BOT_TOKEN": f"xoxb-{SECRET}", "SLACK_SIGNING_SECRET": SECRET, "EMPTY": " "}


class SlackLike(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["slack"]
    bot_token: SecretStr
    signing_secret: SecretStr
    channel: str = Field(pattern=r"^C[A-Z0-9]+$")
    receive: Literal["webhook", "socket"] = "webhook"
    language: Language = Language.EN

    @field_validator("bot_token")
    @classmethod
    def _talkative(cls, token: SecretStr) -> SecretStr:
        if not token.get_secret_value().startswith("xoxb-"):
            raise ValueError(f"{token.get_secret_value()} is no bot token")
        return token

    @model_validator(mode="after")
    def _rested(self) -> SlackLike:
        if self.receive == "socket":
            raise ValueError("no socket on Sundays")
        return self


TYPES = {"slack": a_spec("slack", SlackLike), "feishu": a_spec("feishu", SlackLike, has_departments=True)}

GOOD = """\
org: acme
language: zh
default: ask
ask: {stages: [{of: [finance]}], channels: [pay-slack], timeout: 2h}
people:
  Wang@acme.example: {name: 王芳, feishu: ou_6b1, slack: U0WANG}
  chen@acme.example:
groups:
  finance: [wang@acme.example, chen@acme.example]
channels:
  pay-slack: {type: slack, bot_token: "${SLACK_BOT_TOKEN}", signing_secret: "${SLACK_SIGNING_SECRET}", channel: C0PAY}
tools:
  oa__purchase_pay:
    title: "Pay {payee} {amount} {currency}"
    pin: [payee, amount]
    sensitive: [bank_account]
  oa__refund:
    schema: {type: object, properties: {amount: {type: integer}}, additionalProperties: false}
    writes: no_matter
rules:
  - {id: small, tools: [oa__purchase_pay], when: 'args.amount <= 50000', then: allow}
  - id: large
    tools: [oa__purchase_pay]
    then: ask
    stages: [{of: [finance, chen@acme.example], need: 2}]
    timeout: 30m
  - {id: refunds, tools: ["oa__*"], agents: [buyer], then: deny, reason: Not here.}
""".replace("    writes: no_matter\n", "")


def load(text: str, environ: dict[str, str] = ENVIRON) -> LoadedPolicy:
    return load_policy(text, environ=environ, channel_types=TYPES)


def faults(text: str, environ: dict[str, str] = ENVIRON) -> list[str]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text, environ)
    assert SECRET not in str(refused.value)
    assert str(refused.value).splitlines() == [str(fault) for fault in refused.value.faults]
    return [str(fault).removeprefix("assent.yaml:") for fault in refused.value.faults]


def test_a_good_file_becomes_a_policy() -> None:
    loaded = load(GOOD)
    policy = loaded.policy
    assert (policy.org, policy.language, policy.default) == ("acme", Language.ZH, Then.ASK)
    assert policy.unknown_tools is UnknownTools.RULES
    wang = policy.directory.find("WANG@acme.example")
    assert wang
    assert (wang.email, wang.name, wang.accounts) == (
        "wang@acme.example",
        "王芳",
        {"feishu": "ou_6b1", "slack": "U0WANG"},
    )
    assert policy.directory.members("finance") == {"wang@acme.example", "chen@acme.example"}
    assert [(spec.name, spec.kind) for spec in policy.channels] == [("pay-slack", "slack")]
    small, large, refunds = policy.rules
    assert small.asking is None
    assert large.asking
    assert large.asking.timeout == timedelta(minutes=30)
    assert (large.asking.channels, large.asking.claim_within) == (("pay-slack",), timedelta(minutes=10))
    assert [(stage.of, stage.need) for stage in large.asking.stages] == [(("finance", "chen@acme.example"), 2)]
    assert (large.line, refunds.line, refunds.reason) == (21, 26, "Not here.")
    assert policy.ask
    assert policy.ask.timeout == timedelta(hours=2)
    assert policy.tools["oa__purchase_pay"].sensitive == ("bank_account",)


def test_secrets_reach_the_settings_of_their_channel_and_nothing_else() -> None:
    loaded = load(GOOD)
    settings = loaded.channel_settings["pay-slack"]
    assert isinstance(settings, SlackLike)
    assert settings.bot_token.get_secret_value() == f"xoxb-{SECRET}"
    assert settings.language is Language.ZH  # the file's own, where the channel names none
    assert SECRET not in repr(loaded)


def test_a_reference_may_be_a_part_of_a_text() -> None:
    text = GOOD.replace('"${SLACK_BOT_TOKEN}"', '"xoxb-${SLACK_SIGNING_SECRET}"')
    settings = load(text).channel_settings["pay-slack"]
    assert isinstance(settings, SlackLike)
    assert settings.bot_token.get_secret_value() == f"xoxb-{SECRET}"


def test_the_version_names_what_the_file_says_and_not_how_it_is_written() -> None:
    version = load(GOOD).policy.version
    assert len(version) == 12
    assert load("# why\n" + GOOD.replace("[payee, amount]", "[ payee,amount ]")).policy.version == version
    assert load(GOOD, {**ENVIRON, "SLACK_SIGNING_SECRET": "another"}).policy.version == version
    assert load(GOOD.replace("50000", "50001")).policy.version != version


def test_yes_no_on_and_dates_are_texts() -> None:
    text = GOOD.replace("name: 王芳", "name: no").replace("[buyer]", "[on, 2026-01-01, 1_000, 0x10, 010]")
    policy = load(text).policy
    wang = policy.directory.find("wang@acme.example")
    assert wang
    assert wang.name == "no"
    assert [pattern.text for pattern in policy.rules[2].agents] == ["on", "2026-01-01", "1_000", "0x10", "010"]


@requirement("S-57")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # names
        ("tools: [oa__purchase_pay], when", "tools: [oa_purchase_pay], when",
         '20: rules[0].tools[0]: unknown tool "oa_purchase_pay"; did you mean "oa__purchase_pay"?'),
        ("pay-slack], timeout: 2h", "pay-slak], timeout: 2h",
         '4: ask.channels[0]: unknown channel "pay-slak"; did you mean "pay-slack"?'),
        ("{of: [finance]}", "{of: [finace]}",
         '4: ask.stages[0].of[0]: unknown group "finace"; did you mean "finance"?'),
        ("[finance, chen@acme.example]", "[finance, zhen@acme.example]",
         '24: rules[1].stages[0].of[1]: unknown person "zhen@acme.example"; did you mean "chen@acme.example"?'),
        ("[wang@acme.example, chen", "[weng@acme.example, chen",
         '9: groups.finance[0]: unknown person "weng@acme.example"; did you mean "wang@acme.example"?'),
        ("type: slack", "type: slck",
         '11: channels.pay-slack.type: unknown channel type "slck"; did you mean "slack"?'),
        ("slack: U0WANG", "slak: U0WANG",
         '6: people.Wang@acme.example.slak: unknown key "slak"; did you mean "slack"?'),
        ("id: large", "id: small", '21: rules[1].id: the id "small" again (first on line 20)'),
        ("id: large", "id: default", '21: rules[1].id: "default" is a name of our own; choose another one'),
        # keys and shapes
        ("org: acme", "org: acme\nplugins: []", '2: plugins: unknown key "plugins"; keys: '),
        ("language: zh", "languge: zh", '2: languge: unknown key "languge"; did you mean "language"?'),
        ("language: zh", "language: de", "2: language: must be en or zh"),
        ("org: acme", "org: Acme Inc", "1: org: "),
        ("default: ask\n", "default: maybe\n", "3: default: must be allow, deny or ask"),
        ("default: ask\n", "default: true\n", "3: default: must be allow, deny or ask"),
        ("then: deny", "then: forbid", "26: rules[2].then: must be"),
        ("then: deny", "than: deny", '26: rules[2]: "then" is missing'),
        ("then: deny, reason", "then: deny, raeson",
         '26: rules[2].raeson: unknown key "raeson"; did you mean "reason"?'),
        ('tools: ["oa__*"]', "tools: oa__x", "26: rules[2].tools: must be a list, and here is"),
        ('tools: ["oa__*"]', "tools: []", "26: rules[2].tools: "),
        ("agents: [buyer]", "agents: []", "26: rules[2].agents: "),
        ("need: 2", 'need: "2"', "24: rules[1].stages[0].need: must be a whole number, and here is"),
        ("need: 2", "need: 0", "24: rules[1].stages[0].need: must be 1 or more, and here is"),
        ("org: acme", "org: acme\norg: acme", "2: org: the same key again (first on line 1)"),
        ("  chen@acme.example:\n", "  chen@acme.example:\n  CHEN@acme.example:\n",
         "8: people.CHEN@acme.example: the same e-mail again, apart from upper and lower case"),
        ("[wang@acme.example, chen@acme.example]", "wang@acme.example", "9: groups.finance: must be a list of e-mails"),
        # people
        ("  chen@acme.example:\n", "  chen@acme.example:\n  chen: {}\n", "8: people.chen: a person's key is an e-mail"),
        ("  chen@acme.example:\n", "  chen@acme.example:\n  ｗang@acme.example: {}\n",
         "8: people.ｗang@acme.example: is written with characters that only look like plain ones"),
        ("  chen@acme.example:\n", "  chen@acme.example: {slack: U0WANG}\n",
         "7: people.chen@acme.example.slack: is the account of Wang@acme.example already"),
        ("slack: U0WANG", 'slack: "Wang Fang"', "6: people.Wang@acme.example.slack: must be an account's id there"),
        # who is asked
        ("  finance: [wang@acme.example, chen@acme.example]\n", "  finance: []\n", "9: groups.finance: has no members"),
        ("  finance: [wang@acme.example, chen@acme.example]\n", "  finance:\n", "9: groups.finance: is empty; "),
        ("need: 2", "need: 3", "24: rules[1].stages[0].need: needs 3 people, but there are only 2"),
        ("stages: [{of: [finance, chen@acme.example], need: 2}]", "stages: []",
         "24: rules[1].stages: is empty: nobody could approve"),
        ("[finance, chen@acme.example]", "[]", "24: rules[1].stages[0].of: is empty: nobody could approve"),
        ("[{of: [finance, chen@acme.example], need: 2}]", "[{of: [finance], need: 2}, {of: [finance]}]",
         "24: rules[1].stages: stages 1 and 2 need 3 different people together, but there are only 2"),
        ("channels: [pay-slack], timeout: 2h", "channels: [], timeout: 2h",
         "4: ask.channels: is empty: nobody could be reached"),
        ("ask: {stages: [{of: [finance]}], channels: [pay-slack], timeout: 2h}\n", "",
         ('3: default: "ask" is missing: it says whom to ask about tools that no rule names; add: ask: {stages: '
          "[{of: [finance], need: 1}], channels: [pay-slack], timeout: 30m}")),
        ("ask: {stages: [{of: [finance]}], channels: [pay-slack], timeout: 2h}\n", "",
         '20: rules[1]: asks, but has no "channels" and there is no top-level "ask" to take them from'),
        ("then: allow}", "then: allow, stages: [{of: [finance]}]}",
         '20: rules[0].stages: means nothing on a rule that says "then: allow"'),
        ("    timeout: 30m", "    record: false", "25: rules[1].record: what people are asked is always recorded"),
        # times
        ("timeout: 30m", "timeout: 30", "25: rules[1].timeout: must be a time such as 30s, 30m, 2h or 1d"),
        ("timeout: 30m", "timeout: 1.5h", "25: rules[1].timeout: must be a time such as 30s, 30m, 2h or 1d"),
        ("timeout: 30m", "timeout: 9s", "25: rules[1].timeout: must be between 10s and 30d"),
        ("timeout: 30m", "timeout: 31d", "25: rules[1].timeout: must be between 10s and 30d"),
        # conditions
        ("args.amount <= 50000", "amount <= 50000",
         '20: rules[0].when: unknown variable "amount"; there are: args, agent, user, session, tool, now'),
        ("args.amount <= 50000", "args.amount <=", "20: rules[0].when: no condition: nothing follows"),
        ("agents: [buyer]", "when: 'args.amuont > 1'", None),
        ('tools: ["oa__*"], agents: [buyer]', "tools: [oa__refund], when: 'args.amuont > 1'",
         '26: rules[2].when: oa__refund has no argument "amuont"; did you mean "amount"?'),
        # rules that can never match
        ('tools: ["oa__*"]', "tools: [oa__purchase_pay]",
         '26: rules[2]: can never match: rule "large" on line 21 answers first, without a condition'),
        # tools
        ("Pay {payee}", "Pay {payee", "14: tools.oa__purchase_pay.title: has a brace that is no field"),
        ("Pay {payee}", "Pay {bank_account.number}",
         '14: tools.oa__purchase_pay.title: shows "bank_account.number", which is sensitive'),
        ("pin: [payee,", "pin: [bank_account,",
         '15: tools.oa__purchase_pay.pin[0]: shows "bank_account", which is sensitive'),
        ("schema: {type: object,", "money: [amont]\n    schema: {type: object,",
         '18: tools.oa__refund.money[0]: the schema has no argument "amont"; did you mean "amount"?'),
        ("schema: {type: object,", "schema: {type: objekt,", "18: tools.oa__refund.schema: type is not JSON Schema"),
        # secrets and channels
        ("${SLACK_BOT_TOKEN}", "${SLACK_BOT_TOKE}",
         "11: channels.pay-slack.bot_token: the environment variable SLACK_BOT_TOKE is not set"),
        ("${SLACK_BOT_TOKEN}", "${EMPTY}", "11: channels.pay-slack.bot_token: the environment variable EMPTY is empty"),
        ("${SLACK_BOT_TOKEN}", "${slack bot}", "11: channels.pay-slack.bot_token: ${slack bot} is no reference"),
        ("${SLACK_BOT_TOKEN}", "xoxb-plain",
         '11: channels.pay-slack.bot_token: a secret may not stand in this file; write bot_token: "${NAME}"'),
        ("${SLACK_BOT_TOKEN}", "${SLACK_SIGNING_SECRET}", "11: channels.pay-slack.bot_token: ••• is no bot token"),
        ("channel: C0PAY", "channel: pay", "11: channels.pay-slack.channel: must be written as its channel type says"),
        ("channel: C0PAY", "chanel: C0PAY",
         '11: channels.pay-slack.chanel: unknown key "chanel"; did you mean "channel"?'),
        ("channel: C0PAY", "receive: post", '11: channels.pay-slack: "channel" is missing'),
        ("name: 王芳", "name: '${SLACK_BOT_TOKEN}'",
         "6: people.Wang@acme.example.name: ${SLACK_BOT_TOKEN}: secrets may only stand inside channels"),
        ("type: slack, ", "", '11: channels.pay-slack: "type" is missing; types: feishu, slack'),
        ("  pay-slack: {", "  Pay: 1\n  pay-slack: {", "11: channels.Pay: must be a mapping"),
        ("  pay-slack: {", "  Pay: 1\n  pay-slack: {", "11: channels.Pay: a channel's name is of small letters"),
        ("channel: C0PAY", "channel: C0PAY, receive: socket, chanel: x",
         "11: channels.pay-slack: no socket on Sundays"),
        ("C0PAY}", 'C0PAY, extra: {a: ["${NO_SUCH}"]}}',
         "11: channels.pay-slack.extra.a[0]: the environment variable NO_SUCH is not set"),
        # what is left
        ("{type: integer}", "{minimum: 1.0e999}", "1: tools.oa__refund.schema.properties.amount.minimum: not a finite"),
        ("groups:\n  finance: [wang@acme.example, chen@acme.example]\n", "",
         '4: ask.stages[0].of[0]: unknown group "finance"; there are no groups'),
        ("  finance: [wang", "  fin ance: [chen@acme.example]\n  finance: [wang",
         "9: groups.fin ance: a group's name has no"),
        ("[wang@acme.example, chen", "[chen@acme.example, chen",
         "9: groups.finance[1]: chen@acme.example is a member already"),
        ("  oa__refund:", "  oa *:", "17: tools.oa *: a tool's name has no spaces and no *"),
        ("    timeout: 30m", "    channels: [pay-slack, pay-slack]", '25: rules[1].channels[1]: "pay-slack" again'),
        ("[{of: [finance, chen@acme.example], need: 2}]", "[" + "{of: [finance]}," * 9 + "]",
         "24: rules[1].stages: has more than 8 stages"),
        ('["oa__*"], agents: [buyer]', '["bash_*"]', None),
        ("language: zh", "unknown_tools: deny", None),
        ("rules:\n", "rules:\n  - not a mapping\n", "20: rules[0]: must be a mapping"),
        ("timeout: 2h", "timeout: 2.5", "4: ask.timeout: must be a time"),
        # YAML itself
        ("name: 王芳", "name: " + "[" * 40 + "]" * 40, "6: nested deeper than 32"),
        ("name: 王芳", "name: [", "not YAML"),
        ("name: 王芳", "name: &a x", "6: anchors and aliases (& and *) are not accepted here"),
        ("name: 王芳", "name: *a", "6: anchors and aliases (& and *) are not accepted here"),
        ("name: 王芳", "<<: {name: x}", "6: merge keys (<<) are not accepted here"),
        ("name: 王芳", "name: !!python/object/apply:os.getcwd []", "6: tags are not accepted here"),
        ("name: 王芳", "? [a] : b", "6: a key must be a text"),
        ("org: acme", "org: acme\n---\norg: b", "not YAML"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line_and_its_mend(old: str, new: str, expected: str | None) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if expected is None:
        load(text)
        return
    found = faults(text)
    assert any(expected in fault if not expected[0].isdigit() else fault.startswith(expected) for fault in found), found


@requirement("S-57")
def test_all_faults_are_told_at_once_in_the_order_of_the_file() -> None:
    text = (
        GOOD.replace("org: acme", "organisation: acme")
        .replace("[wang@acme.example,", "[weng@acme.example,")
        .replace("C0PAY", "pay")
        .replace("50000'", "50000 &&'")
        .replace("timeout: 30m", "timeout: soon")
        .replace("need: 2", "need: 5")
        .replace('["oa__*"]', "[oa__pruchase_pay]")
    )
    lines = [(fault.split(": ")[0], fault.split(": ")[1]) for fault in faults(text)]
    assert lines == [
        ("1", "organisation"),
        ("1", '"org" is missing; add org'),
        ("9", "groups.finance[0]"),
        ("11", "channels.pay-slack.channel"),
        ("20", "rules[0].when"),
        ("24", "rules[1].stages[0].need"),
        ("25", "rules[1].timeout"),
        ("26", "rules[2].tools[0]"),
    ]


@requirement("S-57")
@pytest.mark.parametrize("text", ["", "# nothing", "- a list", "text", "42", "[" * 5000, "\x00", "a: \ud800"])
def test_what_is_no_configuration_at_all_is_refused_without_a_crash(text: str) -> None:
    assert faults(text)


@requirement("S-57")
def test_a_glob_that_reaches_no_tool_is_a_fault_where_unknown_tools_never_reach_the_rules() -> None:
    text = GOOD.replace("language: zh", "unknown_tools: deny").replace('["oa__*"]', '["bash_*"]')
    assert faults(text) == ['26: rules[2].tools[0]: "bash_*" matches no tool, and unknown tools never reach the rules']


@requirement("S-57")
@pytest.mark.parametrize("key", ["people", "groups", "channels", "tools", "ask"])
def test_a_section_of_the_wrong_shape_is_a_fault(key: str) -> None:
    found = faults(f"org: acme\ndefault: deny\n{key}: [1]\n")
    [only] = found
    assert only.startswith(f"3: {key}: must be a mapping, and here is a list; write {{")
    told = faults("org: acme\ndefault: deny\nrules: {}\nhooks: 1\n")
    assert told[0] == "3: rules: must be a list, and here is a mapping; write [one, another]"


def test_stages_that_share_people_can_be_met_if_there_are_enough() -> None:
    stages = "[{of: [finance], need: 1}, {of: [chen@acme.example]}]"
    load(GOOD.replace("[{of: [finance, chen@acme.example], need: 2}]", stages))


@requirement("S-57")
def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    for path, said in [(tmp_path / "none.yaml", "cannot be read"), (tmp_path, "cannot be read")]:
        with pytest.raises(PolicyFaultsError, match=said):
            load_policy(path, environ={}, channel_types=TYPES)
    (tmp_path / "large.yaml").write_text("#" * 1_000_001)
    with pytest.raises(PolicyFaultsError, match="larger than"):
        load_policy(tmp_path / "large.yaml", environ={}, channel_types=TYPES)
    (tmp_path / "latin.yaml").write_bytes(b"org: \xe9")
    with pytest.raises(PolicyFaultsError, match="not UTF-8"):
        load_policy(tmp_path / "latin.yaml", environ={}, channel_types=TYPES)


def test_a_rule_that_an_earlier_one_covers_only_in_part_is_no_fault() -> None:
    for earlier, later in [
        ("tools: [oa__refund], agents: [buyer]", "tools: [oa__refund]"),
        ("tools: [oa__refund]", "tools: [oa__refund, oa__purchase_pay]"),
        ("tools: [oa__refund]", 'tools: ["oa__r*"]'),
        ('tools: [oa__refund], agents: ["b*"]', 'tools: [oa__refund], agents: ["b*", c]'),
        ("tools: [oa__refund], when: 'args.amount > 1'", "tools: [oa__refund]"),
    ]:
        rules = f"rules:\n  - {{id: a, {earlier}, then: deny}}\n  - {{id: b, {later}, then: allow}}\n"
        load(GOOD.split("rules:")[0] + rules)


def test_a_rule_that_earlier_ones_cover_whole_can_never_match() -> None:
    for earlier, later in [
        ('tools: ["*"]', 'tools: ["oa__*", oa__refund]'),
        ('tools: ["oa__*"]', 'tools: ["oa__r*"]'),
        ("tools: [oa__refund], agents: ['*']", "tools: [oa__refund], agents: [b]"),
        ("tools: [oa__refund]", "tools: [oa__refund], when: 'args.amount > 1'"),
    ]:
        rules = f"rules:\n  - {{id: a, {earlier}, then: deny}}\n  - {{id: b, {later}, then: allow}}\n"
        found = faults(GOOD.split("rules:")[0] + rules)
        assert [fault.split(": ")[2] for fault in found] == ["can never match"], (earlier, later, found)
