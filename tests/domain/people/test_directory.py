"""Whose word counts of a person: the file's, and a directory's where the file has none."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from app.domain.people.people import MANAGER, Directory, GroupSource, Person, Staff, Told

ANN, BEN, CLEO = (f"{name}@acme.example" for name in ("ann", "ben", "cleo"))


def directory(*, of_ann: str | None, told: Told | None) -> Directory:
    """Make one of three people."""
    people = {who: Person(email=who, name=who, manager=of_ann if who == ANN else None) for who in (ANN, BEN, CLEO)}
    return Directory(people=people, told={ANN: told} if told else {})


def test_the_files_manager_wins_over_a_directorys() -> None:
    both = directory(of_ann=BEN, told=Told(manager=CLEO))
    assert both.named(MANAGER, requester=ANN.upper(), owner=None) == {BEN}
    assert both.ever(MANAGER) == {BEN}


def test_where_the_file_has_none_a_directorys_counts_and_where_that_names_nobody_nobody_does() -> None:
    assert directory(of_ann=None, told=Told(manager=CLEO)).named(MANAGER, requester=ANN, owner=None) == {CLEO}
    for told in (None, Told(why="it names none"), Told(manager="zed@acme.example")):
        assert directory(of_ann=None, told=told).named(MANAGER, requester=ANN, owner=None) == frozenset()


BOARD = GroupSource(channel="chat", source="group:S0BOARD", domains=("acme.example",))


def test_who_is_written_down_stays_so_whoever_joins_under_the_same_e_mail() -> None:
    ann = Person(email=ANN, name="Ann", limits={"CNY": Decimal(5)})
    of_the_file = Directory(people={ANN: ann}, sources={"board": BOARD}, groups={"board": frozenset()})
    joined = tuple(Person(email=who, name=who, joined=True) for who in (ANN, BEN))
    staffed = of_the_file.staffed(Staff(rosters={BOARD: frozenset({ANN, BEN})}, joined=joined))
    assert staffed.find(ANN) is ann
    assert list(staffed.people) == [ANN, BEN]  # the first is still whom the file names first
    assert staffed.members("board") == {ANN, BEN}
    assert staffed.staffed(Staff()) == replace(of_the_file, untold=frozenset({"board"}))  # nobody has told of it


def test_nobody_is_known_by_a_group_that_the_file_has_no_more() -> None:
    staff = Staff(rosters={BOARD: frozenset({BEN})}, joined=(Person(email=BEN, name=BEN, joined=True),))
    assert Directory(sources={"board": BOARD}).staffed(staff).find(BEN) is not None
    assert Directory().staffed(staff).find(BEN) is None
