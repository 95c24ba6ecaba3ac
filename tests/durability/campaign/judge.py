"""Who compares in the end: the ledger with the trail, the rows with what callers were told, the chat with the rows."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.durability.gateway_process import SECRET
from tests.durability.invariants import Row, faults, snapshot
from tests.fixtures import forked
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.ledger.book import Payment
    from tests.durability.campaign.figures import Figures
    from tests.durability.campaign.town import Town

_VOTES = {"approve": {"request.voted", "request.approved"}, "deny": {"request.denied"}}
_ENDS = {"denied", "expired", "cancelled", "undeliverable", "lapsed", "succeeded", "failed", "unknown"}


@dataclass(frozen=True, slots=True)
class Findings:
    """All that there is to compare."""

    requests: dict[str, Row]
    events: dict[str, list[Row]]
    grants: dict[str, Row]
    payments: list[Payment]
    figures: Figures

    # --- the ledger and the trail -------------------------------------------------------------------------------------

    def doubled(self) -> Iterator[str]:
        """What was paid, claimed or asked twice."""
        for reference, times in Counter(payment.reference for payment in self.payments).items():
            if times > 1:
                yield f"{reference} was paid {times} times"
        for request_id, events in self.events.items():
            if sum(event["kind"] == "grant.claimed" for event in events) > 1:
                yield f"{request_id} was claimed twice"
        for request_id, claims in self.figures.handed_out.items():
            if len(claims) > 1:
                yield f"{request_id} was handed out {len(claims)} times: {sorted(claims)}"
        asked = Counter(json.loads(row["arguments"])["reference"] for row in self.requests.values())
        for reference, times in asked.items():
            if times > 1:
                yield f"{reference} stands in {times} requests"

    def unapproved(self) -> Iterator[str]:
        """What was paid without an approval that stands in the trail before the claim, or otherwise than approved."""
        for payment in self.payments:
            grant = self.grants.get(payment.key)
            if grant is None:
                yield f"{payment.reference} was paid under {payment.key}, which is no grant"
                continue
            request, events = self.requests[grant["request_id"]], self.events[grant["request_id"]]
            first = {kind: at for at, kind in reversed([(event["seq"], event["kind"]) for event in events])}
            if not first.get("request.approved", 1 << 62) < first.get("grant.claimed", -1):
                yield f"{payment.reference} was paid, and the trail has no approval before a claim: {request['id']}"
            wanted = json.loads(request["arguments"])
            if (payment.payee, payment.reference, Decimal(payment.amount)) != (
                wanted["payee"],
                wanted["reference"],
                Decimal(wanted["amount"]),
            ):
                yield f"{payment.reference} was paid otherwise than approved: {request['id']}"

    def lost(self) -> Iterator[str]:
        """What was acknowledged and is not there, what never came to an end, and what was paid and is not known."""
        for request_id, reference in self.figures.created.items():
            if request_id not in self.requests:
                yield f"{request_id} ({reference}) was acknowledged and is not there"
        for request_id, person, verdict in self.figures.voted:
            told = [event for event in self.events[request_id] if event["actor"] == person]
            if not any(event["kind"] in _VOTES[verdict] | {"request.edited"} for event in told):
                yield f"{request_id}: the {verdict} of {person} was acknowledged and is not in the trail"
        paid = {self.grants[payment.key]["request_id"] for payment in self.payments if payment.key in self.grants}
        for request_id, row in self.requests.items():
            if row["state"] not in _ENDS:
                yield f"{request_id} is {row['state']}, and nothing moves any more"
            if (row["state"] == "succeeded") != (request_id in paid):
                has = "a" if request_id in paid else "no"
                yield f"{request_id} is {row['state']}, and the ledger has {has} payment"

    def history(self, fault: str) -> str:
        """Return what the trail says of the request that a fault names."""
        named = next((request_id for request_id in self.requests if request_id in fault), None)
        if named is None:
            reference = fault.partition(" ")[0]
            named = next(
                (
                    key
                    for key, row in self.requests.items()
                    if f'"{reference}"' in json.dumps(json.loads(row["arguments"]))
                ),
                "",
            )
        lines = [f"  {row['at']} {row['kind']} by {row['actor']} {row['facts']}" for row in self.events.get(named, ())]
        return "\n".join([f"{named}:", *lines])


def buttons_that_live(town: Town) -> list[str]:
    """Return the messages that can still be pressed although nothing waits."""
    messages = town.slack.room.messages
    return [ts for ts, message in messages.items() if "assent_approve" in str(message.now.blocks)]


async def judge(town: Town) -> list[str]:
    """Compare, note the figures, and return all that is wrong, the worst first."""
    rows = (await asyncio.to_thread(snapshot, town.url)).rows
    events: dict[str, list[Row]] = defaultdict(list)
    for event in rows["audit_events"]:
        events[event["request_id"]].append(event)
    found = Findings(
        requests={row["id"]: row for row in rows["requests"]},
        events=events,
        grants={row["id"]: row for row in rows["grants"]},
        payments=town.book.payments(),
        figures=town.figures,
    )
    doubled, unapproved, lost = list(found.doubled()), list(found.unapproved()), list(found.lost())
    live = [f"a settled request stands with live buttons: {ts}" for ts in buttons_that_live(town)]
    fell = [text for replica in town.replicas for text in replica.fell]
    standing = [*(await asyncio.to_thread(faults, town.url)), *(await asyncio.to_thread(_trail, town))]
    ends = Counter(row["state"] for row in found.requests.values())
    kinds = Counter(row["kind"] for row in rows["audit_events"])
    town.figures.results = {
        "requests": len(found.requests),
        "ends": dict(sorted(ends.items())),
        "approvals": kinds["request.approved"],
        "denials": kinds["request.denied"],
        "edits": kinds["request.edited"],
        "expiries": kinds["request.expired"],
        "claims": kinds["grant.claimed"],
        "payments": len(found.payments),
        "starts of gateways": sum(replica.starts for replica in town.replicas),
        "lost": len(lost),
        "doubled": len(doubled),
        "run without approval": len(unapproved),
        "wrong in another way": len(standing) + len(live) + len(fell) + len(town.figures.wrong),
    }
    wrong = [*doubled, *unapproved, *lost, *standing, *live, *fell, *town.figures.wrong]
    return [f"{wrong[0]}\n{found.history(wrong[0])}", *wrong[1:]] if wrong else []


def _trail(town: Town) -> list[str]:
    """Let the command walk the chain and hold the rows against it."""
    environ: dict[str, Any] = {
        **os.environ,
        **town.made.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sdk")]),
        "ASSENT_SECRET": SECRET,
        "ASSENT_DATABASE_URL": town.url,
    }
    said = forked.run(
        "app.cli.main", "audit", "verify", "-c", "assent.yaml", env=environ, cwd=town.made.folder, timeout=120
    )
    return [] if said.returncode == 0 else [f"audit verify: {said.stdout}{said.stderr}"]
