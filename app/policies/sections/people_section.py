"""The people and groups of the file: every name leads to somebody, and nobody is two people."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from app.domain.people.people import RELATIONS, Away, Directory, GroupSource, Person, email_key
from app.policies.marks.entries import key_names, read_entry, section
from app.policies.marks.faults import near
from app.policies.models.file_models import GroupEntry, PersonEntry
from app.spec import SpecRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from app.domain.rules.policy import ChannelSpec
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.spec import Spec

_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@]{1,189}")
_GROUP = re.compile(r"[^\s@*]{1,64}")


def read_directory(
    marked: MarkedYaml, *, channel_types: Mapping[str, Spec], channels: Sequence[ChannelSpec] = ()
) -> Directory:
    """Return the directory. `channel_types` are those whose account ids a person may have.

    `channels` are those whose platforms may be asked who is in a group.
    """
    people: dict[str, Person] = {}
    written: dict[str, Path] = {}
    owners: dict[tuple[str, str], str] = {}
    for email, raw in section(marked, "people").items():
        path: Path = ("people", email)
        person = _person(marked, path, email, raw, channel_types)
        key = email_key(email)
        if key in people:
            marked.report(path, "the same e-mail again, apart from upper and lower case")
            continue
        people[key], written[key] = person, path
        for kind, account in person.accounts.items():
            owner = owners.setdefault((kind, account), email)
            if owner != email:
                marked.report((*path, kind), f"is the account of {owner} already: one account is one person")
    people = {key: _with_others(marked, written[key], person, people) for key, person in people.items()}
    return _groups(marked, Directory(people=people), channel_types, channels)


def near_person(name: str, directory: Directory) -> str | None:
    """Hint at the person of the file who was probably meant."""
    return near(name, [person.email for person in directory.people.values()], what="people")


def _groups(
    marked: MarkedYaml, listed: Directory, channel_types: Mapping[str, Spec], channels: Sequence[ChannelSpec]
) -> Directory:
    """Return the directory of these people with the groups of the file."""
    groups: dict[str, frozenset[str]] = {}
    sources: dict[str, GroupSource] = {}
    names: dict[str, Mapping[str, str]] = {}
    for name, raw in section(marked, "groups").items():
        if not _GROUP.fullmatch(name):
            marked.report(("groups", name), "a group's name has no spaces, @ or *")
        if name in RELATIONS:
            marked.report(("groups", name), f'"{name}" is a word of its own wherever people are named', "rename it")
        groups[name] = frozenset()
        if not isinstance(raw, dict):
            groups[name] = _group(marked, ("groups", name), raw, listed)
            continue
        entry = read_entry(marked, ("groups", name), raw, GroupEntry)
        if entry is None:
            continue
        if entry.name is not None:
            names[name] = {"en": entry.name, "zh": entry.name} if isinstance(entry.name, str) else {**entry.name}
        _look_at_domains(marked, name, entry)
        if isinstance(entry.members, list):
            groups[name] = _group(marked, ("groups", name, "members"), [*entry.members], listed)
            if entry.channel or entry.group or entry.department:
                marked.report(("groups", name), "has members here, or a platform's: not both")
        elif (source := _source(marked, name, entry, channels, channel_types)) is not None:
            sources[name] = source
    return replace(listed, groups=groups, sources=sources, names=names)


def _look_at_domains(marked: MarkedYaml, name: str, entry: GroupEntry) -> None:
    """Whoever counts without being written down is bound to e-mail domains, which are nobody else's to give out."""
    if entry.members == "verified" and not entry.domains:
        marked.report(("groups", name), "whose e-mails count?", 'add "domains: [acme.example]", those of your own')
    if entry.domains and entry.members != "verified":
        marked.report(("groups", name, "domains"), "is for a platform's group with members: verified")


