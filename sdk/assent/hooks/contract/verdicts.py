"""What a hook answers: `HookResult`, and the constructors that read well.

return allow()                                     # no objection (returning None says the same)
return deny("the tree of the system is not yours")
return modify({**ctx.args, "dry_run": True})
return ask("first payment to this payee")
return route("local", "make test")
return allow().with_context("the ledger is closed until Monday").with_tags(ledger="closed")
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assent.hooks.contract.model_request import ModelRequest
    from assent.hooks.contract.permit import Permit

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Run the call in a sandbox instead: `provider` by its registered name, what to run, and the provider's limits."""

    provider: str
    command: str | None = None
    """The shell command to run; None: the call's own `command` argument, as it finally stands."""
    options: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """One hook's verdict. Not everything is allowed at every moment (`assent.hooks.contract.moments.POWERS`)."""

    allow: bool = True
    error: str | None = None
    """Why not, for the model and for people: set when `allow` is False."""
    modified_args: Mapping[str, Any] | None = None
    """The whole new arguments."""
    modified_result: Any = None
    """What the model sees in place of the tool's result; None leaves it as it is."""
    modified_prompt: str | None = None
    modified_request: ModelRequest | None = None
    ask: str | None = None
    """Why people must be asked."""
    route: Routing | None = None
    context: str | None = None
    """What the model is told in addition."""
    tags: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Merged into `HookContext.metadata` for every later hook of the turn."""
    hidden: bool = False
    """Keep the tool's output from display; the model still sees it."""
    send_back: str | None = None
    """At Stop: what the agent is told to go on with."""
    side_effects: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Facts for the trace and the audit."""
    permit: Permit | None = None
    """Set by an approval gate: the single use that was taken, to be settled with the tool's outcome."""

    def with_context(self, text: str) -> HookResult:
        """Return the same verdict that also tells the model something."""
        return replace(self, context=f"{self.context}\n{text}" if self.context else text)

    def with_tags(self, **tags: Any) -> HookResult:
        """Return the same verdict that also sets tags, which later hooks of the turn find in `ctx.metadata`."""
        return replace(self, tags={**self.tags, **tags})

    def with_side_effects(self, **facts: Any) -> HookResult:
        """Return the same verdict with more facts for the trace and the audit."""
        return replace(self, side_effects={**self.side_effects, **facts})

    def hiding_output(self) -> HookResult:
        """Return the same verdict that also keeps the tool's output from display."""
        return replace(self, hidden=True)


PASSED = HookResult()


def allow() -> HookResult:
    """No objection. It overrules nobody: later hooks, the rules and the gate still judge the call."""
    return PASSED


def deny(reason: str) -> HookResult:
    """No. `reason` is told to the model and stands in the audit; at PostToolUse it takes the result's place."""
    if not reason.strip():
        raise ValueError("a denial needs a reason: the model is told it")
    return HookResult(allow=False, error=reason)


def modify(args: Mapping[str, Any]) -> HookResult:
    """Run the call with these arguments (all of them) instead. Guards judge the call again as it finally stands."""
    return HookResult(modified_args=args)


def replace_result(result: Any) -> HookResult:
    """Show the model this instead of the tool's result (not None: that leaves the result as it is)."""
    if result is None:
        raise ValueError("give the text that stands in the result's place; deny(…) withholds the result")
    return HookResult(modified_result=result)


def rewrite(prompt: str) -> HookResult:
    """Go on with this prompt instead of the user's."""
    return HookResult(modified_prompt=prompt)


def send(request: ModelRequest) -> HookResult:
    """Send this request to the model instead."""
    return HookResult(modified_request=request)


def ask(reason: str) -> HookResult:
    """Ask people first. Without an approval gate behind the hooks the call is denied."""
    if not reason.strip():
        raise ValueError("asking needs a reason: the approvers are told it")
    return HookResult(ask=reason)


def route(provider: str, command: str | None = None, **options: Any) -> HookResult:
    """Run `command` (default: the call's own) in the sandbox that is registered under `provider`."""
    return HookResult(route=Routing(provider=provider, command=command, options=options))


def go_on(instruction: str) -> HookResult:
    """At Stop: send the agent back, once, with this instruction."""
    if not instruction.strip():
        raise ValueError("sending the agent back needs an instruction")
    return HookResult(send_back=instruction)
