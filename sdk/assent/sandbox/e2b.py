"""The sandbox at E2B, through its official SDK (`pip install 'assent[e2b]'`): one per job, killed afterwards."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from assent.sandbox.remote import PATIENCE, Transcript, fault_of, missing, terms_of
from assent.sandbox.turns import finish, within

if TYPE_CHECKING:
    from e2b import AsyncSandbox

    from assent.hooks.contract.sandbox import Job, Report
    from assent.sandbox.remote import Terms

_log = logging.getLogger("assent.sandbox")


class E2BSandbox:
    """Runs commands at E2B; the agent's own files are not there.

    Options: `timeout` (seconds), `output` (bytes kept of each stream), `network` (False unless given), `cwd` (in
    the sandbox), `template` and `env`.

    `domain` is for E2B in one's own cloud; `api_url` and `sandbox_url` name the API and the sandboxes' door instead.
    """

    def __init__(
        self,
        *,
        api_key: str,
        name: str = "e2b",
        domain: str | None = None,
        api_url: str | None = None,
        sandbox_url: str | None = None,
        template: str = "",
        patience: float = PATIENCE,
    ) -> None:
        if not api_key:
            raise ValueError("E2B needs its API key")
        self.name = name
        self._key = api_key
        self._template = template
        self._patience = patience
        where = {"domain": domain, "api_url": api_url, "sandbox_url": sandbox_url}
        self._access: dict[str, Any] = {
            "api_key": api_key,
            "request_timeout": patience,
            "debug": False,  # E2B_DEBUG would make the SDK talk to this machine, and delete nothing
            **{name: value for name, value in where.items() if value},
        }

    async def run(self, job: Job) -> Report:
        """Rent a sandbox, run the job, kill the sandbox. Raises SandboxFault for whatever the SDK raises."""
        terms = terms_of(job.options, provider=self.name, image="template", default=self._template)
        sdk = await anyio.to_thread.run_sync(_load)  # seconds, the first time
        rented: list[AsyncSandbox] = []

        async def rent() -> None:
            rented.append(await sdk.create(**self._request(terms)))

        try:
            await finish(rent)  # a cancellation must not lose the sandbox that is being made
            return await self._execute(rented[0], job, terms)
        except Exception as error:
            # Once there is a sandbox, the command is on its way: an error then does not tell how far it came.
            raise fault_of(error, provider=self.name, key=self._key, started=None if rented else False) from error
        finally:
            for sandbox in rented:
                await self._kill(sandbox, terms)

    def _request(self, terms: Terms) -> dict[str, Any]:
        return {
            "template": terms.image or None,
            "timeout": terms.lifetime,
            "lifecycle": {"on_timeout": "kill"},
            "allow_internet_access": terms.network,
            **self._access,
        }

    async def _execute(self, sandbox: AsyncSandbox, job: Job, terms: Terms) -> Report:
        from e2b import CommandExitException

        said = Transcript.of(terms)

        async def execute() -> None:
            try:
                result = await sandbox.commands.run(
                    job.command,
                    envs=dict(job.env),
                    cwd=terms.cwd,
                    on_stdout=said.out.feed_text,
                    on_stderr=said.err.feed_text,
                    retain_output=False,
                    timeout=terms.timeout + self._patience,  # ours comes first
                    request_timeout=self._patience,
                )
                said.exit_code = result.exit_code
            except CommandExitException as ended:  # every exit code but 0
                said.exit_code = ended.exit_code

        started = time.monotonic()
        in_time = await within(terms.timeout, execute)
        return said.report(in_time=in_time, timeout=terms.timeout, duration=time.monotonic() - started)

    async def _kill(self, sandbox: AsyncSandbox, terms: Terms) -> None:
        async def kill() -> None:
            try:
                await sandbox.kill(request_timeout=self._patience)
            except Exception as error:  # noqa: BLE001 - the command has run; its end must not be lost over this
                told = fault_of(error, provider=self.name, key=self._key, started=None)
                _log.warning("E2B's sandbox %s lives on for %d s: %s", sandbox.sandbox_id, terms.lifetime, told)

        await finish(kill)


def _load() -> type[AsyncSandbox]:
    try:
        from e2b import AsyncSandbox
    except ImportError as error:
        raise missing("e2b", error) from error
    return AsyncSandbox
