"""The trail for who audits: what was asked, found by what is kept in clear; and its verification, begun from a page.

Each look is an event of the trail itself, with what was looked for: once in a while for the same.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from msgspec import Struct, field

from app.domain.card.card_for import instant_text
from app.domain.card.typed import code_in
from app.domain.errors import AssentError, InvalidError
from app.domain.money.payment import plain
from app.domain.people.people import email_key
from app.domain.request.request import State
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.storage.engine.dialect import from_us, to_us
from app.storage.payments.spends import units_of
from app.storage.requests.request_lists import END_OF_TIME
from app.storage.requests.seen_before import seen_before
from app.storage.searching.find_requests import find_requests
from app.usecases.console.office.timeline import short
from app.usecases.console.rights import Page
from app.usecases.console.rows import item_of
from app.usecases.console.sessions import pages_of, refusal_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.usecases.console.rows import Item
    from app.usecases.console.sessions import Right

    Answer = tuple[list[ConfirmationRequest], tuple[int, str] | None, frozenset[Page], datetime]

FIELDS = (
    "payee",
    "least",
    "most_paid",
    "person",
    "agent",
    "tool",
    "code",
    "text",
    "outcome",
    "since",
    "until",
    "saved",
)
SAVED = ("unknown", "glass", "expired", "quick")

MOST = 50
MOST_EXPORTED = 1_000
_MOST_TEXT = 200
_LOOKED = "console trail"
_FORMULA = frozenset("=+-@")
_BREAKS = frozenset("\t\r\n")


class Found(Struct, frozen=True, kw_only=True):
    """One request that was found; every text is visible and masked."""

    item: Item
    code: str
    tool: str
    asked_at: str
    asked_by: str
    settled: str  # after how long, and by whom


class TrailPage(Struct, frozen=True, kw_only=True):
    """What one look found; `onward` is where the next goes on, and `back_to` how far this one came."""

    found: tuple[Found, ...]
    onward: str
    back_to: str
    pages: frozenset[Page]
    read_at: str


class _Sought(Struct, frozen=True, kw_only=True):
    wanted: Mapping[str, str | int]
    before: tuple[int, str]
    told: Mapping[str, str] = field(default_factory=dict[str, str])


class TrailSearch:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book

    async def show(self, right: Right, fields: Mapping[str, str], language: Language) -> TrailPage:
        """Return a page of what is looked for, behind `fields["before"]`.

        Raises UnauthenticatedError, ForbiddenError, and InvalidError, whose `path` is the field that is no such thing.
        """
        policy = self._book.current(right.org).policy
        found, onward, pages, now = await self._find(right, _sought(fields, policy), MOST, form="page")
        return TrailPage(
            found=tuple(_shown(each, policy, language, now) for each in found),
            onward=f"{onward[0]}.{onward[1]}" if onward else "",
            back_to=instant_text(from_us(onward[0]), policy.zone) if onward else "",
            pages=pages,
            read_at=instant_text(now, policy.zone),
        )

    async def csv(self, right: Right, fields: Mapping[str, str]) -> str:
        """Return the same as a table for other programs, of more rows. Raises what `show` raises."""
        policy = self._book.current(right.org).policy
        found, _, _, _ = await self._find(right, _sought(fields, policy), MOST_EXPORTED, form="csv")
        lines = io.StringIO()
        table = csv.writer(lines, lineterminator="\r\n")
        table.writerow(_COLUMNS)
        for each in found:
            table.writerow([_cell(value) for value in _line(each, policy)])
        return lines.getvalue()

    async def _find(self, right: Right, sought: _Sought, most: int, *, form: str) -> Answer:
        looked = f"{right.name}:{form}:{sorted(sought.told.items())}"

        def note(tx: Tx) -> AssentError | bool:
            refused = refusal_for(tx, right, Page.TRAIL)
            if refused is not None:
                return refused
            if not seen_before(tx, _LOOKED, looked):
                words = ", ".join(f"{name}={value}" for name, value in sought.told.items())
                tx.append(Record(kind=Kind.TRAIL_READ, actor=right.person, facts={"search": words, "form": form}))
            return True

        def unit(tx: Tx) -> Answer | AssentError:
            refused = refusal_for(tx, right, Page.TRAIL)
            if refused is not None:
                return refused
            found, onward = find_requests(tx, sought.wanted, before=sought.before, most=most)
            if onward is not None and onward[0] < int(sought.wanted.get("since", 0)):
                onward = None
            return found, onward, pages_of(right), tx.now()

        await self._store.write(note, org=right.org)  # first: nothing is read that the trail does not tell of
        return await self._store.read(unit, org=right.org, long=True)


def _sought(fields: Mapping[str, str], policy: Policy) -> _Sought:
    """Read what is looked for. Raises InvalidError."""
    told = {name: fields[name].strip() for name in FIELDS if fields.get(name, "").strip()}
    for name, value in told.items():
        if "\0" in value or len(value) > _MOST_TEXT:
            raise InvalidError("too long", path=name)
    wanted: dict[str, str | int] = {}
    for name, value in told.items():
        wanted |= _filter(name, value, policy)
    before = (int(wanted.pop("until")), "") if "until" in wanted else (END_OF_TIME, "")
    at, _, request_id = fields.get("before", "").partition(".")
    if at:
        if not (at.isascii() and at.isdigit() and len(at) <= len(str(END_OF_TIME)) and "\0" not in request_id):
            raise InvalidError("no place", path="before")
        before = (min(int(at), END_OF_TIME), request_id)
    return _Sought(wanted=wanted, before=before, told=told)


def _filter(name: str, value: str, policy: Policy) -> dict[str, str | int]:
    """Return what one field asks of the store."""
    match name:
        case "least" | "most_paid":
            return {name: _units(value, name)}
        case "person":
            return {name: email_key(value)}
        case "code":
            return {name: code_in(value)}
        case "outcome":
            return {"state": _one_of(value, set(State), name)}
        case "saved":
            return {_one_of(value, set(SAVED), name): 1}
        case "since":
            return {name: to_us(_day(value, name, policy))}
        case "until":
            return {name: to_us(_day(value, name, policy, behind=timedelta(days=1)))}
        case _:
            return {name: value}


def _one_of(value: str, known: set[str] | set[State], path: str) -> str:
    if value not in known:
        raise InvalidError("unknown", path=path)
    return value


def _units(value: str, path: str) -> int:
    try:
        amount = Decimal(value.replace(",", ""))
        if not amount.is_finite() or not 0 <= amount < 10**14:
            raise InvalidError("no amount", path=path)
        return units_of(amount)
    except InvalidOperation:
        raise InvalidError("no amount", path=path) from None


def _day(value: str, path: str, policy: Policy, *, behind: timedelta = timedelta(0)) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(value) + behind, time(), tzinfo=policy.zone)
    except (ValueError, OverflowError):  # there is no day behind the last
        raise InvalidError("no day", path=path) from None


def _shown(request: ConfirmationRequest, policy: Policy, language: Language, now: datetime) -> Found:
    settled = request.settlement
    after = short(settled.at - request.created_at, language) if settled else ""
    return Found(
        item=item_of(request, policy, language, now),
        code=request.code,
        tool=visible(request.call.tool),
        asked_at=instant_text(request.created_at, policy.zone),
        asked_by=visible(request.call.requester or request.call.agent),
        settled=f"{visible(settled.by)} · {after}" if settled else "",
    )


_COLUMNS = (
    "request", "code", "asked_at", "agent", "requester", "tool", "rule", "state", "settled_at", "settled_by",
    "settled_via", "amounts", "payees",
)  # fmt: skip


def _line(request: ConfirmationRequest, policy: Policy) -> list[str]:
    settled = request.settlement
    tool = policy.tools.get(request.call.tool)
    fields = tool.payment if tool else None

    def hidden(path: str) -> bool:
        return tool is None or tool.hides(path) or path in request.sensitive

    no_amount, no_payee = (fields is None or hidden(fields.amount), fields is None or hidden(fields.payee))
    return [
        request.id,
        request.code,
        request.created_at.isoformat(),
        request.call.agent,
        request.call.requester or "",
        request.call.tool,
        request.rule_id or "",
        request.state.value,
        settled.at.isoformat() if settled else "",
        settled.by if settled else "",
        (settled.via or "") if settled else "",
        "; ".join(f"{plain(each.amount)} {each.currency}" for each in request.payments) if not no_amount else "",
        "; ".join(each.payee for each in request.payments) if not no_payee else "",
    ]


def _cell(text: str) -> str:
    """Keep a text a text: no program is to take what an agent wrote for a formula, in signs of any width."""
    sign = unicodedata.normalize("NFKC", text.lstrip()[:1])
    return f"'{text}" if sign in _FORMULA or text[:1] in _BREAKS else text
