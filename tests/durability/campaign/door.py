"""How everybody calls the gateways: through any of them, as a balancer would choose, and with an eye on the clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import httpx2

from tests.durability.campaign.figures import BOUND

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from tests.durability.campaign.figures import Figures
    from tests.durability.campaign.replicas import Replica


class Door:
    """Calls, and holds a gateway that was up all the while to its bound."""

    def __init__(
        self, replicas: Sequence[Replica], keys: Mapping[str, str], figures: Figures, draw: random.Random
    ) -> None:
        self._replicas = replicas
        self._keys = keys
        self._figures = figures
        self._draw = draw
        # Each call has its own connection: none is lost because it was kept to a gateway that has died since.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self._client = httpx2.AsyncClient(timeout=None, limits=limits, trust_env=False)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def call(
        self, who: str, method: str, path: str, body: Any = None, *, wait: float = 0, key: str | None = None
    ) -> httpx2.Response | None:
        """Call as somebody; None is no answer: nobody knows what was done then. `wait` is what the call asks for."""
        up = [replica for replica in self._replicas if replica.up.is_set()]
        # A balancer sends nobody to a dead one, once it knows.
        replica = self._draw.choice(up if up and self._draw.random() < 0.9 else self._replicas)
        headers = {"authorization": f"Bearer {self._keys[who]}", **({"idempotency-key": key} if key else {})}
        since, began = replica.moment(), time.monotonic()
        answer, trouble = None, ""
        try:
            answer = await self._client.request(
                method, f"{replica.address}{path}", json=body, headers=headers, timeout=wait + 2 * BOUND
            )
        except httpx2.HTTPError as error:
            trouble = repr(error)
        took = max(0.0, time.monotonic() - began - wait)
        if not replica.undisturbed(since):
            self._figures.cut_off += 1
        elif answer is None:
            self._figures.late += 1
            self._figures.wrong.append(f"{method} {path} at {replica.name}: no answer ({trouble}, {took:.1f} s)")
        else:
            self._figures.answered(answer.status_code, took, waited=wait > 0)
            self._judge(f"{method} {path} at {replica.name}", answer, took)
        return answer

    def _judge(self, what: str, answer: httpx2.Response, took: float) -> None:
        if took > BOUND:
            self._figures.late += 1
            self._figures.wrong.append(f"{what}: answered {answer.status_code} after {took:.1f} s")
        if answer.status_code >= 500 and answer.status_code != 503:
            self._figures.wrong.append(f"{what}: {answer.status_code} {answer.text[:200]}")
        if answer.status_code in {429, 503} and "retry-after" not in answer.headers:
            self._figures.wrong.append(f"{what}: {answer.status_code} without Retry-After")
