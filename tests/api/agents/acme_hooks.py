"""The hooks that acme's file names in the tests of the hooks' door."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from assent.hooks.contract.hook import UserPromptSubmitHook
from assent.hooks.contract.verdicts import (
    HookResult,
    allow,
    ask,
    deny,
    go_on,
    modify,
    replace_result,
    rewrite,
    route,
    send,
)

if TYPE_CHECKING:
    from assent.hooks.contract.context import HookContext

SEEN: list[HookContext] = []
"""What the hook `see` was shown; a test empties it first."""


def see(ctx: HookContext) -> None:
    SEEN.append(replace(ctx, metadata=dict(ctx.metadata)))


def by_note(ctx: HookContext) -> HookResult | None:  # noqa: PLR0911 - one case a verdict
    """Do what the call's own `note` says."""
    match ctx.args.get("note"):
        case "deny":
            return deny("the note says so: DE02-SECRET")
        case "halve":
            return modify({**ctx.args, "amount": int(ctx.args["amount"]) // 2, "note": "halved"})
        case "misfit":
            return modify({**ctx.args, "amount": 1.5, "note": "misfit"})
        case "ask":
            return ask("the note wants people")
        case "route":
            return route("local", "make pay", network=False)
        case "crash":
            raise RuntimeError("no such table")
        case "context":
            return allow().with_context("the ledger is closed").with_tags(ledger="closed").hiding_output()
        case "facts":
            return allow().with_side_effects(score=7, share=0.5, größe="L")
        case "mutate":
            ctx.args["amount"] = 1  # type: ignore[index] - what no hook may do
            return None
        case _:
            return None


def crash(ctx: HookContext) -> None:
    raise RuntimeError(f"the check of {ctx.tool_name} is broken")


async def hang(ctx: HookContext) -> None:
    await asyncio.Event().wait()


def forbid(ctx: HookContext) -> HookResult:
    return deny(f"not for {ctx.agent}")


def tidy_prompt(ctx: HookContext) -> HookResult | None:
    if "secret" in ctx.prompt:
        return deny("secrets stay here")
    return rewrite(ctx.prompt.strip()).with_tags(checked=True).with_context("be brief")


def cheaper(ctx: HookContext) -> HookResult | None:
    if ctx.request is None:
        raise TypeError("no request")
    if ctx.request.model == "forbidden":
        return deny("this model is not ours")
    if ctx.request.provider == "elsewhere":
        return deny("this provider is not ours")
    return send(replace(ctx.request, model="small", system=f"{ctx.request.system}!"))


def clean(ctx: HookContext) -> HookResult | None:
    if ctx.result == "secret":
        return deny("it holds a secret")
    if ctx.result == "torn":
        return replace_result({"half": "\ud800", "when": ctx.timestamp, "much": float("inf")})
    return replace_result("cleaned") if ctx.result == "dirty" else None


def start(ctx: HookContext) -> HookResult:
    return allow().with_context(f"a {ctx.source} session")


def once_more(ctx: HookContext) -> HookResult:
    return go_on("run the tests first")


class Polite(UserPromptSubmitHook):
    """Blocks what is rude."""

    name = "polite"

    def __init__(self, *, word: str = "rude") -> None:
        self._word = word

    async def execute(self, ctx: HookContext) -> HookResult | None:
        return deny("be polite") if self._word in ctx.prompt else None
