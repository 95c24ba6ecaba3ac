"""What a database or its driver complains of, in one line."""

from __future__ import annotations

import sqlite3
from urllib.parse import unquote, urlsplit

import psycopg

_LONGEST_CAUSE = 300


def database_fault(error: Exception, url: str) -> str | None:
    """Say in one line, without the password, what the database or its driver complains of; None for other errors."""
    cause: object = getattr(error, "orig", None) or error  # SQLAlchemy wraps the driver's own
    if not isinstance(cause, sqlite3.Error | psycopg.Error):
        return "its address cannot be read" if type(error).__module__.startswith("sqlalchemy.") else None
    told = " ".join(str(cause).split())
    password = urlsplit(url).password or ""
    for secret in {password, unquote(password)} - {""}:
        told = told.replace(secret, "•••")
    return told[:_LONGEST_CAUSE] or type(cause).__name__
