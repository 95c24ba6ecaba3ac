"""What is said of time: to read, reminders, escalation, more of it, asking again; and of people out of reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "click.read_first": "Please read it first: approving is possible in {seconds} s. Nothing was recorded.",
    "notice.time_left": "⏰ {left} left · {then}: {title}",
    "console.other.reopen": "Nobody decided in time. The same call is judged anew, by the rules of now; where people "
    "are to be asked, a new request opens.",
    "click.reopened": "Asked again: the new request has the code {code}. Its card is on its way.",
    "click.reopened_before": "This was asked again already: look for the code {code}.",
    "click.not_expired": "Only what nobody decided in time can be asked again.",
    "click.now_denied": "It was not asked again. By today's rules it is refused: {reason}",
    "click.now_allowed": "It was not asked again: by today's rules it needs no approval. The agent may simply call it "
    "again.",
    "click.not_asked_again": "It was not asked again: {reason}",
}

ZH: Mapping[str, str] = {
    "click.read_first": "请先阅读：{seconds} 秒后才能批准。未做任何记录。",
    "notice.time_left": "⏰ 还剩 {left} · {then}：{title}",
    "console.other.reopen": "无人在时限内决定。同一调用将按当前规则重新判定；如需人工审批，将打开一个新请求。",
    "click.reopened": "已重新发起：新请求的核对码为 {code}，卡片即将送达。",
    "click.reopened_before": "此前已重新发起，请查找核对码 {code}。",
    "click.not_expired": "只有逾期无人决定的请求才能重新发起。",
    "click.now_denied": "未重新发起。按现行规则已被拒绝：{reason}",
    "click.now_allowed": "未重新发起：按现行规则无需审批，智能体可直接再次调用。",
    "click.not_asked_again": "未重新发起：{reason}",
}
