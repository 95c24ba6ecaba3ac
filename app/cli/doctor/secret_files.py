"""What `assent doctor` says of the files that secrets stand in: whoever else can read one has the secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.policies.file.policy_book import policy_files
from app.policies.sections.channel_section import secret_names
from app.ports import Finding, Severity
from app.settings import IN_FILES, PREFIX
from assent.secret_files import SUFFIX, is_open_to_all

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def look_at_secret_files(config: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Warn of each that any account of this machine may read. What cannot be read is said by who needs it."""
    names = {f"{PREFIX}{name.upper()}" for name in IN_FILES}
    for path in policy_files(config) if config.exists() else ():
        names |= secret_names(path.read_text(encoding="utf-8", errors="replace"))
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
