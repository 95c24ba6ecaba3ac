"""`assent.yaml` → a checked, compiled policy, or all of its faults at once, each with its line.

Strict on purpose: a typo in a rule is a hole in the gate. Unknown keys, tools, people, groups, channels and
variables, rules that can never match and questions that nobody could answer are refused before anything runs.

The version of a policy is the beginning of the SHA-256 over the canonical form of what the file says, before secrets
are expanded: white space, comments and secrets do not change it, everything else does.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from app.domain.call.agent import AgentSettings
from app.domain.errors import BadJsonError
from app.domain.rules.policy import Policy, UnknownTools
from app.domain.rules.rule import Then
from app.domain.text.canonical import digest
from app.domain.text.language import Language
from app.policies.asking.asking_section import read_ask, require_ask
from app.policies.asking.glass_section import read_glass
from app.policies.asking.rule_section import read_rules, refuse_unprovable
from app.policies.asking.stray_patterns import stray_patterns
from app.policies.marks.empty_keys import POLICY, refuse_empty
from app.policies.marks.entries import read_entry
from app.policies.marks.faults import MOST_FAULTS, Fault, PolicyFaultsError, near
from app.policies.marks.surroundings import AnyEnvironment, Surroundings
from app.policies.marks.yaml_marks import read_yaml
from app.policies.models.file_models import HeadEntry
from app.policies.sections.agent_section import agent_names, read_agents
from app.policies.sections.attention_section import read_attention, refuse_unreadable
from app.policies.sections.calendar_section import read_calendar, read_zone
from app.policies.sections.channel_section import read_channels, refuse_secrets_elsewhere
from app.policies.sections.hook_section import ground_for, guards_beside, is_guarded, read_hooks
from app.policies.sections.identity.roles_section import read_roles
from app.policies.sections.identity.sign_in_section import read_sign_in
from app.policies.sections.payments_section import read_payments
from app.policies.sections.people_section import read_directory
from app.policies.sections.retention_section import read_retention
from app.policies.sections.tool_section import read_presets, read_tools
from app.policies.sections.webhook_section import read_webhooks
from assent.hooks.contract.tool_names import ALIASES, CANONICAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

    from app.domain.identity.provider import Provider
    from app.domain.people.people import Staff, Told
    from app.domain.rules.rule import Asking, Rule
    from app.domain.text.canonical import JsonValue
    from app.domain.trail.webhooks import Webhook
    from app.policies.marks.yaml_marks import MarkedYaml
    from app.spec import Spec
    from assent.hooks.declared.declaration import Declaration

FILE_NAME = "assent.yaml"
LARGEST = 1_000_000  # bytes of one file
VERSION_LENGTH = 12
NAME_IT = "name the file with -c, or let `assent init` write one"
"""What a command says of a file that is not there."""
_MOST_FAULTS = 20  # of a text that somebody proposes

_ALIASES = {**ALIASES, **{name: name for name in CANONICAL}}
_HEAD = ("org", "language", "default", "unknown_tools", "guards", "use", "timezone", "url")
_SECTIONS = ("people", "groups", "channels", "tools", "rules", "payments", "break_glass", "agents", "hooks", "webhooks")
_KEYS = (*_HEAD, "roles", "sign_in", "calendar", "attention", "ask", "retention", *_SECTIONS)


class LoadedPolicy(Struct, frozen=True, kw_only=True):
    """A file that was accepted: its policy, the settings of its channels (with secrets) by name, and its text.

    `hooks` are in the order of the file, those of single agents after the others. An agent that `agents` does not
    have has the defaults of `AgentSettings`. `warnings` are of what is no fault, and probably not what was meant.
    """

    policy: Policy
    channel_settings: Mapping[str, BaseModel]
    text: str
    hooks: tuple[Declaration, ...] = ()
    agents: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])
    webhooks: tuple[Webhook, ...] = ()
    providers: tuple[Provider, ...] = ()
    warnings: tuple[Fault, ...] = ()

    def staffed(self, staff: Staff, managers: Mapping[str, Told] | None = None) -> LoadedPolicy:
        """Return the same file with the platforms' groups, and their directories' managers, as they were last told."""
        directory = self.policy.directory
        told = managers or {}
        if not directory.sources and directory.told == told:
            return self
        directory = replace(directory.staffed(staff), told=told)
        return replace(self, policy=dataclasses.replace(self.policy, directory=directory))

    def kind_of(self, channel: str) -> str:
        """Return the platform of a channel of the file, by its name. Raises KeyError for a name that is not there."""
        return {spec.name: spec.kind for spec in self.policy.channels}[channel]

    def is_load_of(self, other: LoadedPolicy) -> bool:
        """Say whether both come from one reading of the file, whoever is in the platforms' groups."""
        return self.channel_settings is other.channel_settings


