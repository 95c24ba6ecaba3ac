"""What Slack refuses in blocks and views, as far as its limits are known. Pure.

Only the block types that this project sends are known here; anything else is refused, so that a card cannot quietly
grow beyond what the stand-in checks. The messages have Slack's own form: ``must be less than 3001 characters
[json-pointer:/blocks/0/text/text]``. Lengths are counted in UTF-16 units, the strictest reading.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST_BLOCKS: Final = {"message": 50, "modal": 100}
_MOST_TEXT: Final = 13_200  # all blocks of a message together; Slack says msg_blocks_too_long beyond
_TEXT_FIELDS: Final = {"plain_text": {"type", "text", "emoji"}, "mrkdwn": {"type", "text", "verbatim"}}
_STRAY: Final = re.compile(r"<(?!!date\^\d+\^)[^>\s]+[^>]*>|&(?!amp;|lt;|gt;)|\bhttps?://")


class BlocksRefusedError(Exception):
    """Blocks that Slack would not take: its code, and one message for each fault."""

    def __init__(self, code: str, faults: list[str]) -> None:
        """Keep the code and the messages."""
        super().__init__(f"{code}: {'; '.join(faults)}")
        self.code = code
        self.faults = faults


def check_blocks(blocks: object, *, surface: str = "message") -> None:
    """Refuse blocks of a message or a modal that Slack would refuse. Raises BlocksRefusedError."""
    inspector = _Inspector()
    inspector.blocks(blocks, "/blocks", most=_MOST_BLOCKS[surface])
    inspector.verdict()
    if surface == "message" and inspector.characters > _MOST_TEXT:
        raise BlocksRefusedError("msg_blocks_too_long", [f"{inspector.characters} characters in all blocks"])


def check_view(view: object) -> None:
    """Refuse a modal that Slack would refuse. Raises BlocksRefusedError."""
    inspector = _Inspector()
    inspector.view(view)
    inspector.verdict("invalid_arguments")


def stray_markup(text: str) -> list[str]:
    """Return the mentions, links and broken escapes that Slack would act upon in a mrkdwn text; dates are allowed."""
    return [match.group(0) for match in _STRAY.finditer(text)]


def markup_in(blocks: list[dict[str, object]]) -> list[str]:
    """Return every stray markup in the mrkdwn texts of checked blocks."""
    found: list[str] = []
    queue: list[object] = list(blocks)
    while queue:
        branch = queue.pop()
        if isinstance(branch, dict):
            table = cast("dict[str, object]", branch)
            if table.get("type") == "mrkdwn":
                found += stray_markup(str(table.get("text")))
            queue += table.values()
        elif isinstance(branch, list):
            queue += cast("list[object]", branch)
    return found


def _kind(value: object) -> object:
    return cast("dict[str, object]", value).get("type") if isinstance(value, dict) else None


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class _Inspector:
    """Walks blocks and collects what is wrong with them."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.characters = 0
        self._block_ids: set[str] = set()
        self._action_ids: set[str] = set()

    def verdict(self, code: str = "invalid_blocks") -> None:
        if self.faults:
            raise BlocksRefusedError(code, self.faults)

    # --- the parts everything is made of ------------------------------------------------------------------------------

    def fault(self, message: str, at: str) -> None:
        self.faults.append(f"{message} [json-pointer:{at}]")

    def table(self, value: object, at: str, *, must: set[str], may: set[str]) -> dict[str, object] | None:
        """Check an object's fields; None (and a fault) where it is no object."""
        if not isinstance(value, dict):
            self.fault("must be an object", at)
            return None
        table = cast("dict[str, object]", value)
        for name in sorted(must - table.keys()):
            self.fault(f"missing required field: {name}", at)
        for name in sorted(table.keys() - must - may):
            self.fault(f"unknown field: {name}", f"{at}/{name}")
        return table

    def string(self, table: Mapping[str, object], name: str, at: str, *, most: int, least: int = 1) -> None:
        value = table.get(name)
        if value is None:
            return
        if not isinstance(value, str):
            self.fault("must be a string", f"{at}/{name}")
        elif _length(value) > most:
            self.fault(f"must be less than {most + 1} characters", f"{at}/{name}")
        elif _length(value) < least:
            self.fault(f"must be more than {least - 1} characters", f"{at}/{name}")

    def flag(self, table: Mapping[str, object], name: str, at: str) -> None:
        if name in table and not isinstance(table[name], bool):
            self.fault("must be a boolean", f"{at}/{name}")

    def text(self, value: object, at: str, *, most: int, plain: bool = False) -> None:
        """Check a text object."""
        if value is None:
            return
        kind = _kind(value)
        if kind not in _TEXT_FIELDS or (plain and kind != "plain_text"):
            self.fault("must be a plain_text object" if plain else "must be a text object", at)
            return
        table = self.table(value, at, must={"type", "text"}, may=_TEXT_FIELDS[str(kind)])
        if table is None:
            return
        self.string(table, "text", at, most=most)
        self.flag(table, "emoji", at)
        self.flag(table, "verbatim", at)
        self.characters += _length(str(table.get("text", "")))

    def unique(self, table: Mapping[str, object], name: str, at: str, seen: set[str]) -> None:
        self.string(table, name, at, most=255)
        value = table.get(name)
        if isinstance(value, str):
            if value in seen:
                self.fault(f"{name} already exists: {value}", f"{at}/{name}")
            seen.add(value)

    def items(self, value: object, at: str, *, most: int) -> list[object]:
        if not isinstance(value, list) or not value:
            self.fault("must be a list of one item or more", at)
            return []
        found = cast("list[object]", value)
        if len(found) > most:
            self.fault(f"no more than {most} items allowed", at)
        return found

    # --- blocks -------------------------------------------------------------------------------------------------------

    def blocks(self, value: object, at: str, *, most: int) -> None:
        kinds: dict[str, Callable[[object, str], None]] = {
            "header": self._header,
            "section": self._section,
            "divider": self._divider,
            "context": self._context,
            "actions": self._actions,
            "input": self._input,
        }
        for index, block in enumerate(self.items(value, at, most=most)):
            place = f"{at}/{index}"
            kind = _kind(block)
            check = kinds.get(str(kind))
            if check is None:
                self.fault(f"unsupported type: {kind}", f"{place}/type")
                continue
            self.unique(cast("dict[str, object]", block), "block_id", place, self._block_ids)
            check(block, place)

    def _header(self, block: object, at: str) -> None:
        if (table := self.table(block, at, must={"type", "text"}, may={"block_id"})) is not None:
            self.text(table.get("text"), f"{at}/text", most=150, plain=True)

    def _section(self, block: object, at: str) -> None:
        table = self.table(block, at, must={"type"}, may={"text", "fields", "block_id", "expand"})
        if table is None:
            return
        if "text" not in table and "fields" not in table:
            self.fault("missing required field: text or fields", at)
        self.flag(table, "expand", at)
        if "text" in table:
            self.text(table["text"], f"{at}/text", most=3000)
        if "fields" in table:
            for index, field in enumerate(self.items(table["fields"], f"{at}/fields", most=10)):
                self.text(field, f"{at}/fields/{index}", most=2000)

    def _divider(self, block: object, at: str) -> None:
        self.table(block, at, must={"type"}, may={"block_id"})

    def _context(self, block: object, at: str) -> None:
        if (table := self.table(block, at, must={"type", "elements"}, may={"block_id"})) is not None:
            for index, element in enumerate(self.items(table.get("elements"), f"{at}/elements", most=10)):
                self.text(element, f"{at}/elements/{index}", most=3000)

    def _actions(self, block: object, at: str) -> None:
        kinds = {"button": self._button, "overflow": self._overflow, "static_select": self._select}
        if (table := self.table(block, at, must={"type", "elements"}, may={"block_id"})) is not None:
            for index, element in enumerate(self.items(table.get("elements"), f"{at}/elements", most=25)):
                kinds.get(str(_kind(element)), self._button)(element, f"{at}/elements/{index}")

    def _overflow(self, element: object, at: str) -> None:
        table = self.table(element, at, must={"type", "options"}, may={"action_id", "confirm"})
        if table is not None:
            self._menu(table, at, least=2, most=5)

    def _select(self, element: object, at: str) -> None:
        may = {"action_id", "confirm", "placeholder", "focus_on_load"}
        table = self.table(element, at, must={"type", "options"}, may=may)
        if table is not None:
            self.text(table.get("placeholder"), f"{at}/placeholder", most=150, plain=True)
            self.flag(table, "focus_on_load", at)
            self._menu(table, at, least=1, most=100)

    def _menu(self, table: Mapping[str, object], at: str, *, least: int, most: int) -> None:
        self.unique(table, "action_id", at, self._action_ids)
        options = self.items(table["options"], f"{at}/options", most=most) if "options" in table else []
        if 0 < len(options) < least:
            self.fault(f"no fewer than {least} items allowed", f"{at}/options")
        values: set[str] = set()
        for index, option in enumerate(options):
            place = f"{at}/options/{index}"
            if (row := self.table(option, place, must={"text", "value"}, may={"description"})) is not None:
                self.text(row.get("text"), f"{place}/text", most=75, plain=True)
                self.text(row.get("description"), f"{place}/description", most=75, plain=True)
                self.string(row, "value", place, most=75)
                self.unique(row, "value", place, values)
        if "confirm" in table:
            self._confirm(table["confirm"], f"{at}/confirm")

    def _button(self, element: object, at: str) -> None:
        may = {"action_id", "value", "url", "style", "confirm", "accessibility_label"}
        table = self.table(element, at, must={"type", "text"}, may=may)
        if table is None:
            return
        if table.get("type") != "button":
            self.fault(f"unsupported type: {table.get('type')}", f"{at}/type")
        self.text(table.get("text"), f"{at}/text", most=75, plain=True)
        self.unique(table, "action_id", at, self._action_ids)
        self.string(table, "value", at, most=2000)
        self.string(table, "url", at, most=3000)
        self._style(table, at)
        if "confirm" in table:
            self._confirm(table["confirm"], f"{at}/confirm")

    def _style(self, table: Mapping[str, object], at: str) -> None:
        if "style" in table and table["style"] not in {"primary", "danger"}:
            self.fault("must be one of: primary, danger", f"{at}/style")

    def _confirm(self, value: object, at: str) -> None:
        table = self.table(value, at, must={"title", "text", "confirm", "deny"}, may={"style"})
        if table is None:
            return
        self.text(table.get("title"), f"{at}/title", most=100, plain=True)
        self.text(table.get("text"), f"{at}/text", most=300)
        self.text(table.get("confirm"), f"{at}/confirm", most=30, plain=True)
        self.text(table.get("deny"), f"{at}/deny", most=30, plain=True)
        self._style(table, at)

    def _input(self, block: object, at: str) -> None:
        may = {"hint", "optional", "dispatch_action", "block_id"}
        table = self.table(block, at, must={"type", "label", "element"}, may=may)
        if table is None:
            return
        self.text(table.get("label"), f"{at}/label", most=2000, plain=True)
        self.text(table.get("hint"), f"{at}/hint", most=2000, plain=True)
        self.flag(table, "optional", at)
        self.flag(table, "dispatch_action", at)
        if _kind(table.get("element")) == "users_select":
            self._person_input(table.get("element"), f"{at}/element")
        else:
            self._text_input(table.get("element"), f"{at}/element")

    def _person_input(self, value: object, at: str) -> None:
        may = {"action_id", "placeholder", "initial_user", "focus_on_load"}
        if (table := self.table(value, at, must={"type"}, may=may)) is not None:
            self.unique(table, "action_id", at, self._action_ids)
            self.text(table.get("placeholder"), f"{at}/placeholder", most=150, plain=True)
            self.flag(table, "focus_on_load", at)
            if not re.fullmatch(r"[UW][A-Z0-9]+", str(table.get("initial_user", "U0"))):
                self.fault("must be a user id", f"{at}/initial_user")

    def _text_input(self, value: object, at: str) -> None:
        may = {"action_id", "placeholder", "initial_value", "multiline", "min_length", "max_length", "focus_on_load"}
        table = self.table(value, at, must={"type"}, may=may)
        if table is None:
            return
        if table.get("type") != "plain_text_input":
            self.fault(f"unsupported type: {table.get('type')}", f"{at}/type")
        self.unique(table, "action_id", at, self._action_ids)
        self.text(table.get("placeholder"), f"{at}/placeholder", most=150, plain=True)
        self.flag(table, "multiline", at)
        self.flag(table, "focus_on_load", at)
        for name, least in (("min_length", 0), ("max_length", 1)):
            bound = table.get(name, least)
            if not isinstance(bound, int) or not least <= bound <= 3000:
                self.fault(f"must be between {least} and 3000", f"{at}/{name}")
            elif name == "max_length":
                self.string(table, "initial_value", at, most=bound if name in table else 3000)

    # --- modals -------------------------------------------------------------------------------------------------------

    def view(self, value: object) -> None:
        may = {"submit", "close", "private_metadata", "callback_id", "clear_on_close", "notify_on_close", "external_id"}
        table = self.table(value, "/view", must={"type", "title", "blocks"}, may=may)
        if table is None:
            return
        if table.get("type") != "modal":
            self.fault("must be modal", "/view/type")
        for name in ("title", "submit", "close"):
            self.text(table.get(name), f"/view/{name}", most=24, plain=True)
        self.string(table, "private_metadata", "/view", most=3000, least=0)
        self.string(table, "callback_id", "/view", most=255)
        self.flag(table, "notify_on_close", "/view")
        self.flag(table, "clear_on_close", "/view")
        self.blocks(table.get("blocks"), "/view/blocks", most=_MOST_BLOCKS["modal"])
        blocks = table.get("blocks")
        kinds = [_kind(block) for block in cast("list[object]", blocks)] if isinstance(blocks, list) else []
        if "input" in kinds and "submit" not in table:
            self.fault("missing required field: submit", "/view")
