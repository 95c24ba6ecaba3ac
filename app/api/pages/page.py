"""HTML out, safely: elements are built, never pasted; every text is escaped where it becomes HTML.

No script runs on our pages and nothing is loaded: the one style sheet stands in the page and is allowed by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape

from starlette.responses import Response

_VOID = frozenset({"input", "meta", "br"})


class Html(str):
    """Text that is HTML already. Only `tag` and `STYLE` make it."""

    __slots__ = ()


def tag(name: str, /, *children: Html | str | None, **attributes: str | None) -> Html:
    """Return an element. Children that are no HTML are escaped, None is left out; ``class_`` stands for ``class``."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{told}>")
    inside = "".join(child if isinstance(child, Html) else escape(child) for child in children if child is not None)
    return Html(f"<{name}{told}>{inside}</{name}>")


STYLE = Html("""
:root{color-scheme:light dark;--ground:#f4f5f7;--paper:#fff;--ink:#1a1d21;--soft:#5c636c;--line:#e1e4e8;--tint:#f7f8f9;
--waiting:#9a5200;--good:#176b43;--bad:#b3261e;--neutral:#5c636c;--warn:#fff4e0;--link:#1b5fc1}
@media (prefers-color-scheme:dark){:root{--ground:#121417;--paper:#1b1e22;--ink:#e8eaed;--soft:#9ba3ad;--line:#31363c;
--tint:#22262b;--waiting:#f3b163;--good:#6fcf97;--bad:#ff8a80;--neutral:#9ba3ad;--warn:#38290f;--link:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);-webkit-text-size-adjust:100%;
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"PingFang SC","Hiragino Sans GB","Microsoft YaHei",
"Noto Sans","Noto Sans CJK SC",sans-serif}
main{max-width:46rem;margin:0 auto;padding:1.25rem 1rem 3rem}
section,header{background:var(--paper);border:1px solid var(--line);border-radius:12px;padding:1.1rem 1.25rem;
margin:0 0 .9rem}
h1{font-size:1.3rem;line-height:1.35;margin:.6rem 0 .2rem}
h2{font-size:.82rem;font-weight:600;letter-spacing:.02em;color:var(--soft);margin:0 0 .7rem}
h1,p,dt,dd,li,.value{overflow-wrap:anywhere}
p{margin:.5rem 0}
a{color:var(--link)}
.bar{display:flex;justify-content:space-between;gap:1rem;font-size:.85rem;color:var(--soft);margin:0 .25rem .8rem}
.bar nav{flex:none}
.pill{display:inline-block;font-size:.85rem;font-weight:600;border:1.5px solid;border-radius:99px;padding:.1rem .75rem}
.waiting .pill{color:var(--waiting)}.good .pill{color:var(--good)}.bad .pill{color:var(--bad)}
.neutral .pill{color:var(--neutral)}
.large{display:flex;flex-wrap:wrap;gap:.4rem 2rem;margin:.8rem 0 .2rem}
.large dd{font-size:1.55rem;line-height:1.3;font-weight:650;font-variant-numeric:tabular-nums}
dl{margin:0}dl+dl{margin-top:.75rem}
dt{font-size:.82rem;color:var(--soft)}
dd{margin:0 0 .75rem}dl>:last-child,section>:last-child,header>:last-child,dl>div:last-child dd{margin-bottom:0}
.value,h1,.large dd,li p{white-space:pre-wrap;unicode-bidi:isolate}
.code{font:.9rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Noto Sans Mono CJK SC","PingFang SC",monospace}
.boxed{background:var(--tint);border:1px solid var(--line);border-radius:8px;padding:.45rem .65rem;margin-top:.2rem;
max-height:26rem;overflow:auto}
.soft{color:var(--soft);font-size:.88rem}
.warn{background:var(--warn);border-color:var(--waiting)}.warn h2{color:var(--waiting)}
ul,ol{list-style:none;margin:0;padding:0}
li{padding:.5rem 0;border-top:1px solid var(--line)}li:first-child{border-top:0;padding-top:0}
li:last-child{padding-bottom:0}
li p{margin:.1rem 0}
time{font-size:.82rem;color:var(--soft);font-variant-numeric:tabular-nums}
button{font:inherit;font-weight:600;color:#fff;background:#1b5fc1;border:0;border-radius:10px;padding:.7rem 1.5rem;
min-height:44px;cursor:pointer}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
@media (max-width:30rem){main{padding:.8rem .6rem 2rem}section,header{padding:.95rem 1rem}.large{display:block}}
@media print{body{background:#fff}.boxed{max-height:none;overflow:visible}section,header{break-inside:avoid}}
""")

_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


def page(title: str, lang: str, *body: Html, status: int = 200, referrer: str = "no-referrer") -> Response:
    """Return a whole page. `referrer` is its policy: a form that proves where it comes from needs ``same-origin``."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", STYLE),
    )
    text = "<!doctype html>" + tag("html", head, tag("body", tag("main", *body)), lang=lang)
    headers = {**_HEADERS, "Referrer-Policy": referrer}
    return Response(text.encode("utf-8", "replace"), status, headers, media_type="text/html; charset=utf-8")
