"""The decision tables in `tests/policy_cases/*.yaml`: a call goes in, a verdict and the rule that said so come out."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from app.domain.call.tool_call import ToolCall
from app.domain.rules.policy import Ask, Policy, judge
from app.policies.file.policy_file import load_policy
from tests.fixtures.specs import a_spec
from tests.places import ROOT
from tests.requirements import requirement

TABLES = sorted((ROOT / "tests/policy_cases").glob("*.yaml"))


class PaperSettings(BaseModel):
    pass


def _cases() -> list[Any]:
    found: list[Any] = []
    for path in TABLES:
        table = yaml.safe_load(path.read_text())
        policy = load_policy(
            table["policy"], environ={}, channel_types={"paper": a_spec("paper", PaperSettings)}
        ).policy
        found.extend(pytest.param(policy, case, id=f"{path.stem}: {case['it']}") for case in table["cases"])
    return found


@requirement("S-16", "S-07")
@pytest.mark.parametrize(("policy", "case"), _cases())
def test_a_call_gets_the_verdict_of_the_table(policy: Policy, case: dict[str, Any]) -> None:
    call = ToolCall(
        org="acme",
        agent=case.get("agent", "buyer"),
        session=None,
        call_id=None,
        tool=case["tool"],
        arguments=case["arguments"],
        requester=case.get("user"),
        owner=None,
        claim=None,
    )
    now = datetime.fromisoformat(case.get("at", "2026-01-05T12:00:00+00:00"))
    ruling = judge(policy, call, now=now)
    assert (type(ruling).__name__.lower(), ruling.rule_id) == (case["says"], case["rule"]), ruling.trace
    assert ruling.policy_version == policy.version
    assert ruling.trace[-1].rule_id == ruling.rule_id
    assert ruling.trace[-1].matched
    assert ruling.trace[-1].tier == case.get("tier")
    if "assurance" in case:
        assert isinstance(ruling, Ask)
        assert ruling.asking.assurance == case["assurance"]
