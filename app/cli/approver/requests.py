"""`assent requests`: what waits for people, and everything an approver does about it, over HTTP with their own key."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer
from msgspec import Struct

from app.domain.request.action import VERBS, Verb
from app.domain.text.language import Language

# Everything else is imported where it runs: `assent check` stands in people's hooks and CI, and must start at once.
if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

requests_app = typer.Typer(no_args_is_help=True, help="Requests that wait for people, decided with your own key.")

RequestId = Annotated[str, typer.Argument(help="the request's id, as the card and `list` show it")]
Note = Annotated[str | None, typer.Option(help="a word about it")]

Shown = dict[str, Any]
_SECONDS = 15.0
_TAKES = {
    "L1": "your approval (L1)",
    "L2": "the amount or the code typed (L2)",
    "L3": "the amount or the code typed, and your second factor (L3)",
    "L4": "two people, each with the amount or the code typed and their second factor (L4)",
}
"""What an approval takes."""


class Desk(Struct, frozen=True, kw_only=True):
    """A line to the gateway, as the person or agent whose key it is."""

    client: httpx2.Client

    def call(
        self,
        method: str,
        path: str,
        body: Shown | None = None,
        *,
        query: Mapping[str, str] | None = None,
        under: str = "/v1/requests",
        unless: str = "",
    ) -> Shown:
        """Return what the gateway answers, or say in a sentence why not and end: 1 for a refusal, 2 for a fault.

        A refusal whose type ends in `unless` is returned as well.
        """
        import httpx2

        from app.domain.text.unreached import why_unreached

        try:
            said = self.client.request(method, f"{under}{path}", json=body, params=query)
            found: object = said.json()
        except (httpx2.HTTPError, ValueError) as fault:
            why = why_unreached(fault) if isinstance(fault, httpx2.HTTPError) else "what answers is no gateway"
            end(f"ASSENT_URL: no gateway answers at {self.client.base_url}: {why}; nothing was done", code=2)
        if not isinstance(found, dict):
            end(f"ASSENT_URL: what answers at {self.client.base_url} is no gateway; nothing was done", code=2)
        answered = cast("Shown", found)  # decoded JSON: the keys of an object are strings
        if said.status_code >= 400 and not (unless and is_problem(answered, unless)):
            end(_problem(answered, said.status_code, under), code=2 if said.status_code in {401, 503} else 1)
        return answered

    def read(self, request_id: str) -> Shown:
        """Return a request as it stands now."""
        return self.call("GET", f"/{part(request_id)}")

    def act(self, request_id: str, verb: str, **body: object) -> Shown:
        """Do something about exactly the request that is read now, and show how it then stands."""
        request = self.read(request_id)
        given = {name: value for name, value in body.items() if value is not None}
        return self.post(request, verb, {**given, "digest": request["digest"]})

    def post(self, request: Shown, verb: str, body: Shown) -> Shown:
        """Do something about a request, and say how it then stands."""
        return told(self.call("POST", f"/{part(request['id'])}/{verb}", body))


def told(found: Shown) -> Shown:
    """Say how a request stands now."""
    typer.echo(f"{_line(found['title'])}: {found['state']}{_progress(found)}")
    return found


def is_problem(found: Mapping[str, Any], code: str) -> bool:
    """Say whether an answer is a refusal of this kind."""
    return found.get("type") == f"urn:assent:problem:{code}"


def open_desk() -> Desk:
    """Open the line that ASSENT_URL and ASSENT_KEY name, or say what is missing and end with 2."""
    import httpx2

    from assent.secret_files import SecretFileError, find_key

    url, key = os.environ.get("ASSENT_URL", ""), ""
    try:
        key = find_key(os.environ) or ""
    except SecretFileError as fault:
        end(str(fault), code=2)
    if not url.startswith(("http://", "https://")):
        end(
            "ASSENT_URL: set it to the gateway's address, such as http://127.0.0.1:8080: `assent serve` says it", code=2
        )
    if not key or not key.isascii() or not key.isprintable():
        end(
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
        asked = f"{_count_warnings(each)}{' (a question is open)' if waits else ''}"
        when = _instant(each["expires_at"])
        typer.echo(f"{each['code']}  {each['id']}  {each['state']:9}  {when}  {_line(each['title'])}{asked}")
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
    typer.echo(json.dumps(request, indent=2, ensure_ascii=True) if as_json else "\n".join(lines_of(request)))


@requests_app.command("withdraw")
def withdraw(request_id: RequestId) -> None:
    """Take your own vote back while the request waits; your approval, until it is claimed."""
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


@requests_app.command("answer")
def answer(
    request_id: RequestId,
    text: Annotated[str, typer.Argument(help="your answer")],
    question: Annotated[str | None, typer.Option(help="the question's id, if several are open")] = None,
) -> None:
    """Answer the open question, as the requester or with the agent's key."""
    desk = open_desk()
    request = desk.read(request_id)
    still = {each["id"]: clean(each["text"]) for each in request["questions"] if each["answer"] is None}
    if question is None and len(still) != 1:
        which = "".join(f"\n  {name}  {asked}" for name, asked in still.items())
        end(f"say which with --question:{which}" if still else "there is no open question", code=1)
    desk.post(request, f"questions/{part(question or next(iter(still)))}/answer", {"text": text})


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