def load_policy(
    source: Path | str,
    *,
    environ: Mapping[str, str],
    channel_types: Mapping[str, Spec],
    file: str | None = None,
    hooks: bool = True,
    most_faults: int = MOST_FAULTS,
) -> LoadedPolicy:
    """Load a file (a Path) or a text (a str). `file` is the name that faults use. Raises PolicyFaultsError.

    Reading its hooks imports and builds what they name. Without `hooks` they are left aside, unread: so a text is read
    that nobody has put into force. `most_faults`: after so many the others are not looked for.
    """
    name = file or (str(source) if isinstance(source, Path) else FILE_NAME)
    text = _text(source, name) if isinstance(source, Path) else source
    marked = read_yaml(text, file=name, most=most_faults)
    if not isinstance(marked.value, dict):
        marked.report((), "the file must be a mapping", "write lines of key: value, with a space behind the colon")
        raise PolicyFaultsError(marked.faults)
    if marked.faults and not marked.value:
        raise PolicyFaultsError(marked.faults)
    version = _version(marked)
    if not hooks:
        _leave_out_hooks(marked.value)
    loaded = _load(marked, marked.value, text, version, environ=environ, channel_types=channel_types)
    if loaded is None or marked.faults:
        raise PolicyFaultsError(marked.faults)
    return loaded


def load_proposed(text: str, *, channel_types: Mapping[str, Spec]) -> LoadedPolicy:
    """Load a text that somebody proposes. Raises PolicyFaultsError.

    Nothing of the environment is read for it and no hook of it is built: whoever proposes it would learn what is there,
    or have it run.
    """
    return load_policy(
        text,
        environ=AnyEnvironment(),
        channel_types=channel_types,
        file="proposed",
        hooks=False,
        most_faults=_MOST_FAULTS,
    )


