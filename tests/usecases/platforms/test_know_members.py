"""Members of a platform's group whom nobody wrote down: they count by a verified e-mail, and by nothing less."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.abilities.directories import Member, ReportsTo
from app.domain.text.language import Language
from app.domain.words.say import say
from app.ports import Account, AccountStatus, ChannelUnavailableError
from app.usecases.platforms.fetch_groups import TRUSTED_FOR as GROUP_TRUSTED_FOR
from app.usecases.platforms.hearing import EVERY
from tests.fixtures.memory_platform import TENANT
from tests.fixtures.review_visits import Visitor, with_url
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway

ALICE, BOB, DAVE, RITA = (f"{name}@acme.example" for name in ("alice", "bob", "dave", "rita"))
ZOE, ZED = "zoe@acme.example", "zed@acme.example"
LEGAL = "  legal: [dave@acme.example, alice@acme.example]\n"
BOARD = "  board: {channel: chat, group: S0BOARD, members: verified, domains: [acme.example]}\n"
RULE = "{id: pay, tools: [pay], then: ask, stages: [{of: [finance]}], channels: [chat], timeout: 30m}"


def member(account: str, email: str, status: AccountStatus = AccountStatus.ACTIVE) -> Member:
    """Make what a platform says of one of its own."""
    return Member(account=Account(tenant=TENANT, account_id=account, status=status), email=email)


async def with_board(g: Gateway, *members: Member, need: int = 1, board: str = BOARD) -> None:
    """Let payments be approved by the platform's group, with these in it."""
    g.platform.members = {each.account.account_id: each for each in members}
    g.platform.groups["group:S0BOARD"] = tuple(g.platform.members)
    g.rewrite(LEGAL, LEGAL + board)
    g.rewrite(RULE, RULE.replace("{of: [finance]}", f"{{of: [board], need: {need}}}"))
    await g.reload()


async def told_again(g: Gateway, after: timedelta = EVERY) -> None:
    """Ask the platform once more."""
    g.clock.advance(after)  # pyright: ignore[reportAttributeAccessIssue] - SQLite's is manual
    await g.container.fetch_groups()


def rows(g: Gateway) -> dict[str, str]:
    """Return whose account is which in the chat, of those whom nobody wrote down."""
    found = g.rows("SELECT person, account_id FROM accounts WHERE channel = 'chat'")
    return {
        row["person"]: row["account_id"] for row in found if not row["account_id"].startswith(("U_A", "U_B", "U_C"))
    }


def told(g: Gateway, kind: str) -> list[dict[str, Any]]:
    """Return what the trail says of members."""
    return list(g.rows(f"SELECT * FROM audit_events WHERE kind = '{kind}' ORDER BY seq"))


async def submitted(g: Gateway, **said: Any) -> dict[str, Any]:
    return (await g.call("POST", "/v1/requests", {"tool": "pay", "arguments": {"amount": 5}, **said})).json()


@requirement("S-06")
async def test_a_member_whom_nobody_wrote_down_presses_and_counts_as_their_verified_e_mail(
    either_gateway: Gateway,
) -> None:
    g = either_gateway
    await with_board(g, member("U_ZOE", "Zoe@Acme.example"))
    request = await g.ask(requester=RITA)
    assert (await g.press(request, "U_ALICE"))["result"] == "refused"
    assert (await g.press(request, "U_ZOE"))["result"] == "recorded"
    read = await g.read(request)
    assert (read["state"], [each["person"] for each in read["decisions"]]) == ("approved", [ZOE])
    assert (await g.claim(request)).status_code == 200
    [joined] = told(g, "member.joined")
    assert all(each in str(joined) for each in (ZOE, "U_ZOE", "board", "chat"))


async def test_they_decide_with_a_key_of_their_own_and_hear_as_the_others_do(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE), member("U_ZED", ZED), need=2)
    request = await gateway.ask()
    assert (await gateway.press(request, "U_ZOE"))["result"] == "recorded"
    assert (await gateway.decide(request, who=ZED)).json()["state"] == "approved"


