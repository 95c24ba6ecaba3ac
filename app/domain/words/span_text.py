"""A span of time in words: ``1 d 12 h``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.words.say import say

if TYPE_CHECKING:
    from datetime import timedelta

    from app.domain.text.language import Language


def span_text(span: timedelta, language: Language) -> str:
    """Write a span in days, hours, minutes and seconds; what is zero is left out."""
    seconds = int(span.total_seconds())
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    said = [f"{count} {say(language, f'unit.{unit}')}" for count, unit in parts if count]
    return " ".join(said) or f"0 {say(language, 'unit.s')}"
