"""`assent requests reconcile`: what a person found out about a call whose outcome nobody knew."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from app.cli.approver.requests import RequestId, open_desk


def reconcile(
    request_id: RequestId,
    note: Annotated[
        str, typer.Option(help="on what evidence, for the trail: a statement, a receipt", prompt="evidence")
    ],
    *,
    succeeded: Annotated[bool, typer.Option("--succeeded/--failed", help="whether the tool has done it")],
    result: Annotated[str | None, typer.Option(help="what it returned, as JSON or a text, for the agent")] = None,
    error: Annotated[str | None, typer.Option(help="why it failed, for the agent")] = None,
) -> None:
    """Settle an outcome that is unknown, with an admin key. Nothing runs because of it."""
    desk = open_desk()
    body: dict[str, object] = {"status": "succeeded" if succeeded else "failed", "note": note}
    if result is not None:
        body["result"] = _read(result)
    if error is not None:
        body["error"] = error
    desk.post(desk.read(request_id), "reconcile", body)


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
