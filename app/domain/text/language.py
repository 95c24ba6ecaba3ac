"""The languages that people read."""

from __future__ import annotations

from enum import StrEnum


class Language(StrEnum):
    """The language a channel's people read."""

    EN = "en"
    ZH = "zh"
