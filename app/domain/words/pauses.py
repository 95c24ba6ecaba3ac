"""What is said about pauses and lifted refusals, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "caution.near_denied": "A call like this was denied by a person on {at}: “{reason}” ({request})",
    "paused": "Paused since {at} by {by}{why}: nothing of this runs until people lift the pause. You may still decide.",
}

ZH: Mapping[str, str] = {
    "caution.near_denied": "类似的调用曾于 {at} 被人拒绝：“{reason}”（{request}）",
    "paused": "自 {at} 起已被 {by} 暂停{why}：解除暂停之前不会执行。您仍可以决定。",
}
