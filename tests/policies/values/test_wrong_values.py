"""In every place of the file every wrong value is told in our words: what is wanted, and how it is written.

The file beside this one has every key; a new one is missed here until it is there.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from app.policies.asking.glass_section import GlassEntry
from app.policies.file import policy_file
from app.policies.marks.entries import key_names
from app.policies.marks.faults import PolicyFaultsError
from app.policies.marks.yaml_marks import MarkedYaml, read_yaml
from app.policies.models import file_models, sign_in_models
from app.policies.sections.attention_section import AttentionEntry
from app.policies.sections.payments_section import BudgetEntry, PaymentsEntry
from app.policies.sections.retention_section import RetentionEntry
from channels import registry
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.policies.marks.faults import Fault

    Path_ = tuple[str | int, ...]

WHOLE: Any = read_yaml((Path(__file__).parent / "every_key.yaml").read_text(encoding="utf-8"), file="assent.yaml").value
ENVIRON = {
    "BOT": "xoxb-1234-5678-abcdef",
    "REF": "xoxe-1-abcdefgh",
    "APP": "xapp-1-A0-abc",
    "SCIM": "xoxp-1-abcdef",
    "WH": f"whsec_{'A' * 44}",
    "WHO": f"whsec_{'B' * 43}A",
    **{name: f"{name.lower() * 16}" for name in ("SIGN", "SIGNO", "CS", "FS", "EK", "EKO", "VT", "VTO", "OIDC")},
}
WRONG: dict[str, Any] = {
    "number": 7,
    "point": 1.5,
    "below": -3,
    "switch": True,
    "list": [1],
    "mapping": {"colour": 1},
    "nothing in a list": [None],
    "empty": "",
    "blank": "  ",
    "lines": "a\nb",
    "huge": "x" * 5000,
    "unset": "${NOT_SET}",
    "word": "zzz",
}
RAW = (
    *("Input should", "should be", "should have", "valid string", "valid boolean", "valid integer", "valid list"),
    *(
        "valid dictionary",
        "instance of",
        "Extra inputs",
        "not permitted",
        "String should",
        "List should",
        "Field required",
    ),
    *("match pattern", "Value error", "validation", "pydantic", "Entry", "[word]", "[list]", "[text]", "[key]"),
    *("Traceback", "NoneType", "<class", "unhashable", "channel type says"),
)
"""What is the library's own, or says how the code is made."""
TEAM = "the workspace's id (T…, or E… of a Grid), not its name: app.slack.com/client/ has it next, in a browser"
FOREIGN = {"schema", "options"}
"""What stands behind these keys is JSON of others."""


