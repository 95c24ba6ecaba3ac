"""What is said about calls that nobody was asked about, and about what an execution came to, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "allowed.by.rule": "rule {name}",
    "allowed.by.standing": "the standing approval {name}",
    "allowed.approved": "✅ Allowed by {by} · {at}; nobody was asked.",
    "allowed.executing": "✅ Allowed by {by} · {at}; nobody was asked. Running now.",
    "allowed.succeeded": "✅ Allowed by {by} · {at}; nobody was asked. It ran once and succeeded.",
    "allowed.failed": "✅ Allowed by {by} · {at}; nobody was asked. ❌ It ran once and failed.",
    "allowed.unknown": "✅ Allowed by {by} · {at}; nobody was asked. ⚠️ Whether it ran is not known: please check.",
    "allowed.pending_elsewhere": "✅ Allowed by {by} · {at}; nobody was asked here. ⏳ The service asks its people.",
    "allowed.lapsed": "⌛ Allowed by {by} · {at}, but never used. It did not run.",
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
    "allowed.executing": "✅ 由{by} 放行 · {at}，未询问任何人。正在执行。",
    "allowed.succeeded": "✅ 由{by} 放行 · {at}，未询问任何人。已执行一次，成功。",
    "allowed.failed": "✅ 由{by} 放行 · {at}，未询问任何人。❌ 已执行一次，失败。",
    "allowed.unknown": "✅ 由{by} 放行 · {at}，未询问任何人。⚠️ 是否执行尚不清楚，请核实。",
    "allowed.pending_elsewhere": "✅ 由{by} 放行 · {at}，此处未询问任何人。⏳ 服务方正在请其人员审批。",
    "allowed.lapsed": "⌛ 由{by} 放行 · {at}，但一直未使用。未执行。",
    "result": "执行结果 · {name}",
    "result.error": "失败原因",
    "result.unclear": "结果未知的原因",
    "result.elsewhere": "服务方待审批",
    "result.link": "查看地址",
}
