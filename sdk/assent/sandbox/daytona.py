"""The sandbox at Daytona, through its official SDK (`pip install 'assent[daytona]'`): one per job, deleted afterwards.

The command runs in a session, whose log tells standard output and standard error apart, and streams.
"""

from __future__ import annotations

import logging
import math
import secrets
import shlex
import time
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from assent.hooks.contract.sandbox import SandboxFault
from assent.sandbox.remote import PATIENCE, Transcript, fault_of, missing, terms_of
from assent.sandbox.turns import finish, within

if TYPE_CHECKING:
    from daytona import AsyncDaytona, AsyncSandbox

    from assent.hooks.contract.sandbox import Job, Report
    from assent.sandbox.remote import Terms

_log = logging.getLogger("assent.sandbox")
_SESSION = "assent"
_LOOK_EVERY = 0.2  # seconds


class DaytonaSandbox:
    """Runs commands at Daytona; the agent's own files are not there.

    Options: `timeout` (seconds), `output` (bytes kept of each stream), `network` (False unless given), `cwd` (in
    the sandbox), `snapshot` and `env`.

    `api_url` is for Daytona on one's own machines; `target` is the region.
    """

    def __init__(
        self,
        *,
        api_key: str,
        name: str = "daytona",
        api_url: str | None = None,
        target: str | None = None,
        snapshot: str = "",
        patience: float = PATIENCE,
    ) -> None:
        if not api_key:
            raise ValueError("Daytona needs its API key")
        self.name = name
        self._key = api_key
        self._api_url = api_url
        self._target = target
        self._snapshot = snapshot
        self._patience = patience

    async def run(self, job: Job) -> Report:
        """Rent a sandbox, run the job, delete the sandbox. Raises SandboxFault for whatever the SDK raises."""
        terms = terms_of(job.options, provider=self.name, image="snapshot", default=self._snapshot)
        try:
            client = await anyio.to_thread.run_sync(self._client)  # seconds, the first time; it looks for .env files
        except Exception as error:
            raise fault_of(error, provider=self.name, key=self._key, started=False) from error
        rental = _Rental(client, self._patience)
        try:
            await finish(lambda: rental.rent(job, terms))  # a cancellation must not lose the sandbox that is being made
            return await self._execute(rental, job, terms)
        except Exception as error:
            # Once it was sent, an error does not tell how far the command came.
            started = None if rental.in_use else False
            raise fault_of(error, provider=self.name, key=self._key, started=started) from error
        finally:
            await finish(lambda: self._give_back(rental, terms))

    def _client(self) -> AsyncDaytona:
        try:
            import daytona as sdk

            _ = sdk.CreateSandboxFromSnapshotParams  # version 2 speaks another API, and has it no more
        except (ImportError, AttributeError) as error:
            raise missing("daytona", error) from error
        return sdk.AsyncDaytona(sdk.DaytonaConfig(api_key=self._key, api_url=self._api_url, target=self._target))

    async def _execute(self, rental: _Rental, job: Job, terms: Terms) -> Report:
        said = Transcript.of(terms)
        started = time.monotonic()
        in_time = await within(terms.timeout, lambda: self._follow(rental, job, terms, said))
        return said.report(in_time=in_time, timeout=terms.timeout, duration=time.monotonic() - started)

    async def _follow(self, rental: _Rental, job: Job, terms: Terms, said: Transcript) -> None:
        from daytona import SessionExecuteRequest

        process = rental.sandbox.process
        await process.create_session(_SESSION, request_timeout=self._patience)
        request = SessionExecuteRequest(
            command=_in_session(job.command, terms.cwd), run_async=True, suppress_input_echo=True
        )
        rental.in_use = True
        begun = await process.execute_session_command(_SESSION, request, timeout=math.ceil(self._patience))
        await process.get_session_command_logs_async(_SESSION, begun.cmd_id, said.out.feed_text, said.err.feed_text)
        while said.exit_code is None:
            seen = await process.get_session_command(_SESSION, begun.cmd_id, request_timeout=self._patience)
            said.exit_code = seen.exit_code
            if said.exit_code is None:  # the log may end a little earlier than the command
                await anyio.sleep(_LOOK_EVERY)

    async def _give_back(self, rental: _Rental, terms: Terms) -> None:
        try:
            await rental.give_back()
        except Exception as error:  # noqa: BLE001 - the command has run; its end must not be lost over this
            told = fault_of(error, provider=self.name, key=self._key, started=None)
            _log.warning("Daytona's sandbox %s lives on for %d s: %s", rental.name, terms.lifetime, told)
        finally:
            await rental.client.close()


class _Rental:
    """A sandbox from before it is asked for until it is deleted, under a name that is known beforehand."""

    def __init__(self, client: AsyncDaytona, patience: float) -> None:
        self.client = client
        self.name = f"assent-{secrets.token_hex(8)}"
        self._patience = patience
        self._sandbox: AsyncSandbox | None = None
        self.in_use = False
        """Whether the command was sent."""

    @property
    def sandbox(self) -> AsyncSandbox:
        """The rented one."""
        if self._sandbox is None:
            raise SandboxFault("Daytona made no sandbox", started=False)
        return self._sandbox

    async def rent(self, job: Job, terms: Terms) -> None:
        """Ask for it and wait until it has started."""
        from daytona import CreateSandboxFromSnapshotParams

        minutes = math.ceil(terms.lifetime / 60)
        params = CreateSandboxFromSnapshotParams(
            name=self.name,
            snapshot=terms.image or None,
            env_vars=dict(job.env),
            network_block_all=not terms.network,
            ephemeral=True,
            auto_stop_interval=minutes,
            ttl_minutes=minutes,
        )
        self._sandbox = await self.client.create(params, timeout=self._patience)

    async def give_back(self) -> None:
        """Delete it; also one of which only the name is known, as its making failed or was not answered in time."""
        from daytona import DaytonaAuthenticationError, DaytonaNotFoundError

        try:
            sandbox = self._sandbox or await self.client.get(self.name, request_timeout=self._patience)
            await sandbox.delete(timeout=self._patience)
        except DaytonaNotFoundError:
            return
        except DaytonaAuthenticationError:
            if self._sandbox is not None:  # else the key that cannot look made nothing either
                raise


def _in_session(command: str, cwd: str | None) -> str:
    """Run it in a shell of its own: an `exit` in the session's would end the session, and its exit code with it."""
    there = f"cd -- {shlex.quote(cwd)} && " if cwd else ""
    return f'{there}"$(command -v bash || command -v sh)" -c {shlex.quote(command)} </dev/null'
