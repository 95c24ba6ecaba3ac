"""The shapes of the parts of `assent.yaml`. Strict: an unknown key or a value of another type is a fault."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, SecretStr, Tag

from app.domain.people.assurance import Assurance
from app.domain.request.request import Risk
from app.domain.text.addresses import why_no_url
from app.policies.marks.name_words import (
    ACCOUNT,
    DOMAIN,
    FIELD_PATH,
    ID,
    LABEL,
    NAME,
    ORG,
    PATTERN,
    PLATFORM_ID,
    VISIBLE,
)
from app.policies.marks.spans import span_within
from app.policies.models.amount_models import Limit, Sums

_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HOOK_TIMEOUT = re.compile(r"([1-9][0-9]{0,5})(ms|s|m|h)")
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?"
    r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){0,8}/?"
)
_ODD_PATH = "has a path of other than letters, digits and ._~- between single slashes"
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_HOOK = 24 * 3600.0
SHORTEST = timedelta(seconds=10)
LONGEST = timedelta(days=30)
_LONGEST_STANDING = timedelta(days=90)
_LONGEST_SESSION = timedelta(hours=8)


def parse_duration(value: object) -> timedelta:
    """Turn ``30s``, ``30m``, ``2h`` or ``1d`` into a span of 10 seconds to 30 days. Raises ValueError."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a time such as 30s, 30m, 2h or 1d")
    span = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if not SHORTEST <= span <= LONGEST:
        raise ValueError("must be between 10s and 30d")
    return span


def parse_hook_timeout(value: object) -> float:
    """Turn ``500ms``, ``10s``, ``2m`` or ``1h`` into seconds, a day at most. Raises ValueError."""
    match = _HOOK_TIMEOUT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a time such as 500ms, 10s, 2m or 1h")
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds > _LONGEST_HOOK:
        raise ValueError("must be a day (24h) at most")
    return seconds


def parse_command(value: object) -> str | tuple[str, ...]:
    """Take a shell line, or a program with its arguments as a list. Raises ValueError."""
    words = cast("list[object]", value if isinstance(value, list) else [value])
    texts = tuple(word for word in words if isinstance(word, str))
    if len(texts) < len(words) or not texts or not texts[0].strip() or "\0" in "".join(texts):
        raise ValueError('must be a shell line such as "python scan.py", or a list of texts: a program, its arguments')
    return texts if isinstance(value, list) else texts[0]


def parse_when(value: object) -> object:
    """Take a condition, which is a text. Raises ValueError."""
    if isinstance(value, bool):
        mend = "leave it out if the rule is meant for every call" if value else "take the rule out if it is for no call"
        raise ValueError(f"must be a condition such as args.n < 5: {mend}")  # noqa: TRY004 - what a model takes for a fault
    return value


def parse_members(value: object) -> object:
    """Take a list of people, or the one word that there is for whom a platform vouches. Raises ValueError."""
    if not isinstance(value, list) and value != "verified":
        raise ValueError("must be a list of e-mails, or the word verified: whoever is in a platform's group")
    return cast("object", value)


def parse_day(value: object) -> date:
    """Turn ``2026-12-20`` into a day. Raises ValueError."""
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise ValueError("must be a day such as 2026-12-20")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"there is no day {value}") from None


def parse_url(value: object) -> str:
    """Take the address at which people reach the gateway: https, or http on this machine. Raises ValueError."""
    why = why_no_url(value) if isinstance(value, str) else "is no text"
    match = _URL.fullmatch(value) if isinstance(value, str) and why is None else None
    if match is None:
        raise ValueError(f"must be an address such as https://assent.example.com, and this one {why or _ODD_PATH}")
    return match[0].rstrip("/")


def parse_after(value: object) -> timedelta | float:
    """Turn ``15m``, or a fraction of the time to decide such as 0.5, into a span or a number. Raises ValueError."""
    if isinstance(value, float) and 0 < value < 1:
        return value
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}, or a part of the timeout such as 0.5") from None


