"""What the SDK's HTTP client is kept from: following redirects, and proxies on the way to this machine itself."""

from __future__ import annotations

import functools
import os
from types import SimpleNamespace
from typing import Any


def follow_no_redirect(transport: Any) -> None:
    """Let the SDK follow no redirect: of all its calls, one carries the app's secret, and every other one a token.

    It calls `requests.request` and has no setting for that; its own module gets a `requests` that follows none.
    """
    http = transport.requests
    if not isinstance(http, SimpleNamespace):
        request = functools.partial(http.request, allow_redirects=False)
        transport.requests = SimpleNamespace(request=request, exceptions=http.exceptions)


def keep_loopback_off_proxies() -> None:
    """Name loopback in NO_PROXY: the SDK takes proxies from the environment, and none of them reaches a simulator."""
    for name in ("NO_PROXY", "no_proxy"):
        listed = [host for host in os.environ.get(name, "").split(",") if host]
        os.environ[name] = ",".join(dict.fromkeys([*listed, "127.0.0.1", "localhost", "::1"]))
