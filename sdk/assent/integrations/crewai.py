"""CrewAI: each tool goes through the gate.

    agent = Agent(role="clerk", ..., tools=gated(Gateway(url, key, session="order-4711"), [pay]))

CrewAI tells a tool no call id: calls with equal arguments are counted instead, in each process from one on. So give
every run a session of its own; a run that is started again under its session meets what it had asked.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from crewai.tools import BaseTool
from pydantic import PrivateAttr

from assent.gate.outcomes import Ran
from assent.integrations.ground.adapter import Adapter
from assent.integrations.ground.telling import notes, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assent.gate.abandoned import Abandoned
    from assent.gate.blocking import Gateway
    from assent.gate.outcomes import Refused, Replayed

    Through = Callable[..., Ran | Replayed | Refused]


def gated(
    gateway: Gateway,
    tools: Iterable[BaseTool],
    *,
    sub_agent: str | None = None,
    deadline: float | None = None,
    abandoned: Abandoned = "withdraw",
) -> list[BaseTool]:
    """Tools that run only as far as the gateway lets them; `deadline` is in seconds, for each call.

    A refusal is what the tool returns: of one that raises, CrewAI would try the call again.
    """
    adapter, ordinals = Adapter(gateway, sub_agent=sub_agent, deadline=deadline, abandoned=abandoned), _Ordinals()
    run = partial(adapter.blocking.run_call, deadline=deadline)
    return [_Gated.of(tool, adapter, run, ordinals) for tool in tools]


class _Ordinals:
    """Counts equal calls."""

    def __init__(self) -> None:
        self._seen = Counter[str]()
        self._lock = Lock()  # calls of one turn run on threads

    def of(self, tool: str, arguments: dict[str, Any]) -> str:
        """The how-manieth call of this it is."""
        named = json.dumps([tool, arguments], sort_keys=True, default=str)
        with self._lock:
            self._seen[named] += 1
            return f"call-{self._seen[named]}"


def _never(*_: Any) -> bool:
    """Nothing of it enters CrewAI's cache: a cached refusal would outlive its reason, a cached result its approval."""
    return False


class _Gated(BaseTool):
    """One tool behind the gate."""

    _inner: BaseTool = PrivateAttr()
    _adapter: Adapter = PrivateAttr()
    _through: Any = PrivateAttr()
    _ordinals: _Ordinals = PrivateAttr()

    @classmethod
    def of(cls, tool: BaseTool, adapter: Adapter, through: Through, ordinals: _Ordinals) -> _Gated:
        """Put a tool behind the gate."""
        outer = cls(
            name=tool.name,
            description=tool.description,
            args_schema=tool.args_schema,
            result_as_answer=tool.result_as_answer,
            cache_function=_never,
        )
        outer._inner, outer._adapter, outer._through, outer._ordinals = tool, adapter, through, ordinals
        return outer

    def _run(self, **arguments: Any) -> Any:
        call = self._adapter.call(self.name, arguments, call_id=self._ordinals.of(self.name, arguments))
        found = self._through(call, self._inner.run)
        return found.result if isinstance(found, Ran) and not notes(found) else told(found)
