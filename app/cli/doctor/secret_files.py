"""What `assent doctor` says of the environment: who else can read a file with a secret, and what nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.policies.file.policy_book import policy_files
from app.policies.marks.faults import near
from app.policies.sections.channel_section import secret_names
from app.ports import Finding, Severity
from app.settings import IN_FILES, PREFIX, Settings
from assent.secret_files import SUFFIX, is_open_to_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OF_CLIENTS = frozenset({f"{PREFIX}{name}" for name in ("URL", "KEY", "REQUESTER_TOKEN", "STATE_DIR", "FAILPOINT")})


def look_at_secret_files(config: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Warn of each that any account of this machine may read. What cannot be read is said by who needs it."""
    names = {f"{PREFIX}{name.upper()}" for name in IN_FILES} | _referred_to(config)
    files = {name + SUFFIX: environ.get(name + SUFFIX, "").strip() for name in sorted(names)}
    return [
        Finding(
            severity=Severity.WARNING,
            what=f"{variable}: every account of this machine may read {path}",
            mend=f"chmod o= {path}, and let the gateway's account own it",
        )
        for variable, path in files.items()
        if path and is_open_to_all(path)
    ]


def look_at_variables(config: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Warn of each that is nearly called like a setting: nobody reads it, and the setting has its default."""
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields} | _OF_CLIENTS
    known |= {f"{name}{SUFFIX}" for name in known}
    others = {name for name in environ if name.startswith(PREFIX)} - known - _referred_to(config)
    meant = {name: near(name, known) or "" for name in sorted(others)}
    return [
        Finding(severity=Severity.WARNING, what=f"{name} is no setting: nobody reads it", mend=hint)
        for name, hint in meant.items()
        if hint.startswith("did you mean")
    ]


def _referred_to(config: Path) -> set[str]:
    """Return what the files refer to in the environment."""
    names = set[str]()
    for path in policy_files(config) if config.exists() else ():
        names |= secret_names(path.read_text(encoding="utf-8", errors="replace"))
    return names
