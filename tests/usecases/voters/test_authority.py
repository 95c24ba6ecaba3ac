"""Who may decide what, by which click, and what a click that may not leaves behind."""

from __future__ import annotations

import ast
import asyncio
import re
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import psycopg
import pytest

from app.ports import AccountStatus, ChannelUnavailableError
from tests.fixtures.gateway import open_gateway
from tests.fixtures.patience import HANGS
from tests.places import ROOT
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

MINUTE = timedelta(minutes=1)


# --- who --------------------------------------------------------------------------------------------------------------


@requirement("S-06", "S-48")
@pytest.mark.parametrize(
    ("account", "status", "tenant"),
    [
        ("U_STRANGER", None, "T1"),  # a member of the chat whom the file does not name
        ("U_DAVE", None, "T1"),  # named, but not in the group
        ("U_GINA", None, "T1"),  # an approver of another org
        ("U_BOB", AccountStatus.GUEST, "T1"),
        ("U_BOB", AccountStatus.BOT, "T1"),
        ("U_BOB", AccountStatus.DEACTIVATED, "T1"),
        ("U_BOB", None, "T_OTHER"),  # the same id in another workspace
        ("u_bob", None, "T1"),  # almost the id
    ],
)
@pytest.mark.sampled(3)
async def test_a_click_of_somebody_who_may_not_changes_nothing_and_burns_nothing(
    gateway: Gateway, account: str, status: AccountStatus | None, tenant: str
) -> None:
    g = gateway
    if status:
        g.platform.statuses[account] = status
        await g.container.confirm_accounts()
    request = await g.ask()
    heard = await g.press(request, account, tenant=tenant)
    assert heard["result"] == "refused"
    assert (await g.read(request))["state"] == "pending"
    assert g.rows("SELECT * FROM decisions") == []
    refused = g.rows("SELECT * FROM audit_events WHERE kind = 'click.refused'")
    assert len(refused) == 1
    assert account in refused[0]["facts"]
    # The token is not burned: an entitled person uses the very same button.
    assert (await g.press(request, "U_ALICE"))["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"


@requirement("S-28", "S-06")
@pytest.mark.parametrize(
    "account",
    [
        "U_ALIC",
        "U_ALICE2",
        "u_alice",
        "U_ALICE ",
        " U_ALICE",
        "U_АLICE",  # a Cyrillic letter
        "\uff35_ALICE",  # a full-width U
        "U_ALICE\u200b",
        "alice@acme.example",
        "Alice",
        "%",
        "",
    ],
)
@pytest.mark.sampled(3)
async def test_nothing_but_the_very_id_of_an_account_stands_for_a_person(gateway: Gateway, account: str) -> None:
    request = await gateway.ask()
    heard = await gateway.press(request, account)
    assert heard["result"] == "refused"
    assert gateway.rows("SELECT * FROM decisions") == []
    assert (await gateway.press(request, "U_ALICE"))["result"] == "recorded"


@requirement("S-06")
async def test_an_account_that_nobody_could_confirm_for_an_hour_counts_no_longer(gateway: Gateway) -> None:
    request = await gateway.ask("long")
    gateway.platform.lookups.extend(ChannelUnavailableError("away") for _ in range(99))
    await gateway.container.confirm_accounts()
    await gateway.advance(61 * MINUTE)
    assert (await gateway.press(request))["result"] == "retry"
    gateway.platform.lookups.clear()
    await gateway.container.confirm_accounts()
    assert (await gateway.press(request))["result"] == "recorded"


@requirement("S-06")
async def test_one_account_for_two_people_is_nobody(gateway: Gateway) -> None:
    request = await gateway.ask()
    gateway.rows("UPDATE accounts SET account_id = 'U_ALICE' WHERE person = 'bob@acme.example'")
    assert (await gateway.press(request, "U_ALICE"))["result"] == "refused"


@requirement("S-07")
async def test_a_group_that_shrank_to_nobody_approves_nothing(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask("by_api")
    g.rewrite(
        "finance: [alice@acme.example, bob@acme.example, carol@acme.example, olga@acme.example, rita@acme.example]",
        "finance: [rita@acme.example]",
    )
    g.rewrite("need: 2", "need: 1")
    await g.reload()
    for who in ("alice@acme.example", "bob@acme.example"):
        assert (await g.decide(request, who=who)).json()["code"] == "not_eligible"
    assert (await g.read(request))["state"] == "pending"
    # And who asks when only the barred are left is told so at once.
    said = await g.call(
        "POST", "/v1/requests", {"tool": "by_api", "arguments": {"n": 2}, "requester": "rita@acme.example"}
    )
    assert (said.status_code, said.json()["decision"]) == (200, "deny")
    assert len(g.rows("SELECT id FROM requests")) == 1


@requirement("S-07")
async def test_nobody_known_on_the_platform_can_click(gateway: Gateway) -> None:
    gateway.platform.unknown |= {"alice@acme.example", "bob@acme.example", "carol@acme.example"}
    await gateway.container.confirm_accounts()
    request = await gateway.ask()
    for account in ("U_ALICE", "U_BOB", "", "null"):
        assert (await gateway.press(request, account))["result"] == "refused"
    assert (await gateway.read(request))["state"] == "pending"


@requirement("S-09")
@pytest.mark.parametrize(
    ("door", "requester"),
    [
        ("click", "rita@acme.example"),  # their own account
        ("click in the other room", "rita@acme.example"),
        ("api key", "rita@acme.example"),
        ("owner clicks", "alice@acme.example"),  # Olga answers for the agent
        ("owner's api key", "alice@acme.example"),
        ("click", "RITA@Acme.Example"),  # another spelling
        ("api key", "Rita@acme.example"),
    ],
)
@pytest.mark.sampled(3)
async def test_nobody_approves_their_own_request(gateway: Gateway, door: str, requester: str) -> None:
    g = gateway
    request = await g.ask("pay_two", requester=requester)
    match door:
        case "click":
            refused = (await g.press(request, "U_RITA"))["result"] == "refused"
        case "click in the other room":
            refused = (await g.press(request, "U_RITA", chat="C2"))["result"] == "refused"
        case "api key":
            refused = (await g.decide(request, who="rita@acme.example")).status_code == 403
        case "owner clicks":
            refused = (await g.press(request, "U_OLGA"))["result"] == "refused"
        case _:
            refused = (await g.decide(request, who="olga@acme.example")).status_code == 403
    assert refused
    assert g.rows("SELECT * FROM decisions") == []
    assert any(kind == "click.refused" for kind, _ in g.trail(request))
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"


@requirement("S-09")
async def test_a_requester_whom_nobody_knows_does_not_open_the_door(gateway: Gateway) -> None:
    request = await gateway.ask(requester="ghost@acme.example")
    assert (await gateway.press(request, "U_STRANGER"))["result"] == "refused"
    assert (await gateway.read(request))["state"] == "pending"


# --- one choke point --------------------------------------------------------------------------------------------------


@requirement("S-10")
@pytest.mark.heavy
def test_only_one_function_turns_a_vote_into_a_decision() -> None:
    looked_for = re.compile(  # a file without any of these names neither imports nor calls one: it need not be parsed
        r"\b(?:Vote|VoteWithdrawn|drop_decision|put_decision|save_request|save_grant|decide"
        r"|insert|inserting|update|saving|delete)\b"
    )
    nodes = [
        (str(path.relative_to(ROOT)), node)
        for path in (ROOT / "app").rglob("*.py")
        if looked_for.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom | ast.Call)
    ]

    def importers(of: str, name: str) -> set[str]:
        return {
            path
            for path, node in nodes
            if isinstance(node, ast.ImportFrom) and node.module == of and name in {a.name for a in node.names}
        }

    assert importers("app.domain.lifecycle.lifecycle", "Vote") == {"app/usecases/deciding/decide.py"}
    assert importers("app.domain.lifecycle.lifecycle", "VoteWithdrawn") == {"app/usecases/deciding/decide.py"}
    assert importers("app.storage.requests.decisions", "drop_decision") == {"app/storage/requests/requests.py"}
    assert importers("app.storage.requests.decisions", "put_decision") == {"app/usecases/writing/carry_out.py"}
    assert importers("app.storage.requests.requests", "save_request") == {"app/usecases/writing/carry_out.py"}
    assert importers("app.storage.requests.executions", "save_grant") == {"app/usecases/writing/carry_out.py"}
    assert importers("app.usecases.deciding.decide", "decide") == {
        "app/usecases/deciding/decide_api.py",
        "app/usecases/deciding/edit.py",
        "app/usecases/clicks/receive.py",
        "app/usecases/console/decide_page.py",
    }
    writers = {
        (path, node.func.id)
        for path, node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"insert", "inserting", "update", "saving", "delete"}
        and node.args
        and getattr(node.args[0], "id", "") in {"requests", "decisions", "grants"}
    }
    assert {path for path, verb in writers if verb != "delete"} == {
        "app/storage/requests/requests.py",
        "app/storage/requests/decisions.py",
        "app/storage/requests/executions.py",
    }
    # A vote that is taken back; and what is over and old: the database lets nothing else go.
    assert {path for path, verb in writers if verb == "delete"} == {
        "app/storage/requests/decisions.py",
        "app/storage/retention/removals.py",
    }


