"""What was approved is what is paid: ten thousand ways to change one leaf of an approved payment, each of them refused.

The attacker here knows all that the digest is made of, the request's nonce included, and claims with the right digest
of the changed call. What is refused spends nothing: at the end the payment as it was approved is handed out, once.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.call.tool_call import binding_digest
from app.domain.errors import AssentError, BadArgumentsError, DigestMismatchError
from app.domain.money.payment import PaymentFields, payments_of
from app.domain.text.canonical import canonical
from app.storage.requests.requests import find_request
from app.usecases.executing.claim import Caller
from tests.fixtures.examples import examples
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from app.domain.request.request import ConfirmationRequest
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

BATCH: dict[str, Any] = {
    "currency": "CHF",
    "urgent": True,
    "memo": None,
    "payments": [
        {"payee": "Café Zürich AG", "amount": "80000.50", "iban": "CH9300762011623852957", "reference": "RE-2026-11"},
        {"payee": "Müller & Söhne", "amount": 1250, "iban": "DE89370400440532013000", "reference": "RE 7", "copies": 2},
    ],
    "lines": [{"sku": "a-1", "count": 1}, {"sku": "B-2", "count": 12}],
}
FIELDS = PaymentFields(
    amount="payments.amount",
    currency="currency",
    payee="payments.payee",
    account="payments.iban",
    reference="payments.reference",
)
RULES = """
  wire: {payment: {amount: payments.amount, currency: currency, payee: payments.payee, account: payments.iban,
    reference: payments.reference}}
payments: {step_up: []}
rules:
  - {id: wire, tools: [wire], then: ask, stages: [{of: [finance]}], channels: [api], timeout: 30m}
"""
LOOKALIKES = {"a": "а", "e": "е", "o": "о", "0": "O", "1": "l", " ": "\u00a0", "-": "‐"}

Path_ = tuple[str | int, ...]
TEXTS: list[Path_] = [("payments", 0, name) for name in ("payee", "iban", "reference", "amount")]


def paths(value: Any, path: Path_ = ()) -> list[Path_]:
    """Return where everything stands, the containers included."""
    match value:
        case dict():
            inner = [each for key, member in value.items() for each in paths(member, (*path, key))]
        case list():
            inner = [each for index, member in enumerate(value) for each in paths(member, (*path, index))]
        case _:
            inner = []
    return [path, *inner] if path else inner


def changed_text(text: str, how: int, at: int, char: str) -> Any:
    at %= len(text)
    ways = [
        text + " ",
        " " + text,
        *[text[:at] + char + text[at + 1 :]] * 6,
        *[text[:at] + char + text[at:]] * 6,
        text[:at] + text[at + 1 :],
        text.swapcase(),
        text.upper(),
        unicodedata.normalize("NFD", text),
        unicodedata.normalize("NFKD", text),
        text[:at] + LOOKALIKES.get(text[at], "\u200b") + text[at + 1 :],
        text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :],  # two neighbours in each other's place
        text + "\u0000",
        f"{text}.0",
        {"value": text},
        [text],
        "",
        None,
    ]
    return ways[how % len(ways)]


def changed(value: Any, how: int, at: int, char: str) -> Any:
    """Change one value as little as can be: its type may change, or it may only look the same."""
    match value:
        case bool():
            return [not value, int(value), str(value).lower(), None][how % 4]
        case int():
            return [value + 1, value - 1, str(value), value + 0.5, -value, value * 10, f"{value}.00", value + at][
                how % 8
            ]
        case str() if value.replace(".", "").isdigit():  # an amount: one minor unit more, or less
            cents = int(value.replace(".", "")) + (1 if how % 2 else -1) * (1 + at)
            ways = [
                f"{cents // 100}.{cents % 100:02}",
                changed_text(value, how // 3, at, char),
                f"0{value}",
                f"{value}0",
            ]
            return ways[how % 4]
        case str():
            return changed_text(value, how, at, char)
        case list():
            return [value[::-1], [*value, value[at % len(value)]], value[1:], {"0": value[0]}, []][how % 5]
        case dict():
            return [{**value, char or "x": value.get("amount", 1)}, dict(list(value.items())[1:]), [value], {}][how % 4]
        case _:
            return ["", 0, False, [], {}, "null"][how % 6]


@st.composite
def mutations(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a call that differs from the approved one in one place."""
    everywhere = paths(BATCH)
    path = draw(st.sampled_from([*everywhere, *(each for each in everywhere if each[0] == "payments"), *TEXTS * 8]))
    how, at = draw(st.integers(0, 50)), draw(st.integers(0, 40))
    char = draw(st.characters(codec="utf-8"))
    mutated = copy.deepcopy(BATCH)
    inner: Any = mutated
    for step in path[:-1]:
        inner = inner[step]
    last: Any = path[-1]
    match draw(st.sampled_from(["change", "change", "change", "change", "remove", "add", "rename"])):
        case "remove":
            del inner[last]
        case "add" if isinstance(inner, dict):
            inner[f"{last}{char}"] = inner[last]
        case "rename" if isinstance(inner, dict):
            inner[[f"{last} ", f"{last}{char}", str(last).upper(), f"{char}{last}"][how % 4]] = inner.pop(last)
        case _:
            inner[last] = changed(inner[last], how, at, char)
    return mutated


