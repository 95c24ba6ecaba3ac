"""`assent requests approve` and `deny`: exactly what was shown is decided, with what its level takes.

What proves more is asked for here, or read from the standard input, and never an option: those stay in a shell's
history, and in the list of processes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from app.cli.approver.requests import (
    RequestId,
    Shown,
    clean,
    differences,
    end,
    is_problem,
    lines_of,
    open_desk,
    part,
    told,
    warned,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from app.cli.approver.requests import Desk

Yes = Annotated[
    bool, typer.Option("--yes", help="do not ask for the code (for scripts that compare it themselves); L1 alone")
]
_WANTED = {"L1": (), "L2": ("typed",), "L3": ("typed", "totp"), "L4": ("typed", "totp")}
_DIGITS = re.compile(r"[0-9]{6}")


def approve(
    request_id: RequestId,
    reason: Annotated[str | None, typer.Option(help="why, for the trail")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="argument=value, to approve with changes; may be given again")
    ] = None,
    *,
    yes: Yes = False,
) -> None:
    """Approve it: shows the whole call, then asks for its code, and from L3 on for the second factor.

    With --set, approve other arguments instead.
    """
    desk = open_desk()
    request = desk.read(request_id)
    if request["status"] != "pending":
        end(f"it is {request['state']} already: nothing was done", code=1)
    body: Shown = {"verdict": "approve", "digest": request["digest"], **({"reason": reason} if reason else {})}
    changed = _changed(request["arguments"], changes or [])
    typer.echo("\n".join(lines_of(request)))
    if changed is not None:
        body["arguments"] = changed
        for line in differences(request["arguments"], changed):
            typer.echo(f"  changed   {line}")
    for each in warned(request):  # once more, beside the question: what stands above may be pages away
        typer.secho(f"  ⚠ WARNING  {each}", fg=typer.colors.RED, bold=True)
    wanted = _WANTED.get(request["assurance"], ("typed", "totp"))
    if wanted:
        body |= _asked(wanted)
    else:
        _confirm(request, yes=yes)
    told(_sent(desk, request, body))


def deny(
    request_id: RequestId, reason: Annotated[str, typer.Option(help="why; the agent sees it", prompt="why")]
) -> None:
    """Deny it, with the reason that the agent is told; that takes nothing more at any level."""
    open_desk().act(request_id, "decisions", verdict="deny", reason=reason)


def _sent(desk: Desk, request: Shown, body: Shown) -> Shown:
    """Send an approval; what a changed call takes besides is asked for, once."""
    path = f"/{part(request['id'])}/decisions"
    found = desk.call("POST", path, body, unless="step_up_needed")
    if is_problem(found, "step_up_needed"):
        missing = [name for name in cast("list[str]", found.get("missing") or []) if name in {"typed", "totp"}]
        typer.echo(clean(found["detail"]), err=True)
        if not missing or "arguments" not in body:
            raise typer.Exit(code=1)
        found = desk.call("POST", path, {**body, **_asked(missing)})
    return found


def _confirm(request: Shown, *, yes: bool) -> None:
    """Ask for the code that the card shows too, so that nobody approves another request than they mean."""
    if yes:
        return
    from app.domain.card.typed import is_code_right

    typed = typer.prompt(f"type the code to approve ({request['code']})", default="", show_default=False)
    if not is_code_right(request["code"], typed):
        end("that is not its code: nothing was done", code=1)


def _asked(wanted: Collection[str]) -> dict[str, str]:
    """Ask for what an approval takes."""
    given: dict[str, str] = {}
    if "typed" in wanted:
        given["typed"] = typer.prompt("type the amount, or the code, to approve", default="", show_default=False)
    if "totp" in wanted:
        given["totp"] = ask_totp("the six digits that your second factor shows now")
    return given


def ask_totp(question: str) -> str:
    """Ask for six digits; they work once, so they may be seen while they are typed."""
    digits = "".join(str(typer.prompt(question, default="", show_default=False)).split())
    if not _DIGITS.fullmatch(digits):
        end("these are not six digits: nothing was done", code=1)
    return digits


# --- approve with changes ---------------------------------------------------------------------------------------------


def _changed(arguments: Mapping[str, Any], wanted: list[str]) -> Shown | None:
    """Return all the arguments with the wanted ones in place; None: nothing is to be changed."""
    if not wanted:
        return None
    changed: Shown = json.loads(json.dumps(dict(arguments)))
    for each in wanted:
        path, sign, text = each.partition("=")
        if not sign:
            end(f"--set takes argument=value, not {clean(each)}", code=2)
        *way, last = path.split(".")
        place: Shown | None = changed
        for step in way:
            inner: object = place.get(step) if place is not None else None
            place = cast("Shown", inner) if isinstance(inner, dict) else None
        if place is None or last not in place:
            end(f"no argument {clean(path)}: there are {', '.join(map(clean, arguments))}", code=2)
        place[last] = _typed(text, place[last], path)
    return changed


def _typed(text: str, before: object, path: str) -> object:
    """Read a value as the kind of what stood there: a text stays a text, also where it looks like a number."""
    if isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        end(f"--set {clean(path)}: {clean(text)} is no JSON, and what stands there is no text", code=2)
