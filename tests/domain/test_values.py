"""Values are copied and made without `__init__`, and are what it would have made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from app.domain.values import assembler, evolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    street: str
    number: int = 1
    floor: int | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("upside down")


@dataclass(frozen=True, slots=True)
class Lone:
    word: str


def test_a_copy_has_what_changes_and_keeps_the_rest() -> None:
    before = Place(street="Nanjing Lu", number=3, floor=2)
    after = evolve(before, number=4)
    assert after == replace(before, number=4) != before
    assert type(after) is Place
    assert hash(after) == hash(Place(street="Nanjing Lu", number=4, floor=2))
    with pytest.raises(FrozenInstanceError):
        after.number = 5  # type: ignore[misc]


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        evolve(Place(street="a"), nmber=4)
    with pytest.raises(TypeError):
        assembler(Place)({"street": "a", "number": 1, "flor": 2, "floor": 1})


def test_what_looks_at_its_own_fields_still_does() -> None:
    with pytest.raises(ValueError, match="upside down"):
        evolve(Checked(1, 2), high=0)
    with pytest.raises(ValueError, match="upside down"):
        assembler(Checked)({"low": 2, "high": 1})


def test_a_value_is_made_of_all_its_fields_or_of_some() -> None:
    make = assembler(Place)
    assert make({"floor": 2, "street": "a", "number": 3}) == Place(street="a", number=3, floor=2)
    assert make({"street": "a"}) == Place(street="a")
    with pytest.raises(TypeError):
        make({"number": 3})


def test_a_value_of_one_field_is_copied_too() -> None:
    assert evolve(Lone("a"), word="b") == Lone("b") == assembler(Lone)({"word": "b"})


@dataclass(frozen=True, slots=True)
class House(Place):
    garden: bool = False


def test_what_inherits_is_copied_too() -> None:
    assert evolve(House(street="a", garden=True), number=4) == House(street="a", number=4, garden=True)


def test_a_copy_is_frozen_and_no_other_value_is_touched() -> None:
    before = Place(street="a")
    after = evolve(before)
    with pytest.raises(FrozenInstanceError):
        after.street = "b"  # type: ignore[misc]
    assert (before, after) == (Place(street="a"), Place(street="a"))
