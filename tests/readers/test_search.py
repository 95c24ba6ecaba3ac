"""`make fuzz`: a search for texts that take more than linear time, over every reader of agents' text."""

from __future__ import annotations

from random import Random

import pytest

from tests.readers.measure import too_long
from tests.readers.readers import READERS
from tests.readers.worst import UNITS, Shape, made
from tests.requirements import requirement

pytestmark = pytest.mark.long


@requirement("S-61", "S-62")
@pytest.mark.parametrize("name", READERS)
def test_no_text_that_doubles_takes_a_reader_beyond_its_bound(name: str, *, bounded: bool) -> None:
    random = Random(name)
    single = [Shape("", unit) for unit in UNITS]
    shapes = [
        *(random.sample(single, 6) if bounded else single),
        *(made(random) for _ in range(6 if bounded else 400)),
    ]
    found = [fault for shape in shapes if (fault := too_long(name, shape))]
    assert not found, "keep the smallest of these in worst.jsonl, and give the reader a bound:\n" + "\n".join(found)
