"""Where the checkout is: the one place of the tests that knows how deep it stands."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