def drawn(many: int) -> dict[bytes, dict[str, Any]]:
    """Return as many calls, by their canonical text, none of which is the approved one."""
    found: dict[bytes, dict[str, Any]] = {}

    @settings(max_examples=many * 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(mutations())
    def collect(mutated: dict[str, Any]) -> None:
        if len(found) < many:
            found[canonical(mutated)] = mutated

    collect()
    found.pop(canonical(BATCH), None)
    return found


def forged(request: ConfirmationRequest, arguments: dict[str, Any], *, reread: bool) -> str:
    """Return the digest that the changed call would have, its payments read anew or as they were approved."""
    try:
        payments = payments_of(FIELDS, arguments) if reread else request.payments
    except BadArgumentsError:
        payments = request.payments
    return binding_digest(
        replace(request.call, arguments=arguments),
        request_id=request.id,
        nonce=request.nonce,
        policy_version=request.policy_version,
        expires_at=request.expires_at,
        payments=payments,
    )


@pytest.fixture
def paying(config: Path) -> Path:
    path = config / "acme.yaml"
    path.write_text(path.read_text().replace("rules:\n", RULES.lstrip("\n"), 1))
    return config


async def approved(g: Gateway) -> ConfirmationRequest:
    request = await g.ask("wire", BATCH)
    assert (await g.decide(request)).json()["state"] == "approved"
    found = await g.container.store.read(lambda tx: find_request(tx, request["id"]), org="acme")
    assert found is not None
    assert len(found.payments) == 2
    assert forged(found, BATCH, reread=True) == found.digest, "the attacker knows all that it is made of"
    return found


async def claims(g: Gateway, request: ConfirmationRequest, digests: list[str]) -> list[type[object]]:
    async def one(digest: str) -> type[object]:
        try:
            caller = Caller(org="acme", agent="shop")
            return type(await g.container.claim(caller, request_id=request.id, digest=digest, claim_id="claim-1"))
        except AssentError as refusal:
            return type(refusal)

    return await asyncio.gather(*map(one, digests))


@requirement("S-02", "S-25")
@pytest.mark.parametrize(
    "many", [300, pytest.param((2_500, 10_000), marks=[pytest.mark.long, pytest.mark.timeout(3600)], id="many")]
)
async def test_every_changed_leaf_of_an_approved_payment_is_refused_and_spends_nothing(
    database_url: str, paying: Path, platform: MemoryPlatform, many: Any, *, bounded: bool
) -> None:
    many = examples(many) if isinstance(many, int) else many[not bounded]
    mutated = await asyncio.to_thread(drawn, many)
    assert len(mutated) >= many - 1, "too few that differ"
    async with open_gateway(database_url, paying, platform) as g:
        request = await approved(g)
        calls = list(mutated.values())
        for start in range(0, len(calls), 100):
            batch = calls[start : start + 100]
            digests = [forged(request, each, reread=bool(index % 2)) for index, each in enumerate(batch, start)]
            refused = await claims(g, request, digests)
            let_through = [each for each, said in zip(batch, refused, strict=True) if said is not DigestMismatchError]
            assert let_through == []
        assert g.rows("SELECT status FROM grants") == [{"status": "issued"}]
        assert g.rows("SELECT id FROM executions") == []
        claimed = (await g.claim({"id": request.id, "digest": request.digest})).json()
        assert claimed["arguments"] == BATCH
        assert claimed["grant_id"] == (request.grant.id if request.grant else None)
        assert len(g.rows("SELECT id FROM executions")) == 1


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return the same with the members of each object in another order; lists keep theirs."""
    if isinstance(value, list):
        return [shuffled(each, chance) for each in value]
    if not isinstance(value, dict):
        return value
    members = [(key, shuffled(each, chance)) for key, each in value.items()]
    chance.shuffle(members)
    return dict(members)


@requirement("S-02")
@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=False), st.sampled_from([None, 0, 1, 7]), st.booleans())
def test_another_order_of_members_and_other_white_space_are_the_same_call(
    chance: random.Random, indent: int | None, escaped: bool
) -> None:
    text = json.dumps(shuffled(BATCH, chance), indent=indent, ensure_ascii=escaped)
    again = json.loads(text)
    assert canonical(again) == canonical(BATCH)
    assert payments_of(FIELDS, again) == payments_of(FIELDS, BATCH)


@requirement("S-02")
async def test_the_reordered_call_comes_back_to_its_request_and_its_approval_runs_it(
    database_url: str, paying: Path, platform: MemoryPlatform
) -> None:
    async with open_gateway(database_url, paying, platform) as g:
        first = await g.ask("wire", BATCH, session="s-1")
        for seed in range(8):
            body = {"tool": "wire", "session": "s-1", "arguments": shuffled(BATCH, random.Random(seed))}
            text = json.dumps(body, indent=seed).encode()
            said = await g.http.post("/v1/requests", content=text, headers=await g.key("agent:shop"))
            assert (said.json()["request"]["id"], said.json()["attached"]) == (first["id"], True)
            assert said.json()["request"]["digest"] == first["digest"]
        assert (await g.decide(first)).json()["state"] == "approved"
        said = await g.claim(first)
        assert said.status_code == 200, said.text
        assert said.json()["arguments"] == BATCH
