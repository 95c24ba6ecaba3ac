"""Which statements of a database end data for good, or give it away: those that name all of it, or what holds it."""

from __future__ import annotations

import itertools
import re

from assent.guards.statements.reading import OTHER_LANGUAGES, read_statement
from assent.shell.lists import listed

TRIAL = re.compile(
    r"(?:.{0,80}[-_./:@])?(?:tests?|testing|tmp|temp|dev|demo|scratch|sandbox|preview|ci|local|examples?|staging"
    r")(?:[-_./:\d].{0,80})?",
    re.IGNORECASE,
)
DATABASES = listed(
    "psql pgcli mysql mycli mariadb mongo mongosh sqlite3 litecli duckdb clickhouse-client clickhouse cqlsh usql sqlcmd isql "
    "tsql sqlplus cockroach snowsql snow bq beeline hive impala-shell presto trino spark-sql cypher-shell influx vertica vsql "
    "db2 osql mssql-cli iredis rqlite surreal edgedb gel arangosh questdb tdengine taos ysqlsh crash"
)
SPEAK_SQL = DATABASES - OTHER_LANGUAGES
_OBJECT = r"(?:if\s{1,5}exists\s{1,5})?[\"'`\[]?([\w.$-]{1,80}|\{\})"
_ENDS_DATA = re.compile(
    rf"\bdrop\s{{1,5}}(?:database|schema|keyspace|owned\s{{1,5}}by|tablespace|role|user|collection|bucket|measurement|warehouse|stream|publication|subscription|namespace|series|shard|share|catalog|login|extension|replica|server|storage|service)\s{{1,5}}{_OBJECT}"
    rf"|\bdrop\s{{1,5}}table\s{{1,5}}{_OBJECT}"
    rf"|(?:^|;)\s{{0,5}}truncate\s{{1,5}}(?:table\s{{1,5}})?{_OBJECT}"
    rf"|(?:^|;)\s{{0,5}}delete\s{{1,5}}from\s{{1,5}}{_OBJECT}[\"'`\]]?\s{{0,5}}(?:;|$|where\s{{1,5}}(?:1\s?=\s?1|true)\b)"
    rf"|\bupdate\s{{1,5}}{_OBJECT}\s{{1,5}}set\s{{1,5}}[^;]{{1,200}}where\s{{1,5}}(?:1\s?=\s?1|true)\b"
    r"|\bdrop\s{1,5}(?:table|database|schema)\s{1,5}(?:if\s{1,5}exists\s{1,5})?(?:['\"]\s{0,3}(?:\|\||,)|\{|%|\x00)"
    r"|\bpurge\s{1,5}(?:binary|master)\s{1,5}logs\b|\breset\s{1,5}(?:master|binary\s{1,5}logs)\b|\bpg_terminate_backend\s{0,3}\("
    r"|\balter\s{1,5}system\s{1,5}set\s{1,5}(?:archive_|fsync|full_page|shared_preload|session_preload|ssl|log_)"
    r"|\bset\s{1,5}global\s{1,5}\w{0,40}(?:log_file|_file|secure_)\b|\binto\s{1,5}(?:out|dump)file\s{1,5}['\"]/(?!tmp/)"
    r"|\balter\s{1,5}table\s{1,5}[\w.\"`]{1,80}\s{1,5}(?:delete\b|drop\s{1,5}partition\b)|\brevoke\s{1,5}[\w ,]{1,80}\s{1,5}on\b"
    r"|\bset\s{1,5}global\s{1,5}(?:super_)?read_only\b|\bpg_drop_\w{1,40}\s{0,3}\(|\bdelete\s{1,5}(?:noprompt|archivelog|backup)\b"
    r"|\bstop\s{1,5}(?:slave|replica)\b|\breset\s{1,5}(?:slave|replica)\b|\bshutdown\s{0,3}:\s{0,3}1|\bdropDatabase[\"']?\s{0,3}:\s{0,3}1|\bcreateUser\s{0,3}\([^)]{0,200}\broot\b"
    r"|\breassign\s{1,5}owned\b|\blo_unlink\s{0,3}\(|\bsp_msforeach(?:table|db)\b|(?:^|;)\s{0,5}shutdown(?:\s{1,5}(?:with\s{1,5}nowait|immediate|abort|fast|normal|transactional))?\s{0,5}(?:;|$)"
    rf"|\bdrop\s{{1,5}}(?:function|procedure|trigger|materialized\s{{1,5}}view|sequence|policy|constraint|column|event|job)\s{{1,5}}{_OBJECT}"
    rf"|\balter\s{{1,5}}table\s{{1,5}}{_OBJECT}[\"'`\]]?\s{{1,5}}(?:drop\b|disable\s{{1,5}}(?:trigger|row)|no\s{{1,5}}force)"
    r"|\balter\s{1,5}(?:role|user|login)\s{1,5}[^;]{1,80}\b(?:password|superuser|identified|createrole|disable|nologin|account\s{1,5}lock)\b|\bset\s{1,5}password\b"
    r"|\bvacuum\s{1,5}\(?full\b|\breindex\s{1,5}(?:database|system|schema)\b|\bflush\s{1,5}tables\b|(?:^|;)\s{0,5}kill\s{1,5}(?:query\s|connection\s)?\s{0,5}\d"
    r"|\brename\s{1,5}table\b|\bpg_sleep\s{0,3}\(\s{0,3}\d{3}|\bfsyncLock\s{0,3}\(|\bupdateMany\s{0,3}\(\s{0,3}\{\s{0,3}\}|\balter\s{1,5}database\b[^;]{1,120}\b(?:offline|single_user|read_only|connection\s{1,5}limit)\b"
    r"|\bshutdownServer\s{0,3}\(|\b(?:to|from)\s{1,5}program\s{1,5}'|\bxp_cmdshell\b|\blo_(?:ex|im)port\s{0,3}\(|\bsys_(?:exec|eval)\s{0,3}\("
    r"|\b_?drop(?:Database|User|Role|AllUsers\w{0,20}|AllRoles\w{0,20})\s{0,3}\(|\brs\.(?:remove|stepDown|reconfig)\s{0,3}\(|\b_drop\w{0,20}\s{0,3}\(|\.(?:drop|removeShard|removeUser)\w{0,30}\s{0,3}\(|\b(?:deleteMany|remove)\s{0,3}\(\s{0,3}\{\s{0,3}\}|\bDETACH\s{1,5}DELETE\b",
    re.IGNORECASE,
)
_NAME = rf"(?:only )?{_OBJECT}[\"`\]]?(?:\.[\"`\[]?\w{{1,80}}[\"`\]]?)?(?: (?:as )?(?!where\b|using\b|set\b|order\b|limit\b|returning\b|or\b)\w{{1,40}})?"
_STOP = r" ?(?:;|\)|$|\breturning\b)"


