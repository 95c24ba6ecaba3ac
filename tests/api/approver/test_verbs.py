"""The table of verbs: what each of its rows promises is there, and nothing is there that no row promises."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from click import Context
from typer.main import get_command

from app.api.approver.consulting import body_for, scopes_of
from app.cli.commands import app as commands
from app.domain.identity.api_key import Scope
from app.domain.request.action import VERB_OF, VERBS, Action, Blank, Verb
from app.domain.text.language import Language
from app.domain.words.say import CATALOGUE, say
from app.usecases.clicks.consult_clicks import ACTIONS
from tests.fixtures.consulting import forged
from tests.places import ROOT

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

DOCS = ROOT / "docs"
VOTES = {Action.APPROVE, Action.DENY, Action.WITHDRAW}
GIVEN = {Blank.PERSON: "bob@acme.example", Blank.TEXT: "Which invoice?", Blank.NOTE: "please"}


def _names(verbs: list[Verb]) -> list[str]:
    return [verb.action.value for verb in verbs]


def test_every_action_has_one_row_and_every_row_a_letter_of_its_own() -> None:
    assert sorted(_names(list(VERBS))) == sorted(Action)
    assert len({verb.letter for verb in VERBS}) == len(VERBS)
    assert all(len(verb.letter) == 1 for verb in VERBS)
    assert all(verb.who for verb in VERBS)


@pytest.mark.parametrize("language", Language)
def test_every_verb_has_its_words(language: Language) -> None:
    wanted = {f"control.{verb.action.value}" for verb in VERBS if verb.action not in {Action.APPROVE, Action.DENY}}
    wanted |= {f"click.{verb.done}" for verb in VERBS if verb.done}
    filled_in = [verb for verb in VERBS if verb.blanks]
    wanted |= {f"form.{verb.action.value}" for verb in filled_in if verb.action is not Action.ANSWER}  # its question
    wanted |= {f"form.{verb.action.value}.text" for verb in filled_in if Blank.TEXT in verb.blanks}
    assert wanted - CATALOGUE[language].keys() == set()


async def test_every_route_of_a_verb_is_there_and_every_command(gateway: Gateway) -> None:
    there = {
        str(route.path)
        for route in gateway.app.routes
        if str(route.path).startswith("/v1/") and "POST" in (getattr(route, "methods", None) or ())
    }
    assert {f"/v1/requests/{{request_id}}/{verb.route}" for verb in VERBS if verb.route} <= there
    group: Any = get_command(commands)  # typer carries a click of its own
    requests = group.get_command(Context(group), "requests")
    found = set(requests.list_commands(Context(requests)))
    said = {verb.command for verb in VERBS if verb.command}
    # What is read, and what is done about a request that is settled: no card has a control for it.
    assert found == said | {"list", "show", "evidence", "lift", "reconcile"}
    assert [verb.action for verb in VERBS if not verb.command] == [Action.MORE]


@pytest.mark.parametrize("action", sorted(set(Action) - VOTES))
@pytest.mark.sampled(3)
async def test_every_verb_that_a_click_can_carry_is_taken(gateway: Gateway, action: Action) -> None:
    request = await gateway.ask()
    said = (await gateway.send(await forged(gateway, request, action))).body or {}
    assert said["sentence"] != say(Language.EN, "click.stale")


def test_a_click_consults_for_the_rows_that_say_what_is_answered() -> None:
    assert set(ACTIONS) == {verb.action for verb in VERBS if verb.done} | {Action.MORE}


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.does], ids=lambda verb: verb.action.value)
async def test_a_verbs_route_does_what_its_row_says_and_the_trail_tells_it(gateway: Gateway, verb: Verb) -> None:
    request = await gateway.ask("by_api", {"n": 1})
    await gateway.advance(timedelta(minutes=6))
    body: dict[str, Any] = {name: GIVEN[Blank(name)] for name in body_for(verb).model_fields if name in set(Blank)}
    body |= {"to": GIVEN[Blank.PERSON]} if verb.action is Action.HAND_OVER else {}
    body |= {"digest": request["digest"]} if "digest" in body_for(verb).model_fields else {}
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/{verb.route}", body, who="alice@acme.example")
    assert said.status_code == 200, said.text
    assert gateway.trail(request)[-1] == (verb.kinds[0].value, "alice@acme.example")


def test_whose_keys_open_a_route_follows_from_who_may() -> None:
    assert scopes_of(VERB_OF[Action.ASK]) == (Scope.APPROVER,)
    assert scopes_of(VERB_OF[Action.ANSWER]) == (Scope.AGENT, Scope.EVALUATION, Scope.APPROVER)
    assert scopes_of(VERB_OF[Action.REMIND]) == (Scope.AGENT, Scope.EVALUATION, Scope.APPROVER, Scope.ADMIN)
    assert scopes_of(VERB_OF[Action.EXTEND]) == (Scope.APPROVER, Scope.ADMIN)
    assert scopes_of(VERB_OF[Action.REOPEN]) == (Scope.APPROVER,)


def test_the_page_on_approvers_has_a_row_for_every_verb_and_no_other() -> None:
    page = (DOCS / "approvers.md").read_text(encoding="utf-8")
    table = re.search(r"\| verb \| what it does \| bounds \|\n(?:\|.*\n)+", page)
    assert table is not None
    told = re.findall(r"\*\*(.+?)\*\* \((.+?)\)", table[0])
    asking = [verb for verb in VERBS if verb.always or verb.done or verb.action is Action.REOPEN]
    labels = {
        (say(Language.EN, f"control.{verb.action.value}"), say(Language.ZH, f"control.{verb.action.value}"))
        for verb in asking
        if verb.action is not Action.EDIT  # it has a section of its own
    }
    assert set(told) == labels
    assert [verb.command for verb in asking if not re.search(rf"(requests |`){verb.command}\b", page)] == []