def parse_fraction(value: object) -> float:
    """Take a part of a whole, such as 0.5. Raises ValueError."""
    if not isinstance(value, float) or not 0 < value < 1:
        raise ValueError("must be a part of the timeout, above 0 and below 1, such as 0.5")
    return value


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
After = Annotated[timedelta | float, BeforeValidator(parse_after)]
StandingSpan = Annotated[
    timedelta, BeforeValidator(span_within(timedelta(minutes=1), _LONGEST_STANDING, "from 1m to 90d"))
]
SessionSpan = Annotated[
    timedelta, BeforeValidator(span_within(timedelta(minutes=1), _LONGEST_SESSION, "from 1m to 8h"))
]
Fraction = Annotated[float, BeforeValidator(parse_fraction)]
Command = Annotated[str | tuple[str, ...], BeforeValidator(parse_command)]
HookTimeout = Annotated[float, BeforeValidator(parse_hook_timeout)]
Url = Annotated[str, BeforeValidator(parse_url)]
Day = Annotated[date, BeforeValidator(parse_day)]
Name = Annotated[str, Field(pattern=NAME)]
Pattern = Annotated[str, Field(pattern=PATTERN)]
FieldPath = Annotated[str, Field(pattern=FIELD_PATH, max_length=200)]
Title = Annotated[str, Field(min_length=1, max_length=300, pattern=VISIBLE)]
Label = Annotated[str, Field(pattern=LABEL)]
Answer = Literal["allow", "deny", "ask"]
_ByLanguage = Discriminator(lambda value: "[languages]" if isinstance(value, dict) else "[text]")
Reason = Annotated[str, Field(min_length=1, max_length=500, pattern=VISIBLE)]
Titles = Annotated[
    Annotated[Title, Tag("[text]")] | Annotated[dict[Literal["en", "zh"], Title], Tag("[languages]")], _ByLanguage
]
Labels = Annotated[
    Annotated[Label, Tag("[text]")] | Annotated[dict[Literal["en", "zh"], Label], Tag("[languages]")], _ByLanguage
]
_ByShape = Discriminator(lambda value: "[list]" if isinstance(value, list) else "[word]")
Members = Annotated[
    Annotated[list[str], Tag("[list]")] | Annotated[Literal["verified"], Tag("[word]")],
    _ByShape,
    BeforeValidator(parse_members),
]
Domain = Annotated[str, Field(pattern=DOMAIN)]
Reasons = Annotated[
    Annotated[Reason, Tag("[text]")]
    | Annotated[dict[Literal["en", "zh"], Reason], Field(min_length=1), Tag("[languages]")],
    _ByLanguage,
]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class PartEntry(_Entry):
    """One of the groups of a stage that must all agree: ``{of: [finance], need: 1}``."""

    of: list[Name]
    need: int = Field(default=1, ge=1, le=100)


class StageEntry(_Entry):
    """``{of: [finance], need: 1}``, or ``{all: [{of: [finance]}, {of: [security]}]}``."""

    of: list[Name] | None = None
    need: int | None = Field(default=None, ge=1, le=100)
    parts: list[PartEntry] | None = Field(default=None, alias="all", min_length=2)
    denials: int = Field(default=1, ge=1, le=100)
    allow_requester: bool = False
    allow_owner: bool = False
    allow_editor: bool = False
    allow_alone: bool = False
    open_to: list[Name] = []


class RungEntry(_Entry):
    """``{after: 15m, to: [managers], channels: [pay-chat]}``."""

    after: After
    to: list[Name] = []
    channels: list[Name] = []


class LadderEntry(_Entry):
    """What `ask` and the rules that ask say of how people are reminded, and who else is brought in."""

    remind: list[Fraction] | None = Field(default=None, max_length=5)
    escalate: list[RungEntry] | None = Field(default=None, max_length=5)
    fallback: list[Name] | None = None
    cc: list[Name] | None = Field(default=None, max_length=20)
    risk: Risk | None = Field(default=None, strict=False)
    assurance: Assurance | None = Field(default=None, strict=False)


class AskEntry(LadderEntry):
    """The top-level `ask`: what rules inherit."""

    stages: list[StageEntry]
    channels: list[Name]
    timeout: Duration = timedelta(minutes=30)
    claim_within: Duration = timedelta(minutes=10)
    lease: Duration = timedelta(minutes=10)


class StandingEntry(_Entry):
    """``{lasts: 7d, uses: 20, each: {CNY: 500}, total: {CNY: 2000}, same: [payee]}``: what is permitted at most."""

    lasts: StandingSpan
    uses: int = Field(ge=1, le=10_000)
    each: Sums | None = None
    total: Sums | None = None
    same: list[FieldPath] = Field(default=[], max_length=20)


class SessionEntry(_Entry):
    """``{lasts: 30m, uses: 5, each: {CNY: 2000}}``: what one approver may allow for a session at most."""

    lasts: SessionSpan
    uses: int = Field(ge=1, le=50)
    each: Sums | None = None
    differ: list[FieldPath] = Field(default=[], max_length=20)


class OwnAskEntry(LadderEntry):
    """What a rule, or one of its tiers, says of its own asking; what it leaves out is inherited.

    Tiers, and what may be permitted beforehand, are read on their own, so that every fault of theirs has its line.
    """

    stages: list[StageEntry] | None = None
    channels: list[Name] | None = None
    timeout: Duration | None = None
    claim_within: Duration | None = None
    lease: Duration | None = None
    standing: dict[str, Any] | None = None
    session: dict[str, Any] | None = None


class TierEntry(OwnAskEntry):
    """One tier by amount: ``{up_to: {CNY: 5000}, then: allow}``. The last one has no `up_to`."""

    up_to: Sums | None = None
    then: Answer = "ask"