@requirement("S-06", "S-07")
@pytest.mark.parametrize(
    ("who", "why"),
    [
        (member("U_ZOE", ""), "email_unverified"),
        (member("U_ZOE", "zoe@else.example"), "email_unverified"),
        (member("U_ZOE", "zoe@acme.example.evil.example"), "email_unverified"),
        (member("U_ZOE", "zoe@sub.acme.example"), "email_unverified"),
        (member("U_ZOE", "zoe+2@acme.example"), "email_unverified"),
        (member("U_ZOE", "z\u043ee@acme.example"), "email_unverified"),
        (member("U_ZOE", "zoe@acme.example@acme.example"), "email_unverified"),
        (member("U_ZOE", "zoe acme@acme.example"), "email_unverified"),
        (member("U_ZOE", ZOE, AccountStatus.GUEST), "inactive"),
        (member("U_ZOE", ZOE, AccountStatus.BOT), "inactive"),
        (member("U_ZOE", ZOE, AccountStatus.DEACTIVATED), "inactive"),
        (member("U_ZOE", ZOE, AccountStatus.UNKNOWN), "unknown"),
        (member("U_OTHER", ZOE), "unmapped"),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{each.email} {each.account.status}",
)
@pytest.mark.sampled(4)
async def test_whoever_is_not_known_for_sure_counts_as_nobody_and_is_told_why(
    gateway: Gateway, who: Member, why: str
) -> None:
    await with_board(gateway, who, member("U_ZED", ZED))
    gateway.platform.groups["group:S0BOARD"] = ("U_ZOE", "U_ZED")
    await told_again(gateway)
    request = await gateway.ask()
    assert (await gateway.press(request, "U_ZOE"))["sentence"] == say(Language.EN, f"click.{why}")
    assert (await gateway.read(request))["state"] == "pending"
    assert gateway.container.book.current("acme").policy.directory.members("board") == {ZED}


@requirement("S-06", "S-09")
async def test_nobody_becomes_somebody_who_is_written_down_by_taking_their_e_mail(either_gateway: Gateway) -> None:
    g = either_gateway
    await with_board(g, member("U_MAL", ALICE), member("U_ZED", ZED))
    assert g.container.book.current("acme").policy.directory.members("board") == {ZED}
    request = await g.ask(requester=RITA)
    said = await g.press(request, "U_MAL")
    assert (said["result"], said["sentence"]) == ("refused", say(Language.EN, "click.email_taken"))
    assert (await g.press(request, "U_ALICE"))["result"] == "refused"  # she is not in that group
    [refused] = [row for row in told(g, "click.refused") if "U_MAL" in str(row)]
    assert "email_taken" in str(refused)
    assert rows(g)[ZED] == "U_ZED"
    assert "U_MAL" not in rows(g).values()


async def test_who_is_written_down_counts_there_as_ever(gateway: Gateway) -> None:
    await with_board(gateway, member("U_BOB", BOB), member("U_ZOE", ZOE))
    assert gateway.container.book.current("acme").policy.directory.members("board") == {BOB, ZOE}
    assert ("U_BOB",) not in gateway.platform.members_asked
    request = await gateway.ask()
    assert (await gateway.press(request, "U_BOB"))["result"] == "recorded"


@requirement("S-06")
async def test_an_address_of_two_accounts_is_nobodys(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE), member("U_ZOE2", ZOE.upper()), member("U_ZED", ZED))
    assert gateway.container.book.current("acme").policy.directory.members("board") == {ZED}
    request = await gateway.ask()
    for account in ("U_ZOE", "U_ZOE2"):
        assert (await gateway.press(request, account))["sentence"] == say(Language.EN, "click.email_taken")


@requirement("S-09")
async def test_a_member_approves_nothing_that_they_asked_for(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE), member("U_ZED", ZED))
    request = await gateway.ask(requester=ZOE.upper())
    assert (await gateway.press(request, "U_ZOE"))["sentence"] == say(Language.EN, "click.barred")
    assert (await gateway.press(request, "U_ZED"))["result"] == "recorded"
    gateway.platform.groups["group:S0BOARD"] = ("U_ZOE",)
    await told_again(gateway)
    assert (await submitted(gateway, requester=ZOE))["decision"] == "deny"


