"""docs/security.md names each cell and each table that `assent audit verify` does not hold, and no other."""

from __future__ import annotations

import re

from app.storage.tables.tables import metadata
from tests.places import ROOT
from tests.usecases.proving.test_foreign_cells import PASSED_OVER, TABLES

PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## What verifying does not hold\n")[2].partition("\n[payments.md]")[0]
HELD = {"trail_cuts"}
"""Tables that verifying holds, and that have a test of their own."""

HELD_SINCE = {
    "standing_approvals.proposed_at",
    "standing_approvals.confirmed_at",
    "secret_ids.org",
    "secret_ids.key_id",
}
"""Cells that the test of them all need not see named, and that are."""


def test_the_page_names_each_cell_that_nothing_is_held_against() -> None:
    listed = re.findall(r"`([a-z_]+\.[a-z_]+)`", SECTION)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(PASSED_OVER) - HELD_SINCE


def test_the_page_names_each_table_of_which_nothing_is_held() -> None:
    listed = re.findall(r"`([a-z_]+)`", SECTION)
    assert set(listed) == set(metadata.tables) - set(TABLES) - HELD
