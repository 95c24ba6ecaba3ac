"""A comment in a condition ends with its line: where YAML takes the lines away, it would swallow the rest of it."""

from __future__ import annotations

import pytest

from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError

FILE = """\
org: acme
default: deny
tools: {{pay: {{}}}}
rules:
  - id: small
    tools: [pay]
{when}
    then: allow
"""
LIMIT = '&& amount(args.amount) <= amount("5.00")'


def load(when: str) -> str:
    text = FILE.format(when="\n".join(f"    {line}" for line in when.split("\n")))
    [rule] = load_policy(text, environ={}, channel_types={}).policy.rules
    assert rule.when is not None
    return rule.when.source


@pytest.mark.parametrize(
    "when",
    [
        f"when: >\n  args.kind == 1\n  // small ones only\n  {LIMIT}",
        f"when: >-\n  args.kind == 1 // small ones only\n  {LIMIT}",
        f"when: args.kind == 1\n  // small ones only\n  {LIMIT}",
        f"when: 'args.kind == 1\n  // small ones only\n  {LIMIT}'",
        'when: "args.kind == 1\n  // small ones only\n  && args.n < 5"',
        "when: >\n  args.kind == 1\n  // small ones only",
        f"when: >\n  args.kind == 'https://' // it's so\n  {LIMIT}",
        f"when: >\n  args.kind == r'\\' // and '\n  {LIMIT}",
        f'when: >\n  args.kind == """a "b" // """ // c\n  {LIMIT}',
    ],
)
def test_a_comment_among_lines_that_are_read_as_one_is_refused(when: str) -> None:
    with pytest.raises(PolicyFaultsError) as refused:
        load(when)
    told = str(refused.value)
    assert told.startswith("assent.yaml:7: rules[0].when: has a // comment, and its lines are read as one: "), told
    assert told.endswith('; write "when: |", which keeps lines apart, or take the comment out')
    assert len(refused.value.faults) == 1


@pytest.mark.parametrize(
    "when",
    [
        f"when: |\n  args.kind == 1\n  // small ones only\n  {LIMIT}",
        "when: args.kind == 1 // small ones only",
        "when: >\n  args.kind == 'https://acme.example'\n  && args.n < 5",
        'when: >\n  args.kind.startsWith("//") &&\n  args.n < 5',
        'when: "args.kind == 1 // of the first kind\\n && args.n < 5"',
    ],
)
def test_a_comment_that_ends_with_its_line_and_a_text_with_two_strokes_are_none(when: str) -> None:
    assert load(when)
