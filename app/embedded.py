"""The whole gateway inside an agent's own process: no server, no address, only a database.

    async with embedded_gateway("sqlite:///approvals.db", Path("assent.yaml"), agent="payer") as gateway:
        hooks.add(ApprovalGate(approvals=gateway))

It is the very gateway that `assent serve` runs, with its workers, on the agent's event loop (asyncio); the client
speaks to it without a socket. Requests are rows as ever: the process may die, and the next one finds them. SQLite takes
one process, PostgreSQL any number, and `assent serve` beside them for the people.

Nobody can call in: clicks come through channels that open their own connection (`receive: websocket` or `socket`, as
the platform calls it), or through `EmbeddedGateway.app`, if the agent's process has a web server to mount it in.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import httpx2
import structlog
from pydantic import ValidationError

from app.container import Container
from app.domain.errors import AssentError
from app.domain.identity.api_key import Scope
from app.main import create_app
from app.policies.marks.value_words import refusal_in_words
from app.ports import ListeningChannel
from app.serve import StartRefusedError, hold_database, refuse_restored
from app.settings import Settings, from_files, is_of_its_file
from app.storage.database.pooler import SHARED, shares_sessions
from app.storage.engine.trouble import database_fault
from app.telemetry.logs import redact
from assent.client.gateway import AsyncGateway
from migrations.state import NEWEST, find_present

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

    from app.ports import Clock
    from app.usecases.reading.keys import NewKey
    from assent.client.call import TokenSource
    from assent.client.pace import Pace

    Asgi = Callable[..., Awaitable[None]]

_URL = "http://embedded.assent"
_KEY_LIVES_FOR = timedelta(days=1)
_KEY_SERVES_FOR = _KEY_LIVES_FOR / 2
_log = logging.getLogger("assent")


class EmbeddedGateway(AsyncGateway):
    """An `AsyncGateway` whose gateway is in this process. `app` is its ASGI application, `container` its insides."""

    def __init__(
        self, inside: _Inside, *, app: Asgi, session: str | None, pace: Pace | None, token: TokenSource | None
    ) -> None:
        super().__init__(
            *(_URL, "held-by-the-transport"), session=session, transport=inside, pace=pace, requester_token=token
        )
        self.app = app
        self.container = inside.container


@asynccontextmanager
async def embedded_gateway(
    database_url: str,
    config: Path,
    *,
    agent: str,
    org: str | None = None,
    owner: str | None = None,
    session: str | None = None,
    secret: str | Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    pace: Pace | None = None,
    requester_token: TokenSource | None = None,
) -> AsyncGenerator[EmbeddedGateway]:
    """Run a gateway for as long as this lasts, and yield the agent's line to it.

    `config` is an assent.yaml (or a directory of them, then with `org`); `owner` the e-mail of who answers for the
    agent, and may therefore not approve its calls. `secret` (several: newest first) seals buttons: it must be the same
    at every start; left out, it is ASSENT_SECRET. Secrets of channels and the other ASSENT_… settings come from
    `environ` (the process's own, if left out). The database is brought up to date first; the agent's key is made here,
    lives in memory, and is revoked at the end. `requester_token` is the ID token of whom the agent acts for, or a
    function that returns it for each call, as of any `AsyncGateway`.

    Raises StartRefusedError for settings and databases that will not do, PolicyFaultsError for a faulty configuration.
    """
    given = os.environ if environ is None else environ
    settings = _settings(database_url, secret, given)
    async with AsyncExitStack() as stack:
        _log_quietly()
        held = hold_database(settings.database_url)
        await asyncio.to_thread(held.__enter__)
        stack.push_async_callback(asyncio.to_thread, held.__exit__, None, None, None)
        await asyncio.to_thread(_bring_up_to_date, settings.database_url)
        await refuse_restored(settings)
        container = await asyncio.to_thread(Container, settings, config, given, clock=clock)
        chosen = _org(container, org)
        await stack.enter_async_context(container)
        _warn_of_deaf_channels(container, chosen)
        app = create_app(container)
        inside = _Inside(app, container, org=chosen, agent=agent, owner=owner)
        stack.push_async_callback(inside.end)
        await inside.key()
        line = EmbeddedGateway(inside, app=app, session=session, pace=pace, token=requester_token)
        yield await stack.enter_async_context(line)


class _Inside(httpx2.AsyncBaseTransport):
    """Calls the application instead of a socket; holds the agent's key, and what a server would add to an answer."""

    def __init__(self, app: Asgi, container: Container, *, org: str, agent: str, owner: str | None) -> None:
        self.container = container
        self._app = httpx2.ASGITransport(app, raise_app_exceptions=False)
        self._org = org
        self._whose: dict[str, Any] = {"agent": agent, "person": owner, "label": f"embedded in {agent}"}
        self._key: NewKey | None = None
        self._renewing = asyncio.Lock()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Authorization"] = f"Bearer {await self.key()}"
        response = await self._app.handle_async_request(request)
        response.headers["Date"] = format_datetime(self.container.clock.now(), usegmt=True)
        return response

    async def key(self) -> str:
        """Return the key's text; a key that has served half of its life is replaced first."""
        async with self._renewing:
            now = self.container.clock.now()
            old = self._key
            if old is not None and now < old.key.created_at + _KEY_SERVES_FOR:
                return old.text
            new = self._key = await self.container.keys.create(
                org=self._org, scope=Scope.AGENT, lives_for=_KEY_LIVES_FOR, by="embedded", **self._whose
            )
            if old is not None:
                await self._revoke(old)
            return new.text

    async def end(self) -> None:
        """Revoke the key."""
        key, self._key = self._key, None
        if key is not None:
            await self._revoke(key)

    async def _revoke(self, key: NewKey) -> None:
        try:
            await self.container.keys.revoke(self._org, key.key.id, by="embedded")
        except AssentError as error:  # nobody else has its text, and it ends by itself within a day
            _log.warning("the key %s could not be revoked: %s", key.key.id, error.detail)


# --- before it starts -------------------------------------------------------------------------------------------------


class _Given(Settings):
    """Settings that are what they were given, whatever the process's environment says."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library passes it
        init_settings: PydanticBaseSettingsSource,
        *_others: PydanticBaseSettingsSource,
        **_more: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def _settings(database_url: str, secret: str | Sequence[str] | None, environ: Mapping[str, str]) -> Settings:
    told = {name.casefold(): value for name, value in environ.items()}
    values: dict[str, object] = {
        name: told[f"assent_{name}"] for name in Settings.model_fields if f"assent_{name}" in told
    }
    values |= from_files(environ)
    values["database_url"] = database_url
    if secret is not None:
        values["secret"] = secret if isinstance(secret, str) else tuple(secret)
    try:
        return _Given(**values)  # pyright: ignore[reportArgumentType] - Pydantic checks what they are
    except ValidationError as error:
        found = error.errors(include_url=False)
        faults = [
            f"{name} (ASSENT_{name.upper()}): {refusal_in_words(fault)[0]}"
            for fault in found
            for name in (str(fault["loc"][0]),)
        ]
        weak = any(each["loc"][0] == "secret" and not is_of_its_file(each) for each in found)
        mend = "; `assent secret` makes a secret: keep it" if weak else ""
        raise StartRefusedError("; ".join(faults) + mend) from None


def _bring_up_to_date(url: str) -> None:
    try:
        _refuse_shared_sessions(url)
        present = find_present(url)
        if present == NEWEST:
            return
        from alembic.util import CommandError

        from migrations import run

        try:
            run.upgrade(url)
        except CommandError as error:
            raise StartRefusedError(
                f"database_url: the database is at {present}, and this gateway brings it to {NEWEST} only from what it "
                f"knows ({error}): install the release that it was last used with, or a newer one"
            ) from None
    except StartRefusedError:
        raise
    except Exception as error:
        why = database_fault(error, url)
        if why is None:
            raise
        raise StartRefusedError(f"database_url: the database does not answer: {why}") from None


def _refuse_shared_sessions(url: str) -> None:
    if shares_sessions(url):
        raise StartRefusedError(f"database_url: {SHARED}")


def _org(container: Container, org: str | None) -> str:
    orgs = list(container.book.orgs())
    if org is None and len(orgs) == 1:
        return orgs[0]
    if org not in orgs:
        asked = "say which org" if org is None else f"there is no org {org!r}"
        raise StartRefusedError(f"org: {asked}; the configuration has {', '.join(orgs)}")
    return org


def _warn_of_deaf_channels(container: Container, org: str) -> None:
    for (of, name), channel in container.channels.all().items():
        if of == org and not isinstance(channel, ListeningChannel):
            _log.warning(
                "the channel %s hears clicks by webhook, and nothing listens for one in this process: "
                "choose a `receive` that needs no address, or mount EmbeddedGateway.app in a web server",
                name,
            )


def _log_quietly() -> None:
    """Send the gateway's log to the standard library's loggers: unconfigured, it would write to standard output."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.format_exc_info,
            redact,
            structlog.processors.LogfmtRenderer(),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
