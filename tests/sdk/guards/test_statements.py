"""Statements of databases: read as their programs read them, and asked about where they end all of something."""

from __future__ import annotations

import pytest

from assent.guards.statements.reading import read_statement
from tests.requirements import requirement
from tests.sdk.guards.test_evasions import let_through


@requirement("S-70")
@pytest.mark.parametrize(
    "statement",
    [
        "DROP/**/DATABASE app",
        "drop -- a comment\n database app",
        "drop          table users",
        "with gone as (delete from users returning id) select 1",
        "explain analyze delete from users",
        "explain (analyze, buffers) delete from only public.users",
        "do $$ begin delete from users; end $$",
        "do $x$ begin execute 'drop ' || 'table users'; end $x$",
        "delete from users where id = id",
        "delete from users where '1'='1'",
        "delete from users where name = 'x' or 1=1",
        "delete from users where id > 0",
        "with x as (select 1) update users set admin = true",
        "grant postgres to app",
        "do 'begin delete from users; end'",
        "create function f() returns void as $$ delete from users $$ language sql; select f()",
        "delete from users where 2 > 1",
        "merge into users using x on true when matched then delete",
        "delete users",
    ],
)
async def test_a_statement_that_ends_all_is_asked_about_however_it_is_written(statement: str) -> None:
    quoted = statement.replace("$", "\\$")
    assert await let_through([f'psql app -c "{quoted}"', f"psql app <<'EOF'\n{statement}\nEOF"]) == []


@requirement("S-70")
async def test_a_comment_that_mysql_runs_is_read_and_one_that_it_skips_is_not() -> None:
    held = [
        "drop /*!50000 table*/ users",
        "/*! drop */ /*! table */ users",
        "drop#x\ntable users",
        "delete from a.b -- x",
    ]
    assert await let_through([f"mysql app -e '{statement}'" for statement in held]) == []
    left = ["select 1 # drop table users", "select 1 -- drop table users", "/* drop table users */ select 1"]
    assert await let_through(ways := [f"mysql app -e '{statement}'" for statement in left]) == ways


@requirement("S-70")
@pytest.mark.parametrize(
    "statement",
    [
        "-- drop table users\nselect 1",
        "/* delete from users */ select 1",
        "select 'delete from users' as example",
        "select 'begin truncate users'",
        "do $$ begin raise notice 'delete from users'; end $$",
        "insert into notes values ($$delete from users$$)",
        "with old as (select id from users) delete from users where id in (select id from old)",
        "delete from users where name = 'x' and id > 0",
        "insert into users values (1) on conflict (id) do update set name = 'x'",
        "update users set name = 'where' where id = 5",
    ],
)
async def test_what_is_said_or_chosen_in_a_statement_is_left_alone(statement: str) -> None:
    ways = [f"psql app <<'EOF'\n{statement}\nEOF"]
    assert await let_through(ways) == ways


@requirement("S-70")
async def test_statements_in_a_file_that_the_text_writes_are_read() -> None:
    held = [
        "psql app -f <(echo 'drop table users')",
        "echo 'drop table users' > x.sql; psql app -f x.sql",
        "echo 'drop table users' > x.sql; sqlite3 app.db '.read x.sql'",
        "sqlplus a/b@c @<(echo 'drop table users;')",
    ]
    assert await let_through(held) == []
    left = ["echo 'select 1' > x.sql; psql app -f x.sql", "echo 'drop table users' > x.sql; psql app -f y.sql"]
    assert await let_through(left) == left


@requirement("S-70")
async def test_statements_that_code_hands_to_a_database_are_read() -> None:
    held = [
        "python3 -c \"import sqlite3; sqlite3.connect('app.db').execute('delete from users')\"",
        "node -e 'new Client().query(\"drop table users\")'",
        'perl -MDBI -e \'DBI->connect("x")->do("truncate users")\'',
    ]
    assert await let_through(held) == []
    left = [
        "python3 -c \"import sqlite3; sqlite3.connect(':memory:').execute('drop table users')\"",
        "python3 -c \"import sqlite3; sqlite3.connect('app.db').execute('delete from users where id=?', (1,))\"",
        "node -e 'console.log(\"drop table users\")'",
    ]
    assert await let_through(left) == left


def test_each_character_is_read_in_one_way() -> None:
    assert read_statement("select '--' -- '\n; x", "psql").said == "select '--' ; x"
    assert read_statement("select '--', 'a''b'", "psql").code == "select '', ''''"
    assert read_statement(r"select '\' -- '; x", "psql").said == r"select '\' "
    assert read_statement(r"select '\' -- '; x", "mysql").code == "select ''; x"
    assert read_statement("select e'\\'' -- y", "psql").code.strip() == "select e''"
    assert read_statement("a 'never closed -- x", "psql").code == "a 'never closed -- x"
    assert read_statement("db.x.drop() -- y", "mongosh").code == "db.x.drop() -- y"
