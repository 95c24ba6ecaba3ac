"""Generated requests, from the API's own OpenAPI document: no crash, and what is documented comes back."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from pydantic import SecretStr
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.container import Container
from app.domain.identity.api_key import Scope
from app.main import create_app
from app.settings import Settings
from tests.fixtures.gateway import SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schemathesis.core.result import Ok

    from tests.fixtures.memory_platform import MemoryPlatform

_NO_HEALTH_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
_OTHERS_DRAW = pytest.mark.filterwarnings(  # the gateway, on its thread, while a strategy draws
    "ignore:Do not use the `random` module inside strategies:hypothesis.errors.HypothesisDeprecationWarning"
)
_CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@contextmanager
def _running(url: str, config: Path) -> Iterator[tuple[str, dict[str, str], dict[str, Any]]]:
    """Run a gateway in a thread, on its own loop, and give its address, a key of each scope, and its document."""
    span = timedelta(hours=1)
    settings = Settings(database_url=url, secret=(SecretStr(SECRET),), tick=span, poll=span, calls_per_second=1e9)
    container = Container(settings, config, {})
    app = create_app(container)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", log_config=None, lifespan="on"))
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="gateway")
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]

        async def keys() -> dict[str, str]:
            who: dict[Scope, str | None] = {
                Scope.AGENT: "shop",
                Scope.APPROVER: "alice@acme.example",
                Scope.AUDITOR: None,
                Scope.ADMIN: None,
            }
            made = dict[str, str]()
            for scope, name in who.items():
                new = await container.keys.create(org="acme", scope=scope, label="fuzz", agent=name, person=name)
                made[scope.value] = new.text
            return made

        made = asyncio.run_coroutine_threadsafe(keys(), loops[0]).result(10)
        yield f"http://127.0.0.1:{port}", made, app.openapi()
    finally:
        server.should_exit = True
        thread.join(20)


def _scope_for(path: str, method: str) -> str:
    match path.rsplit("/", 1)[-1], method:
        case "decisions", _:
            return "approver"
        case _ if path.startswith(("/v1/standing-approvals", "/v1/break-glass")):
            return "approver"
        case _ if path.startswith(("/v1/keys", "/v1/switches")):
            return "admin"
        case (("audit" | "{version}" | "events"), _):
            return "auditor"
        case _:
            return "agent"


def _send_all(operation: Any, examples: int, *, address: str, headers: dict[str, str]) -> int:
    sent = 0
    open_ended = operation.path in {"/healthz", "/readyz", "/metrics"} or operation.path.endswith("/callback")

    @bounds(max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=_NO_HEALTH_CHECKS)
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        nonlocal sent
        if any("/" in str(value) for value in (case.path_parameters or {}).values()):
            return
        if isinstance(case.query, dict):
            case.query.pop("wait", None)
        answer = case.call(base_url=address, headers=headers, timeout=10)
        sent += 1
        case.validate_response(answer, checks=(not_a_server_error,) if open_ended else _CHECKS)

    send()
    return sent


def _fuzz(url: str, config: Path, examples: int) -> int:
    sent = 0
    with _running(url, config) as (address, keys, document):
        schema = schemathesis.openapi.from_dict(document)
        for found in schema.get_all_operations():
            operation = cast("Ok[Any]", found).ok()
            if operation.path == "/v1/events":
                continue  # a stream has no end
            headers = {"authorization": f"Bearer {keys[_scope_for(operation.path, operation.method)]}"}

            sent += _send_all(operation, examples, address=address, headers=headers)
    return sent


@pytest.mark.heavy
@_OTHERS_DRAW
def test_generated_requests_find_no_crash(sqlite_url: str, config: Path, platform: MemoryPlatform) -> None:
    quick = bounds().max_examples < 100
    assert _fuzz(sqlite_url, config, 2 if quick else 5) > (60 if quick else 100)


@_OTHERS_DRAW
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_generated_requests_find_no_crash(
    database_url: str, config: Path, platform: MemoryPlatform, bounded: bool
) -> None:
    assert _fuzz(database_url, config, 60 if bounded else 600) > 500
