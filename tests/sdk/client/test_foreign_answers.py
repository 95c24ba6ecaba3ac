"""What is no answer of Assent's is named as such: not as a refused key, a spent approval or a gateway that is away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest

from assent import (
    AsyncGateway,
    CallRefusedError,
    ClaimRefusedError,
    Gate,
    GatewayAwayError,
    OutcomeStatus,
    RefusalCode,
    Refused,
    ToolCall,
)
from tests.sdk.gateway_stub import KEY
from tests.sdk.pace import ManualSeconds, manual_pace

if TYPE_CHECKING:
    from collections.abc import Callable

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = "<html>Log in</html>"


def at(answer: Callable[[httpx2.Request], httpx2.Response]) -> AsyncGateway:
    transport = httpx2.MockTransport(answer)
    return AsyncGateway("http://gateway/a", KEY, transport=transport, pace=manual_pace(ManualSeconds(), patience=2))


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 409, 413, 422])
async def test_a_page_in_the_place_of_an_answer_is_said_to_be_one(status: int) -> None:
    async with at(lambda _: httpx2.Response(status, headers=HTML, text=PAGE)) as client:
        with pytest.raises(CallRefusedError) as refused:
            await client.check(ToolCall("pay", {}))
        told = await Gate(client).run("pay", {}, print)
    assert refused.value.code == "foreign_answer"
    said = f"what answers at http://gateway/a is no gateway of Assent: status {status}, text/html"
    assert str(refused.value).startswith(said)
    assert status == 302 or str(refused.value).endswith(". Does a proxy, or another program, answer there?")
    assert isinstance(told, Refused)
    assert told.code is RefusalCode.CALL_REFUSED
    assert said in told.message


@pytest.mark.parametrize("body", [{}, {"error": "denied"}, {"code": 7}])
async def test_the_json_of_another_program_refuses_no_key(body: dict[str, object]) -> None:
    async with at(lambda _: httpx2.Response(401, json=body)) as client:
        with pytest.raises(
            CallRefusedError, match=r"no gateway of Assent: status 401, application/json\. Does a proxy"
        ):
            await client.check(ToolCall("pay", {}))


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("https://sso.acme.example/login?token=t0", "https://sso.acme.example/login"),
        ("/v2/requests", "/v2/requests"),
        ("", "nowhere"),
    ],
)
async def test_a_redirect_is_said_with_where_it_points_and_not_followed(location: str, told: str) -> None:
    seen: list[httpx2.Request] = []

    def redirect(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(308, headers={"Location": location} if location else {})

    async with at(redirect) as client:
        with pytest.raises(CallRefusedError) as refused:
            await client.check(ToolCall("pay", {}))
    assert str(refused.value) == (
        "what answers at http://gateway/a is no gateway of Assent: status 308, no type; it points to "
        f"{told}, which is not followed: is the URL right?"
    )
    assert len(seen) == 1


async def test_a_gateway_that_was_away_before_a_page_came_is_not_said_to_be_none() -> None:
    """The call may have reached it, for all that is known here."""
    answers = iter([httpx2.Response(503), *(httpx2.Response(200, headers=HTML, text=PAGE) for _ in range(99))])
    async with at(lambda _: next(answers)) as client:
        with pytest.raises(GatewayAwayError, match="text/html"):
            await client.check(ToolCall("pay", {}))


async def test_a_refusal_of_assents_own_is_told_in_its_words() -> None:
    problem = {"code": "not_claimed", "detail": "no execution of this claim"}
    async with at(lambda _: httpx2.Response(409, json=problem)) as client:
        with pytest.raises(ClaimRefusedError) as refused:
            await client.report("req_1", "clm_1", OutcomeStatus.SUCCEEDED)
    assert str(refused.value) == (
        "What stands at the gateway does not allow this: see `code`. (409 not_claimed: no execution of this claim)"
    )


async def test_what_could_not_be_reported_is_not_said_to_be_not_approved() -> None:
    async with at(lambda _: httpx2.Response(502)) as client:
        with pytest.raises(GatewayAwayError, match=r"is away \(status 502, \d+ attempts\)$"):
            await client.report("req_1", "clm_1", OutcomeStatus.SUCCEEDED)
        with pytest.raises(GatewayAwayError, match=r"is away \(status 502, \d+ attempts\): not approved$"):
            await client.take(ToolCall("pay", {}))
