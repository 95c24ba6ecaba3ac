"""A call's way through the gate, written once for frameworks of both colours: with an event loop, and without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from assent.client.call import ToolCall
    from assent.gate.outcomes import Ran, Refused, Replayed
    from assent.gate.suspended import SuspendedCall
    from assent.integrations.ground.adapter import Adapter, Execute


class AnyGate(Protocol):
    """What an adapter needs of a gate to take a call through, whichever colour that has."""

    async def run_call(self, call: ToolCall, execute: Execute, *, deadline: float | None) -> Ran | Replayed | Refused:
        """See `Gate.run_call`."""
        ...

    async def open_call(self, call: ToolCall, *, deadline: float | None) -> SuspendedCall | Replayed | Refused:
        """See `Gate.open_call`."""
        ...

    async def finish(
        self, suspended: SuspendedCall, execute: Execute, *, deadline: float | None
    ) -> Ran | Replayed | Refused:
        """See `Gate.finish`."""
        ...


class OnThisThread:
    """The blocking gate under the names of `AnyGate`: its coroutines never wait, and `at_once` runs them."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    async def run_call(self, call: ToolCall, execute: Execute, *, deadline: float | None) -> Ran | Replayed | Refused:
        """See `Gate.run_call`."""
        return self._adapter.blocking.run_call(call, _now(execute), deadline=deadline)

    async def open_call(self, call: ToolCall, *, deadline: float | None) -> SuspendedCall | Replayed | Refused:
        """See `Gate.open_call`."""
        return self._adapter.blocking.open_call(call, deadline=deadline)

    async def finish(
        self, suspended: SuspendedCall, execute: Execute, *, deadline: float | None
    ) -> Ran | Replayed | Refused:
        """See `Gate.finish`."""
        return self._adapter.blocking.finish(suspended, _now(execute), deadline=deadline)


def as_coroutine(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A plain function as one that is awaited; it runs where it is awaited, and waits for nothing."""

    async def here(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return here


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that never waits. Raises `RuntimeError` for one that does."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    work.close()
    raise RuntimeError("a synchronous tool call waited for an event loop")


def _now(execute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **arguments: at_once(execute(**arguments))
