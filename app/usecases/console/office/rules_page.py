"""The rules as they run: the file and its versions, what they say of a call, and what was approved beforehand.

Nothing here changes a rule: the file alone does. That somebody looked is in the trail, before anything is shown.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.card.card_for import instant_text
from app.domain.errors import AssentError, InvalidError, NotFoundError
from app.domain.rules.name_of import name_of
from app.domain.rules.rule import Then
from app.domain.text.visible import visible
from app.domain.trail.audit import Kind, Record
from app.domain.words.reasons import reason_in
from app.domain.words.say import say
from app.storage.requests.seen_before import seen_before
from app.storage.trail.policy_versions import find_policy, list_policies
from app.usecases.console.office.call_form import call_in, fields_for
from app.usecases.console.rights import Page
from app.usecases.console.sessions import pages_of, refusal_for
from app.usecases.judging.explain import explain
from app.usecases.permits.standing import StandingApprovals, may_end, page_shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.domain.request.quorum import Stage
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Asking, Rule, Tier
    from app.domain.text.language import Language
    from app.policies.file.policy_book import PolicyBook
    from app.storage.engine.store import Store
    from app.storage.engine.transaction import Tx
    from app.storage.trail.policy_versions import Kept
    from app.usecases.console.office.call_form import Asked
    from app.usecases.console.sessions import Right
    from app.usecases.judging.explain import Explanation
    from app.usecases.permits.standing import ShownPermit

MOST_VERSIONS = 20
MOST_RULES = 50
MOST_STANDING = 25
_LOOKED = "console rules"
_LONGEST = 160  # characters of a call's values beside a rule
_MOST_TOOLS = 200
_MOST_STEPS = 40


class Version(Struct, frozen=True, kw_only=True):
    """One version of the file as it is kept."""

    version: str
    digest: str  # of its text, as the trail has it
    since: str
    runs: bool


class RuleLine(Struct, frozen=True, kw_only=True):
    """One rule in a line."""

    id: str
    tools: str
    when: str
    then: str
    asks: str


class Standing(Struct, frozen=True, kw_only=True):
    """A standing approval, and what may be done with it. `says`: "" for who may not read the values in it."""

    id: str
    state: str
    agent: str
    tool: str
    says: str
    used: str
    last: str
    until: str
    by: str
    may_end: bool


class Trace(Struct, frozen=True, kw_only=True):
    """One rule that was looked at."""

    rule: str
    why: str
    values: str
    decided: bool


class Tried(Struct, frozen=True, kw_only=True):
    """What the rules say of a call that nobody made."""

    verdict: str
    rule: str
    reason: str
    trace: tuple[Trace, ...]
    asks: tuple[tuple[str, str], ...] = ()  # how many of which groups, and who that is
    level: str = ""
    channels: str = ""
    more: int = 0


class RulesPage(Struct, frozen=True, kw_only=True):
    """The page. Every text is visible."""

    runs: str
    versions: tuple[Version, ...]
    rules: tuple[RuleLine, ...]
    more_rules: int
    default: str
    standing: tuple[Standing, ...]
    more_standing: bool
    tools: tuple[str, ...]
    tool: str
    fields: tuple[Asked, ...]
    pages: frozenset[Page]
    read_at: str


class Rules:
    """The use case."""

    def __init__(self, *, store: Store, book: PolicyBook, standing: StandingApprovals) -> None:
        """Take what it works on."""
        self._store = store
        self._book = book
        self._standing = standing

    async def show(self, right: Right, language: Language, *, tool: str = "") -> RulesPage:
        """Return the page, with the form for calls of `tool`. Raises UnauthenticatedError and ForbiddenError."""
        policy = self._book.current(right.org).policy
        await self._note(right, "page", policy.version)

        def unit(tx: Tx) -> RulesPage | AssentError:
            return refusal_for(tx, right, Page.RULES) or _page(tx, right, policy, language, tool)

        return await self._store.read(unit, org=right.org, long=True)

    async def text(self, right: Right, version: str) -> str:
        """Return a version of the file, secrets unexpanded. Raises what `show` does, and NotFoundError."""
        await self._note(right, "file", version)
        text = await self._store.read(lambda tx: find_policy(tx, version), org=right.org)
        if text is None:
            raise NotFoundError
        return text

    async def try_call(self, right: Right, form: Mapping[str, str], language: Language) -> Tried:
        """Say what the rules would answer. Raises what `show` does, and InvalidError for what is no call."""
        loaded = self._book.current(right.org)
        name = form.get("tool", "").strip()
        if not name or len(name) > _MOST_TOOLS:
            raise InvalidError("no tool", path="tool")
        await self._note(right, "try", name)
        tool = loaded.policy.whole_tool(name)
        call = call_in(form, tool, loaded.policy, language.value)
        now = await self._store.read(lambda tx: tx.now(), org=right.org)
        return _tried(await asyncio.to_thread(explain, loaded, call, now=now))

    async def end(self, right: Right, standing_id: str) -> None:
        """End a standing approval, as the person may. Raises what `show` does, NotFoundError, NotEligibleError."""
        await self._refuse(right)
        person = None if Page.ADMIN in right.pages else right.person
        await self._standing.revoke(org=right.org, permit_id=standing_id, by=right.person, person=person)

    async def _refuse(self, right: Right) -> None:
        await self._store.read(lambda tx: refusal_for(tx, right, Page.RULES) or True, org=right.org)

    async def _note(self, right: Right, form: str, what: str) -> None:
        def unit(tx: Tx) -> AssentError | bool:
            refused = refusal_for(tx, right, Page.RULES)
            if refused is None and not seen_before(tx, _LOOKED, f"{right.name}:{form}:{what}"):
                facts = {"form": form, "what": visible(what)}
                tx.append(Record(kind=Kind.RULES_READ, actor=right.person, facts=facts))
            return refused or True

        await self._store.write(unit, org=right.org)


def _page(tx: Tx, right: Right, policy: Policy, language: Language, tool: str) -> RulesPage:
    pages, known = pages_of(right), policy.tools.get(tool)
    page = page_shown(tx, policy, most=MOST_STANDING)
    shown = sorted(page.shown, key=lambda each: each.state not in {"active", "proposed"})
    return RulesPage(
        runs=policy.version,
        versions=tuple(_version(each, policy) for each in list_policies(tx, most=MOST_VERSIONS)),
        rules=tuple(_rule(each, policy, language) for each in policy.rules[:MOST_RULES]),
        more_rules=max(0, len(policy.rules) - MOST_RULES),
        default=policy.default.value,
        standing=tuple(_standing(tx, each, right, policy, language) for each in shown),
        more_standing=page.behind is not None,
        tools=tuple(sorted(policy.tools)[:_MOST_TOOLS]),
        tool=tool,
        fields=fields_for(known, language.value) if known else (),
        pages=pages,
        read_at=instant_text(tx.now(), policy.zone),
    )


def _version(kept: Kept, policy: Policy) -> Version:
    return Version(
        version=kept.version,
        digest=hashlib.sha256(kept.text.encode()).hexdigest(),
        since=instant_text(kept.loaded_at, policy.zone),
        runs=kept.version == policy.version,
    )


def _rule(rule: Rule, policy: Policy, language: Language) -> RuleLine:
    def named(stage: Stage) -> str:
        return ", ".join(name_of(policy, each, language) for each in stage.of)

    def asked(asking: Asking | None) -> str:
        if asking is None:
            return ""
        stages = " → ".join(f"{each.need} × {named(each)}" for each in asking.stages)
        return f"{stages} · {asking.assurance.value}"

    def answered(tier: Tier) -> str:
        answer = say(language, f"rules.{tier.then.value}")
        people = asked(tier.asking) if tier.then is Then.ASK else ""
        return f"{reason_in(tier.told(), language, ())}: {answer}{f' ({people})' if people else ''}"

    when = rule.when.source.strip() if rule.when else ""
    tiers = "; ".join(map(answered, rule.tiers))
    return RuleLine(
        id=rule.id,
        tools=visible(", ".join(pattern.text for pattern in rule.tools)),
        when=visible(when),
        then=rule.then.value,
        asks=visible(tiers or asked(rule.asking)),
    )


def _standing(tx: Tx, shown: ShownPermit, right: Right, policy: Policy, language: Language) -> Standing:
    permit, now = shown.permit, tx.now()
    scope, stands = permit.scope, shown.state in {"active", "proposed", "used up"}
    may_read = Page.TRAIL in right.pages or right.person in permit.people
    may_stop = Page.ADMIN in right.pages or may_end(tx, permit, right.person, policy, now)
    return Standing(
        id=permit.id,
        state=shown.state,
        agent=visible(str(scope.get("agent", "?"))),
        tool=visible(str(scope.get("tool", "?"))),
        says=shown.sentences[language] if may_read else "",
        used=f"{permit.used} / {scope.get('uses', '?')}",
        last=instant_text(permit.last_used_at, policy.zone) if permit.last_used_at else "",
        until=instant_text(permit.expires_at, policy.zone),
        by=visible(", ".join(name_of(policy, who) for who in permit.people)),
        may_end=stands and may_stop,
    )


def _tried(explanation: Explanation) -> Tried:
    asking, steps = explanation.asking, explanation.trace
    last = steps[-_MOST_STEPS:]
    return Tried(
        verdict=explanation.verdict.value,
        rule=visible(explanation.rule),
        reason=visible(explanation.reason),
        trace=tuple(
            Trace(
                rule=visible(step.rule_id),
                why=visible(step.why),
                values=values_told(step.values),
                decided=step.matched and step.rule_id == explanation.rule,
            )
            for step in last
        ),
        asks=tuple(
            (f"{stage.need} × {', '.join(stage.of)}", visible(", ".join(people)))
            for stage, people in zip(asking.stages, explanation.people, strict=True)
        )
        if asking
        else (),
        level=asking.assurance.value if asking else "",
        channels=visible(", ".join(asking.channels)) if asking else "",
        more=len(steps) - len(last),
    )


def values_told(values: Sequence[tuple[str, str]]) -> str:
    """Write what a condition named, each with its value."""
    text = ", ".join(f"{name} = {value}" for name, value in values)
    return visible(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
