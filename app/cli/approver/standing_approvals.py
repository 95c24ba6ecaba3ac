"""`assent standing`: standing approvals, proposed, confirmed by somebody else, listed and ended with one's own key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from app.cli.approver.requests import Desk, clean, end, open_desk, part

standing_app = typer.Typer(no_args_is_help=True, help="Standing approvals: narrow, counted, made by two people.")
_STANDING = "/v1/standing-approvals"
_UNITS = {"m": 60, "h": 3_600, "d": 86_400}

StandingId = Annotated[str, typer.Argument(help="its id, as `assent standing list` shows it")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask (for scripts that have read it)")]
Most = Annotated[int, typer.Option("--limit", help="how many", min=1, max=200)]
Amounts = Annotated[list[str] | None, typer.Option(help="such as CNY=500; once a currency")]

Shown = dict[str, Any]


@standing_app.command("list")
def list_standing(*, limit: Most = 50) -> None:
    """List them: who made each, what it allows, how often and for how much it was used, and until when it holds."""
    page = open_desk().call("GET", "", under=_STANDING, query={"limit": str(limit)})
    for each in page["items"]:
        for line in _lines(each):
            typer.echo(line)
    say_end(page, limit, none="there are none")


@standing_app.command("propose")
def propose(  # noqa: PLR0917 - options of a command
    request_id: Annotated[str, typer.Argument(help="a request that people approved: such calls, and no others")],
    uses: Annotated[int, typer.Option(help="how often at most", min=1)],
    lasts: Annotated[str, typer.Option(help="how long from now on, such as 45m, 8h or 5d")],
    each: Amounts = None,
    total: Amounts = None,
    reason: Annotated[str, typer.Option(help="why, for the trail")] = "",
    *,
    session: Annotated[bool, typer.Option("--session", help="only in the session of that request")] = False,
) -> None:
    """Propose one; it says what it would allow. Nothing is allowed before a second person has confirmed it."""
    body = {
        "request": request_id,
        "uses": uses,
        "lasts_seconds": seconds_of(lasts),
        "each": _amounts(each, "--each"),
        "total": _amounts(total, "--total"),
        "session": session,
        "reason": reason,
    }
    made = open_desk().call("POST", "", body, under=_STANDING)
    typer.echo(clean(made["scope"]))
    typer.echo(f"proposed; nothing holds yet. A second person confirms it: assent standing confirm {clean(made['id'])}")


@standing_app.command("confirm")
def confirm(standing_id: StandingId, *, yes: Yes = False) -> None:
    """Read what a proposed one allows, and put it in force as its second person."""
    desk = open_desk()
    found = found_in(desk, _STANDING, standing_id)
    confirm_scope(found, yes=yes)
    made = desk.call("POST", f"/{part(standing_id)}/confirm", {"digest": found["digest"]}, under=_STANDING)
    typer.echo(f"{clean(made['id'])}: {made['state']} until {instant(made['until'])}")


@standing_app.command("revoke")
def revoke(standing_id: StandingId) -> None:
    """End one for good: from the answer on every call asks people again, and what was not run yet is taken back."""
    ended = open_desk().call("DELETE", f"/{part(standing_id)}", under=_STANDING)
    typer.echo(f"{clean(ended['id'])}: {ended['state']}")


def say_end(page: Shown, limit: int, *, none: str) -> None:
    """Say that a list is empty, or that it goes on."""
    if not page["items"]:
        typer.echo(none)
    elif page["next_cursor"]:
        typer.echo(f"there are more than {limit}: --limit shows more")


def found_in(desk: Desk, under: str, permit_id: str) -> Shown:
    """Return one of those that the gateway lists, page by page, or say that there is none and end with 1."""
    query = {"limit": "200"}
    while True:
        page = desk.call("GET", "", under=under, query=query)
        found: Shown | None = next((each for each in page["items"] if each["id"] == permit_id), None)
        if found is not None:
            return found
        if not page["next_cursor"]:
            end("there is none of this id here: nothing was done", code=1)
        query["cursor"] = page["next_cursor"]


def confirm_scope(found: Shown, *, yes: bool) -> None:
    """Show what is about to hold, and who wants it, and ask; anything but a yes ends with 1."""
    typer.echo(clean(found["scope"]))
    typer.echo(f"proposed by {clean(found['proposed_by'])}{': ' + clean(found['reason']) if found['reason'] else ''}")
    if not yes and not typer.confirm("is this what you want to allow?", default=False):
        end("nothing was done", code=1)


def instant(text: str | None) -> str:
    """Write an instant of the wire for people."""
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if text else "never"


def seconds_of(text: str) -> int:
    """Read a span such as 45m; ends with 2 for anything else."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdigit() or len(number) > 6 or not int(number):
        end(f"a time is a number with m, h or d, such as 45m, not {clean(text)}", code=2)
    return int(number) * _UNITS[unit]


def _amounts(given: list[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given or []:
        currency, sign, amount = each.partition("=")
        if not sign or currency in found:
            end(f"{option} takes a currency and an amount, once a currency, such as CNY=500", code=2)
        found[currency] = amount
    return found


def _lines(standing: Shown) -> list[str]:
    """Say what a person needs to know of one."""
    spent = ", ".join(f"{clean(code)} {clean(amount)}" for code, amount in standing["spent"].items())
    used = f"used {standing['used']} of {standing['uses'] if standing['uses'] is not None else '?'}"
    second = "" if standing["kind"] == "session" else f" and {clean(standing['confirmed_by'] or 'nobody yet')}"
    by = f"{clean(standing['proposed_by'])}{second}"
    return [
        f"{clean(standing['id'])}  {standing['state']}",
        f"  {clean(standing['scope'])}",
        f"  {used}{f', {spent} in all' if spent else ''}, last {instant(standing['last_used_at'])}; by {by}",
        *([f"  why: {clean(standing['reason'])}"] if standing["reason"] else []),
    ]
