"""What people do in the two chats; the stand-ins send each press to the gateway as the platform would, signed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from app.domain.text.language import Language
from app.domain.words.say import say
from channels.feishu.simulator.simulator import CannotPressError as CannotPressFeishuError
from channels.slack.simulator.simulator import CannotPressError as CannotPressSlackError
from examples.demo import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from channels.feishu.simulator.simulator import FeishuSimulator
    from channels.slack.simulator.simulator import SlackSimulator
    from examples.demo.stage import Stage, Visitor

_DENY = {say(language, "deny") for language in Language}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the person saw at once: a toast, or the platform's own error. `text` is "" when nothing popped up."""

    kind: str  # "success", "info", "warning", "error"
    text: str


class Hands:
    """Presses buttons and types reasons, for every visitor."""

    def __init__(self, stage: Stage) -> None:
        """Work on one stage."""
        self._stage = stage

    @property
    def _feishu(self) -> FeishuSimulator:
        return self._stage.feishu

    @property
    def _slack(self) -> SlackSimulator:
        return self._stage.slack

    async def press_feishu(
        self, visitor: Visitor, message_id: str, button: str, form: Mapping[str, str] | None = None
    ) -> Shown:
        """Press a button by its label or name, with what was typed into its form."""
        try:
            press = await self._feishu.press(visitor.feishu, message_id, button, form=form)
        except CannotPressFeishuError as why:
            return Shown(kind="warning", text=str(why))
        if press.error is not None:
            return Shown(kind="error", text=words.say(self._stage.language, "feishu.error"))
        return Shown(kind=str((press.toast or {}).get("type", "info")), text=press.sentence)

    async def press_slack(
        self, visitor: Visitor, ts: str, action_id: str, *, room: str = "", option: str = ""
    ) -> Shown:
        """Press a button of a message, and confirm; or choose a menu's option. `room` is the channel if not given."""
        place = room or self._slack.room.id
        try:
            if option:
                delivery = await self._slack.choose(visitor.slack, place, ts, action_id, option)
            else:
                delivery = await self._slack.click(visitor.slack, place, ts, action_id)
        except (CannotPressSlackError, KeyError) as why:
            return Shown(kind="warning", text=str(why))
        return Shown(kind="error" if delivery.trouble else "info", text=delivery.trouble)

    async def submit_slack(self, visitor: Visitor, view_id: str, answers: str | Mapping[str, str]) -> Shown:
        """Submit a modal: with a reason alone, or with what each of its fields is to say."""
        try:
            delivery = await self._slack.submit_modal(visitor.slack, view_id, answers)
        except CannotPressSlackError as why:
            return Shown(kind="warning", text=str(why))
        return Shown(kind="error" if delivery.trouble else "info", text=delivery.trouble)

    def close_slack(self, view_id: str) -> None:
        """Close a modal without an answer."""
        if (modal := self._slack.world.modals.get(view_id)) is not None:
            modal.open = False


class Cards:
    """Where the cards of a request are, and what is on them."""

    def __init__(self, stage: Stage) -> None:
        """Look at one stage."""
        self._stage = stage

    def feishu(self, request_id: str) -> dict[str, object] | None:
        """Return the request's message in Feishu, as the simulator shows it."""
        return _find(self._stage.feishu.view(self._stage.chat), request_id)

    def slack(self, request_id: str) -> dict[str, object] | None:
        """Return the request's message in Slack, as the simulator shows it."""
        view = self._stage.slack.view(self._stage.slack.room.id)
        return _find([entry for entry in view if entry["kind"] == "message"], request_id)

    def live(self, request_id: str) -> list[bool]:
        """Say of each copy whether it can be decided, Feishu's first; a copy that is not there is left out."""
        feishu, slack = self.feishu(request_id), self.slack(request_id)
        return [
            *([bool(_DENY & set(cast("list[str]", feishu["buttons"])))] if feishu else []),
            *(['"assent_deny"' in json.dumps(slack["blocks"])] if slack else []),
        ]

    def everything_ever_shown(self) -> str:
        """Return every version of every card, every note, toast and modal on both platforms, as one text."""
        feishu, slack = self._stage.feishu, self._stage.slack
        cards = [[message.versions, message.toasts] for message in feishu.platform.messages.values()]
        messages = [[v.text, v.blocks] for m in slack.room.messages.values() for v in m.versions]
        notes = [[note.text, note.blocks] for note in slack.room.notes]
        modals = [modal.view for modal in slack.world.modals.values()]
        return json.dumps([cards, messages, notes, modals], ensure_ascii=False)


def _find(entries: list[dict[str, object]], request_id: str) -> dict[str, object] | None:
    return next((entry for entry in entries if request_id in json.dumps(entry, ensure_ascii=False)), None)
