"""`Executor`: the only place where a tool really runs: never without an approval, and never twice.

    async with AsyncGateway(url, key) as gateway:
        executor = Executor(gateway, name="payments")
        executor.tool("oa__purchase_pay", run=pay, lookup=find_payment)
        await executor.work()

Agents only ask; this process holds the tools' credentials. It takes what people, or a rule, approved for any agent of
its org, spends the approval, runs the arguments that the gateway *stored*, hands the tool the grant's id as its
idempotency key, and reports what came of it. `key` is an executor's (docs/executor.md),
and the tools are `enforced: true` in assent.yaml: nobody else can claim their calls.

| the request is | then |
|---|---|
| approved | it is claimed, and the tool runs |
| executing, claimed by another process | it is left alone; when its lease is over, it is unknown |
| unknown, claimed under this executor's name | `lookup(key)` is asked: an answer settles it, nothing else |
| pending elsewhere, claimed under this executor's name | `lookup_elsewhere(id)` is asked, and `lookup(key)` |
| anything else | nothing runs |

A claim's id has three parts: this executor's name and the request's id, by which a restarted executor knows its
predecessor's claims, and a part of this very process. A name alone would not do: to the gateway the same claim id is
the same caller, who lost the answer and is given it again, so that two processes of one name would both run the tool.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

import anyio

from assent.client.errors import ClaimRefusedError, GatewayError, NotEntitledError
from assent.client.models import EXECUTORS, OutcomeStatus, Request, State, Taken
from assent.executor import options
from assent.executor.carried import Carried, NotRun, Outcome, carried_of
from assent.executor.epoch import Epoch, StateFileError
from assent.executor.later import Later
from assent.executor.outcomes import UNCERTAIN, looked_up
from assent.executor.reporting import reported
from assent.executor.tools import KEY_SECONDS, Tool, ToolFailed, ToolOutcome, ToolSucceeded, ToolUnknown
from assent.gate.aftermath import ToolElsewhere, UnknownOutcomeError
from assent.gate.outcomes import NOT_RUN
from assent.gate.permission import LAST_REPORT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from assent.client.gateway import AsyncGateway
    from assent.client.models import Claimed

__all__ = [
    "Carried",
    "Executor",
    "NotRun",
    "ToolElsewhere",
    "ToolFailed",
    "ToolSucceeded",
    "ToolUnknown",
    "UnknownOutcomeError",
]

_log = logging.getLogger("assent")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_MOST_HELD = 100
_WRONG_KEY = "An executor needs a key of its own: assent keys create --scope executor --tool … --label …"
_MAYBE_BEFORE = "did not run now, and may have run before"
_NOT_ENFORCED = "{tool} is not `enforced: true` in assent.yaml: the agent that asks runs it itself"


class Executor:
    """Runs what was approved. `gateway` is open, has an executor's key, and no session unless only that one is served.

    `name` is the same after a restart, and one of its own for every set of tools. Several processes of one name may
    work at once. `at_once` is how many tools run side by side, `look_every` how many seconds a new request may go
    unnoticed. In `state_file` it remembers how often the gateway's database was restored from a backup: a gateway that
    knows of fewer restores has an old database, in which what was paid since may stand as approved; it runs nothing
    for it, and claims nothing while the file cannot be written. Raises `ValueError` and `TypeError` for an option that
    it cannot work with, and for a `state_file` that is none or cannot be written.
    """

    def __init__(
        self,
        gateway: AsyncGateway,
        *,
        name: str = "executor",
        at_once: int = 4,
        look_every: float = 2.0,
        state_file: str | Path | None = None,
    ) -> None:
        if not _NAME.fullmatch(options.text("name", name)):
            raise ValueError("an executor's name has up to 60 letters, digits, '-' and '_'")
        self._gateway = gateway
        self._name = name
        self._run = gateway.pace.new_id("run")
        self._tools: dict[str, Tool] = {}
        self._slots = anyio.Semaphore(options.count("at_once", at_once))
        self._begun: set[str] = set()  # requests whose tool this process has called: never again, whatever is read
        self._under_way: set[str] = set()
        self._attended: set[str] = set()
        self._later = Later(options.seconds("look_every", look_every), gateway.pace.monotonic)
        self._held: set[anyio.CancelScope] = set()
        self._reserving: dict[str, anyio.CancelScope] = {}  # waits that take the approval at once, with a slot each
        self._stopping = anyio.Event()
        self._epoch = Epoch(state_file)

    def tool(
        self,
        name: str,
        *,
        run: Callable[..., Any],
        lookup: Callable[[str], Any] | None = None,
        lookup_elsewhere: Callable[[str], Any] | None = None,
        timeout: float = 60.0,
        key_lasts: float = KEY_SECONDS,
    ) -> None:
        """Register a tool: `run(**arguments, idempotency_key=…)`, plain or asynchronous, for `timeout` seconds at most.

        What it returns is the result, or says the outcome itself (`ToolSucceeded`, `ToolFailed`, `ToolUnknown`,
        `ToolElsewhere`, which it may raise as well). Any other exception is a failure, except one that may have come
        after the deed: `TimeoutError`, a connection that was lost, `UnknownOutcomeError`; these, and the timeout, are
        unknown. `lookup(key)` returns `ToolSucceeded` or `ToolFailed` where the tool has a record of this key, else
        None; it is not asked about a key that is older than `key_lasts` seconds, for many services forget a key after
        a day. `lookup_elsewhere(id)` says the same of what waits for the service's own people, under the service's id.
        Raises `ValueError` and `TypeError`.
        """
        if options.text("the name of a tool", name) in self._tools:
            raise ValueError(f"{name} is registered already")
        self._tools[name] = Tool(
            name, run=run, lookup=lookup, timeout=timeout, lookup_elsewhere=lookup_elsewhere, key_lasts=key_lasts
        )

    def stop(self) -> None:
        """End `work`: nothing more is claimed, what runs is finished and reported."""
        self._stopping.set()
        for scope in self._held:
            scope.cancel()

    async def work(self) -> None:
        """Serve until `stop`, or until cancelled: what runs then is reported as unknown, and looked up later."""
        attempt = 0
        fault = await self._epoch.fault()
        if fault is not None:
            _log.error("executor %s claims nothing until it can: %s", self._name, fault)
        async with anyio.create_task_group() as group:
            while not self._stopping.is_set():
                try:
                    standing = await self._gateway.list_open()
                    attempt = 0
                except GatewayError as error:
                    _log.warning("executor %s cannot see its requests: %s", self._name, error)
                    standing, attempt = [], attempt + 1
                if standing:
                    self._later.keep({request.id for request in standing})
                for request in filter(self._takes_up, standing):
                    self._attended.add(request.id)
                    group.start_soon(self._attend, request)
                with anyio.move_on_after(self._later.pause(attempt)):
                    await self._stopping.wait()

    async def once(self) -> list[Carried]:
        """Carry out everything that is approved, look up everything that is uncertain, and return what came of it.

        Raises `GatewayError` when the requests cannot be listed.
        """
        standing = await self._gateway.list_open()
        wanted = [request for request in standing if request.state is not State.PENDING and self._wants(request)]
        return [await self.carry_out(request.id) for request in wanted]

    async def carry_out(self, request_id: str) -> Carried:
        """Carry out one request if it is approved, or look it up if it is uncertain. A fault is a `NotRun`."""
        if request_id in self._under_way:
            return Carried(request_id=request_id, outcome=NotRun(code="under_way", why="it is being carried out"))
        self._under_way.add(request_id)
        try:
            self._make_room()
            async with self._slots:  # claim only when the tool can start: a grant lapses soon
                outcome = await self._carried_out(request_id)
        except GatewayError as error:
            outcome = NotRun(code=error.code, why=str(error))
        finally:
            self._under_way.discard(request_id)
        return carried_of(request_id, outcome)

    # --- one request --------------------------------------------------------------------------------------------------

    async def _carried_out(self, request_id: str) -> Outcome:
        request = await self._gateway.get(request_id)
        tool = self._tools.get(request.tool)
        if tool is None:
            return NotRun(code="no_tool", why=f"this executor has no tool {request.tool}")
        if not request.enforced:
            return NotRun(code="not_enforced", why=_NOT_ENFORCED.format(tool=request.tool))
        if request.state in UNCERTAIN:
            return await self._looked_up(request, tool)
        if request.state is not State.APPROVED and not self._claimed_in_vain(request):
            return NotRun(code="not_approved", why=f"the request is {request.state}")
        if request_id in self._begun or self._stopping.is_set():
            return NotRun(code="under_way", why="it was carried out here, or this executor is stopping")
        fault = await self._epoch.fault()
        if fault is not None:
            return NotRun(code="state_file", why=f"{fault}; nothing is claimed until it can")
        claimed = await self._claimed(request)
        return claimed if isinstance(claimed, NotRun) else await self._run_claimed(request, claimed, tool)

    async def _run_claimed(self, request: Request, claimed: Claimed, tool: Tool) -> Outcome:
        self._begun.add(request.id)
        outcome = await self._ran(request, claimed, tool)
        reported = await self._report(claimed, outcome)
        if isinstance(outcome, ToolUnknown) and reported is not None and reported.state is State.UNKNOWN:
            return await self._looked_up(reported, tool)
        return outcome

    async def _claimed(self, request: Request) -> Claimed | NotRun:
        try:
            return await self._gateway.claim(request, claim_id=self._claim_id(request.id))
        except ClaimRefusedError as error:
            return NotRun(code=error.code, why=error.detail or str(error))
        except NotEntitledError as error:
            return NotRun(code="wrong_key", why=f"{error.detail or error}. {_WRONG_KEY}")

    async def _ran(self, request: Request, claimed: Claimed, tool: Tool) -> ToolOutcome:
        """Call the tool, unless the claim is not what was asked for, or its time is as good as over.

        A process that was frozen may wake up when its lease has long run out, somebody has settled the request by
        hand and the agent has asked anew: it must not pay then.
        """
        if (claimed.tool, claimed.digest) != (request.tool, request.digest):
            return ToolFailed(error="did not run: the gateway gave out another call than the approved one")
        try:
            if not await self._epoch.holds(claimed.epoch):
                return ToolUnknown(
                    why=f"{_MAYBE_BEFORE}: this gateway has an old database ({self._epoch.told(claimed.epoch)})"
                )
        except StateFileError as fault:
            return (
                ToolUnknown(why=f"{_MAYBE_BEFORE}: {fault}")
                if fault.unread
                else ToolFailed(error=f"did not run: {fault}")
            )
        try:
            lease = await self._gateway.lease_left(claimed)
        except GatewayError as fault:
            return ToolFailed(error=f"did not run: whether there was time left to run it could not be asked: {fault}")
        if lease <= 0:
            return ToolFailed(error="did not run: the time in which it had to run was over")
        try:
            return await tool.call(claimed.arguments, claimed.grant_id, within=min(tool.timeout, lease))
        except Exception as error:  # noqa: BLE001 - an error that cannot even be read, or a fault of ours
            _log.error("request %s: how %s ended could not be read", request.id, request.tool)  # nor be logged
            return ToolUnknown(why=f"how it ended could not be read ({type(error).__name__})")
        except BaseException:  # cancelled, or the process ends: nobody knows how far it came
            with anyio.move_on_after(LAST_REPORT, shield=True):
                await self._report(claimed, ToolUnknown(why="the executor was stopped in the middle of it"))
            raise

    async def _report(self, claimed: Claimed, outcome: ToolOutcome) -> Request | None:
        return await reported(self._gateway, claimed, outcome, stops=self._stopping.is_set)

    async def _looked_up(self, request: Request, tool: Tool) -> Outcome:
        """Settle what this executor's name claimed, by what the tool knows of it."""
        if not self._is_named(request):
            return NotRun(code="not_mine", why=f"somebody else claimed it, and its outcome is {request.state}")
        return await looked_up(self._gateway, request, tool)

    # --- which requests -----------------------------------------------------------------------------------------------

    async def _attend(self, request: Request) -> None:
        """See one request through: wait for the decision, then carry it out."""
        try:
            carried = await self._seen_through(request)
            if carried is not None and isinstance(carried.outcome, NotRun | ToolUnknown | ToolElsewhere):
                self._later.put_off(request.id)
        except GatewayError as error:
            _log.warning("request %s cannot be waited for: %s", request.id, error)
            self._later.put_off(request.id)
        except Exception:  # noqa: BLE001 - a fault of ours, in one request: the others go on
            _log.exception("request %s was not seen through", request.id)
            self._later.put_off(request.id)
        finally:
            self._attended.discard(request.id)

    async def _seen_through(self, request: Request) -> Carried | None:
        if request.state is State.PENDING:
            found = await self._taken_when_decided(request)
            if isinstance(found, Carried):
                return found
            request = found or await self._decided(request)
            if self._stopping.is_set() or not (request.state is State.APPROVED or self._claimed_in_vain(request)):
                return None
        return await self.carry_out(request.id)

    async def _taken_when_decided(self, request: Request) -> Carried | Request | None:
        """Wait and take the approval in one call, while there is a slot in which the tool can start at once.

        None: there is no slot to spare, or what is approved already needs it (`_make_room`), or `stop` ended the wait,
        or nothing may be claimed now. An approval that was taken in that very moment is not lost: this process claims
        it again by the same name.
        """
        if await self._epoch.fault() is not None:
            return None
        try:
            self._slots.acquire_nowait()
        except anyio.WouldBlock:
            return None
        found: Taken | Request | None = None
        scope = anyio.CancelScope()
        self._reserving[request.id] = scope
        self._held.add(scope)
        try:
            with scope:
                found = await self._gateway.take_when_decided(request, claim_id=self._claim_id(request.id))
            if isinstance(found, Taken):
                return await self._taken(found)
        except ClaimRefusedError as error:
            return carried_of(request.id, NotRun(code=error.code, why=error.detail or str(error)))
        finally:
            self._held.discard(scope)
            self._reserving.pop(request.id, None)
            self._slots.release()
        if found is None and self._stopping.is_set():
            await self._give_back(request)
        return found

    async def _taken(self, taken: Taken) -> Carried:
        request = taken.request
        self._reserving.pop(request.id, None)  # from here on the slot is the tool's
        self._under_way.add(request.id)
        try:
            return carried_of(request.id, await self._run_claimed(request, taken.claimed, self._tools[request.tool]))
        finally:
            self._under_way.discard(request.id)

    async def _give_back(self, request: Request) -> None:
        """Say of an approval that was taken in the moment of `stop` that nothing ran."""
        request = await self._gateway.get(request.id)
        if self._claimed_in_vain(request):
            error = f"{NOT_RUN}the executor was stopped"
            await self._gateway.report_briefly(
                request.id, self._claim_id(request.id), OutcomeStatus.FAILED, result=None, error=error
            )

    def _make_room(self) -> None:
        """Take back a slot from one that only waits, where what is approved finds none."""
        if self._slots.value == 0 and self._reserving:
            _, scope = self._reserving.popitem()
            scope.cancel()

    async def _decided(self, request: Request) -> Request:
        """Wait for the decision; `stop` ends the waiting, and the request is as it was."""
        with anyio.CancelScope() as scope:
            self._held.add(scope)
            try:
                return await self._gateway.wait(request)
            finally:
                self._held.discard(scope)
        return request

    def _takes_up(self, request: Request) -> bool:
        return self._wants(request) and self._later.is_due(request.id) and not self._stopping.is_set()

    def _wants(self, request: Request) -> bool:
        if not request.enforced or request.tool not in self._tools or request.id in self._attended:
            return False
        match request.state:
            case State.PENDING:
                return len(self._held) < _MOST_HELD  # the others are seen when they are approved
            case State.APPROVED:
                return request.id not in self._begun
            case State.UNKNOWN | State.PENDING_ELSEWHERE:
                return self._is_named(request)
            case _:
                return self._claimed_in_vain(request)

    def _claim_id(self, request_id: str) -> str:
        return f"{EXECUTORS}{self._name}.{request_id}.{self._run}"

    def _is_named(self, request: Request) -> bool:
        """Whether an executor of this name claimed it, in whichever process."""
        execution = request.execution
        return execution is not None and execution.claim_id.startswith(f"{EXECUTORS}{self._name}.{request.id}.")

    def _claimed_in_vain(self, request: Request) -> bool:
        """Whether this very process claimed it, never got the answer, and therefore did not run it."""
        execution = request.execution
        mine = execution is not None and execution.claim_id == self._claim_id(request.id)
        return mine and request.state is State.EXECUTING and request.id not in self._begun
