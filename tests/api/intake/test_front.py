"""The front answers our own routes without the framework, and nobody can tell the difference."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import httpx2
from structlog.testing import capture_logs

from app.api.intake.front import Application, Direct
from app.api.wire.routes import PlainRoute, Request, Response, Router
from app.identifiers import RandomIds
from app.telemetry.figures import Telemetry

if TYPE_CHECKING:
    import pytest

    from tests.fixtures.gateway import Gateway

CALLS = [
    ("GET", "/v1/requests", None),
    ("GET", "/v1/requests/", None),
    ("GET", "/v1/requests//", None),
    ("GET", "/v1/requests/req_nobody", None),
    ("GET", "/v1/requests/a%2Fb", None),
    ("GET", "/v1/requests/a%00b", None),
    ("GET", "/v1/requests/{request_id}", None),
    ("GET", "//v1/requests", None),
    ("GET", "/V1/requests", None),
    ("HEAD", "/v1/requests", None),
    ("OPTIONS", "/v1/requests", None),
    ("PATCH", "/v1/requests/req_nobody", None),
    ("DELETE", "/v1/requests/req_nobody/claim", None),
    ("POST", "/v1/requests", {"tool": "search", "arguments": {}}),
    ("POST", "/v1/requests", {"tool": "search", "arguments": {}, "more": 1}),
    ("POST", "/v1/requests", {"tool": "drop", "arguments": {}}),
    ("POST", "/v1/requests", []),
    ("POST", "/v1/requests/", {"tool": "search", "arguments": {}}),
    ("POST", "/v1/requests/req_nobody/claim", {"digest": "0" * 64, "claim_id": "c"}),
    ("POST", "/v1/hooks/PreToolUse", {"tool_name": "search", "tool_input": {}}),
    ("POST", "/v1/hooks/Nothing", {}),
    ("GET", "/v1/nothing", None),
    ("GET", "/healthz", None),
    ("GET", "/v1/switches", None),
]
NAMES_ONE_CALL = {"x-request-id", "date"}


async def test_a_call_is_answered_as_by_the_framework(gateway: Gateway) -> None:
    front = gateway.app._front
    ours = front._direct
    of_nothing = Direct(gateway.app, [])
    found = 0
    for (method, path, body), who in product(CALLS, ("agent:shop", "admin")):
        answers: list[tuple[int, bytes, dict[str, str]]] = []
        for direct in (ours, of_nothing):
            with patch.object(front, "_direct", direct):
                answer = await gateway.call(method, path, body, who=who)
            assert "x-request-id" in answer.headers
            headers = {name: value for name, value in answer.headers.items() if name not in NAMES_ONE_CALL}
            answers.append((answer.status_code, answer.content, headers))
        assert answers[0] == answers[1], (method, path, who)
        found += answers[0][0] != 404
    assert found > len(CALLS)


async def test_a_crash_in_a_route_is_told_like_any_other(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("what only the log may know")

    monkeypatch.setattr(gateway.container.services.read, "page", crash)
    with capture_logs() as logs:
        answer = await gateway.call("GET", "/v1/requests")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "what only" not in answer.text
    (told,) = [str(line["exc_info"]) for line in logs if line["event"] == "request.crashed"]
    assert told == "what only the log may know"
    counted = gateway.container.telemetry.registry.get_sample_value(
        "assent_http_seconds_count", {"route": "/v1/requests", "status": "500"}
    )
    assert counted == 1  # an answer that nobody expected is counted all the same


async def test_every_route_of_ours_is_found_without_the_framework(gateway: Gateway) -> None:
    direct = gateway.app._front._direct
    plain = [route for route in gateway.app.routes if isinstance(route, PlainRoute)]
    assert len(plain) > 30
    for route in plain:
        path = route.path_format.replace("{", "a-").replace("}", "")
        for method in route.methods or ():
            scope: dict[str, Any] = {"method": method, "path": path}
            assert direct.find(scope) is route, (method, path)
            assert set(scope["path_params"]) == set(route.param_convertors)


class _Told:
    ids = RandomIds()
    telemetry = Telemetry()
    spans = None


def _routes(*paths: str) -> list[PlainRoute]:
    router = Router()

    async def here(request: Request) -> Response:
        return Response(request.url.path)

    for path in paths:
        router.get(path)(here)
    return router.routes


async def test_routes_that_nothing_waits_for_are_built_once_by_the_first_who_asks_for_one() -> None:
    built = 0

    def rest() -> list[PlainRoute]:
        nonlocal built
        built += 1
        return _routes("/page", "/ready")

    app = Application()
    app.router.routes.extend(_routes("/ready"))
    app.stand_behind_front(_Told(), rest=rest)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://front") as http:
        assert (await http.get("/ready")).text == "/ready"
        assert built == 0  # what is there is answered without them
        answers = await asyncio.gather(*(http.get(path) for path in ("/page", "/page", "/nothing", "/page")))
        assert [answer.status_code for answer in answers] == [200, 200, 404, 200]
        assert (await http.get("/nothing")).status_code == 404
        app.complete()
    assert built == 1
    assert [route.path for route in app.routes if isinstance(route, PlainRoute)] == ["/ready", "/page", "/ready"]


async def test_routes_that_could_not_be_built_are_tried_again() -> None:
    tries = 0

    def rest() -> list[PlainRoute]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ImportError("not now")
        return _routes("/page")

    app = Application()
    app.stand_behind_front(_Told(), rest=rest)
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://front") as http:
        assert (await http.get("/page")).status_code == 500
        assert (await http.get("/page")).text == "/page"
