"""The two servers that load is put on, as requests and answers: the gateway, and the bare floor beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchmarks.lean_http import encode
from benchmarks.processes import PAY

if TYPE_CHECKING:
    from benchmarks.lean_http import Answer
    from benchmarks.processes import Gateway, KeyPair, Server

CALL = {"tool": "pay", "arguments": PAY}


class Opened(NamedTuple):
    """A request that waits for a decision."""

    path: str
    digest: str


class Talk(Protocol):
    """How one server is spoken to."""

    port: int
    created: int

    def create(self) -> bytes:
        """Open a request."""
        ...

    def opened(self, answer: Answer) -> Opened:
        """Read the answer to `create`."""
        ...

    def hold(self, opened: Opened, seconds: int) -> bytes:
        """Wait for the decision."""
        ...

    def decide(self, opened: Opened) -> bytes:
        """Approve."""
        ...

    def finish(self, opened: Opened, claim_id: str) -> list[bytes]:
        """What follows the approval, one after the other."""
        ...


class GatewayTalk:
    """Assent's own API. `port` may be that of another replica than the one whose keys are used."""

    created = 202

    def __init__(self, gateway: Gateway, *, port: int | None = None) -> None:
        self.port = port or gateway.port
        self._keys: KeyPair = gateway.keys
        self._create = encode("POST", "/v1/requests", key=self._keys.agent, body=CALL)

    def create(self) -> bytes:
        return self._create

    def opened(self, answer: Answer) -> Opened:
        request = answer.body()["request"]
        return Opened(f"/v1/requests/{request['id']}", request["digest"])

    def hold(self, opened: Opened, seconds: int) -> bytes:
        return encode("GET", f"{opened.path}?wait={seconds}", key=self._keys.agent)

    def decide(self, opened: Opened) -> bytes:
        verdict = {"verdict": "approve", "digest": opened.digest}
        return encode("POST", f"{opened.path}/decisions", key=self._keys.approver, body=verdict, brief=True)

    def finish(self, opened: Opened, claim_id: str) -> list[bytes]:
        claim = {"digest": opened.digest, "claim_id": claim_id}
        return [
            encode("POST", f"{opened.path}/claim", key=self._keys.agent, body=claim),
            self.outcome(opened.path, claim_id),
        ]

    def page(self, cursor: str) -> bytes:
        """List what waits, 50 at a time, as an approver: from the newest, or from where the last page ended."""
        query = f"status=pending&limit=50{cursor and '&cursor='}{cursor}"
        return encode("GET", f"/v1/requests?{query}", key=self._keys.approver)

    def one_call(self, claim_id: str, seconds: int) -> bytes:
        """Ask, wait and claim at once."""
        body = {**CALL, "wait": seconds, "claim_id": claim_id}
        return encode("POST", "/v1/requests", key=self._keys.agent, body=body)

    def outcome(self, path: str, claim_id: str) -> bytes:
        """Say that it was done."""
        body = {"claim_id": claim_id, "status": "succeeded", "result": {"ok": True}}
        return encode("POST", f"{path}/outcome", key=self._keys.agent, body=body, brief=True)


class FloorTalk:
    """The floor's three routes (`floor.py`)."""

    created = 200

    def __init__(self, floor: Server) -> None:
        self.port = floor.port
        self._create = encode("POST", "/calls", body=CALL)

    def create(self) -> bytes:
        return self._create

    def opened(self, answer: Answer) -> Opened:
        return Opened(f"/calls/{answer.body()['id']}", "")

    def hold(self, opened: Opened, seconds: int) -> bytes:
        return encode("GET", f"{opened.path}?wait={seconds}")

    def decide(self, opened: Opened) -> bytes:
        return encode("POST", f"{opened.path}/decisions")

    def finish(self, opened: Opened, claim_id: str) -> list[bytes]:
        del opened, claim_id
        return []
