"""What the commands about rules print: for people, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.cli.rules.payment_views import (
    payment_lines,
    session_told,
    standing_told,
    view_payments,
    view_session,
    view_standing,
)
from app.domain.people.assurance import Assurance
from app.domain.request.request import Risk
from app.usecases.judging.explain import trace_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.domain.rules.rule import Asking
    from app.policies.file.case_file import Case
    from app.policies.file.policy_file import LoadedPolicy
    from app.usecases.judging.explain import Explanation
    from app.usecases.judging.propose import ProposedRule
    from app.usecases.judging.replay import Change, Replayed

_MOST_SHOWN = 50


def explained_lines(explanation: Explanation) -> list[str]:
    """Tell an answer, the rules on the way to it, and whom it asks."""
    lines = [
        f"{explanation.verdict.upper()} by {explanation.rule}: {explanation.reason}",
        "",
        f"rules that looked at it (version {explanation.version}):",
    ]
    lines += [f"  {line}" for line in trace_lines(explanation)]
    lines += payment_lines(explanation)
    if explanation.asking is not None:
        lines += ["", "whom it asks:"]
        for stage, people in zip(explanation.asking.stages, explanation.people, strict=True):
            who = ", ".join(people) or "nobody who may"
            lines.append(f"  {stage.need} of {', '.join(stage.of)}: {who}")
        lines.append(f"  on {', '.join(explanation.asking.channels)}, for {explanation.asking.timeout}")
        lines += [f"  {line}" for line in _later(explanation.asking)]
    return lines


def _later(asking: Asking) -> list[str]:
    """Tell what happens while nobody answers, and where nobody is reached; before that what is not as usual."""
    told = [f"risk: {asking.risk}"] if asking.risk is not Risk.NORMAL else []
    told += [f"assurance: {asking.assurance}"] if asking.assurance is not Assurance.L1 else []
    told += [f"a standing approval may be made: {standing_told(asking.standing)}"] if asking.standing else []
    told += [f"for a session, beside an approval: {session_told(asking.session)}"] if asking.session else []
    for rung in asking.escalate:
        also = [", ".join(rung.to)] if rung.to else []
        also += [f"on {', '.join(rung.channels)}"] if rung.channels else []
        told.append(f"after {rung.within(asking.timeout)}: also {' '.join(also)}")
    if asking.fallback:
        told.append(f"where these cannot be reached: on {', '.join(asking.fallback)}")
    return told


def view_explanation(explanation: Explanation) -> dict[str, Any]:
    """Return the same as JSON."""
    asking = explanation.asking
    return {
        "decision": explanation.verdict.value,
        "rule": explanation.rule,
        "reason": explanation.reason,
        "policy_version": explanation.version,
        "tier": explanation.tier,
        **view_payments(explanation),
        "trace": [
            {"rule": step.rule_id, "matched": step.matched, "why": step.why, "values": dict(step.values)}
            for step in explanation.trace
        ],
        "asks": None
        if asking is None
        else {
            "stages": [
                {"of": list(stage.of), "need": stage.need, "people": list(people)}
                for stage, people in zip(asking.stages, explanation.people, strict=True)
            ],
            "channels": list(asking.channels),
            "timeout_seconds": int(asking.timeout.total_seconds()),
            "risk": asking.risk.value,
            "assurance": asking.assurance.value,
            "standing": view_standing(asking.standing) if asking.standing else None,
            "session": view_session(asking.session) if asking.session else None,
            "remind": list(asking.remind),
            "escalate": [
                {
                    "after_seconds": int(rung.within(asking.timeout).total_seconds()),
                    "to": list(rung.to),
                    "channels": list(rung.channels),
                }
                for rung in asking.escalate
            ],
            "fallback": list(asking.fallback),
        },
    }


def failure_lines(case: Case, got: Explanation, headline: str) -> list[str]:
    """Tell what a case expected, what came out, and how."""
    level = got.asking.assurance if got.asking and case.assurance else None
    return [
        headline,
        f"  - {case.expect.value} by {case.rule or 'any rule'}{_in_tier(case.tier, case.assurance)}",
        f"  + {got.verdict.value} by {got.rule}{_in_tier(got.tier, level)}: {got.reason}",
        *(f"      {line}" for line in trace_lines(got)),
    ]


def _in_tier(tier: int | None, level: Assurance | None) -> str:
    told = [f"tier {tier}"] if tier is not None else []
    told += [f"at {level.value}"] if level is not None else []
    return f" ({', '.join(told)})" if told else ""


def replay_lines(replayed: Replayed, loaded: LoadedPolicy, since: str) -> list[str]:
    """Tell what a changed file would have made of the past."""
    lines = [
        f"{replayed.seen} calls of the last {since}, judged by version {loaded.policy.version}; nothing was changed"
    ]
    lines += [
        f"  {then.value:5} -> {now.value:5}  {count}" + ("" if then is now else "  <- changed")
        for (then, now), count in sorted(replayed.pairs.items())
    ]
    if replayed.by_hooks:
        lines.append(f"  refused by a hook, as before: {replayed.by_hooks}")
    lines += _not_by_rules(replayed)
    for tool, count in replayed.untold.most_common():
        lines.append(f"  cannot be told, too little of the arguments is recorded: {tool} {count}")
    for change in replayed.changes[:_MOST_SHOWN]:
        lines.append(_change_line(change))
    if len(replayed.changes) > _MOST_SHOWN:
        lines.append(f"… and {len(replayed.changes) - _MOST_SHOWN} more changes: --json has them all")
    lines += [f"would ask at {level}: {count}" for level, count in sorted(replayed.levels.items())]
    lines += [f"would have asked {person}: {count}" for person, count in replayed.paged.most_common()]
    lines += [f"cards on {channel}: {count}" for channel, count in replayed.channels.most_common()]
    return lines


def _not_by_rules(replayed: Replayed) -> list[str]:
    """Tell what answered besides the rules, and was not gone through again."""
    lines: list[str] = []
    if replayed.warned:
        kinds = ", ".join(f"{kind.value} {count}" for kind, count in replayed.warned.most_common())
        lines.append(f"  asked because of a warning of then, which is not weighed anew: {kinds}")
    if replayed.permitted:
        lines.append(f"  asks, but was approved beforehand (a standing approval, a broken glass): {replayed.permitted}")
    if replayed.not_replayed:
        lines.append(
            "  answered otherwise by this very version, because of what is not replayed (standing approvals, the rules "
            f"of agents above, who was there): {replayed.not_replayed}"
        )
    return lines


def _change_line(change: Change) -> str:
    then, now = change.recorded, change.now
    values = [f"{name} = {value}" for step in now.trace if step.matched for name, value in step.values]
    tripped = f" ({', '.join(values)})" if values else ""
    told = (
        f"{then.at:%Y-%m-%d %H:%M} UTC  {then.ref}  {then.call.tool} by {then.call.agent}: "
        f"{then.then.value} by {then.rule} -> {now.verdict.value} by {now.rule}{_in_tier(now.tier, None)}{tripped}"
    )
    return told if told.isprintable() else told.encode("unicode_escape").decode()


def view_replay(replayed: Replayed, loaded: LoadedPolicy) -> dict[str, Any]:
    """Return the same as JSON, every change with its whole explanation."""
    return {
        "policy_version": loaded.policy.version,
        "calls": replayed.seen,
        "answers": [{"then": then, "now": now, "calls": count} for (then, now), count in replayed.pairs.items()],
        "refused_by_hooks": replayed.by_hooks,
        "asked_by_warnings": {kind.value: count for kind, count in replayed.warned.most_common()},
        "approved_beforehand": replayed.permitted,
        "not_replayed": replayed.not_replayed,
        "untold": dict(replayed.untold),
        "changes": [
            {
                "at": change.recorded.at.isoformat(),
                "ref": change.recorded.ref,
                "tool": change.recorded.call.tool,
                "agent": change.recorded.call.agent,
                "then": {"decision": change.recorded.then.value, "rule": change.recorded.rule},
                "now": view_explanation(change.now),
            }
            for change in replayed.changes
        ],
        "levels": dict(sorted(replayed.levels.items())),
        "paged": dict(replayed.paged.most_common()),
        "cards": dict(replayed.channels.most_common()),
    }


def proposed_lines(found: Sequence[ProposedRule]) -> list[str]:
    """Write rules that approvals suggest as YAML, with what each rests on as a comment. None comes into force so."""
    if not found:
        return [
            "# no rules: what people approved is not alike enough (5 approvals on 2 days), was warned of,",
            "# or is never to go by itself",
        ]
    lines = ["# none of these is in force: copy one into the file's rules if you want it"]
    for each in found:
        newest, oldest = each.covers[0], each.covers[-1]
        lines += [
            f"  # to stand above {each.above}; rests on {len(each.covers)} approvals on {each.days} days",
            f"  # from {oldest.created_at:%Y-%m-%d} to {newest.created_at:%Y-%m-%d}, by {', '.join(each.people)}:",
            f"  # {' '.join(one.id for one in each.covers)}",
            each.yaml.rstrip("\n"),
        ]
    return lines


def view_proposed(each: ProposedRule) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "id": each.id,
        "above": each.above,
        "when": each.when,
        "yaml": each.yaml,
        "covers": [one.id for one in each.covers],
        "days": each.days,
        "people": list(each.people),
    }
