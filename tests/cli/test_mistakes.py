"""Everyday mistakes: the real command names the fault and the mend, in time, and without anybody's traceback."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sqlite3
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from app.domain.rules.condition import BadConditionError, compile_condition
from tests.durability.place import place
from tests.fixtures import forked
from tests.fixtures.patience import HANGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLAIN = """\
org: acme
default: ask
people:
  alice@acme.example: {}
groups:
  finance: [alice@acme.example]
tools:
  pay: {pin: [amount]}
ask: {stages: [{of: [finance]}], channels: [api]}
rules:
  - {id: small, tools: [pay], when: WHEN, then: allow}
"""
SLACK = """\
channels:
  team: {type: slack, bot_token: "${BOT}", app_token: "${APP}", channel: C0PAY0001, receive: socket,
         api_url: "URL", own_host: true}
"""
FEISHU = """\
channels:
  team: {type: feishu, app_id: cli_a1, app_secret: "${BOT}", chat: oc_a1, receive: websocket,
         domain: "URL", own_host: true}
"""
CONFIGURED = {"migrate", "backup", "secret", "requests", "pause", "init"}
"""Commands that take no -c."""


@dataclass(slots=True)
class Bench:
    """A folder with a configuration and a database, and what commands find in their environment."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])
    cleanup: ExitStack = field(default_factory=ExitStack)

    def file(self, text: str = PLAIN, *, when: str = "args.amount < 10") -> None:
        (self.folder / "assent.yaml").write_text(text.replace("WHEN", when))

    def run(self, *words: str) -> tuple[int, str]:
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.environ}
        done = forked.run("app.cli.main", *words, env=environ, cwd=self.folder, timeout=HANGS)
        return done.returncode, done.stdout + done.stderr

    @property
    def database(self) -> Path:
        return self.folder / "assent.db"

    def rows(self, statement: str) -> None:
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(statement)

    def listener(self, *, answers: bytes = b"") -> int:
        """Listen and take nothing, or answer everybody the same."""
        door = self.cleanup.enter_context(socket.socket())
        door.bind(("127.0.0.1", 0))
        door.listen(16)
        if answers:
            self.cleanup.enter_context(_answering(door, answers))
        return int(door.getsockname()[1])


@contextmanager
def _answering(door: socket.socket, answer: bytes) -> Iterator[None]:
    over = threading.Event()

    def serve() -> None:
        door.settimeout(0.05)
        while not over.is_set():
            try:
                caller, _ = door.accept()
            except TimeoutError:
                continue
            with caller:
                caller.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.fixture
def bench(tmp_path: Path, sqlite_url: str) -> Iterator[Bench]:
    made = Bench(tmp_path)
    made.environ = {"ASSENT_SECRET": "k" * 40, "ASSENT_DATABASE_URL": sqlite_url}
    made.environ |= {"BOT": "xoxb-0123456789", "APP": "xapp-0123456789"}
    made.file()
    path = sqlite_url.removeprefix("sqlite:///")
    if path != str(made.database):
        made.database.symlink_to(path)
    with made.cleanup:
        yield made


@dataclass(frozen=True, slots=True)
class Mistake:
    """What somebody does, and what they are told: every text of `said`."""

    name: str
    words: str
    said: tuple[str, ...]
    make: Callable[[Bench], object] = lambda _: None
    code: int = 2


def env(**given: str) -> Callable[[Bench], object]:
    return lambda bench: bench.environ.update(given)


def unset(name: str) -> Callable[[Bench], object]:
    return lambda bench: bench.environ.pop(name)


def write(text: str) -> Callable[[Bench], object]:
    return lambda bench: bench.file(text)


def database(url: str) -> Callable[[Bench], object]:
    """Name another one; FOLDER is the bench's."""
    return lambda bench: bench.environ.update(ASSENT_DATABASE_URL=url.replace("FOLDER", str(bench.folder)))


def held(bench: Bench) -> None:
    """Hold the whole file, as a forgotten shell does in the middle of a transaction."""
    connection = bench.cleanup.enter_context(closing(sqlite3.connect(bench.database, isolation_level=None)))
    connection.execute("BEGIN EXCLUSIVE")


def written_to(bench: Bench) -> None:
    """Write to a file that no gateway has opened yet, and do not come to an end."""
    connection = bench.cleanup.enter_context(closing(sqlite3.connect(bench.database, isolation_level=None)))
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.execute("BEGIN IMMEDIATE")


