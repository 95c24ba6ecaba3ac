"""The bank, as far as this example needs one: a file to which every payment appends one line.

It takes no care of doubles: if a payment ran twice, there would be two lines. Whoever counts them knows.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pathlib import Path

NO_GRANT = "none: a rule allowed it"
"""Stands in the place of the grant when nobody had to be asked."""


class Ledger:
    """Payments that were made, in order."""

    def __init__(self, path: Path) -> None:
        """Keep them in `path`, which is made with the first one."""
        self._path = path

    def pay(self, *, grant: str | None, **payment: str | int) -> str:
        """Append one payment, on the disk before this returns; return its receipt number."""
        receipt = f"A-{len(self.entries()) + 1:04}"
        paid_at = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps({"receipt": receipt, "grant": grant or NO_GRANT, **payment, "at": paid_at})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        return receipt

    def find(self, invoice: object) -> str | None:
        """Return the receipt of the payment for an invoice, if there is one."""
        return next((str(entry["receipt"]) for entry in self.entries() if entry["invoice"] == invoice), None)

    def entries(self) -> list[dict[str, object]]:
        """Return all payments."""
        if not self._path.exists():
            return []
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return [cast("dict[str, object]", json.loads(line)) for line in lines]  # each line was written by `pay`
