"""The console's page of a request in the gallery: as the gateway sends it, on a phone and a desk, in both languages."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.console.deciding import values_of
from app.console.pages import SERVED, draw, static_text
from app.domain.request.request import State
from app.domain.text.language import Language
from app.domain.trail.audit import AuditEvent, Kind, Record
from app.domain.trail.chain import GENESIS, link
from app.usecases.console.decide_page import DecidePage
from app.usecases.console.glance import MayDo, glance_of
from app.usecases.reading.review_sheet import sheet_for
from examples.gallery_catalogue import ASKED_AT, WANG, hostile, policy_of
from examples.gallery_consulting import added, answered, changed, handed_over
from examples.gallery_palette import shrink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from playwright.async_api import Browser, ConsoleMessage, Route
    from starlette.responses import Response

    from app.domain.request.request import ConfirmationRequest

_ORIGIN = "http://review.localhost"
SIZES = {"phone": (390, 844), "desk": (1200, 900)}
_HOSTILE = "look-alike payee, turned account"


async def pages(language: Language) -> list[tuple[str, Response]]:
    """Return the name of each page, and the page as the gateway sends it."""
    shown = {
        "consulted": _consulted(language),
        "hostile": next(exhibit.request for exhibit in hostile(language) if exhibit.name == _HOSTILE),
    }
    return [(name, await _page(request, language)) for name, request in shown.items()]


async def _page(request: ConfirmationRequest, language: Language) -> Response:
    pending = request.state is State.PENDING
    may = MayDo(approve=pending, deny=pending)
    found = DecidePage(
        sheet=sheet_for(request, _trail(request), policy_of(), language, reader=WANG),
        glance=glance_of(request, policy_of(), language, now=ASKED_AT + timedelta(minutes=3), may=may),
        press="p1",
        stands="",
        by_app=True,
        by_passkey=False,
        head=0,
    )
    return await draw("decide.html", language, {"base": "", "root": "/", **values_of(found, language)})


async def draw_pages(browser: Browser, folder: Path, *, dark: bool = False) -> list[Path]:
    """Draw every page in every size; return the pictures. Raises AssertionError for a page that a browser dislikes."""
    drawn: list[Path] = []
    for size, (width, height) in SIZES.items():
        scheme = "dark" if dark else "light"
        tab = await browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        complaints: list[str] = []
        tab.on("console", partial(_complain, complaints))  # a style or script that the page's own policy forbids
        tab.on("pageerror", lambda error, said=complaints: said.append(str(error)))
        for language, (name, page) in [(each, named) for each in Language for named in await pages(each)]:
            await tab.route("**/*", partial(_send, page))
            await tab.goto(f"{_ORIGIN}/{name}")
            wide = await tab.evaluate("document.documentElement.scrollWidth")
            if wide > width or complaints:
                raise AssertionError(f"{name}: {wide} wide of {width}, {complaints}")
            target = folder / f"review-{name}-{language}-{size}.png"
            shot = await tab.screenshot(full_page=False)
            await tab.unroute("**/*")
            await tab.goto("about:blank")  # the camera reads the picture back, which the page's policy forbids
            target.write_bytes(await shrink(tab, shot))
            drawn.append(target)
        await tab.close()
    return drawn


def _complain(complaints: list[str], said: ConsoleMessage) -> None:
    if "favicon" not in said.text:
        complaints.append(f"{said.text} ({said.location['url']})")


async def _send(page: Response, route: Route) -> None:
    if route.request.resource_type == "document":
        await route.fulfill(status=page.status_code, headers=dict(page.headers), body=bytes(page.body))
        return
    name = route.request.url.rpartition("/")[2].partition("?")[0]
    if name in SERVED:
        await route.fulfill(status=200, content_type=SERVED[name], body=static_text(name))
    elif name in {"favicon.ico", "live"}:
        await route.fulfill(status=204)  # browsers ask for the one, our script for the other: nothing moves here
    else:
        await route.abort()


def _consulted(language: Language) -> ConfirmationRequest:
    """Return one request on which people have done all that can be done before they decide."""
    more = added(language)
    given = handed_over(language)
    return replace(
        changed(language),
        decisions=more.decisions,
        questions=answered(language).questions,
        handovers=given.handovers,
        stages=more.stages,
    )


def _trail(request: ConfirmationRequest) -> list[AuditEvent]:
    """Return a trail that fits a request."""
    facts: dict[str, object] = {"tool": request.call.tool, "rule": request.rule_id}
    records = [
        Record(kind=Kind.CREATED, actor="agent:payer", facts=facts),
        Record(kind=Kind.CARD_POSTED, actor="system", facts={"channel": "pay-feishu"}),
    ]
    for question in request.questions:
        records.append(Record(kind=Kind.ASKED_BACK, actor=question.by, facts={"text": question.text}))
        records.append(Record(kind=Kind.ANSWERED, actor="agent:payer", facts={"text": question.answer}))
    voted = {"channel": "pay-feishu", "verdict": "approve"}
    records += [Record(kind=Kind.VOTE, actor=each.person, facts=voted) for each in request.decisions]
    if request.settlement is not None:
        facts = {"channel": "pay-feishu", "reason": request.settlement.reason}
        records.append(Record(kind=Kind.DENIED, actor=request.settlement.by, facts=facts))
    return list(_linked(records, request.id))


def _linked(records: Iterable[Record], request_id: str) -> Iterator[AuditEvent]:
    before = GENESIS
    for seq, record in enumerate(records):
        at = ASKED_AT + timedelta(minutes=7 * seq, seconds=4)
        event = link(
            record,
            org="acme",
            seq=seq,
            event_id=f"evt_{seq}",
            at=at,
            request_id=request_id,
            request_version=None,
            prev_hash=before,
        )
        before = event.hash
        yield event
