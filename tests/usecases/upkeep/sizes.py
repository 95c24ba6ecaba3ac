"""What a cycle leaves on the disk: `python -m tests.usecases.upkeep.sizes 2000` measures it on both databases.

A cycle is one call that a person approves by a card in one chat, and that is claimed and reported. It is measured three
times, each after a VACUUM: with all rows; after retention has removed what is over; after the trail was cut.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import structlog

from app.clock import SystemClock
from app.usecases.proving.cut_trail import CutTrail
from channels import registry
from migrations import run
from tests.fixtures.databases import PostgresTemplate, running_server
from tests.fixtures.gateway import ACME, open_gateway, query
from tests.fixtures.memory_platform import MemoryPlatform, memory_spec
from tests.usecases.upkeep.test_retention import DAY, retain_now

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

FEW = 10
"""Cycles before it is measured for the first time: pages that are there anyway do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Bytes a cycle: all of it, what retention leaves, what is left in the database after a cut, and in the segment."""

    whole: float
    trail: float
    rest: float
    segment: float


async def measure(url: str, folder: Path, platform: MemoryPlatform, cycles: int) -> Sizes:
    """Run cycles through a gateway on a migrated database, and see what they leave."""
    config, segments = folder / "orgs", folder / "segments"
    config.mkdir()
    segments.mkdir()
    (config / "acme.yaml").write_text(ACME)
    async with open_gateway(url, config, platform) as g:
        await _cycles(g, FEW)
        first = await asyncio.to_thread(_bytes, g)
        await _cycles(g, cycles)
        whole = await asyncio.to_thread(_bytes, g)
        await retain_now(g)()
        trail = await asyncio.to_thread(_bytes, g)
        cut = CutTrail(store=g.container.store, seals=g.container.seals, folder=segments, tell=lambda *_: None)
        await cut("acme", before=SystemClock().now() + 100_000 * DAY, by="olga@acme.example", webhooks=())
        rest = await asyncio.to_thread(_bytes, g)
        [file] = segments.iterdir()
        all_of = cycles + FEW
        return Sizes(
            whole=(whole - first) / cycles,
            trail=(trail - rest) / all_of,
            rest=max(0.0, rest - first) / cycles,
            segment=file.stat().st_size / all_of,
        )


async def _cycles(g: Gateway, many: int) -> None:
    for n in range(many):
        request = await g.ask("pay", {"payee": "Acme Ltd", "amount": 80000 + n, "account": "DE02-SECRET"})
        assert (await g.press(request))["result"] == "recorded"
        assert (await g.claim(request)).status_code == 200
        assert (await g.report(request)).status_code == 200
    await g.quiet()


def _bytes(g: Gateway) -> int:
    """Return how much the database takes without what is free in it."""
    if g.url.startswith("sqlite"):
        copy = Path(g.url.removeprefix("sqlite:///")).with_name("copy.db")
        query(g.url, f"VACUUM INTO '{copy}'")
        size = copy.stat().st_size
        copy.unlink()
        return size
    with psycopg.connect(g.url, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
    found = query(
        g.url,
        "SELECT sum(pg_total_relation_size(oid)) AS n FROM pg_class WHERE relkind = 'r' AND relnamespace "
        "= 'public'::regnamespace",
    )
    return int(found[0]["n"])


async def _main(cycles: int) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    platform = MemoryPlatform()
    known = {**registry.platforms(), "memory": memory_spec(platform)}
    registry.platforms = lambda: known
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = await asyncio.to_thread(stack.enter_context, running_server(f"assent-sizes-{os.getpid()}"))
        template = PostgresTemplate(server.get_uri())
        for name, url in (
            ("sqlite", f"sqlite:///{folder / 'assent.db'}"),
            ("postgresql", stack.enter_context(template.clone(migrated=False))),
        ):
            await asyncio.to_thread(run.bring, url)
            (folder / name).mkdir()
            found = await measure(url, folder / name, platform, cycles)
            sys.stdout.write(f"{name} { ({each: round(getattr(found, each)) for each in Sizes.__slots__}) }\n")


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
