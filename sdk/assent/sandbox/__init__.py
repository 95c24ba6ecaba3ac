"""Sandboxes: where a tool call runs that a hook routed away, and what the model is told of it.

sandboxes = Sandboxes([LocalSandbox()])
report = await sandboxes.run(routing, ctx)          # raises SandboxFault: then the call is denied
text = render_report(report, provider=routing.provider)
"""

from assent.hooks.contract.sandbox import Job, Report, SandboxFault, SandboxProvider
from assent.hooks.session.sandbox_report import render_report
from assent.sandbox.daytona import DaytonaSandbox
from assent.sandbox.e2b import E2BSandbox
from assent.sandbox.local import LocalSandbox
from assent.sandbox.providers import Sandboxes

__all__ = [
    "DaytonaSandbox",
    "E2BSandbox",
    "Job",
    "LocalSandbox",
    "Report",
    "SandboxFault",
    "SandboxProvider",
    "Sandboxes",
    "render_report",
]
