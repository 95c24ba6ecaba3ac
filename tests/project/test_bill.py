"""What the image is made of is told, up to date, and under licences that it may be made of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.places import ROOT
from tests.project import bill
from tests.project.test_locks import pins

pytestmark = pytest.mark.process

REGENERATE = "run `make sbom`"
ELSEWHERE = {"colorama", "httpx2-jsfetch"}
"""What only other systems install (the lock says for which)."""


@pytest.mark.heavy
def test_no_package_comes_in_under_a_licence_that_is_not_allowed() -> None:
    assert {package.name: found for package in bill.packages() if (found := bill.refused(package))} == {}
    assert {package.name for package in bill.packages() if not package.licences} <= ELSEWHERE


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "MIT OR AGPL-3.0", "UNKNOWN", "LGPL-3.0-only", "MPL-2.0"])
def test_another_licence_is_refused(licence: str) -> None:
    one = next(package for package in bill.packages() if package.name == "fastapi")
    assert bill.refused(replace(one, licences=("MIT", licence))) == [licence.rpartition(" OR ")[2]]


def test_the_bill_of_materials_is_of_this_lock_and_fits_its_schema() -> None:
    text = bill.BILL.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert text == bill.bill(), REGENERATE
    assert dict(re.findall(r'"purl": "pkg:pypi/(.+)@(.+)"', text)) == pins("gateway")
    spoiled = text.replace('"id": "ISC"', '"id": "The ISC"')
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(spoiled) is not None


def test_the_notices_name_every_package_with_its_licence_and_hold_its_text() -> None:
    text = bill.NOTICES.read_text(encoding="utf-8")
    heads = set(text.partition("\n=")[0].splitlines())
    here = [package for package in bill.packages() if package.licences]
    assert [package.name for package in here if bill.head_of(package) not in heads] == [], REGENERATE
    assert len(heads - {""}) == len(here) + 1
    told = {name for line in re.findall(r"^={100}\n(.+)\n={100}$", text, re.MULTILINE) for name in line.split(", ")}
    assert told == {package.name for package in here}, REGENERATE


def test_both_are_in_the_image() -> None:
    last = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    [copied] = re.findall(r"^COPY (.*) /usr/share/doc/assent/$", last, re.MULTILINE)
    assert set(copied.split()) == {"LICENSE", bill.BILL.name, bill.NOTICES.name}
    context = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied.split()} <= set(context)
    built: Any = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["x-gateway"]["build"]
    assert built == "."
