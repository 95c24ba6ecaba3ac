"""What a request's rows say, as it is sealed when they are written (`seals_of`), and what this process knows of them.

Whoever reads a row that is as it was last read or written here, gets that. Nearly no change touches what a request
asks, and most rows are read again soon after they were written here. A row is known by all that it says: each column is
compared as it is kept, ciphertexts, digest and seal with it. So what is remembered of a commit that did not happen is
never found again, and a row that anybody changed is another one, which is read and judged anew.

Where the database tells that nobody else has committed since (SQLite does), a row that the lane itself left so is not
even read: see `find_own` in `requests.py`. Whoever writes rows of a request past `save_request` says so in `Tx.leaves`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from app.storage.tables.request_columns import DECISION, EXECUTION, GRANT, REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from app.domain.request.request import ConfirmationRequest
    from app.storage.engine.transaction import Row, Tx

OFTEN: Final = [column.name for column in REQUEST.kept if column.often and not column.derived]
YOUNGER: Final = ("claimed_by", "elsewhere_id", "elsewhere_link")
"""Columns of an execution that are younger than seals: sealed where they say something, so that older seals hold."""
EXECUTED: Final = [name for name in EXECUTION.inserted.names if name not in YOUNGER]

YOUNGER_ASKED: Final[dict[str, str | int | None]] = {
    "sub_agent": None,
    "alone": 0,
    "cc": "[]",
    "host_event": None,
    "evidence": "[]",
    "requester_proof": None,
}
"""Columns of what is asked that are younger than seals, with what says nothing: sealed where they say something else,
so that what was sealed before they were there holds."""
ASKS: Final = [
    column.name
    for column in REQUEST.kept
    if not (column.often or column.derived or column.key or column.name in YOUNGER_ASKED)
]
ALWAYS_SEALED: dict[str, Sequence[str]] = {
    "requests": [*ASKS, *OFTEN],
    "decisions": DECISION.inserted.names,
    "grants": GRANT.inserted.names,
    "executions": EXECUTED,
}
"""What a seal covers whatever it says, by table: no column younger than seals may be among it, or what was sealed
before it was there would be taken for forged."""
_asks: Callable[[Any], tuple[object, ...]] = itemgetter(*ASKS)

_lasting: Callable[[Any], tuple[object, ...]] = itemgetter(*list(REQUEST.lasting))
_state: Callable[[Any], tuple[object, ...]] = itemgetter(
    *OFTEN,
    *(f"grant_{name}" for name in GRANT.inserted.names),
    *(f"execution_{name}" for name in (*EXECUTED, *YOUNGER)),
)
_decision: Callable[[Any], tuple[object, ...]] = itemgetter(*(f"decision_{name}" for name in DECISION.inserted.names))
_written_often: Callable[[Any], tuple[object, ...]] = itemgetter(*OFTEN)
_written_grant: Callable[[Any], tuple[object, ...]] = itemgetter(*list(GRANT.inserted.names))
_written_execution: Callable[[Any], tuple[object, ...]] = itemgetter(*EXECUTED, *YOUNGER)
_written_decision: Callable[[Any], tuple[object, ...]] = itemgetter(*list(DECISION.inserted.names))
_NO_GRANT: Final = (None,) * len(GRANT.inserted.names)
_NO_EXECUTION: Final = (None,) * (len(EXECUTED) + len(YOUNGER))
_first: Callable[[tuple[object, ...]], Any] = itemgetter(0)

_NOTHING_YOUNGER: Final = (None,) * len(YOUNGER)

ROW: Final = "row"
"""The purpose that the key of the seals of requests is derived for."""

_MOST: Final = 512
_LONGEST: Final = 16_384
"""Characters of a row: longer ones are read each time, so that what is remembered stays within some megabytes."""


class Moved(NamedTuple):
    """What a step of a request's life changes: of its row, its grant and its execution, and its decisions by id."""

    state: tuple[object, ...]
    decisions: list[tuple[object, ...]]


class Seal(NamedTuple):
    """What stands in the columns of the same names."""

    seal: str | None
    bound_digest: str | None


class Known(NamedTuple):
    """What is remembered of a row: how it is kept, and what it says."""

    kept: tuple[object, ...]
    digest: str
    """Of what it asks."""
    fields: Row | None
    """What it asks; None: it was written here, and not read since."""
    moved: tuple[object, Moved] | None = None
    """The rest of it with its seal, where the whole is known: it was written here, or its seal was verified."""
    request: ConfirmationRequest | None = None
    trace: str | None = None
    """The `traceparent` under which it was submitted."""


