"""What whoever runs the gateway is told of at once, in the trail and in the chats: each cause with its words."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from msgspec import Struct

from app.domain.trail.audit import Kind, Record


class Cause(StrEnum):
    """Why there is an alarm, and its words in each language; `of` is what it is about."""

    en: str
    zh: str

    def __new__(cls, value: str, en: str, zh: str) -> Self:
        """Make a cause of its name and its words."""
        cause = str.__new__(cls, value)
        cause._value_ = value
        cause.en, cause.zh = en, zh
        return cause

    DEAF = (
        "deaf",
        "what people press on {of} does not come in: its connection has been down for minutes",
        "{of} 的点击无法送达：连接已中断数分钟",
    )
    CUT_OFF = (
        "cut_off",
        "{of} is cut off: its access is lost, and no card goes there until somebody renews it",
        "{of} 已失联：访问凭证失效，需人工更新后才能继续发送卡片",
    )
    STUCK = (
        "stuck",
        "what is to be shown on {of} has waited for more than five minutes",
        "发往 {of} 的消息已等待超过五分钟",
    )
    UNKNOWN = (
        "unknown_outcome",
        "nobody knows whether {of} ran: somebody must look, and settle it",
        "{of} 是否已执行尚不清楚，需人工核实并确认",
    )
    WEBHOOK = (
        "webhook",
        "the receiver {of} has taken nothing for a quarter of an hour",
        "接收方 {of} 已有一刻钟未接收任何事件",
    )


class Alarm(Struct, frozen=True, order=True):
    """One that stands."""

    cause: Cause
    of: str

    def record(self, *, raised: bool) -> Record:
        """Return what the trail says when it comes, and when it is over."""
        kind = Kind.ALARM_RAISED if raised else Kind.ALARM_OVER
        return Record(kind=kind, actor="system", facts={"cause": self.cause.value, "of": self.of})
