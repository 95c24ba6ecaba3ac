"""W1: the console's first pages, with as many requests waiting as nobody would let wait."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import httpx2

from app.clock import SystemClock
from app.container import Container
from app.settings import Settings
from benchmarks.databases import NAMES
from benchmarks.processes import APPROVER, CONFIG, ORG, SECRET, gateway
from benchmarks.results import Row, below, milliseconds, percentile, times
from benchmarks.seeds import seed

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.processes import Gateway
    from benchmarks.run import Run

PAGES = {"inbox": "/", "trail": "/console/trail", "pulse": "/console/pulse", "decide": "/r/{id}"}
_WITHIN = 0.150
_MOST = 200


async def measure_pages(run: Run, kind: str) -> list[Row]:
    """Measure one kind of database: a gateway with one request and one with very many, in turn."""
    sizes, name = run.sizes, NAMES[kind]
    folder = run.databases.folder / f"pages-{kind}"
    spans: dict[str, dict[str, list[float]]] = {page: {"one": [], "many": []} for page in PAGES}
    visits: list[tuple[str, _Visit]] = []
    for which, count in (("one", 1), ("many", sizes.many_rows)):
        url = run.databases.new(kind)
        opened = await seed(url, folder / f"{which}-seed", count)
        run.tell(f"W1  {name}: {count:,} pending rows are there")
        server = await gateway(folder / which, url)
        link = await _link(folder / which / "assent.yaml", url, server.port)
        await server.start()
        visits.append((which, await _Visit.begun(server, link, opened[-1].path.rpartition("/")[2])))
    try:
        for turn in range(1, sizes.rounds + 1):
            for page, (which, visit) in itertools.product(PAGES, visits):
                spans[page][which] += await visit.look(page, seconds=sizes.seconds / len(PAGES))
            shown = ", ".join(f"{page} {milliseconds(percentile(spans[page]['many'], 0.5))}" for page in PAGES)
            run.tell(f"W1  {name}  round {turn} of {sizes.rounds}  {shown}")
    finally:
        for _, visit in visits:
            await visit.over()
    return [_row(page, name, sizes.many_rows, found["many"], found["one"]) for page, found in spans.items()]


def _row(page: str, name: str, rows: int, many: list[float], one: list[float]) -> Row:
    half, before = percentile(many, 0.5), percentile(one, 0.5)
    return Row(
        id="W1",
        title=f"the console's {page}, {rows:,} pending, {name}",
        measured=f"{milliseconds(half)} (p99 {milliseconds(percentile(many, 0.99))})",
        reference=f"with one {milliseconds(before)} (p99 {milliseconds(percentile(one, 0.99))})",
        ratio=times(half, before),
        must=(below(half, _WITHIN, "150 ms"),),
        stretch=(below(half, _WITHIN / 3, "50 ms"),),
        figures={"many": half, "one": before},
    )


async def _link(config: Path, url: str, port: int) -> str:
    """Have the gateway know its address and its auditor, and return a link that signs that person in."""
    config.write_text(f"url: http://127.0.0.1:{port}\nroles: {{admin: [{APPROVER}]}}\n{CONFIG}", encoding="utf-8")
    settings = Settings(database_url=url, secret=SECRET)  # pyright: ignore[reportArgumentType] - parsed by Pydantic
    async with Container(settings, config, {}, clock=SystemClock()) as container:
        return (await container.console.sessions.invite(ORG, APPROVER, by="cli")).url


class _Visit:
    """One person at the console."""

    def __init__(self, server: Gateway, client: httpx2.AsyncClient, request_id: str) -> None:
        self._server = server
        self._client = client
        self._request_id = request_id

    @classmethod
    async def begun(cls, server: Gateway, link: str, request_id: str) -> _Visit:
        origin = f"http://127.0.0.1:{server.port}"
        client = httpx2.AsyncClient(base_url=origin, timeout=60)
        form = {"t": link.partition("?t=")[2]}
        said = await client.post("/sign-in", data=form, headers={"origin": origin, "sec-fetch-site": "same-origin"})
        if said.status_code != 303:
            raise RuntimeError(f"nobody could sign in: {said.status_code}")
        visit = cls(server, client, request_id)
        for page in PAGES:  # statements compiled, templates read
            await visit.look(page, seconds=0)
        return visit

    async def look(self, page: str, *, seconds: float) -> list[float]:
        """Load a page again and again, at least once, and return how long each took."""
        taken: list[float] = []
        until = time.perf_counter() + seconds
        while not taken or (time.perf_counter() < until and len(taken) < _MOST):
            began = time.perf_counter()
            said = await self._client.get(PAGES[page].format(id=self._request_id))
            taken.append(time.perf_counter() - began)
            if said.status_code != 200:
                raise RuntimeError(f"{page}: {said.status_code}")
        return taken

    async def over(self) -> None:
        await self._client.aclose()
        self._server.stop()
