"""What the address book says is about whom it was asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.ports import AccountStatus, ChannelUnavailableError
from channels.feishu.details.people import person_by_id
from tests.requirements import requirement


def answer(open_id: str | None, **marks: Any) -> Any:
    said = {"is_frozen": False, "is_resigned": False, "is_exited": False, "is_unjoin": False, "is_activated": True}
    user = SimpleNamespace(open_id=open_id, status=SimpleNamespace(**{**said, **marks}))
    return SimpleNamespace(data=SimpleNamespace(user=user))


@requirement("S-28")
@pytest.mark.parametrize("named", ["ou_1", None])
def test_an_answer_about_the_person_who_was_asked_for_is_taken(named: str | None) -> None:
    found = person_by_id(answer(named), "ou_1")
    assert (found.open_id, found.status) == ("ou_1", AccountStatus.ACTIVE)
    assert person_by_id(answer(named, is_frozen=True), "ou_1").status is AccountStatus.DEACTIVATED


@requirement("S-28")
@pytest.mark.parametrize(
    "about", [answer("ou_2"), answer(""), SimpleNamespace(data=None), SimpleNamespace(data=SimpleNamespace(user=None))]
)
def test_an_answer_about_somebody_else_says_nothing(about: Any) -> None:
    with pytest.raises(ChannelUnavailableError, match="does not name the person"):
        person_by_id(about, "ou_1")
