"""`assent requests`: an approver's whole day on the command line, against a running gateway."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from app.cli.approver import requests as cli_requests
from app.cli.commands import app
from tests.fixtures.commands import Across, CliRunner
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from typer.testing import Result

    from tests.fixtures.gateway import Gateway

ALICE, BOB, DAVE, RITA = (f"{name}@acme.example" for name in ("alice", "bob", "dave", "rita"))


@pytest.fixture
def assent(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Result]]:
    """Run a command as somebody, beside the gateway."""
    whole = httpx2.Client

    async def run(*words: str, who: str = ALICE, given: str | None = None) -> Result:
        key = (await gateway.key(who))["authorization"].removeprefix("Bearer ")
        transport = Across(gateway, asyncio.get_running_loop())
        monkeypatch.setattr(httpx2, "Client", lambda **more: whole(**more, transport=transport))
        env = {"ASSENT_URL": "http://gateway.test/", "ASSENT_KEY": key}
        said = await asyncio.to_thread(CliRunner().invoke, app, ["requests", *words], input=given, env=env)
        await gateway.quiet()
        return said

    return run


async def test_what_waits_is_listed_and_one_request_is_shown_in_a_few_lines(gateway: Gateway, assent: Any) -> None:
    assert "nothing waits" in (await assent("list")).stdout
    request = await gateway.ask(
        "pay_two", {"payee": "Acme\u202e Ltd\n  code", "amount": 80, "account": "S"}, requester=RITA
    )
    await gateway.decide(request, who=BOB)
    listed = (await assent("list")).stdout
    assert request["code"] in listed
    assert request["id"] in listed
    shown = await assent("show", request["id"])
    assert shown.exit_code == 0, shown.output
    lines = [line.split(maxsplit=1) for line in shown.stdout.splitlines()]
    assert "pending (1 of 2 finance)" in shown.stdout.splitlines()[0]
    assert ["asks", f"agent shop; it says: for {RITA} (not verified)"] in lines
    assert ["payee", "Acme\\u{202E} Ltd⏎   code"] in lines  # it can begin no line of ours
    assert ["code", request["code"]] in lines
    assert ["digest", request["digest"]] in lines
    assert [BOB, "approve on api"] in lines
    assert '"S"' not in shown.stdout
    assert '"digest"' in (await assent("show", request["id"], "--json")).stdout


async def test_a_title_that_is_visible_already_shows_no_backslash_twice(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("pay", {"payee": "Acme\u202e", "amount": 80, "account": "S"})
    for words in (("list",), ("show", request["id"])):
        assert "Pay Acme\\u{202E} 80" in (await assent(*words)).stdout


async def test_approving_asks_for_the_code_of_that_very_request(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    wrong = await assent("approve", request["id"], given="AAAA-AAAA\n")
    assert (wrong.exit_code, "nothing was done" in wrong.output) == (1, True)
    assert (await assent("approve", request["id"], given="\n")).exit_code == 1
    assert (await gateway.read(request))["state"] == "pending"
    right = await assent("approve", request["id"], "--reason", "fine", given=f"{_in_full_width(request['code'])}\n")
    assert (right.exit_code, right.stdout.splitlines()[-1]) == (0, "by_api: approved")
    assert (await gateway.read(request))["decisions"][0]["reason"] == "fine"
    late = await assent("approve", request["id"], "--yes")
    assert (late.exit_code, late.stderr.strip()) == (1, "it is approved already: nothing was done")


async def test_a_denial_needs_a_reason_and_a_vote_can_be_taken_back(gateway: Gateway, assent: Any) -> None:
    two = await gateway.ask("pay_two")
    assert (await assent("approve", two["id"], "--yes")).exit_code == 0
    assert (await assent("withdraw", two["id"])).stdout.strip() == "pay_two: pending (0 of 2 finance)"
    assert "no vote" in (await assent("withdraw", two["id"])).stderr
    denied = await assent("deny", two["id"], given="too much\n")
    assert denied.stdout.splitlines()[-1].endswith("pay_two: denied")
    assert (await gateway.read(two))["settled"]["reason"] == "too much"


async def test_other_arguments_are_approved_as_they_are_written(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("pay_two", {"payee": "007", "amount": 80000, "to": {"city": "Bonn"}})
    said = await assent(
        "approve", request["id"], "--set", "payee=008", "--set", "amount=70000", "--set", "to.city=Rom",
        given=f"{request['code']}\n",
    )  # fmt: skip
    assert said.exit_code == 0, said.output
    assert "amount: 80000 → 70000" in said.stdout
    changed = await gateway.read(request)
    assert changed["arguments"] == {"payee": "008", "amount": 70000, "to": {"city": "Rom"}}
    assert changed["digest"] != request["digest"]
    shown = (await assent("show", request["id"], who=BOB)).stdout
    assert all(f"by {ALICE}: {told}" in shown for told in ("payee: 007 → 008", "amount: 80000 → 70000")), shown


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("amount", "argument=value"),
        ("amuont=1", "no argument amuont"),
        ("payee.name=1", "no argument"),
        ("amount=1.", "no JSON"),
    ],
)
async def test_a_change_that_cannot_be_meant_is_refused_before_anything_is_sent(
    gateway: Gateway, assent: Any, change: str, told: str
) -> None:
    request = await gateway.ask("pay_two", {"payee": "x", "amount": 1})
    said = await assent("approve", request["id"], "--yes", "--set", change)
    assert (said.exit_code, told in said.stderr) == (2, True), said.output
    assert (await gateway.read(request))["version"] == 1


async def test_hand_over_add_ask_answer_remind_extend_and_reopen(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("by_api", {"n": 1}, requester=RITA)
    rid = request["id"]
    assert (await assent("ask", rid, "Which invoice?")).exit_code == 0
    assert "(a question is open)" in (await assent("list")).stdout
    assert (await assent("answer", rid, "4711", who=RITA)).exit_code == 0
    assert "there is no open question" in (await assent("answer", rid, "again", who=RITA)).stderr
    assert (
        await assent("add", rid, "--person", DAVE)
    ).stdout.strip() == f"by_api: pending (0 of 1 finance + 0 of 1 {DAVE})"
    assert (await assent("hand-over", rid, "--to", BOB, "--note", "away")).exit_code == 0
    shown = (await assent("show", rid)).stdout
    for told in ("Which invoice?", "4711 (not verified)", f"{ALICE} → {BOB}"):
        assert told in shown
    for text in ("Which month?", "Which project?"):
        assert (await assent("ask", rid, text, who=BOB)).exit_code == 0
    which = await assent("answer", rid, "May", who=RITA)
    assert (which.exit_code, "Which month?" in which.stderr, "Which project?" in which.stderr) == (1, True, True)
    await gateway.advance(timedelta(minutes=6))
    assert (await assent("remind", rid, who=BOB)).exit_code == 0
    again = await assent("remind", rid, who=BOB)
    assert (again.exit_code, "a moment ago" in again.stderr) == (1, True)
    assert "decide by 2026-03-01 11:00:00 UTC" in (await assent("extend", rid, who=BOB)).stdout
    await gateway.advance(timedelta(hours=2))
    assert "question is open" not in (await assent("list", "--all")).stdout
    assert "new request req_" in (await assent("reopen", rid, who=BOB)).stdout


@requirement("S-30")
async def test_a_refusal_is_lifted_by_who_may_decide_it(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("by_api", {"what": 1}, requester=RITA)
    assert "only what people denied can be lifted" in (await assent("lift", request["id"])).stderr
    await gateway.decide(request, "deny", who=BOB)
    body = {"tool": "by_api", "arguments": {"what": 1}}
    assert (await gateway.call("POST", "/v1/requests", body)).json()["rule"] == "cool-down"
    refused = await assent("lift", request["id"], who=DAVE)
    told = [line for line in refused.stdout.splitlines() if "access.refused" not in line]  # the gateway's own log
    assert (refused.exit_code, told) == (1, [])
    done = await assent("lift", request["id"], "--reason", "the right one after all")
    assert done.exit_code == 0, done.output
    assert "denied" in done.stdout.splitlines()[0]
    assert "asked about again" in done.stdout
    assert (await gateway.call("POST", "/v1/requests", body)).json()["decision"] == "ask"


@requirement("S-51")
async def test_what_goes_wrong_is_a_sentence_and_a_code(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    unknown = await assent("show", "../keys")
    assert (unknown.exit_code, unknown.stderr.strip()) == (1, "there is no such request, or question, here")
    stranger = await assent("approve", request["id"], "--yes", who=DAVE)
    assert (stranger.exit_code, "may not decide" in stranger.stderr) == (1, True)
    nobody = await assent("hand-over", request["id"], "--to", "nobody@acme.example")
    assert nobody.stderr.strip() == "this person is not known here (to)"
    gateway.keys[f"acme/{ALICE}"] = "ak_unknown_key"
    foreign = await assent("list")
    assert (foreign.exit_code, foreign.stderr.partition(": `")[0]) == (
        2,
        "ASSENT_KEY: the gateway does not know this key",
    )


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"ASSENT_URL": "", "ASSENT_KEY": "ak_1"}, "ASSENT_URL"),
        ({"ASSENT_URL": "gateway", "ASSENT_KEY": "ak_1"}, "ASSENT_URL"),
        ({"ASSENT_URL": "http://gateway.test", "ASSENT_KEY": ""}, "ASSENT_KEY"),
        ({"ASSENT_URL": "http://gateway.test", "ASSENT_KEY": "a\nb"}, "ASSENT_KEY"),
        ({"ASSENT_URL": "http://127.0.0.1:9", "ASSENT_KEY": "ak_secret"}, "no gateway answers at http://127.0.0.1:9"),
    ],
)
@pytest.mark.may_block  # a command's own loop serves nobody else
def test_without_a_gateway_or_a_key_it_says_what_to_set(env: dict[str, str], told: str) -> None:
    said = CliRunner().invoke(app, ["requests", "list"], env=env)
    assert (said.exit_code, told in said.stderr) == (2, True)
    assert "ak_secret" not in said.output


def test_answers_that_are_no_gateways_are_told_as_such() -> None:
    for content in (b"<html>", b"[]"):
        transport = httpx2.MockTransport(lambda _, content=content: httpx2.Response(200, content=content))
        desk = cli_requests.Desk(client=httpx2.Client(base_url="http://x.test", transport=transport))
        with pytest.raises(cli_requests.typer.Exit) as ended:
            desk.read("req_1")
        assert ended.value.exit_code == 2


async def test_a_link_to_the_page_with_all_of_it_is_printed_for_whoever_may_look(gateway: Gateway, assent: Any) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    nowhere = await assent("review", request["id"])
    assert (nowhere.exit_code, "url" in nowhere.stderr) == (1, True)
    gateway.rewrite("default: deny", "default: deny\nurl: https://assent.acme.example")
    await gateway.reload()
    said = await assent("review", request["id"])
    link, until = said.stdout.splitlines()
    assert link.startswith("https://assent.acme.example/sign-in?")
    assert until.startswith("works once, until ")
    assert (await assent("review", request["id"], who=DAVE)).exit_code == 1


def _in_full_width(code: str) -> str:
    """Return a code as a Chinese keyboard writes it, without its hyphen."""
    return "".join(chr(ord(letter) + 0xFEE0) for letter in code.replace("-", "").lower())
