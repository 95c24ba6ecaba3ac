"""A tool behind the executor: called once under its idempotency key, and asked afterwards what it knows of that key.

What a call comes to is one of four, and the difference is money: *succeeded* and *failed* are only said where it is
certain, everything that may have been cut off in its middle is *unknown*, and a service that asks its own people has
the call *elsewhere*.
"""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from assent.executor import options
from assent.executor.walled import CutShortError, called
from assent.gate.aftermath import ToolElsewhere, may_have_run
from assent.gate.permission import describe, granted
from assent.hooks.ready.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.client.models import Json

KEY_PARAMETER = "idempotency_key"
"""The parameter in which every tool is handed its idempotency key, the grant's id."""
LOOKUP_SECONDS = 15.0
KEY_SECONDS = 23 * 3600.0
"""How long a service is taken to know an idempotency key: many forget it after a day."""
NO_ID = "the service asks its own people, under no id that could be read"
_LONGEST_TEXT = 500
_log = logging.getLogger("assent")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSucceeded:
    """The tool has done it."""

    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailed:
    """The tool has not done it and will not: say this only where it is certain."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUnknown:
    """Nobody knows. It is looked up, or settled by a person; it is never run again."""

    why: str


Settling: TypeAlias = ToolSucceeded | ToolFailed
Found: TypeAlias = ToolSucceeded | ToolFailed | ToolElsewhere
ToolOutcome: TypeAlias = ToolSucceeded | ToolFailed | ToolUnknown | ToolElsewhere


class Tool:
    """A registered tool. Raises `TypeError` and `ValueError`, also for a function that takes no `idempotency_key`."""

    def __init__(
        self,
        name: str,
        *,
        run: Callable[..., Any],
        lookup: Callable[[str], Any] | None,
        timeout: float,
        lookup_elsewhere: Callable[[str], Any] | None = None,
        key_lasts: float = KEY_SECONDS,
    ) -> None:
        self.name = name
        self.timeout = options.seconds(f"timeout of {name}", timeout, endless=True)
        self.key_lasts = options.seconds(f"key_lasts of {name}", key_lasts, endless=True)
        self.looks_up = lookup is not None
        self._run = options.function(f"run of {name}", run)
        self._lookup = options.lookup(f"lookup of {name}", lookup)
        self._lookup_elsewhere = options.lookup(f"lookup_elsewhere of {name}", lookup_elsewhere)
        self._signature = inspect.signature(run)
        parameter = self._signature.parameters.get(KEY_PARAMETER)
        wanted = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
        if parameter is None or parameter.kind not in wanted:
            raise TypeError(f"the function of {name} has to take '{KEY_PARAMETER}' and hand it on to what it calls")

    async def call(self, arguments: Json, key: str, *, within: float) -> ToolOutcome:
        """Call it once, for at most so many seconds. Raises nothing but what ends whoever calls this."""
        try:
            bound = partial(self._run, **arguments, **{KEY_PARAMETER: key})  # a key among the arguments is refused here
            self._signature.bind(**bound.keywords)
        except TypeError as error:
            return ToolFailed(error=scrubbed(f"did not run: its arguments are not what the function takes ({error})"))
        with granted(key):
            ended = await called(bound, within=within)
        if ended.error is not None:
            return await self._after(ended.error, key, within)
        result = ended.result
        said = isinstance(result, ToolSucceeded | ToolFailed | ToolUnknown | ToolElsewhere)
        return readable(result) if said else ToolSucceeded(result=result)

    async def _after(self, error: Exception, key: str, within: float) -> ToolOutcome:
        """Say what an error means: it may have come before the deed or behind it.

        The lookup is asked about one that says *failed*: a record settles it, and what is not clear makes it unknown.
        """
        if isinstance(error, ToolElsewhere):
            return readable(error)
        if isinstance(error, CutShortError):
            _log.error("%s: %s; this executor goes on", self.name, error)
            return ToolUnknown(why=str(error))
        if may_have_run(error):
            late = f"no answer within {within:g} s" if type(error) is TimeoutError and not str(error) else None
            return ToolUnknown(why=late or scrubbed(describe(error)))
        failed = ToolFailed(error=scrubbed(describe(error)))
        if self._lookup is None:
            return failed
        try:
            found = await self._asked(self._lookup, key)
        except Exception as fault:  # noqa: BLE001 - the tool's own; who cannot ask does not know
            found = ToolUnknown(why=f"it could not be asked ({type(fault).__name__})")
        if isinstance(found, ToolUnknown):
            return ToolUnknown(why=scrubbed(f"{describe(error)}; and {found.why}"))
        return failed if found is None else found  # no record now proves nothing: the error's own word stands

    async def look_up(self, key: str, *, age: float | None) -> Found | ToolUnknown | None:
        """Ask the tool what became of a key. None: it has no record of it. `ToolUnknown`: nothing clear, and why.

        A key that was used longer ago than it lasts (`age` in seconds; None: nobody knows) is not asked about any more:
        a service that has forgotten it may say that there is nothing, or take it for a new call.
        """
        if self._lookup is not None and (age is None or age > self.key_lasts):
            return ToolUnknown(why="its key is too old to be asked about")
        return await self._looked_up(self._lookup, key)

    async def look_up_elsewhere(self, place: str) -> Found | ToolUnknown | None:
        """Ask the tool what its people have decided; `place` is the service's own id. None: no record of it."""
        return await self._looked_up(self._lookup_elsewhere, place)

    async def _looked_up(self, lookup: Callable[[str], Any] | None, of: str) -> Found | ToolUnknown | None:
        try:
            return await self._asked(lookup, of)
        except Exception as error:  # noqa: BLE001 - the tool's own; it is asked again
            _log.warning("%s could not be asked what became of %s: %s", self.name, of, type(error).__name__)
            return ToolUnknown(why=f"the tool could not be asked ({type(error).__name__})")

    async def _asked(self, lookup: Callable[[str], Any] | None, of: str) -> Found | ToolUnknown | None:
        """Ask. None is said by the lookup itself, and by nothing that was not understood."""
        if lookup is None:
            return None
        ended = await called(partial(lookup, of), within=LOOKUP_SECONDS)
        if ended.error is not None and not isinstance(ended.error, ToolElsewhere):
            raise ended.error
        found: Any = ended.error or ended.result
        if found is None or isinstance(found, ToolSucceeded | ToolFailed | ToolUnknown):
            return found
        if isinstance(found, ToolElsewhere):
            return found if found.place else ToolUnknown(why=NO_ID)
        _log.warning("a lookup of %s has to return ToolSucceeded, ToolFailed, ToolElsewhere or None", self.name)
        return ToolUnknown(why="what the tool's lookup says is not clear")


def readable(outcome: ToolOutcome) -> ToolOutcome:
    """Return an outcome as it is; but who waits under an id that nobody can read is not found there."""
    if isinstance(outcome, ToolElsewhere) and outcome.place is None:
        return ToolUnknown(why=NO_ID)
    return outcome


def scrubbed(text: str) -> str:
    """Cut to a bearable length, without what looks like a secret; the gateway hides sensitive arguments besides."""
    return str(redact(text[: 4 * _LONGEST_TEXT])[0])[:_LONGEST_TEXT]
