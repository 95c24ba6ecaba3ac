"""What a gateway that starts says of itself, and what would otherwise be noticed only when a call waits in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.identity.api_key import AGENTS, Scope
from app.domain.people.people import OWNER
from app.domain.text.addresses import at_port, other_port
from app.ports import AccountStatus, Finding, Severity
from app.storage.cards.accounts import list_of_channel
from app.storage.identity.api_keys import list_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from app.domain.identity.api_key import ApiKey
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Asking
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx


class ChannelAtStart(Struct, frozen=True, kw_only=True):
    """A channel, and of how many people it knows the account. `why` it did not answer; "" if it did."""

    name: str
    kind: str
    found: int
    why: str


class OrgAtStart(Struct, frozen=True, kw_only=True):
    """One org: what its file holds, how its channels stand, and what somebody should know."""

    policy: Policy
    channels: tuple[ChannelAtStart, ...]
    warnings: tuple[Finding, ...]
    sign_in: tuple[str, str] | None = None  # whom a link signs in that works once, and the link; for a terminal alone


NOT_YET = "it has not answered yet"


class AtStart:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook) -> None:
        """Take what it reads."""
        self._store = store
        self._book = book

    async def __call__(self, org: str, troubles: Mapping[str, str], *, port: int | None = None) -> OrgAtStart:
        """Look at one org. `troubles`: of its channels that did not answer about everybody, why.

        `port` is the one that the gateway listens on.
        """
        loaded = self._book.current(org)
        policy = loaded.policy

        def read(tx: Tx) -> tuple[datetime, list[ApiKey], dict[str, set[str]]]:
            active = {
                channel.name: {
                    each.person
                    for each in list_of_channel(tx, channel.name)
                    if each.account.status is AccountStatus.ACTIVE
                }
                for channel in policy.channels
            }
            return tx.now(), list_keys(tx), active

        now, keys, active = await self._store.read(read, org=org, long=True)
        channels = tuple(
            ChannelAtStart(
                name=each.name, kind=each.kind, found=len(active[each.name]), why=troubles.get(each.name, "")
            )
            for each in policy.channels
        )
        known = None if any(each.why for each in channels) else set[str]().union(*active.values())
        live = [key for key in keys if key.live(now)]
        silent = [
            Finding(
                severity=Severity.WARNING,
                what=f"{org}: {each.name} did not answer: {each.why}",
                mend="assent doctor says what is missing",
            )
            for each in channels
            if each.why
        ]
        odd = [_warning(f"{org}: line {each.line}: {each.message}", each.hint or "") for each in loaded.warnings]
        astray = [] if port is None else port_warnings(policy, port)
        return OrgAtStart(
            policy=policy,
            channels=channels,
            warnings=(*odd, *astray, *silent, *warnings_at_start(policy, live, active=known)),
        )


def port_warnings(policy: Policy, port: int) -> list[Finding]:
    """Say that `url` leads to another port of this machine than `port`: who listens there is handed what links open."""
    named = other_port(policy.url, port)
    if policy.url is None or named is None:
        return []
    what = f"{policy.org}: `url` is {policy.url}, and the gateway listens on port {port}: no link leads to it"
    return [
        _warning(what, f"write url: {at_port(policy.url, port)}, or listen there: --port {named}, ASSENT_PORT={named}")
    ]


def warnings_at_start(policy: Policy, keys: Collection[ApiKey], *, active: Collection[str] | None) -> list[Finding]:
    """Say who cannot ask and who cannot be asked. `keys` are the live ones.

    `active` are those who have an account in some channel; None: a platform has not said yet.
    """
    found: list[Finding] = []
    if not any(key.scope in AGENTS for key in keys):
        what = f"{policy.org}: no agent has a key: nobody can ask yet"
        found.append(_warning(what, "assent keys create --scope agent --agent NAME --label WHAT-FOR"))
    if active is not None:
        found += _unheard(policy, keys, active)
    asked = _asked(policy)
    if not asked:
        return found
    by_key = {key.person for key in keys if key.scope is Scope.APPROVER} & asked
    key = f"assent keys create --scope approver --person {min(asked)} --label WHAT-FOR"
    if not policy.channels and policy.url is None and not by_key:  # with an address, they decide in the console
        what = f"{policy.org}: nobody can decide: there is no channel, and no approver has a key"
        found.append(_warning(what, f"{key}; then assent requests approve"))
    elif policy.channels and active is not None and not asked & {*active} and not by_key:
        what = f"{policy.org}: nobody will be asked: no approver has an account in any channel"
        kind = policy.channels[0].kind
        mend = f"correct the e-mail, or name the account under people: {min(asked)}: {{{kind}: …}}"
        found.append(_warning(what, mend))
    return found


def _asked(policy: Policy) -> set[str]:
    """Return whom the file's rules ask; nobody, where only a platform can say who that is."""
    names = {name for asking in _askings(policy) for stage in asking.stages for name in stage.of}
    return {person for name in names for person in policy.directory.ever(name)}


def _askings(policy: Policy) -> list[Asking]:
    every = [policy.ask, *(rule.asking for rule in policy.rules)]
    every += [tier.asking for rule in policy.rules for tier in rule.tiers]
    return [asking for asking in every if asking is not None]


def _unheard(policy: Policy, keys: Collection[ApiKey], active: Collection[str]) -> list[Finding]:
    """Say who is to hear how calls end and cannot be told: a message needs a chat."""
    owners = {key.person for key in keys if key.scope in AGENTS and key.person}
    names = {name for asking in _askings(policy) for name in asking.cc}
    people = {person for name in names - {OWNER} for person in policy.directory.ever(name)}
    people |= owners if OWNER in names else set[str]()
    unheard = sorted(people - {*active})
    if not unheard:
        return []
    what = f"{policy.org}: cc tells {', '.join(unheard)} how calls end, and no channel knows an account of theirs"
    return [_warning(what, "correct the e-mail, name the account under people, or take them out of cc")]


def _warning(what: str, mend: str) -> Finding:
    return Finding(severity=Severity.WARNING, what=what, mend=mend)
