"""What came from outside forges no line of a log, in neither form, and drives no terminal; neither does a traceback."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys

import pytest

from tests.requirements import requirement

HOSTILE = (
    "a\nforged", "a\r\nforged", "a\rforged", "a\u2028forged", "a\u2029forged", "a\x85forged", "a\x0bforged",
    "a\x1b[2J\x1b[1;1Hforged", "a\x1b]0;forged\x07", "a\x00forged", "a\x07forged", "a\x9b31mforged", "a\u202eforged",
    "a\ud800forged", "2026-03-01 10:00:00 [info     ] forged", "x" * 100_000,
)  # fmt: skip
EVENT = re.compile(r"\d{4}-\d{2}-\d{2}\S*[ T]\d{2}:\d{2}:\d{2}\S* \[\w+ *\] ")
PROGRAM = """
import logging, sys
import structlog
from app.telemetry.logs import configure_logs, log_acts
configure_logs(sys.argv[1])
log = structlog.get_logger("assent.test")
hostile = {hostile!r}

class Hostile(Exception):
    pass

def fail(text):
    try:
        raise Hostile(text) from KeyError(text)
    except Hostile as error:
        error.add_note(text)
        raise

for text in hostile:
    log.warning("a.refusal", why=text, listed=[text], mapped={{text: text}}, error=Hostile(text))
    log.warning(text)
    log_acts([("an.act", dict(actor=text, request="req_1", status=200))])
    logging.getLogger("a.library").warning("it says %s", text)
    try:
        fail(text)
    except Hostile:
        log.exception("a.crash", why=text)
        logging.getLogger("a.library").exception("it fell over %s", text)
        log.warning("with.stack", stack_info=True)
"""


async def logged(log_format: str) -> list[bytes]:
    """Return what a process writes that logs every hostile text in every way there is."""
    command = (sys.executable, "-c", PROGRAM.format(hostile=HOSTILE), log_format)
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True, timeout=300)
    return (done.stdout + done.stderr).split(b"\n")[:-1]


@pytest.mark.process
@requirement("S-40")
async def test_every_event_is_one_line_that_is_one_json_object_whatever_it_repeats() -> None:
    lines = await logged("json")
    assert len(lines) == 7 * len(HOSTILE)
    for line in lines:
        assert isinstance(json.loads(line), dict)
        assert line.isascii()
        assert not any(byte < 0x20 or byte == 0x7F for byte in line)


@pytest.mark.process
@requirement("S-40")
async def test_on_a_console_no_line_begins_like_an_event_that_is_none_and_nothing_drives_it() -> None:
    lines = [line.decode() for line in await logged("console")]
    events = [line for line in lines if EVENT.match(line)]
    assert len(events) == 7 * len(HOSTILE)
    others = [line for line in lines if not EVENT.match(line)]
    assert others
    assert all(line.startswith("  | ") for line in others)
    assert [line for line in lines if not line.isprintable()] == []


@pytest.mark.process
@requirement("S-40")
@pytest.mark.parametrize("log_format", ["json", "console"])
async def test_a_traceback_still_says_where_it_comes_from(log_format: str) -> None:
    text = b"\n".join(await logged(log_format)).decode()
    assert "Traceback (most recent call last)" in text
    assert "in fail" in text
    assert "Hostile" in text
