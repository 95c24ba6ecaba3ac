"""`python -m benchmarks [names…] [--seconds N] [--quick] [--json FILE] [--write FILE]`: measure, compare, say."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
import uvloop

from benchmarks.databases import open_databases
from benchmarks.other_work import OtherWork
from benchmarks.page import render_page, render_row
from benchmarks.run import FULL, QUICK, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.results import Row

Measure = Callable[[Run], Awaitable[list["Row"]]]

_SLOW_TWINS = {
    "recovery-postgresql",
    "fairness-postgresql",
    "load-postgresql",
    "pages-postgresql",
}  # the quick look does their SQLite twins


def measures(kinds: Sequence[str]) -> dict[str, tuple[tuple[str, ...], Measure]]:
    """Return every measure: the goals it speaks to, and how to run it."""
    from benchmarks.measure_cards import measure_cards
    from benchmarks.measure_cycles import measure_cycles
    from benchmarks.measure_fairness import measure_fairness
    from benchmarks.measure_gate import measure_allow, measure_hook, measure_judge
    from benchmarks.measure_hooks import measure_chain, measure_command_guard
    from benchmarks.measure_hostile import measure_hostile
    from benchmarks.measure_large import measure_large
    from benchmarks.measure_load import measure_load
    from benchmarks.measure_memory import measure_memory
    from benchmarks.measure_pages import measure_pages
    from benchmarks.measure_recovery import measure_recovery
    from benchmarks.measure_replicas import measure_replicas
    from benchmarks.measure_rules import measure_rules
    from benchmarks.measure_start import measure_start
    from benchmarks.measure_statements import measure_statements
    from benchmarks.measure_wake import measure_wake_across, measure_wake_one_process

    listed: dict[str, tuple[tuple[str, ...], Measure]] = {
        "cycles-sqlite": (("P1",), lambda run: measure_cycles(run, "sqlite")),
        "cycles-postgresql": (("P2",), lambda run: measure_cycles(run, "postgresql")),
        "replicas-postgresql": (("P2r",), measure_replicas),
        "statements-postgresql": (("P2d",), measure_statements),
        "wake": (("P3",), measure_wake_one_process),
        "wake-postgresql": (("P4", "P4b"), measure_wake_across),
        "memory": (("P5", "P5b"), measure_memory),
        "recovery-sqlite": (("P6",), lambda run: measure_recovery(run, "sqlite")),
        "recovery-postgresql": (("P6",), lambda run: measure_recovery(run, "postgresql")),
        "allow": (("P7", "P7b"), measure_allow),
        "judge": (("P8",), measure_judge),
        "rules": (("R1", "R1b"), measure_rules),
        "hook": (("P9",), measure_hook),
        "start": (("P11", "P12", "P12b"), measure_start),
        "chain": (("H1",), measure_chain),
        "command-guard": (("H2",), measure_command_guard),
        "large": (("H3", "H3b"), measure_large),
        "hostile": (("N1",), measure_hostile),
        "cards": (("C1",), measure_cards),
        "fairness-sqlite": (("P10",), lambda run: measure_fairness(run, "sqlite")),
        "fairness-postgresql": (("P10",), lambda run: measure_fairness(run, "postgresql")),
        "load-sqlite": (("L1", "L2", "L3"), lambda run: measure_load(run, "sqlite")),
        "load-postgresql": (("L1", "L2", "L3"), lambda run: measure_load(run, "postgresql")),
        "pages-sqlite": (("W1",), lambda run: measure_pages(run, "sqlite")),
        "pages-postgresql": (("W1",), lambda run: measure_pages(run, "postgresql")),
    }
    return {name: each for name, each in listed.items() if "postgresql" in kinds or not name.endswith("postgresql")}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="goals (P1, P4b, L1) or measures (wake, memory); all if left out")
    parser.add_argument("--list", action="store_true", help="list the measures and their goals")
    parser.add_argument("--seconds", type=float, help="how long a round lasts")
    parser.add_argument("--rounds", type=int, help="how many interleaved rounds")
    parser.add_argument("--waiters", type=int, help="how many calls wait in P5")
    parser.add_argument("--rows", type=int, help="how many rows are many in P6, L1 and L2")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, under a minute: does it run at all?")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite alone")
    parser.add_argument("--json", type=Path, help="write every figure there")
    parser.add_argument("--write", type=Path, help="write the page there (docs/performance.md)")
    parser.add_argument("--profile", type=Path, help="profile the gateway under the load of P1 (or P2) instead")
    return parser.parse_args()


async def _measure(run: Run, chosen: Sequence[Measure]) -> list[Row]:
    rows: list[Row] = []
    for measure in chosen:
        for row in await measure(run):
            print(render_row(row), flush=True)
            rows.append(row)
    return rows


def main() -> int:
    """Run what was asked for. The exit code never speaks of speed."""
    given = _arguments()
    known = measures(("sqlite",) if given.no_postgres else ("sqlite", "postgresql"))
    if given.list:
        for name, (goals, _) in known.items():
            print(f"{name:22} {', '.join(goals)}")
        return 0
    wanted = {name.lower() for name in given.names}
    chosen = {
        name: measure
        for name, (goals, measure) in known.items()
        if not wanted or wanted & {name, *map(str.lower, goals)}
    }
    if not chosen:
        print(f"no such measure; there are {', '.join(known)}", file=sys.stderr)
        return 2
    if given.quick and not wanted:
        chosen = {name: measure for name, measure in chosen.items() if name not in _SLOW_TWINS}
    sizes = QUICK if given.quick else FULL
    own = {"seconds": given.seconds, "rounds": given.rounds, "waiters": given.waiters, "many_rows": given.rows}
    sizes = replace(sizes, **{name: value for name, value in own.items() if value is not None})
    # The PostgreSQL wheel looks for a runtime directory when it is imported, and takes one under /tmp without.
    warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    others = OtherWork()
    needs_postgres = not given.no_postgres and any(name == "wake" or name.endswith("postgresql") for name in chosen)
    with (
        open_databases(postgres=needs_postgres) as databases,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        run = Run(sizes=sizes, databases=databases)
        run.tell(databases.settings())
        if given.profile:
            from benchmarks.profile_cycles import profile_cycles

            print(runner.run(profile_cycles(run, "postgresql" if "p2" in wanted else "sqlite", given.profile)))
            return 0
        rows = runner.run(_measure(run, list(chosen.values())))
        settings = databases.settings()
    now = datetime.now(UTC)
    print(f"other work took {others.share():.0%} of the machine's processor time meanwhile")
    if given.json:
        figures = [{**asdict(row), "verdict": row.verdict} for row in rows]
        given.json.write_text(json.dumps({"at": now.isoformat(), "rows": figures}, indent=1), encoding="utf-8")
    if given.write:
        given.write.parent.mkdir(parents=True, exist_ok=True)
        given.write.write_text(render_page(rows, sizes, settings, now, others.share()), encoding="utf-8")
        print(f"{given.write} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