def digest_of(request_id: str, org: str, columns: Mapping[str, object]) -> str:
    """Return the digest of what a request asks, of its columns as they read when nothing is encrypted."""
    # `ascii` writes texts, whole numbers and None in one way on every version of Python, and at the speed of C.
    younger = [(name, columns[name]) for name, nothing in YOUNGER_ASKED.items() if columns[name] != nothing]
    return hashlib.sha256(ascii((request_id, org, *_asks(columns), *younger)).encode()).hexdigest()


def moved_of(rows: Sequence[Row]) -> Moved:
    """Return what steps have changed, as the rows say it."""
    decisions = [_decision(each) for each in rows if each["decision_id"]]
    decisions.sort(key=_first)
    return Moved(_state(rows[0]), decisions)


def moved_to(request: ConfirmationRequest, columns: Mapping[str, object], before: Known | None = None) -> Moved:
    """Return the same of a request that is about to be written in `columns`, as its rows will say it.

    `before` is what is known of it: the decisions that a step leaves alone are not written out again.
    """
    grant, execution = request.grant, request.execution
    state = (
        *_written_often(columns),
        *(_written_grant(GRANT.inserted(grant)) if grant else _NO_GRANT),
        *(_written_execution(EXECUTION.inserted(execution)) if execution else _NO_EXECUTION),
    )
    if before is not None and before.moved and before.request and before.request.decisions is request.decisions:
        return Moved(state, before.moved[1].decisions)
    decisions = [_written_decision(DECISION.inserted(decision)) for decision in request.decisions]
    decisions.sort(key=_first)
    return Moved(state, decisions)


def seals_of(tx: Tx, request: ConfirmationRequest, moved: Moved, *, asked: str | None = None) -> Seal:
    """Return what seals a request as it is to be written. `asked` is the digest of what it asks, if that is new.

    Without a key (a tool beside the database) it has no seal, and is refused wherever something could come of it.
    """
    if asked is not None:
        tx.bound[request.id] = asked
    bound = tx.bound.get(request.id)
    seal = None
    if tx.seals is not None and bound is not None:
        key_id, mac = tx.seals.seal(ROW, sealed_text(request.id, bound, moved))
        seal = f"s1.{key_id}.{mac}"
    return Seal(seal, bound)


def sealed_text(request_id: str, bound: str, moved: Moved) -> str:
    """Return what a seal is made over: the digest of what is asked, and all that steps have changed."""
    state, decisions = moved
    if state[-len(YOUNGER) :] == _NOTHING_YOUNGER:
        state = state[: -len(YOUNGER)]
    return ascii((request_id, bound, state, decisions))


def kept_of(row: Mapping[str, object], bound_digest: object) -> tuple[object, ...]:
    """Return what of a request's row stays as it is, as it is kept."""
    return (*_lasting(row), bound_digest)


def find_known(tx: Tx, request_id: str) -> Known | None:
    """Return what is remembered of a request."""
    return cast("Known | None", _all_known(tx).get(request_id))


def remember(tx: Tx, request_id: str, known: Known) -> None:
    """Remember a row, if it is not too long; what was remembered of it before is forgotten."""
    all_known = _all_known(tx)
    before = cast("Known | None", all_known.pop(request_id, None))
    tx.leaves[request_id] = None
    if known.request is not None and not _reads_back(known.request):
        return
    if (before is None or before.kept is not known.kept) and len(repr(known.kept)) > _LONGEST:
        return
    all_known[request_id] = known
    tx.leaves[request_id] = known
    if len(all_known) > _MOST:
        all_known.popitem(last=False)


def forget(tx: Tx, request_id: str) -> None:
    """Forget a row: it is written anew, nobody knows yet how."""
    tx.leaves[request_id] = None
    _all_known(tx).pop(request_id, None)


def _reads_back(request: ConfirmationRequest) -> bool:
    """Say whether a request is what its rows say: a decision has more at first, which only the trail keeps.

    A result is encrypted in the row, and of any length; and little is done with a request behind its outcome.
    """
    execution = request.execution
    told = execution is not None and (execution.result is not None or execution.error is not None)
    return not told and all(decision.evidence.shown_at is None for decision in request.decisions)


def _all_known(tx: Tx) -> OrderedDict[str, object]:
    return tx.vault.shown if tx.vault is not None else OrderedDict[str, object]()
