"""The pictures in the docs: small, each shown or linked somewhere, and none missing."""

from __future__ import annotations

import re

from examples.demo.stage import ROOT

IMAGES = ROOT / "docs" / "images"
SMALL, SHEET = 150_000, 320_000
"""Bytes of a picture of one page; of a sheet with dozens of cards."""

LINK = re.compile(r"\]\(([^)#\s]+\.png)\)")
SHEETS = ("slack-", "feishu-")


def test_every_picture_is_small_and_every_page_of_the_console_is_linked() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    linked = {(page.parent / link).resolve() for page in pages for link in LINK.findall(page.read_text("utf-8"))}
    pictures = {picture.resolve() for picture in IMAGES.rglob("*.png")}
    assert linked <= pictures
    for picture in pictures:
        most = SHEET if picture.name.startswith(SHEETS) else SMALL
        assert picture.stat().st_size <= most, picture.name
    assert {picture for picture in pictures if picture.name.startswith("console-")} <= linked