@requirement("S-10")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE requests SET status = 'approved', state = 'approved', settled_at = created_at, settled_by = 'mallory'",
        "UPDATE requests SET status = 'approved', state = 'approved', settled_at = created_at, version = version + 1",
        "DELETE FROM requests",
        "UPDATE audit_events SET actor = 'mallory'",
        "DELETE FROM audit_events",
    ],
)
@pytest.mark.sampled(3)
async def test_the_database_refuses_what_did_not_go_through_it(either_gateway: Gateway, statement: str) -> None:
    request = await either_gateway.ask()
    before = either_gateway.content()
    with pytest.raises(Exception, match=r"status|version|audit|FOREIGN|foreign|settled|trail|grows|never deleted"):
        either_gateway.rows(statement)
    assert either_gateway.content() == before
    assert (await either_gateway.read(request))["state"] == "pending"


@requirement("S-10")
@pytest.mark.parametrize("door", ["click", "api"])
@pytest.mark.parametrize(
    ("who", "account", "when", "expected"),
    [
        ("dave@acme.example", "U_DAVE", "in time", "pending"),  # not in the group
        ("rita@acme.example", "U_RITA", "in time", "pending"),  # asked for it
        ("olga@acme.example", "U_OLGA", "in time", "pending"),  # answers for the agent
        ("alice@acme.example", "U_ALICE", "in time", "approved"),
        ("alice@acme.example", "U_ALICE", "at the deadline", "expired"),
        ("alice@acme.example", "U_ALICE", "after a denial", "denied"),
        ("alice@acme.example", "U_ALICE", "after the agent withdrew", "cancelled"),
    ],
)
@pytest.mark.sampled(3)
async def test_every_door_comes_to_the_same_end(  # noqa: PLR0917 - the columns of a table
    gateway: Gateway, door: str, who: str, account: str, when: str, expected: str
) -> None:
    g = gateway
    request = await g.ask("pay", requester="rita@acme.example")
    match when:
        case "at the deadline":
            g.clock.advance(30 * MINUTE)  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
        case "after a denial":
            await g.decide(request, "deny", who="bob@acme.example")
        case "after the agent withdrew":
            await g.call("POST", f"/v1/requests/{request['id']}/cancel", {})
        case _:
            pass
    if door == "click":
        await g.press(request, account)
    else:
        await g.decide(request, who=who)
    assert (await g.read(request))["state"] == expected


