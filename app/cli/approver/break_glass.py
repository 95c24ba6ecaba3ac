"""`assent break-glass`: for an emergency, with one's own key. Two people, a reason, an hour at most, a review after."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app.cli.approver.decide import ask_totp
from app.cli.approver.requests import Desk, Shown, clean, is_problem, open_desk, part
from app.cli.approver.standing_approvals import Most, confirm_scope, found_in, instant, say_end

break_glass_app = typer.Typer(no_args_is_help=True, help="For an emergency: calls run without anybody being asked.")
_GLASS = "/v1/break-glass"

GlassId = Annotated[str, typer.Argument(help="its id, as `assent break-glass list` shows it")]


@break_glass_app.command("ask")
def ask(
    reason: Annotated[str, typer.Option(help="why; everybody is shown it")],
    minutes: Annotated[int, typer.Option(help="for how long", min=1, max=60)],
    tool: Annotated[list[str], typer.Option(help="a tool or a pattern; may be given several times")],
    agent: Annotated[str | None, typer.Option(help="only this agent")] = None,
) -> None:
    """Ask to break the glass; a second person confirms it within a quarter of an hour."""
    body = {"reason": reason, "minutes": minutes, "tools": tool, **({"agent": agent} if agent else {})}
    asked = _with_factor(open_desk(), "", body)
    typer.echo(clean(asked["scope"]))
    typer.echo(f"nothing holds yet. A second person confirms it: assent break-glass confirm {clean(asked['id'])}")


@break_glass_app.command("confirm")
def confirm(
    glass_id: GlassId,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask (for scripts that have read it)")] = False,
) -> None:
    """Read what was asked for, and break the glass as the second person."""
    desk = open_desk()
    found = found_in(desk, _GLASS, glass_id)
    confirm_scope(found, yes=yes)
    broken = _with_factor(desk, f"/{part(glass_id)}/confirm", {"digest": found["digest"]})
    typer.echo(
        f"THE GLASS IS BROKEN until {instant(broken['until'])}; end it earlier: assent break-glass end {glass_id}"
    )


@break_glass_app.command("end")
def end_early(glass_id: GlassId) -> None:
    """End it early, as one of the two; what was not run yet is taken back."""
    _say(open_desk().call("POST", f"/{part(glass_id)}/end", {}, under=_GLASS))


@break_glass_app.command("review")
def review(glass_id: GlassId, note: Annotated[str, typer.Option(help="what you found")]) -> None:
    """Say what you found in all that was done under it, as somebody of the file's `review` who was neither."""
    _say(open_desk().call("POST", f"/{part(glass_id)}/review", {"note": note}, under=_GLASS))


@break_glass_app.command("list")
def list_glasses(*, limit: Most = 50) -> None:
    """List when the glass was broken, by whom and why; what nobody has reviewed yet comes first."""
    page = open_desk().call("GET", "", under=_GLASS, query={"limit": str(limit)})
    for each in page["items"]:
        _say(each)
    say_end(page, limit, none="it was never broken")


def _with_factor(desk: Desk, path: str, body: Shown) -> Shown:
    """Send it; where it takes a code of the second factor, ask for one, once."""
    found = desk.call("POST", path, body, under=_GLASS, unless="step_up_needed")
    if not is_problem(found, "step_up_needed"):
        return found
    typer.echo(clean(found["detail"]), err=True)
    if not found.get("missing"):
        raise typer.Exit(code=1)
    totp = ask_totp("the six digits that your second factor shows now")
    return desk.call("POST", path, {**body, "totp": totp}, under=_GLASS)


def _say(glass: dict[str, Any]) -> None:
    by = f"{clean(glass['proposed_by'])} and {clean(glass['confirmed_by'] or 'nobody yet')}"
    typer.echo(f"{clean(glass['id'])}  {'ended' if glass['revoked_by'] else glass['state']}, {_reviewed(glass)}")
    typer.echo(f"  {clean(glass['scope'])}")
    until = f"ended {instant(glass['revoked_at'])}" if glass["revoked_by"] else f"until {instant(glass['until'])}"
    used = "once" if glass["used"] == 1 else f"{glass['used']} times"
    spent = "".join(f", {clean(code)} {clean(amount)}" for code, amount in glass["spent"].items())
    typer.echo(f"  by {by}, {until}, used {used}{spent}: {clean(glass['reason'])}")


def _reviewed(glass: dict[str, Any]) -> str:
    if glass["confirmed_by"] is None:
        return "never broken"
    if glass["reviewed_by"] is None:
        return "NOT REVIEWED YET"
    return f"reviewed by {clean(glass['reviewed_by'])}: {clean(glass['review'])}"