def schema(revision: str) -> Callable[[Bench], object]:
    return lambda bench: bench.rows(f"UPDATE alembic_version SET version_num = {revision}")


def no_database(bench: Bench) -> None:
    (bench.folder / "text.db").write_text("this is no database at all" * 100)
    bench.environ["ASSENT_DATABASE_URL"] = f"sqlite:///{bench.folder}/text.db"


def port_taken(bench: Bench) -> None:
    bench.environ["ASSENT_PORT"] = str(bench.listener())


def port_of_url_taken(bench: Bench) -> None:
    port_taken(bench)
    bench.file(f"url: http://localhost:{bench.environ['ASSENT_PORT']}\n{PLAIN}")


def gateway_at(url: str) -> Callable[[Bench], object]:
    def make(bench: Bench) -> None:
        port = str(bench.listener(answers=b"SSH-2.0-OpenSSH_9.9\r\n")) if "PORT" in url else ""
        bench.environ |= {"ASSENT_KEY": "ak_aaaa_bbbb_cccccc", "ASSENT_URL": url.replace("PORT", port)}

    return make


def platform(section: str, url: str, *, answers: bytes = b"") -> Callable[[Bench], object]:
    def make(bench: Bench) -> None:
        port = str(bench.listener(answers=answers)) if "PORT" in url else ""
        bench.file(PLAIN + section.replace("URL", url.replace("PORT", port)))

    return make


