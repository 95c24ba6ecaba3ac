"""The gateway itself, as `assent serve` runs it on SQLite, with one approver who decides through the API."""

from __future__ import annotations

import secrets
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import httpx2

from tests.fixtures import forked
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.forked import Forked

POLICY = """
org: acme
default: allow
attention: {cool_down: 0s}
people:
  wang@acme.example: {name: Wang}
groups:
  finance: [wang@acme.example]
tools:
  Bash: {}
  pay: {}
  drop: {}
rules:
  - {id: gate, tools: [Bash, pay], then: ask, stages: [{of: [finance], need: 1}], timeout: 30m, channels: [api]}
  - {id: never, tools: [drop], then: deny}
"""


@dataclass
class RealGateway:
    """A gateway in a folder; `kill` and `start` it as often as you like, its rows stay."""

    folder: Path
    policy: str = POLICY
    url: str = ""
    key: str = ""
    _approver: str = ""
    _environ: dict[str, str] = field(default_factory=dict)
    _process: Forked | None = None

    def __enter__(self) -> Self:
        (self.folder / "assent.yaml").write_text(self.policy)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._environ = {
            "PATH": "/usr/bin:/bin",
            "ASSENT_SECRET": secrets.token_urlsafe(48),
            "ASSENT_DATABASE_URL": f"sqlite:///{self.folder / 'assent.db'}",
            "ASSENT_PORT": str(port),
        }
        self._command("migrate")
        made = ["keys", "create", "--label", "test", "--config", str(self.folder / "assent.yaml")]
        self.key = self._command(*made, "--scope", "agent", "--agent", "claude")
        self._approver = self._command(*made, "--scope", "approver", "--person", "wang@acme.example")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _command(self, *words: str) -> str:
        done = forked.run("app.cli.main", *words, env=self._environ, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def executor_key(self, tool: str) -> str:
        """Make a key for an executor of this tool."""
        words = ["keys", "create", "--label", "test", "--config", str(self.folder / "assent.yaml")]
        return self._command(*words, "--scope", "executor", "--tool", tool)

    def configure(self, policy: str) -> None:
        """Start again under another configuration."""
        self.kill()
        (self.folder / "assent.yaml").write_text(policy)
        self.start()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            words = ("app.cli.main", "serve", "--config", str(self.folder / "assent.yaml"))
            self._process = forked.start(*words, env=self._environ, cwd=self.folder, stdout=log, stderr=log)
        end = time.monotonic() + HANGS
        while time.monotonic() < end:
            try:
                if httpx2.get(f"{self.url}/readyz", trust_env=False, timeout=HANGS).status_code == 200:
                    return
            except httpx2.TransportError:
                time.sleep(0.05)  # another process's start has no event that we could wait for
        raise TimeoutError((self.folder / "log").read_text())

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def requests(self) -> list[dict[str, Any]]:
        headers = {"Authorization": f"Bearer {self._approver}"}
        return httpx2.get(f"{self.url}/v1/requests", headers=headers, trust_env=False, timeout=HANGS).json()["items"]

    def pending(self, *, session: str | None = None) -> dict[str, Any]:
        """The one pending request (of a session), once it is there."""
        end = time.monotonic() + HANGS
        while time.monotonic() < end:
            found = [
                request
                for request in self.requests()
                if request["state"] == "pending" and session in {None, request["session"]}
            ]
            if found:
                (only,) = found
                return only
            time.sleep(0.02)  # as above
        raise TimeoutError("no request came")

    def decide(self, request: dict[str, Any], verdict: str, *, reason: str | None = None, **more: Any) -> None:
        body = {"verdict": verdict, "digest": request["digest"], "reason": reason, **more}
        headers = {"Authorization": f"Bearer {self._approver}"}
        answer = httpx2.post(
            f"{self.url}/v1/requests/{request['id']}/decisions",
            json=body,
            headers=headers,
            trust_env=False,
            timeout=HANGS,
        )
        assert answer.status_code == 200, answer.text
