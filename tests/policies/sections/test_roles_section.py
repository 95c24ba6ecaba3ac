"""Who may see what in the console: what the file gives by name, to nobody else, and what is refused at which line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from app.domain.people.roles import BY_RULES
from app.policies.file.policy_file import load_policy
from app.policies.marks.faults import PolicyFaultsError
from app.usecases.console.rights import Page, pages_for
from tests.requirements import requirement

if TYPE_CHECKING:
    from app.domain.rules.policy import Policy

OWN = {Page.INBOX, Page.DECIDE, Page.REQUEST}
PEOPLE = (
    "people: {ann@acme.example: {}, bob@acme.example: {}, cy@acme.example: {}}\ngroups: {on-call: [bob@acme.example]}"
)


def policy_of(roles: str) -> Policy:
    text = f"org: acme\ndefault: deny\n{PEOPLE}\nroles: {roles}\n"
    return load_policy(text, environ={}, channel_types={}).policy


@requirement("S-87")
def test_who_is_named_nowhere_may_what_they_always_might_and_who_is_unknown_nothing() -> None:
    policy = policy_of("{admin: [ann@acme.example]}")
    assert pages_for(policy, "cy@acme.example") == OWN
    assert pages_for(policy, "nobody@acme.example") == frozenset()
    assert {role.value for role in BY_RULES} == {"requester", "approver"}


@requirement("S-87")
@pytest.mark.parametrize(
    ("role", "more"),
    [
        ("auditor", {Page.TRAIL, Page.PULSE, Page.RULES}),
        ("operator", {Page.PULSE, Page.RULES, Page.SETTLE, Page.PAUSE}),
        ("admin", set(Page)),
    ],
)
def test_a_role_opens_its_pages_to_those_it_names_by_mail_or_group(role: str, more: set[Page]) -> None:
    policy = policy_of(f"{{{role}: [Ann@acme.example, on-call]}}")
    for person in ("ann@acme.example", "BOB@acme.example"):
        assert pages_for(policy, person) == OWN | more
    assert pages_for(policy, "cy@acme.example", ("on-call", "ann@acme.example")) == OWN


@pytest.mark.parametrize(
    ("roles", "fault"),
    [
        ("{owner: [ann@acme.example]}", '"owner" is no role that is given'),
        ("{approver: [ann@acme.example]}", "follow from each request and its rules"),
        ("{admin: ann@acme.example}", "must be a list"),
        ("{admin: []}", "must be a list"),
        ("{admin: [zoe@acme.example]}", "zoe@acme.example is not under people"),
        ("{admin: [on-cal]}", 'unknown group "on-cal"'),
        ("{admin: [claim:ops]}", "nobody who signs people in says"),
        ("{admin: [7]}", "must be an e-mail"),
    ],
)
def test_a_name_that_leads_nowhere_is_a_fault(roles: str, fault: str) -> None:
    with pytest.raises(PolicyFaultsError) as refused:
        policy_of(roles)
    assert fault in str(refused.value)
