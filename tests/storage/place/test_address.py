"""The address of a PostgreSQL, with one host or several, as operators write it and as the driver takes it."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from app.settings import Settings
from app.storage.engine.line import bounds_of
from app.storage.place.address import libpq_url
from tests.requirements import requirement

SECRET = "address-" * 5
PAIR = {"user": "app", "password": "p@w", "dbname": "db", "host": "one,two", "port": "5433,5434"}


@requirement("F-47")
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:p%40w@one:5433,two:5434/db",
        "postgresql+psycopg://app:p%40w@one:5433,two:5434/db",
        "postgresql://app:p%40w@/db?host=one:5433&host=two:5434",
        "postgresql://app:p%40w@/db?host=one,two&port=5433,5434",
    ],
)
def test_several_hosts_are_taken_in_every_spelling_and_the_primary_among_them_is_asked_for(url: str) -> None:
    settings = Settings(secret=SECRET, database_url=url)  # pyright: ignore[reportArgumentType] - it is split
    address = libpq_url(settings.database_url)
    assert conninfo_to_dict(address) == PAIR
    assert bounds_of(address)["target_session_attrs"] == "read-write"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("postgresql://app@[::1]:5433/db", {"host": "::1", "port": "5433"}),
        ("postgresql://app@/db?host=/run/pg", {"host": "/run/pg"}),
        ("postgresql://app@/db?host=/run/a&host=/run/b:5433", {"host": "/run/a,/run/b", "port": ",5433"}),
    ],
)
def test_one_host_stays_what_it_is(url: str, host: dict[str, str]) -> None:
    read = conninfo_to_dict(libpq_url(url))
    assert {name: read[name] for name in ("host", "port") if name in read} == host


@requirement("F-47")
def test_whoever_says_which_host_is_wanted_gets_it() -> None:
    said = "postgresql://app@one,two/db?target_session_attrs=primary"
    assert "target_session_attrs" not in bounds_of(said)
    assert "target_session_attrs" not in bounds_of("postgresql://app@one/db")


@pytest.mark.parametrize("url", ["postgresql://app:p/w@one,two/db", "postgresql://one:5432,two:x/db", "mysql://one/db"])
def test_what_cannot_be_read_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be read|is sqlite") as refusal:
        Settings(secret=SECRET, database_url=url)  # pyright: ignore[reportArgumentType]
    told = str(refusal.value).partition("[type=")[0]
    assert "p/w" not in told
