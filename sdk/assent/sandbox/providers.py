"""The sandboxes that an agent has, by name, and the way from a hook's routing to a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from assent.hooks.contract.sandbox import Job, SandboxFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assent.hooks.contract.context import HookContext
    from assent.hooks.contract.sandbox import Report, SandboxProvider
    from assent.hooks.contract.verdicts import Routing


class Sandboxes:
    """Providers by name."""

    def __init__(self, providers: Iterable[SandboxProvider] = ()) -> None:
        self._providers: dict[str, SandboxProvider] = {}
        for provider in providers:
            self.add(provider)

    def add(self, provider: SandboxProvider) -> None:
        """Make a provider known. Raises ValueError if it has no name or its name is taken."""
        if not provider.name:
            raise ValueError("a sandbox needs a name: `route` calls it by that")
        if provider.name in self._providers:
            raise ValueError(f"there is a sandbox {provider.name!r} already; give the new one another name")
        self._providers[provider.name] = provider

    @property
    def names(self) -> tuple[str, ...]:
        """What `route` may name, sorted."""
        return tuple(sorted(self._providers))

    async def run(self, routing: Routing, ctx: HookContext) -> Report:
        """Run what was routed. Raises SandboxFault, whatever goes wrong; then nothing may run in its place."""
        provider = self._providers.get(routing.provider)
        if provider is None:
            there = f"there are {', '.join(self.names)}" if self._providers else "none is set up"
            raise SandboxFault(f"there is no sandbox {routing.provider!r}: {there}", started=False)
        job = _job(routing, ctx)
        try:
            return await provider.run(job)
        except SandboxFault:
            raise
        except Exception as error:  # a provider may be anybody's
            raise SandboxFault(
                f"the sandbox {routing.provider!r} failed ({type(error).__name__}: {error}); "
                "whether the command ran is unknown",
                started=None,
            ) from error


def _job(routing: Routing, ctx: HookContext) -> Job:
    command: Any = routing.command if routing.command is not None else ctx.args.get("command")
    if not isinstance(command, str) or not command.strip():
        raise SandboxFault(
            f"nothing to run in the sandbox {routing.provider!r}: the call has no text argument 'command', "
            "so the hook must say what to run: route(provider, command)",
            started=False,
        )
    if "\0" in command:
        raise SandboxFault("the command holds a NUL character, which no shell can be given", started=False)
    options = dict(routing.options)
    return Job(command=command, cwd=ctx.cwd, env=_environment(options.pop("env", {})), options=options)


def _environment(given: Any) -> Mapping[str, str]:
    if not isinstance(given, Mapping):
        wrong = f"a mapping of texts, not {type(given).__name__}"
        raise SandboxFault(f"a sandbox wants its option 'env' to be {wrong}", started=False)
    env = cast("Mapping[Any, Any]", given)
    for name, value in env.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise SandboxFault(f"a sandbox cannot set an environment variable named {name!r}", started=False)
        if not isinstance(value, str) or "\0" in value:
            wrong = f"the environment variable {name!r} to be a text without NUL"
            raise SandboxFault(f"a sandbox wants {wrong}", started=False)
    return env
