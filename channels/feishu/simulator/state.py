"""What there is on the simulated platform: people, messages, and our app."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from channels.feishu.simulator.posts import Remark

if TYPE_CHECKING:
    from datetime import datetime

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One user, by the ids that our app sees."""

    open_id: str
    name: str
    email: str
    tenant_key: str
    frozen: bool = False
    resigned: bool = False
    activated: bool = True
    exited: bool = False
    unjoined: bool = False
    mailbox: str = ""  # of the organisation's own mail service
    leader: str = ""  # open_id of their direct manager
    departments: tuple[str, ...] = ("0",)  # everybody stands in one at least: the company itself

    def status(self) -> Json:
        """Return the documented status object."""
        return {
            "is_frozen": self.frozen,
            "is_resigned": self.resigned,
            "is_activated": self.activated,
            "is_exited": self.exited,
            "is_unjoin": self.unjoined,
        }


@dataclass(slots=True, kw_only=True)
class Message:
    """One card in one chat, with everything it ever showed."""

    message_id: str
    chat_id: str
    app_id: str
    created_at: datetime
    versions: list[Json]
    recalled: bool = False
    clicks_in_flight: int = 0
    toasts: dict[str, list[Json]] = field(default_factory=dict[str, "list[Json]"])
    remarks: list[Remark] = field(default_factory=list[Remark])

    @property
    def card(self) -> Json:
        """The card as it stands now."""
        return self.versions[-1]

    def told(self, app: App) -> Json:
        """Return the message as the API tells it."""
        stamp = str(int(self.created_at.timestamp() * 1000))
        sender = {"id": app.app_id, "id_type": "app_id", "sender_type": "app", "tenant_key": app.tenant_key}
        return {
            "message_id": self.message_id,
            "chat_id": self.chat_id,
            "msg_type": "interactive",
            "create_time": stamp,
            "update_time": stamp,
            "deleted": self.recalled,
            "updated": False,
            "sender": sender,
            "body": {"content": json.dumps(self.card, ensure_ascii=False)},
        }

    def told_of(self, remark: Remark) -> Json:
        """Return what was said under it as the API tells that."""
        return {
            "message_id": remark.message_id,
            "root_id": self.message_id,
            "parent_id": self.message_id,
            "chat_id": self.chat_id,
            "msg_type": "post",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """Our app as the developer console shows it."""

    app_id: str
    app_secret: str = field(repr=False)
    encrypt_key: str = field(repr=False)
    verification_token: str = field(repr=False)
    tenant_key: str
