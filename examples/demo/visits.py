"""What people do in the console: a browser for each, which signs in by a link and keeps its cookies.

The gateway's pages refuse to be put into a frame, here as in production. So the demo looks at them as any browser does,
and shows what it saw as a drawing without scripts; what is pressed there is sent as that browser would send it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2

from app.console.pages import static_text
from app.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.demo.stage import Stage, Visitor

_TAGS = {"en": "en", "zh": "zh-CN"}
_SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*>')
_WAITS_SECONDS = 10.0  # a press waits for its commit
_MOST_HOPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A page as one person saw it: `status` is 0 when the gateway did not answer, and `html` is "" then."""

    path: str
    status: int
    html: str


class Visits:
    """Everybody's browsers."""

    def __init__(self, stage: Stage) -> None:
        """Open none yet."""
        self._stage = stage
        self._browsers: dict[str, httpx2.AsyncClient] = {}

    async def look(self, visitor: Visitor, path: str) -> Seen:
        """Look at a page. Somebody whom the file knows is signed in before, if they are not."""
        try:
            seen = await self._send(visitor, "GET", path)
            if seen.status == 401 and visitor.known:
                await self._sign_in(visitor)
                seen = await self._send(visitor, "GET", path)
        except (httpx2.HTTPError, UnavailableError):  # the gateway, or its database, has no time for us
            return Seen(path=path, status=0, html="")
        return seen

    async def press(self, visitor: Visitor, path: str, fields: Mapping[str, str]) -> Seen:
        """Send a form of the page that was looked at, and return what comes then."""
        try:
            seen = await self._send(visitor, "POST", path, fields)
        except httpx2.HTTPError:
            return Seen(path=path, status=0, html="")
        authenticator = self._stage.authenticators.get(visitor.key)
        if authenticator is not None and (code := "".join(fields.get("totp", "").split())) == authenticator.now()[0]:
            authenticator.used = code
        return seen

    async def close(self) -> None:
        """Close every browser."""
        for browser in self._browsers.values():
            await browser.aclose()

    async def _sign_in(self, visitor: Visitor) -> None:
        link = urlsplit(await self._stage.beside.link(visitor.email))
        await self._send(visitor, "POST", link.path, {"t": parse_qs(link.query)["t"][0]})

    async def _send(self, visitor: Visitor, method: str, path: str, fields: Mapping[str, str] | None = None) -> Seen:
        browser = self._browsers.get(visitor.key)
        if browser is None:
            browser = httpx2.AsyncClient(base_url=self._stage.url, trust_env=False, timeout=_WAITS_SECONDS)
            self._browsers[visitor.key] = browser
        headers = {"Accept-Language": _TAGS[self._stage.language], "Origin": self._stage.url}
        answer = await browser.request(method, path, data=fields and dict(fields), headers=headers)
        for _ in range(_MOST_HOPS):
            if answer.status_code != 303:
                break
            path = answer.headers["location"]
            answer = await browser.get(path, headers=headers)
        return Seen(path=path, status=answer.status_code, html=_drawing(answer.text))


def style() -> str:
    """Return the pages' one style sheet, as the gateway serves it."""
    return static_text("console.css")


def _drawing(html: str) -> str:
    """Take out what a page runs, and have it load its style from the demo."""
    return _STYLE.sub('<link rel="stylesheet" href="/console.css">', _SCRIPT.sub("", html))
