"""Run the web server: uvicorn around the application, with a stop that tells waiters to come back.

What would make a start pointless is found before anything runs: another gateway on the same SQLite file, a taken port.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import importlib
import os
import socket
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import structlog
from msgspec.structs import replace
from uvicorn.config import Config
from uvicorn.server import Server

from app.api.agents.moments import PreToolUse
from app.api.intake.connections import ConnectionWatch, connections_allowed
from app.api.wire.schemas import ClaimBody, Decision, OutcomeBody, Submission
from app.clock import SystemClock
from app.container import Container
from app.domain.errors import AssentError
from app.domain.identity.seals import seal_ids
from app.domain.text.addresses import other_port
from app.identifiers import RandomIds
from app.main import create_app
from app.storage.make_store import dialect_for, make_store
from app.storage.trail.head_file import head_file_of
from app.telemetry.logs import configure_logs
from app.telemetry.provider import TracingRefusedError, start_provider
from app.usecases.reading.at_start import NOT_YET, AtStart
from app.usecases.upkeep.watch_heads import RestoredError, WatchHeads
from channels import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from app.api.intake.front import Application
    from app.settings import Settings
    from app.usecases.reading.at_start import OrgAtStart

log = structlog.get_logger(__name__)

STOPS_WITHIN = 10
"""Seconds that calls in flight have to end when a stop is asked for; whoever ends the process waits longer."""

_WEBSOCKETS = "uvicorn.protocols.websockets.auto"
_SOON = ("httpx2", "sse_starlette.sse", _WEBSOCKETS, "app.storage.retention.removals")
"""No start waits for these, and no first webhook or stream shall: they are loaded as soon as the gateway serves."""
_READ_SOON = (Submission, Decision, ClaimBody, OutcomeBody, PreToolUse)
"""Nor for what reads the bodies that come most: it is built then, on the loop, which reads them, and on no thread."""

_SQLITE = "sqlite:///"
_ANSWERS_WITHIN = 5.0
"""Seconds that the greeting waits for the platforms, to say how many people they know."""


class StartRefusedError(Exception):
    """The gateway cannot start here; the text says why and what to do."""


@contextmanager
def hold_database(url: str) -> Generator[None]:
    """Be the only gateway on a SQLite file for as long as this lasts; PostgreSQL takes any number.

    The lock is the kernel's (``flock`` on ``FILE.lock``): it ends with the process, however that ends, and small
    commands beside the gateway do not ask for it. Raises StartRefusedError.
    """
    if not url.startswith(_SQLITE):
        yield
        return
    import fcntl

    file = Path(unquote(url.removeprefix(_SQLITE).partition("?")[0])).resolve()
    try:
        lock = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        what = "make" if not file.parent.is_dir() else "let this account write in"
        mend = f"{what} the folder {file.parent}, or name another"
        raise StartRefusedError(
            f"ASSENT_DATABASE_URL: {file}.lock cannot be opened: {error.strerror}; {mend}"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StartRefusedError(f"another gateway already uses {file}; several replicas need PostgreSQL") from None
    try:
        yield
    finally:
        os.close(lock)


async def refuse_restored(settings: Settings) -> None:
    """Look whether the database has lost what it once had, before anything starts. Raises StartRefusedError."""
    store = make_store(dialect_for(settings.database_url, SystemClock()), RandomIds(), seals=None)  # it only reads
    store.start()
    try:
        path = head_file_of(settings.database_url, settings.state_dir)
        await WatchHeads(store=store, path=path).check()
    except RestoredError as refusal:
        raise StartRefusedError(str(refusal)) from None
    finally:
        await store.stop()


def open_address(host: str, port: int, *, urls: Callable[[], Iterable[str | None]] = tuple) -> socket.socket:
    """Take the address, before anything starts; nobody is let in yet. Raises StartRefusedError.

    `urls` are the addresses that the file gives for pages: one that names this port has to follow to another.
    """
    taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
    except OSError as error:
        taken.close()
        if error.errno == errno.EADDRINUSE:
            why = f"port {port} is taken: choose another with --port or ASSENT_PORT"
            if following := [url for url in urls() if url and other_port(url, 0) == port]:
                why += f", and let `url` in the file follow: it is {following[0]}"
        else:
            mend = "see --host and --port (127.0.0.1 is this machine, 0.0.0.0 every address of it)"
            why = f"cannot listen on {host}, port {port}: {error.strerror}; {mend}"
        raise StartRefusedError(why) from None
    return taken


def collect_seldom() -> None:
    """Let the collector be: what stands after the start stands for ever, and need not be walked, not even once."""
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    gc.enable()


class _Server(Server):
    """Lets held calls go as soon as a stop is asked for; uvicorn alone would wait for them first."""

    def __init__(
        self,
        config: Config,
        app: Application,
        container: Container,
        port: int,
        greet: Callable[[Sequence[OrgAtStart]], None],
    ) -> None:
        super().__init__(config)
        self._app = app
        self._container = container
        self._port = port
        self._greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        collect_seldom()
        if self.started:  # not before: whoever reads it in the log may call
            log.info("gateway.ready", orgs=list(self._container.book.orgs()))
            self._container.supervisor.later(self._warm_up())
            self._container.supervisor.later(self._say_how_it_stands())

    async def _say_how_it_stands(self) -> None:
        c = self._container
        with suppress(AssentError):  # of a database that is silent by now, the log says more
            if c.channels.all():
                with suppress(TimeoutError):
                    await asyncio.wait_for(c.confirm_accounts.all_asked.wait(), _ANSWERS_WITHIN)
            troubles = dict.fromkeys(c.channels.all(), NOT_YET) | c.confirm_accounts.troubles | c.configuration.unbuilt
            look = AtStart(store=c.store, book=c.book)
            found = [
                await look(
                    org, {name: why for (of, name), why in troubles.items() if of == org and why}, port=self._port
                )
                for org in c.book.orgs()
            ]
            if sys.stderr.isatty() and c.settings.log_format == "console":  # a person looks, and no log keeps it
                await asyncio.to_thread(self._app.complete)  # the console is beside the loop what it is not on it: slow
                found = [await self._invited(each) for each in found]
            self._greet(found)

    async def _invited(self, org: OrgAtStart) -> OrgAtStart:
        """Add a first sign-in link: to this gateway, and not to whoever listens where the file says that it does."""
        if other_port(org.policy.url, self._port) is not None:
            return org
        return replace(org, sign_in=await self._container.console.sessions.first_link(org.policy.org))

    async def _warm_up(self) -> None:
        for model in _READ_SOON:
            model.model_rebuild()
            await asyncio.sleep(0)
        for name in _SOON:
            await asyncio.to_thread(importlib.import_module, name)
        await asyncio.to_thread(self._app.complete)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._container.waiters.stop()
        self._container.feed.stop()
        await super().shutdown(sockets)


def _websocket(**given: Any) -> asyncio.Protocol:
    """Answer whoever wants one, which no route has: by the library, which is loaded then."""
    return importlib.import_module(_WEBSOCKETS).AutoWebSocketsProtocol(**given)


def run_server(
    settings: Settings,
    config: Path,
    environ: Mapping[str, str],
    *,
    address: socket.socket,
    greet: Callable[[str, int, Sequence[OrgAtStart]], None],
) -> None:
    """Serve on an opened address until told to stop. Raises StartRefusedError when the start failed.

    `greet` is told the host, the port and how each org stands, once it serves and the platforms have had a moment.
    """
    host, port = address.getsockname()[:2]
    configure_logs(settings.log_format, registry.loaded())
    try:
        start_provider(environ)
    except TracingRefusedError as refusal:
        raise StartRefusedError(str(refusal)) from None
    log.info("secrets.loaded", key_ids=seal_ids(secret.get_secret_value() for secret in settings.secret))
    log.info("address.bound", host=host, port=port)
    container = Container(settings, config, environ)
    app = create_app(container)
    server = _Server(
        Config(
            app,
            log_config=None,
            access_log=False,
            http=ConnectionWatch(connections_allowed(settings.max_connections)).protocol(),
            ws=cast("type[asyncio.Protocol]", _websocket),
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies,
            server_header=False,
            timeout_graceful_shutdown=STOPS_WITHIN,
            timeout_keep_alive=75,
            backlog=8192,
        ),
        app,
        container,
        port,
        lambda orgs: greet(host, port, orgs),
    )
    server.run(sockets=[address])
    if not server.started:
        raise StartRefusedError("the gateway could not start; the log says why")
