"""A request is one table of columns: whatever is in a row of it is written, read back, and missed by no change.

What is drawn here follows from the dataclasses: a new field of a request, or of a value within one, is drawn, saved and
read back without a line here.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from app.domain.call.exhibit import Exhibit
from app.domain.call.requester_proof import RequesterProof
from app.domain.call.tool_call import ToolCall
from app.domain.lifecycle.step import Step
from app.domain.money.payment import Payment
from app.domain.people.assurance import Assurance
from app.domain.request.caution import Caution
from app.domain.request.consultation import HandOver, Question
from app.domain.request.decision import Decision, Evidence, Verdict
from app.domain.request.elsewhere import Elsewhere
from app.domain.request.quorum import Stage
from app.domain.request.request import (
    ConfirmationRequest,
    Execution,
    Grant,
    Settlement,
    Status,
)
from app.domain.request.timetable import Timer
from app.domain.text.canonical import JsonValue
from app.domain.trail.audit import Kind, Record
from app.storage.requests.requests import find_request, insert_request, save_request
from app.storage.tables.request_columns import DECISION, EXECUTION, GRANT, REQUEST
from app.usecases.writing.carry_out import carry_out
from tests.domain.samples import START, a_call, a_request
from tests.storage.rig import ORG, given_request, look

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.tables.columns import Columns

# What the API lets through, which is all but NUL and halves of surrogate pairs.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
SPANS = st.integers(1, 10**15).map(lambda microseconds: timedelta(microseconds=microseconds))
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(1, 9),
    bool: st.booleans(),
    datetime: SPANS.map(lambda span: START + span),
    timedelta: SPANS,
    Decimal: st.decimals(0, 10**9, places=2),
}
WITHIN = (
    ToolCall,
    RequesterProof,
    Settlement,
    Stage,
    Timer,
    HandOver,
    Question,
    Payment,
    Caution,
    Grant,
    Execution,
    Elsewhere,
    Exhibit,
    Decision,
    Evidence,
)
WORDS = {kind.__name__: kind for kind in WITHIN}
WORDS |= {"datetime": datetime, "timedelta": timedelta, "Decimal": Decimal, "Mapping": Mapping, "JsonValue": JsonValue}
NUMBER = count()
EITHER = {types.UnionType, typing.Union}

ALWAYS_WITH: dict[str, tuple[str, ...]] = {"status": ("settlement",), "settlement": ("status",)}
"""What the database lets change only together."""


def hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, localns=WORDS)


def drawn(hint: Any) -> st.SearchStrategy[Any]:
    """Return values of a type, however it is put together."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    of, origin = typing.get_args(hint), typing.get_origin(hint)
    if origin in EITHER:
        return st.one_of([drawn(each) for each in of])
    if origin is tuple:
        return st.lists(drawn(of[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(TEXTS, TEXTS if of[1] is str else JSON, max_size=3)
    if hint is type(None):
        return st.none()
    return st.sampled_from(hint) if issubclass(hint, enum.Enum) else values(hint)


@cache
def values(kind: type) -> st.SearchStrategy[Any]:
    """Return values of a class, with every field of it drawn."""
    assert issubclass(kind, Struct) or is_dataclass(kind), f"say in SIMPLE how {kind} is drawn"
    return st.fixed_dictionaries({name: drawn(hint) for name, hint in hints(kind).items()}).map(lambda of: kind(**of))


def free(kind: type[Struct], *without: str) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in without]


# The key, what makes a version, and the rows of other tables; a predecessor must be there.
FIELDS = free(ConfirmationRequest, "id", "version", "decisions", "grant", "execution", "predecessor_id")


@cache
def all_fields() -> st.SearchStrategy[dict[str, Any]]:
    types_of = hints(ConfirmationRequest)
    return st.fixed_dictionaries({name: drawn(types_of[name]) for name in FIELDS})


@st.composite
def drawn_fields(draw: st.DrawFn) -> dict[str, Any]:
    """Return every field of a request that a save may change, within what the database lets pass."""
    found = draw(all_fields())
    # Two requests never stand for the same call of the same session, and an org does not change.
    call: ToolCall = found["call"]
    found["call"] = replace(call, org=ORG, session=call.session and f"{next(NUMBER)}{call.session}")
    found["expires_at"] = found["created_at"] + draw(SPANS) + timedelta(microseconds=1)
    found["status"] = draw(st.sampled_from(Status))
    settled: Settlement = draw(values(Settlement))
    in_time = replace(settled, at=found["expires_at"] - timedelta(microseconds=1))
    found["settlement"] = in_time if found["status"].final else None
    return found


def moved(before: ConfirmationRequest, after: ConfirmationRequest) -> Callable[[Tx], None]:
    """Return the unit that saves one as the other, with its event."""

    def unit(tx: Tx) -> None:
        record = Record(kind=Kind.EDITED, actor="ann@acme.example", facts={})
        carry_out(tx, before, Step(request=after, record=record))

    return unit


def put(request: ConfirmationRequest) -> Callable[[Tx], None]:
    """Return the unit that writes a request with its event, and no cards."""

    def unit(tx: Tx) -> None:
        insert_request(tx, request)
        record = Record(kind=Kind.CREATED, actor="agent:payer", facts={})
        tx.append(record, request_id=request.id, request_version=request.version)

    return unit


async def stands(store: Store, request: ConfirmationRequest) -> ConfirmationRequest | None:
    return await store.read(lambda tx: find_request(tx, request.id), org=ORG)


def said(request: ConfirmationRequest | None) -> str:
    """Return a request so that 1, 1.0 and True are three."""
    return repr(request)


# What fails is shown as it was drawn: making it smaller against a database takes longer than a test may.
@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=drawn_fields(), then=drawn_fields())
async def test_any_request_saved_as_any_other_is_read_back(
    store: Store, first: dict[str, Any], then: dict[str, Any]
) -> None:
    number = next(NUMBER)
    before = replace(a_request(f"req_{number}"), **{**first, "status": Status.PENDING, "settlement": None})
    await store.write(put(before), org=ORG, about=before.id)
    assert await stands(store, before) == before
    earlier = a_request(f"req_{number}_earlier", call=a_call(session=f"earlier-{number}"))
    await store.write(put(earlier), org=ORG, about=earlier.id)
    after = replace(before, **then, version=2, predecessor_id=earlier.id)
    await store.write(moved(before, after), org=ORG, about=before.id)
    assert await stands(store, before) == after


OTHER: dict[str, Any] = {
    "call": a_call(session="s-other", arguments={"amount": 1}),
    "settlement": Settlement(at=START, by="ann@acme.example", reason="late", via="api"),
    "status": Status.CANCELLED,
    "predecessor_id": "req_earlier",
    "expires_at": START + timedelta(hours=2),
    "created_at": START - timedelta(hours=2),
}
"""What one field alone is changed to, where it cannot be just anything."""


def other(name: str) -> Any:
    """Return a value of a field that no sample has."""
    return OTHER[name] if name in OTHER else anything(hints(ConfirmationRequest)[name])


def anything(hint: Any) -> Any:
    """Return a value of a type with nothing empty in it, and the last of its words."""
    of = [each for each in typing.get_args(hint) if each is not type(None)]
    origin = typing.get_origin(hint)
    if origin in EITHER:
        return anything(of[0])
    if origin is tuple:
        return (anything(of[0]),) * 2
    if origin is Mapping:
        return {"a name": "é other" if of[-1] is str else [1, True, None, {"deep": 1.5}]}
    if issubclass(hint, enum.Enum):
        return list(hint)[-1]
    simple = {str: "é other", int: 7, bool: True, datetime: START + timedelta(microseconds=7), Decimal: Decimal("7.25")}
    simple[timedelta] = timedelta(microseconds=7)
    if hint in simple:
        return simple[hint]
    return hint(**{name: anything(inner) for name, inner in hints(hint).items()})


async def test_a_field_that_changes_alone_is_written(store: Store) -> None:
    """Each field by itself: a change that was not recognised as one would be audited, and lost."""
    await given_request(store, "req_earlier")
    lost: list[str] = []
    for name in free(ConfirmationRequest, "id", "version", "decisions", "grant", "execution"):
        before = await given_request(store, f"req_{name}")
        together = {each: other(each) for each in (name, *ALWAYS_WITH.get(name, ()))}
        after = replace(before, version=2, **together)
        assert getattr(after, name) != getattr(before, name), f"the same {name} proves nothing"
        await store.write(moved(before, after), org=ORG, about=before.id)
        lost += [] if await stands(store, before) == after else [name]
    assert lost == []


async def test_equal_is_not_the_same(store: Store) -> None:
    """1 and True are equal in Python, and two things in a document."""
    before = await given_request(store, proposed={"urgent": 1})
    after = replace(before, version=2, proposed={"urgent": True})
    assert after.proposed == before.proposed
    await store.write(moved(before, after), org=ORG, about=before.id)
    assert said(await stands(store, before)) == said(after)


async def test_an_execution_and_a_grant_are_saved_whole(store: Store) -> None:
    """What moves them today is their status and outcome; what else differs is not lost either."""
    before = await given_request(store)
    grant: Grant = replace(anything(Grant), id="gra_1", status=next(iter(hints(Grant)["status"])))
    issued = replace(before, version=2, grant=grant)
    await store.write(moved(before, issued), org=ORG, about=before.id)
    assert await stands(store, before) == issued
    execution: Execution = replace(
        anything(Execution), id="exe_1", settled_at=None, result=None, error=None, elsewhere=None
    )
    execution = replace(execution, status=next(iter(hints(Execution)["status"])))
    started = replace(issued, version=3, execution=execution, grant=replace(grant, not_after=START))
    await store.write(moved(issued, started), org=ORG, about=before.id)
    assert await stands(store, before) == started
    over = replace(started, version=4, execution=replace(anything(Execution), id="exe_1", claim_id="another"))
    await store.write(moved(started, over), org=ORG, about=before.id)
    assert await stands(store, before) == over


async def test_every_field_of_a_vote_is_read_back(store: Store) -> None:
    before = await given_request(store)
    evidence = replace(anything(Evidence), shown_at=None)  # only the trail keeps it
    vote: Decision = replace(anything(Decision), evidence=evidence, verdict=Verdict.APPROVE)
    after = replace(before, version=2, decisions=(vote,))
    await store.write(moved(before, after), org=ORG, about=before.id)
    assert await stands(store, before) == after
    assert vote.evidence.assurance is not Assurance.L1


@pytest.mark.parametrize(
    ("columns", "kind"),
    [(REQUEST, ConfirmationRequest), (DECISION, Decision), (GRANT, Grant), (EXECUTION, Execution)],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_every_field_has_a_column_or_is_said_to_be_elsewhere(columns: Columns[Any], kind: type[Struct]) -> None:
    """And every column has a field, or says that it is derived or given."""
    named = [(kind, "")] + [(part, f"{name}.") for name, part in columns.parts.items()]
    wanted = {within + name for part, within in named for name in part.__struct_fields__} - set(columns.parts)
    kept = [".".join(each.steps) for each in columns.kept if not each.derived]
    assert set(kept) | columns.elsewhere == wanted
    assert len(kept) == len(set(kept))
    assert not columns.elsewhere & set(kept)


async def test_another_request_is_not_saved_as_this_one(store: Store) -> None:
    before = await given_request(store)
    for after in (replace(before, id="req_2"), replace(before, call=replace(before.call, org="beta"))):
        with pytest.raises(ValueError, match="keeps its id and its org"):
            await store.write(lambda tx, after=after: save_request(tx, before, after), org=ORG, about="req_1")
    assert await stands(store, before) == before


async def test_what_is_kept_for_queries_follows_what_it_is_derived_from(store: Store, database_url: str) -> None:
    before = await given_request(store)
    timers: tuple[Timer, ...] = anything(tuple[Timer, ...])
    after = replace(before, version=2, timers=timers)
    await store.write(moved(before, after), org=ORG, about=before.id)
    kept = "SELECT state, timer_at, attach_key IS NULL FROM requests"
    assert look(database_url, kept) == [("pending", 1772359200000007, 0)]
    settled = replace(after, version=3, timers=(), status=Status.DENIED, settlement=OTHER["settlement"])
    await store.write(moved(after, settled), org=ORG, about=before.id)
    assert look(database_url, kept) == [("denied", None, 1)]
