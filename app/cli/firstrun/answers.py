"""The four questions of `assent init`: from options where they are given, else from a person, else as they usually are.

Each answer is read the same way wherever it comes from, and a wrong one is told what would be right.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import typer
from msgspec import Struct
from pydantic import ValidationError

from app.settings import Settings
from app.spec import SpecRefusedError
from channels import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from app.spec import Spec, Starter

NONE, SQLITE = "none", "sqlite"
_USUAL = "pay 1000 EUR"
_TOOL = re.compile(
    r"(?P<name>[\w.:/*-]{1,120})(?:\s+(?:above\s+|over\s+|>\s*)?(?P<amount>\d{1,13}(?:\.\d{1,6})?)\s*(?P<currency>[A-Za-z]{3}))?"
)
_EMAIL = re.compile(r"[^\s@,:\"'#]{1,64}@[^\s@,:\"'#]{1,189}")
_SURELY_STRONG = "x" * 64


T = TypeVar("T")


class WrongAnswerError(ValueError):
    """An answer cannot be used; the text says what would be right."""


class Asked(Struct, frozen=True, kw_only=True):
    """A tool that asks people: always, or above an amount."""

    tool: str
    amount: str = ""
    currency: str = ""

    @property
    def is_glob(self) -> bool:
        """Whether it stands for any number of tools."""
        return "*" in self.tool


class Platform(Struct, frozen=True, kw_only=True):
    """Where cards go: a platform that says what its first channel looks like."""

    spec: Spec
    starter: Starter


class Answers(Struct, frozen=True, kw_only=True):
    """What the first configuration is made of. `platform` None: people decide by API and command line."""

    platform: Platform | None
    approvers: tuple[str, ...]
    asked: tuple[Asked, ...]


class Given(Struct, frozen=True, kw_only=True):
    """What the options say; None where a person is asked, or the usual taken."""

    channel: str | None
    approvers: Sequence[str] | None
    asked: Sequence[str] | None
    database: str | None


class Questions:
    """Answers come from the options first. `person`: somebody is there to be asked; else `usual` must be allowed."""

    def __init__(self, given: Given, *, person: bool, usual: bool) -> None:
        """Take where answers come from."""
        self._given = given
        self._person = person
        self._usual = usual

    def answers(self) -> Answers:
        """Ask the first three questions. Raises WrongAnswerError where nobody is there to answer better."""
        kinds = ", ".join([NONE, *starters()])
        return Answers(
            platform=self._one(
                "1. Where do people get their cards", self._given.channel, NONE, read_channel, f" ({kinds})"
            ),
            approvers=self._one(
                "2. Who approves? E-mails, with commas", _joined(self._given.approvers), None, read_approvers
            ),
            asked=self._one(
                "3. Which tools ask a person, and above what amount? TOOL, or TOOL AMOUNT CURRENCY, with commas",
                _joined(self._given.asked),
                _USUAL,
                read_asked,
            ),
        )

    def database(self, folder: Path, known: str | None) -> str:
        """Ask the fourth. `known` is what the environment says already."""
        return self._one(
            f"4. Which database? {SQLITE}, or postgresql://ROLE:PASSWORD@HOST/NAME",
            self._given.database,
            known or SQLITE,
            lambda text: read_database(text, folder),
        )

    def missing(self, *, only_database: bool) -> tuple[str, ...]:
        """Name the options without which nobody can be asked, and nothing usual taken."""
        if self._person:
            return ()
        needed = {"--database": self._given.database}
        if not only_database:
            needed = {
                "--channel": self._given.channel,
                "--approver": _joined(self._given.approvers),
                "--ask": _joined(self._given.asked),
                **needed,
            }
        lacking = [name for name, value in needed.items() if value is None]
        return tuple(name for name in lacking if not self._usual or name == "--approver")

    def _one(self, question: str, given: str | None, usual: str | None, read: Callable[[str], T], more: str = "") -> T:
        if given is not None:
            return read(given)
        if self._usual and usual is not None:
            return read(usual)
        while True:
            text = str(typer.prompt(f"{question}{more}", default=usual))
            try:
                return read(text)
            except WrongAnswerError as wrong:
                typer.echo(f"   {wrong}")


def _joined(values: Sequence[str] | None) -> str | None:
    return ",".join(values) if values else None


def starters() -> Mapping[str, Starter]:
    """Return what the platforms that are ours say of a first channel, by kind."""
    return {spec.kind: spec.starter for spec in registry.loaded() if spec.starter is not None}


def read_channel(text: str) -> Platform | None:
    """Read the name of a platform; None for none yet."""
    kind = text.strip().lower()
    if kind == NONE:
        return None
    try:
        spec = registry.platforms()[kind]
    except KeyError:
        raise WrongAnswerError(f'unknown channel "{kind}": {", ".join([NONE, *starters()])}') from None
    except SpecRefusedError as refusal:
        raise WrongAnswerError(str(refusal)) from None
    if spec.starter is None:
        why = f"{spec.title} does not say what a first channel looks like: take {NONE}, and add it by its own documents"
        raise WrongAnswerError(why)
    return Platform(spec=spec, starter=spec.starter)


def read_approvers(text: str) -> tuple[str, ...]:
    """Read e-mail addresses with commas."""
    found = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    if not found:
        raise WrongAnswerError("somebody must be able to say yes: an e-mail address, or several with commas")
    wrong = next((each for each in found if not _EMAIL.fullmatch(each)), None)
    if wrong is not None:
        raise WrongAnswerError(f'"{wrong}" is no e-mail address: it is how people are found, as in wang@acme.example')
    return found


def read_asked(text: str) -> tuple[Asked, ...]:
    """Read tools with commas: ``pay 1000 EUR, mail.send``."""
    found = tuple(_asked(part.strip()) for part in text.split(",") if part.strip()) or (_asked(""),)
    names = [each.tool for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise WrongAnswerError(f'"{twice}" is named twice: say once from which amount on it asks')
    return found


def _asked(part: str) -> Asked:
    found = _TOOL.fullmatch(part)
    if found is None:
        raise WrongAnswerError(f'"{part}" is no tool with an amount: write pay, or pay 1000 EUR; several with commas')
    if not re.search(r"[^\W\d_]|\*", found["name"]):
        raise WrongAnswerError(f'"{part}" names no tool: write pay {part} EUR, with the tool before the amount')
    name, amount, currency = found["name"], found["amount"] or "", (found["currency"] or "").upper()
    if amount and "*" in name:
        raise WrongAnswerError(f'"{name}" stands for many tools, and an amount belongs to one: name it whole')
    if amount and not amount.strip("0."):
        raise WrongAnswerError(f"an amount is above 0: leave it out to be asked about every call of {name}")
    return Asked(tool=name, amount=amount, currency=currency)


def read_database(text: str, folder: Path) -> str:
    """Read a database's address; a SQLite file lies in the folder, wherever commands are given later."""
    text = text.strip()
    url = f"sqlite:///{quote(str(folder / 'assent.db'))}" if text.lower() == SQLITE else text
    try:
        _ = Settings(secret=_SURELY_STRONG, database_url=url)  # pyright: ignore[reportArgumentType] - its validator splits it
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            if fault["loc"][:1] == ("database_url",):
                said = fault["msg"].removeprefix("Value error, ")
                raise WrongAnswerError(f"a database's address {said}; {SQLITE} is a file in the folder") from None
    return url
