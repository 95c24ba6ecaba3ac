"""The query string of a path."""

from __future__ import annotations


def query(**values: str | float | None) -> str:
    """The values that are given, as a query string."""
    from urllib.parse import urlencode

    given = {name: value for name, value in values.items() if value is not None}
    return "?" + urlencode(given) if given else ""
