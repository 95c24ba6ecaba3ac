"""How sure the gateway must be that a verdict is a person's own: the ladder that rules climb by what is at stake.

| level | what an approval takes |
|---|---|
| L1 | one click in a chat, or one call with a personal key |
| L2 | a click, and the amount or the card's code typed |
| L3 | a second factor outside of the chat, and the amount or code typed: no card offers Approve |
| L4 | two people, each at L3 |

A denial is worth the same at every level: no is always one click.
"""

from __future__ import annotations

from enum import StrEnum


class Assurance(StrEnum):
    """A level, of a request (what it takes) or of one verdict (what it is worth; never above L3)."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"

    @property
    def of_each(self) -> Assurance:
        """What each single approval must be worth."""
        return min(self, Assurance.L3)  # the levels' names are in their order

    @property
    def raised(self) -> Assurance:
        """One level up; the highest stays."""
        levels = tuple(Assurance)
        return levels[min(levels.index(self) + 1, len(levels) - 1)]

    @property
    def on_cards(self) -> bool:
        """Whether a card in a chat may offer to approve."""
        return self <= Assurance.L2

    def suffices_for(self, required: Assurance) -> bool:
        """Say whether a verdict of this worth counts towards a request that takes `required`."""
        return self >= required.of_each
