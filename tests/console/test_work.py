"""What a page costs is counted in work, not in time: it is the same with thousands of requests as with hundreds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import psycopg
import pytest
from sqlalchemy.dialects import postgresql, sqlite

from app.domain.request.request import Risk
from app.domain.rules.spending import Per
from app.storage.engine import transaction
from app.storage.make_store import dialect_for
from app.storage.payments import budget_use
from app.storage.searching import count_pulse, find_requests
from app.usecases.console import inbox
from tests.console.signed_in import Home
from tests.console.test_inbox import copies, plan_of
from tests.fixtures.review_visits import URL, with_url
from tests.fixtures.second_factors import ALICE
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path
    from typing import LiteralString

    from tests.fixtures.gateway import Gateway

WINDOW = 100


@pytest.fixture
def config(config: Path) -> Path:
    path = config / "acme.yaml"
    text = path.read_text().replace("org: acme\n", f"org: acme\nroles: {{admin: [{ALICE}]}}\n")
    path.write_text(text.replace("owners: [olga@acme.example]", "owners: [bob@acme.example]"))
    return with_url(config)


async def selects_of(home: Home, path: str) -> list[tuple[str, dict[str, object]]]:
    """Return the selects that a page asks, as the database gets them."""
    asked: list[tuple[str, dict[str, object]]] = []
    dialect = dialect_for(home.gateway.url, home.gateway.clock)

    def kept(name: str) -> Any:
        asking = getattr(transaction.Tx, name)

        def ask(tx: Any, statement: Any, **parameters: object) -> Any:
            text, values = statement.bound(dialect, parameters)
            asked.append((text, dict(values)))
            return asking(tx, statement, **parameters)

        return ask

    with pytest.MonkeyPatch.context() as patch:
        for name in ("all", "one"):
            patch.setattr(transaction.Tx, name, kept(name))
        page = await home.get(path)
    assert page.status_code == 200, page.text
    return [(text, values) for text, values in asked if text.lstrip().startswith(("SELECT", "WITH"))]


def work_of(url: str, selects: list[tuple[str, dict[str, object]]]) -> dict[str, int]:
    """Say how much a database does for each select: the steps of SQLite's machine, the rows that PostgreSQL reads."""
    work: dict[str, int] = dict.fromkeys((text for text, _ in selects), 0)
    if url.startswith("sqlite"):
        steps = [0]
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.set_progress_handler(lambda: steps.__setitem__(0, steps[0] + 1), 1)
            for text, values in selects:
                before = steps[0]
                connection.execute(text, values).fetchall()
                work[text] += steps[0] - before
        return work
    with closing(psycopg.connect(url)) as connection:
        connection.execute("SET assent.org = '*'")
        connection.execute("ANALYZE")  # as its own upkeep does; and as if its tables were large:
        for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "sort"):
            connection.execute(cast("LiteralString", f"SET enable_{way} = off"))
        for text, values in selects:
            if "FOR UPDATE" not in text:
                explained = cast("LiteralString", f"EXPLAIN (ANALYZE, FORMAT JSON) {text}")
                plan = connection.execute(explained, values).fetchone()
                assert plan is not None
                work[text] += _read_in(plan[0][0]["Plan"])
    return work


def _read_in(node: dict[str, Any]) -> int:
    """Return the rows that a plan's scans read, with those that they read for nothing."""
    own = 0
    if "Scan" in node["Node Type"]:
        read = node["Actual Rows"] + sum(value for name, value in node.items() if name.startswith("Rows Removed"))
        own = int(read * node["Actual Loops"])
    return own + sum(_read_in(each) for each in node.get("Plans", ()))


@pytest.mark.heavy
@requirement("F-38")
async def test_no_page_does_more_however_much_waits_or_was_asked(
    either_gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = either_gateway
    monkeypatch.setattr(inbox, "WALKED", WINDOW)
    monkeypatch.setattr(inbox, "_STEP", WINDOW)
    monkeypatch.setattr(find_requests, "WINDOW", WINDOW)
    mine = await gateway.ask("by_api", {"n": 1})
    theirs = await gateway.ask("owned", {"n": 1})
    for number in range(3):
        await gateway.decide(await gateway.ask("by_api", {"n": f"decided {number}"}))
    home = await Home.of(gateway, origin=URL)
    pages = ("/", "/?list=decide", f"/r/{mine['id']}", f"/console/requests/{mine['id']}", "/console/trail")  # fmt: skip
    if gateway.url.startswith("sqlite"):  # PostgreSQL weighs what is beside a request, and its tables are small here
        pages += ("/console/trail?payee=nobody", "/console/trail?text=nothing", "/console/trail?saved=unknown")

    async def work() -> dict[str, dict[str, int]]:
        return {page: work_of(gateway.url, await selects_of(home, page)) for page in pages}

    await copies(gateway, mine, 2 * WINDOW)
    await copies(gateway, theirs, WINDOW)
    few = await work()
    await copies(gateway, mine, 6 * WINDOW)
    await copies(gateway, theirs, 2 * WINDOW, risk=Risk.HIGH)
    many = await work()
    for page in pages:
        assert sum(many[page].values()) <= 1.3 * sum(few[page].values()) + 200, page
        for select, steps in many[page].items():  # one that reads more is not hidden by another that read too much
            assert steps <= 1.3 * few[page].get(select, 0) + 200, (page, select, few[page].get(select), steps)


@requirement("F-38")
async def test_what_the_pulse_counts_stands_in_indexes_and_no_request_is_read_for_it(
    either_gateway: Gateway, unused_url: str
) -> None:
    gateway = either_gateway
    await gateway.ask("by_api", {"n": 1})
    home = await Home.of(gateway, origin=URL)
    selects = await selects_of(home, "/console/pulse")
    assert len(selects) <= 24
    dialect: Any = (sqlite if gateway.url.startswith("sqlite") else postgresql).dialect()
    values = {"for_org": "acme", "since": 1, "until": 9, "state": "pending"}
    for index, statement, alone in (
        ("ix_requests_states", count_pulse._COUNTED, True),
        ("ix_requests_states", count_pulse._DAY, True),
        ("ix_requests_decided", count_pulse._DECIDED, False),
        ("ix_requests_decided", count_pulse._VOTES, False),
        ("ix_deliveries_undeliverable", count_pulse._UNDELIVERED, False),
        ("ix_spends_org", budget_use._used(Per.AGENT, unasked_only=False), False),
        ("ix_audit_events_request", _of_request(), False),
    ):
        named = statement._construct.params(**values, of_request="req_1")
        text = str(named.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        plan = plan_of(unused_url, text)
        assert index in plan, plan
        if alone:
            assert "COVERING INDEX" in plan or "Index Only Scan" in plan, plan


def _of_request() -> Any:
    from app.storage.trail import audit_chain

    return audit_chain._OF_REQUEST


async def test_undelivered_cards_of_what_is_over_are_not_counted(gateway: Gateway) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    await gateway.advance(timedelta(minutes=1))
    found = await gateway.container.store.read(count_pulse.count_undelivered, org="acme")
    assert found == 0
    assert (await gateway.container.store.read(count_pulse.count_waiting, org="acme"))[0] == 1
    await gateway.decide(request)
    assert (await gateway.container.store.read(count_pulse.count_waiting, org="acme"))[0] == 0
