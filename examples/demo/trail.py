"""The demo's view of the audit trail: read with an auditor's key over the API, told in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

import httpx2

if TYPE_CHECKING:
    from collections.abc import Mapping

Event = dict[str, object]

_MACHINES = {"agent": "The agent", "key": "The executor"}
_PLATFORM = {"pay-feishu": "Feishu", "pay-slack": "Slack"}
_SENTENCES = {
    "request.created": "The agent asks to pay; the call is on hold",
    "request.approved": "{who} approved in {place}",
    "request.denied": "{who} denied in {place}: “{reason}”",
    "request.asked_back": "{who} asked: “{text}”",
    "request.answered": "{who} answered: “{text}”",
    "card.posted": "Card shown in {place}",
    "card.retired": "Card in {place} settled: no buttons any more",
    "card.failed": "Card could not be shown in {place}",
    "click.refused": "A click in {place} was refused: not an approver",
    "request.expired": "Nobody decided in time: expired, nothing ran",
    "request.cancelled": "The agent withdrew its request",
    "request.undeliverable": "Nobody could be reached: nothing ran",
    "request.voted": "One approval; more are needed",
    "request.handed_over": "An approver handed the decision over",
    "request.approver_added": "An approver wants somebody else to agree as well",
    "request.reminded": "Those who had not decided yet were reminded",
    "request.escalated": "Nobody had decided: more people were asked",
    "request.extended": "People got more time",
    "request.reopened": "What had expired was asked again",
    "card.held": "The card waits: people are asked a little later",
    "card.late": "A card is late: other ways are tried",
    "card.rerouted": "The card was brought to other places",
    "request.edited": "An approver changed the call",
    "request.reviewed": "An approver looked at all of it",
    "grant.claimed": "{who} took the approval: good for one run",
    "grant.lapsed": "The approval was not used in time",
    "grant.revoked": "The approval was taken back",
    "execution.succeeded": "The payment ran, once, and succeeded",
    "execution.failed": "The payment ran, once, and failed",
    "execution.unknown": "Whether the payment ran is not known",
    "execution.reconciled": "It was found out what became of the payment: it {status}",
    "call.allowed": "A small payment: a rule allowed it",
    "call.refused": "A rule or a hook refused the call",
    "evaluation.bypassed": "An evaluation run: nobody was asked",
    "hook.blocked": "A hook stopped the agent",
    "hook.faulted": "A hook failed; its own setting says what that means",
    "hook.noted": "A hook noted something",
    "session.detached": "A session began that inherits nothing from its parent",
    "switch.set": "A switch was set",
    "request.lifted": "A refusal was lifted: it may be asked again",
    "approver.locked": "An approver typed wrong codes and is locked for a while",
    "factor.invited": "Somebody was invited to set up a second factor",
    "factor.added": "Somebody set up a second factor",
    "factor.removed": "A second factor was taken away",
    "standing.proposed": "A standing approval was proposed",
    "standing.confirmed": "A second person confirmed the standing approval",
    "standing.used": "A standing approval was used",
    "standing.revoked": "A standing approval was revoked",
    "break_glass.proposed": "Somebody wants to break the glass",
    "break_glass.broken": "THE GLASS WAS BROKEN by two people",
    "break_glass.used": "A call ran under the broken glass: nobody was asked",
    "break_glass.ended": "The broken glass was ended",
    "break_glass.reviewed": "What was done under the broken glass was reviewed",
    "payee.added": "A payee was put into the register",
    "payee.removed": "A payee was taken out of the register",
    "trail.restored": "The database was restored from a backup: what waited is void",
}
ENDS = frozenset({
    "request.denied", "request.expired", "request.cancelled", "request.undeliverable", "grant.lapsed", "grant.revoked",
    "execution.succeeded", "execution.failed", "execution.unknown",
})  # fmt: skip
BEHIND_THE_SCENES = frozenset({"key.created", "key.revoked", "policy.loaded", "payee.added"})


class Trail:
    """Every event so far, fetched as it comes; what was fetched stays when the gateway is away."""

    def __init__(self, url: str, key: str, names: Mapping[str, str]) -> None:
        """Fetch nothing yet. `names` are the people's as the cards have them, by e-mail."""
        self._client = httpx2.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=2
        )
        self._names = names
        self.events: list[Event] = []

    async def __aenter__(self) -> Self:
        """Open the client."""
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the client."""
        await self._client.aclose()

    async def fetch(self) -> bool:
        """Fetch what is new. Return whether the gateway answered."""
        params = {"limit": "1000"} | ({"after": str(self.events[-1]["seq"])} if self.events else {})
        try:
            answer = await self._client.get("/v1/audit", params=params)
        except httpx2.HTTPError:
            return False
        if answer.status_code != 200:
            return False
        fresh = cast("list[Event]", answer.json()["items"])  # the gateway's own JSON
        seen = {event["seq"] for event in self.events}  # two fetches may overlap
        self.events += [event for event in fresh if event["seq"] not in seen]
        return True

    def of(self, request_id: str, *kinds: str) -> list[Event]:
        """Return the events of a request, of these kinds if any are named."""
        return [e for e in self.events if e["request_id"] == request_id and (not kinds or e["kind"] in kinds)]

    def requests(self) -> list[str]:
        """Return the ids of all requests, in the order in which they were made."""
        return [str(event["request_id"]) for event in self.events if event["kind"] == "request.created"]

    def open_request(self) -> int | None:
        """Return the number of the newest request, from 1, unless it has come to its end."""
        requests = self.requests()
        return len(requests) if requests and not self.of(requests[-1], *ENDS) else None

    def lines(self) -> list[dict[str, str]]:
        """Return the story: when, what, what kind, and of which request (its number from 1, "" if none)."""
        numbers = {request_id: str(number) for number, request_id in enumerate(self.requests(), 1)}
        return [
            {
                "seq": str(event["seq"]),
                "at": str(event["at"])[11:19],
                "what": told(event, self._names),
                "kind": str(event["kind"]),
                "request": numbers.get(str(event["request_id"]), ""),
            }
            for event in self.events
            if event["kind"] not in BEHIND_THE_SCENES
        ]


def told(event: Event, names: Mapping[str, str]) -> str:
    """Say one event as a sentence."""
    facts = cast("Mapping[str, object]", event["facts"])
    place = _PLATFORM.get(str(facts.get("channel") or facts.get("via") or ""), "")
    who = names.get(str(event["actor"]), str(event["actor"]))
    said = {name: facts.get(name) for name in ("reason", "text", "status")}
    if facts.get("allowed_by"):
        return "A rule allowed it: it goes to the executor"
    if event["kind"] == "click.refused" and facts.get("why") == "wrong_code":
        return f"{who} typed a wrong code in {place}: refused"
    sentence = _SENTENCES.get(str(event["kind"]), str(event["kind"]))
    who = _MACHINES.get(who.partition(":")[0], who)
    return sentence.format(who=who, place=place, **said)
