"""A real gateway in a process of its own, to be killed and started again, with stand-ins for the chat platforms.

`Scene` holds what outlives the gateway: the database, the configuration, the platforms, the keys. Its gateways come and
go: `async with scene.gateway("commit.after:kill") as gateway`.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.identity.seals import Seals
from app.failpoints import VARIABLE
from app.usecases.reading.keys import Keys
from channels.feishu.simulator.simulator import FeishuSimulator
from channels.slack.simulator.simulator import SlackSimulator
from tests.fixtures import forked
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.storage.rig import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fixtures.forked import Forked

SECRET = "durability-" * 4
OWNER = "olga@acme.example"
PEOPLE = {"ann@acme.example": "U0ANN00001", "bob@acme.example": "U0BOB00001", "cho@acme.example": "U0CHO00001"}
SECRETS = (
    "bot_token", "refresh_token", "client_secret", "signing_secret", "app_token",
    "app_secret", "encrypt_key", "verification_token",
)  # fmt: skip

_POLICY = """
org: acme
default: deny
attention: {{cool_down: 0s}}
people:
{people}
groups:
  finance: [ann@acme.example, bob@acme.example, cho@acme.example]
channels:
{channels}
tools:
  pay: {{title: "Pay {{payee}} {{amount}}", pin: [payee, amount]}}
  wire: {{}}
  wire_to: {{}}
  payout: {{enforced: true}}
  payout_small: {{enforced: true}}
rules:
  - {{id: small, tools: [payout_small], then: allow}}
  - {{id: by-executor, tools: [payout], then: ask, stages: [{{of: [finance]}}], channels: [api], timeout: 30m}}
  - {{id: by-card, tools: [pay], then: ask, stages: [{{of: [finance]}}], channels: [{names}], timeout: 30m}}
  - {{id: by-key, tools: [wire], then: ask, stages: [{{of: [finance]}}], channels: [api], timeout: 30m}}
  - {{id: by-when, tools: [wire_to], when: 'args.payee != ""', then: ask, stages: [{{of: [finance]}}], channels: [api]}}
"""


class Gateway:
    """One process that serves, and how to talk to it."""

    def __init__(self, process: Forked, address: str, keys: dict[str, str], log: Path) -> None:
        self.process = process
        self.address = address
        self.log = log
        self._keys = keys
        self._client = httpx2.AsyncClient(base_url=address, timeout=30, trust_env=False)

    async def call(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        """Call the API with somebody's key."""
        sent = {"authorization": f"Bearer {self._keys[who]}", **headers}
        return await self._client.request(method, path, json=body, headers=sent)

    async def ask(self, tool: str, session: str = "s-1", **arguments: Any) -> dict[str, Any]:
        """Submit a call as the agent; return the request."""
        body = {"tool": tool, "arguments": arguments or {"payee": "Acme", "amount": 80000}, "session": session}
        said = await self.call("payer", "POST", "/v1/requests", body)
        assert said.status_code == 202, said.text
        return said.json()["request"]

    async def decide(self, who: str, request: dict[str, Any], verdict: str = "approve") -> httpx2.Response:
        """Vote through the API."""
        body = {"verdict": verdict, "digest": request["digest"], "reason": "because"}
        return await self.call(who, "POST", f"/v1/requests/{request['id']}/decisions", body)

    async def claim(self, request: dict[str, Any], claim_id: str = "c-1") -> httpx2.Response:
        """Spend the grant."""
        body = {"digest": request["digest"], "claim_id": claim_id}
        return await self.call("payer", "POST", f"/v1/requests/{request['id']}/claim", body)

    async def report(
        self, request: dict[str, Any], status: str = "succeeded", claim_id: str = "c-1"
    ) -> httpx2.Response:
        """Say what the tool did."""
        body = {"claim_id": claim_id, "status": status}
        return await self.call("payer", "POST", f"/v1/requests/{request['id']}/outcome", body)

    async def read(self, request: dict[str, Any], *, wait: float = 0) -> dict[str, Any]:
        """Read a request, or wait for it to change."""
        return (await self.call("payer", "GET", f"/v1/requests/{request['id']}?wait={wait}")).json()

    async def holds(self, many: int = 1) -> None:
        """Wait until so many callers are held: only the gateway itself knows that their calls have come."""
        held = f"assent_waiting_calls {many}.0"
        async with asyncio.timeout(HANGS):
            while held not in (await self.call("payer", "GET", "/metrics")).text:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)

    async def died(self) -> None:
        """Wait until the process has ended by SIGKILL, as its failpoint says."""
        code = await asyncio.wait_for(self.process.ended(), HANGS)
        assert code == -signal.SIGKILL, self.log.read_text()

    async def close(self) -> None:
        """End the process at once, if it still lives."""
        await self._client.aclose()
        if self.process.returncode is None:
            self.process.kill()
            await self.process.ended()