@requirement("S-27", "S-28")
@pytest.mark.parametrize("how", ["left the group", "deactivated", "another e-mail", "unverified"])
async def test_who_is_no_member_any_more_has_approved_nothing_by_the_claim(gateway: Gateway, how: str) -> None:
    await with_board(gateway, member("U_ZOE", ZOE), member("U_BOB", BOB))
    request = await gateway.ask()
    assert (await gateway.press(request, "U_ZOE"))["result"] == "recorded"
    platform = gateway.platform
    now = {
        "deactivated": member("U_ZOE", ZOE, AccountStatus.DEACTIVATED),
        "another e-mail": member("U_ZOE", "zoe.other@acme.example"),
        "unverified": member("U_ZOE", ""),
    }
    platform.members["U_ZOE"] = now.get(how, platform.members["U_ZOE"])
    if how == "left the group":
        platform.groups["group:S0BOARD"] = ("U_BOB",)
    await told_again(gateway)
    assert ZOE not in rows(gateway)
    [left] = told(gateway, "member.left")
    assert ZOE in str(left)
    said = await gateway.claim(request)
    assert (said.status_code, said.json()["code"]) == (409, "not_approved")


@requirement("S-07", "F-46")
async def test_what_a_platform_said_of_members_holds_while_it_is_away_as_long_as_the_group_does(
    gateway: Gateway,
) -> None:
    await with_board(gateway, member("U_ZOE", ZOE))
    directory = lambda: gateway.container.book.current("acme").policy.directory  # noqa: E731
    gateway.platform.members["U_ZOE"] = replace(gateway.platform.members["U_ZOE"], email="", withheld="a scope is gone")
    await told_again(gateway)
    assert directory().members("board") == {ZOE}
    gateway.platform.member_faults.append(ChannelUnavailableError("away"))
    await told_again(gateway)
    assert directory().members("board") == {ZOE}
    del gateway.platform.groups["group:S0BOARD"]
    await told_again(gateway, timedelta(minutes=1))
    assert directory().members("board") == {ZOE}
    assert rows(gateway)[ZOE] == "U_ZOE"
    await told_again(gateway, GROUP_TRUSTED_FOR)
    assert directory().members("board") == frozenset()
    assert directory().find(ZOE) is None
    assert rows(gateway)[ZOE] == "U_ZOE"  # it did not say that anybody left
    assert told(gateway, "member.left") == []


@requirement("F-46")
async def test_a_gateway_that_starts_takes_nobody_away_before_the_platform_has_said_who_they_are(
    gateway: Gateway,
) -> None:
    await with_board(gateway, member("U_ZOE", ZOE))
    gateway.container.fetch_groups._members._heard.clear()
    gateway.platform.member_faults.append(ChannelUnavailableError("away"))
    await told_again(gateway)
    directory = gateway.container.book.current("acme").policy.directory
    assert (directory.members("board"), rows(gateway)[ZOE]) == (frozenset(), "U_ZOE")
    await told_again(gateway)
    assert gateway.container.book.current("acme").policy.directory.members("board") == {ZOE}
    assert [len(told(gateway, kind)) for kind in ("member.joined", "member.left")] == [1, 0]


@requirement("S-06")
async def test_an_account_is_confirmed_when_the_platform_says_so_and_not_by_the_round_alone(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE))
    request = await gateway.ask()
    gateway.rows(f"UPDATE accounts SET checked_at = checked_at - 7200000000 WHERE person = '{ZOE}'")
    await gateway.container.fetch_groups()  # nobody was asked about anew
    assert (await gateway.press(request, "U_ZOE"))["result"] == "retry"
    await told_again(gateway)
    gateway.rows(f"UPDATE accounts SET checked_at = checked_at - 60000000 WHERE person = '{ZOE}'")
    assert (await gateway.press(request, "U_ZOE"))["result"] == "recorded"


@requirement("F-45")
async def test_whose_vote_waits_to_be_counted_is_asked_about_first(gateway: Gateway) -> None:
    gateway.platform.members_at_once = 1
    await with_board(gateway, *(member(f"U_Z{n}", f"z{n}@acme.example") for n in range(5)))
    request = await gateway.ask()
    assert (await gateway.press(request, "U_Z3"))["result"] == "recorded"
    gateway.platform.members_asked.clear()
    await told_again(gateway)
    asked = gateway.platform.members_asked
    assert (asked[0], len(asked)) == (("U_Z3",), 5)


