"""Figures: what Prometheus scrapes."""

from __future__ import annotations

import threading
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from app.domain.trail.audit import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.telemetry.logs import Committed

_ENDS = {
    Kind.APPROVED: "approved",
    Kind.DENIED: "denied",
    Kind.EXPIRED: "expired",
    Kind.CANCELLED: "cancelled",
    Kind.UNDELIVERABLE: "undeliverable",
}
"""How people's being asked may end."""
_PATIENCE = (1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600)
_COMMITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Direction(Protocol):
    """One direction of a channel: whether it is open, where that is known, and the seconds since it last worked."""

    @property
    def is_open(self) -> bool | None:
        """Whether it is."""
        ...

    @property
    def worked_ago(self) -> float | None:
        """How long ago that was; None: never in this process's time."""
        ...


class _Answers(dict[tuple[str, int], Histogram]):
    """The children of a histogram: looking one up by its labels costs more than counting, so it is done once."""

    def __init__(self, http: Histogram) -> None:
        super().__init__()
        self._http = http

    def __missing__(self, key: tuple[str, int]) -> Histogram:
        route, status = key
        child = self[key] = self._http.labels(route=route, status=str(status))
        return child


class Telemetry:
    """The figures of one process, in a registry of its own."""

    def __init__(self, *, database_errors: Iterable[str] = ()) -> None:
        """Declare them. `database_errors` are the kinds that may be counted."""
        self.registry = CollectorRegistry()
        self._one_at_a_time = threading.Lock()
        self.events = Counter(
            "assent_events", "What this process wrote into the trail, by kind", ["kind"], registry=self.registry
        )
        self.callbacks_rejected = Counter(
            "assent_callbacks_rejected", "Calls of a channel that did not verify", ["channel"], registry=self.registry
        )
        self.access_refused = Counter(
            "assent_access_refused", "Attempts that were refused, by the code of why", ["code"], registry=self.registry
        )
        self._removed = Counter(
            "assent_retention_removed",
            "Rows that the file's retention removed, by what they were",
            ["what"],
            registry=self.registry,
        )
        self._more = self._gauge(
            "retention_more", "1 while the last round of retention had more to remove than it had time for", "org"
        )
        self.http = Histogram(
            "assent_http_seconds",
            "Time to answer, by route and status; held calls are not counted",
            ["route", "status"],
            registry=self.registry,
        )
        self.answers = _Answers(self.http)
        """What counts an answer's seconds, by its route and status."""
        # At zero from the start, as everything that an alert counts: Prometheus sees no growth in what begins at one.
        self._events_by = {kind: self.events.labels(kind=kind.value) for kind in Kind}
        self.decided = Histogram(
            "assent_decided_seconds",
            "From the submission to its end, by how it ended",
            ["outcome"],
            registry=self.registry,
            buckets=_PATIENCE,
        )
        self._decided_by = {kind: self.decided.labels(outcome=outcome) for kind, outcome in _ENDS.items()}
        self.commits = Histogram(
            "assent_commit_seconds",
            "From the beginning of a transaction that changes something to its answered COMMIT",
            registry=self.registry,
            buckets=_COMMITS,
        )
        self.database_errors = Counter(
            "assent_database_errors", "Transactions that failed, by kind", ["kind"], registry=self.registry
        )
        for kind in database_errors:
            self.database_errors.labels(kind=kind)
        self._connected = self._gauge(
            "channel_connected",
            "1 while the channel is reached: its calls come in, or ours are taken",
            "channel",
            "direction",
        )
        self._worked = self._gauge(
            "channel_last_success_seconds",
            "How long ago a call of that direction last went through",
            "channel",
            "direction",
        )
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._build = self._gauge("build_info", "1; its labels say which software this is", "version")
        self._build.labels(version=version("assent-gateway")).set(1)
        self._waiting = self._gauge("waiting_calls", "Callers that are held now")
        self._streams = self._gauge("event_streams", "Listeners to the trail that are served now")
        self._backlog = self._gauge("lane_backlog", "Units of work that wait for the database, by lane", "lane")
        self._trouble = self._gauge("database_trouble", "1 while the database cannot be used, by why", "why")
        self._outbox = self._gauge("outbox_rows", "Outbox rows by status", "status")
        self._requests = self._gauge("requests", "Requests in a state in which something is owed", "state")
        self._oldest = self._gauge("oldest_seconds", "How long the oldest waits that waits", "what")
        self._replicas = self._gauge("replicas", "Gateways that work on this database now")
        self._differ = self._gauge("replicas_differ", "1 while they differ in what must be the same", "matter")
        self._webhooks = self._gauge(
            "webhook_failing_seconds", "How long a receiver has taken nothing of what it is told", "webhook"
        )
        self._access = self._gauge(
            "channel_access_trouble",
            "1 while a channel's access cannot be renewed: lost until a person mends it, or not now",
            "channel",
            "how",
        )

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(f"assent_{name}", told, labels, registry=self.registry)

    def committed(self, records: Mapping[str, Iterable[Committed]], seconds: float) -> None:
        """Count a commit and what it put into the trails, by their orgs."""
        self.commits.observe(seconds)
        seen: dict[Kind, int] = {}  # a counter takes a lock, and a commit has many events of few kinds
        for committed in records.values():
            for item in committed:
                kind = item.record.kind
                seen[kind] = seen.get(kind, 0) + 1
                if item.asked_at is not None and (decided := self._decided_by.get(kind)) is not None:
                    decided.observe((item.at - item.asked_at).total_seconds())
        for kind, times in seen.items():
            self._events_by[kind].inc(times)

    def database_failed(self, kind: str) -> None:
        """Count a transaction that failed; from any thread."""
        self.database_errors.labels(kind=kind).inc()

    def retained(self, org: str, removed: Mapping[str, int], more: bool) -> None:  # noqa: FBT001 - a figure
        """Count what a round of retention removed of an org, and say whether its time was over before its work."""
        for what, rows in removed.items():
            self._removed.labels(what).inc(rows)
        self._more.labels(org).set(int(more))

    def render(
        self,
        *,
        waiting: int,
        outbox: Mapping[str, int] | None,
        requests: Mapping[str, int] | None = None,
        oldest: Mapping[str, float] | None = None,
        backlog: Mapping[str, int] | None = None,
        streams: int = 0,
        trouble: str | None = None,
        replicas: int = 1,
        differ: Iterable[str] = (),
        access: Mapping[str, bool] | None = None,
        webhooks: Mapping[str, float] | None = None,
        directions: Mapping[tuple[str, str], Direction] | None = None,
    ) -> bytes:
        """Return the text that Prometheus scrapes. None where nobody knows; `access`: by channel, if it is lost."""
        with self._one_at_a_time:
            self._waiting.set(waiting)
            self._streams.set(streams)
            self._replicas.set(replicas)
            _put(self._backlog, {(lane,): waits for lane, waits in (backlog or {}).items()})
            _put(self._trouble, {(trouble,): 1} if trouble is not None else {})
            counted = (
                {(status,): outbox.get(status, 0) for status in ("queued", "done", "dead")}
                if outbox is not None
                else {}
            )
            _put(self._outbox, counted)
            _put(self._requests, {(state,): count for state, count in (requests or {}).items()})
            _put(self._oldest, {(what,): seconds for what, seconds in (oldest or {}).items()})
            _put(self._differ, {(matter,): 1 for matter in differ})
            _put(
                self._access, {(channel, "lost" if lost else "not_now"): 1 for channel, lost in (access or {}).items()}
            )
            known = (directions or {}).items()
            for (channel, _), _ in known:
                self.callbacks_rejected.labels(channel=channel)
            _put(self._connected, {at: each.is_open for at, each in known if each.is_open is not None})
            _put(self._worked, {at: each.worked_ago for at, each in known if each.worked_ago is not None})
            _put(self._webhooks, {(webhook,): seconds for webhook, seconds in (webhooks or {}).items()})
            return generate_latest(self.registry)


def _put(gauge: Gauge, values: Mapping[tuple[str, ...], float]) -> None:
    """Let a gauge say this and nothing else: what is over is not left behind at its last value."""
    gauge.clear()
    for labels, value in values.items():
        gauge.labels(*labels).set(value)
