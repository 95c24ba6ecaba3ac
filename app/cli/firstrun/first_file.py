"""The first `assent.yaml`: what the answers say, and around it what a person can grow it from."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from app.cli.firstrun.answers import Answers, Asked

CHANNEL = "team"
"""What the first channel is called."""

_GROUP = "approvers"
_PLAIN = re.compile(r"[A-Za-z][\w.@+-]{2,}")  # nothing that YAML reads as another thing than its letters
_WORDS = frozenset({"null", "true", "false", "yes", "off"})

_HEAD = """\
# Written by `assent init`; it is yours now. A running gateway reads it again within seconds; a faulty one is refused,
# and the one before stays in force.
#   assent config check                                    every fault, with its line
#   assent policy explain --tool NAME --args '{…}'         what a call would get, and why
# docs/rules.md builds rules step by step, docs/configuration.md explains every key.
"""

_NO_CHAT = "channels: [api]               # no chat yet: people decide in the console, or by `assent requests`"

_DEFAULT = """\
default: deny                   # what no rule below names does not run; `ask` would ask people about it instead
"""

# Cards would lead colleagues to a machine that is theirs: with a chat, people put the address there themselves.
_HERE = "url: http://127.0.0.1:8080      # the console, where people see and decide; `assent link PERSON` signs in\n"
_ELSEWHERE = "# url: https://HOST             # where people reach the console; cards lead there then\n"

_ASK = """\
ask:                            # how people are asked, unless a rule says otherwise
  stages: [{{of: [{group}], need: 1}}]    # one of them says yes; nobody says yes to what their own agent asks
{alone}  {channels}
  timeout: 30m                  # no answer by then: it has not run, and will not. Silence is never consent
  claim_within: 10m             # an approval that the agent does not use by then lapses
"""

_ALONE = """\
  # You are alone so far, and would wait for somebody else. To try it by yourself, at L3 (a passkey or an app's code,
  # see `assent factors --help`), put these two in the place of the line above; take them out before money is moved:
  #   stages: [{{of: [{group}], allow_alone: true}}]
  #   assurance: L3
"""

_BUDGET_OF = 5
"""How many of the largest payments that pass unasked one agent may make in a day before it has to ask."""

_RULES = """\
rules:                          # from top to bottom; the first that matches answers
"""

_FIXED_RULES = """\
  - id: destructive             # these names never run, declared or not
    tools: ["*delete*", "*drop*", "*destroy*", "*truncate*"]
    then: deny
    reason: Nothing is destroyed on an agent's word. A rule above this one may name a tool that people can allow.
  - id: reading                 # tools that you declare under tools with `writes: false`, such as
    tools: ["*"]                #   shop__list_orders: {writes: false}
    when: "!tool.writes"        # what the file does not know counts as writing
    then: allow
"""


def write_first_file(org: str, answers: Answers) -> str:
    """Return the text of the file."""
    globs = [each for each in answers.asked if each.is_glob]  # below what is denied by name: they may match it too
    exact = [each for each in answers.asked if not each.is_glob]
    channels = f"channels: [{CHANNEL}]" if answers.platform else _NO_CHAT
    alone = _ALONE.format(group=_GROUP) if len(answers.approvers) == 1 else ""
    return "\n".join(
        [
            _HEAD,
            f"org: {org}\n{_ELSEWHERE if answers.platform else _HERE}{_DEFAULT}",
            _ASK.format(group=_GROUP, channels=channels, alone=alone),
            "\n".join(_people(answers)),
            *("\n".join(block) for block in [[*_channels(answers)], [*_tools(answers.asked)]] if block),
            "".join([_RULES, *_rules(exact), _FIXED_RULES, *_rules(globs)]),
            *_budget(answers.asked),
        ]
    )


def _people(answers: Answers) -> Iterator[str]:
    found = " A platform's account is found by the e-mail." if answers.platform else ""
    yield f"people:                         # whoever may be asked.{found}"
    yield from (f"  {_word(each)}: {{}}" for each in answers.approvers)
    yield "groups:"
    yield f"  {_GROUP}: [{', '.join(map(_word, answers.approvers))}]"
    yield ""


def _channels(answers: Answers) -> Iterator[str]:
    if answers.platform is None:
        return
    yield "channels:                       # secrets come from the environment as ${NAME}: never in this file"
    yield f"  {CHANNEL}:"
    yield from (f"    {line}" for line in answers.platform.starter.lines)
    yield ""


def _tools(asked: Iterable[Asked]) -> Iterator[str]:
    exact = [each for each in asked if not each.is_glob]
    if not exact:
        return
    yield "tools:                          # as the agent calls them; names of arguments are those of the call"
    for each in exact:
        yield f"  {_word(each.tool)}:"
        if each.amount:
            yield '    title: "Pay {payee} {amount} {currency}"'
            yield "    payment: {amount: amount, currency: currency, payee: payee}"
        else:
            yield f"    title: {_word(f'Run {each.tool}')}"
        yield "    irreversible: true          # no `standing` approval ever covers it"
    yield ""


def _rules(asked: Iterable[Asked]) -> Iterator[str]:
    for each in asked:
        yield f"  - id: {_id(each.tool)}\n    tools: [{_word(each.tool)}]\n"
        if each.amount:
            limit = _sum(Decimal(each.amount))
            yield "    tiers:                      # whom nobody has paid before is asked about at any amount\n"
            yield f"      - {{up_to: {{{each.currency}: {limit}}}, then: allow}}\n"
            yield "      - {then: ask}             # all that is above, and every other currency\n"
        else:
            yield "    then: ask\n"


def _id(tool: str) -> str:
    return "ask-" + (re.sub(r"[^a-z0-9]+", "-", tool.lower()).strip("-") or "all")


def _budget(asked: Iterable[Asked]) -> Iterator[str]:
    """Bound what passes unasked: an agent that pays in small parts asks as well, in the end."""
    limits: dict[str, Decimal] = {}
    for each in asked:
        if each.amount:
            limits[each.currency] = max(limits.get(each.currency, Decimal()), Decimal(each.amount) * _BUDGET_OF)
    if limits:
        sums = ", ".join(f"{currency}: {_sum(limit)}" for currency, limit in limits.items())
        yield "payments:"
        yield "  budgets:                      # what one agent pays unasked in a day; above it, people are asked"
        yield f"    - {{id: agent-day, per: agent, within: 1d, limit: {{{sums}}}, counts: unasked}}\n"


def _sum(amount: Decimal) -> str:
    """Write it exactly, as the file wants it: a whole number, else a decimal text."""
    return f"{amount:f}" if amount == amount.to_integral_value() else f'"{amount:f}"'


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)