@requests_app.command("lift")
def lift(request_id: RequestId, reason: Annotated[str | None, typer.Option(help="why, for the trail")] = None) -> None:
    """Let the call of a denied request be asked about again, at once; the request itself stays denied."""
    desk = open_desk()
    desk.post(desk.read(request_id), "lift", {"reason": reason} if reason else {})
    typer.echo("the same call is asked about again when the agent makes it")


@requests_app.command("review")
def review(request_id: RequestId) -> None:
    """Print a link to the page that shows all of it; it works once, for five minutes."""
    found = open_desk().call("POST", f"/{part(request_id)}/review-link", {})
    typer.echo(f"{found['url']}\nworks once, until {_instant(found['expires_at'])}")


def _add_plain(verb: Verb) -> None:
    """Make the command of a verb that takes a text, or nothing at all."""

    def write(request_id: RequestId, text: Annotated[str, typer.Argument(help="what you want to say")]) -> None:
        open_desk().act(request_id, verb.route, text=text)

    def press(request_id: RequestId) -> None:
        desk = open_desk()
        desk.post(desk.read(request_id), verb.route, {})

    requests_app.command(verb.command, help=verb.does)(write if verb.blanks else press)


for _verb in VERBS:
    if _verb.plain:
        _add_plain(_verb)


# --- what is shown ----------------------------------------------------------------------------------------------------


def _count_warnings(request: Shown) -> str:
    count = sum(int(each["values"]["count"]) if each["kind"] == "more" else 1 for each in request["warnings"])
    return f" ({count} warning{'s' if count > 1 else ''})" if count else ""


def lines_of(request: Shown) -> list[str]:
    """Say what a person needs, top down: the sentence, the arguments, who asks, why, how far, how long, the code."""
    proof = request.get("requester_proof")
    by = f"; it says: for {clean(request['requester'])} (not verified)" if request["requester"] else ""
    by = f"; for {clean(request['requester'])} (signed in at {clean(proof['issuer'])})" if proof else by
    said = [
        *(("WARNING", told) for told in warned(request)),
        *(("pays", told) for told in _paid(request)),
        *([] if request["allowed_by"] else [("takes", _TAKES.get(request["assurance"], clean(request["assurance"])))]),
        ("asks", f"agent {clean(request['agent'])}{by}"),
        ("why", f"{clean(request['reason'])} (rule {clean(request['rule'] or '-')})"),
        *((clean(name), _value(value)) for name, value in request["arguments"].items()),
        *(("changed", f"by {clean(request['edited_by'])}: {told}") for told in _edits(request)),
        *((f"evidence {each['number']}", _exhibit(each)) for each in request["evidence"]),
        *((f"{clean(each['by'])} asks", clean(each["text"])) for each in request["questions"]),
        *(
            (f"answer of {clean(each['answered_by'])}", f"{clean(each['answer'])} (not verified)")
            for each in request["questions"]
            if each["answer"] is not None
        ),
        *(("handed over", f"{clean(each['by'])} → {clean(each['to'])}") for each in request["handovers"]),
        *(("waits at" if request["state"] == "pending_elsewhere" else "waited at", told) for told in _place(request)),
        *((clean(each["person"]), f"{each['verdict']} on {clean(each['channel'])}") for each in request["decisions"]),
        ("until", _instant(request["expires_at"])),
        ("code", request["code"]),
        ("digest", request["digest"]),
    ]
    head = f"{_line(request['title'])} · {clean(request['tool'])} · {request['state']}{_progress(request)}"
    width = max(len(label) for label, _ in said)
    return [head, *(f"  {label:{width}}  {text}" for label, text in said)]


