"""`assent requests evidence`: save one file that a call brought along, as it was approved."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from app.cli.approver.requests import RequestId, clean, end, open_desk, part

if TYPE_CHECKING:
    from app.cli.approver.requests import Desk


def evidence(
    request_id: RequestId,
    number: Annotated[int, typer.Argument(help="which of its evidence, as `show` counts them", min=1, max=99)],
    out: Annotated[Path, typer.Option(help="where to; nothing that is there is written over")],
) -> None:
    """Save a file of a request's evidence. It comes from the agent, and nobody has looked into it."""
    desk = open_desk()
    request = desk.read(request_id)
    found = next((each for each in request["evidence"] if each["number"] == number), None)
    if found is None or found["kind"] != "file":
        end("it is a link" if found else f"it brought along {len(request['evidence'])}; see `show`", code=1)
    content = _fetched(desk, request_id, number)
    if hashlib.sha256(content).hexdigest() != found["sha256"]:
        end("what came is not the file that the request names: nothing was saved", code=1)
    try:
        with out.open("xb") as file:
            file.write(content)
    except OSError as fault:
        end(f"--out: {fault.strerror}: {out}", code=2)
    typer.echo(f"{clean(found['title'])} ({clean(found['media_type'])}, {len(content)} bytes) is saved as {out}")


def _fetched(desk: Desk, request_id: str, number: int) -> bytes:
    import httpx2

    try:
        said = desk.client.get(f"/v1/requests/{part(request_id)}/evidence/{number}", headers={"Accept": "*/*"})
    except httpx2.HTTPError as fault:
        end(f"ASSENT_URL: the gateway went away: {type(fault).__name__}; nothing was saved", code=2)
    if said.status_code != 200:
        try:
            told = cast("dict[str, Any]", said.json()).get("detail")
        except (ValueError, AttributeError):
            told = None
        end(clean(told or f"status {said.status_code}"), code=1)
    return said.content
