"""The tables, with named constraints that repeat the rules of the domain.

Three rules hold in the database itself, whoever writes:

* **No change without its audit event.** `requests (id, version)` refers to `audit_events` (its id and version),
  checked at commit. A status cannot change without a version, nor a version without an event (see `guards.py`).
* **Final is final, and the trail only grows.** Triggers refuse to change a settled request or any audit event, and to
  delete what is not over, or an event that no record of a cut covers.
* **Single use.** One grant a request, one execution a grant, one decision a person.

Instants are microseconds since 1970 UTC in a BIGINT, documents are canonical JSON in TEXT: the same on SQLite and
PostgreSQL, exact, ordered, and free of driver conversions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from app.domain.request.decision import Verdict
from app.domain.request.request import DeliveryStatus, ExecutionStatus, GrantStatus, State, Status
from app.storage.tables import hook_tables, payment_tables, replica_tables, secret_tables, webhook_tables
from app.storage.tables.request_columns import DECISION, EXECUTION, GRANT, REQUEST
from app.storage.tables.schema import metadata, partial_index

if TYPE_CHECKING:
    from sqlalchemy import MetaData


def _one_of(
    column: str, values: type[Status | GrantStatus | ExecutionStatus | DeliveryStatus | State | Verdict]
) -> str:
    listed = ", ".join(f"'{value.value}'" for value in values)
    return f"{column} IN ({listed})"


requests = Table(
    "requests",
    metadata,
    *REQUEST.made(),
    CheckConstraint(_one_of("status", Status), name="status"),
    CheckConstraint(_one_of("state", State), name="state"),
    CheckConstraint("version >= 1", name="version"),
    CheckConstraint("expires_at > created_at", name="deadline"),
    CheckConstraint("(status = 'pending') = (settled_at IS NULL)", name="settled"),
    CheckConstraint("status <> 'approved' OR settled_at < expires_at", name="approved_in_time"),
    UniqueConstraint("org", "attach_key", name="uq_requests_attach_key"),
    ForeignKeyConstraint(
        ["id", "version"],
        ["audit_events.request_id", "audit_events.request_version"],
        name="fk_requests_audited",
        deferrable=True,
        initially="DEFERRED",
        use_alter=False,
    ),
)
Index("ix_requests_listing", requests.c.org, requests.c.created_at, requests.c.id)
partial_index(
    "ix_requests_due",
    requests.c.expires_at,
    where="status = 'pending'",
)
partial_index(
    "ix_requests_timers",
    requests.c.timer_at,
    where="status = 'pending' AND timer_at IS NOT NULL",
)
partial_index(
    "ix_requests_reopened",
    requests.c.predecessor_id,
    unique=True,  # an expired request is asked again once
    where="predecessor_id IS NOT NULL",
)
partial_index(
    "ix_requests_denied",
    requests.c.org,
    requests.c.agent,
    requests.c.call_digest,
    where="status = 'denied'",
)
partial_index(
    "ix_requests_denied_edited",
    requests.c.org,
    requests.c.agent,
    requests.c.settled_at,
    where="status = 'denied' AND edited_by IS NOT NULL",
)
partial_index(
    "ix_requests_denied_near",
    requests.c.org,
    requests.c.near_key,
    requests.c.settled_at,
    where="status = 'denied' AND near_key IS NOT NULL",
)
partial_index(
    "ix_requests_waiting",
    requests.c.org,
    requests.c.risk,
    requests.c.expires_at,
    requests.c.id,
    where="status = 'pending'",
)
partial_index(
    "ix_requests_requester",
    requests.c.org,
    requests.c.requester,
    requests.c.created_at,
    where="requester IS NOT NULL",
)
partial_index(
    "ix_requests_owner",
    requests.c.org,
    requests.c.owner,
    requests.c.created_at,
    where="owner IS NOT NULL",
)
Index("ix_requests_open", requests.c.org, requests.c.agent, requests.c.state)
Index("ix_requests_session", requests.c.org, requests.c.agent, requests.c.session)
Index("ix_requests_states", requests.c.org, requests.c.state, requests.c.created_at)  # counted without a look at a row
partial_index(
    "ix_requests_decided",
    requests.c.org,
    requests.c.created_at,
    requests.c.id,
    where="status IN ('approved', 'denied')",
)

decisions = Table(
    "decisions",
    metadata,
    *DECISION.made(),
    CheckConstraint(_one_of("verdict", Verdict), name="verdict"),
    UniqueConstraint("request_id", "person"),
)
Index("ix_decisions_person", decisions.c.org, decisions.c.person, decisions.c.decided_at)

grants = Table(
    "grants",
    metadata,
    *GRANT.made(),
    CheckConstraint(_one_of("status", GrantStatus), name="status"),
)
partial_index(
    "ix_grants_due",
    grants.c.not_after,
    where="status = 'issued'",
)

executions = Table(
    "executions",
    metadata,
    *EXECUTION.made(),
    CheckConstraint(_one_of("status", ExecutionStatus), name="status"),
    CheckConstraint("status <> 'pending_elsewhere' OR elsewhere_id IS NOT NULL", name="elsewhere"),
)
partial_index(
    "ix_executions_unknown",  # asked for every few seconds
    executions.c.org,
    executions.c.ended_at,
    where="status = 'unknown'",
)
partial_index(
    "ix_executions_due",
    executions.c.lease_until,
    where="status = 'started'",
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    Column("request_id", Text, ForeignKey("requests.id"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("chat_id", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("handle", Text, nullable=False, unique=True),  # names this revision in its buttons
    Column("status", Text, nullable=False),
    Column("app_id", Text, nullable=False, server_default=""),
    Column("tenant", Text, nullable=False, server_default=""),
    Column("message_id", Text, nullable=False, server_default=""),
    Column("first_tried_at", BigInteger),  # of this revision: bounds the platform's own deduplication
    Column("posted_at", BigInteger),
    Column("repost_at", BigInteger),  # before the platform stops edits and clicks
    Column("shown_version", Integer, nullable=False, server_default="0"),
    Column("error", Text),
    Column("person", Text),  # whose own copy it is; none: the chat's
    Column("audience", Text, nullable=False, server_default="approvers"),
    Column("carrier_id", Text),  # the card in which this one is shown, with others
    Column("content_refused", Integer, nullable=False, server_default="0"),  # it is shown without the call
    Column("looked", Integer, nullable=False, server_default="0"),  # see `app.storage.cards.unseen`
    CheckConstraint(_one_of("status", DeliveryStatus), name="status"),
    UniqueConstraint("request_id", "channel", "chat_id"),
)
partial_index(
    "ix_deliveries_unseen",
    deliveries.c.org,
    deliveries.c.channel,
    deliveries.c.posted_at,
    where="status = 'live' AND looked <> 1",
)
partial_index(
    "ix_deliveries_undeliverable", deliveries.c.org, deliveries.c.request_id, where="status = 'undeliverable'"
)
partial_index(
    "ix_deliveries_carrier",
    deliveries.c.carrier_id,
    where="carrier_id IS NOT NULL",
)
partial_index(
    "ix_deliveries_repost",
    deliveries.c.repost_at,
    where="status = 'live'",
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org", Text, nullable=False),
    Column("kind", Text, nullable=False),  # post | refresh | notify
    Column("delivery_id", Text, ForeignKey("deliveries.id"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("status", Text, nullable=False),  # queued | done | dead
    Column("due_at", BigInteger, nullable=False),  # also the end of a lease
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("error", Text),
    Column("note", Text),  # what a notice says: see `app.domain.trail.notes`
    CheckConstraint("kind IN ('post', 'refresh', 'notify')", name="kind"),
    CheckConstraint("status IN ('queued', 'done', 'dead')", name="status"),
)
partial_index(
    "ix_outbox_due",
    outbox.c.channel,
    outbox.c.due_at,
    where="status = 'queued'",
)
Index("ix_outbox_delivery", outbox.c.delivery_id)
partial_index(
    "ix_outbox_over",
    outbox.c.org,
    outbox.c.created_at,
    where="status <> 'queued'",
)

turns = Table(
    "turns",
    metadata,
    Column("org", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("method", Text, nullable=False),  # post | edit
    Column("chat_id", Text, nullable=False),  # "": one for all chats
    Column("paid_until", BigInteger, nullable=False),
    Column("held_until", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "channel", "method", "chat_id"),
)

audit_events = Table(
    "audit_events",
    metadata,
    Column("org", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("id", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("request_id", Text),
    Column("request_version", Integer),
    Column("facts", Text, nullable=False),
    Column("prev_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("org", "seq"),
    UniqueConstraint("request_id", "request_version", name="uq_audit_events_request_version"),
)
Index("ix_audit_events_request", audit_events.c.request_id)
partial_index(
    "ix_audit_events_revoked",
    audit_events.c.org,
    audit_events.c.facts,
    where="kind = 'key.revoked'",
)
OF_PERMITS = (
    "kind IN ('standing.used', 'standing.session_used', 'standing.revoked', 'break_glass.used', 'break_glass.ended')"
)
"""Uses and ends of standing approvals and broken glass, in the words of their index."""
partial_index(
    "ix_audit_events_permits",
    audit_events.c.org,
    audit_events.c.at,
    where=OF_PERMITS,
)

audit_heads = Table(
    "audit_heads",
    metadata,
    Column("org", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

trail_cuts = Table(
    "trail_cuts",
    metadata,
    Column("org", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),  # of the last event that was cut off
    Column("hash", Text, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("prev_hash", Text, nullable=False),  # of the event before the first
    Column("file", Text, nullable=False),
    Column("digest", Text, nullable=False),  # SHA-256 of the file
    Column("carried", Text, nullable=False),  # canonical JSON: what the events until here say that stands
    Column("cut_by", Text, nullable=False),
    Column("cut_at", BigInteger, nullable=False),
    Column("seal", Text, nullable=False),
    PrimaryKeyConstraint("org", "seq"),
    UniqueConstraint("org", "first_seq"),  # two cuts never overlap
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("org", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("call_digest", Text, nullable=False),
    Column("request_id", Text, ForeignKey("requests.id"), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "agent", "key"),
)
Index("ix_idempotency_keys_expiry", idempotency_keys.c.expires_at)
Index("ix_idempotency_keys_request", idempotency_keys.c.request_id)

seen_clicks = Table(
    "seen_clicks",
    metadata,
    Column("org", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("event_key", Text, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "channel", "event_key"),
)
Index("ix_seen_clicks_expiry", seen_clicks.c.expires_at)

accounts = Table(
    "accounts",
    metadata,
    Column("org", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("account_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("checked_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "channel", "person"),
)
Index("ix_accounts_account", accounts.c.org, accounts.c.channel, accounts.c.account_id)

policies = Table(
    "policies",
    metadata,
    Column("org", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("text", Text, nullable=False),  # the file as it was, secrets unexpanded
    Column("loaded_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("org", "version"),
)

MODULES = (hook_tables, payment_tables, replica_tables, secret_tables, webhook_tables)
"""Where the other tables are: importing them has put these into `metadata`."""

ORG_TABLES = tuple(table.name for table in metadata.sorted_tables if "org" in table.columns)
"""Every table whose rows belong to an org: row level security covers them on PostgreSQL."""


def whole_metadata() -> MetaData:
    """Return the description with what PostgreSQL alone reads of it: for whoever makes the tables, or compares them."""
    for table in metadata.tables.values():
        for index in table.indexes:
            if "where" in index.info:
                index.dialect_options["postgresql"]["where"] = text(index.info["where"])
    return metadata