# --- when -------------------------------------------------------------------------------------------------------------


@requirement("S-11", "S-54")
@pytest.mark.parametrize(("early", "state"), [(timedelta(microseconds=1), "approved"), (timedelta(0), "expired")])
async def test_an_approval_counts_until_just_before_the_deadline(
    gateway: Gateway, early: timedelta, state: str
) -> None:
    request = await gateway.ask()
    gateway.clock.advance(30 * MINUTE - early)  # pyright: ignore[reportAttributeAccessIssue] - a manual clock
    heard = await gateway.press(request)
    seen = await gateway.read(request)
    assert (heard["result"], seen["state"]) == ("recorded" if state == "approved" else "already", state)
    if state == "expired":
        assert (seen["settled"]["by"], seen["decisions"]) == ("system", [])
        assert gateway.rows("SELECT * FROM grants") == []


@requirement("S-11")
@pytest.mark.parametrize("blocker", ["commits", "rolls back"])
@pytest.mark.parametrize("door", ["click", "api"])
async def test_an_approval_that_waited_for_the_row_beyond_the_deadline_does_not_count(
    postgres_url: str, config: Path, platform: MemoryPlatform, blocker: str, door: str
) -> None:
    async with open_gateway(postgres_url, config, platform) as g:
        request = await g.ask("pay_two", requester="rita@acme.example")
        await g.press(request, "U_BOB")
        # The deadline is brought near as its owner could: with the guard out of the way, for this one row.
        with psycopg.connect(postgres_url) as owner:
            owner.execute("SET assent.org = '*'")
            owner.execute("ALTER TABLE requests DISABLE TRIGGER USER")
            owner.execute(
                "UPDATE requests SET expires_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint + 700000"
            )
            owner.execute("ALTER TABLE requests ENABLE TRIGGER USER")
        await g.container.seal_standing.again("acme", by="test", reason="its times were moved")
        holder = await asyncio.to_thread(psycopg.connect, postgres_url)
        try:
            await asyncio.to_thread(holder.execute, "SET assent.org = '*'")
            await asyncio.to_thread(holder.execute, "SELECT 1 FROM requests FOR UPDATE")
            vote = asyncio.ensure_future(g.press(request, "U_ALICE") if door == "click" else g.decide(request))
            await asyncio.to_thread(holder.execute, "SELECT pg_sleep(1)")
            assert not vote.done()
            await asyncio.to_thread(holder.commit if blocker == "commits" else holder.rollback)
            await vote
        finally:
            await asyncio.to_thread(holder.close)
        seen = await g.read(request)
        assert (seen["state"], seen["settled"]["by"], len(seen["decisions"])) == ("expired", "system", 1)


