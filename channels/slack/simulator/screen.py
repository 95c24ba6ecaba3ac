"""What a person finds on the screen: buttons, options of menus, the fields of a modal. No HTTP here."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from channels.slack.simulator.state import Message, Modal, World

Found = tuple[str, dict[str, object]]
"""The id of the block that something stands in, and what the platform tells of it when it is used."""


class CannotPressError(Exception):
    """There is no such button, option, modal or person on the screen."""


def find_button(message: Message, action_id: str) -> Found:
    """Find a button by its action id."""
    for block_id, element in _elements(message):
        if element["type"] == "button" and element.get("action_id") == action_id:
            return block_id, _kept(element)
    raise CannotPressError(f"no button {action_id} on message {message.ts}")


def find_control(message: Message, label: str, *, nth: int = 0) -> Found:
    """Find what a person would look for: a button or a menu's option with this label, the nth where several have it."""
    found: list[Found] = []
    for block_id, element in _elements(message):
        if element["type"] == "button" and _said(element["text"]) == label:
            found.append((block_id, _kept(element)))
        found += [(block_id, _chosen(element, each)) for each in _options(element) if _said(each["text"]) == label]
    if nth < len(found):
        return found[nth]
    raise CannotPressError(f"no control {label!r} ({nth}) on message {message.ts}")


def find_option(message: Message, action_id: str, value: str) -> Found:
    """Find an option of a menu by the menu's action id and its own value."""
    for block_id, element in _elements(message):
        for option in _options(element):
            if element.get("action_id") == action_id and option["value"] == value:
                return block_id, _chosen(element, option)
    raise CannotPressError(f"no such option of {action_id} on message {message.ts}")


def filled(world: World, modal: Modal, answers: str | Mapping[str, str]) -> dict[str, object]:
    """Fill a modal in and return its state; a text alone goes into the first text box.

    Fields are named by their label, their block, or the end of their block's name after an underscore; what is not
    named keeps what stands in it. Raises CannotPressError for what the platform's own form would not let pass.
    """
    blocks = cast("list[dict[str, object]]", modal.view["blocks"])
    inputs = [block for block in blocks if block.get("type") == "input"]
    if not inputs:
        raise CannotPressError("the modal has nothing to fill in")
    if isinstance(answers, str):
        boxes = [block for block in inputs if _element(block)["type"] == "plain_text_input"]
        answers = {str(boxes[0]["block_id"]): answers} if boxes else {}
    values: dict[str, object] = {}
    left = set(answers)
    for block in inputs:
        name = next((name for name in answers if _is_named(block, name)), None)
        left.discard(name or "")
        element = _element(block)
        given = None if name is None else answers[name]
        values[str(block["block_id"])] = {str(element["action_id"]): _answer(world, block, given)}
    if left:
        raise CannotPressError(f"the modal has no field {sorted(left)}")
    return values


def _answer(world: World, block: dict[str, object], given: str | None) -> dict[str, object]:
    element, optional = _element(block), block.get("optional") is True
    if element["type"] == "users_select":
        chosen = given if given is not None else str(element.get("initial_user", ""))
        if chosen and chosen not in world.people:
            raise CannotPressError(f"nobody is called {chosen}")
        if not chosen and not optional:
            raise CannotPressError("a person must be chosen")
        return {"type": "users_select", "selected_user": chosen or None}
    text = given if given is not None else str(element.get("initial_value", ""))
    least = 0 if optional and not text else max(int(not optional), int(str(element.get("min_length", 0))))
    most = int(str(element.get("max_length", 3000)))
    if not least <= len(text) <= most:
        raise CannotPressError(f"the text box takes {least} to {most} characters")
    return {"type": "plain_text_input", "value": text or None}


def _is_named(block: dict[str, object], name: str) -> bool:
    block_id = str(block["block_id"])
    return name in {block_id, _said(block["label"])} or block_id.endswith(f"_{name}")


def _element(block: dict[str, object]) -> dict[str, object]:
    return cast("dict[str, object]", block["element"])


def _elements(message: Message) -> Iterator[Found]:
    for index, block in enumerate(message.now.blocks):
        if block.get("type") == "actions":
            for element in cast("list[dict[str, object]]", block["elements"]):
                yield str(block.get("block_id") or f"b{index}"), element


def _options(element: dict[str, object]) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", element.get("options", []))


def _chosen(menu: dict[str, object], option: dict[str, object]) -> dict[str, object]:
    return {name: menu[name] for name in ("type", "action_id", "placeholder") if name in menu} | {
        "selected_option": option
    }


def _kept(button: dict[str, object]) -> dict[str, object]:
    return {name: button[name] for name in ("type", "action_id", "text", "value", "style", "confirm") if name in button}


def _said(text: object) -> str:
    return str(cast("dict[str, object]", text)["text"])
