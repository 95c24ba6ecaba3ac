"""Which request a click settles, how often, and how votes add up."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.domain.identity.seals import BadTokenError, Place, Seals, parse_token
from app.domain.request.action import Action
from app.domain.text.language import Language
from app.domain.words.say import say
from app.ports import Ignored
from app.storage.requests.seen_before import CLICK_RETENTION
from channels.feishu import callback as feishu_callback
from channels.slack import callback as slack_callback
from tests.fixtures.examples import examples
from tests.fixtures.gateway import PAY, SECRET, ManualClock, open_gateway
from tests.requirements import requirement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.gateway import Gateway
    from tests.fixtures.memory_platform import MemoryPlatform

MINUTE = timedelta(minutes=1)

# --- which ------------------------------------------------------------------------------------------------------------


@requirement("S-12")
@pytest.mark.parametrize("which", [0, 1, 2], ids=["oldest", "middle", "newest"])
@pytest.mark.parametrize("verdict", ["approve", "deny"])
@pytest.mark.sampled(3)
async def test_a_click_settles_the_request_of_its_card_and_no_other(
    either_gateway: Gateway, which: int, verdict: str
) -> None:
    """Also when the same call waits three times over in the room: nothing but the card tells the three apart."""
    g = either_gateway
    waiting = [await g.ask(session=f"s-{n}") for n in range(3)]
    pressed = waiting.pop(which)
    before = _rows_of(g, *waiting)
    assert (await g.press(pressed, "U_ALICE", verdict))["result"] == "recorded"
    assert (await g.read(pressed))["state"] == ("approved" if verdict == "approve" else "denied")
    assert _rows_of(g, *waiting) == before
    assert {m.card.request_id for m in g.platform.live()} == {request["id"] for request in waiting}


@requirement("S-12")
@pytest.mark.parametrize("end", ["approve", "deny", "cancel"])
async def test_a_button_of_a_request_that_is_over_settles_none_that_still_waits(
    either_gateway: Gateway, end: str
) -> None:
    g = either_gateway
    over, waiting = await g.ask(session="s-1"), await g.ask(session="s-2")
    old = g.platform.press(g.card(over), "U_ALICE", "approve")
    if end == "cancel":
        assert (await g.call("POST", f"/v1/requests/{over['id']}/cancel", {})).status_code == 200
        await g.quiet()
    else:
        assert (await g.press(over, "U_ALICE", end))["result"] == "recorded"
    later = await g.ask(arguments={**PAY, "amount": 3}, session="s-3")
    before = _rows_of(g, over, waiting, later)
    for click in (old, replace(old, event_key="again")):
        assert ((await g.send(click)).body or {})["result"] == "already"
    assert _rows_of(g, over, waiting, later) == before


@requirement("S-10")
@pytest.mark.parametrize("reason", [None, "", " \t\n", "\u200b \u2060"])
async def test_a_denial_without_a_reason_is_asked_for_one_whatever_form_it_came_from(
    either_gateway: Gateway, reason: str | None
) -> None:
    g = either_gateway
    request = await g.ask()
    said = await g.press(request, "U_ALICE", "deny", reason=reason)
    assert said["result"] == "retry"
    standing = await g.read(request)
    assert (standing["state"], standing["decisions"]) == ("pending", [])
    assert (await g.press(request, "U_ALICE", "deny", reason="no"))["result"] == "recorded"


@requirement("S-20")
async def test_a_click_that_comes_again_undoes_nothing_that_was_done_since(either_gateway: Gateway) -> None:
    """A platform delivers twice, or late: a vote that was taken back does not come back, one that was cast stays."""
    g = either_gateway
    request = await g.ask("pay_two")
    approve = g.platform.press(g.card(request), "U_ALICE", "approve")
    assert ((await g.send(approve)).body or {})["result"] == "recorded"
    withdraw = g.platform.use(g.card(request), "U_ALICE", Action.WITHDRAW)
    assert ((await g.send(withdraw)).body or {})["result"] == "recorded"
    await g.send(approve)
    assert (await g.read(request))["decisions"] == []
    assert (await g.press(request, "U_ALICE"))["result"] == "recorded"
    await g.send(withdraw)
    assert [each["person"] for each in (await g.read(request))["decisions"]] == ["alice@acme.example"]


@requirement("S-12", "S-21")
async def test_a_button_carried_over_into_another_requests_card_settles_neither(either_gateway: Gateway) -> None:
    g = either_gateway
    mine, theirs = await g.ask(session="s-1"), await g.ask(session="s-2")
    before = _rows_of(g, mine, theirs)
    carried = g.platform.press(
        g.card(mine), "U_ALICE", "approve", message_id=g.card(theirs).ref.message_id, event_key="carried"
    )
    assert ((await g.send(carried)).body or {})["result"] == "refused"
    assert _rows_of(g, mine, theirs) == before


@requirement("S-12")
async def test_a_digest_decides_only_the_request_that_it_names(either_gateway: Gateway) -> None:
    g = either_gateway
    mine, theirs = await g.ask("by_api", session="s-1"), await g.ask("by_api", session="s-2")
    before = _rows_of(g, mine, theirs)
    said = await g.decide({"id": mine["id"], "digest": theirs["digest"]})
    assert (said.status_code, said.json()["code"]) == (409, "digest_mismatch")
    assert _rows_of(g, mine, theirs) == before


@requirement("S-12")
async def test_a_written_approve_names_no_request_and_settles_none(gateway: Gateway) -> None:
    """People type it below the card, and a platform may send it on: no verdict, even where only one request waits."""
    g = gateway
    request = await g.ask()
    before = _rows_of(g, request)
    event = {"type": "message", "channel": "C1", "user": "U_ALICE", "text": "approve", "ts": "1.2"}
    heard = slack_callback._event({"type": "event_callback", "event": event})
    assert isinstance(heard, Ignored)
    said = {"header": {"event_type": "im.message.receive_v1", "app_id": "cli_a", "tenant_key": "t"}, "event": event}
    audience = feishu_callback.Audience(app_id="cli_a", tenant_key=None)
    assert isinstance(feishu_callback.parse_event({"schema": "2.0", **said}, audience=audience), Ignored)
    await g.container.clicks("acme", g.container.channels.get("acme", "chat"), heard)
    await g.quiet()
    assert _rows_of(g, request) == before


def _rows_of(g: Gateway, *requests: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return all that a verdict on these requests could change."""
    return [
        g.rows(f"SELECT * FROM {table} WHERE {column} = '{request['id']}'")
        for request in requests
        for table, column in (("requests", "id"), ("decisions", "request_id"), ("grants", "request_id"))
    ]


