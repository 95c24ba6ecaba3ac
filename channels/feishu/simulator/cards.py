"""The platform's own check of card JSON 2.0, as strict as its documentation, for the simulator.

`check_card` refuses what the platform refuses, with its sub-codes where they are known: properties and tags that 2.0
does not have (200861), too many elements (11310), markup that names an unknown person (100290) or image (200570). Where
the platform's own sub-code is not documented, 200621 stands. Components that no card of ours uses are not modelled and
are refused too: a stand-in that takes what it does not understand would prove nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Json = dict[str, object]

UNSUPPORTED, MALFORMED, TOO_MANY, BAD_PERSON, BAD_IMAGE = 200861, 200621, 11310, 100290, 200570
MAX_ELEMENTS = 200
MAX_DEPTH = 5


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TEMPLATES = _words("blue wathet turquoise green yellow orange red carmine violet purple indigo grey default")
_BUTTONS = _words("default primary danger text primary_text danger_text primary_filled danger_filled laser")
_SIZES = _words(
    "heading-0 heading-1 heading-2 heading-3 heading-4 heading normal notation xxxx-large xxx-large xx-large x-large "
    "large medium small x-small"
)
_LAYOUT = _words("direction padding margin horizontal_spacing horizontal_align vertical_spacing vertical_align")
_OWN = _words("tag element_id margin")
_COLOURS = _words("default blue wathet turquoise green yellow orange red carmine violet purple indigo grey")
_WIDTH = re.compile(r"[1-9][0-9]{1,3}px", re.ASCII)
_SHAPES: Mapping[str, frozenset[str]] = {
    "div": _OWN | _words("width text icon"),
    "plain_text": _words("tag element_id content text_size text_align text_color lines i18n_content"),
    "lark_md": _words("tag element_id content text_size text_align text_color lines"),
    "markdown": _OWN | _words("content text_size text_align icon"),
    "hr": _OWN,
    "img": _OWN | _words("img_key alt title mode preview"),
    "text_tag": _words("tag element_id text color"),
    "column_set": _OWN | _words("horizontal_spacing horizontal_align flex_mode background_style columns"),
    "column": _OWN | _LAYOUT | _words("background_style width weight elements"),
    "form": _OWN | _LAYOUT | _words("name elements"),
    "button": _OWN
    | _words("type size width text icon hover_tips disabled disabled_tips confirm behaviors name required")
    | _words("form_action_type"),
    "input": _OWN
    | _words("name required disabled placeholder default_value width max_length input_type rows auto_resize max_rows")
    | _words("show_icon label label_position behaviors confirm"),
}
_ROOT = _words("schema config card_link header body")
_BODY = (_LAYOUT - {"margin"}) | {"elements"}
_CONFIG = _words(
    "streaming_mode streaming_config summary locales enable_forward update_multi width_mode use_custom_translation "
    "enable_forward_interaction style"
)
_HEADER = _words("title subtitle text_tag_list i18n_text_tag_list template icon padding")
_INTERACTIVE = frozenset({"button", "input"})
_ELEMENT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}", re.ASCII)
_AT = re.compile(r"<(?:at|person)\s+(?:id|user_id|email)\s*=\s*['\"]?([^'\">\s/]+)")
_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)]*)\)")


class CardFaultError(Exception):
    """The platform would refuse this card; its text is the platform's ``msg``."""

    def __init__(self, code: int, path: str, message: str, value: str) -> None:
        """Keep the sub-code beside the text."""
        super().__init__(
            f"Failed to create card content, ext=ErrCode: {code}; ErrPath: ROOT{path}; "
            f"ErrMsg: {message}; ErrorValue: {value}; "
        )
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A button of a card, and the form it submits, if it stands in one."""

    button: Json
    form: Json | None

    @property
    def label(self) -> str:
        """What is written on it."""
        return str(cast("Json", self.button.get("text", {})).get("content", ""))

    @property
    def value(self) -> object:
        """What a press carries back."""
        for behaviour in cast("list[Json]", self.button.get("behaviors", [])):
            if behaviour.get("type") == "callback":
                return behaviour.get("value")
        return None

    @property
    def token(self) -> object:
        """Our token in that, if there is one."""
        return cast("Json", self.value).get("t") if isinstance(self.value, dict) else None


def check_card(card: object, *, people: frozenset[str] = frozenset()) -> Json:
    """Return the card when the platform would take it. Raises CardFaultError."""
    check = _Check(people)
    return check.card(card)


def list_controls(card: Json) -> list[Control]:
    """Find the buttons that can be pressed, in reading order."""
    body = cast("Json", card.get("body", {}))
    return list(_controls(cast("list[Json]", body.get("elements", [])), None))


def list_texts(card: Json) -> list[str]:
    """Read a card as a person does: header, body, labels, button texts, in order."""
    header = cast("Json", card.get("header", {}))
    return [*_texts([header.get("title"), header.get("subtitle")]), *_texts(card.get("body"))]


def _controls(elements: list[Json], form: Json | None) -> Iterator[Control]:
    for element in elements:
        tag = element.get("tag")
        if tag == "button" and element.get("disabled") is not True:
            yield Control(button=element, form=form)
        elif tag == "form":
            yield from _controls(cast("list[Json]", element["elements"]), element)
        elif tag == "column_set":
            yield from _controls(cast("list[Json]", element["columns"]), form)
        elif tag == "column":
            yield from _controls(cast("list[Json]", element["elements"]), form)


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, list):
        for child in cast("list[object]", node):
            yield from _texts(child)
    elif isinstance(node, dict):
        fields = cast("Json", node)
        if fields.get("tag") in {"plain_text", "lark_md", "markdown"}:
            yield str(fields.get("content", ""))
        else:
            yield from _texts([child for name, child in fields.items() if name not in {"behaviors", "confirm"}])


class _Check:
    """One walk over one card."""

    def __init__(self, people: frozenset[str]) -> None:
        self._people = people
        self._names: set[str] = set()
        self._ids: set[str] = set()
        self._count = 0

    def card(self, value: object) -> Json:
        card = self._object(value, "")
        if card.get("schema") != "2.0":
            raise CardFaultError(UNSUPPORTED, "", "only card JSON 2.0 is modelled here", str(card.get("schema")))
        self._known(card, _ROOT, "")
        self._config(self._object(card.get("config", {}), " -> config"))
        if "header" in card:
            self._header(self._object(card["header"], " -> header"))
        body = self._object(card.get("body"), " -> body")
        self._known(body, _BODY, " -> body")
        self._elements(body.get("elements"), " -> body -> elements", depth=0, form=None)
        if self._count > MAX_ELEMENTS:
            raise CardFaultError(TOO_MANY, " -> body", "element exceeds the limit", str(self._count))
        return card

    def _config(self, config: Json) -> None:
        self._known(config, _CONFIG, " -> config")
        if config.get("update_multi", True) is not True:
            raise CardFaultError(UNSUPPORTED, " -> config", "update_multi must be true", "false")
        for name in ("enable_forward", "enable_forward_interaction"):
            if not isinstance(config.get(name, False), bool):
                raise CardFaultError(MALFORMED, f" -> config -> {name}", "must be a boolean", str(config[name]))
        summary = self._object(config.get("summary", {}), " -> config -> summary")
        self._known(summary, frozenset({"content", "i18n_content"}), " -> config -> summary")

    def _header(self, header: Json) -> None:
        path = " -> header"
        self._known(header, _HEADER, path)
        self._text(header.get("title"), f"{path} -> title")
        if "subtitle" in header:
            self._text(header["subtitle"], f"{path} -> subtitle")
        if header.get("template", "default") not in _TEMPLATES:
            raise CardFaultError(MALFORMED, path, "unknown template", str(header["template"]))
        tags = self._list(header.get("text_tag_list", []), f"{path} -> text_tag_list")
        if len(tags) > 3:
            raise CardFaultError(MALFORMED, path, "text_tag_list has more than 3 entries", str(len(tags)))
        for tag in tags:
            entry = self._element(tag, f"{path} -> text_tag_list", frozenset({"text_tag"}))
            self._text(entry.get("text"), f"{path} -> text_tag_list")

    def _elements(self, value: object, path: str, *, depth: int, form: Json | None) -> None:
        if depth > MAX_DEPTH:
            raise CardFaultError(MALFORMED, path, "nested too deeply", str(depth))
        for index, raw in enumerate(self._list(value, path)):
            tag = self._object(raw, f"{path} -> [{index}]").get("tag")
            here = f"{path} -> [{index}](tag: {tag})"
            if tag in {"action", "note"}:
                message = "cards of schema V2 no longer support this capability"
                raise CardFaultError(UNSUPPORTED, here, message, f"unsupported tag {tag}")
            element = self._element(raw, here, frozenset(_SHAPES) - {"plain_text", "lark_md", "text_tag", "column"})
            self._check_one(str(tag), element, here, depth=depth, form=form)

    def _check_one(self, tag: str, element: Json, path: str, *, depth: int, form: Json | None) -> None:
        if tag in _INTERACTIVE:
            self._name(element, path, required=form is not None)
        if tag == "form" and depth > 0:
            raise CardFaultError(MALFORMED, path, "form must stand at the root of the card", tag)
        checks: dict[str, Callable[[], object]] = {
            "div": lambda: self._text(element.get("text"), f"{path} -> text"),
            "markdown": lambda: self._markup(element.get("content"), path),
            "img": lambda: self._image(element.get("img_key"), path),
            "column_set": lambda: self._column_set(element, path, depth=depth, form=form),
            "form": lambda: self._form(element, path, depth=depth),
            "button": lambda: self._button(element, path, form=form),
            "input": lambda: self._input(element, path, form=form),
            "hr": lambda: None,
        }
        checks[tag]()

    def _column_set(self, element: Json, path: str, *, depth: int, form: Json | None) -> None:
        columns = self._list(element.get("columns"), f"{path} -> columns")
        if element.get("flex_mode", "none") not in {"none", "stretch", "flow", "bisect", "trisect"}:
            raise CardFaultError(MALFORMED, path, "unknown flex_mode", str(element["flex_mode"]))
        for column in columns:
            entry = self._element(column, f"{path} -> columns", frozenset({"column"}))
            weight = entry.get("weight", 1)
            if not isinstance(weight, int) or not 1 <= weight <= 5:
                raise CardFaultError(MALFORMED, path, "weight must be 1 to 5", str(weight))
            width = str(entry.get("width", "auto"))
            if width not in {"auto", "weighted"} and _WIDTH.fullmatch(width) is None:
                raise CardFaultError(MALFORMED, path, "unknown width", width)
            self._elements(entry.get("elements", []), f"{path} -> columns -> elements", depth=depth + 1, form=form)

    def _form(self, element: Json, path: str, *, depth: int) -> None:
        self._name(element, path, required=True)
        self._elements(element.get("elements"), f"{path} -> elements", depth=depth + 1, form=element)
        submits = [c for c in _controls([element], None) if c.button.get("form_action_type") == "submit"]
        if not submits:
            raise CardFaultError(MALFORMED, path, "a form needs a submit button", str(element.get("name")))

    def _button(self, element: Json, path: str, *, form: Json | None) -> None:
        label = self._text(element.get("text"), f"{path} -> text")
        if not 1 <= len(label) <= 100:
            raise CardFaultError(MALFORMED, path, "button text must have 1 to 100 characters", str(len(label)))
        if element.get("type", "default") not in _BUTTONS:
            raise CardFaultError(MALFORMED, path, "unknown button type", str(element["type"]))
        if element.get("size", "medium") not in {"tiny", "small", "medium", "large"}:
            raise CardFaultError(MALFORMED, path, "unknown button size", str(element["size"]))
        action = element.get("form_action_type")
        if action is not None and (form is None or action not in {"submit", "reset"}):
            raise CardFaultError(MALFORMED, path, "form_action_type needs a form", str(action))
        if "confirm" in element:
            self._confirm(self._object(element["confirm"], path), path)
        self._behaviours(element, path)

    def _confirm(self, confirm: Json, path: str) -> None:
        self._known(confirm, frozenset({"title", "text"}), f"{path} -> confirm")
        self._text(confirm.get("title"), f"{path} -> confirm -> title")
        self._text(confirm.get("text"), f"{path} -> confirm -> text")

    def _behaviours(self, element: Json, path: str) -> None:
        for raw in self._list(element.get("behaviors", []), f"{path} -> behaviors"):
            behaviour = self._object(raw, f"{path} -> behaviors")
            match behaviour.get("type"):
                case "callback":
                    self._known(behaviour, frozenset({"type", "value"}), f"{path} -> behaviors")
                    self._object(behaviour.get("value"), f"{path} -> behaviors -> value")
                case unknown:
                    raise CardFaultError(MALFORMED, path, "unmodelled behaviour", str(unknown))

    def _input(self, element: Json, path: str, *, form: Json | None) -> None:
        length = element.get("max_length", 1000)
        if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= 1000:
            raise CardFaultError(MALFORMED, path, "max_length must be 1 to 1000", str(length))
        value = element.get("default_value", "")
        if not isinstance(value, str) or len(value) > length:
            raise CardFaultError(MALFORMED, path, "default_value must be text of at most max_length", str(value)[:20])
        if element.get("input_type", "text") not in {"text", "multiline_text", "password"}:
            raise CardFaultError(MALFORMED, path, "unknown input_type", str(element["input_type"]))
        if "required" in element and (form is None or not isinstance(element["required"], bool)):
            raise CardFaultError(MALFORMED, path, "required is for inputs of a form", str(element["required"]))
        if element.get("label_position", "top") not in {"top", "left"}:
            raise CardFaultError(MALFORMED, path, "unknown label_position", str(element["label_position"]))
        if "label" in element:
            self._text(element["label"], f"{path} -> label")
        if "placeholder" in element and len(self._text(element["placeholder"], f"{path} -> placeholder")) > 100:
            raise CardFaultError(MALFORMED, path, "placeholder is longer than 100 characters", "")

    def _text(self, value: object, path: str) -> str:
        element = self._element(value, path, frozenset({"plain_text", "lark_md"}))
        content = element.get("content")
        if not isinstance(content, str):
            raise CardFaultError(MALFORMED, path, "content must be a string", str(content))
        if element.get("text_size", "normal") not in _SIZES:
            raise CardFaultError(MALFORMED, path, "unknown text_size", str(element["text_size"]))
        if element.get("text_color", "default") not in _COLOURS:
            raise CardFaultError(MALFORMED, path, "unknown text_color", str(element["text_color"]))
        if element["tag"] == "lark_md":
            self._markup(content, path)
        return content

    def _markup(self, content: object, path: str) -> None:
        if not isinstance(content, str):
            raise CardFaultError(MALFORMED, path, "content must be a string", str(content))
        for person in _AT.findall(content):
            if person != "all" and person not in self._people:
                raise CardFaultError(BAD_PERSON, path, "user id is invalid", str(person))
        for key in _IMAGE.findall(content):
            self._image(key, path)

    def _image(self, key: object, path: str) -> None:
        raise CardFaultError(BAD_IMAGE, path, "image key is invalid", str(key))

    def _element(self, value: object, path: str, tags: frozenset[str]) -> Json:
        element = self._object(value, path)
        tag = element.get("tag")
        if not isinstance(tag, str) or tag not in tags:
            raise CardFaultError(UNSUPPORTED, path, "not support tag", str(tag))
        self._count += 1
        self._known(element, _SHAPES[tag], path)
        identity = element.get("element_id")
        if identity is not None:
            if not isinstance(identity, str) or _ELEMENT_ID.fullmatch(identity) is None or identity in self._ids:
                raise CardFaultError(MALFORMED, path, "element_id is invalid or repeated", str(identity))
            self._ids.add(identity)
        return element

    def _name(self, element: Json, path: str, *, required: bool) -> None:
        name = element.get("name")
        if name is None and not required:
            return
        if not isinstance(name, str) or not name or name in self._names:
            raise CardFaultError(MALFORMED, path, "name is missing or repeated", str(name))
        self._names.add(name)

    @staticmethod
    def _known(fields: Json, allowed: frozenset[str], path: str) -> None:
        for name in fields:
            if name not in allowed:
                raise CardFaultError(UNSUPPORTED, path, "unknown property", name)

    @staticmethod
    def _object(value: object, path: str) -> Json:
        if not isinstance(value, dict):
            raise CardFaultError(MALFORMED, path, "must be an object", type(value).__name__)
        return cast("Json", value)

    @staticmethod
    def _list(value: object, path: str) -> list[object]:
        if not isinstance(value, list):
            raise CardFaultError(MALFORMED, path, "must be an array", type(value).__name__)
        return cast("list[object]", value)
