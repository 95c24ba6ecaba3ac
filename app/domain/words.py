"""Every sentence that Assent says to people on cards and in answers to clicks, in each language.

One place, so that a wording can be read through, and so that no language lacks a sentence (a test compares the keys).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.card import Language

if TYPE_CHECKING:
    from collections.abc import Mapping

_EN: Mapping[str, str] = {
    "headline.pending": "Approval needed",
    "headline.approved": "Approved",
    "headline.executing": "Approved · running",
    "headline.succeeded": "Approved · done",
    "headline.failed": "Approved · failed",
    "headline.unknown": "Approved · outcome unknown",
    "headline.denied": "Denied",
    "headline.expired": "Expired",
    "headline.cancelled": "Cancelled",
    "headline.undeliverable": "Nobody could be reached",
    "headline.lapsed": "Approved · never used",
    "asks": "Asked by",
    "asks.value": "{agent}",
    "asks.for": "{agent}, for {requester}",
    "why": "Why you are asked",
    "until": "Decide by",
    "until.value": "{time} UTC ({left} from when it was asked)",
    "claim": "The agent says (not verified)",
    "progress": "{have} of {need} approvals · {groups}",
    "progress.by": "Approved so far by {people}",
    "footer": "Code {code} · {request}",
    "outcome.approved": "✅ Approved by {by} · {at} UTC{note}",
    "outcome.denied": "⛔ Denied by {by} · {at} UTC{note}",
    "outcome.expired": "⌛ Nobody decided in time · {at} UTC. It did not run.",
    "outcome.cancelled": "Withdrawn by {by} · {at} UTC{note}. It did not run.",
    "outcome.undeliverable": "Nobody could be reached · {at} UTC. It did not run.",
    "outcome.executing": "✅ Approved by {by} · {at} UTC. Running now.",
    "outcome.succeeded": "✅ Approved by {by} · {at} UTC. It ran once and succeeded.",
    "outcome.failed": "✅ Approved by {by} · {at} UTC. ❌ It ran once and failed.",
    "outcome.unknown": "✅ Approved by {by} · {at} UTC. ⚠️ Whether it ran is not known: please check.",
    "outcome.lapsed": "Approved by {by} · {at} UTC, but never used in time. It did not run.",
    "withheld": "Approve is not offered here: this card cannot show all of the call ({size} characters; {budget} fit). "
    "Review it through the API.",
    "approve": "Approve",
    "deny": "Deny",
    "deny.reason": "Why not?",
    "deny.hint": "The agent sees this reason.",
    "confirm.title": "Approve this?",
    "confirm.text": "It runs once, exactly as shown.",
    "cancel": "Go back",
    "hidden": "••• (hidden)",
    "click.approved": "Recorded: approved. It may run once now.",
    "click.denied": "Recorded: denied. The agent has been told.",
    "click.counted": "Recorded. {have} of {need} approvals; more are needed.",
    "click.repeated": "You have already approved this.",
    "click.contradicts": "You have already decided this otherwise.",
    "click.settled": "Nothing changed: {outcome}",
    "click.barred": "You asked for this, or the agent is yours: someone else must decide. It still waits.",
    "click.not_eligible": "You are not among the people who decide this. It still waits.",
    "click.unmapped": "This account is not linked to anyone who may decide. It still waits.",
    "click.inactive": "This account may not decide: it is a guest, a bot, or deactivated. It still waits.",
    "click.unverified": "Your account could not be confirmed just now. Nothing was recorded; try again in a minute.",
    "click.stale": "This card is no longer the live one. Please use the newest card.",
    "click.retry": "Nothing was recorded. Please press again in a moment.",
    "click.reason_needed": "Please say why.",
}

_ZH: Mapping[str, str] = {
    "headline.pending": "待审批",
    "headline.approved": "已批准",
    "headline.executing": "已批准 · 执行中",
    "headline.succeeded": "已批准 · 已执行",
    "headline.failed": "已批准 · 执行失败",
    "headline.unknown": "已批准 · 结果未知",
    "headline.denied": "已拒绝",
    "headline.expired": "已过期",
    "headline.cancelled": "已撤回",
    "headline.undeliverable": "无法送达审批人",
    "headline.lapsed": "已批准 · 未使用",
    "asks": "申请方",
    "asks.value": "{agent}",
    "asks.for": "{agent}（代 {requester}）",
    "why": "需要审批的原因",
    "until": "请在此前决定",
    "until.value": "{time} UTC（自申请起 {left}）",
    "claim": "智能体自述（未经核实）",
    "progress": "已批准 {have} / {need} · {groups}",
    "progress.by": "目前已批准：{people}",
    "footer": "核对码 {code} · {request}",
    "outcome.approved": "✅ {by} 已批准 · {at} UTC{note}",
    "outcome.denied": "⛔ {by} 已拒绝 · {at} UTC{note}",
    "outcome.expired": "⌛ 逾期无人决定 · {at} UTC。未执行。",
    "outcome.cancelled": "{by} 已撤回 · {at} UTC{note}。未执行。",
    "outcome.undeliverable": "无法联系到任何审批人 · {at} UTC。未执行。",
    "outcome.executing": "✅ {by} 已批准 · {at} UTC。正在执行。",
    "outcome.succeeded": "✅ {by} 已批准 · {at} UTC。已执行一次，成功。",
    "outcome.failed": "✅ {by} 已批准 · {at} UTC。❌ 已执行一次，失败。",
    "outcome.unknown": "✅ {by} 已批准 · {at} UTC。⚠️ 是否执行尚不清楚，请核实。",
    "outcome.lapsed": "{by} 已批准 · {at} UTC，但逾期未使用。未执行。",
    "withheld": "此处不提供“批准”：卡片无法完整显示这次调用（{size} 字，最多 {budget} 字）。请通过 API 查看全文。",
    "approve": "批准",
    "deny": "拒绝",
    "deny.reason": "拒绝原因",
    "deny.hint": "智能体会看到这个原因。",
    "confirm.title": "确认批准？",
    "confirm.text": "将按所示内容执行一次。",
    "cancel": "返回",
    "hidden": "•••（已隐藏）",
    "click.approved": "已记录：批准。现在可以执行一次。",
    "click.denied": "已记录：拒绝。智能体已收到通知。",
    "click.counted": "已记录。批准 {have} / {need}，还需要其他人。",
    "click.repeated": "您已经批准过了。",
    "click.contradicts": "您已经做出了不同的决定。",
    "click.settled": "没有变化：{outcome}",
    "click.barred": "这是您本人的申请，或该智能体归您所有，须由他人决定。请求仍在等待。",
    "click.not_eligible": "您不在此请求的审批人之列。请求仍在等待。",
    "click.unmapped": "此账号没有对应的审批人。请求仍在等待。",
    "click.inactive": "此账号不能审批（访客、机器人或已停用）。请求仍在等待。",
    "click.unverified": "暂时无法确认您的账号，未做任何记录，请一分钟后再试。",
    "click.stale": "这张卡片已失效，请使用最新的卡片。",
    "click.retry": "未做任何记录，请稍后再按一次。",
    "click.reason_needed": "请填写原因。",
}

CATALOGUE: Mapping[Language, Mapping[str, str]] = {Language.EN: _EN, Language.ZH: _ZH}


def say(language: Language, key: str, **values: object) -> str:
    """Return one sentence in one language. `values` are put in as they are: make outside text visible first."""
    return CATALOGUE[language][key].format(**values)
