"""Whether the gateways of one database are alike: one file, one secret, one version, one clock.

Each of them writes down what it has (`Replica`) every few seconds and reads what the others have. What must be the same
and is not is a `Difference`, with what each of them has. A rollout makes some differences for a while: those count once
they have lasted.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

SILENT_AFTER = timedelta(seconds=20)
"""Whoever has not been heard of for so long is gone: some beats."""

GRACE = timedelta(seconds=30)
"""How long a rollout may take to reach everybody: some readings of the files."""

APART = timedelta(seconds=30)
"""How far clocks may be apart, the database's among them."""


class Matter(StrEnum):
    """In what gateways differ, and its words in each language."""

    en: str
    zh: str

    def __new__(cls, value: str, en: str, zh: str) -> Self:
        """Make a matter of its name and its words."""
        matter = str.__new__(cls, value)
        matter._value_ = value
        matter.en, matter.zh = en, zh
        return matter

    REFUSED = ("refused", "a refused configuration", "配置被拒绝")
    SECRET = ("secret", "the secret", "主密钥")
    KEYS = ("keys", "the secrets that are accepted", "可接受的密钥")
    POLICY = ("policy", "the configuration", "配置版本")
    CLOCK = ("clock", "the clock", "时钟")
    SOFTWARE = ("software", "the software", "软件版本")


class Replica(Struct, frozen=True, kw_only=True):
    """What one gateway has, as far as one org is concerned."""

    id: str
    policy_version: str
    key_ids: tuple[str, ...]  # of the secrets that it accepts; it seals with the first
    software: str
    ahead: timedelta  # of the database's clock
    refused: str | None  # why its newest file is not in force
    since: datetime  # since when it has this file, these secrets, this software
    seen_at: datetime

    def is_live(self, now: datetime) -> bool:
        """Say whether it was heard of lately."""
        return now - self.seen_at <= SILENT_AFTER


class Difference(Struct, frozen=True, kw_only=True):
    """One matter in which gateways differ, and what each of them has."""

    matter: Matter
    values: Mapping[str, str]

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.matter.en} ({', '.join(self.listed)})"

    @property
    def listed(self) -> list[str]:
        """What each of them has, the gateways in their order."""
        return [f"{name}: {value}" for name, value in sorted(self.values.items())]


def differ(
    replicas: Sequence[Replica], *, now: datetime, sealed: Collection[str] = (), at_once: bool = False
) -> tuple[Difference, ...]:
    """Return in what those of them that are live differ; () if they agree.

    `sealed` are the ids of the secrets that open requests are sealed with. `at_once`: whoever asks in the midst of a
    rotation is told already which secrets are accepted where.
    """
    live = [replica for replica in replicas if replica.is_live(now)]
    lasting = [replica for replica in live if now - replica.since >= GRACE]
    accepts = {each.id: "+".join(each.key_ids) for each in (live if at_once else lasting)}
    found = [
        _of(Matter.REFUSED, {each.id: each.refused for each in live if each.refused is not None}),
        _secrets(live, sealed) or _unlike(Matter.KEYS, accepts),
        _unlike(Matter.POLICY, {each.id: each.policy_version for each in lasting}),
        _clocks(live),
        _unlike(Matter.SOFTWARE, {each.id: each.software for each in lasting}),
    ]
    return tuple(each for each in found if each is not None)


def agree(replicas: Sequence[Replica], *, now: datetime) -> bool:
    """Say whether those that are live have the same."""
    return not differ(replicas, now=now)


def unread_secrets(mine: Collection[str], others: Sequence[Replica], known: Sequence[str]) -> set[str]:
    """Return the ids of secrets that this gateway should accept and does not.

    `known` are those that rows were sealed with, last the one that they are sealed with now: a stranger with another
    secret makes nobody else's wrong.
    """
    lacking = {other.key_ids[0] for other in others} & set(known) - set(mine)
    if known and known[-1] not in mine:
        lacking |= {known[-1]}
    return lacking


def accepted(replicas: Sequence[Replica], *, mine: Collection[str], now: datetime) -> set[frozenset[str]]:
    """Return the sets of secrets that this gateway and the live ones accept, by their ids: one, where all are alike."""
    return {frozenset(mine), *(frozenset(each.key_ids) for each in replicas if each.is_live(now))}


def _secrets(live: Sequence[Replica], sealed: Collection[str]) -> Difference | None:
    """Return whether one of them seals, or can read, what another cannot: in the steps of a rotation none does.

    What none of them has is no difference: none of them is ready for it.
    """
    readable = set(sealed).intersection({key_id for each in live for key_id in each.key_ids})
    needed = {each.key_ids[0] for each in live} | readable
    if all(needed <= set(each.key_ids) for each in live):
        return None
    return _of(Matter.SECRET, {each.id: "+".join(each.key_ids) for each in live})


def _clocks(live: Sequence[Replica]) -> Difference | None:
    ahead = [timedelta(0), *(each.ahead for each in live)]  # the database's own among them
    if max(ahead) - min(ahead) <= APART:
        return None
    return _of(Matter.CLOCK, {each.id: f"{each.ahead.total_seconds():+.0f} s" for each in live})


def _unlike(matter: Matter, values: Mapping[str, str]) -> Difference | None:
    return _of(matter, values if len(set(values.values())) > 1 else {})


def _of(matter: Matter, values: Mapping[str, str]) -> Difference | None:
    return Difference(matter=matter, values=values) if values else None
