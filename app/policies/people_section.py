"""The people and groups of the file: every name leads to somebody, and nobody is two people."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from app.domain.people import Directory, Person, email_key
from app.policies.entries import read_entry, section
from app.policies.faults import near
from app.policies.file_models import PersonEntry

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.domain.canonical import JsonValue
    from app.policies.yaml_marks import MarkedYaml, Path

_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,189}")
_GROUP = re.compile(r"[^\s@*]{1,64}")


def read_directory(marked: MarkedYaml, *, kinds: Collection[str]) -> Directory:
    """Return the directory. `kinds` are the channel types whose account ids a person may have."""
    people: dict[str, Person] = {}
    owners: dict[tuple[str, str], str] = {}
    for email, raw in section(marked, "people").items():
        path: Path = ("people", email)
        person = _person(marked, path, email, raw, kinds)
        key = email_key(email)
        if key in people:
            marked.report(path, "the same e-mail again, apart from upper and lower case")
            continue
        people[key] = person
        for kind, account in person.accounts.items():
            owner = owners.setdefault((kind, account), email)
            if owner != email:
                marked.report((*path, kind), f"is the account of {owner} already: one account is one person")
    listed = Directory(people=people)
    groups = {name: _group(marked, name, raw, listed) for name, raw in section(marked, "groups").items()}
    return Directory(people=people, groups=groups)


def _person(marked: MarkedYaml, path: Path, email: str, raw: JsonValue, kinds: Collection[str]) -> Person:
    if not _EMAIL.fullmatch(email):
        marked.report(path, "a person's key is an e-mail address")
    elif unicodedata.normalize("NFKC", email) != email:
        marked.report(path, "is written with characters that only look like plain ones")
    entry = read_entry(marked, path, {} if raw is None else raw, PersonEntry)
    accounts: dict[str, str] = {}
    for kind, account in ((entry.__pydantic_extra__ or {}) if entry else {}).items():
        if kind in kinds:
            accounts[kind] = account
        else:
            marked.report((*path, kind), f'unknown key "{kind}"', near(kind, ["name", *kinds]))
    return Person(email=email.lower(), name=(entry.name if entry else "") or email, accounts=accounts)


def _group(marked: MarkedYaml, name: str, raw: JsonValue, listed: Directory) -> frozenset[str]:
    path: Path = ("groups", name)
    if not _GROUP.fullmatch(name):
        marked.report(path, "a group's name has no spaces, @ or *")
    if not isinstance(raw, list):
        marked.report(path, "must be a list of e-mails" if raw is not None else "has no members")
        return frozenset()
    if not raw:
        marked.report(path, "has no members")
    members: set[str] = set()
    for index, email in enumerate(raw):
        person = listed.find(email) if isinstance(email, str) else None
        if person is None:
            known = [person.email for person in listed.people.values()]
            marked.report((*path, index), f'unknown person "{email}"', near(str(email), known, what="people"))
        elif person.email in members:
            marked.report((*path, index), f"{email} is a member already")
        else:
            members.add(person.email)
    return frozenset(members)
