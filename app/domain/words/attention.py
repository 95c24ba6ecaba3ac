"""What is said about how much is asked of people: shared cards, digests, time to read, nagging, in each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EN: Mapping[str, str] = {
    "click.read_first": "Please read it first: approving is possible in {seconds} s. Nothing was recorded.",
}

ZH: Mapping[str, str] = {
    "click.read_first": "请先阅读：{seconds} 秒后才能批准。未做任何记录。",
}
