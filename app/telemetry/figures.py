"""Figures: what Prometheus scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Telemetry:
    """The figures of one process, in a registry of its own."""

    def __init__(self) -> None:
        """Declare them."""
        self.registry = CollectorRegistry()
        self.events = Counter(
            "assent_events", "What this process wrote into the trail, by kind", ["kind"], registry=self.registry
        )
        self.callbacks_rejected = Counter(
            "assent_callbacks_rejected", "Calls of a channel that did not verify", ["channel"], registry=self.registry
        )
        self.access_refused = Counter(
            "assent_access_refused", "Attempts that were refused, by the code of why", ["code"], registry=self.registry
        )
        self.http = Histogram(
            "assent_http_seconds",
            "Time to answer, by route and status; held calls are not counted",
            ["route", "status"],
            registry=self.registry,
        )
        self._http_by: dict[tuple[str, int], Histogram] = {}
        self._events_by: dict[str, Counter] = {}
        self._waiting = Gauge("assent_waiting_calls", "Callers that are held now", registry=self.registry)
        self._trouble = Gauge(
            "assent_database_trouble", "1 while the database cannot be used, by why", ["why"], registry=self.registry
        )
        self._outbox = Gauge("assent_outbox_rows", "Outbox rows by status", ["status"], registry=self.registry)

        self._replicas = Gauge("assent_replicas", "Gateways that work on this database now", registry=self.registry)
        self._differ = Gauge(
            "assent_replicas_differ", "1 while they differ in what must be the same", ["matter"], registry=self.registry
        )
        self._webhooks = Gauge(
            "assent_webhook_failing_seconds",
            "How long a receiver has taken nothing of what it is told",
            ["webhook"],
            registry=self.registry,
        )
        self._access = Gauge(
            "assent_channel_access_trouble",
            "1 while a channel's access cannot be renewed: lost until a person mends it, or not now",
            ["channel", "how"],
            registry=self.registry,
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer. Looking a label up costs more than counting, so it is done once a label."""
        child = self._http_by.get((route, status))
        if child is None:
            child = self._http_by[route, status] = self.http.labels(route=route, status=str(status))
        child.observe(seconds)

    def wrote(self, kind: str) -> None:
        """Count an event of the trail."""
        child = self._events_by.get(kind)
        if child is None:
            child = self._events_by[kind] = self.events.labels(kind=kind)
        child.inc()

    def render(
        self,
        *,
        waiting: int,
        outbox: Mapping[str, int] | None,
        trouble: str | None = None,
        replicas: int = 1,
        differ: Iterable[str] = (),
        access: Mapping[str, bool] | None = None,
        webhooks: Mapping[str, float] | None = None,
    ) -> bytes:
        """Return the text that Prometheus scrapes. `outbox`: None where nobody knows; `access`: by channel, if lost."""
        self._webhooks.clear()
        for webhook, seconds in (webhooks or {}).items():
            self._webhooks.labels(webhook=webhook).set(seconds)
        self._access.clear()
        for channel, lost in (access or {}).items():
            self._access.labels(channel=channel, how="lost" if lost else "not_now").set(1)
        self._replicas.set(replicas)
        self._differ.clear()
        for matter in differ:
            self._differ.labels(matter=matter).set(1)
        self._waiting.set(waiting)
        self._trouble.clear()
        if trouble is not None:
            self._trouble.labels(why=trouble).set(1)
        self._outbox.clear()
        for status in ("queued", "done", "dead") if outbox is not None else ():
            self._outbox.labels(status=status).set((outbox or {}).get(status, 0))
        return generate_latest(self.registry)