def faults(value: Any) -> tuple[Fault, ...]:
    marked = MarkedYaml(file="assent.yaml", value=value)
    try:
        policy_file._load(marked, value, "", "v", environ=ENVIRON, channel_types=registry.platforms())
    except PolicyFaultsError as refused:
        return refused.faults
    return PolicyFaultsError(marked.faults).faults


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield every place of the file; of a list the first one, and nothing of what is not ours."""
    if path:
        yield path
    if isinstance(value, dict) and not FOREIGN & {*path}:
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list) and value and not FOREIGN & {*path}:
        chosen = enumerate(value) if path in {("rules",), ("hooks",), ("rules", 3, "tiers")} else [(0, value[0])]
        for at, part in chosen:
            yield from places(part, (*path, at))


def changed(path: Path_, value: Any) -> Any:
    """Return the file with another value in one place. The sections that it has nothing to do with are left out."""
    needed = {"org", "default", "url", "people", "groups", "channels", "tools", "agents", path[0]}
    whole: Any = copy.deepcopy({key: part for key, part in WHOLE.items() if key in needed} | {"default": "deny"})
    at = whole
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return whole


def models_of(*modules: Any) -> Iterator[type[BaseModel]]:
    for module in modules:
        for each in vars(module).values():
            if (
                isinstance(each, type)
                and issubclass(each, BaseModel)
                and each.__name__[0] != "_"
                and each is not BaseModel
            ):
                yield each


def test_the_file_that_is_spoilt_has_every_key_and_no_fault() -> None:
    assert faults(copy.deepcopy(WHOLE)) == ()
    there = {step for path in places(WHOLE) for step in path}
    ours = (spec.settings for spec in map(registry.platforms().__getitem__, registry.ours()))
    sections = (AttentionEntry, PaymentsEntry, BudgetEntry, RetentionEntry, GlassEntry)
    known = {key for model in (*models_of(file_models, sign_in_models), *sections, *ours) for key in key_names(model)}
    assert known - there == {"python"}  # beside `use` and `command`, of which a hook has one
    assert set(policy_file._KEYS) <= there


@requirement("S-57")
@pytest.mark.parametrize("shape", WRONG)
def test_no_wrong_value_is_told_in_the_words_of_a_library(shape: str) -> None:
    told = [(path, fault) for path in places(WHOLE) for fault in faults(changed(path, WRONG[shape]))]
    assert len(told) > 100
    raw = [(path, str(fault)) for path, fault in told if any(each in fault.message for each in RAW)]
    assert raw == []
    long = [(path, str(fault)) for path, fault in told if len(str(fault)) > 2_000 or "\n" in str(fault)]
    assert long == []


@requirement("S-57")
@pytest.mark.parametrize(
    ("path", "value", "told", "mend"),
    [
        (("language",), 7, "must be en or zh, and here is a number", None),
        (("default",), "alow", "must be allow, deny or ask", 'did you mean "allow"?'),
        (("tools", "move", "title"), 7, "must be a text, and here is a number", 'put it in quotes: "7"'),
        (("tools", "move", "title"), True, "must be a text, and here is true", 'put it in quotes: "true"'),
        (("tools", "move", "title"), [], "must be a text, and here is a list", "write one text"),
        (("tools", "move", "title"), " ", "must have something in it that can be seen", None),
        (("tools", "move", "enforced"), "yes", "must be true or false", "write true, without quotes"),
        (("tools", "move", "pin"), "payee", "must be a list, and here is a text", "put [ ] around it"),
        (("attention", "cards_per_hour"), "010", "must be a whole number, and here is a text",
         "write its digits alone, such as 5: no quotes, no 0 before them, no point and no marks between them"),
        (("attention", "cards_per_hour"), 1.5, "must be a whole number, and here is one with a point",
         "write its digits alone, such as 5: no quotes, no 0 before them, no point and no marks between them"),
        (("attention", "cards_per_hour"), 0, "must be 1 or more, and here is 0", None),
        (("ask", "stages", 0), "finance", "must be a mapping, and here is a text",
         "write {key: value}, or its keys on the lines below it"),
        (("groups", "kept", "members"), 3,
         "must be a list of e-mails, or the word verified: whoever is in a platform's group", None),
        (("channels", "pay-slack", "channel"), 123, "must be a text, and here is a number", 'put it in quotes: "123"'),
        (("channels", "pay-slack", "signing_secret"), 123, "a secret may not stand in this file",
         'write signing_secret: "${NAME}", and set NAME in the environment'),
        (("channels", "pay-slack", "signing_secret"), "", "is empty",
         'write signing_secret: "${NAME}", and set NAME in the environment'),
        (("channels", "pay-slack", "team_id"), "acme",
         f"must be {TEAM}", None),
        (("sign_in", "okta", "client_id"), "a b", "must be one word: no spaces and no line breaks", None),
        (("webhooks", "siem", "kinds"), [], "is empty", "give it a value, or leave it out where it has a default"),
    ],
)  # fmt: skip
def test_what_is_wanted_is_said_with_its_mend(path: Path_, value: Any, told: str, mend: str | None) -> None:
    found = {fault.path: (fault.message, fault.hint) for fault in faults(changed(path, value))}
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
    assert found[where] == (told, mend)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        (("people", "wang@acme.example", "nmae"), "name"),
        (("groups", "kept", "chanel"), "channel"),
        (("ask", "stages", 0, "nead"), "need"),
        (("people", "wang@acme.example", "away", 0, "form"), "from"),
        (("sign_in", "okta", "requesters", "audience"), "audiences"),
        (("channels", "pay-feishu", "encrypt_keys"), "encrypt_key"),
    ],
)
def test_an_unknown_key_has_the_nearest_one_beside_it_however_deep_it_stands(path: Path_, meant: str) -> None:
    found = [fault for fault in faults(changed(path, "x")) if fault.message.startswith("unknown key")]
    assert [fault.hint for fault in found] == [f'did you mean "{meant}"?']


@pytest.mark.parametrize(
    ("path", "value", "where", "meant"),
    [
        (("roles", "operator", 0), "finanse", "roles.operator[0]", "finance"),
        (("roles", "auditor", 0), "wong@acme.example", "roles.auditor[0]", "wang@acme.example"),
        (("sign_in", "okta", "subjects"), {"wong@acme.example": "s"}, "sign_in.okta.subjects.wong@acme.example",
         "wang@acme.example"),
        (("groups", "kept", "channel"), "pay-slak", "groups.kept.channel", "pay-slack"),
        (("groups", "finance", 0), "wong@acme.example", "groups.finance[0]", "wang@acme.example"),
        (("channels", "pay-slack", "type"), "slak", "channels.pay-slack.type", "slack"),
    ],
)  # fmt: skip
def test_a_name_that_leads_nowhere_has_the_nearest_one_beside_it(
    path: Path_, value: Any, where: str, meant: str
) -> None:
    found = {fault.path: fault.hint for fault in faults(changed(path, value))}
    assert found[where] == f'did you mean "{meant}"?'
