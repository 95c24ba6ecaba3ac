"""What is said about calls that nobody was asked about, and about what an execution came to, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "allowed.by.rule": "rule {name}",
    "allowed.by.standing": "the standing approval {name}",
    "allowed.approved": "✅ Allowed by {by} · {at}; nobody was asked.",
    "allowed.executing": "⏳ Running now. Allowed by {by} · {at}; nobody was asked.",
    "allowed.succeeded": "✅ It ran once and succeeded. Allowed by {by} · {at}; nobody was asked.",
    "allowed.failed": "❌ It ran once and failed. Allowed by {by} · {at}; nobody was asked.",
    "allowed.unknown": "⚠️ Whether it ran is not known: look whether it happened before anybody repeats it. Allowed by "
    "{by} · {at}; nobody was asked.",
    "allowed.pending_elsewhere": "⏳ The service asks its people. Allowed by {by} · {at}; nobody was asked here.",
    "allowed.lapsed": "⌛ It did not run: never used. Allowed by {by} · {at}.",
    "result": "Result · {name}",
    "result.error": "What went wrong",
    "result.unclear": "Why it is not known",
    "result.elsewhere": "Waits at the service",
    "result.link": "There",
}

ZH: Mapping[str, str] = {
    "allowed.by.rule": "规则 {name}",
    "allowed.by.standing": "长期授权 {name}",
    "allowed.approved": "✅ 由{by} 放行 · {at}，未询问任何人。",
    "allowed.executing": "⏳ 正在执行。由{by} 放行 · {at}，未询问任何人。",
    "allowed.succeeded": "✅ 已执行一次，成功。由{by} 放行 · {at}，未询问任何人。",
    "allowed.failed": "❌ 已执行一次，失败。由{by} 放行 · {at}，未询问任何人。",
    "allowed.unknown": "⚠️ 是否执行尚不清楚：任何人重试之前，请先核实是否已执行。由{by} 放行 · {at}，未询问任何人。",
    "allowed.pending_elsewhere": "⏳ 服务方正在请其人员审批。由{by} 放行 · {at}，此处未询问任何人。",
    "allowed.lapsed": "⌛ 未执行：一直未使用。由{by} 放行 · {at}。",
    "result": "执行结果 · {name}",
    "result.error": "失败原因",
    "result.unclear": "结果未知的原因",
    "result.elsewhere": "服务方待审批",
    "result.link": "查看地址",
}
