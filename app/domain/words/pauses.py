"""What is said about pauses and lifted refusals, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "caution.near_denied": "Denied before, on {at}: “{reason}”",
    "paused": "Paused since {at} by {by}{why}: runs only once lifted.",
}

ZH: Mapping[str, str] = {
    "caution.near_denied": "类似的调用曾于 {at} 被人拒绝：“{reason}”",
    "paused": "自 {at} 起已被 {by} 暂停{why}，解除之前批准了也不会执行。",
}
