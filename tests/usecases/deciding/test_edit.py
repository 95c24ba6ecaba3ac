"""Approve with changes: other arguments are judged anew, and need the people whom they need."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from tests.fixtures.editing import ALICE, BOB, CAROL, DAVE, EDITING, TRANSFER, edit, filled
from tests.fixtures.gateway import open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from app.domain.call.submission import Submission
    from app.usecases.judging.judge_call import Judged
    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform


@pytest.fixture
async def g(sqlite_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(EDITING)
    async with open_gateway(sqlite_url, config, platform) as running:
        yield running


@pytest.fixture
async def either(database_url: str, config: Path, platform: MemoryPlatform) -> AsyncIterator[Gateway]:
    (config / "acme.yaml").write_text(EDITING)
    async with open_gateway(database_url, config, platform) as running:
        yield running


async def transfer(gateway: Gateway, tool: str = "transfer", **changed: Any) -> dict[str, Any]:
    return await gateway.ask(tool, {**TRANSFER, **changed}, session="s-1")


def kinds(gateway: Gateway, request: dict[str, Any]) -> list[str]:
    return [kind for kind, _ in gateway.trail(request) if kind.startswith("request.")]


CHANGED_IT = "you changed this call: somebody else must decide it as it is now"

# --- who approves the changed call ------------------------------------------------------------------------------------


async def test_whoever_only_lowers_an_amount_approves_it_in_the_same_breath(either: Gateway) -> None:
    request = await transfer(either)
    said = await edit(either, request, amount=50000)
    assert said.status_code == 200, said.text
    after = await either.read(request)
    assert after["state"] == "approved"
    assert after["arguments"]["amount"] == 50000
    assert after["proposed"] == {**TRANSFER, "memo": "none"}
    assert after["edited_by"] == ALICE
    assert after["title"] == "Transfer 50,000 CNY to Acme Ltd"
    assert kinds(either, request) == ["request.created", "request.edited", "request.approved"]
    claimed = (await either.claim(after)).json()
    assert claimed["arguments"] == {**TRANSFER, "memo": "none", "amount": 50000}
    assert claimed["digest"] == after["digest"]


@pytest.mark.parametrize(
    "changed",
    [
        {"amount": 80001},
        {"payee": "Acme Ltd "},
        {"amount": 50000, "memo": "as agreed"},
        {"amount": 50000, "currency": "USD"},
        {"urgent": True},
        {"items": [{"price": 1}]},
    ],
)
@pytest.mark.sampled(3)
async def test_whoever_changes_more_cannot_approve_their_own_change_and_somebody_else_can(
    g: Gateway, changed: dict[str, Any]
) -> None:
    request = await transfer(g)
    assert (await edit(g, request, **changed)).status_code == 200
    after = await g.read(request)
    assert (after["state"], after["decisions"]) == ("pending", [])
    refused = await g.decide(after)
    assert (refused.status_code, refused.json()["detail"]) == (403, CHANGED_IT)
    assert (await g.read(request))["state"] == "pending"
    assert (await g.decide(after, who=BOB)).json()["state"] == "approved"
    assert (await g.claim(after)).json()["arguments"] == {**TRANSFER, "memo": "none", **changed}


@pytest.mark.parametrize("verb", [("questions", {"text": "why?"}), ("remind", {}), ("approvers", {"person": BOB})])
async def test_whoever_changed_a_call_hears_that_and_nothing_untrue_whatever_they_try_next(
    g: Gateway, verb: tuple[str, dict[str, Any]]
) -> None:
    request = await transfer(g)
    assert (await edit(g, request, payee="Beta Ltd")).status_code == 200
    after = await g.read(request)
    path, body = verb[0], {**verb[1], **({} if verb[0] == "remind" else {"digest": after["digest"]})}
    said = await g.call("POST", f"/v1/requests/{request['id']}/{path}", body, who=ALICE)
    assert (said.status_code, said.json()["detail"]) == (403, CHANGED_IT)
    denied = await g.decide(after, "deny", reason="no")
    assert (denied.status_code, denied.json()["detail"]) == (403, CHANGED_IT)


async def test_what_counts_is_the_agents_own_call_not_the_last_change(g: Gateway) -> None:
    request = await transfer(g)
    await edit(g, request, amount=90000)
    await edit(g, request, amount=85000)  # less than before, more than the agent wanted
    assert (await g.read(request))["state"] == "pending"
    await edit(g, request, amount=80000)  # as the agent wanted: a plain approval of its own call
    assert (await g.read(request))["state"] == "approved"


async def test_nobody_lowers_an_amount_below_nothing(g: Gateway) -> None:
    request = await transfer(g, "calm", items=[{"price": "-5.00"}])
    await edit(g, request, items=[{"price": "-9.00"}])
    assert (await g.read(request))["decisions"] == []


async def test_the_changed_call_needs_the_people_whom_the_rules_ask_about_it_and_their_channels(g: Gateway) -> None:
    request = await transfer(g)
    await edit(g, request, amount=200000)
    after = await g.read(request)
    assert (after["rule"], [stage["of"] for stage in after["stages"]]) == ("large", [["finance"], ["legal"]])
    await g.quiet()
    assert g.card(request, chat="C2").card.buttons is not None
    assert (await g.decide(after, who=BOB)).json()["state"] == "pending"
    assert (await g.decide(after, who=CAROL)).json()["state"] == "pending"
    assert (await g.decide(after, who=DAVE)).json()["state"] == "approved"


async def test_a_change_to_a_call_that_needs_fewer_people_needs_only_those(g: Gateway) -> None:
    request = await transfer(g, amount=200000)
    await edit(g, request, BOB, amount=90000)
    assert (await g.read(request))["state"] == "approved"


async def test_where_the_rules_would_ask_nobody_those_who_were_asked_so_far_stay(g: Gateway) -> None:
    request = await transfer(g, amount=200000)
    await edit(g, request, BOB, amount=50)
    after = await g.read(request)
    assert (after["state"], [stage["of"] for stage in after["stages"]]) == ("pending", [["finance"], ["legal"]])
    assert [each["person"] for each in after["decisions"]] == [BOB]


async def test_the_stage_may_say_in_writing_that_editors_approve_their_own_changes(g: Gateway) -> None:
    request = await transfer(g, "own")
    await edit(g, request, payee="Beta Ltd")
    assert (await g.read(request))["state"] == "approved"


async def test_a_change_that_nobody_else_could_approve_is_refused_and_changes_nothing(g: Gateway) -> None:
    request = await transfer(g, "alone")
    before = await g.read(request)
    said = await edit(g, request, BOB, payee="Beta Ltd")
    assert (said.status_code, said.json()["code"]) == (409, "conflict")
    assert "nobody else could approve it" in said.json()["detail"]
    assert await g.read(request) == before
    assert (await edit(g, request, BOB, amount=1000)).json()["state"] == "approved"


async def test_whoever_was_added_must_approve_the_changed_call_as_well(g: Gateway) -> None:
    request = await transfer(g)
    body = {"person": DAVE, "digest": request["digest"]}
    added = await g.call("POST", f"/v1/requests/{request['id']}/approvers", body, who=ALICE)
    assert added.status_code == 200, added.text
    await edit(g, request, BOB, amount=70000)
    after = await g.read(request)
    assert (after["state"], after["stages"][-1]["of"]) == ("pending", [DAVE])
    assert (await g.decide(after, who=DAVE)).json()["state"] == "approved"


async def test_what_is_written_about_the_sub_agent_that_asked_binds_the_changed_call_too(g: Gateway) -> None:
    rule = (
        "  - {id: clerks, tools: [transfer], agents: [clerk], when: args.amount > 500, then: deny, reason: Too much.}\n"
    )
    await asyncio.to_thread(g.rewrite, "rules:\n", f"rules:\n{rule}")
    await g.reload()
    request = await g.ask("transfer", {**TRANSFER, "amount": 400}, session="s-2", sub_agent="clerk")
    assert "Too much." in (await edit(g, request, amount=600)).json()["detail"]
    assert (await edit(g, request, amount=300)).json()["state"] == "approved"


async def test_nobody_who_may_not_decide_may_change_anything(g: Gateway) -> None:
    request = await g.ask("transfer", TRANSFER, requester=BOB)
    before = await g.read(request)
    for who in (DAVE, BOB, "olga@acme.example"):  # not asked; asked for it; owns the agent
        said = await edit(g, request, who, amount=1000)
        assert (said.status_code, said.json()["code"]) == (403, "not_eligible")
    assert await g.read(request) == before
    assert [kind for kind, _ in g.trail(request)].count("click.refused") == 3


@pytest.mark.parametrize(
    ("changed", "code", "why"),
    [
        ({"payee": "Evil Ltd"}, "conflict", "This payee is frozen."),
        ({"memo": "deny"}, "conflict", "the memo says so"),
        ({"memo": "rewrite"}, "conflict", "a hook would run"),
        ({"memo": "route"}, "conflict", "sandbox"),
        ({"memo": "crash"}, "conflict", "no such table"),
        ({"amount": 0}, "bad_arguments", "minimum"),
        ({"amount": 1.5}, "bad_arguments", "integer"),
        ({"colour": "red"}, "bad_arguments", "unknown"),
        ({"items": [{"price": 1.25}]}, "bad_arguments", "money"),
    ],
)
@pytest.mark.sampled(3)
async def test_what_the_gate_refuses_is_refused_to_the_approver_with_the_reason(
    g: Gateway, changed: dict[str, Any], code: str, why: str
) -> None:
    request = await transfer(g)
    before = await g.read(request)
    said = await edit(g, request, **changed)
    assert said.json()["code"] == code
    assert why in said.json()["detail"]
    assert await g.read(request) == before
    assert (await g.decide(request)).json()["state"] == "approved"


async def test_a_hook_that_wants_people_is_content_with_those_who_are_asked(g: Gateway) -> None:
    request = await transfer(g)
    await edit(g, request, memo="ask")
    after = await g.read(request)
    assert "the memo wants people" in after["reason"]
    assert (await g.decide(after, who=BOB)).json()["state"] == "approved"


async def test_nothing_changed_is_a_plain_approval(g: Gateway) -> None:
    request = await transfer(g)
    said = await edit(g, request)
    assert (said.json()["state"], said.json()["digest"], said.json()["proposed"]) == (
        "approved",
        request["digest"],
        None,
    )


async def test_a_second_editor_undoes_or_replaces_what_the_first_one_changed_but_does_not_build_on_it(
    g: Gateway,
) -> None:
    """Else the first editor would approve what they made themselves."""
    request = await transfer(g)
    await edit(g, request, payee="Beta Ltd")
    refused = await edit(g, request, BOB, amount=70000)
    assert (refused.status_code, "Alice has changed this before" in refused.json()["detail"]) == (409, True)
    assert (await edit(g, request, BOB, payee="Gamma Ltd")).status_code == 200
    after = await g.read(request)
    assert (after["edited_by"], after["state"]) == (BOB, "pending")
    assert (await g.decide(after, who=ALICE)).json()["state"] == "approved"


async def test_an_editor_may_change_it_again(g: Gateway) -> None:
    request = await transfer(g)
    await edit(g, request, payee="Beta")
    assert (await edit(g, request, payee="Beta Ltd")).status_code == 200
    after = await g.read(request)
    assert (after["arguments"]["payee"], after["proposed"]["payee"]) == ("Beta Ltd", "Acme Ltd")


async def test_the_same_change_again_is_answered_like_the_first_time(g: Gateway) -> None:
    request = await transfer(g)
    arguments = {**TRANSFER, "amount": 50000, "memo": "none"}
    first = await g.decide(request, arguments=arguments)
    again = await g.decide(request, arguments=arguments)  # its answer was lost
    assert (again.status_code, again.json()) == (200, first.json())
    assert (await g.decide(request, who=BOB, arguments=arguments)).json()["code"] == "digest_mismatch"


# --- digests ----------------------------------------------------------------------------------------------------------


@requirement("S-02", "S-23")
async def test_votes_clicks_and_claims_for_the_call_as_it_was_are_worth_nothing(either: Gateway) -> None:
    g = either
    request = await transfer(g, "calm")
    old = g.platform.press(g.card(request), "U_CAROL", "approve")
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"
    await edit(g, request, amount=70000)
    after = await g.read(request)
    assert [each["person"] for each in after["decisions"]] == [ALICE]
    assert (await g.send(old)).body == {
        "result": "refused", "sentence": "This card is no longer the live one. Please use the newest card.",
    }  # fmt: skip
    assert (await g.decide(request, who=CAROL)).json()["code"] == "digest_mismatch"
    assert (await g.press(request, "U_CAROL"))["result"] == "recorded"  # the same card shows the changed call by now
    after = await g.read(request)
    assert after["state"] == "approved"
    assert (await g.claim(request)).json()["code"] == "digest_mismatch"
    assert (await g.claim(after)).status_code == 200


@requirement("S-02")
async def test_changed_there_and_back_is_another_digest_and_another_code(g: Gateway) -> None:
    request = await transfer(g, "calm")
    for amount in (70000, 60000, 70000):
        await edit(g, request, amount=amount)
        await edit(g, request, BOB, memo=f"{amount}")
        assert (await g.read(request))["state"] == "pending"
    trail = g.rows("SELECT facts FROM audit_events WHERE kind = 'request.edited'")
    assert len(trail) >= 3
    rows = g.rows("SELECT facts FROM audit_events WHERE kind IN ('request.edited', 'request.created')")
    digests = [json.loads(row["facts"])["digest"] for row in rows]
    codes = [json.loads(row["facts"])["code"] for row in rows]
    assert len(set(digests)) == len(digests)
    assert len(set(codes)) == len(codes)


async def test_the_agent_that_asks_again_joins_its_changed_request(g: Gateway) -> None:
    request = await transfer(g, "calm")
    await edit(g, request, amount=70000)
    again = (await g.call("POST", "/v1/requests", {"tool": "calm", "arguments": TRANSFER, "session": "s-1"})).json()
    assert (again["attached"], again["request"]["id"]) == (True, request["id"])
    assert again["request"]["arguments"]["amount"] == 70000
    assert "amount: 80000 → 70000" in again["request"]["message"]


# --- sensitive values -------------------------------------------------------------------------------------------------


async def test_a_masked_value_that_is_sent_back_stays_what_it_was(g: Gateway) -> None:
    request = await transfer(g, items=[{"price": 5, "iban": "DE89370400440532013000"}])
    seen = await g.read(request, who=ALICE)
    assert seen["arguments"]["account"] == "•••8603"
    assert (await edit(g, request, amount=1000)).json()["arguments"]["account"] == "•••8603"
    after = await g.read(request)
    assert after["arguments"]["account"] == TRANSFER["account"]
    assert after["arguments"]["items"] == [{"price": 5, "iban": "DE89370400440532013000"}]


async def test_a_mask_that_belongs_to_nothing_is_refused(g: Gateway) -> None:
    request = await transfer(g, items=[{"price": 5, "iban": "A1"}, {"price": 6, "iban": "B2"}])
    swapped = [{"price": 6, "iban": "•••"}, {"price": 5, "iban": "•••"}]
    broken: list[dict[str, Any]] = [{"account": "•••9999"}, {"items": swapped}, {"items": swapped[:1]}]
    for changed in broken:
        said = await edit(g, request, **changed)
        assert (said.status_code, said.json()["code"]) == (422, "bad_arguments")


async def test_what_was_sensitive_is_told_nowhere(g: Gateway) -> None:
    request = await transfer(g)
    await edit(g, request, account="DE00111122223333444455")
    after = await g.read(request)
    assert after["arguments"]["account"] == "DE00111122223333444455"
    assert "account: •••8603 → •••4455" in after["message"]
    await g.quiet()
    said = f"{g.card(request).card}{g.rows('SELECT facts FROM audit_events')}{await g.read(request, who=BOB)}"
    assert "DE00111122223333444455" not in said
    assert str(TRANSFER["account"]) not in said


@requirement("S-13", "S-37")
async def test_what_the_file_of_now_pins_and_hides_is_pinned_and_hidden_in_a_changed_call(either: Gateway) -> None:
    g = either
    request = await transfer(g, memo="salary of Bob")
    pins, hides = "[payee, amount, currency, urgent, items.price]", "[account, items.iban]"
    g.rewrite(f"pin: {pins},\n    sensitive: {hides}", "pin: [payee, amount],\n    sensitive: [items.iban, memo]")
    await g.reload()
    await edit(g, request, amount=90000)
    await g.quiet()
    after = await g.read(request, who=BOB)
    assert (after["arguments"]["memo"], after["arguments"]["account"]) == ("•••", "•••8603")
    card = g.card(request).card
    assert "salary of Bob" not in str(card)
    assert {"urgent", "currency"} <= {fact.label for fact in (*card.facts, *card.highlights)}


@requirement("S-37")
async def test_what_was_sensitive_before_it_was_changed_is_hidden_in_every_word_about_it_too(g: Gateway) -> None:
    old, new = str(TRANSFER["account"]), "FR7630006000011234567890189"
    request = await transfer(g)
    seen = await g.read(request, who=ALICE)
    arguments = {**seen["arguments"], "account": new}
    said = await g.decide(request, arguments=arguments, reason=f"{old} is closed, {new} is not")
    assert said.status_code == 200
    digest, asked = (await g.read(request))["digest"], f"/v1/requests/{request['id']}/questions"
    question = (await g.call("POST", asked, {"text": "Why?", "digest": digest}, who=BOB)).json()["questions"][0]
    await g.call("POST", f"{asked}/{question['id']}/answer", {"text": f"It was {old}, and is {new}."})
    await g.decide(await g.read(request), who=BOB)
    await g.claim(await g.read(request))
    await g.report(request, "failed", error=f"no such account: {old} or {new}")
    told = json.dumps(await g.read(request, who=BOB), ensure_ascii=False)
    assert "It was •••, and is •••." in told
    assert "no such account: ••• or •••" in told
    kept = f"{told}{g.rows('SELECT facts FROM audit_events')}{g.platform.notices}{g.platform.messages}"
    assert not [each for each in (old, new) if each in kept]


# --- on a card --------------------------------------------------------------------------------------------------------


async def test_a_card_offers_a_form_with_the_pinned_values_as_they_are(g: Gateway) -> None:
    request = await transfer(g, items=[{"price": "12.50"}, {"price": "3.00"}])
    click = filled(g, request)
    await g.send(replace(click, wants_form=True, fields={}))
    _, form = g.platform.forms[0]
    assert [(field.label, field.value) for field in form.fields] == [
        ("payee", "Acme Ltd"),
        ("amount", "80000"),
        ("currency", "CNY"),
        ("urgent", "false"),
        ("items[0].price", "12.50"),
        ("items[1].price", "3.00"),
    ]
    assert (await g.read(request))["state"] == "pending"


async def test_a_form_with_a_lower_amount_approves_at_once(either: Gateway) -> None:
    g = either
    request = await transfer(g)
    heard = (await g.send(filled(g, request, amount=" 50000 "))).body
    assert heard == {"result": "recorded", "sentence": "Changed and approved. It may run once now, as changed."}
    after = await g.read(request)
    assert (after["state"], after["arguments"]["amount"]) == ("approved", 50000)
    assert g.card(request).card.headline == "Approved"


async def test_a_lower_amount_that_takes_less_is_approved_after_the_form_and_not_by_it(g: Gateway) -> None:
    g.rewrite("  - {id: usual, tools: [transfer], then: ask,",
              "  - {id: less, tools: [transfer], when: args.amount < 60000, then: ask, stages: [{of: [finance]}], "
              "channels: [chat, api]}\n  - {id: usual, tools: [transfer], then: ask, assurance: L2,")  # fmt: skip
    await g.reload()
    request = await transfer(g)
    heard = (await g.send(filled(g, request, amount="50000"))).body
    assert heard == {"result": "recorded", "sentence": "Changed. Now approve it on the card, as it stands there now."}
    after = await g.read(request)
    assert (after["state"], after["assurance"], after["decisions"]) == ("pending", "L1", [])
    assert (await g.press(request, "U_ALICE"))["result"] == "recorded"
    assert (await g.read(request))["state"] == "approved"


async def test_a_form_with_other_changes_says_that_somebody_else_must_approve_and_the_card_shows_what_was_changed(
    g: Gateway,
) -> None:
    request = await transfer(g)
    heard = (await g.send(filled(g, request, payee="Beta Ltd", urgent="true"))).body
    assert heard == {
        "result": "recorded",
        "sentence": "Changed. As the change is yours, somebody else must approve it.",
    }
    card = g.card(request).card
    assert [(fact.label, fact.value) for fact in card.changes] == [
        ("Changed by Alice: payee", "Acme Ltd → Beta Ltd"),
        ("Changed by Alice: urgent", "false → true"),
    ]
    assert await g.press(request, "U_ALICE") == {
        "result": "refused",
        "sentence": "You changed this call: somebody else must decide it. The request still waits.",
    }
    assert (await g.press(request, "U_BOB"))["result"] == "recorded"
    after = await g.read(request)
    assert (after["state"], after["arguments"]["urgent"]) == ("approved", True)


async def test_a_form_in_which_nothing_was_changed_is_a_plain_approval(g: Gateway) -> None:
    request = await transfer(g)
    assert (await g.send(filled(g, request))).body == {
        "result": "recorded", "sentence": "Recorded: approved. It may run once now.",
    }  # fmt: skip
    assert kinds(g, request) == ["request.created", "request.approved"]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"amount": "80,000"}, "amount must be a whole number, such as 80000."),
        ({"amount": "5e3"}, "amount must be a whole number, such as 80000."),
        ({"amount": "0500"}, "amount must be a whole number, such as 80000."),
        ({"amount": "500.00"}, "amount must be a whole number, such as 80000."),
        ({"amount": "99999999999999999"}, "amount must be a whole number, such as 80000."),
        ({"amount": ""}, "amount must be a whole number, such as 80000."),
        ({"urgent": "maybe"}, "urgent must be true or false."),
        ({"payee": "  "}, "payee must not be empty."),
        ({"payee": "x" * 501}, "payee may have at most 500 characters."),
        ({"payee": "Acme\u202eLtd"}, "payee has characters that nobody could see."),
        ({"payee": "Evil Ltd"}, "This payee is frozen."),
    ],
)
@pytest.mark.sampled(4)
async def test_a_fault_in_a_form_is_told_by_the_name_of_its_field(
    g: Gateway, typed: dict[str, str], sentence: str
) -> None:
    request = await transfer(g)
    heard = (await g.send(filled(g, request, **typed))).body
    assert heard == {"result": "retry", "sentence": f"Nothing changed: {sentence}"}
    assert kinds(g, request) == ["request.created"]
    # Nothing is burned: the same card takes the right value.
    assert (await g.send(filled(g, request, amount="50000"))).body["result"] == "recorded"  # type: ignore[index]


async def test_the_same_form_delivered_twice_is_taken_once(g: Gateway) -> None:
    request = await transfer(g, "calm")
    click = filled(g, request, amount="50000")
    first, second = (await g.send(click)).body, (await g.send(click)).body
    assert (first or {})["sentence"] == "Changed, and your approval counts: 1 of 2; more are needed."
    assert (second or {})["result"] == "already"
    assert kinds(g, request) == ["request.created", "request.edited", "request.voted"]


async def test_a_form_that_was_opened_before_somebody_else_changed_the_call_is_stale(g: Gateway) -> None:
    request = await transfer(g, "calm")
    late = filled(g, request, "U_BOB", amount="60000")
    await edit(g, request, amount=70000)
    assert (await g.send(late)).body == {
        "result": "refused", "sentence": "This card is no longer the live one. Please use the newest card.",
    }  # fmt: skip
    assert (await g.read(request))["arguments"]["amount"] == 70000


async def test_a_late_change_hears_how_the_request_ended(g: Gateway) -> None:
    request = await transfer(g)
    click = filled(g, request, "U_BOB", amount="50000")
    await g.decide(request, "deny")
    heard = (await g.send(click)).body or {}
    assert (heard["result"], "Denied by Alice" in str(heard["sentence"])) == ("already", True)
    assert (await edit(g, request, BOB, amount=1)).json()["code"] == "already_settled"


# --- meanwhile --------------------------------------------------------------------------------------------------------


def meanwhile(gateway: Gateway, happens: Callable[[], Awaitable[object]]) -> None:
    """Let something happen once, while a change is judged."""
    edit_of = gateway.container.services.edit._edit
    judge, done = edit_of._judge, list[bool]()

    async def judged(submission: Submission) -> Judged:
        if not done:
            done.append(True)
            await happens()
        return await judge(submission)

    edit_of._judge = judged  # type: ignore[assignment] - called like it


@pytest.mark.parametrize(
    ("verdict", "more", "code"),
    [
        ("approve", {"arguments": {**TRANSFER, "amount": 60000}}, "digest_mismatch"),
        ("deny", {}, "already_settled"),
        ("approve", {}, "already_settled"),
    ],
)
async def test_what_was_decided_or_changed_while_a_change_was_judged_stands(
    g: Gateway, verdict: str, more: dict[str, Any], code: str
) -> None:
    request = await transfer(g)
    meanwhile(g, lambda: g.decide(request, verdict, who=BOB, **more))
    said = await edit(g, request, payee="Beta Ltd")
    assert said.json()["code"] == code
    assert (await g.read(request))["arguments"]["payee"] == "Acme Ltd"


async def test_a_form_whose_call_was_changed_while_it_was_judged_is_stale(g: Gateway) -> None:
    request = await transfer(g, "calm")
    meanwhile(g, lambda: edit(g, request, BOB, amount=60000))
    heard = (await g.send(filled(g, request, payee="Beta Ltd"))).body or {}
    assert heard["result"] == "refused"
    assert (await g.read(request))["arguments"] == {**TRANSFER, "memo": "none", "amount": 60000}


@requirement("S-27")
async def test_a_change_is_judged_anew_by_rules_that_came_while_it_was_judged(g: Gateway) -> None:
    request = await transfer(g)

    async def frozen() -> None:
        await asyncio.to_thread(g.rewrite, 'args.payee == "Evil Ltd"', 'args.payee == "Beta Ltd"')
        await g.reload()

    meanwhile(g, frozen)
    said = await edit(g, request, payee="Beta Ltd")
    assert (said.json()["code"], said.json()["detail"]) == ("conflict", "This payee is frozen.")


@requirement("S-27")
async def test_whoever_left_the_group_while_their_change_was_judged_changes_nothing(g: Gateway) -> None:
    request = await transfer(g)

    async def leaves() -> None:
        await asyncio.to_thread(g.rewrite, "finance: [alice@acme.example, ", "finance: [")
        await g.reload()

    meanwhile(g, leaves)
    assert (await edit(g, request, amount=5)).json()["code"] == "not_eligible"
    assert (await g.read(request))["digest"] == request["digest"]


# --- at the same time -------------------------------------------------------------------------------------------------


@requirement("S-24")
@pytest.mark.parametrize("attempt", range(4))
async def test_changes_approvals_and_denials_at_the_same_time_come_one_after_the_other(
    either: Gateway, attempt: int
) -> None:
    g = either
    request = await transfer(g)
    acts = [
        edit(g, request, ALICE, payee=f"Beta {attempt}"),
        edit(g, request, BOB, amount=50000),
        g.decide(request, who=CAROL),
        g.decide(request, "deny", who=CAROL),
        g.press(request, "U_BOB"),
    ]
    await asyncio.gather(*(acts[attempt:] + acts[:attempt]))
    after = await g.read(request)
    assert after["state"] in {"approved", "denied", "pending"}
    facts = g.rows(f"SELECT kind, actor, facts FROM audit_events WHERE request_id = '{request['id']}' ORDER BY seq")
    digest = request["digest"]
    for row in facts:
        fact = json.loads(row["facts"])
        if row["kind"] == "request.edited":
            assert fact["before"] == digest
            digest = fact["digest"]
        elif row["kind"] in {"request.approved", "request.voted", "request.denied"}:
            assert fact["digest"] == digest
    assert digest == after["digest"]
    if after["state"] == "approved":
        claimed = (await g.claim(after)).json()
        assert claimed["arguments"] == after["arguments"]


async def test_another_rule_says_how_long_what_it_asks_about_may_be_used(g: Gateway) -> None:
    """A change that leads under a stricter rule must not keep the wider window of the first one."""
    request = await g.ask("transfer", TRANSFER)
    g.rewrite("- {id: usual,", "- {id: usual, claim_within: 5m, lease: 2m, fallback: [chat-two],")
    await g.reload()
    await edit(g, request, payee="Beta Ltd")
    [row] = g.rows(f"SELECT claim_within, lease, fallback FROM requests WHERE id = '{request['id']}'")
    assert (row["claim_within"], row["lease"], row["fallback"]) == (300_000_000, 120_000_000, '["chat-two"]')
