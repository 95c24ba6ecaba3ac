"""A small real HTTP server that speaks the gateway's agent side, for tests of the SDK alone.

It keeps requests in memory (they survive `stop` and `start`, as rows do), decides what a test tells it to, and fails
on demand: `faults[kind]` holds what the next calls of that kind meet. `arrived` lets a test wait for a call instead of
sleeping.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar

from aiohttp import web

from tests.fixtures.patience import accepted_are_met
from tests.sdk.stub_faults import problem, strike

if TYPE_CHECKING:
    import ssl
    from collections.abc import Coroutine

    from tests.sdk.stub_faults import Fault

T = TypeVar("T")
KEY = "ak_stub_key"
OPEN = {"pending", "approved", "executing", "unknown"}
STANDING = {"id", "state", "status", "version", "digest"}
STATUSES = {
    "executing": "approved",
    "succeeded": "approved",
    "failed": "approved",
    "unknown": "approved",
    "lapsed": "approved",
}
BOUND = 5.0


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest_of(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


@dataclass(kw_only=True)
class Row:
    """One request as the stub keeps it."""

    id: str
    session: str | None
    call_id: str | None
    tool: str
    arguments: dict[str, Any]
    created_at: datetime
    expires_at: datetime
    state: str = "pending"
    version: int = 1
    reason: str | None = None
    claim: str | None = None
    execution: dict[str, Any] | None = None
    enforced: bool = False
    evidence: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def digest(self) -> str:
        return digest_of([self.id, self.tool, self.arguments])

    def as_json(self) -> dict[str, Any]:
        status = STATUSES.get(self.state, self.state)
        at, until = self.created_at.isoformat(), self.expires_at.isoformat()
        settled = {"at": at, "by": "person", "reason": self.reason, "via": "stub"}
        return {
            "id": self.id, "state": self.state, "status": status, "version": self.version, "agent": "stub-agent",
            "session": self.session, "call_id": self.call_id, "requester": None, "tool": self.tool, "title": self.tool,
            "arguments": self.arguments, "digest": self.digest, "call_digest": digest_of([self.tool, self.arguments]),
            "code": "ABCD-" + self.id[-4:].upper(), "rule": "large", "reason": "needs a person", "policy_version": "p1",
            "created_at": at, "expires_at": until, "stages": [], "decisions": [],
            "settled": None if self.state == "pending" else settled,
            "grant": {"id": "gr_" + self.id, "status": "issued", "not_after": until} if status == "approved" else None,
            "execution": self.execution, "enforced": self.enforced, "message": f"the request is {self.state}",
        }  # fmt: skip


def _moved(row: Row, since: str | None) -> bool:
    return row.state != "pending" if since is None else row.version > int(since)


def _abort_all(server: web.Server) -> None:
    for connection in server.connections:
        transport = connection.transport
        if transport is not None and not transport.is_closing():  # a closed one of TLS cannot be aborted
            transport.abort()


class StubGateway:
    """Start it with `with StubGateway() as gateway`; `rules` maps a tool to allow, deny, route or ask (the default)."""

    def __init__(self, *, certificate: ssl.SSLContext | None = None) -> None:
        self.rows: dict[str, Row] = {}
        self.rules: dict[str, str] = {}
        self.faults: dict[str, deque[Fault]] = defaultdict(deque)
        self.seen: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        """Each call that arrived: its kind, its body (or query), its headers."""
        self.lifetime = timedelta(hours=1)
        self.honour_wait = True
        self.one_call = False
        """Whether `wait` and `claim_id` are taken with the call; else they are not seen, as by an older gateway."""
        self.enforced = False
        """Whether an executor runs what is asked about from now on."""
        self.port = 0
        self._certificate = certificate
        self._keys: dict[str, dict[str, Any]] = {}
        self._counts: Counter[str] = Counter()
        self._came = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub-gateway")

    @property
    def url(self) -> str:
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(BOUND)
        self._loop.close()

    def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(BOUND)

    def start(self) -> None:
        """Listen, on the same port as before."""
        self._on_loop(self._start())

    def stop(self) -> None:
        """Go away as a killed process does: every connection is reset. Harmless when stopped."""
        self._on_loop(self._stop())

    def decide(self, request_id: str, state: str, *, reason: str | None = None) -> None:
        """Settle a pending request, whether listening or not."""

        async def settle() -> None:
            row = self.rows[request_id]
            row.state, row.reason, row.version = state, reason, row.version + 1
            async with self._changed:
                self._changed.notify_all()

        self._on_loop(settle())

    def arrived(self, kind: str, count: int = 1, *, within: float = BOUND) -> None:
        """Wait until so many calls of a kind (check, get, list, claim, outcome, cancel) came, and left their rows."""
        with self._came:
            if not self._came.wait_for(lambda: self._counts[kind] >= count, within):
                raise TimeoutError(f"{count} calls of {kind} in {within} s: {dict(self._counts)}")
        self._on_loop(asyncio.sleep(0))  # a call is counted before its row is opened, in one step of the loop

    def count(self, kind: str) -> int:
        return self._counts[kind]

    @property
    def only(self) -> Row:
        """The one request there is."""
        (row,) = self.rows.values()
        return row

    async def _start(self) -> None:
        if self._runner is not None:
            return
        app = web.Application()
        app.router.add_post("/v1/requests", self._check)
        app.router.add_post("/v1/hooks/PreToolUse", self._check)
        app.router.add_post("/v1/hooks/PostToolUse", self._ran)
        app.router.add_get("/v1/requests", self._list)
        app.router.add_get("/v1/requests/{id}", self._get)
        app.router.add_post("/v1/requests/{id}/{verb:claim|outcome|cancel}", self._act)
        self._runner = web.AppRunner(app, shutdown_timeout=0.05, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True, ssl_context=self._certificate)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        runner, self._runner = self._runner, None
        if runner is None or (server := runner.server) is None:
            return
        await accepted_are_met()
        for site in list(runner.sites):
            await site.stop()
        _abort_all(server)
        await runner.cleanup()

    async def _meet(self, kind: str, request: web.Request) -> tuple[dict[str, Any], web.StreamResponse | None, bool]:
        """Read the call, count it; an answer instead of the real one, or whether the real one gets lost."""
        assert request.transport is not None
        body: dict[str, Any] = await request.json() if request.can_read_body else dict(request.query)
        self.seen.append((kind, body, dict(request.headers)))
        with self._came:
            self._counts[kind] += 1
            self._came.notify_all()
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return body, problem(401, "unauthenticated", "the key is unknown"), False
        fault = self.faults[kind].popleft() if self.faults[kind] else None
        if fault is None or fault == "lost":
            return body, None, fault is not None
        return body, await strike(fault, request), False

    async def _answer(
        self, request: web.Request, body: dict[str, Any], *, status: int, lost: bool
    ) -> web.StreamResponse:
        if lost and request.transport is not None:
            request.transport.abort()
        return web.json_response(body, status=status)

    async def _check(self, request: web.Request) -> web.StreamResponse:
        body, instead, lost = await self._meet("check", request)
        if instead is not None:
            return instead
        tool, arguments = (
            body.get("tool") or body.get("tool_name"),
            body.get("arguments") or body.get("tool_input") or {},
        )
        rule = self.rules.get(str(tool), "ask")
        if rule in {"allow", "deny"}:
            answer = {"decision": rule, "rule": "small", "reason": f"told to {rule}", "message": rule}
            return await self._answer(request, answer, status=200, lost=lost)
        if rule == "route":
            answer = {"decision": "allow", "rule": "small", "reason": "in a sandbox", "route": {"provider": "box"}}
            return await self._answer(request, answer, status=200, lost=lost)
        if self.one_call and self.enforced and body.get("claim_id"):
            return problem(403, "executor_only", "leave claim_id out")
        key = request.headers.get("Idempotency-Key", "")
        if key not in self._keys:
            self._keys[key] = self._open(body, str(tool), arguments)
        row = self.rows[self._keys[key]["id"]]
        if self.one_call and ("wait" in body or "claim_id" in body):
            return await self._taken(request, row, body, lost=lost)
        answer = {**self._keys[key], "decision": "ask", "request": row.as_json()}
        return await self._answer(request, answer, status=202, lost=lost)

    async def _taken(self, request: web.Request, row: Row, said: dict[str, Any], *, lost: bool) -> web.StreamResponse:
        """Answer the one call, or whoever comes back to it: hold it, and claim what is approved."""
        await self._hold(row, float(said.get("wait") or 0), None)
        claim_id = said.get("claim_id")
        if row.state in {"pending", "approved"} and (row.state == "pending" or claim_id is None):
            return await self._answer(request, {"decision": "ask", "request": row.as_json()}, status=202, lost=lost)
        if row.state in {"denied", "expired", "cancelled", "undeliverable", "lapsed"}:
            return await self._answer(request, {"decision": "deny", "request": row.as_json()}, status=200, lost=lost)
        mine = row.execution is not None and row.execution["claim_id"] == claim_id
        if row.state != "approved" and not mine:
            return problem(409, "already_claimed", "the grant was used", request_id=row.id)
        claimed = self._spend(row, str(claim_id))
        answer = {"decision": "claimed", "message": "approved", "request": row.as_json(), "claimed": claimed}
        return await self._answer(request, answer, status=200, lost=lost)

    async def _hold(self, row: Row, seconds: float, since: str | None) -> None:
        if seconds and self.honour_wait:
            async with self._changed:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait_for(lambda: _moved(row, since)), seconds)

    def _open(self, body: dict[str, Any], tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        session = body.get("session") or body.get("session_id")
        for row in self.rows.values():
            same = (row.session, row.tool, canonical(row.arguments)) == (session, tool, canonical(arguments))
            if session and same and row.state in {"pending", "approved"}:
                return {"id": row.id, "attached": True}
        now = datetime.now(UTC)
        row = Row(
            id=f"req_{len(self.rows) + 1:04d}",
            session=session,
            call_id=body.get("call_id") or body.get("tool_use_id"),
            tool=tool,
            arguments=arguments,
            claim=body.get("claim"),
            created_at=now,
            expires_at=now + self.lifetime,
            enforced=self.enforced,
            evidence=body.get("evidence") or [],
        )
        self.rows[row.id] = row
        return {"id": row.id, "attached": False}

    async def _ran(self, request: web.Request) -> web.StreamResponse:
        """Settle what runs of a session, by its tool and arguments: of a host that gives calls no id."""
        body, instead, lost = await self._meet("ran", request)
        if instead is not None:
            return instead
        told = (body["session_id"], body["tool_name"], canonical(body["tool_input"]))
        for row in self.rows.values():
            if row.state == "executing" and (row.session, row.tool, canonical(row.arguments)) == told:
                row.state = "succeeded"
        return await self._answer(request, {}, status=200, lost=lost)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        _, instead, lost = await self._meet("list", request)
        if instead is not None:
            return instead
        said = request.query
        session, limit, start = said.get("session"), int(said.get("limit", "100")), int(said.get("cursor", "0"))
        if (key := said.get("idempotency_key")) is not None:
            named = [self.rows[known["id"]].as_json()] if (known := self._keys.get(key)) else []
            return await self._answer(request, {"items": named, "next_cursor": None}, status=200, lost=lost)
        found = [
            row.as_json()
            for row in self.rows.values()
            if row.state in OPEN and (session is None or row.session == session)
        ]
        following = str(start + limit) if len(found) > start + limit else None
        return await self._answer(
            request, {"items": found[start : start + limit], "next_cursor": following}, status=200, lost=lost
        )

    async def _get(self, request: web.Request) -> web.StreamResponse:
        _, instead, lost = await self._meet("get", request)
        if instead is not None:
            return instead
        row = self.rows.get(request.match_info["id"])
        if row is None:
            return problem(404, "unknown_request", "no such request")
        if self.one_call and "claim_id" in request.query:
            return await self._taken(request, row, dict(request.query), lost=lost)
        since = request.query.get("since")
        await self._hold(row, float(request.query.get("wait", "0")), since)
        known = row.state == "pending" if since is None else row.version == int(since)
        brief = "wait" in request.query and known and request.headers.get("prefer") == "return=minimal"
        shown = {name: value for name, value in row.as_json().items() if not brief or name in STANDING}
        return await self._answer(request, shown, status=200, lost=lost)

    async def _act(self, request: web.Request) -> web.StreamResponse:
        verb = request.match_info["verb"]
        body, instead, lost = await self._meet(verb, request)
        if instead is not None:
            return instead
        row = self.rows.get(request.match_info["id"])
        if row is None:
            return problem(404, "unknown_request", "no such request")
        match verb:
            case "claim":
                return await self._claim(request, row, body, lost=lost)
            case "outcome":
                return await self._outcome(request, row, body, lost=lost)
            case _:
                if row.state != "pending":
                    return problem(409, "already_decided", f"it is {row.state}")
                row.state, row.reason = "cancelled", body.get("reason")
                return await self._answer(request, row.as_json(), status=200, lost=lost)

    async def _claim(self, request: web.Request, row: Row, body: dict[str, Any], *, lost: bool) -> web.StreamResponse:
        mine = row.execution is not None and row.execution["claim_id"] == body["claim_id"]
        if row.execution is not None and not mine:
            return problem(409, "already_claimed", "the grant was used")
        if row.state == "lapsed":
            return problem(409, "grant_lapsed", "the grant was not used in time")
        if row.state != "approved" and not mine:
            return problem(409, "not_approved", f"it is {row.state}")
        if body["digest"] != row.digest:
            return problem(409, "digest_mismatch", "another call was approved")
        return await self._answer(request, self._spend(row, body["claim_id"]), status=200, lost=lost)

    def _spend(self, row: Row, claim_id: str) -> dict[str, Any]:
        """Start the execution, once; the same claim gets the same answer."""
        now = datetime.now(UTC)
        lease = (now + timedelta(minutes=5)).isoformat()
        if row.execution is None:
            row.state = "executing"
            row.execution = {
                "id": "ex_" + row.id,
                "status": "started",
                "started_at": now.isoformat(),
                "lease_until": lease,
                "claim_id": claim_id,
            }
        return {
            "grant_id": "gr_" + row.id, "execution_id": "ex_" + row.id, "tool": row.tool, "arguments": row.arguments,
            "digest": row.digest, "lease_until": row.execution["lease_until"],
        }  # fmt: skip

    async def _outcome(self, request: web.Request, row: Row, body: dict[str, Any], *, lost: bool) -> web.StreamResponse:
        if row.execution is None or row.execution["claim_id"] != body["claim_id"]:
            return problem(409, "not_claimed", "no execution of this claim")
        row.outcomes.append(body)
        row.state = body["status"]
        row.execution |= {"status": body["status"], "result": body.get("result"), "error": body.get("error")}
        return await self._answer(request, row.as_json(), status=200, lost=lost)