SERVE = "serve -c assent.yaml --port 0"
LIST = "keys list -c assent.yaml"
CHECK = "config check -c assent.yaml"
DOCTOR = "doctor -c assent.yaml"
NO_SCHEMA = ("the table alembic_version says no revision", "put the row back that was there")
TWO = "INSERT INTO alembic_version VALUES ('0002')"
HELD = ("database is locked", "assent.db is held by process ", "end it, or wait until it is done")
MISTAKES = [
    Mistake("no file", "serve -c nothing.yaml", ("nothing.yaml:1: cannot be read", "-c", "`assent init` write one")),
    Mistake("no cases", "policy test nope.yaml -c assent.yaml",
            ("nope.yaml:1: cannot be read: No such file or directory; name the file of cases, or write one (docs/",)),
    Mistake("latin-1", CHECK, ("is not UTF-8 at byte", "save it as UTF-8"),
            lambda bench: (bench.folder / "assent.yaml").write_bytes(PLAIN.replace("acme", "m\xfc").encode("latin-1"))),
    Mistake("tab", CHECK, ("assent.yaml:8: not YAML: a tab stands where only spaces may", "indent with spaces"),
            write(PLAIN.replace("  pay:", "\tpay:"))),
    Mistake("misspelt variable", CHECK, ("assent.yaml:13: channels.team.bot_token", "BOTT is not set"),
            write(PLAIN.replace("WHEN", "args.amount < 1") + SLACK.replace("${BOT}", "${BOTT}"))),
    Mistake("secret in the file", CHECK, ("a secret may not stand in this file", 'write bot_token: "${NAME}"'),
            write(PLAIN.replace("WHEN", "args.amount < 1") + SLACK.replace("${BOT}", "xoxb-0123456789"))),
    Mistake("no secret", SERVE, ("ASSENT_SECRET: is not set", 'export ASSENT_SECRET="$(assent secret)"', "./.env"),
            unset("ASSENT_SECRET")),
    Mistake("short secret", DOCTOR, ("ASSENT_SECRET: needs at least 32 characters", "$(assent secret)"),
            env(ASSENT_SECRET="abc"), code=1),
    Mistake("port in words", SERVE, ("ASSENT_PORT: is no whole number", "docs/operations.md#settings"),
            env(ASSENT_PORT="http")),
    Mistake("postgres://", LIST, ("ASSENT_DATABASE_URL: is sqlite:///FILE or", "write sqlite:////folder/assent.db or"),
            database("postgres://a@b/c")),
    Mistake("no folder", "migrate", ("unable to open database file", "make the folder ", "/nowhere"),
            database("sqlite:///FOLDER/nowhere/a.db")),
    Mistake("no folder, serving", f"{SERVE} --migrate", ("a.db.lock cannot be opened", "make the folder "),
            database("sqlite:///FOLDER/nowhere/a.db")),
    Mistake("unwritable folder", "migrate", ("unable to open database file", "let this account read and write /proc/"),
            database("sqlite:////proc/a.db")),
    Mistake("no database", LIST, ("file is not a database", "is no sound SQLite file", "restore a backup"),
            no_database),
    Mistake("held, listing", LIST, HELD, held),
    Mistake("held, migrating", "migrate", HELD, held),
    Mistake("held, doctor", DOCTOR, HELD, held, code=1),
    Mistake("held, backup", "backup copy", HELD, held),
    Mistake("written to, listing", LIST, HELD[1:], written_to, code=1),
    Mistake("written to, doctor", DOCTOR, HELD[1:], written_to, code=1),
    Mistake("backup into nowhere", "backup nowhere/copy", ("nowhere/copy cannot be written", "make the folder")),
    Mistake("unwritable folder, migrating", "migrate",
            ("there.db.migrating cannot be opened: ", "let this account write in the folder "),
            lambda bench: (bench.folder / "there.db.migrating").mkdir() or database("sqlite:///FOLDER/there.db")(bench)),
    Mistake("unwritable folder, backup", "backup /sys/copy", ("/sys/copy cannot be written: ",)),
    Mistake("older schema", SERVE, ("at 0003, this gateway needs", "`assent migrate`"), schema("'0003'")),
    Mistake("a blob for a schema", SERVE, NO_SCHEMA, schema("X'ff00'")),
    Mistake("two schemas", DOCTOR, NO_SCHEMA, lambda bench: bench.rows(TWO), code=1),
    Mistake("a word for a schema", "audit verify -c assent.yaml", NO_SCHEMA, schema("'newest'")),
    Mistake("newer schema", LIST, ("newer than the", "start a gateway of the newer release"), schema("'9999'")),
    Mistake("no schema", LIST, ("the database is new", "`assent migrate`"), database("sqlite:///FOLDER/new.db")),
    Mistake("port taken", "serve -c assent.yaml", ("is taken", "--port or ASSENT_PORT"), port_taken),
    Mistake("url's port taken", "serve -c assent.yaml",
            ("or ASSENT_PORT, and let `url` in the file follow: it is http://localhost:",), port_of_url_taken),
    Mistake("foreign address", f"{SERVE} --host 192.0.2.7", ("cannot listen on 192.0.2.7", "0.0.0.0 every address")),
    Mistake("an empty address", SERVE, ("ASSENT_HOST: is empty: write 127.0.0.1 for this machine",),
            env(ASSENT_HOST="")),
    Mistake("no token for operations", SERVE, ("ASSENT_OPERATIONS_TOKEN: is empty: say what it is, or leave it out",),
            env(ASSENT_OPERATIONS_TOKEN="")),
    Mistake("an empty folder", SERVE, ("ASSENT_STATE_DIR: is empty: say what it is",), env(ASSENT_STATE_DIR="")),
    Mistake("nobody's account", SERVE, ("ASSENT_HOOK_USER: 'nosuch' is no account of this machine",),
            env(ASSENT_HOOK_USER="nosuch")),
    Mistake("another org", f"{LIST} --org acne", ("--org: assent.yaml says nothing of acne", 'did you mean "acme"?')),
    Mistake("a stranger's key", "keys create --scope approver --person alise@acme.example --label x -c assent.yaml",
            ("alise@acme.example is not under people", 'did you mean "alice@acme.example"?'), code=1),
    Mistake("another's domain", "keys create --scope approver --person li@acme.example --label x -c assent.yaml",
            ("li@acme.example is not under people in the configuration; people: alice@acme.example",), code=1),
    Mistake("a domain mistyped", "keys create --scope approver --person alice@acme.exmple --label x -c assent.yaml",
            ('did you mean "alice@acme.example"?',), code=1),
    Mistake("no address", "requests list", ("ASSENT_URL: set it", "`assent serve` says it")),
    Mistake("no gateway", "requests list", ("no gateway answers at http://127.0.0.1:1", "is it running"),
            gateway_at("http://127.0.0.1:1")),
    Mistake("gateway's name", "requests approve r1", ("at https://nobody.invalid", "its name is not known"),
            gateway_at("https://nobody.invalid")),
    Mistake("no gateway's port", "requests list", ("no gateway answers at http://127.0.0.1:", "nothing was done"),
            gateway_at("http://127.0.0.1:PORT")),
    Mistake("slack refused", DOCTOR, ("no connection to Slack at 127.0.0.1: it refuses", "let this machine reach"),
            platform(SLACK, "http://127.0.0.1:1/api/"), code=1),
    Mistake("slack's name", DOCTOR, ("at slack.invalid: its name is not known", "reach https://slack.invalid/api/"),
            platform(SLACK, "https://slack.invalid/api/"), code=1),
    Mistake("slack's TLS", DOCTOR, ("it does not speak TLS", "http rather than https"),
            platform(SLACK, "https://127.0.0.1:PORT/api/", answers=b"HTTP/1.1 400 Bad Request\r\n\r\n"), code=1),
    Mistake("slack is silent", DOCTOR, ("ERROR    team: auth.test: the connection to Slack was lost", "mend: let this"),
            platform(SLACK, "http://127.0.0.1:PORT/api/"), code=1),
    Mistake("feishu refused", DOCTOR, ("Feishu cannot be reached: it refuses", "reach http://127.0.0.1:1"),
            platform(FEISHU, "http://127.0.0.1:1"), code=1),
    Mistake("feishu's name", DOCTOR, ("Feishu cannot be reached: its name is not known", "https://feishu.invalid"),
            platform(FEISHU, "https://feishu.invalid"), code=1),
]  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_the_fault_and_the_mend_are_named(bench: Bench, mistake: Mistake) -> None:
    mistake.make(bench)
    code, told = bench.run(*mistake.words.split())
    assert (code, [text for text in mistake.said if text not in told]) == (mistake.code, []), told
    assert "Traceback" not in told
    assert [value for value in ("k" * 40, bench.environ["BOT"], bench.environ["APP"]) if value in told] == []


