"""Where a host's settings are: in the home that its program has as well."""

from __future__ import annotations

import os
from pathlib import Path

from assent.command.faults import HookError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from assent.command.hosts.row import Host


def place_of(host: Host, path: str | None) -> Path:
    """The file that was named, else the host's own. Raises `HookError`."""
    return Path(path) if path else home(", or name the settings file") / host.place.file


def home(otherwise: str) -> Path:
    """$HOME, else the account's. Raises `HookError`, which says what `otherwise` helps."""
    try:
        return Path.home()
    except RuntimeError as error:
        raise HookError(
            f"there is no home folder: HOME is not set, and the account (uid {os.getuid()}) has no entry in passwd; "
            f"set HOME{otherwise}"
        ) from error
