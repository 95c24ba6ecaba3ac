"""The console's pages, all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.console.deciding import deciding_router
from app.console.doors import doors_router
from app.console.evidence import evidence_pages_router
from app.console.inbox import inbox_router
from app.console.live import live_router
from app.console.office.admin import admin_router
from app.console.office.pulse import pulse_router
from app.console.office.requests import request_stories_router
from app.console.office.rules import rules_router
from app.console.office.trail import trail_page_router
from app.console.sign_in.authenticator import authenticator_router
from app.console.sign_in.issuer_door import issuer_door_router
from app.console.sign_in.mine import mine_router
from app.console.sign_in.passkey_door import passkey_door_router

if TYPE_CHECKING:
    from app.api.wire.routes import Router
    from app.usecases.console_verbs import ConsoleVerbs


def console_routers(c: ConsoleVerbs) -> tuple[Router, ...]:
    """Return them in the order in which they are tried."""
    return (
        request_stories_router(c),
        trail_page_router(c),
        pulse_router(c),
        rules_router(c),
        admin_router(c),
        doors_router(c),
        deciding_router(c),
        evidence_pages_router(c),
        inbox_router(c),
        live_router(c),
        passkey_door_router(c),
        mine_router(c),
        authenticator_router(c),
        issuer_door_router(c),
    )