class RuleEntry(OwnAskEntry):
    """One rule. It has either `then` or `tiers`."""

    id: Annotated[str, Field(pattern=ID)]
    tools: list[Pattern] = Field(min_length=1)
    agents: list[Pattern] | None = Field(default=None, min_length=1)
    when: Annotated[str | None, BeforeValidator(parse_when)] = Field(default=None, min_length=1, max_length=4000)
    then: Annotated[Answer, Field()] | None = None  # as the bare union it would be typing's own one of `on_error`
    tiers: list[Any] | None = Field(default=None, min_length=2, max_length=10)
    reason: Reasons | None = None
    record: bool = True
    requester: Literal["verified"] | None = None


class PaymentEntry(_Entry):
    """Where a tool's payments stand among its arguments: ``{amount: amount, currency: currency, payee: payee}``."""

    amount: FieldPath
    currency: FieldPath
    payee: FieldPath
    account: FieldPath | None = None
    reference: FieldPath | None = None
    minor_units: bool = False


class ToolEntry(_Entry):
    """One tool. Texts for people are one for all languages, or ``{en: …, zh: …}``; `payment` is read on its own."""

    title: Titles | None = None
    pin: list[FieldPath] = []
    sensitive: list[FieldPath] = []
    money: list[FieldPath] = []
    payee: list[FieldPath] = []
    labels: dict[FieldPath, Labels] = {}
    arguments: dict[str, Any] | None = Field(default=None, alias="schema")
    writes: bool | None = None
    requires_confirmation: bool = False
    payment: dict[str, Any] | None = None
    irreversible: bool = False
    enforced: bool = False
    result: list[FieldPath] = Field(default=[], max_length=20)


class HookEntry(_Entry):
    """One hook. Exactly one of `use`, `python` and `command` is set, which the section looks at."""

    on: Annotated[str, Field(min_length=1, max_length=40)]
    use: str | None = None
    python: str | None = None
    command: Command | None = None
    options: dict[str, Any] = {}
    tools: list[Pattern] | None = Field(default=None, min_length=1)
    agents: list[Pattern] | None = Field(default=None, min_length=1)
    priority: int | None = Field(default=None, ge=-1000, le=1000)
    timeout: HookTimeout | None = None
    on_error: Literal["deny", "ask", "allow"] | None = None
    id: Annotated[str, Field(pattern=ID)] | None = None


class AgentEntry(_Entry):
    """One agent. `hooks` are read on their own, so that every fault of theirs has its line."""

    hooks: list[Any] = []
    inherit: bool = True
    confirm_all_tools: bool = False


class AwayEntry(_Entry):
    """``{from: 2026-12-20, until: 2027-01-05, to: li@acme.example}``: both days are included."""

    first: Day = Field(alias="from")
    last: Day = Field(alias="until")
    to: Name


class PersonEntry(BaseModel):
    """One person; further keys are channel kinds with the person's account id there."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, defer_build=True)
    __pydantic_extra__: dict[str, Annotated[str, Field(pattern=ACCOUNT)]]  # pyright: ignore[reportIncompatibleVariableOverride]  pydantic's own way

    name: str = Field(default="", max_length=200, pattern=rf"^$|{VISIBLE}")
    limit: Limit | None = None
    away: list[AwayEntry] = Field(default=[], max_length=100)
    manager: Name | None = None
    language: Literal["en", "zh"] | None = None


class GroupEntry(_Entry):
    """A group with a name for people, or one that a platform keeps: ``{channel: pay-chat, group: S0FINANCE}``."""

    name: Titles | None = None
    members: Members | None = None
    domains: list[Domain] | None = Field(default=None, min_length=1, max_length=20)
    channel: Name | None = None
    group: Annotated[str, Field(pattern=PLATFORM_ID)] | None = None
    department: Annotated[str, Field(pattern=PLATFORM_ID)] | None = None


class CalendarEntry(_Entry):
    """Working hours and holidays. The section looks at what the texts mean."""

    timezone: str | None = Field(default=None, min_length=1, max_length=64)
    work: dict[str, str]
    holidays: list[str] = Field(default=[], max_length=2000)
    workdays: list[str] = Field(default=[], max_length=2000)


class HeadEntry(_Entry):
    """The scalars at the top of the file."""

    org: Annotated[str, Field(pattern=ORG)]
    language: Literal["en", "zh"] = "en"
    default: Answer
    unknown_tools: Literal["rules", "deny", "refuse"] = "rules"
    guards: Literal["on", "off"] | None = None
    use: list[Annotated[str, Field(max_length=60)]] = Field(default=[], max_length=20)
    timezone: str | None = Field(default=None, min_length=1, max_length=64)
    url: Url | None = None


class WebhookEntry(_Entry):
    """``{url: https://…, secret: "${NAME}", kinds: ["request.*"]}``: who is told of the trail."""

    url: Annotated[str, Field(max_length=2000)]
    secret: SecretStr
    secret_old: SecretStr | None = None
    kinds: list[Annotated[str, Field(max_length=60)]] = Field(min_length=1, max_length=100)
    private: bool = False
