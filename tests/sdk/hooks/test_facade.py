from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from assent.hooks import HookContext, HookEvent, HookResult, Hooks, allow, deny, modify
from tests.fixtures.patience import HANGS
from tests.sdk.hooks.chains import a_context

if TYPE_CHECKING:
    from pathlib import Path


def test_a_decorated_function_stays_the_function_that_it_was() -> None:
    hooks = Hooks()

    @hooks.pre_tool_use
    def no_payments(ctx: HookContext) -> HookResult | None:
        """Keep the money.

        All of it.
        """
        return deny("no")

    @hooks.pre_tool_use(tools="pay", priority=50, name="other", timeout=3, on_error="ask")
    async def asynchronous(ctx: HookContext) -> HookResult | None:
        return None

    assert no_payments(a_context()) == deny("no")
    shown = [(e.id, e.name, e.description, e.priority, str(e.tools or "*"), e.timeout) for e in hooks.list()]
    assert shown == [
        ("other", "other", "", 50, "pay", 3),
        ("no-payments", "no-payments", "Keep the money.", 0, "*", 30),
    ]


def test_what_cannot_be_called_with_a_context_is_refused_when_it_is_registered() -> None:
    hooks = Hooks()

    for wrong in (lambda: None, lambda a, b: None):
        with pytest.raises(TypeError, match="is no function of one argument"):
            hooks.stop(wrong)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(TypeError, match="cannot be called"):
        hooks.stop("scan.py")  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert hooks.list() == ()


async def test_events_tell_of_blocks_rewrites_and_tags_and_not_of_passes() -> None:
    events = list[HookEvent]()
    hooks = Hooks(on_event=events.append)
    hooks.pre_tool_use(priority=60)(lambda ctx: None)
    hooks.pre_tool_use(priority=50, name="cap")(lambda ctx: modify({"amount": 1}).with_tags(capped=True))
    hooks.pre_tool_use(priority=0, name="no")(lambda ctx: deny("never\nmind \x1b[2J"))

    await hooks.run(a_context(args={"amount": 9}))

    assert [str(event) for event in events] == [
        "[PreToolUse] cap rewrote pay (call c1): amount",
        "[PreToolUse] cap tagged pay (call c1): capped=True",
        "[PreToolUse] no blocked pay (call c1): never mind \N{REPLACEMENT CHARACTER}[2J",
    ]


async def test_verbose_prints_one_line_for_each_event_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    hooks = Hooks(verbose=True)
    hooks.pre_tool_use(name="no")(lambda ctx: deny("never"))

    await hooks.run(a_context())

    assert capsys.readouterr() == ("", "[PreToolUse] no blocked pay (call c1): never\n")


async def test_a_watcher_that_fails_changes_nothing() -> None:
    def broken(event: HookEvent) -> None:
        raise OSError("disk full")

    hooks = Hooks(on_event=broken)
    hooks.pre_tool_use(name="no")(lambda ctx: deny("never"))

    assert (await hooks.run(a_context())).reason == "never"


@pytest.mark.process
async def test_each_hook_has_a_span_where_a_tracer_is_configured() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    hooks = Hooks(tracer=provider.get_tracer("test"))
    hooks.pre_tool_use(priority=5, name="one")(lambda ctx: None)
    hooks.pre_tool_use(name="two")(lambda ctx: allow())

    await hooks.run(a_context())

    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["hook one", "hook two"]
    assert dict(spans[0].attributes or {})["assent.tool"] == "pay"


@pytest.mark.process
@pytest.mark.heavy
def test_a_wrong_return_is_a_type_error(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "from assent.hooks import HookContext, HookResult, Hooks, allow\n"
        "hooks = Hooks()\n"
        "@hooks.pre_tool_use\n"
        "def right(ctx: HookContext) -> HookResult | None: return allow()\n"
        "@hooks.pre_tool_use(tools='pay', priority=100)\n"
        "async def right_too(ctx: HookContext) -> HookResult: return allow()\n"
        "@hooks.pre_tool_use\n"
        "def wrong(ctx: HookContext) -> bool: return True\n"
        "@hooks.stop(name='w')\n"
        "async def wrong_too(ctx: HookContext) -> str: return 'allow'\n"
        "hooks.stop(tools='pay')\n"
    )
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text('{"typeCheckingMode": "standard"}')

    checked = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, str(sample)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert {fault["range"]["start"]["line"] + 1 for fault in json.loads(checked.stdout)["generalDiagnostics"]} == {
        7,
        9,
        11,
    }
