"""Levels, tiers and standing approvals of rules, and `break_glass`: what they become, and every fault with its line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from app.domain.people.assurance import Assurance
from app.domain.request.request import Risk
from app.domain.rules.permits import Bounds, GlassTerms, StandingTerms
from app.domain.rules.policy import Allow, Ask, Deny, judge
from app.domain.rules.rule import Then
from app.domain.rules.session_approval import SessionTerms
from app.policies.file.policy_file import LoadedPolicy, load_policy
from app.policies.marks.faults import PolicyFaultsError
from tests.domain.samples import a_call
from tests.fixtures.specs import a_spec
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.rules.rule import Rule

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
FILE = """\
org: acme
default: deny
people: {wang@acme.example: {}, chen@acme.example: {}, li@acme.example: {}}
groups:
  finance: [wang@acme.example, chen@acme.example]
  board: [li@acme.example, chen@acme.example]
  head: [li@acme.example]
channels: {room: {type: room}, hall: {type: room}, attic: {type: room}}
ask: {stages: [{of: [finance]}], channels: [room], timeout: 1h, assurance: L2, fallback: [attic], remind: [0.25],
      escalate: [{after: 30m, to: [head]}]}
tools:
  pay:
    sensitive: [iban]
    payment: {amount: amount, currency: currency, payee: payee, account: iban}
  wire: {payment: {amount: amount, currency: currency, payee: payee}, irreversible: true}
  deploy: {schema: {type: object, properties: {service: {type: string}}, additionalProperties: false}}
rules:
  - id: paying
    tools: [pay, wire]
    lease: 5m
    tiers:
      - {up_to: {CNY: 5000}, then: allow}
      - {up_to: "50000 CNY", timeout: 45m}
      - up_to: {CNY: 500000, USD: 70000}
        stages: [{of: [finance]}, {of: [board]}]
        channels: [room, hall]
        timeout: 2h
        risk: high
        assurance: L3
        remind: []
        escalate: [{after: 90m, to: [head]}]
        fallback: []
        claim_within: 2m
        lease: 3m
      - {stages: [{of: [board]}, {of: [finance]}], risk: high, assurance: L4}
  - id: deploying
    tools: [deploy]
    then: ask
    assurance: L1
    standing: {lasts: 7d, uses: 20, same: [service]}
  - id: frozen
    tools: ["*"]
    then: deny
break_glass: {of: [finance, head], lasts: 30m, tools: ["deploy*", pay], channels: [hall], review: [finance, board],
              uses: 5, each: {CNY: 500}, total: {CNY: 2000}}