@pytest.mark.parametrize(
    ("condition", "why", "hint"),
    [
        ("args.amount >", 'nothing follows ">" (column 13', "say what comes behind it"),
        ("args.a => 5", "'=>' is no part of the language (column 8: => 5)", "write >= or <="),
        ('args.currency = "CNY"', "'=' is no part of the language (column 15", "write =="),
        ("args.a < 5 and true", "'and' is no part of the language (column 12", "write &&"),
        ("args.a < 5 or true", "'or' is no part of the language (column 12", "write ||"),
        ("not args.big", "'not' is no part of the language (column 1", "write !"),
        ('args.a == "CNY', "a text begins and does not end (column 11", 'close it with "'),
        ("args.a == “CNY”", "'“' is no part of the language", "plain quotation marks"),
        ("(args.a < 5", '"(" is not closed (column 1', 'close it with ")"'),
        ("5 < args.a <= 6", "a comparison has two sides", "write args.a > 5 && args.a < 6"),
        ("args.a < 5)", '")" closes nothing (column 11', 'open it with "("'),
        ("args.a in [1, 2", '"[" is not closed (column 11', 'close it with "]"'),
        ("args.a < 5 ? true", 'the choice has no ":" (column 12', "a ? b : c"),
        ('args.name matches "x"', "'matches' is no part of the language", "behind a dot"),
        ("args.a <> 5", "'<>' is no part of the language", "write == or !="),
        ("args.a < 50,000", "'50,000' is no part of the language", "without commas"),
        ("args.a < 5 args.b", "it cannot be read from here on (column 12: args.b)", "args.amount <= 500"),
        (
            'args.a == "and = or" &&\n args.b =< 1',
            "'=<' is no part of the language (line 2, column 9",
            "write >= or <=",
        ),
    ],
)
def test_a_condition_that_cannot_be_read_is_told_where_and_what_to_write(condition: str, why: str, hint: str) -> None:
    with pytest.raises(BadConditionError) as refused:
        compile_condition(condition)
    assert why in refused.value.why
    assert hint in str(refused.value.hint)
    assert not re.search("expecting|token|mismatched|IDENTIFIER|EOF|Expr", refused.value.why)


OLDER = """\
pg_dump: error: aborting because of server version mismatch
pg_dump: detail: server version: 16.14; pg_dump version: 15.18 (Debian 15.18-0+deb12u1)"""
"""What it says of a server that is newer than itself."""


