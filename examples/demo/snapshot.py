"""One picture of everything on the stage, as JSON for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from app.domain.text.language import Language
from examples.demo.banner import Machines, banner
from examples.demo.orders import BUTTONS
from examples.demo.words import say, words

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
        stage, language = self._stage, self._stage.language
        paid, requests = stage.paid(), stage.trail.requests()
        answers = self.gateway_answers and stage.gateway.pid is not None
        return {
            "language": language,
            "words": words(language),
            "visitors": [
                {
                    "key": v.key,
                    "name": v.name,
                    "role": say(language, f"role.{v.key}"),
                    "known": v.known,
                    "slack": v.slack,
                    "feishu": v.feishu,
                }
                for v in stage.visitors.values()
            ],
            "queue": self._queue(),
            "payments": [
                {"key": key, "label": each.zh if language is Language.ZH else each.label}
                for key, each in BUTTONS.items()
            ],
            "banner": {
                key: banner(stage.trail.events, paid, self._machines(answers=answers), language, key)
                for key in stage.visitors
            },
            "newest": requests[-1] if requests else "",
            "authenticators": {key: each.now() for key, each in stage.authenticators.items()},
            "feishu": self._feishu(),
            "slack": self._slack(),
            "modals": self._modals(),
            "gateway": _child(stage.gateway, language) | {"answers": answers},
            "agent": _child(stage.agent, language),
            "executor": _child(stage.executor, language),
            "log": stage.agent_log()[-_LOG_LINES:],
            "ledger": [_without_account(entry) for entry in paid],
            "trail": stage.trail.lines(language),
        }

    def _machines(self, *, answers: bool) -> Machines:
        stage = self._stage
        return Machines(
            gateway=stage.gateway.pid is not None,
            answers=answers,
            agent=stage.agent.pid is not None,
            executor=stage.executor.pid is not None,
        )

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
        waiting, language = self._stage.orders_waiting(), self._stage.language
        if not waiting:
            return ""
        orders = say(language, "queue.one" if waiting == 1 else "queue.many", count=waiting)
        if self._stage.agent.pid is None:
            return orders + say(language, "queue.dead")
        number = self._stage.trail.open_request()
        return orders + say(language, "queue.busy.with" if number else "queue.busy", number=number)

    def _modals(self) -> dict[str, object]:
        """Return each visitor's open modal, by the visitor's key."""
        modals: dict[str, object] = {}
        for visitor in self._stage.visitors.values():
            if (modal := self._stage.slack.modal_of(visitor.slack)) is not None:
                modals[visitor.key] = {"id": modal.id, "view": modal.view, "errors": modal.errors}
        return modals


def _child(child: Child, language: Language) -> dict[str, object]:
    name, value = child.state
    return {"running": child.pid is not None, "state": say(language, f"machine.{name}", pid=value, code=value)}


def _without_account(entry: dict[str, object]) -> dict[str, object]:
    account = str(entry.get("account", ""))
    return {**entry, "account": f"… {account[-4:]}"} if account else cast("dict[str, object]", entry)
