"""One language a reader, on what is really sent: pages as they are drawn, cards and notes as platforms get them."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest

from app.domain.request.host_event import MOST_KEPT
from app.domain.text.language import Language
from channels.feishu import card as feishu
from channels.slack import card as slack
from examples.gallery_assurance import assurance
from examples.gallery_catalogue import Pane, card_of, states
from examples.gallery_consulting import consulting
from examples.gallery_payments import payments
from tests.console.signed_in import Home, field_of
from tests.fixtures.review_visits import URL, ReadPage
from tests.fixtures.second_factors import ALICE, BOB, LEVELS, OLGA, STEPS_UP, enrolled
from tests.requirements import requirement
from tests.usecases.cards.test_one_language import english_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from examples.gallery_catalogue import Exhibit
    from tests.fixtures.gateway import Gateway

_HAN = re.compile(r"[\u3400-\u9fff]")
_WIRE = {"type", "tag", "action_id", "block_id", "element_id", "value", "token", "url", "style", "name"}
ORDER = {"payee": "Hengtong", "amount": "80000.50", "currency": "CNY", "ref": "INV-1"}


@pytest.fixture
def config(config: Path) -> Path:
    text = STEPS_UP.replace("org: acme\n", f"org: acme\nurl: {URL}\nroles: {{admin: [{OLGA}]}}\n")
    (config / "acme.yaml").write_text(text)
    return config


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts of a platform's JSON that people may read: not what the platform is told by."""
    if isinstance(value, dict):
        for name, each in cast("dict[str, object]", value).items():
            if name not in {
                "type",
                "tag",
                "action_id",
                "block_id",
                "element_id",
                "value",
                "token",
                "url",
                "style",
                "name",
            }:
                yield from texts_in(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value


@requirement("F-71")
@pytest.mark.parametrize("sheet", [states, payments, consulting, assurance], ids=lambda each: each.__name__)
@pytest.mark.parametrize("render", [slack.render, feishu.render_card], ids=["slack", "feishu"])
def test_no_card_has_a_sentence_of_the_other_language_as_the_platform_gets_it(
    sheet: object, render: Callable[..., object]
) -> None:
    draw = cast("Callable[[Language], list[Exhibit]]", sheet)
    for language in Language:
        pane = Pane(name="chat", language=language, text_budget=9_000, opens_forms=True)
        for exhibit in draw(language):
            told = list(texts_in(json.loads(json.dumps(render(card_of(exhibit, pane)), default=str))))
            assert told
            if language is Language.ZH:
                assert [found for text in told for found in english_in(text)] == [], exhibit.name


@requirement("F-71")
async def test_no_page_has_a_sentence_of_the_other_language(gateway: Gateway) -> None:
    await enrolled(gateway, ALICE)
    pending = [await gateway.ask(f"pay_{level}", {**ORDER, "ref": level}) for level in LEVELS]
    event = json.dumps({"line": "x" * (MOST_KEPT + 9)})
    kept = await gateway.ask("by_api", {"n": 1}, host_event=event)
    ran, lost, denied = [await gateway.ask("pay_L1", {**ORDER, "ref": ref}) for ref in ("ran", "lost", "denied")]
    await gateway.decide(denied, "deny", reason="不需要")
    for request, status in ((ran, "succeeded"), (lost, "unknown")):
        await gateway.decide(request, who=BOB)
        await gateway.claim(request, claim_id=request["id"])
        await gateway.report(request, status, claim_id=request["id"])
    await gateway.advance(timedelta(minutes=1))
    alice, olga = await Home.of(gateway, ALICE, origin=URL), await Home.of(gateway, OLGA, origin=URL)
    paths = [f"/r/{each['id']}" for each in (*pending, kept, ran, lost, denied)]
    mine = [(alice, path) for path in ("/", "/?list=done", "/me", "/console/trail", *paths)]
    theirs = [f"/console/requests/{each['id']}" for each in (kept, ran, lost, denied)]
    theirs += [
        "/console/trail",
        "/console/trail?least=many",
        "/console/pulse",
        "/console/rules",
        "/console/rules/proposed",
    ]
    pages = {
        path: await who.get(path, accept_language="zh") for who, path in (*mine, *((olga, each) for each in theirs))
    }
    pages["/sign-in"] = await Home(gateway=gateway).get("/sign-in", accept_language="zh")
    press = field_of(pages[paths[0]].text, "press")
    await gateway.decide(pending[0], "deny", who=BOB, reason="不需要")
    gateway.http.headers["accept-language"] = "zh"
    pages["faster"] = await alice.post(paths[0], origin=URL, verdict="approve", press=press)
    del gateway.http.headers["accept-language"]
    for path, answer in pages.items():
        said = [text for text in ReadPage(answer.text).texts if text.strip()]
        assert any(map(_HAN.search, said)), path
        assert [text for text in said if english_in(text)] == [], path
    assert "已截断：保留" in pages[f"/r/{kept['id']}"].text
    english = await alice.get(f"/r/{kept['id']}", accept_language="en")
    assert "characters are kept)" in english.text
    assert not _HAN.search(english.text.replace("中文", ""))
