"""Runs a command in the real bubblewrap. Where it cannot run, `needs_bubblewrap` skips (NEEDS_BUBBLEWRAP=1: fails)."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from assent.sandbox.local import LocalSandbox
from assent.sandbox.providers import Sandboxes
from tests.sdk.sandbox.jobs import context, routing

if TYPE_CHECKING:
    from pathlib import Path

    from assent.hooks.contract.sandbox import Report


@functools.cache
def why_not() -> str:
    """Why bubblewrap cannot run here; empty if it can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "--proc", "/proc"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    return f"user namespaces are refused here: {tried.stderr}" if tried.returncode else ""


# Where it was installed for these tests (CI), one that cannot run fails them: what a sandbox keeps out must be seen.
_MUST = bool(os.environ.get("NEEDS_BUBBLEWRAP"))

needs_bubblewrap = pytest.mark.skipif(bool(why_not()) and not _MUST, reason=why_not() or "it can run")


async def run(
    command: str,
    *,
    cwd: Path | str = "",
    env: dict[str, str] | None = None,
    local: LocalSandbox | None = None,
    **options: Any,
) -> Report:
    more = {} if env is None else {"env": env}
    return await Sandboxes([local or LocalSandbox()]).run(
        routing("local", command, **options, **more), context(cwd=str(cwd))
    )
