"""The demo's view of the audit trail: read with an auditor's key over the API, told in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

import httpx2

from app.domain.text.language import Language
from app.domain.trail.audit import Kind, Record
from app.domain.trail.told import told as sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

Event = dict[str, object]

_NAMES = {
    Language.EN: {
        "agent": "The agent", "key": "The executor", "pay-feishu": "Feishu", "pay-slack": "Slack",
        "console": "the console", "demo": "an operator",
    },
    Language.ZH: {
        "agent": "智能体", "key": "执行器", "pay-feishu": "飞书", "pay-slack": "Slack", "console": "控制台",
        "demo": "运维人员",
    },
}  # fmt: skip
ENDS = frozenset({
    "request.denied", "request.expired", "request.cancelled", "request.undeliverable", "grant.lapsed", "grant.revoked",
    "execution.succeeded", "execution.failed", "execution.unknown",
})  # fmt: skip
BEHIND_THE_SCENES = frozenset({
    "key.created", "key.revoked", "policy.loaded", "payee.added", "factor.invited", "factor.added",
})  # fmt: skip


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

    def lines(self, language: Language = Language.EN) -> list[dict[str, str]]:
        """Return the story: when, what, what kind, and of which request (its number from 1, "" if none)."""
        numbers = {request_id: str(number) for number, request_id in enumerate(self.requests(), 1)}
        return [
            {
                "seq": str(event["seq"]),
                "at": str(event["at"])[11:19],
                "what": told(event, self._names, language),
                "kind": str(event["kind"]),
                "request": numbers.get(str(event["request_id"]), ""),
            }
            for event in self.events
            if event["kind"] not in BEHIND_THE_SCENES
        ]


def told(event: Event, names: Mapping[str, str], language: Language = Language.EN) -> str:
    """Say one event as the gateway does, with the people's names and the platforms' instead of the trail's."""
    known = _NAMES[language]
    actor = str(event["actor"])
    who = known.get(actor.partition(":")[0], names.get(actor, actor))
    facts = cast("Mapping[str, object]", event["facts"])
    record = Record(kind=Kind(str(event["kind"])), actor=actor, facts=facts)
    return sentence(
        record, language, who=who, shown=lambda value: known.get(str(value), names.get(str(value), str(value)))
    )
