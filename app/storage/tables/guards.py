"""What the database itself refuses, beyond constraints: triggers, and on PostgreSQL row level security.

A migration applies `statements(dialect)`, and `fence_statements` for the tables that it makes. They are the last fence,
behind the state machines: a bug, a console session or a stranger with SQL cannot move a settled request, change a
status without the audit event of the new version, or rewrite the trail. (Whoever owns the database can still drop a
trigger; the hash chain and its published heads are for that.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SETTLED = "a settled request never changes its status"
_UNVERSIONED = "a status changes only with the next version, which needs its audit event"
_APPEND_ONLY = "the audit trail only grows"
_NOT_OVER = "what is not over is never deleted"

# Reading across orgs needs the explicit scope '*', which only the gateway's own sweeps and migrations set.
_SCOPE = "current_setting('assent.org', true)"


def statements(dialect: str) -> tuple[str, ...]:
    """Return the DDL that installs the triggers on a dialect (``sqlite`` or ``postgresql``)."""
    return _sqlite() if dialect == "sqlite" else _postgresql()


def drop_statements(dialect: str) -> tuple[str, ...]:
    """Return the DDL that removes them again, before the tables go."""
    if dialect == "sqlite":
        return tuple(f"DROP TRIGGER IF EXISTS {name}" for name in _TRIGGERS)
    return (
        *(f"DROP TRIGGER IF EXISTS {name} ON {table}" for name, table in _TRIGGERS.items()),
        "DROP FUNCTION IF EXISTS assent_guard_request()",
        "DROP FUNCTION IF EXISTS assent_guard_audit()",
    )


def fence_statements(dialect: str, tables: Iterable[str]) -> tuple[str, ...]:
    """Return the DDL that shows an org only its own rows of `tables`. SQLite has no such fence."""
    if dialect == "sqlite":
        return ()
    return tuple(
        statement
        for table in tables
        for statement in (
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
            f"""CREATE POLICY org_rows ON {table} USING (org = {_SCOPE} OR {_SCOPE} = '*')
                WITH CHECK (org = {_SCOPE} OR {_SCOPE} = '*')""",
        )
    )


def drop_fence_statements(dialect: str, tables: Iterable[str]) -> tuple[str, ...]:
    """Return the DDL that removes that fence again."""
    return () if dialect == "sqlite" else tuple(f"DROP POLICY IF EXISTS org_rows ON {table}" for table in tables)


def versioned_statements(dialect: str, others: Sequence[str] | None) -> tuple[str, ...]:
    """Return the DDL that lets values be encrypted in a row that stands, without another version of it.

    `others` are the columns that must be the same then; None: nothing is let through, as before 0013.
    """
    same = "IS" if dialect == "sqlite" else "IS NOT DISTINCT FROM"
    encrypted = [f"NEW.{name} {same} OLD.{name}" for name in others or ()]
    but = f" AND NOT ({' AND '.join(encrypted)} AND NEW.arguments LIKE 'e1.%')" if encrypted else ""
    if dialect == "sqlite":
        return ("DROP TRIGGER requests_versioned", _sqlite_versioned(but))
    return (_postgresql_guard(but).replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1),)


def removal_statements(dialect: str) -> tuple[str, ...]:
    """Return the DDL that lets what is over be deleted, and keeps grants and executions as it keeps requests."""
    if dialect == "sqlite":
        return (
            "DROP TRIGGER requests_kept",
            *(
                f"""CREATE TRIGGER {table}_kept BEFORE DELETE ON {table} WHEN {unless}
            BEGIN SELECT RAISE(ABORT, '{_NOT_OVER}'); END"""
                for table, unless in _KEPT.items()
            ),
        )
    return (
        "DROP TRIGGER requests_kept ON requests",
        f"""CREATE FUNCTION assent_guard_removal() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              RAISE EXCEPTION '{_NOT_OVER}' USING ERRCODE = 'insufficient_privilege';
            END $$""",
        *(
            f"""CREATE TRIGGER {table}_kept BEFORE DELETE ON {table}
           FOR EACH ROW WHEN ({unless}) EXECUTE FUNCTION assent_guard_removal()"""
            for table, unless in _KEPT.items()
        ),
    )


def drop_removal_statements(dialect: str) -> tuple[str, ...]:
    """Return the DDL that keeps every request again, as before 0017."""
    if dialect == "sqlite":
        kept = next(each for each in _sqlite() if "requests_kept" in each)
        return (*(f"DROP TRIGGER {table}_kept" for table in _KEPT), kept)
    kept = next(each for each in _postgresql() if "requests_kept" in each)
    dropped = (f"DROP TRIGGER {table}_kept ON {table}" for table in _KEPT)
    return (*dropped, "DROP FUNCTION assent_guard_removal()", kept)


_KEPT = {
    "requests": "OLD.status = 'pending' OR OLD.state IN ('approved', 'executing', 'unknown', 'pending_elsewhere')",
    "grants": "OLD.status = 'issued'",
    "executions": "OLD.status IN ('started', 'unknown', 'pending_elsewhere')",
}
"""What is not over, by table."""

_TRIGGERS = {
    "requests_settled": "requests",
    "requests_versioned": "requests",
    "requests_kept": "requests",
    "grants_kept": "grants",
    "executions_kept": "executions",
    "audit_events_unchanged": "audit_events",
    "audit_events_kept": "audit_events",
}


def _sqlite() -> tuple[str, ...]:
    return (
        f"""CREATE TRIGGER requests_settled BEFORE UPDATE OF status, settled_at, settled_by, digest ON requests
            WHEN OLD.status <> 'pending' AND (NEW.status <> OLD.status OR NEW.settled_at IS NOT OLD.settled_at
                 OR NEW.settled_by IS NOT OLD.settled_by OR NEW.digest <> OLD.digest)
            BEGIN SELECT RAISE(ABORT, '{_SETTLED}'); END""",
        _sqlite_versioned(),
        f"""CREATE TRIGGER requests_kept BEFORE DELETE ON requests
            BEGIN SELECT RAISE(ABORT, '{_SETTLED}'); END""",
        f"""CREATE TRIGGER audit_events_unchanged BEFORE UPDATE ON audit_events
            BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END""",
        f"""CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events
            BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END""",
    )


def _sqlite_versioned(but: str = "") -> str:
    return f"""CREATE TRIGGER requests_versioned BEFORE UPDATE ON requests
            WHEN NEW.version <> OLD.version + 1{but}
            BEGIN SELECT RAISE(ABORT, '{_UNVERSIONED}'); END"""


def _postgresql_guard(but: str = "") -> str:
    return f"""CREATE FUNCTION assent_guard_request() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              IF TG_OP = 'DELETE' THEN
                RAISE EXCEPTION '{_SETTLED}' USING ERRCODE = 'insufficient_privilege';
              END IF;
              IF OLD.status <> 'pending' AND (NEW.status <> OLD.status
                   OR NEW.settled_at IS DISTINCT FROM OLD.settled_at
                   OR NEW.settled_by IS DISTINCT FROM OLD.settled_by OR NEW.digest <> OLD.digest) THEN
                RAISE EXCEPTION '{_SETTLED}' USING ERRCODE = 'insufficient_privilege';
              END IF;
              IF NEW.version <> OLD.version + 1{but} THEN
                RAISE EXCEPTION '{_UNVERSIONED}' USING ERRCODE = 'insufficient_privilege';
              END IF;
              RETURN NEW;
            END $$"""


def _postgresql() -> tuple[str, ...]:
    return (
        _postgresql_guard(),
        f"""CREATE FUNCTION assent_guard_audit() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              RAISE EXCEPTION '{_APPEND_ONLY}' USING ERRCODE = 'insufficient_privilege';
            END $$""",
        """CREATE TRIGGER requests_versioned BEFORE UPDATE ON requests
           FOR EACH ROW EXECUTE FUNCTION assent_guard_request()""",
        "CREATE TRIGGER requests_kept BEFORE DELETE ON requests FOR EACH ROW EXECUTE FUNCTION assent_guard_request()",
        """CREATE TRIGGER audit_events_unchanged BEFORE UPDATE ON audit_events
           FOR EACH ROW EXECUTE FUNCTION assent_guard_audit()""",
        """CREATE TRIGGER audit_events_kept BEFORE DELETE OR TRUNCATE ON audit_events
           FOR EACH STATEMENT EXECUTE FUNCTION assent_guard_audit()""",
        # The hot table changes all the time; the planner and the vacuum must not fall behind.
        "ALTER TABLE requests SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)",
        "ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)",
    )