@requirement("S-21", "S-45", "S-47")
@pytest.mark.parametrize(
    "changed",
    [
        {"chat_id": "C2"},
        {"message_id": "m99"},  # a forwarded or copied card
        {"app_id": "A2"},
        {"tenant": "T2"},
        {"message_id": ""},
    ],
)
async def test_a_button_works_only_in_the_very_message_it_was_posted_in(
    gateway: Gateway, changed: dict[str, str]
) -> None:
    request = await gateway.ask()
    assert (await gateway.press(request, **changed))["result"] == "refused"
    assert (await gateway.read(request))["state"] == "pending"
    assert any(kind == "click.refused" for kind, _ in gateway.trail(request))


@requirement("S-21")
async def test_every_tampered_token_is_refused(gateway: Gateway) -> None:
    g = gateway
    request, other = await g.ask(), await g.ask(arguments={**PAY, "amount": 2})
    click = g.platform.press(g.card(request), "U_ALICE", "approve")
    version, key, handle, letter, mac = click.token.split(".")
    theirs = g.platform.press(g.card(other), "U_ALICE", "approve").token.split(".")
    forged = {
        "swapped verdict": f"{version}.{key}.{handle}.n.{mac}",
        "another card's handle": ".".join([version, key, theirs[2], letter, mac]),
        "another card's seal": ".".join([version, key, handle, letter, theirs[4]]),
        "upper case": click.token.upper(),
        "cut": click.token[:-1],
        "longer": click.token + "0",
        "unknown key": f"{version}.00000000.{handle}.{letter}.{mac}",
        "padded": click.token + "=",
        "empty": "",
        "space": click.token + " ",
        "another version": "a2" + click.token[2:],
        "huge": "a1." + "x" * 5000,
        "full-width": click.token.replace("a1", "ａ1"),
    }
    for index in range(len(click.token)):
        for bit in (0, 1, 5):
            forged[f"bit {bit} of {index}"] = (
                click.token[:index] + chr(ord(click.token[index]) ^ (1 << bit)) + click.token[index + 1 :]
            )
    platform_answers = {known: Counter[str]() for known in (True, False)}
    for name, token in forged.items():
        said = (
            await g.container.clicks(
                "acme", g.container.channels.get("acme", "chat"), replace(click, token=token, event_key=name)
            )
        ).body or {}
        assert said["result"] == "refused", name
        platform_answers[_names_our_key(token, key)][str(said["sentence"])] += 1
    # Whatever is wrong, the answer is the same; only that another gateway's secret is not ours, is said.
    assert [*platform_answers[False]] == [say(Language.EN, "click.other_secret")]
    assert [*platform_answers[True]] == [say(Language.EN, "click.stale")]
    assert {(await g.read(r))["state"] for r in (request, other)} == {"pending"}
    assert len(click.token) <= 200
    assert "Acme" not in click.token
    assert (await g.send(click)).body["result"] == "recorded"  # pyright: ignore[reportOptionalSubscript]


