"""Programs that a machine may lack. Where CI could install one its tests must run: `NEEDS_PROGRAMS` names those."""

from __future__ import annotations

import os
import shutil

import pytest

_PLACES = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
_MUST = frozenset(os.environ.get("NEEDS_PROGRAMS", "").split())


def place_of(program: str) -> str:
    """Return where it is. Raises AssertionError: its tests do not run without it."""
    found = shutil.which(program, path=_PLACES)
    assert found, f"{program} is not installed"
    return found


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where a program is not installed, and does not have to be."""
    missing = shutil.which(program, path=_PLACES) is None
    return pytest.mark.skipif(missing and program not in _MUST, reason=f"{program} is not installed")
