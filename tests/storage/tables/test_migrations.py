"""A database can be brought up, down and up again, and is then exactly what the code believes it to be."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.storage.requests.known import ALWAYS_SEALED
from app.storage.tables.guards import cut_statements, removal_statements, statements
from app.storage.tables.tables import ORG_TABLES, metadata, whole_metadata
from migrations import run
from migrations.state import NEWEST, engine_of, find_present
from tests.requirements import requirement
from tests.storage.rig import behind, look
from tests.storage.tables.only_adds import look_at, taken_away

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' "
    "AND name <> 'alembic_version' ORDER BY 1, 2",
    "postgresql": "SELECT c.relkind::text, c.relname::text, c.relrowsecurity AND c.relforcerowsecurity FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname <> 'alembic_version' "
    "AND c.relname <> 'alembic_version_pkc' "
    "UNION ALL SELECT 'trigger', tgname::text, true FROM pg_trigger WHERE NOT tgisinternal "
    "UNION ALL SELECT 'function', proname::text, true FROM pg_proc WHERE proname LIKE 'assent%' "
    "UNION ALL SELECT 'policy', tablename::text, true FROM pg_policies ORDER BY 1, 2",
}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a database with nothing in it."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with request.getfixturevalue("postgres_template").clone(migrated=False) as url:
        yield url


def schema(url: str) -> list[tuple[object, ...]]:
    """Return what the database says of itself; SQLite's constraints stand in no order that means anything."""
    rows = look(url, _NAMES[sa.make_url(url).get_backend_name()])
    return [(kind, name, *map(_in_order, more)) for kind, name, *more in rows]


def _in_order(part: object) -> object:
    return sorted(line.strip().rstrip(",") for line in part.splitlines()) if isinstance(part, str) else part


def _other_default(*arguments: object) -> bool:
    """Compare defaults without their quotes: SQLite tells an empty text's, and the metadata has none."""
    told, meant = (str(default or "").removesuffix("::text").strip("'()") for default in arguments[3:6:2])
    return told != meant


def differences(url: str) -> list[object]:
    """Let Alembic compare the database with the tables in the code, types and defaults included."""
    engine = engine_of(url)
    with closing(engine.connect()) as connection:
        options = {"compare_type": True, "compare_server_default": _other_default}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), whole_metadata())
    engine.dispose()
    return list(found)


def test_the_newest_schema_is_what_the_code_believes(database_url: str) -> None:
    assert differences(database_url) == []
    present, newest = find_present(database_url), NEWEST
    assert present == newest is not None


@pytest.mark.heavy
def test_up_down_and_up_again_leaves_nothing_out(empty_url: str) -> None:
    assert schema(empty_url) == []
    run.upgrade(empty_url)
    first = schema(empty_url)
    assert first
    run.downgrade(empty_url, "base")
    assert schema(empty_url) == []
    assert find_present(empty_url) is None
    run.upgrade(empty_url)
    assert schema(empty_url) == first
    assert differences(empty_url) == []


def test_going_up_twice_changes_nothing(database_url: str) -> None:
    before = schema(database_url)
    run.upgrade(database_url)
    assert schema(database_url) == before


@pytest.mark.postgres
def test_every_table_with_an_org_is_fenced_even_against_its_owner(postgres_url: str) -> None:
    rows = schema(postgres_url)
    assert {name for kind, name, _ in rows if kind == "policy"} == set(ORG_TABLES)
    assert {name for kind, name, fenced in rows if kind == "r" and fenced} == set(ORG_TABLES)
    assert {table.name for table in metadata.sorted_tables if "org" in table.columns} == set(ORG_TABLES)


def test_the_guards_are_in_place(database_url: str) -> None:
    dialect = sa.make_url(database_url).get_backend_name()
    wanted = {
        word
        for statement in (*statements(dialect), *removal_statements(dialect), *cut_statements(dialect))
        if statement.startswith("CREATE TRIGGER")
        for word in [statement.split()[2]]
    }
    assert wanted
    assert {name for kind, name, _ in schema(database_url) if kind == "trigger"} == wanted


def test_the_newest_schema_is_the_last_migration() -> None:
    script = Path(run.__file__).parent
    assert ScriptDirectory(str(script)).get_current_head() == NEWEST


# --- beside gateways of the release before ----------------------------------------------------------------------------

BEFORE_RELEASES = "0019"
"""The last step of before the first release: from the next one on two releases stand side by side."""

CONTRACTED: dict[str, list[str]] = {}
"""What a step takes away, in the words of `taken_away`: only what the release before it has no use for any more."""


THE_NEWEST = pytest.mark.parametrize(
    "newest",
    [
        pytest.param(3, marks=pytest.mark.heavy),
        pytest.param(None, marks=[pytest.mark.heavy, pytest.mark.whole], id="all"),
    ],
)
"""`make test` looks at the steps that a change may have brought, the last ring at each there is."""


@requirement("F-43")
@THE_NEWEST
def test_a_step_only_adds_so_that_gateways_of_the_release_before_go_on(empty_url: str, newest: int | None) -> None:
    released = [each for each in run.known() if each > BEFORE_RELEASES]
    steps = released[-newest:] if newest else released
    run.bring(empty_url, run.known()[-len(steps) - 1])
    before = look_at(empty_url)
    assert before.binds
    for step in steps:
        run.bring(empty_url, step)
        after = look_at(empty_url)
        assert taken_away(before, after) == CONTRACTED.get(step, []), step
        before = after


