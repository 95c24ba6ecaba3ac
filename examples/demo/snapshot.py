"""One picture of everything on the stage, as JSON for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from examples.demo.orders import BUTTONS

if TYPE_CHECKING:
    from examples.demo.child import Child
    from examples.demo.stage import Stage

_LOG_LINES = 200


class Snapshots:
    """Takes pictures of one stage."""

    def __init__(self, stage: Stage) -> None:
        """Take none yet."""
        self._stage = stage
        self._note_places: list[str] = []
        self.gateway_answers = False

    def take(self) -> dict[str, object]:
        """Return what is to be seen now."""
        stage = self._stage
        return {
            "visitors": [
                {"key": v.key, "name": v.name, "role": v.role, "slack": v.slack, "feishu": v.feishu}
                for v in stage.visitors.values()
            ],
            "queue": self._queue(),
            "payments": [{"key": key, "label": each.label, "zh": each.zh} for key, each in BUTTONS.items()],
            "feishu": self._feishu(),
            "slack": self._slack(),
            "modals": self._modals(),
            "gateway": _child(stage.gateway) | {"answers": self.gateway_answers and stage.gateway.pid is not None},
            "agent": _child(stage.agent),
            "executor": _child(stage.executor),
            "log": stage.agent_log()[-_LOG_LINES:],
            "ledger": [_without_account(entry) for entry in stage.paid()],
            "trail": stage.trail.lines(),
        }

    def _feishu(self) -> list[dict[str, object]]:
        """Return the chat's messages, and those in each visitor's own talk with the bot, by the visitor's key."""
        feishu = self._stage.feishu
        shown = feishu.view(self._stage.chat)
        for visitor in self._stage.visitors.values():
            own = feishu.platform.own_chats.get(visitor.feishu)
            shown += [{**entry, "own": visitor.key} for entry in (feishu.view(own) if own else [])]
        return sorted(shown, key=lambda entry: str(entry["created_at"]))

    def _slack(self) -> list[dict[str, object]]:
        """Put each private note behind the newest message of then; direct messages name whom alone they are shown."""
        slack = self._stage.slack
        view = slack.view(slack.room.id)
        messages = [{**entry, "channel": slack.room.id} for entry in view if entry["kind"] == "message"]
        notes = [entry for entry in view if entry["kind"] == "note"]
        newest = str(messages[-1]["ts"]) if messages else ""
        self._note_places += [newest] * (len(notes) - len(self._note_places))
        placed = list(zip(self._note_places, enumerate(notes), strict=True))
        shown: list[dict[str, object]] = []
        for message in messages:
            shown.append(message)
            shown += [{**note, "id": f"note-{number}"} for place, (number, note) in placed if place == message["ts"]]
        direct = [room for room in slack.world.rooms.values() if room.person is not None]
        own = [
            {**entry, "channel": room.id, "only_for": room.person}
            for room in direct
            for entry in slack.view(room.id)
            if entry["kind"] == "message"
        ]
        return [*shown, *own]

    def _queue(self) -> str:
        """Say what keeps the agent from the orders that it has not begun."""
        waiting = self._stage.orders_waiting()
        if not waiting:
            return ""
        orders = "1 order waits" if waiting == 1 else f"{waiting} orders wait"
        if self._stage.agent.pid is None:
            return f"{orders}: the agent is not running."
        number = self._stage.trail.open_request()
        return f"{orders}: the agent is busy{f' with #{number}' if number else ''}."

    def _modals(self) -> dict[str, object]:
        """Return each visitor's open modal, by the visitor's key."""
        modals: dict[str, object] = {}
        for visitor in self._stage.visitors.values():
            if (modal := self._stage.slack.modal_of(visitor.slack)) is not None:
                modals[visitor.key] = {"id": modal.id, "view": modal.view, "errors": modal.errors}
        return modals


def _child(child: Child) -> dict[str, object]:
    return {"running": child.pid is not None, "state": child.state}


def _without_account(entry: dict[str, object]) -> dict[str, object]:
    account = str(entry.get("account", ""))
    return {**entry, "account": f"… {account[-4:]}"} if account else cast("dict[str, object]", entry)
