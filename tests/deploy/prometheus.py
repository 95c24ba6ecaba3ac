"""Prometheus' own engine, fed with what real gateways were scraped for: `promtool` judges rules over given samples."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.programs import place_of
from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ALERTS = ROOT / "deploy/alerts.yaml"
TARGET = {"job": "assent", "instance": "gateway:8000"}
"""What Prometheus says of where it scraped."""
_SELECTOR = re.compile(r"\b((?:assent|process)_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"([^\"]*)\"")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


def rules() -> dict[str, dict[str, Any]]:
    """Return the alerts that ship, by name."""
    [group] = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    found = {rule["alert"]: rule for rule in group["rules"]}
    assert len(found) == len(group["rules"])
    return found


def selectors(query: str) -> list[tuple[str, dict[str, str]]]:
    """Return the figures that a query selects, each with the values that it compares labels with."""
    return [(name, dict(_MATCHER.findall(matchers or ""))) for name, matchers in _SELECTOR.findall(query)]


def grouped_by(query: str) -> set[str]:
    """Return the labels that a query keeps apart."""
    return {label.strip() for labels in _GROUPED.findall(query) for label in labels.split(",")}


@dataclass(frozen=True, slots=True)
class Lasting:
    """What every scrape of so many minutes found; None: nobody answered."""

    minutes: int
    scrape: str | None


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a query answers with anything at a minute."""

    query: str
    minute: int
    answers: bool = True


def _samples(scrape: str, wanted: set[str]) -> Iterator[tuple[str, str]]:
    for family in text_string_to_metric_families(scrape):
        for sample in family.samples:
            if sample.name not in wanted:
                continue
            labels = {**sample.labels, **TARGET}
            inside = ",".join(f"{name}={yaml_text(value)}" for name, value in labels.items())
            yield f"{sample.name}{{{inside}}}", "_" if math.isnan(sample.value) else repr(float(sample.value))


def yaml_text(text: str) -> str:
    """Quote a label's value as PromQL does."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _series(story: Sequence[Lasting], wanted: set[str]) -> list[dict[str, str]]:
    known: dict[str, list[str]] = {}
    minutes = 0
    for part in story:
        found = dict(_samples(part.scrape, wanted)) if part.scrape is not None else {}
        for name in {*known, *found}:
            values = known.setdefault(name, ["_"] * minutes)
            # What is no longer told of is over at once, as for a server that scrapes.
            values += [found[name]] * part.minutes if name in found else ["stale", *["_"] * (part.minutes - 1)]
        minutes += part.minutes
    return [{"series": name, "values": " ".join(values)} for name, values in known.items()]


async def judged(folder: Path, stories: Sequence[tuple[Sequence[Lasting], Sequence[Check]]]) -> str:
    """Let Prometheus evaluate the alerts over each story, minute for minute; return what is not as it was checked."""
    asked = [*(rule["expr"] for rule in rules().values()), *(check.query for _, checks in stories for check in checks)]
    wanted = {name for query in asked for name, _ in selectors(query)}
    tests = [
        {
            "interval": "1m",
            "input_series": _series(story, wanted),
            "promql_expr_test": [
                {
                    "expr": f"count({check.query}) > bool 0 or vector(0)",
                    "eval_time": f"{check.minute}m",
                    "exp_samples": [{"labels": "{}", "value": int(check.answers)}],
                }
                for check in checks
            ],
        }
        for story, checks in stories
    ]
    file = folder / "stories.yaml"
    text = yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests})
    await asyncio.to_thread(file.write_text, text)
    running = await asyncio.create_subprocess_exec(
        place_of("promtool"),
        "test",
        "rules",
        str(file),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await running.communicate()
    return "" if running.returncode == 0 else said.decode()


def fires(alert: str) -> str:
    """Return the query that answers while an alert fires."""
    return f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