@requirement("S-23")
async def test_a_quorum_that_is_met_again_by_a_returning_person_counts(gateway: Gateway) -> None:
    request = await gateway.ask("pay_two")
    assert (await gateway.decide(request, who="alice@acme.example")).json()["state"] == "pending"
    gateway.rewrite("finance: [alice@acme.example, bob", "finance: [bob")
    await gateway.reload()
    assert (await gateway.decide(request, who="bob@acme.example")).json()["state"] == "pending"
    gateway.rewrite("finance: [bob", "finance: [alice@acme.example, bob")
    await gateway.reload()
    assert (await gateway.decide(request, who="bob@acme.example")).json()["state"] == "approved"


@requirement("S-06")
async def test_whoever_is_taken_out_while_the_vote_waits_for_the_store_has_none(gateway: Gateway) -> None:
    request = await gateway.ask("by_api")
    await gateway.key("alice@acme.example")
    entered, release = threading.Event(), threading.Event()

    def busy(_: object) -> None:
        entered.set()
        assert release.wait(HANGS)

    held = asyncio.ensure_future(gateway.container.store.write(busy, org="acme"))
    assert await asyncio.to_thread(entered.wait, HANGS)
    vote = asyncio.ensure_future(gateway.decide(request, who="alice@acme.example"))
    while gateway.container.store._writer.backlog == 0:  # noqa: ASYNC110 - what is awaited is another thread
        await asyncio.sleep(0)
    gateway.rewrite("finance: [alice@acme.example, bob", "finance: [bob")
    assert await asyncio.to_thread(gateway.container.book.reload) == ()
    release.set()
    await held
    assert (await vote).json()["code"] == "not_eligible"
    assert (await gateway.read(request))["state"] == "pending"
