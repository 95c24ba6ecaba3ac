"""What the readers of the API and the command line are warned of: the same as on cards and pages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.request_warnings import fewer, warning_sentence, warnings_of
from app.usecases.cards.compose import pause_told, terms_for
from assent.hooks.ready.off_loop import is_large

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.storage.sessions.switches import Switch

MOST = 20
"""Warnings of how a text looks that one answer tells of: a hostile call could fill pages with them."""

_LONG = 2_048
"""Characters of arguments, each value counted as 16: looking through fewer takes less than asking a thread to."""

_REMEMBERED = 4_096
"""Requests whose warnings are kept: a long argument takes a tenth of a second to look through, and is read often."""


class Warned(Struct, frozen=True, kw_only=True):
    """One warning. `path` is the argument that it is about; its texts are visible, masked, and no markup."""

    kind: str
    path: str | None
    text: str
    values: Mapping[str, str]


def warned_of(request: ConfirmationRequest, policy: Policy, pause: Switch | None) -> tuple[Warned, ...]:
    """Return the warnings of a request in the language of the file. `pause` is what binds it now."""
    terms = terms_for(request, policy, policy.language)
    told = pause_told(pause, policy) if pause is not None else None
    return tuple(
        Warned(kind=each.kind.value, path=each.path, text=warning_sentence(each, terms), values=each.values)
        for each in fewer(warnings_of(request, terms, pause=told), most=MOST)
    )


class WarnedBefore:
    """Warnings as they were found before, for as long as nothing changed of what they depend on."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: OrderedDict[tuple[object, ...], tuple[Warned, ...]] = OrderedDict()

    async def of(
        self, requests: Sequence[ConfirmationRequest], policy: Policy, pauses: Sequence[Switch | None]
    ) -> list[tuple[Warned, ...]]:
        """Return the warnings of each request. What is not known yet, and long, is looked for beside the loop."""
        asked = {_key(each, policy, pause): (each, pause) for each, pause in zip(requests, pauses, strict=True)}
        found = {key: self._known[key] for key in asked if key in self._known}
        if missing := {key: each for key, each in asked.items() if key not in found}:

            def look() -> dict[tuple[object, ...], tuple[Warned, ...]]:
                return {key: warned_of(request, policy, pause) for key, (request, pause) in missing.items()}

            is_long = is_large([request.call.arguments for request, _ in missing.values()], _LONG)
            found |= await asyncio.to_thread(look) if is_long else look()
        for key in asked:
            self._known[key] = found[key]
            self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return [found[_key(each, policy, pause)] for each, pause in zip(requests, pauses, strict=True)]


def _key(request: ConfirmationRequest, policy: Policy, pause: Switch | None) -> tuple[object, ...]:
    """Name all that a request's warnings depend on."""
    return (request.id, request.digest, request.cautions, policy.version, pause)