@dataclass(slots=True)
class Scene:
    """What outlives a gateway."""

    url: str
    folder: Path
    keys: dict[str, str] = field(default_factory=dict[str, str])
    channels: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    slack: SlackSimulator | None = None
    feishu: FeishuSimulator | None = None
    accounts: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    environ: dict[str, str] = field(default_factory=dict[str, str])
    program: str = "app.cli.main"
    more: str = ""  # of the file
    started: int = 0

    @asynccontextmanager
    async def gateway(
        self, failpoint: str | None = None, *, url: str | None = None, may_die_early: bool = False
    ) -> AsyncIterator[Gateway]:
        """Start a gateway and wait until it is ready. Several may run at once on PostgreSQL.

        `may_die_early`: what is left over from before may bring it to its failpoint while it still starts.
        """
        gateway = await self._start(failpoint, url or self.url)
        try:
            await self._ready(gateway, may_die=may_die_early)
            yield gateway
        finally:
            await gateway.close()

    async def _start(self, failpoint: str | None, url: str) -> Gateway:
        self.started += 1
        port, config, log = free_port(), self.folder / "assent.yaml", self.folder / f"gateway-{self.started}.log"
        config.write_text(self._policy())
        address = f"http://127.0.0.1:{port}"
        if self.slack is not None:
            self.slack.callback_url = f"{address}/v1/channels/pay-slack/callback"
        if self.feishu is not None:
            self.feishu.callback_url = f"{address}/v1/channels/pay-feishu/callback"
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
            "ASSENT_SECRET": SECRET,
            "ASSENT_DATABASE_URL": url,
            "ASSENT_TICK": "PT0.1S",
            "ASSENT_POLL": "PT0.2S",
            **self.environ,
            **({VARIABLE: failpoint} if failpoint else {}),
        }
        words = (self.program, "serve", "-c", str(config), "--port", str(port))
        with log.open("wb") as out:
            process = forked.start(*words, env=environ, stdout=out, stderr=out, cwd=self.folder)
        return Gateway(process, address, self.keys, log)

    async def _ready(self, gateway: Gateway, *, may_die: bool) -> None:
        """Ask until it answers: the process tells nobody else when it is ready."""
        async with asyncio.timeout(HANGS):
            while gateway.process.returncode is None:
                status = 0
                with suppress(httpx2.HTTPError):
                    status = (await gateway._client.get("/readyz")).status_code
                if status == 200:
                    return
                await asyncio.sleep(0.05)
        if not (may_die and gateway.process.returncode == -signal.SIGKILL):
            raise AssertionError(gateway.log.read_text())

    def _policy(self) -> str:
        people = "\n".join(
            f"  {email}: {json.dumps({'name': email[:3], **self.accounts.get(email, {})})}"
            for email in [*PEOPLE, OWNER]
        )
        listed = "\n".join(f"  {name}: {json.dumps(self._without_secrets(it))}" for name, it in self.channels.items())
        names = ", ".join(self.channels) or "api"
        return (
            _POLICY.format(people=people, channels=listed or "  {}", names=names).replace("channels:\n  {}\n", "")
            + self.more
        )

    def _without_secrets(self, channel: dict[str, object]) -> dict[str, object]:
        """Move secrets into the environment, where the file wants them."""
        shown = dict(channel)
        for name in SECRETS:
            if name in shown:
                variable = f"{channel['type']}_{name}".upper()
                self.environ[variable] = str(shown[name])
                shown[name] = f"${{{variable}}}"
        return shown


@asynccontextmanager
async def scene(url: str, folder: Path, *platforms: str) -> AsyncIterator[Scene]:
    """Set the scene: keys in the database, and the stand-ins of `platforms` (``slack``, ``feishu``) running."""
    made = Scene(url=url, folder=folder)
    async with open_store(url) as store:
        keys = Keys(store=store, seals=Seals([SECRET]), clock=SystemClock())
        agent = await keys.create(org="acme", scope=Scope.AGENT, label="test", agent="payer", person=OWNER)
        made.keys["payer"] = agent.text
        executor = await keys.create(org="acme", scope=Scope.EXECUTOR, label="test", tools=["*"])
        made.keys["executor"] = executor.text
        for email in PEOPLE:
            key = await keys.create(org="acme", scope=Scope.APPROVER, label="test", person=email)
            made.keys[email[:3]] = key.text
    async with _slack(made, on="slack" in platforms), _feishu(made, on="feishu" in platforms):
        yield made


@asynccontextmanager
async def _slack(made: Scene, *, on: bool) -> AsyncIterator[None]:
    if not on:
        yield
        return
    async with SlackSimulator(clock=SystemClock()) as slack:
        made.slack = slack
        for email, account in PEOPLE.items():
            slack.add_person(account, name=email[:3], email=email)
            made.accounts.setdefault(email, {})["slack"] = account
        made.channels["pay-slack"] = slack.configuration()
        yield


@asynccontextmanager
async def _feishu(made: Scene, *, on: bool) -> AsyncIterator[None]:
    if not on:
        yield
        return
    async with FeishuSimulator(clock=SystemClock()) as feishu:
        made.feishu = feishu
        people = {email: feishu.add_person(email[:3], email=email) for email in PEOPLE}
        for email, person in people.items():
            made.accounts.setdefault(email, {})["feishu"] = person.open_id
        made.channels["pay-feishu"] = feishu.settings(feishu.add_chat(*people.values()))
        yield


_PORTS = range(20_000, 32_000)
"""Below those that the system hands out itself: to each server that takes any, and to each call that somebody makes."""


def free_port() -> int:
    """Return a port that nobody listens on, nor is given in the moment before our process takes it."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


async def until(what: str, true: Any, *, seconds: float = 30.0) -> None:
    """Look until something in another process has become so; it has no way to tell us."""
    try:
        async with asyncio.timeout(seconds):
            while not true():  # noqa: ASYNC110 - no event comes from another process
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None
