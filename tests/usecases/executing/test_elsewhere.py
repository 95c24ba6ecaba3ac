"""A service that asks its own people has not refused: the call waits there, is shown so, and is settled by evidence."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.cli.beside_database import render_event
from app.cli.commands import app
from app.domain.errors import InvalidError
from app.domain.request.elsewhere import LONGEST_ID, LONGEST_LINK, checked_elsewhere
from app.usecases.upkeep.restored import DeclareRestored
from tests.fixtures.commands import Across, CliRunner
from tests.fixtures.elsewhere import PLACE, WAITS
from tests.fixtures.enforced import CALL, EXECUTOR, approved, enforce, reported
from tests.fixtures.review_visits import URL, Visitor
from tests.fixtures.tampering import Stranger
from tests.requirements import requirement

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

NOTE = "the bank's people approved it on 1 March"
PAYMENT = {"payee": "Acme Ltd", "amount": 80000, "account": "DE02100100100006820101"}


async def claimed(gateway: Gateway, **more: Any) -> dict[str, Any]:
    await enforce(gateway)
    request = await approved(gateway, **more)
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 200
    return request


async def waiting(gateway: Gateway, **more: Any) -> dict[str, Any]:
    request = await claimed(gateway, **more)
    assert (await reported(gateway, request, WAITS)).status_code == 200
    return request


async def reconcile(gateway: Gateway, request: dict[str, Any], who: str = EXECUTOR, **body: Any) -> httpx2.Response:
    sent = {"status": "succeeded", "note": NOTE, **body}
    return await gateway.call("POST", f"/v1/requests/{request['id']}/reconcile", sent, who=who)


# --- its life ---------------------------------------------------------------------------------------------------------


@requirement("S-72")
async def test_it_is_kept_with_its_place_and_never_handed_out_again(either_gateway: Gateway) -> None:
    gateway = either_gateway
    request = await claimed(gateway)
    said = (await reported(gateway, request, WAITS)).json()
    assert (said["state"], said["execution"]["status"], said["execution"]["elsewhere"]) == (WAITS, WAITS, PLACE)
    assert (said["execution"]["result"], said["execution"]["error"]) == (None, None)
    assert "Do not repeat it" in said["message"]
    again = await reported(gateway, request, WAITS)
    assert (again.status_code, again.json()["version"]) == (200, said["version"])
    assert (await gateway.claim(request, who=EXECUTOR)).json()["code"] == "already_claimed"
    listed = (await gateway.call("GET", "/v1/requests", who=EXECUTOR)).json()["items"]
    assert [item["id"] for item in listed] == [request["id"]]
    grants = gateway.rows("SELECT status FROM grants")
    assert (grants, len(gateway.rows("SELECT id FROM executions"))) == ([{"status": "consumed"}], 1)


@requirement("S-72")
@pytest.mark.parametrize("by", ["report", "reconcile"])
@pytest.mark.parametrize("status", ["succeeded", "failed"])
async def test_what_its_people_decide_settles_it_once_and_the_place_stays(
    either_gateway: Gateway, by: str, status: str
) -> None:
    gateway = either_gateway
    request = await waiting(gateway)

    async def tell(told: str) -> httpx2.Response:
        more: dict[str, Any] = {"error": "refused there"} if told == "failed" else {"result": {"receipt": "R-1"}}
        if by == "report":
            return await reported(gateway, request, told, **more)
        return await reconcile(gateway, request, status=told, **more)

    said = await tell(status)
    assert (said.status_code, said.json()["state"]) == (200, status)
    assert said.json()["execution"]["elsewhere"] == PLACE
    assert (await tell(status)).json()["version"] == said.json()["version"]
    other = await tell("failed" if status == "succeeded" else "succeeded")
    assert (other.status_code, other.json()["code"]) == (409, "outcome_conflict")
    kinds = [kind for kind, _ in gateway.trail(request)]
    assert kinds[-2:] == ["execution.pending_elsewhere", "execution.reconciled"]


@requirement("S-72")
async def test_what_is_known_of_it_is_not_given_up_for_less(gateway: Gateway) -> None:
    request = await waiting(gateway)
    for body in ({"status": "unknown"}, {"status": WAITS, "elsewhere": {"id": "apr_other"}}):
        said = await gateway.call(
            "POST", f"/v1/requests/{request['id']}/outcome", {"claim_id": "claim-1", **body}, who=EXECUTOR
        )
        assert (said.status_code, said.json()["code"]) == (409, "outcome_conflict"), body
    assert (await gateway.read(request))["execution"]["elsewhere"] == PLACE


@requirement("S-72")
async def test_an_unknown_outcome_may_turn_out_to_wait_there(gateway: Gateway) -> None:
    request = await claimed(gateway)
    await gateway.advance(timedelta(hours=1))
    assert (await gateway.read(request))["state"] == "unknown"
    said = await reconcile(gateway, request, status=WAITS, elsewhere=PLACE)
    assert (said.json()["state"], said.json()["execution"]["error"]) == (WAITS, None)
    assert (await reconcile(gateway, request)).json()["state"] == "succeeded"


@requirement("S-72", "S-73")
async def test_only_the_key_that_claimed_or_an_administrator_settles_it(gateway: Gateway) -> None:
    request = await waiting(gateway)
    other = await gateway.container.keys.create(org="acme", scope=_executor(), label="other", tools=["*"])
    gateway.keys["acme/other"] = other.text
    before = gateway.rows("SELECT * FROM executions")
    for who, status in (("other", 403), ("agent:shop", 403), ("alice@acme.example", 403), ("auditor", 403)):
        assert (await reconcile(gateway, request, who)).status_code == status, who
        assert (await reported(gateway, request, "failed", who=who)).status_code == status, who
    assert gateway.rows("SELECT * FROM executions") == before
    assert (await reconcile(gateway, request, "admin")).json()["state"] == "succeeded"


def _executor() -> Any:
    from app.domain.identity.api_key import Scope

    return Scope.EXECUTOR


@requirement("S-72", "S-64")
@pytest.mark.parametrize("name", ["elsewhere_id", "elsewhere_link"])
async def test_another_place_in_the_database_is_met_by_the_next_change(either_gateway: Gateway, name: str) -> None:
    gateway = either_gateway
    request = await waiting(gateway)
    stranger = await asyncio.to_thread(Stranger, gateway)
    for value in ("'https://evil.example'", "NULL" if name == "elsewhere_link" else "'apr_other'"):
        await asyncio.to_thread(stranger, f"UPDATE executions SET {name} = {value}")
        said = await reconcile(gateway, request)
        assert (said.status_code, said.json().get("state")) != (200, "succeeded"), value
        await asyncio.to_thread(stranger.put_back)
    assert (await reconcile(gateway, request)).json()["state"] == "succeeded"


# --- what is taken ----------------------------------------------------------------------------------------------------

GOOD = [
    ("apr_1", None),
    ("审批-2026/0042", "https://bank.example"),
    ("x" * LONGEST_ID, "HTTP://[::1]:8080/a?b=%20#c"),
    ("a b", "https://bank.example/" + "x" * (LONGEST_LINK - 21)),
]
BAD_IDS = ["", " ", " a", "a\n", "a\tb", "a\u202eb", "a\u200bb", "a\u3164b", "\x00", "\x7f", "x" * (LONGEST_ID + 1)]
BAD_LINKS = [
    "",
    "bank.example",
    "//bank.example",
    "javascript:alert(1)",
    "ftp://bank.example",
    "file:///etc/passwd",
    "https://",
    "https:///path",
    "https://bank.example@evil.example/",
    "https://user:secret@bank.example/",
    "https://bank.example/a b",
    "https://bank.example/\n",
    "https://bänk.example/",
    "https://bank.example:99999/",
    "https://bank.example:0/",
    "https://[::1/",
    "https://bank.example/" + "x" * LONGEST_LINK,
]


@pytest.mark.parametrize(("name", "link"), GOOD)
def test_a_place_that_people_can_read_and_go_to_is_taken(name: str, link: str | None) -> None:
    place = checked_elsewhere(name, link)
    assert (place.id, place.link) == (name, link)


@requirement("S-72")
async def test_nothing_else_is_taken_and_then_nothing_changes(gateway: Gateway) -> None:
    request = await claimed(gateway)
    bodies: list[dict[str, Any]] = [
        {"status": WAITS},
        {"status": WAITS, "elsewhere": None},
        {"status": WAITS, "elsewhere": {}},
        {"status": WAITS, "elsewhere": {"link": PLACE["link"]}},
        {"status": WAITS, "elsewhere": {**PLACE, "more": 1}},
        {"status": WAITS, "elsewhere": PLACE, "error": "?"},
        {"status": WAITS, "elsewhere": PLACE, "result": 1},
        {"status": "failed", "elsewhere": PLACE},
        {"status": "unknown", "elsewhere": PLACE},
        {"status": "elsewhere", "elsewhere": PLACE},
        *({"status": WAITS, "elsewhere": {"id": each}} for each in BAD_IDS),
        *({"status": WAITS, "elsewhere": {"id": "apr_1", "link": each}} for each in BAD_LINKS),
    ]
    for body in bodies:
        path = f"/v1/requests/{request['id']}/outcome"
        said = await gateway.call("POST", path, {"claim_id": "claim-1", **body}, who=EXECUTOR)
        assert said.status_code == 422, body
        assert said.json()["detail"], body
    assert (await gateway.read(request))["state"] == "executing"


@pytest.mark.parametrize("name", BAD_IDS)
def test_the_domain_itself_takes_no_id_that_people_could_not_read(name: str) -> None:
    with pytest.raises(InvalidError, match="can be seen"):
        checked_elsewhere(name, None)


@pytest.mark.parametrize("link", BAD_LINKS)
def test_the_domain_itself_takes_no_link_that_leads_nowhere(link: str) -> None:
    with pytest.raises(InvalidError, match="http or https"):
        checked_elsewhere("apr_1", link)


@requirement("S-72", "S-37")
@pytest.mark.parametrize("account", [CALL["account"], "DE02 1001 0010 0006 8201 01"])
async def test_what_is_sensitive_in_the_call_is_in_neither_the_place_nor_the_trail(
    gateway: Gateway, account: str
) -> None:
    request = await claimed(gateway)
    link = f"https://bank.example/of?account={account.replace(' ', '%20')}"
    said = await reported(gateway, request, WAITS, elsewhere={"id": f"pay {account}", "link": link})
    assert said.json()["execution"]["elsewhere"] == {"id": "pay •••", "link": None}
    kept = [row["facts"] for row in gateway.rows("SELECT facts FROM audit_events")]
    assert not [facts for facts in kept if account in facts]


# --- what people see --------------------------------------------------------------------------------------------------


@requirement("S-72")
async def test_the_card_says_where_it_waits_until_its_people_have_decided(gateway: Gateway) -> None:
    await enforce(gateway)
    request = await gateway.ask("pay", PAYMENT)
    await gateway.press(request)
    await gateway.claim(request, who=EXECUTOR)
    await reported(gateway, request, WAITS)
    await gateway.quiet()
    card = gateway.card(request).card
    facts = {fact.label: fact.value for fact in card.facts}
    assert (card.headline, card.buttons) == ("Waits at the service · approved here", None)
    assert "the service asks its own people" in (card.outcome or "")
    assert (facts["Waits at the service"], facts["There"]) == (PLACE["id"], PLACE["link"])
    await reported(gateway, request, "succeeded", result={"receipt": "R-7"})
    await gateway.quiet()
    card = gateway.card(request).card
    assert card.headline == "Done · approved"
    assert PLACE["id"] not in repr(card)


@requirement("S-72")
@pytest.mark.parametrize(("query", "where"), [("", "Waits at the service"), ("?lang=zh", "服务方待审批")])
async def test_the_review_page_says_where_it_waits_and_makes_no_link_of_it(
    gateway: Gateway, query: str, where: str
) -> None:
    gateway.rewrite("org: acme\n", f"url: {URL}\norg: acme\n")
    request = await waiting(gateway)
    page = await Visitor(gateway=gateway).visit(request, query=query)
    assert where in page
    assert PLACE["id"] in page
    assert PLACE["link"] in page
    assert f'href="{PLACE["link"]}' not in page, "whose address it is nobody here has looked at"


@requirement("S-72")
async def test_the_command_line_says_where_it_waits_and_where_it_waited(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = await waiting(gateway)
    key = (await gateway.key("alice@acme.example"))["authorization"].removeprefix("Bearer ")
    whole, transport = httpx2.Client, Across(gateway, asyncio.get_running_loop())
    monkeypatch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=transport))
    env = {"ASSENT_URL": "http://gateway.test/", "ASSENT_KEY": key}

    async def show() -> str:
        words = ["requests", "show", request["id"]]
        return " ".join((await asyncio.to_thread(CliRunner().invoke, app, words, env=env)).stdout.split())

    assert f"waits at the service, as {PLACE['id']}, {PLACE['link']}" in await show()
    assert (await reconcile(gateway, request)).status_code == 200
    assert f"waited at the service, as {PLACE['id']}, {PLACE['link']}" in await show()


@requirement("S-72", "S-60")
async def test_the_trail_tells_it_and_keeps_the_place(gateway: Gateway) -> None:
    request = await waiting(gateway)
    events = await gateway.container.read.story("acme", request["id"])
    [event] = [event for event in events if event.record.kind == "execution.pending_elsewhere"]
    facts = json.loads(json.dumps(dict(event.record.facts)))
    assert (facts["elsewhere"], facts["link"], facts["status"]) == (PLACE["id"], PLACE["link"], WAITS)
    assert f"reported that the service asks its own people, as {PLACE['id']}" in render_event(event)


@requirement("S-72")
@pytest.mark.parametrize("after", ["days", "a restore"])
async def test_nothing_ends_it_by_itself(gateway: Gateway, after: str) -> None:
    request = await waiting(gateway)
    if after == "days":
        await gateway.advance(timedelta(days=3))  # no lease, no deadline and no grant of it ends
    else:
        await DeclareRestored(store=gateway.container.store)(by="olga@acme.example", reason="the disk died")
    assert (await gateway.read(request))["state"] == WAITS
    assert (await gateway.claim(request, who=EXECUTOR)).status_code == 409
