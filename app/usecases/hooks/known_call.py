"""What is looked up about a call, once, and handed to whoever judges it: hooks, rules, and the claim.

Before a call is judged, it is what was true within the last half second (`LookUp`). Where its approval would be spent,
it is read again behind the lock of the request's row, in the claim's own unit (`KnownOnRow`).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import structlog
from msgspec import Struct, field

from app.domain.call.switch import READ_ONLY
from app.domain.errors import AssentError, UnavailableError
from app.storage.sessions.switches import has_children, list_switches
from app.usecases.pauses.pauses import first_binding, pauses_of
from app.usecases.pauses.switch import as_guard_sees
from app.usecases.sessions.believed import Believed
from app.usecases.sessions.lineage import NOBODY_ABOVE, Descent, agents_now

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.domain.call.submission import Submission
    from app.domain.request.request import ConfirmationRequest
    from app.policies.file.policy_book import PolicyBook
    from app.policies.file.policy_file import LoadedPolicy
    from app.ports import Clock
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.sessions.switches import Switch
    from app.usecases.sessions.lineage import Lineage
    from assent.hooks.contract.context import HookContext
    from assent.hooks.engine.registry import HookRegistry
    from assent.hooks.ready.read_only import Switch as GuardSwitch

log = structlog.get_logger(__name__)


class AgentRun(Struct, frozen=True, kw_only=True):
    """Whose moment it is: `org` and `agent` come from the key, the rest is what the agent's runtime says."""

    org: str
    agent: str
    session: str | None = None
    parent_session: str | None = None
    parent_agent: str | None = None
    sub_agent: str | None = None
    """The agent acts through a sub-agent of this name: its hooks run as well."""
    user: str | None = None
    cwd: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """The bag of the turn: given by the runtime, and given back with the tags that hooks set."""


class KnownCall(Struct, frozen=True, kw_only=True):
    """Whose call it is, who binds it, by which version of the file, and which switches are on."""

    agent: str
    above: tuple[str, ...] = ()
    """The agents besides this one whose hooks and rules bind it too: those above it, and its sub-agent."""
    parent_session: str = ""
    loaded: LoadedPolicy
    registry: HookRegistry
    """The hooks of this very version of the file."""
    switches: tuple[Switch, ...] = ()
    """The org's switches that are on."""

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent whose hooks and rules bind the call, its own first."""
        return (self.agent, *self.above)

    @property
    def read_only(self) -> Switch | None:
        """The switch that keeps any of the agents read-only: the org's before their own."""
        standing = {switch.agent: switch for switch in self.switches if switch.name == READ_ONLY}
        return next((standing[agent] for agent in ("", *self.agents) if agent in standing), None) if standing else None

    def pause(self, tool: str) -> Switch | None:
        """Return the pause that stops a call of a tool."""
        return first_binding(pauses_of(self.switches), self.agents, tool) if self.switches else None


JUDGED: ContextVar[KnownCall] = ContextVar("assent_judged_call")
"""What is known of the call that a chain runs for."""


def read_only_of_the_call(ctx: HookContext) -> GuardSwitch:
    """Answer a read-only guard of the gateway from what is known of the call that it judges.

    Raises LookupError where nothing is: that is the guard's fault, and means no.
    """
    del ctx
    return as_guard_sees(JUDGED.get().read_only)


class HookBook:
    """Pairs each loaded file with its hooks, so that a call is judged by one version of both."""

    def __init__(self, book: PolicyBook, build: Callable[[LoadedPolicy], HookRegistry]) -> None:
        """`build` makes the hooks of a file."""
        self._book = book
        self._build = build
        self._built: dict[str, tuple[LoadedPolicy, HookRegistry]] = {}

    def current(self, org: str) -> tuple[LoadedPolicy, HookRegistry]:
        """Return the file in force and its hooks. Raises NotFoundError, UnavailableError.

        The second where the hooks cannot be built: without them nothing is judged, and no call is answered.
        """
        loaded = self._book.in_force.get(org) or self._book.current(org)  # which says why there is none
        built = self._built.get(org)
        if built is None or (built[0] is not loaded and not built[0].is_load_of(loaded)):
            try:
                built = (loaded, self._build(loaded))
            except Exception as error:
                # The file was checked, so this is the machine's fault (a module is gone, …): the text says which.
                log.error("hooks.unbuilt", org=org, error=f"{type(error).__name__}: {error}")  # noqa: TRY400 - see above
                raise UnavailableError("the hooks of this org cannot be built, so nothing is judged") from error
            self._built[org] = built
        return loaded, built[1]

    def prepare(self) -> None:
        """Build what is not built yet, away from the calls. A fault is told at each call."""
        for org in self._book.orgs():
            try:
                self.current(org)
            except UnavailableError:
                continue


