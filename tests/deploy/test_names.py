"""What the shipped files name exists in the code: variables, commands, options, routes, ports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from app.cli import commands as command_line
from app.settings import IN_FILES, Settings
from tests.deploy.shipped import gateways, manifests
from tests.places import ROOT
from tests.project.test_docs_both_ways import existing_routes

if TYPE_CHECKING:
    from tests.fixtures.gateway import Gateway

VARIABLES = {f"ASSENT_{name.upper()}" for name in Settings.model_fields} | {
    f"ASSENT_{name.upper()}_FILE" for name in IN_FILES
}
FILES = (
    "docker-compose.yml",
    "Dockerfile",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "deploy").rglob("*") if path.is_file()),
)
OF_COMPOSE = {"ASSENT_APP_PASSWORD", "ASSENT_OWNER_PASSWORD", "ASSENT_BACKUP_PASSWORD"}
"""What compose asks for besides, for the roles of the database (ASSENT_PORT is a setting, too)."""


def environ_of(container: dict[str, Any]) -> dict[str, str]:
    if "env" in container:
        return {each["name"]: str(each["value"]) for each in container["env"]}
    return container["environment"]


def test_every_variable_is_one_that_is_read() -> None:
    named = {
        (path, name)
        for path in FILES
        for name in re.findall(r"\bASSENT_[A-Z_]+[A-Z]\b", (ROOT / path).read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert {(path, name) for path, name in named if name not in VARIABLES | OF_COMPOSE} == set()


def test_every_command_and_option_is_one() -> None:
    tree = typer.main.get_command(command_line.app)
    seen = set[str]()
    for name, container in gateways():
        words = container.get("args") or container["command"]
        context = typer.Context(tree)
        command = tree.get_command(context, words[0])  # type: ignore[attr-defined]
        assert command is not None, name
        options = {option for each in command.params for option in each.opts}
        assert {word for word in words[1:] if word.startswith("-")} <= options, name
        seen.add(words[0])
    assert seen == {"serve", "migrate"}


async def test_every_probe_asks_a_route_at_a_port_that_is_listened_on(gateway: Gateway) -> None:
    served = {route.removeprefix("GET ") for route in existing_routes(gateway) if route.startswith("GET ")}
    asked = list[tuple[str, str, str]]()
    for name, container in gateways():
        port = environ_of(container).get("ASSENT_PORT", "8080")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if probe in container:
                call = container[probe]["httpGet"]
                named = {each["name"]: str(each["containerPort"]) for each in container["ports"]}
                assert named[call["port"]] == port
                asked.append((name, probe, call["path"]))
        for path in re.findall(r"127\.0\.0\.1:(\d+)(/\w+)", str(container.get("healthcheck", ""))):
            assert path[0] == port
            asked.append((name, "healthcheck", path[1]))
        if environ_of(container).get("ASSENT_HOST"):
            assert environ_of(container)["ASSENT_HOST"] == "0.0.0.0"
    assert {path for _, _, path in asked} == {"/healthz", "/readyz"}
    assert {path for _, _, path in asked} <= served
    assert {probe: path for name, probe, path in asked if name == "Deployment/assent"} == {
        "startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz",
    }  # fmt: skip
    assert Settings.model_fields["port"].default == 8080
    [port] = manifests()["Service/assent"]["spec"]["ports"]
    assert port["targetPort"] == "http"
