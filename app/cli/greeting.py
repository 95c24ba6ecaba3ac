"""What `assent serve` says once it answers: to a person in a few lines, to a log in one.

Never a secret, but for the link of a first sign-in, which a terminal alone is shown.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import unquote

import structlog
import typer

from app.cli.beside_database import counted
from app.domain.text.visible import on_one_line
from app.storage.place.address import is_postgres, libpq_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.settings import Settings
    from app.usecases.reading.at_start import ChannelAtStart, OrgAtStart

log = structlog.get_logger(__name__)

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


class Greeting:
    """Greets whoever started the gateway."""

    def __init__(self, settings: Settings) -> None:
        """Take what it names."""
        self._settings = settings

    def __call__(self, host: str, port: int, orgs: Sequence[OrgAtStart]) -> None:
        """Say it on the terminal, if a person looks at one; else as one line of the log."""
        if sys.stderr.isatty() and self._settings.log_format == "console":
            typer.echo("\n".join(["", *self.lines(host, port, orgs), ""]), err=True)
            return
        log.info(
            "gateway.greeted",
            address=_address(host, port),
            database=database_shown(self._settings.database_url),
            orgs={
                each.policy.org: {
                    "rules": len(each.policy.rules),
                    "tools": len(each.policy.tools),
                    "channels": {channel.name: _stands(channel, each) for channel in each.channels},
                }
                for each in orgs
            },
            warnings=[f"{warning.what}; {warning.mend}" for each in orgs for warning in each.warnings],
        )

    def lines(self, host: str, port: int, orgs: Sequence[OrgAtStart]) -> Iterator[str]:
        """Yield the lines."""
        everywhere = " (and on every other address of this machine)" if host in _EVERYWHERE else ""
        yield f"Assent {version('assent-gateway')} answers on {_address(host, port)}{everywhere}"
        yield f"  ready?    {_address(host, port)}/readyz"
        yield f"  database  {database_shown(self._settings.database_url)}"
        for each in orgs:
            policy = each.policy
            yield (
                f"  {policy.org}: {counted(len(policy.rules), 'rule')}, {counted(len(policy.tools), 'tool')}; "
                f"everything else: {policy.default.value}"
            )
            yield from (f"    {channel.name} ({channel.kind}): {_stands(channel, each)}" for channel in each.channels)
            if each.sign_in is not None:
                person, link = each.sign_in
                yield f"    sign in as {person}, once, within ten minutes: {link}"
            if not each.channels:
                console = f"in the console at {policy.url}, " if policy.url else ""
                yield f"    no channel: people decide {console}by `assent requests`, or over the API"
        for warning in (warning for each in orgs for warning in each.warnings):
            yield f"  WARNING   {on_one_line(warning.what)}"
            yield f"            mend: {on_one_line(warning.mend)}"


def _address(host: str, port: int) -> str:
    shown = _EVERYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def _stands(channel: ChannelAtStart, org: OrgAtStart) -> str:
    everybody = counted(len(org.policy.directory.people), "person", "people")
    return on_one_line(channel.why) or f"{channel.found} of {everybody} found"


def database_shown(url: str) -> str:
    """Name a database without what one logs in with."""
    if not is_postgres(url):
        return f"SQLite, {unquote(url.removeprefix('sqlite:///').partition('?')[0])}"
    from psycopg.conninfo import conninfo_to_dict

    said = conninfo_to_dict(libpq_url(url))
    return f"PostgreSQL, {said.get('dbname', 'of the same name')} on {said.get('host', 'this machine')}"