def _names_our_key(token: str, key: str) -> bool:
    """Say whether a token is no other gateway's: it names our key, or is none at all."""
    try:
        return parse_token(token).key_id == key
    except BadTokenError:
        return True


@requirement("S-21")
async def test_a_retired_key_refuses_the_old_buttons_and_a_rotation_keeps_them(
    sqlite_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock, new = ManualClock(), "another-master-secret-of-the-tests-0123456789"
    async with open_gateway(sqlite_url, config, platform, clock=clock) as g:
        first, second = await g.ask(), await g.ask(arguments={**PAY, "amount": 2})
        clicks = [platform.press(g.card(r), "U_ALICE", "approve") for r in (first, second)]
    async with open_gateway(sqlite_url, config, platform, clock=clock, secret=f"{new},{SECRET}") as g:
        assert (await g.send(clicks[0])).body["result"] == "recorded"  # pyright: ignore[reportOptionalSubscript]
    async with open_gateway(sqlite_url, config, platform, clock=clock, secret=new) as g:
        assert (await g.send(clicks[1])).body["result"] == "refused"  # pyright: ignore[reportOptionalSubscript]


@requirement("S-21")
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.differing_executors])
@given(
    field=st.sampled_from(["org", "request_id", "digest", "revision", "channel", "chat_id"]),
    left=st.text(min_size=1, max_size=6),
    right=st.text(min_size=1, max_size=6),
)
def test_a_seal_covers_every_part_of_its_place(field: str, left: str, right: str) -> None:
    seals = Seals([SECRET])
    place = Place(org=left, request_id=right, digest="d", revision=1, channel=left, chat_id=right)
    sealed = parse_token(seals.token(Action.APPROVE, "h1", place))
    seals.verify(sealed, place)
    other = replace(place, **{field: 2 if field == "revision" else f"{getattr(place, field)}x"})
    with pytest.raises(BadTokenError):
        seals.verify(sealed, other)
    # Moving a letter over a boundary makes another place, not the same text.
    moved = replace(place, org=left + right[:1], request_id=right[1:])
    with pytest.raises(BadTokenError):
        seals.verify(sealed, moved)


@requirement("S-22")
async def test_a_click_after_the_end_is_told_who_and_when_and_is_no_vote(gateway: Gateway) -> None:
    g = gateway
    request = await g.ask()
    late = g.platform.press(g.card(request), "U_BOB", "deny")
    await g.press(request, "U_ALICE")
    trail = g.trail(request)
    said = (await g.send(late)).body or {}
    assert said["result"] == "already"
    assert "Alice" in str(said["sentence"])
    assert (await g.read(request))["decisions"] == [
        {
            "person": "alice@acme.example",
            "on_behalf_of": None,
            "alone": False,
            "verdict": "approve",
            "reason": None,
            "channel": "chat",
            "assurance": "L1",
            "at": "2026-03-01T10:00:00+00:00",
        }
    ]
    assert g.trail(request) == trail
    assert not g.platform.live()


# --- replay -----------------------------------------------------------------------------------------------------------


