"""Everything that the demo is made of, put up in a fresh folder and taken down again.

The stand-ins of Slack, Feishu and the bank run in this process; the gateway (`assent serve`), the agent and the
executor are processes of their own, so that killing them is real. They meet only over HTTP.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from app.clock import SystemClock
from app.domain.identity.api_key import Scope
from app.domain.text.language import Language
from channels.feishu.simulator.simulator import FeishuSimulator
from channels.slack.simulator.simulator import SlackSimulator
from examples.demo.bank import Bank
from examples.demo.beside import Beside
from examples.demo.child import Child
from examples.demo.trail import Trail
from examples.demo.visits import Visits
from examples.payment_ledger import Ledger
from examples.scripted_model import WIRE
from migrations import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.demo.beside import Authenticator

CONFIG = Path(__file__).with_name("assent.yaml")
ROOT = Path(__file__).parents[2]
AGENT, OWNER = "payment-agent", "li@acme.example"
_RELOADS_WITHIN = 8.0  # the gateway looks at its file every two seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who sits in both chats, with an account on either platform."""

    key: str
    name: str
    email: str
    known: bool  # whether the gateway's file has them
    feishu: str
    slack: str


class Stage:
    """The running demo. An async context manager; inside it, gateway, agent and executor have been started."""

    def __init__(self, *, besides: Mapping[str, str] | None = None) -> None:
        """Put nothing up yet. `besides`: what else the gateway's file has, each before or instead of a line of it."""
        self._besides = besides or {}
        clock = SystemClock()
        self._stack = AsyncExitStack()
        self.slack = SlackSimulator(clock=clock, signing_secret=secrets.token_hex(16))
        self.feishu = FeishuSimulator(clock=clock, encrypt_key=secrets.token_hex(16))
        self.visitors = self._invite()
        people = [self.feishu.platform.people[visitor.feishu] for visitor in self.visitors.values()]
        self.chat = self.feishu.add_chat(*people)
        self.language = Language.EN
        self.visits = Visits(self)
        self.authenticators: dict[str, Authenticator] = {}

    async def __aenter__(self) -> Self:
        """Put everything up; the gateway takes a second or two more until it answers."""
        try:
            await self._put_up()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _put_up(self) -> None:
        self.folder = Path(
            self._stack.enter_context(TemporaryDirectory(prefix="assent-demo-", ignore_cleanup_errors=True))
        )
        await self._stack.enter_async_context(self.slack)
        await self._stack.enter_async_context(self.feishu)
        self.url = f"http://127.0.0.1:{_free_port()}"
        self.slack.callback_url = f"{self.url}/v1/channels/pay-slack/callback"
        self.feishu.callback_url = f"{self.url}/v1/channels/pay-feishu/callback"
        self.environ = self._gateway_environ()
        self.config = self.folder / "assent.yaml"
        self._write_config()
        self.beside = Beside(config=self.config, environ=self.environ)
        run.upgrade(self.environ["ASSENT_DATABASE_URL"])
        keys = self.keys = await self.beside.make_keys(AGENT, OWNER)
        self.authenticators["li"] = await self.beside.enrol(OWNER)
        self._stack.push_async_callback(self.visits.close)
        names = {visitor.email: visitor.name for visitor in self.visitors.values()}
        for visitor in self.visitors.values():  # the trail knows no more of a stranger than the account that pressed
            names |= {f"account:{account}": visitor.name for account in (visitor.feishu, visitor.slack)}
        self.trail = await self._stack.enter_async_context(Trail(self.url, keys[Scope.AUDITOR], names))
        self.ledger = Ledger(self.folder / "ledger.jsonl")
        self.bank = self._stack.enter_context(Bank(self.folder / "bank.db"))
        self.inbox = self.folder / "inbox.jsonl"
        self.gateway = Child(
            [*self.assent, "serve", "--config", str(self.config), "--port", self.url.rpartition(":")[2]],
            environ=self.environ,
            log=self.folder / "gateway.log",
        )
        self.agent = Child(
            [sys.executable, "-m", "examples.payment_agent", str(self.folder)],
            environ={**_plain_environ(), "ASSENT_URL": self.url, "ASSENT_KEY": keys[Scope.AGENT]},
            log=self.folder / "agent.log",
        )
        self.executor = Child(
            [sys.executable, "-m", "examples.payment_executor"],
            environ={
                **_plain_environ(), "ASSENT_URL": self.url, "ASSENT_KEY": keys[Scope.EXECUTOR],
                "LEDGER_URL": self.bank.url, "LEDGER_TOKEN": self.bank.token, "TOOL": WIRE,
                "STATE_FILE": str(self.folder / "epoch"),
            },
            log=self.folder / "executor.log",
        )  # fmt: skip
        for child in self.children:
            self._stack.push_async_callback(child.stop)
            await child.start()

    async def __aexit__(self, *_: object) -> None:
        """Take everything down and remove the folder."""
        await self._stack.aclose()

    @property
    def assent(self) -> list[str]:
        """The gateway's command, as it is installed."""
        return [str(Path(sys.executable).with_name("assent"))]

    @property
    def children(self) -> tuple[Child, Child, Child]:
        """The processes that can be killed."""
        return self.gateway, self.agent, self.executor

    async def speak(self, language: Language) -> None:
        """Have the gateway speak another language, as an operator does: change its file, and have the cards anew."""
        if language is self.language:
            return
        self.language = language
        before = self._reloads()
        self._write_config()
        end = asyncio.get_running_loop().time() + _RELOADS_WITHIN
        while self.gateway.pid is not None and self._reloads() == before:
            if asyncio.get_running_loop().time() > end:
                break  # it is starting, and reads the new file then
            await asyncio.sleep(0.1)
        await self.beside.show_anew(self.trail.requests())

    def paid(self) -> list[dict[str, object]]:
        """Return everything that was ever paid, by the agent and by the executor, in order."""
        return sorted([*self.ledger.entries(), *self.bank.entries()], key=lambda entry: str(entry["at"]))

    def ask_agent(self, order: str) -> None:
        """Put a user's request into the agent's inbox."""
        with self.inbox.open("a", encoding="utf-8") as file:
            file.write(json.dumps(order) + "\n")

    def orders_waiting(self) -> int:
        """Count the users' requests that the agent has not heard yet because it is dead or works on another one."""
        heard = [json.loads(line) for line in _whole_lines(self.folder / "conversation.jsonl")]
        waiting = len(_whole_lines(self.inbox)) - sum(message["role"] == "user" for message in heard)
        idle = not heard or (heard[-1]["role"] == "assistant" and heard[-1]["arguments"] is None)
        return 0 if idle and self.agent.pid is not None else waiting  # it hears the next one in an instant

    def agent_log(self) -> list[dict[str, str]]:
        """What the agent printed so far: ``{who, what}`` a line; what is not of its own making is an "error"."""
        if not self.agent.log.exists():
            return []
        lines: list[dict[str, str]] = []
        for line in self.agent.log.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                lines.append({"who": "error", "what": line})
        return lines

    def note_in_agent_log(self, what: str) -> None:
        """Say in the agent's log what it cannot say itself: that it was killed."""
        with self.agent.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"who": "killed", "what": what}) + "\n")

    def _write_config(self) -> None:
        """Write the file that the gateway reads: the repository's, with its address and the language of now."""
        text = CONFIG.read_text(encoding="utf-8").replace("http://127.0.0.1:8080", self.url)
        for line, instead in self._besides.items():
            text = text.replace(line, instead, 1)
        fresh = self.config.with_suffix(".new")
        fresh.write_text(text.replace("language: en", f"language: {self.language}"), encoding="utf-8")
        fresh.replace(self.config)

    def _reloads(self) -> int:
        return self.gateway.log.read_bytes().count(b"policy.reloaded") if self.gateway.log.exists() else 0

    def _invite(self) -> dict[str, Visitor]:
        visitors: dict[str, Visitor] = {}
        for key, name in (("wang", "王芳 Wang Fang"), ("li", "李雷 Li Lei"), ("mallory", "Mallory")):
            email = f"{key}@acme.example"
            account = self.feishu.add_person(name.partition(" ")[0], email=email)
            member = self.slack.add_person(f"U0{key.upper()}", name=name.partition(" ")[2] or name, email=email)
            visitors[key] = Visitor(
                key=key, name=name, email=email, known=key != "mallory", feishu=account.open_id, slack=member.id
            )
        return visitors

    def _gateway_environ(self) -> dict[str, str]:
        feishu = self.feishu.settings(self.chat)
        slack = self.slack.configuration()
        return {
            **_plain_environ(),
            "ASSENT_SECRET": secrets.token_urlsafe(48),
            "ASSENT_DATABASE_URL": f"sqlite:///{self.folder / 'assent.db'}",
            "ASSENT_LOG_FORMAT": "json",
            "FEISHU_APP_SECRET": str(feishu["app_secret"]),
            "FEISHU_ENCRYPT_KEY": str(feishu["encrypt_key"]),
            "FEISHU_VERIFICATION_TOKEN": str(feishu["verification_token"]),
            "FEISHU_CHAT": self.chat,
            "FEISHU_STAND_IN": self.feishu.base_url,
            "SLACK_BOT_TOKEN": str(slack["bot_token"]),
            "SLACK_SIGNING_SECRET": str(slack["signing_secret"]),
            "SLACK_STAND_IN": str(slack["api_url"]),
        }


def _whole_lines(path: Path) -> list[str]:
    """Return the lines that end; another process may be writing the last one."""
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


def _plain_environ() -> Mapping[str, str]:
    """This machine's environment without its proxies and credentials; ours are put in by name."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "COVERAGE_PROCESS_CONFIG")
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    return {**environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "sdk"))), "PYTHONUTF8": "1"}


def _free_port() -> int:
    """Return a port that nobody listens on, below those that the system hands out: it is taken a second later."""
    while True:
        port = secrets.choice(range(20_000, 32_000))
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
