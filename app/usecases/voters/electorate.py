"""Who may vote on a request right now: today's members of its groups, without the requester and the agent's owner.

Everything is looked up in the configuration in force at this instant: who is in a group, up to which amount somebody
may approve, and who acts today for whom. Days are those of the org's time zone.
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, NamedTuple

from app.domain.errors import BadArgumentsError
from app.domain.money.amounts import currency_of
from app.domain.money.payment import payments_of, totals
from app.domain.people.people import MANAGER, OWNER, RELATIONS, REQUESTER, Amount, email_key
from app.domain.request.quorum import Electorate, barred_from_all, count, electorate, reachable, steps
from app.domain.rules.policy import Deny
from app.domain.text.paths import list_values, values_at
from app.ports import AccountStatus
from app.storage.cards.accounts import list_by_account

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from app.domain.call.tool import Tool
    from app.domain.call.tool_call import ToolCall
    from app.domain.money.payment import PaymentFields
    from app.domain.people.people import Directory
    from app.domain.request.consultation import HandOver
    from app.domain.request.decision import Decision
    from app.domain.request.quorum import Stage
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Ask, Policy
    from app.storage.engine.transaction import Tx

_MOST_KEPT = 1024
_DIGITS = 100  # of a sum: an amount has 80 at most
_DECIMAL = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")


def voters_for(
    call: ToolCall, stages: Sequence[Stage], policy: Policy, *, now: datetime, without: frozenset[str] = frozenset()
) -> Electorate:
    """Return who may vote on a call: barred stage by stage, held to their limits, with those who act for the absent.

    `without` are people whose vote is worth nothing for another reason.
    """
    return _voters(call, stages, policy, _acting(policy, now), without)


def voters_of(
    request: ConfirmationRequest,
    policy: Policy,
    *,
    now: datetime,
    stages: Sequence[Stage] | None = None,
    without: frozenset[str] = frozenset(),
) -> Electorate:
    """Return who may vote on a request: as for its call, with the places that were handed over, without its editor.

    `stages` are its own, unless it is about to get others.
    """
    asked = request.stages if stages is None else stages
    return _voters(request.call, asked, policy, _acting(policy, now), without, request)


def voters_at_first(call: ToolCall, stages: Sequence[Stage], policy: Policy) -> Electorate:
    """Return who may vote on a call in their own right: with nobody of them left, nobody needs to be asked."""
    return _voters(call, stages, policy, (), frozenset())


def voters_shown(request: ConfirmationRequest, policy: Policy) -> Electorate:
    """Return who counts where votes are only shown: whoever voted for somebody away does, if they could when they did.

    No clock is needed for that; whether a vote is worth something is always asked of `voters_for`.
    """
    acting = [
        (decision.person, decision.on_behalf_of)
        for decision in request.decisions
        if decision.on_behalf_of is not None
        and (decision.person, decision.on_behalf_of)
        in policy.directory.acting_on(decision.at.astimezone(policy.zone).date())
    ]
    return _voters(request.call, request.stages, policy, acting, frozenset(), request)


def named_for(call: ToolCall, names: Iterable[str], policy: Policy) -> frozenset[str]:
    """Return everyone whom names stand for where this call is meant: some are words for what somebody is to it."""
    return frozenset(
        who for name in names for who in policy.directory.named(name, requester=call.requester, owner=call.owner)
    )


def related_to(call: ToolCall, stages: Sequence[Stage], policy: Policy) -> tuple[str, ...]:
    """Return those people of stages who are asked because of what they are to this call, and may vote on it."""
    names = {name for stage in stages for name in stage.of if name in RELATIONS}
    return tuple(sorted(named_for(call, names, policy) & voters_at_first(call, stages, policy).entitled()))


def unfilled(call: ToolCall, stages: Sequence[Stage], policy: Policy) -> tuple[str, ...]:
    """Say of each word that stands for nobody in these stages why, in the words of the file."""
    why = {
        REQUESTER: "the call names no requester of the file",
        OWNER: "the agent's key names no owner of the file",
        MANAGER: _no_manager(call.requester, policy.directory),
    }
    names = dict.fromkeys(name for stage in stages for name in stage.of if name in RELATIONS)
    return tuple(why[name] for name in names if not named_for(call, (name,), policy))


def nobody_left(ruling: Ask, call: ToolCall, policy: Policy) -> Deny | None:
    """Return the refusal of a call that too few may approve, made at once: nobody is asked in vain. None for others."""
    stages = ruling.asking.stages
    if reachable(stages, voters_at_first(call, stages, policy)):
        return None
    why_nobody = "; ".join(unfilled(call, stages, policy))
    return Deny(
        rule_id=ruling.rule_id,
        reason="Nobody who may approve this is left once the requester, the agent's owner and those above "
        f"their limit are taken out{f' ({why_nobody})' if why_nobody else ''}.",
        policy_version=ruling.policy_version,
        trace=ruling.trace,
        record=True,
    )


def awaits_directory(call: ToolCall, stages: Sequence[Stage], policy: Policy) -> bool:
    """Say whether these stages ask people of whom no platform has told since the start: in a group, or the manager.

    Nothing of it is stored: until it has answered, nobody can say that somebody is *not* one of them.
    """
    names = {name for stage in stages for name in stage.of}
    if names & policy.directory.untold:
        return True
    if MANAGER not in names or call.requester is None:
        return False
    person = policy.directory.find(call.requester)
    told = policy.directory.told.get(person.email) if person is not None and person.manager is None else None
    return told is not None and told.is_untold


def _no_manager(asked: str | None, directory: Directory) -> str:
    if asked is None:
        return "no manager is known: the call names no requester"
    person = directory.find(asked)
    if person is None:
        return f"no manager of {asked} is known: they are not in people"
    told = directory.told.get(person.email)
    besides = f", and {told.why}" if told is not None and told.why else ""
    return f"no manager of {asked} is known: people has no `manager` for them{besides}"


def may_take(stage: Stage, policy: Policy) -> frozenset[str]:
    """Return everyone to whom a place of one stage may be handed over."""
    return people_of((stage,), policy)


def people_of(stages: Sequence[Stage], policy: Policy) -> frozenset[str]:
    """Return everyone to whom a place of these stages may be handed over: their own people, and whom they are open to.

    Whoever added a person has not opened that person's place to anybody.
    """
    names = {name for stage in stages for name in (*stage.of, *stage.open_to)}
    return frozenset(who for name in names for who in policy.directory.members(name))


def _acting(policy: Policy, now: datetime) -> tuple[tuple[str, str], ...]:
    if not policy.directory.absent:
        return ()
    return policy.directory.acting_on(now.astimezone(policy.zone).date())


def _voters(  # noqa: PLR0917 - what an electorate is made of
    call: ToolCall,
    stages: Sequence[Stage],
    policy: Policy,
    acting: Sequence[tuple[str, str]],
    without: frozenset[str],
    request: ConfirmationRequest | None = None,
) -> Electorate:
    """Find who may vote once for all calls that are alike in what counts here; it is asked at every step."""
    editor, handovers = (request.editor, request.handovers) if request else (None, ())
    over_limit: frozenset[str] = frozenset()
    if policy.directory.limited:
        over_limit = policy.directory.over_limit(amount_of(call, policy.tools.get(call.tool)))
    alike = _Alike(tuple(stages), call.requester, call.owner, editor, over_limit, tuple(acting), without, handovers)
    known = policy.electorates.get(alike)
    if known is None:
        if len(policy.electorates) >= _MOST_KEPT:
            policy.electorates.clear()
        known = policy.electorates[alike] = _found(alike, policy)
    return known


class _Alike(NamedTuple):
    stages: tuple[Stage, ...]
    requester: str | None
    owner: str | None
    editor: str | None
    over_limit: frozenset[str]
    acting: tuple[tuple[str, str], ...]
    without: frozenset[str]
    handovers: tuple[HandOver, ...]


def _found(of: _Alike, policy: Policy) -> Electorate:
    directory, stages, without = policy.directory, of.stages, of.without
    out = [stage.barred(requester=of.requester, owner=of.owner, editor=of.editor) for stage in stages]
    members = [
        frozenset(
            who
            for name in stage.of
            for who in directory.named(name, requester=of.requester, owner=of.owner)
            if email_key(who) not in barred
        )
        - without
        for stage, barred in zip(stages, out, strict=True)
    ]
    for over in of.handovers:
        heir = directory.find(over.to)
        for index, people in enumerate(members):
            if over.by in people:
                # Looked up anew, as everything is: whom the file no longer lets take this place has lost it.
                taking = frozenset({heir.email} if heir else ()) & may_take(stages[index], policy) - without
                members[index] = people - {over.by} | {who for who in taking if email_key(who) not in out[index]}
    places = {
        (delegate, absent): frozenset(
            index for index, people in enumerate(members) if absent in people and email_key(delegate) not in out[index]
        )
        for delegate, absent in of.acting
        if delegate not in without
    }
    return electorate(
        stages,
        members,
        barred_from_all(stages, requester=of.requester, owner=of.owner, editor=of.editor),
        over_limit=of.over_limit,
        acting=places,
        alone=_alone(of, directory) - without,
    )


def _alone(of: _Alike, directory: Directory) -> frozenset[str]:
    """Return who may decide about their own because nobody else of the request may: one person, or nobody.

    Whoever else could vote if they had an account, a higher limit or a second factor is somebody else all the same. And
    where a platform says who is in a group there may be others: not to have heard of them is no proof.
    """
    names = {name for stage in of.stages for name in stage.of}
    lets = bool(of.stages) and all(stage.allow_alone for stage in of.stages)
    if not lets or of.handovers or not names.isdisjoint(directory.sources):
        return frozenset()
    everyone = frozenset(who for name in names for who in directory.named(name, requester=of.requester, owner=of.owner))
    own = {email_key(who) for who in (of.requester, of.owner) if who} - {email_key(of.editor or "")}
    return everyone if len(everyone) == 1 and own.issuperset(map(email_key, everyone)) else frozenset()


def amount_of(call: ToolCall, tool: Tool | None) -> Amount | None:
    """Return what a call would spend: the total of its payments, or else of all its tool's `money`, in one currency.

    That is the currency beside each, or over all of the call. None if the file names no money field or the call has
    none of them, if one is there several times or is nothing exact, and for several currencies.
    """
    if tool is not None and tool.payment is not None:
        return _total(call, tool.payment)
    found = [amount for path in (tool.money if tool else ()) for amount in _amounts_at(call, path)]
    known = [amount for amount in found if amount is not None]
    if not known or len(known) < len(found) or len({amount.currency for amount in known}) != 1:
        return None
    with localcontext(prec=_DIGITS):  # every digit of a sum counts
        return Amount(value=sum((amount.value for amount in known), Decimal(0)), currency=known[0].currency)


def _amounts_at(call: ToolCall, path: str) -> list[Amount | None]:
    """Return the amount at a path, None for one that is not known; nothing where the call has none there."""
    amounts = list_values(call.arguments, path)
    currency = currency_of(path, lambda at: values_at(call.arguments, at))
    texts = [str(value) if type(value) is int else value for value in amounts]
    if len(texts) == 1 and isinstance(texts[0], str) and _DECIMAL.fullmatch(texts[0]) and currency is not None:
        return [Amount(value=Decimal(texts[0]).copy_abs(), currency=currency)]  # no amount makes another one smaller
    return [None] if amounts else []


def _total(call: ToolCall, fields: PaymentFields) -> Amount | None:
    try:
        sums = totals(payments_of(fields, call.arguments))
    except BadArgumentsError:
        return None
    [(currency, value), *others] = sums.items()
    return None if others else Amount(value=value, currency=currency)


def without_account(tx: Tx, request: ConfirmationRequest) -> frozenset[str]:
    """Return the people whose vote came from an account that is, by now, no longer active or no longer theirs."""
    return frozenset(decision.person for decision in request.decisions if not _account_stands(tx, decision))


def acts_for(person: str, request: ConfirmationRequest, voters: Electorate) -> str | None:
    """Return for whom a person votes: None for themselves, else whoever is away and whose place they take.

    They vote in their own right wherever they can in the step that is asked now, and for somebody else only where they
    cannot, so that both names are recorded exactly when the second one is needed.
    """
    earlier = next((decision for decision in request.decisions if decision.person == person), None)
    if earlier is not None and voters.places_of(person, earlier.on_behalf_of):
        return earlier.on_behalf_of
    spoken = {decision.person for decision in request.decisions}
    principals = sorted(absent for (delegate, absent), places in voters.acting.items() if delegate == person and places)
    free = [absent for absent in principals if absent not in spoken]
    if not free:
        return None
    own = voters.places_of(person, None)
    at = count(request.stages, request.decisions, voters).stage
    now_asked = next((step for step in steps(request.stages) if at in step), frozenset[int]())
    if own & now_asked:
        return None
    wanted = next((absent for absent in free if voters.acting[person, absent] & now_asked), None)
    return wanted or (None if own else free[0])


def _account_stands(tx: Tx, decision: Decision) -> bool:
    evidence = decision.evidence
    if not evidence.account_id:
        return True  # it came with a personal key
    known = list_by_account(tx, evidence.channel, evidence.account_id)
    return [each.person for each in known] == [decision.person] and known[0].account.status is AccountStatus.ACTIVE
