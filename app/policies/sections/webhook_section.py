"""The webhooks of the file: who outside is told of which events, where, and with which secret it is proved."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.domain.text.addresses import why_no_url, why_not_there
from app.domain.trail.audit import Kind
from app.domain.trail.webhooks import BadSecretError, Webhook, covers, read_secret
from app.policies.marks.entries import section
from app.policies.marks.faults import near
from app.policies.marks.value_words import not_a_mapping
from app.policies.models.file_models import WebhookEntry
from app.policies.sections.channel_section import read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from app.domain.text.canonical import JsonValue
    from app.policies.marks.yaml_marks import MarkedYaml, Path

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_INSTEAD: dict[str, JsonValue] = {"url": "https://example.com", "secret": "", "kinds": ["*"]}
"""What stands in for a key that is at fault, so that the others are looked at."""


def read_webhooks(marked: MarkedYaml, *, environ: Mapping[str, str]) -> tuple[Webhook, ...]:
    """Return them, in the order of the file."""
    found: list[Webhook] = []
    for name, raw in section(marked, "webhooks").items():
        path: Path = ("webhooks", name)
        if not _NAME.fullmatch(name):
            marked.report(path, "a webhook's name is of small letters, digits, - and _")
        if not isinstance(raw, dict):
            marked.report(path, *not_a_mapping(raw, "{url: …, secret: …, kinds: …}"))
            continue
        if "type" in raw:
            marked.report((*path, "type"), 'unknown key "type"')
        entry = read_settings(
            marked, path, raw, model=WebhookEntry, environ=environ, apart=("secret_old", "private"), instead=_INSTEAD
        )
        if isinstance(entry, WebhookEntry):
            found.append(_read(marked, path, name, entry))
    return tuple(found)


def _read(marked: MarkedYaml, path: Path, name: str, entry: WebhookEntry) -> Webhook:
    for at, pattern in enumerate(entry.kinds):
        if not any(covers(pattern, kind.value) for kind in Kind):
            marked.report((*path, "kinds", at), f'"{pattern}" is no kind of event', _kind_near(pattern))
    host = _host(marked, (*path, "url"), entry)
    secrets = [_secret(marked, (*path, "secret"), entry.secret)]
    if entry.secret_old is not None:
        secrets.append(_secret(marked, (*path, "secret_old"), entry.secret_old))
        if secrets[0] and secrets[0] == secrets[1]:
            marked.report((*path, "secret_old"), "is secret: it is the one from before; else leave it out")
    kinds = tuple(entry.kinds)
    return Webhook(name=name, url=entry.url, host=host, secrets=tuple(secrets), kinds=kinds, private=entry.private)


def _kind_near(pattern: str) -> str:
    meant = near(pattern, [kind.value for kind in Kind])
    return meant if meant and meant.startswith("did you mean") else 'docs/trail.md has them; "request.*" is a family'


def _secret(marked: MarkedYaml, path: Path, given: SecretStr) -> bytes:
    try:
        return read_secret(given.get_secret_value().strip())
    except BadSecretError as refused:
        marked.report(path, str(refused))
        return b""


def _host(marked: MarkedYaml, path: Path, entry: WebhookEntry) -> str:
    """Return the host of an address that may be written, or note why it may not."""
    why = why_no_url(entry.url, query=True)
    if why is not None:
        marked.report(path, f"must be https://HOST[:PORT]/PATH, and this one {why}")
        return ""
    host = urlsplit(entry.url).hostname or ""
    if (refused := why_not_there(host, private=entry.private)) is not None:
        marked.report(path, f"{host}: {refused}")
    return host
