"""What an agent is about to do, and the digests that name it.

`call_digest` names the call alone and serves only to recognise that it was asked before. `binding_digest` names what is
approved: the call together with the request that asks for it, its policy and its deadline. Only the second can release
an execution. `near_key` names what must be seen of a call: a copy in other words of what people denied is known by it.
All are SHA-256 over RFC 8785 canonical JSON.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from app.domain.money.payment import bound_facts, payee_key, plain
from app.domain.text.canonical import digest
from app.domain.text.paths import list_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from app.domain.call.exhibit import Exhibit
    from app.domain.call.requester_proof import RequesterProof
    from app.domain.call.tool import Tool
    from app.domain.money.payment import Payment
    from app.domain.text.canonical import JsonValue

SCHEMA = "assent.call.v1"
_NEAR_SCHEMA = "assent.near.v1"


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call as the gateway judges it: arguments are validated and have their defaults.

    `agent`, `org` and `owner` come from the agent's key. `session`, `call_id`, `requester` and `claim` are what the
    agent says: they may bar an approver or help to recognise a call, but never allow anything. With `proof`, an issuer
    of the file says who the requester is, and no longer the agent.
    """

    org: str
    agent: str
    session: str | None
    call_id: str | None
    tool: str
    arguments: Mapping[str, JsonValue]
    requester: str | None  # e-mail of the person on whose behalf the agent acts
    owner: str | None  # e-mail of the person who answers for the agent
    claim: str | None  # the agent's own words for the approver
    sub_agent: str | None = None  # through whom the agent acts
    host_event: str | None = None  # what its program sent to the hook, as it is kept
    evidence: tuple[Exhibit, ...] = ()  # what it brings along for the people who decide
    proof: RequesterProof | None = None


def call_digest(call: ToolCall) -> str:
    """Name the call alone: the same org, agent, tool and arguments have the same digest."""
    return digest(_bare(call))


def binding_digest(
    call: ToolCall,
    *,
    request_id: str,
    nonce: str,
    policy_version: str,
    expires_at: datetime,
    payments: Sequence[Payment] = (),
) -> str:
    """Name what an approval releases: this call, for this request, under this policy, until this instant.

    Of payments the totals and the payees are named besides the arguments: which of these they are is the file's word.
    Evidence is named where there is some: people approve what they were shown.
    """
    bound: dict[str, JsonValue] = {
        **_bare(call),
        "session": call.session,
        "requester": call.requester,
        "request_id": request_id,
        "nonce": nonce,
        "policy_version": policy_version,
        "expires_at": expires_at.isoformat(),
        **({"payment": bound_facts(payments)} if payments else {}),
        **({"evidence": [each.bound() for each in call.evidence]} if call.evidence else {}),
        **({"requester_proof": call.proof.facts()} if call.proof else {}),
    }
    return digest(bound)


def _bare(call: ToolCall) -> dict[str, JsonValue]:
    return {
        "schema": SCHEMA,
        "org": call.org,
        "agent": call.agent,
        "tool": call.tool,
        "arguments": dict(call.arguments),
    }


def attach_key(call: ToolCall, of_digest: str) -> str | None:
    """Name one call of a session, so that a repetition stands on the open request: `attach_base`, and the call's id.

    Calls with other ids have other keys: an agent that makes the same call twice wants it twice. None: no session.
    """
    base = attach_base(call, of_digest)
    if base is None or call.call_id is None:
        return base
    return base + hashlib.sha256(call.call_id.encode()).hexdigest()[:16]


def attach_base(call: ToolCall, of_digest: str) -> str | None:
    """Name the same calls of the same session and sub-agent and for the same person: their keys begin with it.

    For another person it is another call: whoever it is asked for may not approve it. So it is where one is proved and
    the other only claimed: a claim gets no card that says who asked as a fact. None: no session.
    """
    if call.session is None:
        return None
    through = () if call.sub_agent is None else (call.sub_agent,)
    if call.proof is not None:
        through += ("proved\n",)  # no name has a line break
    return _named((call.agent, call.session, call.requester or "", *through), of_digest)


@lru_cache(maxsize=1024)  # asked when a call comes in, and again with every change of its request
def _named(parts: tuple[str, ...], of_digest: str) -> str:
    named = "".join(f"{len(part)}:{part}" for part in parts) + of_digest
    return hashlib.sha256(named.encode()).hexdigest()


def near_key(call: ToolCall, tool: Tool, payments: Sequence[Payment]) -> str | None:
    """Name what must be seen of a call, whichever agent makes it; None where the file pins nothing of the tool.

    Other words are also another spelling: of payments the amounts and names count as they are compared everywhere
    (`payment.py`), not as they are written, and the order of a batch does not count.
    """
    if not tool.pin:
        return None
    paid = tool.payment.paths if tool.payment is not None and payments else ()
    shown: list[JsonValue] = [
        [path, list_values(call.arguments, path)] for path in sorted(tool.pin) if path not in paid
    ]
    told: list[JsonValue] = [*sorted(_told(payment, tool) for payment in payments)]
    return digest({"schema": _NEAR_SCHEMA, "org": call.org, "tool": call.tool, "shown": shown, "payments": told})


def _told(payment: Payment, tool: Tool) -> str:
    """Return what must be seen of one payment, as it is compared."""
    fields = tool.payment
    account = payment.account_key if fields is not None and fields.account in tool.pin else ""
    reference = payment.reference if fields is not None and fields.reference in tool.pin else None
    seen: list[JsonValue] = [payment.payee_key, plain(payment.amount), payment.currency, account]
    return digest([*seen, None if reference is None else payee_key(reference)])
