"""A rule on what others keep: data and machines in clouds, clusters, databases, forges, backups, and the system's packages.

What is deleted there is no file here, so nothing of the shell's shows it; it is gone all the same. People are asked. A
name that says that it is for trying (`dropdb app_test`) is left alone, as is the deleting of single small things.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from assent.guards.beyond.kept_rows import rows_of
from assent.guards.commands.findings import doubtful
from assent.guards.statements.ending import DATABASES, TRIAL, ended_by_code, ends_data
from assent.shell.lists import listed
from assent.shell.programs.programs import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.guards.commands.findings import Finding
    from assent.shell.words.script import Command

_TRIAL_SETTING = re.compile(r"[A-Z]{2,20}_ENV=(?:test|development)|--settings=[\w.]{0,80}tests?")
"""A framework's own word for a trial, as an argument."""
_WATCHING = listed(
    "workflow workflows pipeline pipelines ruleset rulesets check checks monitor monitors alert alerts disable-rule protection"
)
"""What tests and watches is called after that (`ci.yml`): it is no trial."""
_STORES = re.compile(r":(?:9200|9201|5984|8983|8086|2379|8500|8200|6333|7474|8123|15672|19530|9090|7700|8108)(?:/|$)")
_SENDERS = frozenset({"curl", "http", "https", "xh", "wget", "curlie", "httpie"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"})
_ADDRESS = re.compile(r"https?://|:\d|[\w.-]{1,80}(?::\d{1,5})?/|[\w-]{1,40}(?:\.[\w-]{1,40}){1,5}$|localhost")
_OWN = re.compile(
    r"(?:https?://)?(?:[^@/]{0,60}@)?(?:localhost|127\.[\d.]{1,12}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal|[\w.-]{1,60}\.(?:test|localhost|local))?(?::\d{1,5})?(?:/|$)"
)
_SENDS = re.compile(r"-(?:d|F)|--(?:data|json|form|post-data|body)|-\w{0,4}d$")
_VERBS = r"(?:delete|destroy|purge|remove|drop|wipe|terminate|revoke|deactivate|disable|truncate|transfer|archive|suspend|deprovision|decommission|uninstall|flush|erase)"
_PATH_ENDS = re.compile(
    rf"/(?:\w{{0,20}}[_:.-]|do(?=[DWR]))?{_VERBS}(?:[_:.-]\w{{1,40}})?(?:/[\w.-]{{1,40}})?(?:[?#].{{0,200}})?$|[:?&]{_VERBS}\b|/(?:refunds|payouts|transfers|withdrawals)/?$",
    re.IGNORECASE,
)
_BODY_ENDS = re.compile(
    rf"[\"']{_VERBS}\w{{0,40}}[\"']\s{{0,3}}:\s{{0,3}}(?:true|[\"']?\*|\[\s{{0,3}}[\"'{{])|\bmutation\b[^}}]{{0,120}}\b{_VERBS}|<delete>|[\"'](?:private|deletion_protection|enabled|active)[\"']\s{{0,3}}:\s{{0,3}}false|[\"']visibility[\"']\s{{0,3}}:\s{{0,3}}[\"']public|[\"']action[\"']\s{{0,3}}:\s{{0,3}}[\"']{_VERBS}",
    re.IGNORECASE,
)
_STORE_ENDS = re.compile(
    r"_delete_by_query|destructive_requires_name|/_all/_(?:settings|close)|/_(?:close|freeze|rollover|shrink|update_by_query)\b|/_cluster/(?:settings|reroute)|index\.blocks|/_shutdown|/_security/"
)
_NAMED_AFTER = re.compile(
    r"(?:^|[/_.-])(?:wipe|destroy|nuke|purge|drop|truncate|delete)[\w.-]{0,60}\.\w{1,6}$", re.IGNORECASE
)
_OTHERS = re.compile(
    r"getSiblingDB|\buse\s|\\c\s|\b(?:database|role|user|server|tablespace)\b|prod|\\!|program", re.IGNORECASE
)
_LONGEST, _MOST = 20_000, 400


def on_kept(command: Command) -> Iterator[Finding]:
    """Ask before data, machines and packages go that others keep, where nothing can be put back."""
    program = command.program.removesuffix(".sh").casefold()
    rows = rows_of(program)
    words = _words(command) if rows else []
    for row in rows if "-help" not in words else ():
        if row.fits(words) and (names := row.names(words)) != ["help"] and not for_trying(names, command):
            yield doubtful(f"{program} {' '.join(word for word in words[:4] if word)[:60]}: {row.why}")
            return
    if program in DATABASES:
        yield from _in_databases(command)
    elif program in _SENDERS:
        yield from _over_http(command)
    elif language_of(command.program) not in {"", "shell"}:
        yield from _by_code(command)


def _words(command: Command) -> list[str]:
    """Return the words as rows name them: options with one dash, and without the value that is attached to them."""
    words: list[str] = []
    for word in command.argv[1 : _MOST + 1]:
        text = word.text[:_MOST]
        words.append(text)
        if text.startswith("-"):
            words.append(f"-{text.lstrip('-')}".partition("=")[0].casefold())
            words.append(f"-{text.lstrip('-')}".casefold())
    return words


def for_trying(names: list[str], command: Command) -> bool:
    """Whether all that is named says that it is for trying, or the framework's own variable does (`RAILS_ENV=test`)."""
    if any(name.endswith("_ENV") and word.text in {"test", "development"} for name, word in command.environment):
        return True
    if any(_TRIAL_SETTING.fullmatch(word.text[:200]) for word in command.argv[1:_MOST]):
        return True
    if any(word.text in _WATCHING for word in command.argv[1:4]):
        return False
    return bool(names) and all(TRIAL.fullmatch(name) and not name.startswith(("/", "~", ".")) for name in names)


def _in_databases(command: Command) -> Iterator[Finding]:
    if _is_for_trying(command):
        return
    for redirect in command.redirects:
        if redirect.reads and _NAMED_AFTER.search(redirect.target.text[:_MOST]):
            yield doubtful(f"{command.program} is fed {redirect.target.text[:60]}, which is named after what it ends")
            return
    for text in (*(word.text for word in command.argv[1:]), command.fed_text or ""):
        if found := ends_data(text, command.program):
            yield doubtful(f"{command.program} deletes or changes data for good: {found[:60]}")
            return


def _by_code(command: Command) -> Iterator[Finding]:
    """Statements that code hands to a database: `connect(…).execute("drop table users")`."""
    for text in (*(word.text for word in command.argv[1:_MOST] if " " in word.text), command.fed_text or ""):
        if found := ended_by_code(text):
            yield doubtful(f"the code for {command.program} deletes or changes data for good: {found[:60]}")
            return


def _is_for_trying(command: Command) -> bool:
    """Whether the database is here and its name says that it is for trying; a statement on another one is read all the same."""
    words = [word.text for word in command.argv[1:_MOST]]
    if any(word.startswith(("-h", "--host", "-H", "-u", "--username")) or "://" in word for word in words):
        return False
    named = [
        after for before, after in itertools.pairwise(("", *words)) if before in {"-d", "--dbname", "-D", "--database"}
    ]
    named = named or [
        word
        for before, word in itertools.pairwise(("", *words))
        if not word.startswith("-") and not before.startswith("-")
    ]
    said = " ".join((*words, command.fed_text or ""))[:_LONGEST]
    return bool(named) and TRIAL.fullmatch(named[0]) is not None and not _OTHERS.search(said)


def _over_http(command: Command) -> Iterator[Finding]:
    """What is deleted over HTTP, by method, path or body, where it is not this machine's own or for trying."""
    texts = [word.text[:2000] for word in command.argv[1:]]
    addresses = [text for text in texts if _ADDRESS.match(text)]
    stored = any(_STORES.search(text) for text in addresses)
    if not stored and addresses and all(_OWN.match(text) for text in addresses):
        return
    if addresses and all(TRIAL.fullmatch(text.rstrip("/").rsplit("/", 1)[-1]) for text in addresses):
        return
    method = _method(texts)
    sends = method in {"POST", "PUT", "PATCH", "DELETE"} or any(map(_SENDS.match, texts))
    if method == "DELETE" or any(map(_STORE_ENDS.search, texts)):
        yield doubtful(f"{command.program} deletes what {'a database' if stored else 'a service'} keeps")
    elif sends and (any(map(_PATH_ENDS.search, addresses)) or any(map(_BODY_ENDS.search, texts))):
        yield doubtful(f"{command.program} sends what ends something that a service keeps")


def body_ends(text: str) -> bool:
    """Whether what is sent says that something is ended (`{"drop_all": true}`, `mutation { deleteUser … }`)."""
    return _BODY_ENDS.search(text) is not None


def path_ends(text: str) -> bool:
    """Whether the last parts of a path say that what it leads to is ended (`/statuses/destroy/1.json`)."""
    return "/" in text and _PATH_ENDS.search(text) is not None


def _method(texts: list[str]) -> str:
    for before, text in zip(["", *texts], texts, strict=False):
        if before in {"-X", "--request", "--method"} or text in _METHODS:
            return text.upper()
        if (text[:2] == "-X" and len(text) > 2) or text.startswith(("--request=", "--method=")):
            return text[2:].rpartition("=")[2].upper()
    return texts[0].upper() if texts and texts[0] in {"delete", "post", "put", "patch"} else ""
