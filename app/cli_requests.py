"""`assent requests`: what waits for people, and everything an approver does about it, over HTTP with their own key."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

# Everything else is imported where it runs: `assent check` stands in people's hooks and CI, and must start at once.
if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

requests_app = typer.Typer(no_args_is_help=True, help="Requests that wait for people, decided with your own key.")

RequestId = Annotated[str, typer.Argument(help="the request's id, as the card and `list` show it")]
Note = Annotated[str | None, typer.Option(help="a word about it")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask for the code (for scripts that compare it themselves)")]

Shown = dict[str, Any]
_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A line to the gateway, as the person or agent whose key it is."""

    client: httpx2.Client

    def call(
        self, method: str, path: str, body: Shown | None = None, *, query: Mapping[str, str] | None = None
    ) -> Shown:
        """Return what the gateway answers, or say in a sentence why not and end: 1 for a refusal, 2 for a fault."""
        import httpx2

        try:
            said = self.client.request(method, f"/v1/requests{path}", json=body, params=query)
            found: object = said.json()
        except (httpx2.HTTPError, ValueError) as fault:
            _end(f"ASSENT_URL: no gateway answers there ({type(fault).__name__}); nothing was done", code=2)
        if not isinstance(found, dict):
            _end("ASSENT_URL: what answers there is no gateway; nothing was done", code=2)
        answered = cast("Shown", found)  # decoded JSON: the keys of an object are strings
        if said.status_code >= 400:
            _end(_problem(answered, said.status_code), code=2 if said.status_code in {401, 503} else 1)
        return answered

    def read(self, request_id: str) -> Shown:
        """Return a request as it stands now."""
        return self.call("GET", f"/{_part(request_id)}")

    def act(self, request_id: str, verb: str, **body: object) -> Shown:
        """Do something about exactly the request that is read now, and show how it then stands."""
        request = self.read(request_id)
        given = {name: value for name, value in body.items() if value is not None}
        return self.post(request, verb, {**given, "digest": request["digest"]})

    def post(self, request: Shown, verb: str, body: Shown) -> Shown:
        """Do something about a request, and say how it then stands."""
        found = self.call("POST", f"/{_part(request['id'])}/{verb}", body)
        typer.echo(f"{_clean(found['title'])}: {found['state']}{_progress(found)}")
        return found


def open_desk() -> Desk:
    """Open the line that ASSENT_URL and ASSENT_KEY name, or say what is missing and end with 2."""
    import httpx2

    url, key = os.environ.get("ASSENT_URL", ""), os.environ.get("ASSENT_KEY", "")
    if not url.startswith(("http://", "https://")):
        _end("ASSENT_URL: set it to the gateway's address, such as https://assent.acme.example", code=2)
    if not key or not key.isascii() or not key.isprintable():
        _end(
            "ASSENT_KEY: set it to your own key (an administrator makes it: assent keys create --scope approver)",
            code=2,
        )
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
    # Proxies named in the environment are not used: none of them may stand in for the gateway.
    return Desk(client=httpx2.Client(base_url=url.rstrip("/"), headers=headers, timeout=_SECONDS, trust_env=False))


@requests_app.command("list")
def list_requests(
    *,
    every: Annotated[bool, typer.Option("--all", help="also those that are settled")] = False,
    limit: Annotated[int, typer.Option(help="how many, the newest first", min=1, max=200)] = 50,
) -> None:
    """List what waits for a decision: code, id, deadline (UTC) and title."""
    query = {"limit": str(limit)} if every else {"limit": str(limit), "status": "pending"}
    page = open_desk().call("GET", "", query=query)
    for each in page["items"]:
        waits = each["status"] == "pending" and any(one["answer"] is None for one in each["questions"])
        asked = " (a question is open)" if waits else ""
        when = _instant(each["expires_at"])
        typer.echo(f"{each['code']}  {each['id']}  {each['state']:9}  {when}  {_clean(each['title'])}{asked}")
    if not page["items"]:
        typer.echo("nothing waits" if not every else "there are none")
    elif page["next_cursor"]:
        typer.echo(f"there are more than {limit}: --limit shows more")


@requests_app.command("show")
def show(
    request_id: RequestId,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="the gateway's answer as it is")] = False,
) -> None:
    """Show one request: what it would do, who asks and why, who has agreed, how long is left."""
    request = open_desk().read(request_id)
    typer.echo(json.dumps(request, indent=2, ensure_ascii=True) if as_json else "\n".join(_lines(request)))


