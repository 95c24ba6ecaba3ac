"""No log line holds a secret, whoever's it is."""

from __future__ import annotations

import subprocess
import sys

import pytest
import structlog
from pydantic import BaseModel

from app.telemetry.logs import hide_secrets_of, log_deed, redact
from assent.hooks import Deed, HookEvent, Moment
from channels import registry
from tests.fixtures.patience import HANGS
from tests.fixtures.specs import a_spec
from tests.places import ROOT
from tests.requirements import requirement


@pytest.fixture(autouse=True)
def platforms_known() -> None:
    hide_secrets_of(registry.loaded())


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


@pytest.mark.parametrize(
    "secret",
    [
        "xapp-1-A0-1-f",
        "xoxe.xoxp-1-M",
        "https://hooks.slack.com/actions/T0/1/a",
        "t-g1044qeGEDXTB6NDJOGV4JQCYDGHRBARFTGT1234",
        "c-0123456789abcdef",
    ],
)
def test_what_a_platform_calls_a_secret_is_hidden(secret: str) -> None:
    assert redact(None, "", {"event": f"refused: {secret} again"})["event"] == "refused: [redacted] again"


def test_what_a_platform_of_others_calls_a_secret_is_hidden_once_it_is_known() -> None:
    assert redact(None, "", {"event": "pigeon-4711 flew"}) == {"event": "pigeon-4711 flew"}

    hide_secrets_of([a_spec("pigeon", BaseModel, secret_shapes=(r"pigeon-\d+",))])

    assert redact(None, "", {"event": "pigeon-4711 flew, xapp-1-A0-1-f too"}) == {
        "event": "[redacted] flew, [redacted] too"
    }


@pytest.mark.process
def test_the_libraries_of_the_platforms_are_quiet() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _LEVELS], capture_output=True, text=True, timeout=HANGS, check=True, cwd=ROOT
    )

    assert told.stdout.split() == ["30", "30", "30", "0"]


def test_what_a_hook_did_is_logged_without_its_reason_which_may_repeat_arguments() -> None:
    event = HookEvent(
        deed=Deed.BLOCKED,
        hook="payees",
        moment=Moment.PRE_TOOL_USE,
        agent="payer",
        session="s-1",
        tool_name="pay",
        call_id="c-1",
        why="DE02-SECRET is unknown",
    )

    with structlog.testing.capture_logs() as logged:
        log_deed(event)

    assert logged == [
        {
            "event": "hook.acted",
            "log_level": "info",
            "deed": "blocked",
            "hook": "payees",
            "moment": "PreToolUse",
            "agent": "payer",
            "tool": "pay",
            "call_id": "c-1",
        }
    ]


@pytest.mark.process
def test_spans_are_made_where_the_process_was_started_with_a_provider_and_nowhere_else() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _SPANS], capture_output=True, text=True, timeout=HANGS, check=True, cwd=ROOT
    )

    assert told.stdout.split() == ["None", "True"]


_LEVELS = """
import logging
from app.telemetry.logs import configure_logs
from channels import registry
configure_logs("json", registry.loaded())
print(*(logging.getLogger(name).level for name in ("slack_sdk", "Lark", "httpx", "somebody")))
"""

_SPANS = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from app.telemetry.provider import find_spans
print(find_spans())
trace.set_tracer_provider(TracerProvider())
print(hasattr(find_spans().hooks, "start_as_current_span"))
"""


@requirement("S-40")
@pytest.mark.process
@pytest.mark.parametrize("log_format", ["json", "text"])
def test_what_comes_from_outside_neither_begins_a_line_nor_drives_a_terminal(log_format: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _HOSTILE, log_format],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=True,
        cwd=ROOT,
    )
    lines = told.stderr.removesuffix("\n").split("\n")
    assert len(lines) == 2, "one line for each event"
    assert [char for char in "".join(lines) if not char.isprintable()] == []
    assert all("forged" in line for line in lines)


_HOSTILE = r"""
import logging, sys, structlog
from app.telemetry.logs import configure_logs
configure_logs(sys.argv[1])
text = "a\r\nforged line \x1b[2J\x00\x07\x85\u2028\u2029 end"
structlog.get_logger("x").warning("callback.rejected", why=text)
logging.getLogger("y").warning("%s", text)
"""
