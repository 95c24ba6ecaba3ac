"""What a profile says of each floor of the house: HTTP, judging, use cases, statements, commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Place = tuple[str, int, str]
"""File, line and name of a function, as `pstats` has it; builtins have no file."""
Callers = dict[Place, tuple[int, int, float, float]]
Figures = Mapping[Place, tuple[int, int, float, float, Callers]]
"""What `pstats.Stats.stats` is: calls without recursion, calls, own seconds, seconds with those called, by caller."""

_WHERE: Final = (
    ("HTTP: server, routing, framework", ("/uvicorn/", "/starlette/", "/fastapi/", "/anyio/", "/httptools/", "/h11/")),
    ("HTTP: bodies, answers, keys", ("/app/api/", "/app/console/", "/pydantic/", "/app/main.py")),
    ("judging", ("/app/usecases/judging/", "/app/policies/", "/app/domain/rules/", "/app/hooks/", "/assent/", "/cel/")),
    ("use cases", ("/app/usecases/", "/app/domain/", "/rfc8785/", "/app/workers/", "/app/ports.py", "/app/clock.py")),
    ("statements", ("/app/storage/", "/sqlalchemy/", "/psycopg/", "/sqlite3/")),
    ("figures and logs", ("/prometheus_client/", "/structlog/", "/logging/", "/app/telemetry/", "/opentelemetry/")),
)
_REST: Final = "loop, threads, rest"
_COMMIT: Final = "commit"
_COMMITS: Final = frozenset({"_commit", "commit"})
FLOORS: Final = (*(name for name, _ in _WHERE), _COMMIT, _REST)


def seconds_by_floor(figures: Figures) -> dict[str, float]:
    """Share the own seconds of every function out among the floors. A builtin costs whoever calls it."""
    spent = dict.fromkeys(FLOORS, 0.0)
    for place, (_, _, own, _, callers) in figures.items():
        if not _is_builtin(place):
            spent[_floor_of(place)] += own
            continue
        told = sum(its for _, _, its, _ in callers.values())
        for caller, (_, _, its, _) in callers.items():
            spent[_floor_of(caller)] += its
        spent[_REST] += max(0.0, own - told)  # called by nobody that was looked at
    return spent


def _is_builtin(place: Place) -> bool:
    return place[0] == "~"


def _floor_of(place: Place) -> str:
    file, _, name = place
    if "/app/storage/engine/" in file and name in _COMMITS:
        return _COMMIT
    for floor, parts in _WHERE:
        if any(part in file for part in parts):
            return floor
    return _REST