"""
STANDING = "{lasts: 7d, uses: 20, each: {CNY: 500}, total: {CNY: 2000}, same: [payee, iban]}"
WITH_STANDING = FILE.replace("tools: [pay, wire]", "tools: [pay]").replace(
    "    lease: 5m\n", f"    lease: 5m\n    standing: {STANDING}\n"
)


class Room(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["room"]


def load(text: str = FILE) -> LoadedPolicy:
    return load_policy(text, environ={}, channel_types={"room": a_spec("room", Room)})


def rule(name: str, text: str = FILE) -> Rule:
    return next(rule for rule in load(text).policy.rules if rule.id == name)


def faults(text: str) -> list[str]:
    with pytest.raises(PolicyFaultsError) as refused:
        load(text)
    return [str(fault).removeprefix("assent.yaml:") for fault in refused.value.faults]


def test_a_tier_inherits_what_it_leaves_out_from_its_rule_and_then_from_ask() -> None:
    paying = rule("paying")
    small, middle, large, huge = paying.tiers
    assert (small.up_to, small.then, small.asking) == ({"CNY": Decimal(5000)}, Then.ALLOW, None)
    assert (middle.up_to, middle.then) == ({"CNY": Decimal(50000)}, Then.ASK)
    assert middle.asking
    assert (middle.asking.timeout, middle.asking.lease) == (timedelta(minutes=45), timedelta(minutes=5))
    assert middle.asking.assurance is Assurance.L2
    assert (middle.asking.channels, middle.asking.fallback, middle.asking.remind) == (("room",), ("attic",), (0.25,))
    assert [stage.of for stage in middle.asking.stages] == [("finance",)]
    assert large.asking
    assert [stage.of for stage in large.asking.stages] == [("finance",), ("board",)]
    assert (large.asking.channels, large.asking.risk) == (("room", "hall"), Risk.HIGH)
    assert (large.asking.assurance, large.asking.remind, large.asking.fallback) == (Assurance.L3, (), ())
    assert (large.asking.claim_within, large.asking.lease) == (timedelta(minutes=2), timedelta(minutes=3))
    assert large.asking.escalate[0].after == timedelta(minutes=90)
    assert (huge.up_to, huge.then) == (None, Then.ASK)
    assert paying.then is Then.ASK
    assert paying.asking == huge.asking, "in doubt as in the highest tier"


def test_a_rule_inherits_the_level_of_ask_or_says_another() -> None:
    deploying = rule("deploying").asking
    assert deploying
    assert deploying.assurance is Assurance.L1
    plain = rule("deploying", FILE.replace("    assurance: L1\n", "")).asking
    assert plain
    assert plain.assurance is Assurance.L2
    lowest = rule("deploying", FILE.replace("    assurance: L1\n", "").replace(", assurance: L2", "")).asking
    assert lowest
    assert lowest.assurance is Assurance.L1


def test_whom_an_allowed_payment_would_ask_is_said_by_the_tier_above_or_by_ask() -> None:
    small = a_call(tool="pay", arguments={"payee": "A", "currency": "CNY", "amount": 1})
    allowed = judge(load().policy, small, now=NOON)
    assert isinstance(allowed, Allow)
    assert allowed.otherwise == rule("paying").tiers[1].asking
    tiers = FILE[FILE.index("    tiers:\n") : FILE.index("  - id: deploying")]
    capped = FILE.replace(tiers, "    tiers: [{up_to: {CNY: 5000}, then: allow}, {then: deny}]\n")
    allowed = judge(load(capped).policy, small, now=NOON)
    assert isinstance(allowed, Allow)
    assert allowed.otherwise
    assert [stage.of for stage in allowed.otherwise.stages] == [("finance",)]
    assert allowed.otherwise.lease == timedelta(minutes=5), "as the rule says"
    large = a_call(tool="pay", arguments={"payee": "A", "currency": "CNY", "amount": 5001})
    assert isinstance(judge(load(capped).policy, large, now=NOON), Deny)


def test_a_condition_in_doubt_asks_as_the_highest_tier() -> None:
    doubtful = FILE.replace("    lease: 5m\n", "    lease: 5m\n    when: args.kind == 1\n")
    call = a_call(tool="pay", arguments={"payee": "A", "currency": "CNY", "amount": 1})
    asked = judge(load(doubtful).policy, call, now=NOON)
    assert isinstance(asked, Ask)
    assert asked.asking.assurance is Assurance.L4
    assert [stage.of for stage in asked.asking.stages] == [("board",), ("finance",)]


@requirement("S-26")
def test_standing_terms_are_read_and_tiers_inherit_them() -> None:
    terms = StandingTerms(
        lasts=timedelta(days=7),
        uses=20,
        each={"CNY": Decimal(500)},
        total={"CNY": Decimal(2000)},
        same=("payee", "iban"),
    )
    tiers = rule("paying", WITH_STANDING).tiers
    assert [tier.asking.standing if tier.asking else None for tier in tiers] == [None, terms, terms, terms]
    deploying = rule("deploying").asking
    assert deploying
    assert deploying.standing == StandingTerms(lasts=timedelta(days=7), uses=20, each={}, total={}, same=("service",))
    own = FILE.replace("[pay, wire]", "[pay]").replace("timeout: 45m", f"timeout: 45m, standing: {STANDING}")
    assert [tier.asking.standing if tier.asking else None for tier in rule("paying", own).tiers] == [
        None,
        terms,
        None,
        None,
    ]


OF_SESSION = "{lasts: 30m, uses: 5, each: {CNY: 2000}, differ: [memo]}"
WITH_SESSION = FILE.replace("[pay, wire]", "[pay]").replace("timeout: 45m", f"timeout: 45m, session: {OF_SESSION}")


@requirement("S-26")
def test_what_an_approver_may_allow_for_a_session_is_read_from_the_tier_that_says_it() -> None:
    terms = SessionTerms(lasts=timedelta(minutes=30), uses=5, each={"CNY": Decimal(2000)}, differ=("memo",))
    found = [tier.asking.session if tier.asking else None for tier in rule("paying", WITH_SESSION).tiers]
    assert found == [None, terms, None, None]
    deploying = FILE.replace(
        "standing: {lasts: 7d, uses: 20, same: [service]}", "session: {lasts: 8h, uses: 1, differ: [service]}"
    )
    asking = rule("deploying", deploying).asking
    assert asking is not None
    assert asking.session == SessionTerms(lasts=timedelta(hours=8), uses=1, each={}, differ=("service",))
    assert asking.each_time.session is None


@requirement("S-26")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("lasts: 30m, uses: 5", "lasts: 9h, uses: 5", "rules[0].tiers[1].session.lasts: must be from 1m to 8h"),
        ("uses: 5, each", "uses: 51, each", "rules[0].tiers[1].session.uses: must be 50 or less, and here is"),
        (", each: {CNY: 2000}", "", '23: rules[0].tiers[1].session: "each" is missing: the rule is about payments'),
        ("differ: [memo]", "differs: [memo]", 'tiers[1].session.differs: unknown key "differs"'),
        ("differ: [memo]", "differ: [payee]", "session.differ[0]: holds the payee of pay: that is never another"),
        ("differ: [memo]", "differ: [iban]", "session.differ[0]: holds the account of pay"),
        ("differ: [memo]", "differ: [currency]", "session.differ[0]: holds the currency of pay"),
        ("tools: [pay]", 'tools: ["pa*"]', 'tiers[1].session: needs its tools by name: "pa*" could come to mean'),
        ("timeout: 45m, session", "timeout: 45m, assurance: L3, session",
         "tiers[1].session: is of calls that one person approves at L1 or L2: here it takes more"),
        ("timeout: 45m, session", "timeout: 45m, stages: [{of: [finance], need: 2}], session",
         "tiers[1].session: is of calls that one person approves at L1 or L2: here it takes more"),
    ],
)  # fmt: skip
def test_what_nobody_could_allow_for_a_session_is_refused_at_its_line(old: str, new: str, expected: str) -> None:
    assert old in WITH_SESSION
    found = faults(WITH_SESSION.replace(old, new, 1))
    assert [fault for fault in found if expected in fault], found


def test_who_may_break_the_glass_is_read() -> None:
    glass = load().policy.break_glass
    assert isinstance(glass, GlassTerms)
    assert (glass.of, glass.lasts, glass.channels) == (("finance", "head"), timedelta(minutes=30), ("hall",))
    assert [pattern.text for pattern in glass.tools] == ["deploy*", "pay"]
    assert glass.review == ("finance", "board")
    assert glass.bounds == Bounds(uses=5, each={"CNY": Decimal(500)}, total={"CNY": Decimal(2000)})
    fewer = FILE.replace(', lasts: 30m, tools: ["deploy*", pay], channels: [hall]', "").replace("uses: 5, ", "")
    least = load(fewer).policy.break_glass
    assert least
    assert (least.lasts, least.channels, least.bounds.uses) == (timedelta(hours=1), (), 20)
    assert [pattern.text for pattern in least.tools] == ["*"]
    assert load(FILE[: FILE.index("break_glass")]).policy.break_glass is None


@requirement("S-57")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # levels
        ("timeout: 1h, assurance: L2", "timeout: 1h, assurance: L5", "9: ask.assurance: must be L1, L2, L3 or"),
        ("assurance: L1", "assurance: 1", "39: rules[1].assurance: must be L1"),
        ("assurance: L1", "asurance: L1", '39: rules[1].asurance: unknown key "asurance"; did you mean "assurance"?'),
        ("    assurance: L1\n", "    assurance: L4\n    stages: [{of: [head]}]\n",
         "39: rules[1].assurance: L4 takes 2 people, but head has only 1"),
        ("- {stages: [{of: [board]}, {of: [finance]}], risk: high, assurance: L4}",
         "- {stages: [{of: [head]}], assurance: L4}",
         "35: rules[0].tiers[3].assurance: L4 takes 2 people, but head has only 1"),
        ("    then: deny\n", "    then: deny\n    assurance: L2\n",
         '44: rules[2].assurance: means nothing on a rule that says "then: deny"'),
        # tiers
        ("    lease: 5m\n", "    then: ask\n", '20: rules[0].then: means nothing beside "tiers": each of them says'),
        ("    lease: 5m\n", "    then: allow\n", '20: rules[0].then: means nothing beside "tiers"'),
        ("    lease: 5m\n", "    record: false\n", "20: rules[0].record: what people are asked is always recorded"),
        ("    then: deny\nbreak", "break", '41: rules[2]: "then" is missing; a rule has either then or tiers'),
        ("{stages: [{of: [board]}, {of: [finance]}], risk: high, assurance: L4}",
         "{up_to: {CNY: 5000000, USD: 700000}}",
         '35: rules[0].tiers[3].up_to: leaves what is above it without an answer; add a last tier without "up_to"'),
        ('{up_to: "50000 CNY", timeout: 45m}', "{timeout: 45m}", '23: rules[0].tiers[1]: "up_to" is missing'),
        ('"50000 CNY"', '"5000 CNY"', "23: rules[0].tiers[1].up_to: does not grow: tier 1 goes up to CNY 5000"),
        ("{CNY: 500000, USD", "{CNY: 4999, USD",
         "24: rules[0].tiers[2].up_to.CNY: does not grow: tier 2 goes up to CNY 50000"),
        ("{CNY: 500000, USD: 70000}", "{USD: 70000}",
         "24: rules[0].tiers[2].up_to: lacks CNY, which tier 2 has: a little more of it would skip"),
        ("{CNY: 5000}", "{CNY: 0}", "22: rules[0].tiers[0].up_to.CNY: must be above 0: no payment would be in it"),
        ("{CNY: 5000}", "{CNY: 5000.5}", "22: rules[0].tiers[0].up_to: must be exact"),
        ("{CNY: 5000}", "{RMB¥: 5000}", "22: rules[0].tiers[0].up_to: must name its currency by three capital letters"),
        ('"50000 CNY", timeout: 45m', '"50000 CNY", then: allow, timeout: 45m',
         '23: rules[0].tiers[1].timeout: means nothing on a tier that says "then: allow"'),
        ("assurance: L4}", "then: allow}", "35: rules[0].tiers[3].then: is laxer than tier 3, which is for less"),
        ("{up_to: {CNY: 5000}, then: allow}", "{up_to: {CNY: 5000}, then: deny}",
         "23: rules[0].tiers[1]: is laxer than tier 1, which is for less: it says deny"),
        ("{up_to: {CNY: 5000}, then: allow}", "{up_to: {CNY: 5000}, then: maybe}",
         "22: rules[0].tiers[0].then: must be allow, deny or ask"),
        ("{up_to: {CNY: 5000}, then: allow}", "{upto: {CNY: 5000}, then: allow}",
         '22: rules[0].tiers[0].upto: unknown key "upto"; did you mean "up_to"?'),
        ("{up_to: {CNY: 5000}, then: allow}", "allow", "22: rules[0].tiers[0]: must be a mapping"),
        ("tools: [pay, wire]", "tools: [pay, deploy]",
         '19: rules[0].tools[1]: tiers are by amount, and "deploy" has no "payment"; add to tools.deploy: payment: '),
        ("tools: [pay, wire]", 'tools: [pay, "*"]', '19: rules[0].tools[1]: tiers are by amount, and "deploy" has no'),
        ("tools: [pay, wire]", 'tools: [pay, "x*"]',
         '19: rules[0].tools[1]: tiers are by amount, and "x*" stands for no tool with a "payment"'),
        ("timeout: 45m", "timeout: 20m",
         '23: rules[0].tiers[1].timeout: is over before the "escalate" of "ask" is through'),
        ("[{of: [finance]}, {of: [board]}]", "[{of: [finance]}, {of: [bord]}]",
         '25: rules[0].tiers[2].stages[1].of[0]: unknown group "bord"; did you mean "board"?'),
        ("channels: [room, hall]", "channels: [room, hal]",
         '26: rules[0].tiers[2].channels[1]: unknown channel "hal"; did you mean "hall"?'),
        # standing approvals of what pays nothing
        ("standing: {lasts: 7d", "standing: {lasts: 91d", "40: rules[1].standing.lasts: must be from 1m to 90d"),
        ("standing: {lasts: 7d, uses", "standing: {uses", '40: rules[1].standing: "lasts" is missing'),
        ("uses: 20", "uses: 0", "40: rules[1].standing.uses: must be 1 or more, and here is"),
        ("uses: 20", "use: 20", '40: rules[1].standing.use: unknown key "use"; did you mean "uses"?'),
        ("same: [service]", "each: {CNY: 1}, same: [service]",
         '40: rules[1].standing.each: means nothing: no tool of the rule has a "payment"'),
        ("same: [service]", "total: {CNY: 1}, same: [service]", "40: rules[1].standing.total: means nothing"),
        ("same: [service]", "same: []", "40: rules[1].standing.same: is empty: a standing approval of any call at all"),
        (", same: [service]", "", "40: rules[1].standing.same: is empty"),
        ("same: [service]", "same: [srvice]",
         '40: rules[1].standing.same[0]: deploy has no argument "srvice"; did you mean "service"?'),
        ("same: [service]", "same: [service, service]", '40: rules[1].standing.same[1]: "service" again'),
        ("tools: [deploy]", 'tools: ["dep*"]',
         '40: rules[1].standing: needs its tools by name: "dep*" could come to mean others'),
        ("tools: [deploy]\n    then: ask\n    assurance: L1\n", "tools: [deploy]\n    then: allow\n",
         '39: rules[1].standing: means nothing on a rule that says "then: allow"'),
        # the glass
        ("of: [finance, head]", "of: [head]", "44: break_glass.of: takes 2 people, but there is only 1"),
        ("of: [finance, head]", "of: []", "44: break_glass.of: takes 2 people, but there is nobody"),
        ("of: [finance, head]", "of: [finance, owners]", '44: break_glass.of[1]: unknown group "owners"'),
        ("review: [finance, board],", "", '44: break_glass: "review" is missing'),
        ("review: [finance, board]", "review: [finance, owners]", '44: break_glass.review[1]: unknown group "owners"'),
        ("review: [finance, board]", "review: []",
         '44: break_glass.review: is nobody: somebody has to look at what was done; add: review: ["a group"]'),
        ("review: [finance, board]", "review: [board]",
         "44: break_glass.review: could be chen@acme.example and li@acme.example alone, who may break it themselves"),
        ("uses: 5", "uses: 0", "45: break_glass.uses: must be 1 or more, and here is"),
        ("uses: 5, each: {CNY: 500}, total: {CNY: 2000}", "uses: 5",
         '44: break_glass: "each" and "total" are missing: it covers payments (pay); add each: {CNY: 5000}, total:'),
        ("each: {CNY: 500}, total: {CNY: 2000}", "each: {CNY: 500}",
         '44: break_glass: "total" is missing: it covers payments (pay); add each: {CNY: 5000}, total: {CNY: 20000}'),
        ("each: {CNY: 500}, total: {CNY: 2000}", "each: {CNY: 500}, total: {USD: 2000}",
         "45: break_glass.total: lacks CNY: no payment in it could be within both"),
        ("each: {CNY: 500}, total: {CNY: 2000}", "each: {CNY: 5000}, total: {CNY: 2000}",
         "45: break_glass.each: is more CNY than the total"),
        ('["deploy*", pay]', '["deploy*"]',
         '45: break_glass.each: means nothing: no tool that it covers has a "payment"'),
        ("lasts: 30m", "lasts: 61m", "44: break_glass.lasts: must be from 1m to 1h"),
        ("lasts: 30m", "last: 30m", '44: break_glass.last: unknown key "last"; did you mean "lasts"?'),
        ('"deploy*", pay]', '"deploy*", wires]',
         '44: break_glass.tools[1]: unknown tool "wires"; did you mean "wire"?'),
        ("channels: [hall],", "channels: [hal],",
         '44: break_glass.channels[0]: unknown channel "hal"; did you mean "hall"?'),
        ("break_glass:", "breakglass:", '44: breakglass: unknown key "breakglass"; did you mean "break_glass"?'),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_at_its_line(old: str, new: str, expected: str) -> None:
    assert old in FILE
    found = faults(FILE.replace(old, new, 1))
    assert [fault for fault in found if fault.startswith(expected)], found


@requirement("S-26")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("tools: [pay]", "tools: [pay, wire]",
         '21: rules[0].standing: there is never a standing approval of "wire": it is irreversible'),
        ("same: [payee, iban]", "same: [iban]",
         '21: rules[0].standing.same: does not name the payee of pay: money could go to anybody; add "payee"'),
        ("same: [payee, iban]", "same: [payee, account]",
         '21: rules[0].standing.same[1]: is the name of an argument, and pay has its account elsewhere; write "iban"'),
        ("each: {CNY: 500}, ", "", '21: rules[0].standing: "each" is missing: the rule is about payments'),
        ("total: {CNY: 2000}, ", "", '21: rules[0].standing: "total" is missing: the rule is about payments'),
        ("each: {CNY: 500}", "each: {CNY: 2001}", "21: rules[0].standing.each: is more CNY than the total"),
        ("each: {CNY: 500}", "each: {CNY: 500, USD: 1}", "21: rules[0].standing.total: lacks USD"),
        ("total: {CNY: 2000}", "total: {CNY: 2000, USD: 1}", "21: rules[0].standing.each: lacks USD"),
    ],
)  # fmt: skip
def test_a_standing_approval_of_payments_is_narrow_or_refused(old: str, new: str, expected: str) -> None:
    assert old in WITH_STANDING
    found = faults(WITH_STANDING.replace(old, new, 1))
    assert [fault for fault in found if fault.startswith(expected)], found


@pytest.mark.parametrize(("ask", "refused"), [("", True), ("ask: {stages: [{of: [team]}], channels: [api]}\n", False)])
def test_a_budget_that_is_used_up_must_have_somebody_to_ask(ask: str, *, refused: bool) -> None:
    text = f"""\