@requirement("S-20")
async def test_a_click_sent_a_hundred_times_has_one_effect_also_after_a_restart(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    clock = ManualClock() if database_url.startswith("sqlite") else None
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        request = await g.ask("pay_two")
        click = platform.press(g.card(request), "U_ALICE", "approve")
        channel = g.container.channels.get("acme", "chat")
        said = await asyncio.gather(*(g.container.clicks("acme", channel, click) for _ in range(50)))
        assert Counter(str((answer.body or {})["result"]) for answer in said) == {"recorded": 1, "already": 49}
        await g.quiet()
    async with open_gateway(database_url, config, platform, clock=clock) as g:
        if isinstance(clock, ManualClock):
            clock.advance(CLICK_RETENTION + MINUTE)
            await g.container.sweep.forget()
            await g.container.confirm_accounts()
        for n in range(50):
            await g.send(replace(click, event_key=click.event_key if n % 2 else f"fresh-{n}"))
        assert len(g.rows("SELECT * FROM decisions")) == 1
        assert [kind for kind, _ in g.trail(request) if kind == "request.voted"] == ["request.voted"]
        assert (await g.read(request))["state"] == "pending"


@requirement("S-20")
def test_a_click_is_remembered_longer_than_its_signature_is_accepted() -> None:
    windows = [
        timedelta(seconds=value) if isinstance(value, int | float) else value
        for module in (slack_callback, feishu_callback)
        for name, value in vars(module).items()
        if "WINDOW" in name
    ]
    assert windows
    assert all(2 * window < CLICK_RETENTION for window in windows)


# --- quorum -----------------------------------------------------------------------------------------------------------


@requirement("S-23")
async def test_one_person_on_two_channels_is_one_vote(either_gateway: Gateway) -> None:
    g = either_gateway
    request = await g.ask("pay_two")
    await g.press(request, "U_ALICE")
    assert (await g.press(request, "U_ALICE", chat="C2"))["result"] == "already"
    assert (await g.decide(request, who="alice@acme.example")).json()["state"] == "pending"
    assert len(g.rows("SELECT * FROM decisions")) == 1


@requirement("S-23")
async def test_fifty_votes_at_once_cross_the_threshold_exactly_once(
    database_url: str, config: Path, platform: MemoryPlatform
) -> None:
    people = [f"p{n}@acme.example" for n in range(50)]
    path = config / "acme.yaml"
    text = path.read_text().replace("people:\n", "people:\n" + "".join(f"  {p}: {{}}\n" for p in people))
    path.write_text(text.replace("finance: [", f"finance: [{', '.join(people)}, "))
    async with open_gateway(database_url, config, platform) as g:
        request = await g.ask("pay_two")
        for person in people:
            await g.key(person)
        said = await asyncio.gather(*(g.decide(request, who=person) for person in people))
        assert Counter(answer.status_code for answer in said) == {200: 2, 409: 48}
        kinds = Counter(kind for kind, _ in g.trail(request))
        assert (kinds["request.voted"], kinds["request.approved"]) == (1, 1)
        assert len(g.rows("SELECT * FROM grants")) == 1
        assert len(g.rows("SELECT * FROM decisions")) == 2


@requirement("S-24")
async def test_a_denial_that_races_two_approvals_ends_it_or_comes_too_late(either_gateway: Gateway) -> None:
    g = either_gateway
    ends = Counter[str]()
    for n in range(12):
        request = await g.ask("pay_two", {"n": n})
        votes: list[Any] = [
            g.decide(request, who="alice@acme.example"),
            g.decide(request, who="bob@acme.example"),
            g.decide(request, "deny", who="carol@acme.example"),
        ]
        votes = votes[n % 3 :] + votes[: n % 3]
        await asyncio.gather(*votes)
        state = (await g.read(request))["state"]
        order = [kind for kind, _ in g.trail(request) if kind.startswith("request.") and kind != "request.created"]
        assert order[-1] == f"request.{state}"
        assert order.count("request.approved") + order.count("request.denied") == 1
        assert len(g.rows(f"SELECT * FROM grants WHERE request_id = '{request['id']}'")) == (state == "approved")
        ends[state] += 1
    assert set(ends) <= {"approved", "denied"}
    assert ends["denied"]
