"""What was found about a request is remembered for as long as nothing changed of what it depends on."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from app.domain.rules.policy import Policy
from app.domain.rules.rule import Then
from app.domain.text.language import Language
from app.usecases.reading import warned
from app.usecases.reading.warned import WarnedBefore, warned_of
from tests.domain.samples import a_call, a_request

if TYPE_CHECKING:
    from app.domain.request.request import ConfirmationRequest

POLICY = Policy(org="acme", version="p1", default=Then.DENY)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note whose warnings are looked for."""
    seen: list[str] = []

    def noted(request: ConfirmationRequest, *rest: Any) -> Any:
        seen.append(request.id)
        return warned_of(request, *rest)

    monkeypatch.setattr(warned, "warned_of", noted)
    return seen


def request_of(name: str, payee: str = "\u0410cme") -> ConfirmationRequest:
    return a_request(id=name, call=a_call(arguments={"payee": payee}), pinned=("payee",))


async def test_a_request_is_looked_through_once_and_again_when_it_or_the_file_changed(looked_at: list[str]) -> None:
    memory, request = WarnedBefore(), request_of("a")
    first = await memory.of([request, request_of("b")], POLICY, [None, None])
    assert await memory.of([request_of("b"), request], POLICY, [None, None]) == first[::-1]
    assert looked_at == ["a", "b"]

    edited = replace(request_of("a", "Acme"), digest="0" * 64)
    assert await memory.of([edited], POLICY, [None]) == [()]
    in_chinese = dataclasses.replace(POLICY, version="p2", language=Language.ZH)
    assert (await memory.of([request], in_chinese, [None]))[0][0].text.endswith("可能在冒充其他名称。")
    assert looked_at == ["a", "b", "a", "a"]


async def test_what_was_not_asked_for_the_longest_is_forgotten_first(
    looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warned, "_REMEMBERED", 2)
    memory = WarnedBefore()
    for name in ("a", "b", "a", "c", "a", "b"):
        await memory.of([request_of(name)], POLICY, [None])
    assert looked_at == ["a", "b", "c", "b"]
