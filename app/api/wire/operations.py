"""How a route that reads its own body or query is described to OpenAPI."""

from __future__ import annotations

from typing import Any

from app.api.wire import schemas


def takes(body: type[Any] | tuple[type[Any], ...], back: Any, *more: int) -> dict[str, Any]:
    """Describe a route that reads its own body (strictly): one model, or one of several."""
    several = body if isinstance(body, tuple) else (body,)
    refs: list[dict[str, Any]] = [{"$ref": f"#/components/schemas/{each.__name__}"} for each in several]
    schema: dict[str, Any] = {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}
    content: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/json": schema}}}
    return {"openapi_extra": content, "responses": answers(back, *more)}


def asks(parameters: list[dict[str, Any]], back: Any, *more: int) -> dict[str, Any]:
    """Describe a route that reads its own query."""
    return {"openapi_extra": {"parameters": parameters}, "responses": answers(back, *more)}


def answers(back: Any, *more: int) -> dict[int | str, dict[str, Any]]:
    """Describe what a route answers: its model with 200 (and `more`), problems with the rest."""
    good = {status: {"model": back} for status in (200, *more)}
    return {**good, **schemas.PROBLEMS}