async def test_the_rounds_about_accounts_of_the_file_leave_members_alone(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE))
    await gateway.container.confirm_accounts()
    assert rows(gateway)[ZOE] == "U_ZOE"
    assert (await gateway.press(await gateway.ask(), "U_ZOE"))["result"] == "recorded"


@requirement("S-06")
async def test_whoever_is_written_down_later_is_whom_the_file_says(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE))
    gateway.rewrite("people:\n", f"people:\n  {ZOE}: {{name: Zoe, memory: U_ZOE_TOO}}\n")
    await gateway.reload()
    await gateway.container.confirm_accounts()
    await told_again(gateway)
    assert rows(gateway)[ZOE] == "U_ZOE_TOO"
    directory = gateway.container.book.current("acme").policy.directory
    assert (directory.members("board"), directory.people[ZOE].joined) == (frozenset(), False)


async def test_a_member_decides_as_the_manager_whom_the_directory_names(gateway: Gateway) -> None:
    gateway.platform.managers_at_once = 50
    gateway.platform.managers = {"chat/U_RITA": ReportsTo(account_id="U_ZOE")}
    await with_board(gateway, member("U_ZOE", ZOE))
    gateway.rewrite("of: [board], need: 1", "of: [manager]")
    await gateway.reload()
    request = await gateway.ask(requester=RITA)
    assert {message.ref.chat_id for message in gateway.platform.of(request["id"])} == {"C1", "U_ZOE"}
    assert (await gateway.press(request, "U_ZOE"))["result"] == "recorded"
    assert (await gateway.read(request))["state"] == "approved"


@requirement("S-07")
async def test_without_the_word_in_the_file_a_member_whom_nobody_wrote_down_is_nobody(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE), board="  board: {channel: chat, group: S0BOARD}\n")
    assert (await submitted(gateway))["decision"] == "deny"
    assert gateway.platform.members_asked == []


@requirement("S-27")
async def test_when_the_file_takes_the_word_back_nobody_counts_who_is_not_written_down(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE), member("U_BOB", BOB))
    request = await gateway.ask()
    assert (await gateway.press(request, "U_ZOE"))["result"] == "recorded"
    gateway.rewrite(BOARD, "  board: [bob@acme.example]\n")
    await gateway.reload()
    assert gateway.container.book.current("acme").policy.directory.find(ZOE) is None
    assert (await gateway.claim(request)).json()["code"] == "not_approved"
    await gateway.container.confirm_accounts()
    assert ZOE not in rows(gateway)


@requirement("S-20")
async def test_a_member_opens_the_page_by_the_cards_link_until_they_are_none_any_more(
    config: Path, gateway: Gateway
) -> None:
    with_url(config)
    await with_board(gateway, member("U_ZOE", ZOE), member("U_BOB", BOB))
    request = await gateway.ask()
    visitor = Visitor(gateway=gateway)
    link = await visitor.press(request, "U_ZOE")
    assert (await visitor.enter(link)).status_code == 303
    page = await visitor.look(request)
    assert (page.status_code, request["code"] in page.text) == (200, True)
    assert gateway.trail(request)[-1] == ("request.reviewed", ZOE)
    gateway.platform.groups["group:S0BOARD"] = ("U_BOB",)
    await told_again(gateway)
    assert (await visitor.look(request)).status_code != 200


async def test_a_round_that_a_change_of_the_file_overtook_takes_nothing_into_use(gateway: Gateway) -> None:
    await with_board(gateway, member("U_ZOE", ZOE))
    groups = gateway.container.fetch_groups
    [source] = gateway.container.book.current("acme").policy.directory.sources.values()
    late = {source: await groups._list("acme", source)}
    gateway.platform.groups["group:S0NEW"] = ("U_ZOE",)
    gateway.rewrite("S0BOARD", "S0NEW")
    await gateway.reload()
    assert await groups._settle("acme", late) == {}
    assert gateway.container.book.current("acme").policy.directory.members("board") == {ZOE}
