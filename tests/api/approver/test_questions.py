"""What an approver asks back, answered by the agent's own code while its guarded call waits."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from assent import AsyncGateway, ClaimRefusedError, NotApprovedError, Pending, Question, ToolCall, guarded
from assent.client.models import parse_request
from assent.client.questions import Answerer
from tests.fixtures.patience import HANGS
from tests.fixtures.web_app import Dated
from tests.places import ROOT
from tests.sdk.pace import quick_pace

if TYPE_CHECKING:
    from assent import Request
    from assent.client.questions import OnQuestion
    from tests.fixtures.gateway import Gateway

PAGE = ROOT / "docs" / "approvers.md"
ALICE = "alice@acme.example"


async def client(gateway: Gateway, on_question: OnQuestion | None = None) -> AsyncGateway:
    key = (await gateway.key("agent:shop"))["authorization"].removeprefix("Bearer ")
    return AsyncGateway(
        "http://gateway.test", key, session="s-1", transport=Dated(gateway), pace=quick_pace(), on_question=on_question
    )


async def waiting(gateway: Gateway) -> dict[str, Any]:
    """Return the one request that waits, once it does."""
    async with asyncio.timeout(HANGS):
        while True:
            page = (await gateway.call("GET", "/v1/requests?status=pending")).json()["items"]
            if page and len(gateway.container.waiters):
                return page[0]
            await asyncio.sleep(0.002)


async def ask(gateway: Gateway, request: dict[str, Any], text: str) -> None:
    body = {"text": text, "digest": request["digest"]}
    said = await gateway.call("POST", f"/v1/requests/{request['id']}/questions", body, who=ALICE)
    assert said.status_code == 200, said.text


async def answered(gateway: Gateway, request: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """Return the questions, once so many have an answer."""
    async with asyncio.timeout(HANGS):
        while True:
            found = (await gateway.read(request))["questions"]
            if sum(each["answer"] is not None for each in found) >= count:
                return found
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("colour", ["asynchronous", "synchronous"])
async def test_a_guarded_call_answers_each_question_once_and_then_runs(gateway: Gateway, colour: str) -> None:
    heard: list[tuple[str, str]] = []

    async def later(question: Question, request: Request) -> str:
        heard.append((question.text, request.tool))
        return f"about {question.text}"

    def at_once(question: Question, request: Request) -> str:
        heard.append((question.text, request.tool))
        return f"about {question.text}"

    async with await client(gateway, later if colour == "asynchronous" else at_once) as assent:

        @guarded(assent, tool="by_api")
        async def act(n: int) -> int:
            return n + 1

        running = asyncio.ensure_future(act(1))
        request = await waiting(gateway)
        await ask(gateway, request, "First?")
        await answered(gateway, request)
        await ask(gateway, request, "Second?")
        questions = await answered(gateway, request, 2)
        assert [(each["answer"], each["answered_by"]) for each in questions] == [
            ("about First?", "agent:shop"),
            ("about Second?", "agent:shop"),
        ]
        await gateway.decide(request)
        assert await asyncio.wait_for(running, HANGS) == 2
    assert heard == [("First?", "by_api"), ("Second?", "by_api")]


@pytest.mark.parametrize("said", [None, "", "  ", "raises"])
async def test_a_callback_without_an_answer_answers_nothing_and_the_call_waits_on(
    gateway: Gateway, said: str | None
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def callback(question: Question, request: Request) -> str | None:
        del request
        heard.put_nowait(question.text)
        if said == "raises":
            raise RuntimeError("a defect of the agent's own")
        return said

    async with await client(gateway, callback) as assent:

        @guarded(assent, tool="by_api")
        async def act(n: int) -> int:
            return n

        running = asyncio.ensure_future(act(1))
        request = await waiting(gateway)
        for text in ("Why?", "And?"):
            await ask(gateway, request, text)
            assert await asyncio.wait_for(heard.get(), HANGS) == text
        assert heard.empty()  # each is asked about once
        await gateway.decide(request, "deny")
        with pytest.raises(NotApprovedError):
            await asyncio.wait_for(running, HANGS)
    assert (await gateway.read(request))["questions"][0]["answer"] is None


async def test_without_a_callback_nothing_happens_and_an_answer_can_be_sent_by_hand(gateway: Gateway) -> None:
    async with await client(gateway) as assent:
        verdict = await assent.check(ToolCall("by_api", {"n": 1}))
        assert isinstance(verdict, Pending)
        await ask(gateway, verdict.request.raw, "Why?")
        seen = await assent.get(verdict.request.id)
        (question,) = seen.questions
        assert (question.text, question.answer) == ("Why?", None)
        told = await assent.answer(seen, question, "because")
        assert told.questions[0].answer == "because"
        assert (await assent.answer(seen, question, "because")).version == told.version
        with pytest.raises(ClaimRefusedError) as refused:
            await assent.answer(seen, question, "otherwise")
        assert refused.value.code == "already_answered"


async def test_a_long_answer_is_cut_and_says_so(gateway: Gateway) -> None:
    async def long(question: Question, request: Request) -> str:
        del question, request
        return "x" * 600

    async with await client(gateway, long) as assent:
        verdict = await assent.check(ToolCall("by_api", {"n": 1}))
        assert isinstance(verdict, Pending)
        await ask(gateway, verdict.request.raw, "Why?")
        waits = asyncio.create_task(assent.wait(await assent.get(verdict.request.id)))
        answer = (await answered(gateway, verdict.request.raw))[0]["answer"]
        assert (len(answer), answer.endswith("… [cut]")) == (500, True)
        await gateway.decide(verdict.request.raw, "deny")
        assert (await asyncio.wait_for(waits, HANGS)).state == "denied"


async def test_a_callback_that_never_returns_holds_nobody_beyond_the_wait(gateway: Gateway) -> None:
    async def never(question: Question, request: Request) -> str:
        del question, request
        await anyio.sleep_forever()
        raise AssertionError

    async def send(request: Request, question: Question, text: str) -> Request:
        raise AssertionError((request, question, text))

    request = await gateway.ask("by_api", {"n": 1})
    await ask(gateway, request, "Why?")
    known = parse_request(await gateway.read(request))
    assert await Answerer(never).answer(known, send, within=0.01) is known


async def test_the_page_shows_an_answer_that_works(gateway: Gateway) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    key = (await gateway.key("agent:shop"))["authorization"].removeprefix("Bearer ")
    names: dict[str, Any] = {
        "Question": Question, "Request": object, "AsyncGateway": AsyncGateway, "url": "http://gateway.test", "key": key
    }  # fmt: skip
    exec(compile(shown, str(PAGE), "exec"), names)
    async with await client(gateway, names["answer"]) as assent:
        running = asyncio.ensure_future(guarded(assent, tool="by_api")(act)(1))
        request = await waiting(gateway)
        await ask(gateway, request, "Which invoice?")
        assert (await answered(gateway, request))[0]["answer"] == "Invoice 4711, for by_api"
        await gateway.decide(request)
        assert await asyncio.wait_for(running, HANGS) == 1


async def act(n: int) -> int:
    return n