org: acme
default: deny
people: {{wang@acme.example: {{}}}}
groups: {{team: [wang@acme.example]}}
{ask}tools: {{pay: {{payment: {{amount: amount, currency: currency, payee: payee}}}}}}
rules:
  - {{id: paying, tools: [pay], tiers: [{{up_to: {{CNY: 1}}, then: allow}}, {{then: deny}}]}}
"""
    if not refused:
        assert load(text).policy.rules[0].tiers[0].asking
        return
    assert faults(text) == [
        '7: rules[0].tiers[0]: allows, and no tier above asks, nor a top-level "ask": who is asked above a budget?'
    ]


def test_a_tier_must_say_or_inherit_whom_it_asks() -> None:
    text = """\
org: acme
default: deny
people: {wang@acme.example: {}}
tools: {pay: {payment: {amount: amount, currency: currency, payee: payee}}}
rules:
  - id: paying
    tools: [pay]
    tiers:
      - {up_to: {CNY: 1}, then: allow}
      - {stages: [{of: [wang@acme.example]}], assurance: L4}
"""
    assert faults(text) == [
        '10: rules[0].tiers[1]: asks, but has no "channels" and there is no top-level "ask" to take them from',
        "10: rules[0].tiers[1].assurance: L4 takes 2 people, but wang@acme.example has only 1",
    ]


def test_people_whom_a_rule_says_for_its_tiers_must_be_enough_for_the_level_it_says() -> None:
    tiers = FILE[FILE.index("    tiers:\n") : FILE.index("  - id: deploying")]
    both = "    stages: [{of: [head]}]\n    assurance: L4\n    tiers: [{up_to: {CNY: 1}}, {stages: [{of: [board]}]}]\n"
    assert faults(FILE.replace(tiers, both)) == ["22: rules[0].assurance: L4 takes 2 people, but head has only 1"]


def test_the_glass_needs_somewhere_to_tell_of_it() -> None:
    text = "org: acme\ndefault: deny\npeople: {wang@acme.example: {}, li@acme.example: {}, chen@acme.example: {}}\n"
    glass = "break_glass: {review: [chen@acme.example], of: [wang@acme.example, li@acme.example]}\n"
    (fault,) = faults(text + glass)
    assert fault.startswith('4: break_glass: has no "channels", and there is no top-level "ask"')
    assert load(text + glass.replace("]}", "], channels: [api]}")).policy.break_glass
