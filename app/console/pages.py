"""HTML out, safely: templates of our own, every value escaped, and headers that forbid what pages are abused for.

The templates' engine is imported when the first page is asked for, and a page is drawn beside the loop.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response

from app.console.visit import HSTS, base_of, is_secure
from app.domain.text.language import Language
from app.domain.words.say import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Environment
    from starlette.requests import Request

    from app.domain.rules.policy import Policy

TAGS = {Language.EN: "en", Language.ZH: "zh-CN"}
NAMES = {Language.EN: "English", Language.ZH: "中文"}

SERVED = {"console.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8"}
"""What pages load, and it is all that they load: their one style sheet and their one script."""

_PARTS = {
    "console.css": ("tokens.css", "console.css", "people.css"),
    "console.js": ("console.js", "passkeys.js"),
}
_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def _policy(nonce: str, pictures: str) -> str:
    """Return what a page may load and do: what its nonce names, and forms to ourselves. Nothing of strangers.

    `pictures`: where those stand that it may show, which are the files of its request.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'nonce-{nonce}'",
            f"script-src 'nonce-{nonce}'",
            "connect-src 'self'",
            *((f"img-src {pictures}",) if pictures else ()),
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


@cache
def static_text(name: str) -> str:
    """Return a file that pages load."""
    folder = files("app.console") / "static"
    return "".join((folder / part).read_text(encoding="utf-8") for part in _PARTS.get(name, (name,)))


@cache
def _version() -> str:
    """Name what pages load now: a browser keeps it until it is another."""
    return hashlib.sha256("".join(map(static_text, SERVED)).encode()).hexdigest()[:12]


@cache
def environment() -> Environment:
    """Return what draws templates: whatever is put into one is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("app.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


async def page(
    request: Request,
    template: str,
    language: Language,
    values: Mapping[str, object],
    *,
    policy: Policy | None = None,
    status: int = 200,
    pictures: str = "",
) -> Response:
    """Return a whole page. What it loads it names from where it stands: a proxy's path need not be known for that."""
    root = "../" * (request.url.path.count("/") - 1) or "./"
    told = {"base": base_of(policy), "root": root, **values}
    return await draw(template, language, told, status, is_secure(policy), pictures=pictures)


async def draw(
    template: str,
    language: Language,
    values: Mapping[str, object],
    status: int = 200,
    secure: bool = False,  # noqa: FBT001, FBT002 - as `page` says it
    *,
    pictures: str = "",
) -> Response:
    """Return a whole page of what its template is given."""
    nonce = secrets.token_urlsafe(16)
    told: dict[str, object] = {
        "t": partial(say, language),
        "tag": TAGS[language],
        "others": [(each.value, TAGS[each], NAMES[each]) for each in Language if each is not language],
        "nonce": nonce,
        **values,
    }

    def drawn() -> bytes:
        text = environment().get_template(template).render(told, version=_version())
        return text.encode("utf-8", "replace")

    body = await asyncio.to_thread(drawn)
    # A form proves where it comes from, which takes the origin: `no-referrer` would have browsers leave it out.
    headers = {
        **_HEADERS,
        "Content-Security-Policy": _policy(nonce, pictures),
        "Referrer-Policy": "same-origin",
    }
    if secure:
        headers["Strict-Transport-Security"] = HSTS
    return Response(body, status, headers, media_type="text/html; charset=utf-8")