@requirement("F-43")
@pytest.mark.parametrize(
    ("statements_of_a_step", "fault"),
    [
        (("ALTER TABLE counters RENAME TO counts",), "counters.org is gone"),
        (("ALTER TABLE api_keys DROP COLUMN label",), "api_keys.label is gone"),
        (("CREATE UNIQUE INDEX ix ON api_keys (label)",), "api_keys: rows are refused that were not: unique label"),
        (("ALTER TABLE api_keys ADD COLUMN x TEXT CHECK (x <> label)",), "refused that were not: check x <> label"),
        (("ALTER TABLE api_keys ADD COLUMN x TEXT", "CREATE INDEX ix ON api_keys (x)"), None),
        (("ALTER TABLE api_keys ADD COLUMN x TEXT NOT NULL DEFAULT ''", "CREATE TABLE y (z TEXT NOT NULL)"), None),
    ],
)
@pytest.mark.sampled(3)
def test_a_step_that_takes_something_away_is_named(
    sqlite_url: str, statements_of_a_step: tuple[str, ...], fault: str | None
) -> None:
    before = look_at(sqlite_url)
    with behind(sqlite_url) as owner:
        for statement in statements_of_a_step:
            owner.execute(statement)
    found = taken_away(before, look_at(sqlite_url))
    assert found == [] if fault is None else any(fault in each for each in found), found


@requirement("F-43")
@pytest.mark.postgres
@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("ALTER TABLE api_keys ALTER COLUMN agent SET NOT NULL", "api_keys.agent was allowed to be left out or empty"),
        ("ALTER TABLE api_keys ADD COLUMN x TEXT NOT NULL", "api_keys.x is new, and rows without it are refused"),
        ("ALTER TABLE api_keys ALTER COLUMN label TYPE VARCHAR(40)", "api_keys.label was TEXT, and is VARCHAR(40)"),
    ],
)
def test_a_column_that_becomes_stricter_is_named(postgres_url: str, statement: str, fault: str) -> None:
    before = look_at(postgres_url)
    with behind(postgres_url) as owner:
        owner.execute(statement)
    assert taken_away(before, look_at(postgres_url)) == [fault]


# --- several at once, back, and elsewhere -----------------------------------------------------------------------------


@requirement("F-43")
def test_of_two_migrations_at_once_one_waits_and_then_finds_it_done(empty_url: str) -> None:
    told: list[list[str]] = [[], []]
    first_step = threading.Event()
    may_go_on = threading.Event()

    def hear(line: str) -> None:
        told[0].append(line)
        first_step.set()
        assert may_go_on.wait(30)

    waits = threading.Event()

    def hear_second(line: str) -> None:
        told[1].append(line)
        waits.set()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run.bring, empty_url, told=hear)
        assert first_step.wait(30)
        second = pool.submit(run.bring, empty_url, told=hear_second)
        assert waits.wait(30)
        assert not second.done()
        may_go_on.set()
        for each in (first, second):
            each.result(60)
    assert len(told[0]) == len(run.known())
    assert told[1] == ["another migration is under way: waiting for it"]
    assert differences(empty_url) == []


@requirement("F-43")
def test_it_goes_where_it_is_told_or_says_why_not(database_url: str) -> None:
    [*_, before, newest] = run.known()
    with pytest.raises(run.RefusedError, match=f"going back to {before} drops what {newest} to {newest}"):
        run.bring(database_url, before)
    with pytest.raises(run.RefusedError, match=f"0000 is no revision of this release: it has 0001 to {newest}"):
        run.bring(database_url, "0000")
    assert find_present(database_url) == newest
    run.bring(database_url, before, may_lose=True)
    assert find_present(database_url) == before
    run.bring(database_url, before)
    assert find_present(database_url) == before
    run.bring(database_url)
    assert differences(database_url) == []
    with behind(database_url) as owner:
        owner.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(run.RefusedError, match="at 9999, and this release knows"):
        run.bring(database_url)


@requirement("F-43", "F-39")
@THE_NEWEST
def test_a_step_that_dies_in_the_middle_leaves_the_one_before_and_is_run_again(
    empty_url: str, newest: int | None
) -> None:
    """At every step: what it did is gone with it, on SQLite too, and the next migration goes on from there."""

    class KilledError(Exception):
        pass

    steps = run.known()[-newest:] if newest else run.known()
    if newest:
        run.bring(empty_url, run.known()[-newest - 1])
    for step in steps:
        present = find_present(empty_url)
        before = schema(empty_url)

        def die(line: str, step: str = step) -> None:
            assert line.startswith(f"to {step}: ")
            raise KilledError

        with pytest.raises(KilledError):
            run.bring(empty_url, step, told=die)
        assert find_present(empty_url) == present
        assert schema(empty_url) == before
        run.bring(empty_url, step)
        assert find_present(empty_url) == step
    assert differences(empty_url) == []


def test_a_seal_covers_without_condition_only_what_was_there_when_seals_came(empty_url: str) -> None:
    run.upgrade(empty_url, "0007")
    engine = engine_of(empty_url)
    with closing(engine.connect()) as connection:
        inspector = sa.inspect(connection)
        there = {table: {column["name"] for column in inspector.get_columns(table)} for table in ALWAYS_SEALED}
    engine.dispose()
    younger = {table: set(names) - there[table] for table, names in ALWAYS_SEALED.items()}
    assert not any(younger.values()), f"what was sealed before these were there would be taken for forged: {younger}"
