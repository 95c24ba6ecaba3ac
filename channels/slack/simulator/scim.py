"""SCIM of the stand-in: ``GET /scim/v1/Users/<id>``, as far as it is asked here, with another token than the bot's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from channels.slack.simulator.state import World

METHOD: Final = "scim.Users"
_CORE: Final = "urn:scim:schemas:core:1.0"
_ENTERPRISE: Final = "urn:scim:schemas:extension:enterprise:1.0"


def read_user(world: World, token: str, user: str) -> tuple[int, dict[str, object]]:
    """Return the status and the answer."""
    known = world.tokens.get(token)
    if known is None or known.revoked:
        return 401, _errors(401, "invalid_authentication")
    if known.kind != "user" or "admin" not in known.scopes:
        return 403, _errors(403, "forbidden")
    person = world.people.get(user)
    if person is None:
        return 404, _errors(404, "user_not_found")
    told: dict[str, object] = {
        "schemas": [_CORE, _ENTERPRISE],
        "id": person.id,
        "userName": person.name,
        "active": not person.deleted,
        "emails": [{"value": person.email, "primary": True}],
    }
    return 200, told | ({_ENTERPRISE: {"manager": {"managerId": person.manager}}} if person.manager else {})


def _errors(code: int, description: str) -> dict[str, object]:
    return {"Errors": {"code": code, "description": description}}
