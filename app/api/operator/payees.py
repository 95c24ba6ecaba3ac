"""The payee register over HTTP: people who decide may read it, an administrator changes it, an agent does neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.wire import schemas
from app.api.wire.bodies import answer, read_model
from app.api.wire.operations import asks, takes
from app.api.wire.routes import Request, Response, Router
from app.domain.errors import InvalidError
from app.domain.identity.api_key import Scope

if TYPE_CHECKING:
    from app.api.wire.services import Services
    from app.domain.money.payee import Payee

_NAME = {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}


def payees_router(c: Services) -> Router:
    """Build the routes."""
    router = Router(tags=["payees"])

    @router.get("/v1/payees", **asks([], schemas.PayeesView))
    async def page(request: Request) -> Response:
        """List whom the register knows, a row for each account; of accounts only the last characters are kept."""
        key = await c.access(request, Scope.APPROVER, Scope.AUDITOR, Scope.ADMIN)
        return answer({"items": [_view(each) for each in await c.payees.list(key.org)]})

    @router.put("/v1/payees", **takes(schemas.PayeeBody, schemas.PayeeView))
    async def add(request: Request) -> Response:
        """Put a payee in, with an account or without: no payment to them is a first one any more."""
        key = await c.access(request, Scope.ADMIN)
        body = await read_model(request, schemas.PayeeBody)
        return answer(_view(await c.payees.add(key.org, body.name, account=body.account, by=f"key:{key.id}")))

    @router.delete("/v1/payees", status_code=204, openapi_extra={"parameters": [_NAME]}, responses=schemas.PROBLEMS)
    async def remove(request: Request) -> Response:
        """Take a payee out, with all accounts: the next payment to them is a first one, whatever was paid before."""
        key = await c.access(request, Scope.ADMIN)
        name = request.query_params.get("name", "")
        if not name or "\x00" in name:
            raise InvalidError("say whom: ?name=…", path="name")
        await c.payees.remove(key.org, name, by=f"key:{key.id}")
        return Response(status_code=204)

    return router


def _view(payee: Payee) -> dict[str, object]:
    return {
        "name": payee.name,
        "account": payee.account_tail or None,
        "set_by": payee.set_by,
        "set_at": payee.set_at.isoformat(),
    }
