"""docs/performance.md, written by a run: the table, what it was measured on, and how to read it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.results import said

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from benchmarks.results import Row
    from benchmarks.run import Sizes

_HEAD = """\
# Performance

This page is written by `make bench ARGS="--write docs/performance.md"`. Each figure stands beside a reference that was
measured in the same run, in turn with it, on the same machine; the goals are ratios wherever a ratio can be had.
Figures move from run to run (by a third on a busy machine); ratios within one run hold better. No test fails on a time.

- **must**: below it we would be ashamed. **stretch**: what we want. The verdict is the best that is wholly met.
- **floor**: a bare gateway (`benchmarks/floor.py`): FastAPI, one writer thread with group commit, long-polls; no
  authentication, no rules, no audit trail, no cards. Its cycle ends as the waiter is woken.
- **DBOS**, **LangGraph**: `recv`/`send`, and `interrupt` with `durability="sync"`, on the same kind of database, inside
  one process, without HTTP: flattered. **Restate**: a workflow with a durable promise; its server, start and decision
  over HTTP, on its own store whatever ours is. Their cycles end as the waiter is woken, too.
- Full cycle: create, hold, decide, wake, claim, report, as an agent makes it best: its one call, the decision, and the
  outcome; three HTTP calls from another process, four durable changes, each with its event in the audit trail, on a
  real `assent serve`.
"""
_READ = """\
## Measure it yourself

```console
make bench                                  # all of it, about a quarter of an hour; leave the machine alone meanwhile
make bench ARGS="P1 P2 --seconds 10"        # some of it, longer rounds
make bench ARGS=--quick                     # a look in under a minute: tiny sizes, figures without meaning
make bench ARGS="P1 --profile /tmp/profile" # where the gateway's time goes by floor and by function
```

P6's kill comes amid decisions from 64 connections; afterwards every acknowledged decision must be in the database once.
P10 writes through the gateway's store without HTTP. L1 to L3 have no counterpart elsewhere: they watch for plans that
go wrong when tables grow. N1 posts one after the other what once held a gateway for seconds (shell lines of pipes and
quotes, patterns, lists that have to be unique, JSON of brackets alone, …), while somebody else calls every 2 ms.
A peer that cannot be installed is *not measured*, and then no goal that names it is met.
"""
_BUSY = """
**The machine was busy with other work ({others:.0%} of its processor time during the run): the figures are a lower \
bound.**
"""
_QUIET = 0.1


def machine() -> str:
    """Say what this machine is, in one line."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    return f"{os.cpu_count()} cores ({names[0] if names else platform.machine()}), Python {platform.python_version()}"


def render_table(rows: Sequence[Row]) -> str:
    """Write the rows as a Markdown table."""
    lines = [
        "| # | what | measured | reference, same run | ratio | must | stretch | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.id} | {row.title} | {row.measured} | {row.reference} | {row.ratio} | {said(row.must)} | "
        f"{said(row.stretch)} | {_marked(row.verdict)} |"
        for row in rows
    ]
    return "\n".join(lines)


def _marked(verdict: str) -> str:
    return f"**{verdict}**" if verdict in {"stretch", "must", "missed"} else verdict


def render_page(rows: Sequence[Row], sizes: Sizes, databases: str, at: datetime, others: float) -> str:
    """Write the whole page."""
    judged = [row.verdict for row in rows if row.verdict != "—"]
    counts = ", ".join(f"{judged.count(name)} {name}" for name in ("stretch", "must", "missed", "no reference"))
    busy = _BUSY.format(others=others) if others > _QUIET else ""
    return f"""{_HEAD}
## Results of {at:%Y-%m-%d}

{machine()}; {databases}.
Medians of {sizes.rounds} interleaved rounds of {sizes.seconds:g} seconds. Of {len(judged)} goals: {counts}.
{busy}
{render_table(rows)}

{_READ}"""


def render_row(row: Row) -> str:
    """Write one result for the terminal."""
    lines = [f"{row.id:4} {row.verdict:8} {row.title}", f"     measured   {row.measured}"]
    if row.reference != "—":
        lines.append(f"     reference  {row.reference}   ratio {row.ratio}")
    if row.must:
        lines.append(f"     must       {said(row.must)}")
    if row.stretch:
        lines.append(f"     stretch    {said(row.stretch)}")
    return "\n".join(lines)
