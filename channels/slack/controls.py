"""What can be pressed on a message in Slack, and how the token of what was pressed is found again. Pure.

Approve and Deny are buttons. The rest shares a menu, but for what deserves a button of its own. A button's value holds
its token whole. The value of a menu's option has room for 75 characters, and a token is longer: what all tokens of a
card begin with (version, key, handle) stands in the ``block_id``, and what differs (letter, MAC) in the value::

    token     a1.<key id>.<handle>.<letter>.<mac>
    block_id  assent_decision:a1.<key id>.<handle>
    value     <letter>.<mac>, and ".form" behind it where a form must be filled in first

Whether a form comes first is for convenience only: what lacks the form's fields is refused by the core. Approve asks
for a form where something must be typed; a form is a second question, so that button has no other one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from app.domain.card.card import Tone
from app.domain.request.action import Action
from app.domain.words.say import say
from channels.slack.details.texts import clip, plain

if TYPE_CHECKING:
    from app.domain.card.card import Buttons, Card, Control

APPROVE: Final = "assent_approve"
APPROVE_TYPED: Final = "assent_form_approve"
DENY: Final = "assent_deny"
USE: Final = "assent_use"  # another control
FORM: Final = "assent_form"  # another control, which asks for a form
MENU: Final = "assent_menu"

_DECISION: Final = "assent_decision"
_OVERFLOW_MOST: Final = 5
_VALUE_MOST: Final = 75
_LABEL_MOST: Final = 75
_BUTTONS_MOST: Final = 5  # where there is no Approve and no Deny beside them
_OWN: Final = frozenset({Action.REVIEW, Action.REOPEN, Action.EDIT, Action.WITHDRAW})
_WITH_FORM: Final = ".form"
_ACTION_ID: Final = re.compile(r"assent_(approve|deny|menu|(?:use|form)_[a-z_]{1,20}?)(?:_[0-9]{1,2})?")
_BLOCK_ID: Final = re.compile(_DECISION + r"(?:_[0-9]{1,2})?:([A-Za-z0-9]+\.[A-Za-z0-9]+\.[A-Za-z0-9]+)")
_OPTION: Final = re.compile(r"([a-z]\.[A-Za-z0-9]+)(\.form)?")


def controls(card: Card, mark: str) -> list[dict[str, object]]:
    """Return the block with all that can be pressed, or none. `mark` makes its names unique in its message."""
    own, menu = _shared_out(card)
    elements = [
        *(_verdict(card.buttons, mark, ready=card.tone is not Tone.WARNED) if card.buttons else []),
        *(_button(control, mark, stands_alone=_stands_alone(card, index)) for index, control in enumerate(own)),
        *([_menu(card, menu, mark)] if menu else []),
    ]
    if not elements:
        return []
    block_id = f"{_DECISION}{mark}" + (f":{_head(menu[0])}" if menu else "")
    return [{"type": "actions", "block_id": block_id, "elements": elements}]


def is_ours(action_id: str) -> bool:
    """Tell whether a control is one of a card's."""
    return _ACTION_ID.fullmatch(action_id) is not None


def wants_form(action_id: str) -> bool:
    """Tell whether a button asks for a form before anything is done."""
    return action_id.startswith((DENY, f"{FORM}_"))


def is_menu(action_id: str) -> bool:
    """Tell whether a control is a menu rather than a button."""
    return action_id.startswith(MENU)


def token_of_option(block_id: str, value: str) -> tuple[str, bool] | None:
    """Put a token together again, and say whether a form comes first. None: these are no parts of ours."""
    head, option = _BLOCK_ID.fullmatch(block_id), _OPTION.fullmatch(value)
    return (f"{head[1]}.{option[1]}", option[2] is not None) if head and option else None


# --- the parts --------------------------------------------------------------------------------------------------------


def _shared_out(card: Card) -> tuple[list[Control], list[Control]]:
    """Say which controls get a button of their own, and which share the menu."""
    if card.buttons is None and len(card.controls) <= _BUTTONS_MOST:
        return list(card.controls), []
    rest = [control for control in card.controls if control.action not in _OWN]
    menu = [control for control in rest if _head(control) == _head(rest[0]) and _fits(control)]
    if len(menu) < 2:
        menu = []
    return [control for control in card.controls if control not in menu], menu


def _fits(control: Control) -> bool:
    """Tell whether a token has the form that can be taken apart and put together again."""
    block_id, value = f"{_DECISION}:{_head(control)}", _value(control)
    return len(value) <= _VALUE_MOST and token_of_option(block_id, value) == (control.token, control.form is not None)


def _head(control: Control) -> str:
    return control.token.rsplit(".", 2)[0]


def _value(control: Control) -> str:
    return ".".join(control.token.rsplit(".", 2)[1:]) + (_WITH_FORM if control.form else "")


def _menu(card: Card, menu: list[Control], mark: str) -> dict[str, object]:
    options = [{"text": plain(clip(control.label, _LABEL_MOST)), "value": _value(control)} for control in menu]
    if len(menu) <= _OVERFLOW_MOST:
        return {"type": "overflow", "action_id": f"{MENU}{mark}", "options": options}
    more = plain(clip(say(card.language, "control.more"), 150))
    return {"type": "static_select", "action_id": f"{MENU}{mark}", "placeholder": more, "options": options}


def _button(control: Control, mark: str, *, stands_alone: bool) -> dict[str, object]:
    kind = FORM if control.form else USE
    return {
        "type": "button",
        "action_id": f"{kind}_{control.action.value}{mark}",
        "text": plain(clip(control.label, _LABEL_MOST)),
        "value": control.token,
        **({"style": "primary"} if stands_alone else {}),
    }


def _stands_alone(card: Card, index: int) -> bool:
    """Say whether a control is what the card is for. On a settled card nothing is: *ask again* must not look ready."""
    return card.asks and card.buttons is None and index == 0


def _verdict(buttons: Buttons, mark: str, *, ready: bool) -> list[dict[str, object]]:
    deny: dict[str, object] = {
        "type": "button",
        "action_id": f"{DENY}{mark}",
        "style": "danger",
        "text": plain(clip(buttons.deny_label, _LABEL_MOST)),
        "value": buttons.deny,
    }
    if buttons.approve is None:
        return [deny]
    approve: dict[str, object] = {
        "type": "button",
        "action_id": f"{APPROVE_TYPED if buttons.typed else APPROVE}{mark}",
        **({"style": "primary"} if ready else {}),
        "text": plain(clip(buttons.approve_label, _LABEL_MOST)),
        "value": buttons.approve,
    }
    if buttons.typed is None:
        approve["confirm"] = {
            "title": plain(clip(buttons.confirm_title, 100)),
            "text": plain(clip(buttons.confirm_text, 300)),
            "confirm": plain(clip(buttons.approve_label, 30)),
            "deny": plain(clip(buttons.cancel_label, 30)),
        }
    return [approve, deny]