@requests_app.command("approve")
def approve(
    request_id: RequestId,
    reason: Annotated[str | None, typer.Option(help="why, for the trail")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="argument=value, to approve with changes; may be given again")
    ] = None,
    *,
    yes: Yes = False,
) -> None:
    """Approve it: shows the whole call, then asks for its code. With --set, approve other arguments instead."""
    desk = open_desk()
    request = desk.read(request_id)
    _refuse_settled(request)
    body: Shown = {"verdict": "approve", "digest": request["digest"], **({"reason": reason} if reason else {})}
    changed = _changed(request["arguments"], changes or [])
    typer.echo("\n".join(_lines(request)))
    if changed is not None:
        body["arguments"] = changed
        for told in _differences(request["arguments"], changed):
            typer.echo(f"  changed   {told}")
    _confirm(request, yes=yes)
    desk.post(request, "decisions", body)


@requests_app.command("deny")
def deny(
    request_id: RequestId, reason: Annotated[str, typer.Option(help="why; the agent sees it", prompt="why")]
) -> None:
    """Deny it, with the reason that the agent is told."""
    open_desk().act(request_id, "decisions", verdict="deny", reason=reason)


@requests_app.command("withdraw")
def withdraw(request_id: RequestId) -> None:
    """Take your own vote back, while the request waits."""
    open_desk().act(request_id, "decisions", verdict="withdraw")


@requests_app.command("hand-over")
def hand_over(
    request_id: RequestId, to: Annotated[str, typer.Option(help="e-mail of who decides instead")], note: Note = None
) -> None:
    """Let somebody else decide in your place; your own vote is taken back."""
    open_desk().act(request_id, "handover", to=to, note=note)


@requests_app.command("add")
def add(
    request_id: RequestId, person: Annotated[str, typer.Option(help="e-mail of who must agree too")], note: Note = None
) -> None:
    """Let somebody else have to approve as well."""
    open_desk().act(request_id, "approvers", person=person, note=note)


@requests_app.command("ask")
def ask(request_id: RequestId, text: Annotated[str, typer.Argument(help="what you want to know")]) -> None:
    """Ask the agent and the requester; `show` has the answer once there is one."""
    open_desk().act(request_id, "questions", text=text)


@requests_app.command("answer")
def answer(
    request_id: RequestId,
    text: Annotated[str, typer.Argument(help="your answer")],
    question: Annotated[str | None, typer.Option(help="the question's id, if several are open")] = None,
) -> None:
    """Answer the open question, as the requester or with the agent's key."""
    desk = open_desk()
    request = desk.read(request_id)
    still = {each["id"]: _clean(each["text"]) for each in request["questions"] if each["answer"] is None}
    if question is None and len(still) != 1:
        which = "".join(f"\n  {name}  {asked}" for name, asked in still.items())
        _end(f"say which with --question:{which}" if still else "there is no open question", code=1)
    desk.post(request, f"questions/{_part(question or next(iter(still)))}/answer", {"text": text})


@requests_app.command("remind")
def remind(request_id: RequestId) -> None:
    """Remind those who have not decided yet."""
    desk = open_desk()
    desk.post(desk.read(request_id), "remind", {})


@requests_app.command("extend")
def extend(request_id: RequestId) -> None:
    """Give people more time: as long again as they had at first."""
    desk = open_desk()
    found = desk.post(desk.read(request_id), "extend", {})
    typer.echo(f"decide by {_instant(found['expires_at'])}")


@requests_app.command("reopen")
def reopen(request_id: RequestId) -> None:
    """Ask again for what expired; prints the new request."""
    desk = open_desk()
    found = desk.post(desk.read(request_id), "reopen", {})
    typer.echo(f"new request {found['id']}, code {found['code']}")


@requests_app.command("review")
def review(request_id: RequestId) -> None:
    """Print a link to the page that shows all of it; it works once, for five minutes."""
    found = open_desk().call("POST", f"/{_part(request_id)}/review-link", {})
    typer.echo(f"{found['url']}\nworks once, until {_instant(found['expires_at'])}")


# --- what is shown ----------------------------------------------------------------------------------------------------


