"""What is said about standing approvals and about the broken glass, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "standing.scope": "The agent {agent} may use {tool} without anybody being asked, {session}, as long as {same}; "
    "{amounts}{uses} at most, until {until}.",
    "standing.session": "only in the session {session}",
    "standing.any_session": "in any session",
    "standing.same": "{path} stays {value}",
    "standing.whole": "its arguments stay exactly {value}",
    "standing.and": " and ",
    "standing.amounts": "{each} at most each, {total} in all; ",
    "standing.uses.one": "1 use",
    "standing.uses": "{count} uses",
    "standing.session.payments": "Up to {count} more payments to {to} with {tool}, each at most {each}, by {agent} in "
    "this session ({session}), until {until}; {differ}.",
    "standing.session.payments.one": "1 more payment to {to} with {tool}, at most {each}, by {agent} in this session "
    "({session}), until {until}; {differ}.",
    "standing.session.calls": "Up to {count} more calls of {tool} with {to}, by {agent} in this session ({session}), "
    "until {until}; {differ}.",
    "standing.session.calls.one": "1 more call of {tool} with {to}, by {agent} in this session ({session}), until "
    "{until}; {differ}.",
    "standing.session.differ": "only {paths} may differ",
    "standing.session.fixed": "nothing may differ",
    "glass.scope": "For {minutes} minutes {agent} may use {tools} without anybody being asked{bounds}.",
    "glass.bounds": ": {uses} at most",
    "glass.bounds.money": ": {uses} at most, {each} at most each, {total} in all, and nothing above the limits of the "
    "two",
    "glass.bounds.factor": "; also what takes a second factor",
    "glass.agent": "the agent {agent}",
    "glass.any_agent": "every agent",
    "glass.any_tool": "every tool about which people are asked",
    "glass.told.asked": "🚨 {people} wants to break the glass ({id}): {reason}\n{scope}\nIt takes a second person.",
    "glass.told.broken": "🚨 THE GLASS IS BROKEN ({id}) by {people}: {reason}\n{scope}\nIt ends {until}. Each call "
    "under it is shown here. To stop it: assent break-glass end {id}, or assent pause.",
    "glass.told.ended": "The broken glass {id} is over; calls under it: {uses}. Somebody other than {people} has to "
    "review it: assent break-glass review {id}",
    "glass.told.dropped": "Nobody breaks the glass: {id} was withdrawn.",
    "glass.headline": "🚨 BREAK-GLASS · nobody was asked · {how}",
    "glass.approved": "🚨 BREAK-GLASS {name} · {at}: nobody was asked.",
    "glass.executing": "🚨 BREAK-GLASS {name} · {at}: nobody was asked. Running now.",
    "glass.succeeded": "🚨 BREAK-GLASS {name} · {at}: nobody was asked. It ran once and succeeded.",
    "glass.failed": "❌ It ran once and failed. 🚨 BREAK-GLASS {name} · {at}: nobody was asked.",
    "glass.unknown": "⚠️ Whether it ran is not known: look whether it happened before anybody repeats it. "
    "🚨 BREAK-GLASS {name} · {at}: nobody was asked.",
    "glass.pending_elsewhere": "🚨 BREAK-GLASS {name} · {at}: nobody was asked here. ⏳ The service asks its people.",
    "glass.lapsed": "⌛ BREAK-GLASS {name} · {at}: nobody was asked, but it was never used. It did not run.",
}

ZH: Mapping[str, str] = {
    "standing.scope": "智能体 {agent} 可免审批使用 {tool}（{session}），条件：{same}；{amounts}最多 {uses}，"
    "{until} 之前有效。",
    "standing.session": "仅限会话 {session}",
    "standing.any_session": "不限会话",
    "standing.same": "{path} 保持为 {value}",
    "standing.whole": "参数与此完全一致：{value}",
    "standing.and": "，且 ",
    "standing.amounts": "每笔最多 {each}，合计最多 {total}；",
    "standing.uses.one": "1 次",
    "standing.uses": "{count} 次",
    "standing.session.payments": "本会话（{session}）中，{agent} 可用 {tool} 再向 {to} 付款最多 {count} 次，"
    "每笔最多 {each}，{until} 之前有效；{differ}。",
    "standing.session.payments.one": "本会话（{session}）中，{agent} 可用 {tool} 再向 {to} 付款 1 次，"
    "最多 {each}，{until} 之前有效；{differ}。",
    "standing.session.calls": "本会话（{session}）中，{agent} 可再调用 {tool} 最多 {count} 次，"
    "参数为 {to}，{until} 之前有效；{differ}。",
    "standing.session.calls.one": "本会话（{session}）中，{agent} 可再调用 {tool} 1 次，"
    "参数为 {to}，{until} 之前有效；{differ}。",
    "standing.session.differ": "仅 {paths} 可以不同",
    "standing.session.fixed": "其余均不得改变",
    "glass.scope": "{minutes} 分钟内，{agent}可免审批使用{tools}{bounds}。",
    "glass.bounds": "，最多 {uses}",
    "glass.bounds.money": "，最多 {uses}，每笔最多 {each}，合计最多 {total}，且不超过两人各自的限额",
    "glass.bounds.factor": "，包括需要第二因素的调用",
    "glass.agent": "智能体 {agent} ",
    "glass.any_agent": "所有智能体",
    "glass.any_tool": "所有需要审批的工具",
    "glass.told.asked": "🚨 {people} 请求紧急放行（{id}）：{reason}\n{scope}\n须由另一人确认。",
    "glass.told.broken": "🚨 已紧急放行（{id}），由 {people} 共同开启：{reason}\n{scope}\n{until} 结束。"
    "期间每次调用都会在此显示。如需停止：assent break-glass end {id} 或 assent pause。",
    "glass.told.ended": "紧急放行 {id} 已结束，期间调用 {uses} 次。"
    "须由 {people} 以外的人复核：assent break-glass review {id}",
    "glass.told.dropped": "紧急放行请求 {id} 已撤回，未开启。",
    "glass.headline": "🚨 紧急放行 · 未经任何人审批 · {how}",
    "glass.approved": "🚨 紧急放行 {name} · {at}：未经任何人审批。",
    "glass.executing": "🚨 紧急放行 {name} · {at}：未经任何人审批。正在执行。",
    "glass.succeeded": "🚨 紧急放行 {name} · {at}：未经任何人审批。已执行一次，成功。",
    "glass.failed": "❌ 已执行一次，失败。🚨 紧急放行 {name} · {at}：未经任何人审批。",
    "glass.unknown": "⚠️ 是否执行尚不清楚：任何人重试之前，请先核实是否已执行。"
    "🚨 紧急放行 {name} · {at}：未经任何人审批。",
    "glass.pending_elsewhere": "🚨 紧急放行 {name} · {at}：此处未经任何人审批。⏳ 服务方正在请其人员审批。",
    "glass.lapsed": "⌛ 紧急放行 {name} · {at}：未经任何人审批，但一直未使用。未执行。",
}