@pytest.mark.process
@pytest.mark.heavy
@pytest.mark.postgres
async def test_mistakes_with_a_server_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with place("postgresql", tmp_path, monkeypatch) as at:
        await asyncio.to_thread(_mistakes_with, at, tmp_path)


def _mistakes_with(at: Any, folder: Path) -> None:
    bench = Bench(folder, {"ASSENT_SECRET": "k" * 40})
    bench.file()
    folder_of_socket = at.url.partition("?host=")[2]
    admin = f"postgresql://postgres@/assent?host={folder_of_socket}"

    def told(words: str, url: str, *said: str, code: int = 2) -> None:
        bench.environ["ASSENT_DATABASE_URL"] = url
        ended, text = bench.run(*words.split())
        assert (ended, [each for each in said if each not in text]) == (code, []), text
        assert "Traceback" not in text

    told(
        "migrate", at.url, "permission denied", "`assent migrate` runs as the role that owns the tables (assent_owner)"
    )
    bench.environ["ASSENT_DATABASE_URL"] = at.migrates
    assert bench.run("migrate")[0] == 0
    told(
        LIST, at.url.replace("/assent?", "/acent?"), 'database "acent" does not exist', "create it, or correct its name"
    )
    told(LIST, at.url.replace("assent_app", "asent_app"), 'role "asent_app" does not exist', "deploy/roles.sh makes")
    create = "keys create --scope agent --agent shop --label x -c assent.yaml"
    rights = "with the rights that deploy/roles.sh grants (assent_app)"
    told(create, at.backs_up, "the role assent_backup may not write accounts, alarms, api_keys", rights, code=1)
    told(SERVE, at.backs_up, "the role assent_backup may not write", rights)
    told(DOCTOR, at.backs_up, "the role assent_backup may not write", rights, code=1)
    with psycopg.connect(admin, autocommit=True) as superuser:
        superuser.execute("CREATE TABLE bk_requests AS SELECT * FROM requests")  # somebody's copy, beside ours
        bench.environ["ASSENT_DATABASE_URL"] = at.url
        code, text = bench.run(*create.split())
        assert code == 0, text
        superuser.execute("ALTER ROLE assent_app SET default_transaction_read_only = on")
        told(DOCTOR, at.url, "takes no writes: it is read-only", "`default_transaction_read_only` is off", code=1)
        superuser.execute("ALTER ROLE assent_app RESET ALL")
        [(hba,)] = superuser.execute("SHOW hba_file").fetchall()
        superuser.execute("ALTER ROLE assent_app PASSWORD 'right'")
        path = Path(hba)
        path.write_text("local all assent_app scram-sha-256\n" + path.read_text())
        superuser.execute("SELECT pg_reload_conf()")
        wrong = at.url.replace("assent_app@", "assent_app:wrong-one@")
        while _gets_in(at.url.replace("assent_app@", "assent_app:wrong-one@")):
            time.sleep(0.05)  # the server reads its file a moment later, and tells nobody
    for words, code in ((LIST, 2), (DOCTOR, 1), (SERVE, 2), ("migrate", 2)):
        told(words, wrong, "password authentication failed", "write the password of that role into", "%40", code=code)
        assert "wrong-one" not in bench.run(*words.split())[1]
    silent = f"postgresql://assent_app@127.0.0.1:{bench.listener()}/assent"
    told(LIST, silent, "timeout expired", "nothing answers at 127.0.0.1: look at the network and its firewall")
    told("backup copy", silent, "pg_dump failed", "nothing answers at 127.0.0.1")
    old = folder / "older" / "pg_dump"
    old.parent.mkdir()
    old.write_text(f"#!/bin/sh\necho '{OLDER}' >&2\nexit 1\n")
    old.chmod(0o755)
    bench.environ["PATH"] = f"{old.parent}{os.pathsep}{os.environ['PATH']}"
    told("backup copy", at.backs_up, "server version: 16.14; pg_dump version: 15.18", "put a pg_dump of the server's")
    told(LIST, "postgresql://assent_app@127.0.0.1:1/assent", "Connection refused", "start PostgreSQL, or correct host")
    told(LIST, "postgresql://assent_app@db.invalid/assent", "failed to resolve host", "no such host as db.invalid")
    bench.cleanup.close()


def _gets_in(url: str) -> bool:
    try:
        psycopg.connect(url.replace("+psycopg", "")).close()
    except psycopg.OperationalError:
        return False
    return True