def _always(number: int) -> str:
    """Return a pattern of what is true of each row."""
    return (
        rf"\(?(?:not false|true\b|1\b(?! ?[=<>])|\d{{1,9}} ?(?:[<>]?=|[<>]|<>|!=) ?\d{{1,9}}|'' ?= ?''|(?P<same{number}>[\w.\"`]{{1,60}}) ?= ?(?P=same{number})(?![\w.])"
        r"|[\w.\"`]{0,60}\bid\"?`? (?:is not null|(?:>|>=|<>|!=) ?-?[01]\b)|[\w.\"`]{0,60}id\"?`? (?:is not null|(?:>|>=) ?-?[01]\b))\)?"
    )


_ALL_ROWS = re.compile(
    rf"\bdelete (?:[\w.]{{1,80}}(?:\.\*)? )?from {_NAME}(?:{_STOP}| where (?:[^;]{{1,300}} or )?{_always(1)}(?:{_STOP}| or\b))"
    rf"|\bupdate {_NAME} set\b[^;]{{1,300}}? where (?:[^;]{{1,300}} or )?{_always(2)}(?:{_STOP}| or\b)"
    rf"|(?:^|;) ?delete (?!from\b){_NAME}{_STOP}|\bthen delete\b"
    rf"|(?:^|;|\b(?:begin|then|else|loop|do|as)\b) ?truncate (?:table )?{_NAME}"
    r"|\bgrant (?:\w{1,60} ?, ?){0,5}(?:postgres|root|admin\w{0,20}|\w{0,40}superuser|dba|sysadmin|sysdba|db_owner|pg_(?:execute|read|write|checkpoint)\w{0,40}) to ",
    re.IGNORECASE,
)
_EACH = rf"update {_NAME} set\b(?:(?!\bwhere\b)[^;]){{1,300}}(?:;|$)"
_CHANGES_ALL = re.compile(rf"(?:^|;) ?{_EACH}", re.IGNORECASE)
_CHANGES_ALL_WITHIN = re.compile(rf"\b{_EACH}", re.IGNORECASE)
"""Every row is changed, also by what a longer statement begins with."""
_IN_FILES = frozenset({"sqlite3", "litecli", "duckdb"})
"""A file of one's own often has but one row."""
_CALLED = re.compile(
    r"\b(?:execute(?:many|script|RawUnsafe|Update|Query)?|query|exec|do|prepare|statement|unprepared|exec_driver_sql|raw|run|text|sql|unsafe)"
    r"\s{0,3}\(\s{0,3}[frbu]{0,2}(?P<quote>\"{3}|'{3}|[\"'`])(?P<text>(?:(?!(?P=quote)).){4,1000}+)(?P=quote)",
    re.DOTALL,
)
"""A text that code gives to a database."""
_TRIED = re.compile(
    r":memory:|\b(?:connect|open|Database|new)\w{0,20}\s{0,3}\([^()]{0,200}\b(?:test|tmp|temp|dev|demo|scratch)",
    re.IGNORECASE,
)
_LONGEST = 20_000


def ends_data(text: str, program: str) -> str:
    """Return the statement of the text that ends data for good, but for what is for trying; "" where none does."""
    speaks_sql = program in SPEAK_SQL
    statement = read_statement(text[:_LONGEST], program if speaks_sql else "redis-cli")
    found = [_ENDS_DATA.finditer(statement.said)]
    if speaks_sql:
        found.append(_ALL_ROWS.finditer(statement.code))
    if program not in _IN_FILES:
        found.append(_CHANGES_ALL.finditer(statement.said))
    if speaks_sql and program not in _IN_FILES:
        found.append(_CHANGES_ALL_WITHIN.finditer(statement.code))
    for each in itertools.chain.from_iterable(found):
        named = next((name for name in each.groups() if name), "")
        if not (named and (TRIAL.fullmatch(named) or len(named) == 1 or _made_anew(named, statement.said))):
            return each[0].strip()
    return ""


def ended_by_code(code: str) -> str:
    """Return the statement that ends data for good among those that code in some language gives to a database."""
    if _TRIED.search(code[:_LONGEST]):
        return ""
    return next(filter(None, (ends_data(found["text"], "psql") for found in _CALLED.finditer(code[:_LONGEST]))), "")


def _made_anew(name: str, text: str) -> bool:
    """Whether the same text makes the table that it drops, as what sets up a schema does."""
    return (
        re.search(rf"\bcreate (?:table|temp\w{{0,5}})\b[^;]{{0,60}}{re.escape(name)}", text, re.IGNORECASE) is not None
    )
