"""Dotted paths into arguments."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.text.paths import list_values, values_at


@pytest.mark.parametrize("path", ["a", "b", "b.c", "b.c.d", "b.e", "no", "no.a", "b.c.d.e", "", "a.b"])
def test_a_path_of_one_name_leads_where_its_descent_does(path: str) -> None:
    arguments: dict[str, Any] = {"a": 1, "b": [{"c": {"d": 2}, "e": None}, {"c": 3}], "": [4], "a.b": 5}
    assert list_values(arguments, path) == [value for _, value in values_at(arguments, path)]