def _lines(request: Shown) -> list[str]:
    """Say what a person needs, top down: the sentence, the arguments, who asks, why, how far, how long, the code."""
    by = f", for {_clean(request['requester'])}" if request["requester"] else ""
    said = [
        ("asks", f"agent {_clean(request['agent'])}{by}"),
        ("why", f"{_clean(request['reason'])} (rule {_clean(request['rule'] or '-')})"),
        *((_clean(name), _value(value)) for name, value in request["arguments"].items()),
        *(("changed", f"by {_clean(request['edited_by'])}: {told}") for told in _edits(request)),
        *((f"{_clean(each['by'])} asks", _clean(each["text"])) for each in request["questions"]),
        *(
            (f"answer of {_clean(each['answered_by'])}", f"{_clean(each['answer'])} (not verified)")
            for each in request["questions"]
            if each["answer"] is not None
        ),
        *(("handed over", f"{_clean(each['by'])} → {_clean(each['to'])}") for each in request["handovers"]),
        *((_clean(each["person"]), f"{each['verdict']} on {_clean(each['channel'])}") for each in request["decisions"]),
        ("until", _instant(request["expires_at"])),
        ("code", request["code"]),
        ("digest", request["digest"]),
    ]
    head = f"{_clean(request['title'])} · {_clean(request['tool'])} · {request['state']}{_progress(request)}"
    width = max(len(label) for label, _ in said)
    return [head, *(f"  {label:{width}}  {text}" for label, text in said)]


def _progress(request: Shown) -> str:
    if request["state"] != "pending":
        return ""
    stages = (f"{each['have']} of {each['need']} {_clean(', '.join(each['of']))}" for each in request["stages"])
    return f" ({' + '.join(stages)})"


def _instant(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _value(value: object) -> str:
    return _clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _clean(text: object) -> str:
    """Make what came from outside visible, on one line: it can neither turn the text nor begin a line of ours."""
    from app.domain.visible import visible

    line = visible(str(text)).replace("⏎\n", "⏎ ")
    return "".join(each if each.isprintable() else f"\\u{{{ord(each):X}}}" for each in line)


def _refuse_settled(request: Shown) -> None:
    if request["status"] != "pending":
        _end(f"it is {request['state']} already: nothing was done", code=1)


def _confirm(request: Shown, *, yes: bool) -> None:
    """Ask for the code that the card shows too, so that nobody approves another request than they mean."""
    if yes:
        return
    typed = typer.prompt(f"type the code to approve ({request['code']})", default="", show_default=False)
    if typed.strip().upper() != request["code"]:
        _end("that is not its code: nothing was done", code=1)


# --- approve with changes ---------------------------------------------------------------------------------------------


def _changed(arguments: Mapping[str, Any], wanted: list[str]) -> Shown | None:
    """Return all the arguments with the wanted ones in place; None: nothing is to be changed."""
    if not wanted:
        return None
    changed: Shown = json.loads(json.dumps(dict(arguments)))
    for each in wanted:
        path, sign, text = each.partition("=")
        if not sign:
            _end(f"--set takes argument=value, not {_clean(each)}", code=2)
        *way, last = path.split(".")
        place: Shown | None = changed
        for step in way:
            inner: object = place.get(step) if place is not None else None
            place = cast("Shown", inner) if isinstance(inner, dict) else None
        if place is None or last not in place:
            _end(f"no argument {_clean(path)}: there are {', '.join(map(_clean, arguments))}", code=2)
        place[last] = _typed(text, place[last], path)
    return changed


def _typed(text: str, before: object, path: str) -> object:
    """Read a value as the kind of what stood there: a text stays a text, also where it looks like a number."""
    if isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        _end(f"--set {_clean(path)}: {_clean(text)} is no JSON, and what stands there is no text", code=2)


def _edits(request: Shown) -> list[str]:
    """Say what people changed of what the agent asked for."""
    proposed: Shown | None = request["proposed"]
    if proposed is None or request["edited_by"] is None:
        return []
    told = _differences(proposed, request["arguments"])
    alike = [name for name in request["changed"] if proposed.get(name) == request["arguments"].get(name)]
    return [*told, *(f"{_clean(name)}: hidden, and not what it was" for name in alike)]


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    names = [name for name in {**before, **after} if (name in before) != (name in after) or before[name] != after[name]]
    there = {name: [_value(each[name]) if name in each else "–" for each in (before, after)] for name in names}
    return [f"{_clean(name)}: {was} → {now}" for name, (was, now) in there.items()]


# --- what goes wrong --------------------------------------------------------------------------------------------------


def _part(text: object) -> str:
    """Return an id as a part of a path; whatever it is, it leads nowhere else."""
    from urllib.parse import quote

    return quote(str(text), safe="")


def _problem(found: Mapping[str, Any], status: int) -> str:
    if status == 401:
        return "ASSENT_KEY: the gateway does not know this key"
    if status == 404:
        return "there is no such request, or question, here"
    told = _clean(found.get("detail") or found.get("title") or f"status {status}")
    return f"{told} ({_clean(found['path'])})" if found.get("path") else told


def _end(why: str, *, code: int) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(code=code)
