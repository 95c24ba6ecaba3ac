"""Load on two replicas with everything happening at random: nothing lost, nothing doubled, nothing run unapproved.

`make weather`; `SEED=`, `MINUTES=` and `WEATHER_JSON=` (where the figures go) are read from the environment.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import pytest

from tests.durability.campaign.figures import Figures
from tests.durability.campaign.judge import judge
from tests.durability.campaign.town import town
from tests.durability.campaign.weather import blow
from tests.requirements import requirement

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]


@requirement("F-02", "F-04", "F-07", "F-08", "F-09", "F-12", "F-13", "F-20", "F-21", "F-22")
@requirement("F-29", "F-31", "F-32", "F-38", "F-41", "F-49", "S-01", "S-03", "S-20")
async def test_whatever_happens_nothing_is_lost_doubled_or_run_without_approval(
    tmp_path: Path, *, bounded: bool
) -> None:
    seed = int(os.environ.get("SEED") or secrets.randbelow(10**6))
    minutes = 1.0 if bounded else float(os.environ.get("MINUTES") or 10)
    sys.stdout.write(f"\nseed {seed}, {minutes:g} minutes")
    figures = Figures(seed)
    async with town(tmp_path, figures) as built:
        await blow(built, 60 * minutes)
        wrong = await judge(built)
    figures.tell(Path(os.environ["WEATHER_JSON"]) if os.environ.get("WEATHER_JSON") else None)
    assert not wrong, f"SEED={seed}\n" + "\n".join(wrong[:20])