def _source(
    marked: MarkedYaml,
    name: str,
    entry: GroupEntry,
    channels: Sequence[ChannelSpec],
    channel_types: Mapping[str, Spec],
) -> GroupSource | None:
    """Return where a group's people are asked for: ``{channel: pay-chat, group: S0FINANCE}``."""
    path: Path = ("groups", name)
    if entry.channel is None:
        marked.report(path, "has no members", 'list them under "members", or name the "channel" that knows them')
        return None
    kind = next((spec.kind for spec in channels if spec.name == entry.channel), None)
    if kind is None:
        known = [spec.name for spec in channels]
        hint = near(entry.channel, known, what="channels")
        marked.report((*path, "channel"), f'unknown channel "{entry.channel}"', hint)
    if (entry.group is None) == (entry.department is None):
        marked.report(path, 'names either a "group" or a "department" of the platform')
        return None
    if entry.department is not None and kind is not None and not _spec_says(kind, channel_types).has_departments:
        marked.report((*path, "department"), f"{kind} has no departments", 'name a "group"')
    if entry.members == "verified" and kind is not None and not _spec_says(kind, channel_types).verifies_members:
        marked.report((*path, "members"), f"{kind} does not say whose e-mail is verified", "list people under people")
    word, identity = ("group", entry.group) if entry.group is not None else ("department", entry.department)
    domains = tuple(sorted(set(entry.domains or ()))) if entry.members == "verified" else ()
    return GroupSource(channel=entry.channel, source=f"{word}:{identity}", domains=domains)


class _Says(NamedTuple):
    has_departments: bool = True
    verifies_members: bool = True


def _spec_says(kind: str, channel_types: Mapping[str, Spec]) -> _Says:
    """Return what a platform has; of one that cannot be asked, its channel's own fault says enough."""
    try:
        spec = channel_types[kind]
    except (KeyError, SpecRefusedError):
        return _Says()
    return _Says(has_departments=spec.has_departments, verifies_members=spec.verifies_members)


def _person(marked: MarkedYaml, path: Path, email: str, raw: JsonValue, kinds: Collection[str]) -> Person:
    if not _EMAIL.fullmatch(email):
        marked.report(path, "a person's key is an e-mail address", "such as wang@acme.example")
    elif unicodedata.normalize("NFKC", email) != email:
        marked.report(path, "is written with characters that only look like plain ones")
    own = tuple(key_names(PersonEntry))
    said = {} if raw is None else raw
    if isinstance(said, dict):
        unknown = [key for key in said if key not in own and key not in kinds]
        for key in unknown:  # before its value is read: it would be taken for an account
            marked.report((*path, key), f'unknown key "{key}"', near(key, [*own, *kinds], what="keys"))
        said = {key: value for key, value in said.items() if key not in unknown}
    entry = read_entry(marked, path, said, PersonEntry, apart=said if isinstance(said, dict) else ())
    accounts = {**((entry.__pydantic_extra__ or {}) if entry else {})}
    return Person(
        email=email.lower(),
        name=(entry.name if entry else "") or email,
        accounts=accounts,
        limits=entry.limit if entry else None,
        manager=entry.manager if entry else None,
        language=entry.language if entry else None,
        away=tuple(Away(first=each.first, last=each.last, to=each.to) for each in (entry.away if entry else [])),
    )


def _with_others(marked: MarkedYaml, path: Path, person: Person, people: Mapping[str, Person]) -> Person:
    """Return the person with who acts for them, and their manager, as they stand in the file; noted are faults."""
    away: list[Away] = []
    for index, each in enumerate(person.away):
        here: Path = (*path, "away", index)
        delegate = people.get(email_key(each.to))
        if delegate is None:
            known = [other.email for other in people.values() if other is not person]
            marked.report((*here, "to"), f'unknown person "{each.to}"', near(each.to, known, what="people"))
            continue
        if delegate.email == person.email:
            marked.report((*here, "to"), "nobody acts for themselves")
        if each.last < each.first:
            marked.report((*here, "until"), "is before the first day")
        if any(each.first <= other.last and other.first <= each.last for other in away):
            marked.report(here, "overlaps another absence: one person at a time acts for another")
        away.append(Away(first=each.first, last=each.last, to=delegate.email))
    return replace(person, away=tuple(away), manager=_manager(marked, (*path, "manager"), person, people))


def _manager(marked: MarkedYaml, path: Path, person: Person, people: Mapping[str, Person]) -> str | None:
    """Return a person's manager by e-mail as it stands in the file."""
    if person.manager is None:
        return None
    found = people.get(email_key(person.manager))
    if found is None:
        known = [other.email for other in people.values() if other is not person]
        marked.report(path, f'unknown person "{person.manager}"', near(person.manager, known, what="people"))
    elif found.email == person.email:
        marked.report(path, "nobody is their own manager")
    return found.email if found else None


def _group(marked: MarkedYaml, path: Path, raw: JsonValue, listed: Directory) -> frozenset[str]:
    if not isinstance(raw, list):
        said = "must be a list of e-mails" if raw is not None else "has no members"
        marked.report(path, said, "write [wang@acme.example, chen@acme.example]")
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
