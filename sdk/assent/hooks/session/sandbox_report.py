"""A report as the text that the model gets in place of the tool's result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assent.hooks.contract.sandbox import Report


def render_report(report: Report, *, provider: str = "") -> str:
    """Tell the exit code first (what follows is the command's own words), then both streams and what was cut."""
    where = f"the sandbox {provider!r}" if provider else "a sandbox"
    return "\n".join(
        [
            f"This command ran in {where}, not on the machine itself.",
            _end(report),
            *_stream("stdout", report.stdout, report.stdout_cut),
            *_stream("stderr", report.stderr, report.stderr_cut),
        ]
    )


def _end(report: Report) -> str:
    spent = f"after {report.duration:.1f} s"
    if report.exit_code is None:
        return f"exit code: none; the sandbox ended it {spent}: {report.ended or 'unknown reason'}"
    return f"exit code: {report.exit_code} ({spent})"


def _stream(name: str, text: str, cut: int) -> list[str]:
    kept = len(text.encode("utf-8", "replace"))
    first = f"{name} (the first {kept:,} bytes; {cut:,} more were cut):" if cut else f"{name}:"
    return [first, text.removesuffix("\n")] if text else [f"{first} (empty)"]
