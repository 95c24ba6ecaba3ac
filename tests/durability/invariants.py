"""What must hold in every reachable state, read from the rows with plain SQL, past all our storage code.

Each check yields sentences about what is wrong. The names are those of the invariants: terminal (I1), mediation (I2),
single use (I3), deadline (I4), authority (I5), quorum (I6), shown (I7), audit bijection (I9), chain (I10), isolation
(I12), fail-closed (I13).
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from app.domain.call.tool_call import ToolCall, binding_digest
from app.domain.identity.seals import Seals
from app.domain.money.payment import Payment
from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.chain import first_fault
from app.storage.engine.dialect import from_us
from app.storage.identity.vault import ValueKey, number_of
from app.storage.tables.request_columns import EXECUTION, REQUEST
from tests.domain.samples import FINANCE
from tests.durability.gateway_process import SECRET
from tests.fixtures.gateway import SECRET as EMBEDDED_SECRET
from tests.storage.rig import behind

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = dict[str, Any]
SETTLING = {
    "request.approved": "approved",
    "request.denied": "denied",
    "request.expired": "expired",
    "request.cancelled": "cancelled",
    "request.undeliverable": "undeliverable",
}
VOTING = {"request.voted", "request.approved", "request.denied"}
_TABLES = ("requests", "decisions", "grants", "executions", "deliveries", "audit_events", "audit_heads")


@dataclass(slots=True)
class Snapshot:
    """All rows that the invariants speak of, and the people who may vote."""

    rows: dict[str, list[Row]]
    entitled: frozenset[str]
    _of: dict[str, dict[str, list[Row]]] = field(default_factory=dict[str, "dict[str, list[Row]]"])

    def of(self, table: str, request_id: str) -> list[Row]:
        """Return a request's rows in a table."""
        if table not in self._of:
            of = self._of[table] = defaultdict[str, list[Row]](list)
            for row in self.rows[table]:
                of[row["request_id"]].append(row)
        return self._of[table].get(request_id, [])


def snapshot(url: str, *, entitled: frozenset[str] = FINANCE) -> Snapshot:
    """Read everything in one transaction."""
    with behind(url) as connection:
        return _snapshot(connection, entitled)


