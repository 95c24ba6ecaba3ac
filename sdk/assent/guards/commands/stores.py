"""Which paths hold data of people and services: no part of the system, and made by nobody again."""

from __future__ import annotations

import re

from assent.guards.commands.places import swept
from assent.shell.lists import listed

_PEOPLES = listed(
    "Documents Desktop Pictures Photos Music Videos Movies Mail mail Maildir Dropbox OneDrive Nextcloud "
    "documents desktop pictures photos music videos backups backup vault notes .mozilla .thunderbird .config "
    ".local Library"
)
"""What is in them is a person's, at any depth; settings only as a whole."""
_SETTINGS = frozenset({".config", ".local", ".mozilla", ".thunderbird"})
_ROOTS = re.compile(
    r"(/(?:srv|opt|sdcard|mnt|media|data|backups?|export|volume\d|Volumes|storage|u\d\d|pgdata|app-?data))(/.*)?"
)
_APPS = frozenset({"/app", "/code", "/workspace", "/workspaces", "/repo", "/usr/src/app"})
"""Where containers have the program itself."""
_SERVICES = re.compile(
    r"/var/(?!lib/apt/|lib/dnf|lib/pacman/sync|spool/cups)(?:lib|www|backups?|mail|vmail|spool|opt|db)/[^/]"
)
_DATA = listed(
    "data database databases db uploads upload media storage backups backup archive archives mail www html htdocs "
    "public_html pgdata mysql postgresql postgres mongodb redis elasticsearch repositories repos git secrets "
    "projects project work workspace code src home homes share shares users Users customers invoices photos snapshots"
)
_MADE_AGAIN = re.compile(
    r"(?:.{0,60}[-_.])?(?:build|builds|dist|out|output|target|node_modules|vendor|te?mp|caches?|__pycache__|\.?venv|logs?|old|"
    r"coverage|tests?|testing|demo|dev|scratch|sandbox|example|examples|staging|preview|lost\+found)(?:[-_.\d].{0,60})?"
    r"|\..{0,40}cache|\.next|\.nuxt|\.turbo|\.tox|\.gradle|\.npm|\.m2|\.cargo|\d{8,20}|.{0,60}\.(?:gz|\d)|\*\.\w{1,8}",
    re.IGNORECASE,
)
_LEFTOVERS = re.compile(
    r".*\.(?:log|tmp|gz|py[co]|o|obj|class|bak|old|cache|sw[op]|orig|map|part|lock|pid|rej|DS_Store)|.*~", re.IGNORECASE
)
_SOURCES = re.compile(
    r"\*\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|scala|ex|sql|md|docx?|xlsx?|pptx?|odt|pdf|txt|csv"
    r"|jpe?g|png|heic|raw|psd|mp4|mov|sqlite3?|db|kdbx|pem|key|env|ya?ml|json|tf|tfstate|ipynb|html?|css|vue|\*)",
    re.IGNORECASE,
)


def keeps_data(path: str) -> bool:
    """Whether the path (in one spelling, see `place`) is a folder of data of people or of services, or all in one."""
    path = swept(path) or path
    parts = [part for part in path.split("/") if part]
    if not parts or "\0" in path or any(map(_MADE_AGAIN.fullmatch, parts[1:])):
        return False
    if path.startswith("~/"):
        return _is_a_persons(parts[1:])
    if _SERVICES.match(path):
        return True
    if path in _APPS:
        return True
    root = _ROOTS.fullmatch(path)
    if root is None:
        return False
    below = [part for part in (root[2] or "").split("/") if part]
    return len(below) < 2 or (len(below) < 5 and (below[-1] in _DATA or below[-1].endswith(".git")))


def _is_a_persons(below: list[str]) -> bool:
    first = below[0]
    if first == "Library" and len(below) > 1:
        return below[1] in {"Mail", "Messages", "Calendars", "Keychains", "Photos", "Mobile Documents", "CloudStorage"}
    if first in _PEOPLES:
        return first not in _SETTINGS or len(below) == 1
    return len(below) == 1 and not first.startswith(".") and "." not in first[1:]


def is_made_again(pattern: str) -> bool:
    """Whether a pattern of names is of what programs make (`*.pyc`, `*.log`)."""
    return _LEFTOVERS.fullmatch(pattern) is not None or _MADE_AGAIN.fullmatch(pattern.strip("*")) is not None


def is_source(pattern: str) -> bool:
    """Whether a pattern of names (`*.py`) is of what people write, and no program makes."""
    return _SOURCES.fullmatch(pattern) is not None
