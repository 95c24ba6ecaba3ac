"""Pictures of a page as small PNG files: the few colours of a page in a palette, packed as tightly as zlib can."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Page

_COLOURS = 48
_APART = 300  # squared: colours nearer than that count as one, so that a small coloured mark keeps its colour
# The browser reads its own picture back, and says of each pixel which of the most frequent colours it is nearest to.
_COUNT = """async ([picture, most, apart]) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const parts = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
  const known = [];
  for (const [pixel] of [...counts].sort((a, b) => b[1] - a[1])) {
    const [r, g, b] = parts(pixel);
    const far = known.length < 12 ? 0 : apart;  // what there is most of is kept as it is
    if (known.every(([x, y, z]) => (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2 > far)) known.push([r, g, b]);
    if (known.length === most) break;
  }
  const nearest = new Map();
  for (const pixel of counts.keys()) {
    const [r, g, b] = parts(pixel);
    let best = 0, least = Infinity;
    known.forEach(([x, y, z], index) => {
      const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
      if (far < least) { least = far; best = index; }
    });
    nearest.set(pixel, best);
  }
  const bytes = Uint8Array.from(pixels, (pixel) => nearest.get(pixel));
  const blob = new Blob([bytes]);
  const url = await new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(blob);
  });
  return { width: image.width, height: image.height, palette: known.flat(), pixels: url.split(",")[1] };
}"""


# Not every machine has a font for emoji; their place is drawn, their text is what was sent.
_MARKS = """() => {
  const MARKS = { "🚨": ["▲", "#c8102e"], "⏰": ["◷", "#b46508"], "🟠": ["●", "#e8912d"], "🔴": ["●", "#c8102e"],
    "✅": ["✔", "#1e8e5a"], "⛔": ["⊘", "#c8102e"], "❌": ["✘", "#c8102e"],
    "⌛": ["◔", "#6b6f76"], "⏳": ["◔", "#b46508"], "✏️": ["✎", "#7f3bf5"],
    "💬": ["❞", "#3b5bdb"], "👥": ["⚇", "#3b5bdb"], "👁": ["◉", "#616061"], "⚠️": ["⚠", "#c8102e"] };
  const emoji = new RegExp(Object.keys(MARKS).join("|"), "u");
  const frames = [...document.querySelectorAll("iframe")].map((each) => each.contentDocument?.body);
  for (const root of [document.body, ...frames].filter(Boolean)) {
    const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const found = emoji.exec(node.data);
      const around = node.parentNode.nodeName;
      if (!found || around === "OPTION" || around === "SCRIPT" || node.parentNode.className === "mark") continue;
      const rest = node.splitText(found.index);
      rest.data = rest.data.slice(found[0].length);
      const [glyph, colour] = MARKS[found[0]];
      const mark = root.ownerDocument.createElement("i");
      mark.className = "mark";
      mark.textContent = glyph;
      Object.assign(mark.style,
        { color: colour, display: "inline-block", minWidth: "1.1em", fontStyle: "normal", fontWeight: "700" });
      rest.before(mark);
    }
  }
}"""


async def draw_marks(page: Page) -> None:
    """Draw the emoji of a page, and of what stands in its frames, as marks that every machine has."""
    await page.evaluate(_MARKS)


async def take_picture(page: Page) -> bytes:
    """Return the whole page as a PNG with a palette."""
    return await shrink(page, await page.screenshot(full_page=True))


async def shrink(page: Page, whole: bytes) -> bytes:
    """Return a picture as a PNG with a palette; `page` is any that may read pictures."""
    found = await page.evaluate(_COUNT, [base64.b64encode(whole).decode(), _COLOURS, _APART])
    width, height = int(found["width"]), int(found["height"])
    pixels = base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # eight bits, with a palette
    parts = ((b"IHDR", header), (b"PLTE", bytes(found["palette"])), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in parts)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