def _load(
    marked: MarkedYaml,
    whole: dict[str, JsonValue],
    text: str,
    version: str,
    *,
    environ: Mapping[str, str],
    channel_types: Mapping[str, Spec],
) -> LoadedPolicy | None:
    for key in whole:
        if key not in _KEYS:
            marked.report((key,), f'unknown key "{key}"', near(key, _KEYS, what="keys"))
    refuse_empty(marked, POLICY)
    refuse_secrets_elsewhere(marked)
    said = {key: whole[key] for key in _HEAD if key in whole}
    if isinstance(used := said.get("use"), str):
        said["use"] = [used]
    head = read_entry(marked, (), said, HeadEntry, apart=_HEAD, instead={"org": "unnamed", "default": "deny"})
    presets = read_presets(marked, head.use if head else ())
    zone = read_zone(marked, ("timezone",), head.timezone if head else None)
    specs, settings = read_channels(marked, environ=environ, channel_types=channel_types)
    around = Surroundings(
        directory=read_directory(marked, channel_types=channel_types, channels=specs),
        channels=specs,
        tools=read_tools(marked, presets),
        prefixes=tuple(sorted({preset.mcp for preset in presets if preset.mcp})),
        unknown_tools=UnknownTools(head.unknown_tools if head else "rules"),
        hours=read_calendar(marked, zone),
    )
    attention = read_attention(marked)
    ask = read_ask(marked, around)
    if whole.get("default") == "ask" and whole.get("ask") is None:
        require_ask(marked, around)
    rules = read_rules(marked, around, ask)
    asked = {name: asking for rule in rules for name, asking in _askings(rule)}
    refuse_unreadable(marked, attention, asked | ({'what "ask" asks': ask} if ask is not None else {}))
    payments = read_payments(marked, around)
    glass = read_glass(marked, around, ask)
    ground = ground_for(around.tools, around.unknown_tools, agent_names(marked), prefixes=around.prefixes)
    hooks = read_hooks(marked, ground)
    agents, agent_hooks = read_agents(marked, ground)
    guarded = head is not None and is_guarded(head, declared=bool(hooks or agent_hooks))
    standing = guards_beside((*hooks, *agent_hooks)) if guarded else ()
    webhooks = read_webhooks(marked, environ=environ)
    providers = read_sign_in(marked, around.directory, environ=environ)
    refuse_unprovable(marked, rules, proves=any(each.handed for each in providers))
    roles = read_roles(marked, around.directory, has_claims=any(each.groups for each in providers))
    retention = read_retention(marked, attention, payments)
    if head is None:
        return None
    policy = Policy(
        org=head.org,
        version=version,
        default=Then(head.default),
        ask=ask,
        unknown_tools=around.unknown_tools,
        tools=around.tools,
        prefixes=around.prefixes,
        rules=rules,
        directory=around.directory,
        channels=specs,
        language=Language(head.language),
        zone=zone,
        hours=around.hours,
        attention=attention,
        roles=roles,
        url=head.url,
        payments=payments,
        break_glass=glass,
        retention=retention,
        aliases=_ALIASES,
    )
    return LoadedPolicy(
        policy=policy,
        channel_settings=settings,
        text=text,
        hooks=(*standing, *hooks, *agent_hooks),
        agents=agents,
        webhooks=webhooks,
        providers=providers,
        warnings=tuple(stray_patterns(marked, rules, around)),
    )


def _leave_out_hooks(whole: dict[str, JsonValue]) -> None:
    agents = whole.get("agents")
    for each in (whole, *(agents.values() if isinstance(agents, dict) else ())):
        if isinstance(each, dict):
            each.pop("hooks", None)


def _askings(rule: Rule) -> Iterator[tuple[str, Asking]]:
    """Yield how a rule asks, or each of its tiers, by what faults call it."""
    for at, tier in enumerate(rule.tiers, start=1):
        if tier.asking is not None:
            yield f'what tier {at} of rule "{rule.id}" asks', tier.asking
    if rule.asking is not None and not rule.tiers:
        yield f'rule "{rule.id}"', rule.asking


def read_bounded(path: Path) -> bytes:
    """Return what a file holds, or so much of it that it is seen to be too much. Raises OSError."""
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _text(path: Path, name: str) -> str:
    def refused(message: str, hint: str | None = None) -> PolicyFaultsError:
        return PolicyFaultsError([Fault(file=name, line=1, column=1, path="", message=message, hint=hint)])

    try:
        raw = read_bounded(path)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        hint = NAME_IT if missing else "let this account read it"
        raise refused(f"cannot be read: {error.strerror}", hint) from None
    if len(raw) > LARGEST:
        raise refused(f"is larger than {LARGEST:,} bytes", "split it: one file is one org")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(f"is not UTF-8 at byte {error.start}", "save it as UTF-8") from None


def _version(marked: MarkedYaml) -> str:
    try:
        return digest(marked.value)[:VERSION_LENGTH]
    except BadJsonError as error:
        marked.report((), error.detail)
        return ""
