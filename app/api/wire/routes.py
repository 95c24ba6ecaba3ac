"""Our routes: each is a path, methods and a function that takes the request and the path's parameters, and answers.

They need nothing of a framework on the way: no dependency, no model, no middleware. What describes them to OpenAPI is
kept beside them, for whoever asks (`app.api.wire.operations`); where a router is strict, a query has nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, request_response

from app.api.wire.queries import refuse_illegible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from starlette.routing import Match
    from starlette.types import Scope

    Endpoint = Callable[..., Awaitable[Response]]

__all__ = ["PlainRoute", "Request", "Response", "Router"]


class PlainRoute(Route):
    """Calls its function with the request and the path's parameters; the function returns the response."""

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        *,
        methods: Collection[str],
        name: str | None,
        listed: bool,
        head: bool,
        described: Mapping[str, Any],
        strict: bool = False,
    ) -> None:
        async def respond(request: Request) -> Response:
            refuse_illegible(request)
            return await endpoint(request=request, **request.path_params)

        super().__init__(path, endpoint, methods=methods, name=name, include_in_schema=listed)
        self.methods = set(methods)  # none that nobody named
        self.head = head  # whether HEAD is answered as GET is: where looking does nothing else
        self.described = described
        named: list[dict[str, Any]] = described.get("openapi_extra", {}).get("parameters", [])
        self.known = frozenset(str(each["name"]) for each in named if each["in"] == "query") if strict else None
        """What a query may have, if that is all of it: see `app.api.wire.access`."""
        self.app = request_response(respond)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Say whether a call is for this route, and by which name it is counted."""
        match, found = super().matches(scope)
        return match, {**found, "route": self} if found else found


class Router:
    """Routes that stand together: under the same tags, with the same answers to what goes wrong."""

    def __init__(
        self,
        *,
        tags: Sequence[str] = (),
        responses: Mapping[int | str, dict[str, Any]] | None = None,
        include_in_schema: bool = True,
        strict: bool = False,
    ) -> None:
        """`strict`: a query has nothing but the parameters that its route describes, each of them once."""
        self._strict = strict
        self.routes: list[PlainRoute] = []
        self._tags = list(tags)
        self._responses = dict(responses or {})
        self._listed = include_in_schema

    def get(self, path: str, *, head: bool = False, **described: Any) -> Callable[[Endpoint], Endpoint]:
        """Make the function below the route of GET; with `head`, of HEAD as well."""
        return self._route(path, "GET", described, head=head)

    def post(self, path: str, **described: Any) -> Callable[[Endpoint], Endpoint]:
        """Make the function below the route of POST."""
        return self._route(path, "POST", described)

    def put(self, path: str, **described: Any) -> Callable[[Endpoint], Endpoint]:
        """Make the function below the route of PUT."""
        return self._route(path, "PUT", described)

    def delete(self, path: str, **described: Any) -> Callable[[Endpoint], Endpoint]:
        """Make the function below the route of DELETE."""
        return self._route(path, "DELETE", described)

    def add(
        self,
        path: str,
        endpoint: Endpoint,
        *,
        methods: Collection[str],
        name: str | None = None,
        head: bool = False,
        **described: Any,
    ) -> None:
        """Add a route. `described` is what OpenAPI is told of it, by the names that FastAPI gives that."""
        described["tags"] = self._tags
        described["responses"] = {**self._responses, **described.get("responses", {})}
        route = PlainRoute(
            path,
            endpoint,
            methods=methods,
            name=name,
            listed=self._listed,
            head=head,
            described=described,
            strict=self._strict,
        )
        self.routes.append(route)

    def _route(
        self, path: str, method: str, described: dict[str, Any], *, head: bool = False
    ) -> Callable[[Endpoint], Endpoint]:
        def add(endpoint: Endpoint) -> Endpoint:
            self.add(path, endpoint, methods=(method,), head=head, **described)
            return endpoint

        return add