class _Standing(Struct, frozen=True, kw_only=True):
    """What holds for all calls of an org: its switches that are on, and whether any session was started by another."""

    switches: tuple[Switch, ...]
    has_family: bool


class LookUp:
    """Looks up what is known of a call that is about to be judged.

    What holds for a whole org is read in one go, about twice a second, however many calls come.
    """

    def __init__(self, *, hooks: HookBook, lineage: Lineage, store: Store, clock: Clock) -> None:
        """Take what it asks."""
        self._hooks = hooks
        self._lineage = lineage
        self._store = store
        self._clock = clock
        self._standing = Believed[_Standing]()

    async def __call__(self, run: AgentRun) -> KnownCall:
        """Return it. Raises InvalidError for an impossible parent session, NotFoundError, UnavailableError."""
        loaded, registry = self._hooks.current(run.org)
        standing = await self._stands(run.org)
        line = NOBODY_ABOVE  # for nearly all: of a session that is known, in an org where none was started by another
        is_known = (run.org, run.agent, run.session) in self._lineage.noted
        if standing.has_family or run.parent_session is not None or not is_known:
            line = await self._lineage.above(_descent(run), has_family=standing.has_family)
        if run.parent_session is not None and not standing.has_family:
            self.forget(run.org)  # from this call on it has one
        names = line.agents if run.sub_agent is None else (run.sub_agent, *line.agents)
        return KnownCall(
            agent=run.agent,
            above=tuple(name for name in dict.fromkeys(names) if name != run.agent),
            parent_session=line.parent[1] if line.parent else "",
            loaded=loaded,
            registry=registry,
            switches=standing.switches,
        )

    async def _stands(self, org: str) -> _Standing:
        now = self._clock.now()
        return self._standing.find(org, now) or await self._standing.read(org, now, self._store.read(_stands, org=org))

    def forget(self, org: str) -> None:
        """Read an org anew at its next call: a switch was flipped here, and is in force for this process at once."""
        self._standing.forget(org)

    def current(self, org: str) -> LoadedPolicy:
        """Return the org's file in force. Raises NotFoundError, UnavailableError."""
        return self._hooks.current(org)[0]


class KnownOnRow:
    """What is known of a request's call behind the lock of its row; each part is read once, when it is asked for."""

    def __init__(self, tx: Tx, hooks: HookBook, request: ConfirmationRequest) -> None:
        """Take the version of the file that is in force now. Raises NotFoundError, UnavailableError."""
        self._tx = tx
        self._call = request.call
        self._agents: tuple[str, ...] | AssentError | None = None
        self._found: KnownCall | None = None
        self.loaded, self.registry = hooks.current(request.call.org)

    def agents(self) -> tuple[str, ...] | AssentError:
        """Read every agent whose rules bind the call, its own first; refused if its line is too deep."""
        if self._agents is None:
            self._agents = agents_now(self._tx, self.loaded, self._call)
        return self._agents

    def find(self) -> KnownCall | AssentError:
        """Read all of it, the switches as they stand now as well."""
        agents = self.agents()
        if isinstance(agents, AssentError):
            return agents
        if self._found is None:
            self._found = KnownCall(
                agent=agents[0],
                above=agents[1:],
                loaded=self.loaded,
                registry=self.registry,
                switches=tuple(switch for switch in list_switches(self._tx) if switch.is_on),
            )
        return self._found


def run_of(submission: Submission) -> AgentRun:
    """Return whose moment a submitted call is."""
    return AgentRun(
        org=submission.org,
        agent=submission.agent,
        session=submission.session,
        parent_session=submission.parent_session,
        parent_agent=submission.parent_agent,
        sub_agent=submission.sub_agent,
        user=submission.requester,
        cwd=submission.cwd,
        metadata=submission.metadata,
    )


def _stands(tx: Tx) -> _Standing:
    on = tuple(switch for switch in list_switches(tx) if switch.is_on)
    return _Standing(switches=on, has_family=has_children(tx))


def _descent(run: AgentRun) -> Descent:
    return Descent(
        org=run.org,
        agent=run.agent,
        session=run.session,
        parent_session=run.parent_session,
        parent_agent=run.parent_agent,
    )
