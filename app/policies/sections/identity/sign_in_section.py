"""Who signs people in, of the file: issuers of OpenID Connect, each with its own client and its secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.domain.identity.provider import Handed, Provider
from app.domain.text.addresses import why_no_url, why_not_there
from app.policies.marks.entries import section
from app.policies.marks.value_words import not_a_mapping
from app.policies.models.sign_in_models import SignInEntry
from app.policies.sections.channel_section import read_settings
from app.policies.sections.people_section import near_person

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.domain.people.people import Directory
    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.policies.models.sign_in_models import RequestersEntry

_APART = ("label", "algorithms", "subjects", "private")
_INSTEAD: dict[str, JsonValue] = {
    "client_id": "a",
    "client_secret": "",
    "groups": "a",
    "requesters": {"audiences": ["a"]},
}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def read_sign_in(marked: MarkedYaml, directory: Directory, *, environ: Mapping[str, str]) -> tuple[Provider, ...]:
    """Return them, in the order of the file."""
    found: list[Provider] = []
    for name, raw in section(marked, "sign_in").items():
        path: Path = ("sign_in", name)
        if not _NAME.fullmatch(name):
            marked.report(path, "a name here is of small letters, digits, - and _")
        if not isinstance(raw, dict):
            marked.report(path, *not_a_mapping(raw, "{issuer: …, client_id: …, client_secret: …}"))
            continue
        instead = {**_INSTEAD, "issuer": f"https://{name}.example"}  # each its own: none stands twice
        entry = read_settings(marked, path, raw, model=SignInEntry, environ=environ, apart=_APART, instead=instead)
        if isinstance(entry, SignInEntry):
            found.append(_read(marked, path, name, entry, directory))
    issuers = [each.issuer for each in found]
    for each in found:
        if issuers.count(each.issuer) > 1:
            marked.report(("sign_in", each.name, "issuer"), "stands here twice: a token's issuer must name one of them")
    if found and isinstance(marked.value, dict) and marked.value.get("url") is None:
        marked.report(("sign_in",), "needs `url`: people come back from there to pages of ours")
    return tuple(found)


def _read(marked: MarkedYaml, path: Path, name: str, entry: SignInEntry, directory: Directory) -> Provider:
    if (why := why_no_url(entry.issuer)) is not None:
        marked.report((*path, "issuer"), f"must be an address such as https://login.example.com, and this one {why}")
    else:
        host = urlsplit(entry.issuer).hostname or ""
        if (refused := why_not_there(host, private=entry.private)) is not None:
            marked.report((*path, "issuer"), f"{host}: {refused}")
    for person in entry.subjects:
        if directory.find(person) is None:
            marked.report((*path, "subjects", person), f"{person} is not under people", near_person(person, directory))
    if len(set(entry.subjects.values())) < len(entry.subjects):
        marked.report((*path, "subjects"), "two people cannot have the same subject")
    return Provider(
        name=name,
        issuer=entry.issuer,
        client_id=entry.client_id,
        secret=entry.client_secret.get_secret_value().strip(),
        label=entry.label or name,
        groups=entry.groups,
        algorithms=tuple(entry.algorithms),
        subjects=dict(entry.subjects),
        private=entry.private,
        handed=entry.requesters and _handed(marked, (*path, "requesters"), entry.requesters),
    )


def _handed(marked: MarkedYaml, path: Path, entry: RequestersEntry) -> Handed:
    if len(set(entry.actors.values())) < len(entry.actors):
        marked.report(
            (*path, "actors"), "two agents cannot be the same to the issuer: one would act in the other's name"
        )
    return Handed(audiences=tuple(entry.audiences), actors=dict(entry.actors), max_age=entry.max_age)
