"""Why people are asked, in their words: the threshold that was passed, not the condition that says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from app.domain.money.amounts import amount_text
from app.domain.money.payment import plain, totals
from app.domain.rules.policy import reason_apart
from app.domain.text.paths import money_text
from app.domain.text.visible import visible
from app.domain.words.say import say
from app.usecases.writing.clean import clean

if TYPE_CHECKING:
    from app.domain.card.shown_call import Terms
    from app.domain.request.request import ConfirmationRequest
    from app.domain.rules.policy import Policy
    from app.domain.rules.rule import Rule

_ABOVE = re.compile(r"(?:args\.([A-Za-z_][\w.]*)|amount\(args\.([A-Za-z_][\w.]*)\)) ?> ?([0-9]+(?:\.[0-9]+)?)")
"""A condition that is one threshold and nothing else: of others, a part would not be the reason."""


def why_asked(request: ConfirmationRequest, policy: Policy, terms: Terms) -> str:
    """Return the rule's reason, and the threshold where it is of today's file and can be said in a few words."""
    reason = visible(clean(reason_apart(request.why)[0]))
    if request.policy_version != policy.version:
        return reason
    rule = next((each for each in policy.rules if each.id == request.rule_id), None)
    limit = _limit(rule, request, terms) if rule is not None else None
    return f"{limit} · {reason}" if limit else reason


def _limit(rule: Rule, request: ConfirmationRequest, terms: Terms) -> str | None:
    if rule.tiers:
        return _tier(rule, request, terms)
    found = _ABOVE.fullmatch(rule.when.source.strip()) if rule.when is not None else None
    if found is None:
        return None
    path = found[1] or found[2]
    currencies = {payment.currency for payment in request.payments}
    code = next(iter(currencies)) if len(currencies) == 1 and path in terms.money else None
    shown = amount_text(found[3], code, terms.language) or money_text(found[3]) or found[3]
    return say(terms.language, "console.why.above", what=terms.labels.get(path) or visible(path), limit=shown)


def _tier(rule: Rule, request: ConfirmationRequest, terms: Terms) -> str | None:
    """Name the highest limit that the call's total is above."""
    sums = totals(request.payments)
    if len(sums) != 1:
        return None
    [(currency, total)] = sums.items()
    below = [tier.up_to[currency] for tier in rule.tiers if tier.up_to and currency in tier.up_to]
    passed = [limit for limit in below if total > limit]
    if not passed:
        return None
    limit = amount_text(plain(max(passed)), currency, terms.language) or plain(max(passed))
    return say(terms.language, "console.why.tier", limit=limit)
