"""Leave to run a call once, and what a tool can ask about it while it runs."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from assent.gate.outcomes import Ran

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from assent.client.models import Claimed, Json, Request

LAST_REPORT = 5.0
"""Seconds for the report of a run that was cancelled."""
_grant: ContextVar[str | None] = ContextVar("assent_grant", default=None)
_changes: ContextVar[str | None] = ContextVar("assent_changes", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Leave to run a tool once, with these arguments; `claimed` is None when a rule allowed it.

    `changes` is what the model is to be told where people changed the call before they approved it, `context` what the
    gateway's hooks want it told besides.
    """

    arguments: Json
    claimed: Claimed | None
    changes: str | None = None
    request: Request | None = None
    context: tuple[str, ...] = ()

    @property
    def grant_id(self) -> str | None:
        """The tool's idempotency key."""
        return self.claimed.grant_id if self.claimed else None

    def ran(self, result: Any) -> Ran:
        """What became of it: it ran, and returned this."""
        return Ran(result=result, request=self.request, changes=self.changes, context=self.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """An executor ran the call, and it succeeded: nothing is to run here."""

    request: Request

    @property
    def result(self) -> Any:
        """What the tool returned, as the executor reported it."""
        return self.request.result

    def ran(self) -> Ran:
        """What became of it."""
        return Ran(result=self.result, request=self.request, changes=self.request.changes)


def current_grant() -> str | None:
    """Inside a guarded function: the grant's id, the payment's idempotency key; None when nobody had to be asked."""
    return _grant.get()


def current_changes() -> str | None:
    """Inside a guarded function: what people changed of the call, in words for the model; None if it is as it was."""
    return _changes.get()


@contextmanager
def granted(grant_id: str | None, changes: str | None = None) -> Generator[None]:
    """Make a grant the current one; None when nobody had to be asked."""
    tokens = _grant.set(grant_id), _changes.set(changes)
    try:
        yield
    finally:
        _grant.reset(tokens[0])
        _changes.reset(tokens[1])


def describe(error: BaseException) -> str:
    """The kind of an error and its text, cut to a bearable length."""
    return f"{type(error).__name__}: {error}"[:500]


_BARE: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()


def remember_bare(guarded: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Note what a guard guards, for `bare`."""
    _BARE[guarded] = function


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a guard guards; any other function as it is."""
    return _BARE.get(function, function)
