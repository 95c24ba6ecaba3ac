"""Cases beside a configuration: a call goes in, the verdict and the rule that must come out stand next to it.

cases:
  - it: a small amount passes
    tool: pay
    args: {amount: "120.00", currency: CNY}
    expect: allow
    rule: small
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec import Struct
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from app.domain.call.requester_proof import RequesterProof
from app.domain.call.tool_call import ToolCall
from app.domain.people.assurance import Assurance
from app.domain.people.people import email_key
from app.domain.rules.rule import Then
from app.policies.marks.empty_keys import CASES, refuse_empty
from app.policies.marks.entries import listing, read_entry
from app.policies.marks.faults import Fault, PolicyFaultsError, near
from app.policies.marks.yaml_marks import read_yaml

if TYPE_CHECKING:
    from datetime import tzinfo
    from pathlib import Path

    from app.domain.text.canonical import JsonValue

FILE_NAME = "cases.yaml"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)  # a Monday
"""The instant of a case that names none, and whose answer therefore may not hang on the time."""
_PAGE = "docs/rules.md#cases-that-must-hold"
_AGO = re.compile(r"([1-9][0-9]{0,4})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_instant(value: object) -> datetime:
    """Turn ``2026-01-05T20:00:00+08:00`` into an instant; without an offset it has no zone. Raises ValueError."""
    try:
        return datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise ValueError("must be an instant such as 2026-01-05T20:00:00 or 2026-01-05T12:00:00Z") from None


def parse_span(text: str) -> timedelta:
    """Turn ``90m``, ``12h``, ``30d`` or ``4w`` into a span. Raises ValueError."""
    match = _AGO.fullmatch(text)
    if match is None:
        raise ValueError("must be a span such as 90m, 12h, 30d or 4w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


class CaseEntry(BaseModel):
    """One case as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    it: str = Field(min_length=1, max_length=300)
    tool: str = Field(min_length=1, max_length=200)
    args: dict[str, Any] = {}
    agent: str = ""
    user: str | None = None
    verified: bool = False
    owner: str | None = None
    session: str | None = None
    at: Annotated[datetime | None, BeforeValidator(parse_instant)] = None
    expect: Then = Field(strict=False)
    rule: str | None = None
    tier: int | None = Field(default=None, ge=1)
    assurance: Assurance | None = Field(default=None, strict=False)

    @model_validator(mode="after")
    def _of_somebody(self) -> Self:
        if self.verified and not self.user:
            raise ValueError('"verified" means nothing without "user"')
        return self


class Case(Struct, frozen=True, kw_only=True):
    """One case. `rule` is None where any rule may decide, `at` where the time must not matter.

    `tier` counts from 1 and, like `assurance`, is None where any will do.
    """

    it: str
    line: int
    call: ToolCall
    at: datetime | None
    expect: Then
    rule: str | None
    tier: int | None = None
    assurance: Assurance | None = None


def call_of(entry: CaseEntry, org: str) -> ToolCall:
    """Return the call of a case."""
    return ToolCall(
        org=org,
        agent=entry.agent,
        session=entry.session,
        call_id=None,
        tool=entry.tool,
        arguments=entry.args,
        requester=email_key(entry.user) if entry.user else None,
        owner=email_key(entry.owner) if entry.owner else None,
        claim=None,
        proof=_proof(entry),
    )


def _proof(entry: CaseEntry) -> RequesterProof | None:
    """Return what a case supposes: that its user was proved to have asked, by whichever issuer."""
    if not entry.verified or not entry.user:
        return None
    at = entry.at.astimezone(UTC) if entry.at else datetime.fromtimestamp(0, UTC)
    return RequesterProof(person=email_key(entry.user), issuer="", subject="", signed_at=at, until=at, token="")


def in_zone(at: datetime, zone: tzinfo) -> datetime:
    """Return an instant; one without an offset is meant in `zone`."""
    return at if at.tzinfo else at.replace(tzinfo=zone)


def _text(path: Path) -> str:
    def refused(why: str, mend: str) -> PolicyFaultsError:
        return PolicyFaultsError([Fault(file=str(path), line=1, column=1, path="", message=why, hint=mend)])

    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        mend = f"name the file of cases, or write one ({_PAGE})" if missing else "let this account read it"
        raise refused(f"cannot be read: {error.strerror}", mend) from None
    except UnicodeDecodeError as error:
        raise refused(f"is not UTF-8 at byte {error.start}", "save it as UTF-8") from None


def read_cases(path: Path, *, org: str, zone: tzinfo, rules: frozenset[str]) -> list[Case]:
    """Read a file of cases. `rules` are the ids that may decide. Raises PolicyFaultsError with every fault."""
    marked = read_yaml(_text(path), file=str(path))
    whole: dict[str, JsonValue] = marked.value if isinstance(marked.value, dict) else {}
    for key in whole:
        if key != "cases":
            marked.report((key,), f'unknown key "{key}"', "a file of cases has cases alone")
    refuse_empty(marked, CASES)
    cases: list[Case] = []
    for index, raw in enumerate(listing(marked, "cases")):
        entry = read_entry(marked, ("cases", index), raw, CaseEntry)
        if entry is None:
            continue
        if entry.rule is not None and entry.rule not in rules:
            marked.report(
                ("cases", index, "rule"), f'unknown rule "{entry.rule}"', near(entry.rule, rules, what="rules")
            )
        if entry.assurance is not None and entry.expect is not Then.ASK:
            marked.report(("cases", index, "assurance"), f'means nothing on "expect: {entry.expect.value}"')
        at = in_zone(entry.at, zone) if entry.at else None
        line = marked.mark(("cases", index)).line
        call = call_of(entry, org)
        cases.append(
            Case(
                it=entry.it,
                line=line,
                call=call,
                at=at,
                expect=entry.expect,
                rule=entry.rule,
                tier=entry.tier,
                assurance=entry.assurance,
            )
        )
    if not cases and not marked.faults:
        marked.report((), "has no case: nothing would be tested")
    if marked.faults:
        raise PolicyFaultsError(marked.faults)
    return cases
