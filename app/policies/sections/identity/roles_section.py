"""The roles of the file: who audits, operates and administers, each name somebody, a group, or a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.people.roles import CLAIM, GIVEN, Role
from app.policies.marks.entries import section
from app.policies.marks.faults import near
from app.policies.sections.people_section import near_person

if TYPE_CHECKING:
    from app.domain.people.people import Directory
    from app.policies.marks.yaml_marks import MarkedYaml, Path


def read_roles(marked: MarkedYaml, directory: Directory, *, has_claims: bool) -> dict[Role, tuple[str, ...]]:
    """Return who has which role. `has_claims`: somebody signs people in and says in which groups they are."""
    found: dict[Role, tuple[str, ...]] = {}
    for name, raw in section(marked, "roles").items():
        path: Path = ("roles", name)
        if name not in GIVEN:
            hint = "requesters and approvers follow from each request and its rules" if name in set(Role) else None
            marked.report(path, f'"{name}" is no role that is given', hint or near(name, list(GIVEN), what="roles"))
            continue
        if not isinstance(raw, list) or not raw:
            marked.report(path, "must be a list of e-mails, groups, or claim:GROUP")
            continue
        for index, each in enumerate(raw):
            why, hint = _why_not(each, directory, has_claims=has_claims)
            if why is not None:
                marked.report((*path, index), why, hint)
        found[Role(name)] = tuple(each for each in raw if isinstance(each, str))
    return found


def _why_not(name: object, directory: Directory, *, has_claims: bool) -> tuple[str | None, str | None]:
    """Return why a name cannot have a role, and the mend; None for one that can."""
    if not isinstance(name, str) or not name:
        return "must be an e-mail, a group, or claim:GROUP", None
    if name.startswith(CLAIM):
        why = "nobody who signs people in says in which groups they are (sign_in, groups)"
        return None if has_claims else why, None
    if "@" in name:
        return (None, None) if directory.find(name) else (f"{name} is not under people", near_person(name, directory))
    if (source := directory.sources.get(name)) is not None and source.domains:
        return f"whoever is in {name} counts there, written down or not: a role is given to people by name", None
    if name in directory.groups:
        return None, None
    return f'unknown group "{name}"', near(name, directory.groups, what="groups")
