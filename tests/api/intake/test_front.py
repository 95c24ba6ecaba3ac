"""The front answers our own routes without the framework, and nobody can tell the difference."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from structlog.testing import capture_logs

from app.api.intake.front import Direct
from app.api.wire.routes import PlainRoute

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
