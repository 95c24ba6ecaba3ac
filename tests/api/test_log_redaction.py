"""No log line holds a secret, whoever's it is."""

from __future__ import annotations

import pytest

from app.telemetry import redact


@pytest.mark.parametrize(
    "secret",
    ["xoxb-1-2-abcdef", "ak_abcd_efgh_012345", "Bearer eyJhbGciOi", "AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9],
)
def test_a_secret_in_any_field_is_hidden(secret: str) -> None:
    event = redact(None, "", {"event": "delivery.failed", "error": f"refused: {secret} is not known"})

    assert secret not in str(event)
    assert event["event"] == "delivery.failed"


def test_a_field_that_is_named_like_a_secret_is_hidden_whatever_it_holds() -> None:
    assert redact(None, "", {"app_secret": "plain"}) == {"app_secret": "[redacted]"}
