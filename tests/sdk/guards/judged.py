"""Many cases inside one test: all of them are judged, and what it fails with names each that was judged wrongly.

A test a case costs more than the judging: collecting, setting up and reporting two thousand of them took a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


async def judged_otherwise(
    cases: Iterable[str], expected: str, judge: Callable[[str], Awaitable[str]]
) -> dict[str, str]:
    """Return what was said of each case of which something else than `expected` was said, or the error it raised."""
    wrong: dict[str, str] = {}
    for case in cases:
        try:
            said = await judge(case)
        except Exception as error:  # noqa: BLE001 - a case that breaks the guard is one of the list, not the end of it
            said = repr(error)
        if said != expected:
            wrong[case] = said
    return wrong
