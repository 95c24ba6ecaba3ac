"""Which platforms there are. Adding one adds a folder and a line here; a platform's SDK loads only when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from channels.feishu.settings import FeishuSettings
from channels.slack.settings import SlackSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from app.ports import Channel

SETTINGS: Mapping[str, type[BaseModel]] = {"feishu": FeishuSettings, "slack": SlackSettings}
"""Each platform's settings, by its `type` in assent.yaml."""


def build(name: str, settings: BaseModel) -> Channel:
    """Build a channel. Importing its module here keeps platforms that nobody configured out of the process."""
    match settings:
        case FeishuSettings():
            from channels.feishu import channel as feishu

            return feishu.build(name, settings)
        case SlackSettings():
            from channels.slack import channel as slack

            return slack.build(name, settings)
        case _:
            raise TypeError(f"no platform has settings of type {type(settings).__name__}")
