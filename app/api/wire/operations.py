"""How a route that reads its own body or query is described to OpenAPI.

A route names its models; they are built when somebody asks for the description, and not at each start.
"""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args

from app.api.wire import schemas
from app.api.wire.request_view import RequestView, StandingView
from app.domain.call.file_type import MediaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi.telemetry import TelemetryConfig

    from app.api.wire.routes import PlainRoute

_REFS = "#/components/schemas/{model}"
_Mode = Literal["validation", "serialization"]

_UNTOLD: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}

PREFER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "`return=minimal` (RFC 7240): answer with how the request stands, not with all of it",
}
_named: dict[str, tuple[Any, _Mode]] = {schemas.ProblemView.__name__: (schemas.ProblemView, "serialization")}


def takes(body: type[Any] | tuple[type[Any], ...], back: Any, *more: int) -> dict[str, Any]:
    """Describe a route that reads its own body (strictly): one model, or one of several."""
    return {**reads(*(body if isinstance(body, tuple) else (body,))), "responses": answers(back, *more)}


def changes(body: type[Any]) -> dict[str, Any]:
    """Describe a route that changes a request, and answers with all of it or, if that is preferred, how it stands."""
    described = takes(body, RequestView | StandingView)
    described["openapi_extra"]["parameters"] = [PREFER]
    return described


def reads(*bodies: type[Any]) -> dict[str, Any]:
    """Describe what a route reads, and leave what it answers to others."""
    content = {"application/json": {"schema": _schema(bodies, "validation")}}
    return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}


def asks(parameters: list[dict[str, Any]], back: Any, *more: int) -> dict[str, Any]:
    """Describe a route that reads its own query."""
    return {"openapi_extra": {"parameters": parameters}, "responses": answers(back, *more)}


def gives_file() -> dict[str, Any]:
    """Describe a route that answers with one file."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {"responses": {200: {"content": {each.value: binary for each in MediaType}}, **schemas.PROBLEMS}}


def answers(back: Any, *more: int) -> dict[int | str, dict[str, Any]]:
    """Describe what a route answers: its model with 200 (and `more`), problems with the rest."""
    backs = get_args(back) if isinstance(back, UnionType) else (back,)
    good = {"content": {"application/json": {"schema": _schema(backs, "serialization")}}}
    return {**dict.fromkeys((200, *more), good), **schemas.PROBLEMS}


def describe(routes: Sequence[PlainRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of these routes. FastAPI writes it, and is loaded for nothing else."""
    from fastapi import FastAPI

    app = FastAPI(
        title="Assent",
        version="1",
        summary="A durable human-in-the-loop approval gateway for AI agents.",
        telemetry=_UNTOLD,
    )
    for each in routes:
        app.add_api_route(
            each.path,
            each.endpoint,
            methods=sorted(each.methods),
            name=each.name,
            include_in_schema=each.include_in_schema,
            **each.described,
        )
    document = app.openapi()
    known = document.setdefault("components", {}).setdefault("schemas", {})
    known.update(_named_schemas())
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]
    return document


def _named_schemas() -> dict[str, Any]:
    """Return the schema of every model that a route named, and of those within it, by name."""
    from pydantic import TypeAdapter

    found: dict[str, Any] = {}
    for name, (model, mode) in _named.items():
        schema = TypeAdapter(model).json_schema(ref_template=_REFS, mode=mode)
        found.update(schema.pop("$defs", {}))
        found[name] = schema
    return found


def _schema(models: tuple[Any, ...], mode: _Mode) -> dict[str, Any]:
    for model in models:
        _named[model.__name__] = (model, mode)
    refs: list[dict[str, Any]] = [{"$ref": _REFS.format(model=model.__name__)} for model in models]
    return refs[0] if len(refs) == 1 else {"anyOf": refs}
