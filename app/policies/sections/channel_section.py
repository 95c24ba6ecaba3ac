"""The channels of the file: secrets from the environment, settings through each channel's own model.

A secret stands in the file as ``${NAME}`` only. It is expanded here and nowhere else, from the environment or from the
file that ``NAME_FILE`` names there, goes into the settings model, and never into a fault, a policy or its version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import SecretStr

from app.domain.request.request import API, CONSOLE
from app.domain.rules.policy import ChannelSpec
from app.domain.text.language import Language
from app.policies.marks.entries import read_entry, section
from app.policies.marks.faults import near
from app.policies.marks.surroundings import AnyEnvironment
from app.policies.marks.value_words import not_a_mapping
from app.spec import SpecRefusedError
from assent.secret_files import SUFFIX, SecretFileError, find_secret

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic import BaseModel

    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path
    from app.spec import Spec

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_SECRET = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ANY = re.compile(r"\$\{[^}]*\}?")
_OUTSIDE = re.compile(r"\$\{[A-Z_][A-Z0-9_]*\}")


def read_channels(
    marked: MarkedYaml, *, environ: Mapping[str, str], channel_types: Mapping[str, Spec]
) -> tuple[tuple[ChannelSpec, ...], dict[str, BaseModel]]:
    """Return the channels and their settings. A channel with a fault keeps its spec, so that rules may name it."""
    specs: list[ChannelSpec] = []
    settings: dict[str, BaseModel] = {}
    for name, raw in section(marked, "channels").items():
        path: Path = ("channels", name)
        if not _NAME.fullmatch(name):
            marked.report(path, "a channel's name is of small letters, digits, - and _: it stands in an address")
        if name == API:
            marked.report(path, f'"{API}" is a name of our own: the HTTP API, through which people may decide too')
        if name == CONSOLE:
            marked.report(path, f'"{CONSOLE}" is a name of our own: the pages on which people may decide too')
        kind = raw.get("type") if isinstance(raw, dict) else None
        specs.append(ChannelSpec(name=name, kind=str(kind)))
        if not isinstance(raw, dict):
            marked.report(path, *not_a_mapping(raw, "{type: …}"))
        elif kind is None:
            marked.report(path, '"type" is missing', near("", channel_types, what="types"))
        elif not isinstance(kind, str) or kind not in channel_types:
            marked.report(
                (*path, "type"), f'unknown channel type "{kind}"', near(str(kind), channel_types, what="types")
            )
        else:
            model = _model(marked, path, channel_types, kind)
            found = model and read_settings(marked, path, raw, model=model, environ=environ)
            if found is not None:
                settings[name] = found
    return tuple(specs), settings


def _model(marked: MarkedYaml, path: Path, channel_types: Mapping[str, Spec], kind: str) -> type[BaseModel] | None:
    try:
        return channel_types[kind].settings
    except SpecRefusedError as refusal:
        marked.report((*path, "type"), refusal.why, refusal.mend)
        return None


def refuse_secrets_elsewhere(marked: MarkedYaml) -> None:
    """Note every ``${NAME}`` outside of what has secrets: there it would be shown, stored and hashed."""
    pending: list[tuple[Path, JsonValue]] = [((), marked.value)]
    while pending:
        path, value = pending.pop()
        if path in {("channels",), ("webhooks",), ("sign_in",)}:
            continue
        if isinstance(value, dict):
            pending.extend(((*path, key), part) for key, part in value.items())
        elif isinstance(value, list):
            pending.extend(((*path, index), part) for index, part in enumerate(value))
        elif isinstance(value, str) and (found := _OUTSIDE.search(value)):
            marked.report(path, f"{found[0]}: secrets may only stand inside channels, webhooks and sign_in")


def read_settings(
    marked: MarkedYaml,
    path: Path,
    raw: dict[str, JsonValue],
    *,
    model: type[BaseModel],
    environ: Mapping[str, str],
    apart: Collection[str] = (),
    instead: Mapping[str, JsonValue] | None = None,
) -> BaseModel | None:
    """Return a part of the file with its secrets, through its model, as `read_entry` does; every fault is noted.

    What comes from an environment that is not known here has no fault, wherever it is looked at. Of a secret that
    stands in the file, or could not be had, its one fault is told; the rest of the part is looked at all the same.
    """
    written = {key: value for key, value in raw.items() if key != "type" or "type" in model.model_fields}
    language = marked.value.get("language") if isinstance(marked.value, dict) else None
    if (
        isinstance(language, str) and language in set(Language) and "language" in model.model_fields
    ):  # of any other, that is told where it stands
        written.setdefault("language", language)
    _refuse_plain_secrets(marked, path, written, model)
    secrets: set[str] = set()
    expanded = {key: _expand(marked, (*path, key), value, environ, secrets) for key, value in written.items()}

    def scrub(message: str) -> str:
        for secret in sorted(secrets, key=len, reverse=True):
            message = message.replace(secret, "•••")
        return message

    return read_entry(marked, path, expanded, model, scrub=scrub, apart=apart, instead=instead)


def secret_names(text: str) -> frozenset[str]:
    """Return what a file's text refers to in the environment."""
    return frozenset(_SECRET.findall(text))


def _refuse_plain_secrets(
    marked: MarkedYaml, path: Path, written: Mapping[str, JsonValue], model: type[BaseModel]
) -> None:
    for name, described in model.model_fields.items():
        key = described.alias or name
        value = written.get(key)
        if value is None or SecretStr.__name__ not in str(described.annotation):
            continue
        if not isinstance(value, str) or not (_SECRET.search(value) or _ANY.fullmatch(value)):
            blank = isinstance(value, str) and not value.strip()
            said = "is empty" if blank else "a secret may not stand in this file"
            marked.report((*path, key), said, f'write {key}: "${{NAME}}", and set NAME in the environment')
            marked.settled.add((*path, key))


def _expand(
    marked: MarkedYaml, path: Path, value: JsonValue, environ: Mapping[str, str], secrets: set[str]
) -> JsonValue:
    if isinstance(value, dict):
        return {key: _expand(marked, (*path, key), part, environ, secrets) for key, part in value.items()}
    if isinstance(value, list):
        return [_expand(marked, (*path, index), part, environ, secrets) for index, part in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    wrong: list[tuple[str, str | None]] = []

    def found(place: re.Match[str]) -> str:
        secret, fault = _secret_of(place[0], environ)
        if fault is not None:
            wrong.append(fault)
        else:
            secrets.update({secret, secret.strip()})
        return secret

    expanded = _ANY.sub(found, value)
    for message, hint in wrong:
        marked.report(path, message, hint)
    if wrong or isinstance(environ, AnyEnvironment):
        marked.settled.add(path)
    return expanded


def _secret_of(reference: str, environ: Mapping[str, str]) -> tuple[str, tuple[str, str | None] | None]:
    """Return what a ``${NAME}`` stands for; or "", and why it cannot be had, with the mend."""
    name = _SECRET.fullmatch(reference)
    if name is None:
        return "", (f"{reference[:40]} is no reference to the environment", "write it as ${NAME}")
    if name[1].endswith(SUFFIX):
        return "", (f"{reference} would be a path", f'write "${{{name[1].removesuffix(SUFFIX)}}}"')
    try:
        secret = find_secret(environ, name[1]) or ""
    except SecretFileError as fault:
        return "", (str(fault), None)
    if not secret.strip():
        state = "is empty" if name[1] in environ else "is not set"
        mend = f"export {name[1]}=…, or let {name[1]}{SUFFIX} name a file that holds it"
        return "", (f"the environment variable {name[1]} {state}", mend)
    return secret, None
