"""What the package of a platform says of it, as one value: all that the core need know before a channel is built."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import timedelta

    from pydantic import BaseModel

    from app.ports import Channel

_M = TypeVar("_M")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,30}")


class SpecRefusedError(Exception):
    """What a package says of its platform cannot be used.

    `why` names the package and the fault, `mend` says what to do about it.
    """

    def __init__(self, why: str, *, mend: str) -> None:
        """Keep both."""
        super().__init__(f"{why}: {mend}")
        self.why = why
        self.mend = mend


class Pace(Struct, frozen=True, kw_only=True):
    """How fast something may be done: `burst` at once, and then one every so often."""

    every: timedelta
    burst: int = 1


class Limits(Struct, frozen=True, kw_only=True):
    """What a platform can carry, for how long, and how fast.

    The properties of `app.ports.Channel` of the same names say more. `posts` is the pace in one chat, `edits` that of
    changing messages, wherever they are. None: it is slowed down only once it refuses.
    """

    text_budget: int
    opens_forms: bool
    deduplicates_for: timedelta
    edits_for: timedelta
    posts: Pace | None = None
    edits: Pace | None = None


class Setup(Struct, frozen=True, kw_only=True):
    """The command that tells people how to set a platform up: ``assent <kind> <name>``.

    `tell` gets the channel's name in assent.yaml, the gateway's address ("" if it was not given) and one of `receives`
    (how clicks come in; the first one if nothing is said), and returns what is printed. It raises ValueError for what
    cannot be set up. `without_address` is the one of `receives` that needs no address, if there is one. `switches` are
    options of the command that are given or not, with the help of each; where there are any, `tell` gets the names of
    those that were given as well.
    """

    name: str
    help: str
    receives: tuple[str, ...]
    tell: Callable[[str, str, str], str] | Callable[[str, str, str, frozenset[str]], str]
    without_address: str | None = None
    switches: Mapping[str, str] = field(default_factory=dict[str, str])


class Need(Struct, frozen=True, kw_only=True):
    """A variable that a first channel refers to: its name, where a person finds its value, and one that would do."""

    name: str
    where: str
    example: str


class Starter(Struct, frozen=True, kw_only=True):
    """What `assent init` writes of a first channel.

    `lines` are the lines of YAML below the channel's name, ``type`` first; all that differs from one installation to
    the next stands in them as ``${NAME}``, with its `needs`. With the examples in their place the settings are good.
    """

    lines: tuple[str, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A platform: its package's ``SPEC``. Making one loads no library of the platform; `build` may.

    `kind` is the ``type`` of its channels in assent.yaml, and the key of a person's account id there. `settings` is the
    model of one such channel, `build` makes the channel of a name and such settings. `loggers` are those of its
    library that are not worth reading below a warning, `secret_shapes` regular expressions for what no log may show.
    """

    kind: str
    title: str
    settings: type[BaseModel]
    build: Callable[[str, Any], Channel]  # the second is of `settings`: nothing else reaches it
    limits: Limits
    setup: Setup | None = None
    starter: Starter | None = None
    has_departments: bool = False
    verifies_members: bool = False  # its channels are `app.abilities.directories.IdentifyingChannel`s
    loggers: tuple[str, ...] = ()
    secret_shapes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would only fail later, as TypeError or ValueError."""
        from pydantic import BaseModel  # here, for commands name platforms that they do not look at

        if not _KIND.fullmatch(self.kind):
            raise ValueError(f"kind {self.kind!r} is not of small letters, digits and _")
        if not (isinstance(self.settings, type) and issubclass(self.settings, BaseModel)):  # pyright: ignore[reportUnnecessaryIsInstance] - others write it
            raise TypeError("settings is no Pydantic model")
        if self.limits.text_budget <= 0:
            raise ValueError("limits: a card without text says nothing: text_budget is 0 or less")
        for shape in self.secret_shapes:
            try:
                compiled = re.compile(shape)
            except re.error as error:
                raise ValueError(f"secret_shapes: {shape!r} is no regular expression: {error}") from None
            if compiled.search(""):
                raise ValueError(f"secret_shapes: {shape!r} matches where nothing stands: it would hide every line")


def written_as(shapes: Mapping[str, tuple[str, str]], key: str | None, written: str | None) -> str | None:
    """Return an id of a channel's settings, or raise ValueError with what is wanted of it.

    `shapes` says of each key how it is written, as a regular expression, and what it is, in words.
    """
    if written is not None:
        shape, what = shapes[str(key)]
        if not re.fullmatch(shape, written):
            raise ValueError(f"must be {what}")
    return written


def read_whole(
    given: object, read: Callable[[Any], _M], together: Callable[[Mapping[str, str]], Iterable[tuple[str, str]]]
) -> _M:
    """Return a channel's settings, or raise ValidationError with all that is wrong with them at once.

    For a model's wrap validator: `read` looks at each key, as the model does, and `together` yields what is wrong
    between keys (what is missing, what is said twice) as pairs of a key and a sentence. It is asked whatever `read`
    finds, and gets the texts as they were given, secrets among them; what is left out, or is no text, is "" to it.
    """
    from pydantic import SecretStr, ValidationError
    from pydantic_core import InitErrorDetails, PydanticCustomError

    found: _M | None = None
    wrong: list[InitErrorDetails] = []
    try:
        found = read(given)
    except ValidationError as refused:
        wrong += cast("list[InitErrorDetails]", refused.errors(include_url=False))
    raw = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    plain = {key: each.get_secret_value() if isinstance(each, SecretStr) else each for key, each in raw.items()}
    told = {str(each.get("loc", ("",))[0]) for each in wrong if each.get("loc")}
    for key, sentence in together({key: each.strip() for key, each in plain.items() if isinstance(each, str)}):
        if key not in told:  # of a key that cannot be read, that is what there is to say
            type_ = PydanticCustomError("value_error", "{sentence}", {"sentence": sentence})
            wrong.append(InitErrorDetails(type=type_, loc=(key,), input=None))
    if found is None or wrong:
        raise ValidationError.from_exception_data("settings", wrong, hide_input=True)
    return found