def warned(request: Shown) -> list[str]:
    """Return the gateway's warnings, which cards and pages show too; their texts are visible already."""
    return [_inert(each["text"]) for each in request["warnings"]]


def _paid(request: Shown) -> list[str]:
    """Say each payment, exactly, and what several come to."""
    from decimal import Decimal

    from app.domain.money.amounts import with_currency

    sums: dict[str, Decimal] = {}
    told: list[str] = []
    for each in request["payments"]:
        currency, reference = each["currency"], each["reference"]
        sums[currency] = sums.get(currency, Decimal(0)) + Decimal(each["amount"])
        more = f", reference {_value(reference)}" if reference is not None else ""
        told.append(f"{clean(with_currency(each['amount'], currency, Language.EN))} → {_value(each['payee'])}{more}")
    if len(told) > 1:
        told.append("in all " + " + ".join(clean(with_currency(f"{sums[code]:f}", code, Language.EN)) for code in sums))
    return told


def _exhibit(each: Shown) -> str:
    """Say what came along. A link is written out, for nobody has looked where it leads."""
    if each["kind"] == "link":
        called = f" (the agent calls it: {clean(each['title'])})" if each["title"] else ""
        return f"{clean(each['url'])}{called}"
    return f"{clean(each['title'])}, {clean(each['media_type'])}, {each['size']} bytes, SHA-256 {clean(each['sha256'])}"


def _place(request: Shown) -> list[str]:
    """Say where it waits, or waited, for the people of the service that carries it out."""
    execution: Shown = request["execution"] or {}
    place: Shown | None = execution.get("elsewhere")
    if place is None:
        return []
    link = f", {clean(place['link'])}" if place["link"] else ""
    return [f"the service, as {clean(place['id'])}{link}"]


def _progress(request: Shown) -> str:
    if request["state"] != "pending":
        return ""
    stages = (f"{each['have']} of {each['need']} {clean(', '.join(each['of']))}" for each in request["stages"])
    return f" ({' + '.join(stages)})"


def _instant(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _value(value: object) -> str:
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def clean(text: object) -> str:
    """Make what came from outside visible, on one line: it can neither turn the text nor begin a line of ours."""
    from app.domain.text.visible import visible

    return _line(visible(str(text)))


def _line(shown: str) -> str:
    """Put on one line what is visible: a title is, as the gateway gives it, and would show its backslashes twice."""
    return _inert(shown.replace("⏎\n", "⏎ "))


def _inert(line: str) -> str:
    return "".join(each if each.isprintable() else f"\\u{{{ord(each):X}}}" for each in line)


def _edits(request: Shown) -> list[str]:
    """Say what people changed of what the agent asked for."""
    proposed: Shown | None = request["proposed"]
    if proposed is None or request["edited_by"] is None:
        return []
    told = differences(proposed, request["arguments"])
    alike = [name for name in request["changed"] if proposed.get(name) == request["arguments"].get(name)]
    return [*told, *(f"{clean(name)}: hidden, and not what it was" for name in alike)]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Say each argument that is not what it was, with both values."""
    names = [name for name in {**before, **after} if (name in before) != (name in after) or before[name] != after[name]]
    there = {name: [_value(each[name]) if name in each else "–" for each in (before, after)] for name in names}
    return [f"{clean(name)}: {was} → {now}" for name, (was, now) in there.items()]


# --- what goes wrong --------------------------------------------------------------------------------------------------


def part(text: object) -> str:
    """Return an id as a part of a path; whatever it is, it leads nowhere else."""
    from urllib.parse import quote

    return quote(str(text), safe="")


def _problem(found: Mapping[str, Any], status: int, under: str) -> str:
    if status == 401:
        return "ASSENT_KEY: the gateway does not know this key: `assent keys list` beside it shows which there are"
    if status == 404 and under.endswith("/requests"):
        return "there is no such request, or question, here"
    told = clean(found.get("detail") or found.get("title") or f"status {status}")
    return f"{told} ({clean(found['path'])})" if found.get("path") else told


def end(why: str, *, code: int) -> NoReturn:
    """Say why a command does not go on, and end it."""
    typer.echo(why, err=True)
    raise typer.Exit(code=code)