def _snapshot(connection: Any, entitled: frozenset[str]) -> Snapshot:
    rows: dict[str, list[Row]] = {}
    connection.execute("BEGIN" if _is_file(connection) else "BEGIN ISOLATION LEVEL REPEATABLE READ")
    for table in _TABLES:
        cursor = connection.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        rows[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    connection.execute("COMMIT")
    _decrypt(rows, connection)
    rows["audit_events"].sort(key=lambda row: (row["org"], row["seq"]))
    return Snapshot(rows=rows, entitled=entitled)


def _decrypt(rows: dict[str, list[Row]], connection: Any) -> None:
    """Put what the calls carry in the place of what is kept of it; the tests' gateways have one of two secrets."""
    seals = Seals([SECRET, EMBEDDED_SECRET])
    keys = {
        (org, number): ValueKey.unwrapped(seals, org, number, text)
        for org, number, text in connection.execute("SELECT org, number, wrapped FROM value_keys").fetchall()
    }
    for table, columns, of in (("requests", REQUEST, "id"), ("executions", EXECUTION, "request_id")):
        for row in rows[table]:
            for name in columns.hidden:
                key = keys.get((row["org"], number_of(row[name] or "")))
                row[name] = key.read(row[name], f"{row[of]}\n{row['id']}\n{name}") if key else row[name]


def faults(url: str, *, entitled: frozenset[str] = FINANCE) -> list[str]:
    """Say all that is wrong in a database; an empty list is what every test wants."""
    with behind(url) as connection:
        return faults_seen(connection, entitled=entitled)


def faults_seen(connection: Any, *, entitled: frozenset[str] = FINANCE) -> list[str]:
    """The same over a connection that stays: to open one costs PostgreSQL more than to look."""
    seen = _snapshot(connection, entitled)
    found = [*_chain(seen), *_isolation(seen), *(_file(connection) if _is_file(connection) else ())]
    for request in seen.rows["requests"]:
        events = seen.of("audit_events", request["id"])
        for check in (_terminal, _bijection, _authority, _quorum, _mediation):
            found += [f"{request['id']}: {fault}" for fault in check(seen, request, events)]
    return found


def _terminal(seen: Snapshot, request: Row, events: list[Row]) -> Iterator[str]:
    """I1, I17: one settling event, nothing decided after it, and the row says what it says."""
    del seen
    settling = [event for event in events if event["kind"] in SETTLING]
    if len(settling) > 1:
        yield f"settled {len(settling)} times"
    expected = SETTLING[settling[0]["kind"]] if settling else "pending"
    if request["status"] != expected:
        yield f"the row says {request['status']}, the trail {expected}"
    if settling and (request["settled_at"], request["settled_by"]) != (settling[0]["at"], settling[0]["actor"]):
        yield "the row names another settlement than the trail"
    late = [e for e in events if settling and e["seq"] > settling[0]["seq"] and e["kind"] in VOTING]
    if late:
        yield f"a vote after the end: {late[0]['kind']}"
    if request["status"] == "expired" and (
        request["settled_by"] != "system" or request["settled_at"] < request["expires_at"]
    ):
        yield "expired early, or by a person"


def _bijection(seen: Snapshot, request: Row, events: list[Row]) -> Iterator[str]:
    """I9: each version has its one event, in order, and the trail's times do not run backwards within a request."""
    del seen
    versions = [event["request_version"] for event in events if event["request_version"] is not None]
    if versions != list(range(1, request["version"] + 1)):
        yield f"version {request['version']}, but events for {versions}"
    changes = [event for event in events if event["request_version"] is not None]
    if [event["at"] for event in changes] != sorted(event["at"] for event in changes):
        yield "its events' times run backwards"


def _quorum(seen: Snapshot, request: Row, events: list[Row]) -> Iterator[str]:
    """I5, I6: whether those who voted were enough at that very moment, and are those of the rows."""
    need = sum(stage["need"] for stage in json.loads(request["stages"]))
    yes = set[str]()
    if request["allowed_by"] is not None:
        yield from _allowed(seen, request, events)
        return
    for event in _since_last_edit(events):
        facts = json.loads(event["facts"])
        if facts["verdict"] == "withdraw":
            yes.discard(event["actor"])
        if facts["verdict"] == "approve":
            if event["actor"] in yes:
                yield f"{event['actor']} counted twice"
            yes.add(event["actor"])
            if (len(yes) >= need) != (event["kind"] == "request.approved"):
                yield f"{event['kind']} at {len(yes)} of {need}"
    voted = seen.of("decisions", request["id"])
    last = {event["actor"]: json.loads(event["facts"])["verdict"] for event in _since_last_edit(events)}
    if {row["person"]: row["verdict"] for row in voted} != {
        who: said for who, said in last.items() if said != "withdraw"
    }:
        yield "the votes in the rows are not those of the trail"
    if any(row["verdict"] == "approve" and row["assurance"] < min(request["assurance"], "L3") for row in voted):
        yield "a vote that is worth less than the request takes"
    if (request["status"] == "denied") != any(row["verdict"] == "deny" for row in voted):
        yield "a denial that does not end it, or an end without one"


def _allowed(seen: Snapshot, request: Row, events: list[Row]) -> Iterator[str]:
    """I2: nobody voted on what a rule allowed; only an executor may run it, and the trail says why it may."""
    told = [event for event in events if event["kind"] in VOTING]
    if [(event["kind"], event["actor"]) for event in told] != [("request.approved", request["allowed_by"])]:
        yield "allowed by a rule, and the trail says otherwise"
    if seen.of("decisions", request["id"]) or json.loads(request["stages"]) or not request["enforced"]:
        yield "allowed by a rule, and yet people were asked, or anybody may run it"
    if any(json.loads(event["facts"])["digest"] != request["digest"] for event in told):
        yield "allowed by a rule for another digest"


def _authority(seen: Snapshot, request: Row, events: list[Row]) -> Iterator[str]:
    """I4, I5, I7: who voted, when, and for what exactly."""
    barred = {request["requester"], request["owner"]}
    if request["allowed_by"] is not None:
        return  # nobody voted: see `_allowed`
    standing = [event["seq"] for event in _since_last_edit(events)]
    for event in (event for event in events if event["kind"] in VOTING):
        facts = json.loads(event["facts"])
        if event["actor"] not in seen.entitled - barred:
            yield f"a vote of {event['actor']}"
        if event["seq"] in standing and facts["digest"] != request["digest"]:
            yield "a vote on another digest"
        if facts["channel"] != "api" and not facts["card_revision"]:
            yield "a vote through no card"
        if event["at"] >= request["expires_at"]:
            yield "a vote after the deadline"


def _mediation(seen: Snapshot, request: Row, events: list[Row]) -> Iterator[str]:
    """I2, I3, I4, I13: at most one grant and one execution, of an approval, of exactly these arguments, in time."""
    grants, executions = seen.of("grants", request["id"]), seen.of("executions", request["id"])
    if len(grants) != (request["status"] == "approved"):
        yield f"{request['status']} with {len(grants)} grants"
    if len(executions) != sum(grant["status"] == "consumed" for grant in grants):
        yield f"{len(executions)} executions for {[grant['status'] for grant in grants]}"
    if len(executions) != sum(event["kind"] == "grant.claimed" for event in events):
        yield "executions and claims in the trail differ"
    for execution in executions:
        if execution["grant_id"] != grants[0]["id"] or execution["started_at"] >= grants[0]["not_after"]:
            yield "claimed with another grant, or too late"
    call = ToolCall(
        **{
            name: request[name]
            for name in ("org", "agent", "session", "call_id", "tool", "requester", "owner", "claim")
        },
        arguments=json.loads(request["arguments"]),
    )
    edits = [event["request_version"] for event in events if event["kind"] == "request.edited"]
    payments = [Payment(**{**each, "amount": Decimal(each["amount"])}) for each in json.loads(request["payments"])]
    digest = binding_digest(
        call,
        request_id=request["id"],
        nonce=f"{request['nonce']}.{edits[-1]}" if edits else request["nonce"],
        policy_version=request["policy_version"],
        expires_at=datetime.fromisoformat(_bound_deadline(events)),
        payments=payments,
    )
    if digest != request["digest"]:
        yield "its digest is not that of its arguments"


def _bound_deadline(events: list[Row]) -> str:
    """Return the deadline in the digest: as it was when the call was asked, or last changed. More time changes none."""
    bound = latest = ""
    for event in events:
        facts = json.loads(event["facts"])
        match event["kind"]:
            case "request.created":
                bound = latest = facts["expires_at"]
            case "request.extended":
                latest = facts["until"]
            case "request.edited":
                bound = latest
            case _:
                pass
    return bound


def _since_last_edit(events: list[Row]) -> list[Row]:
    """Return the votes that were cast on the call as it stands: those before it was changed count no longer."""
    edited = max((event["seq"] for event in events if event["kind"] == "request.edited"), default=-1)
    return [event for event in events if event["kind"] in VOTING and event["seq"] > edited]


def _chain(seen: Snapshot) -> Iterator[str]:
    """I10: each org's events follow one another without a gap, and the head is the last of them."""
    by_org: dict[str, list[AuditEvent]] = defaultdict(list)
    for row in seen.rows["audit_events"]:
        record = Record(kind=Kind(row["kind"]), actor=row["actor"], facts=json.loads(row["facts"]))
        by_org[row["org"]].append(
            AuditEvent(
                org=row["org"],
                seq=row["seq"],
                id=row["id"],
                at=from_us(row["at"]),
                record=record,
                request_id=row["request_id"],
                request_version=row["request_version"],
                prev_hash=row["prev_hash"],
                hash=row["hash"],
            )
        )
    heads = {row["org"]: (row["seq"], row["hash"]) for row in seen.rows["audit_heads"]}
    if heads != {org: (events[-1].seq, events[-1].hash) for org, events in by_org.items()}:
        yield "a head that is not the last event of its chain"
    for org, events in by_org.items():
        if fault := first_fault(events):
            yield f"{org}: {fault}"


def _isolation(seen: Snapshot) -> Iterator[str]:
    """I12: whatever belongs to a request is of its org."""
    orgs = {row["id"]: row["org"] for row in seen.rows["requests"]}
    for table in ("decisions", "grants", "executions", "deliveries", "audit_events"):
        for row in seen.rows[table]:
            if row["request_id"] is not None and orgs.get(row["request_id"]) != row["org"]:
                yield f"{table}: a row of {row['org']} for {row['request_id']}"


def _file(connection: Any) -> Iterator[str]:
    """Let SQLite look over its own pages and references."""
    for (said,) in connection.execute("PRAGMA integrity_check").fetchall():
        if said != "ok":
            yield f"integrity_check: {said}"
    for row in connection.execute("PRAGMA foreign_key_check").fetchall():
        yield f"foreign_key_check: {row}"


def _is_file(connection: Any) -> bool:
    return isinstance(connection, sqlite3.Connection)
