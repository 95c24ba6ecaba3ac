"""Of several servers, one whose place another one has taken is written to no more."""

from __future__ import annotations

import pytest

from app.storage.engine.line import Server
from app.storage.engine.succession import Succession
from app.storage.engine.trouble import SupersededError
from tests.requirements import requirement


@requirement("F-24", "F-47")
def test_a_server_whose_place_was_taken_is_refused_for_good() -> None:
    succession = Succession()
    succession.meet(Server("one", 3))
    succession.meet(None)  # one that does not say is no other
    succession.meet(Server("one", 4))
    for _ in range(2):
        with pytest.raises(SupersededError):
            succession.meet(Server("one", 3))
    assert succession.server == Server("one", 4)
    succession.meet(Server("two", 1))  # a database that was moved to another system begins anew
    assert succession.server == Server("two", 1)
