"""The compose file and the image are pinned, healthy and without a secret (no Docker is needed to look)."""

from __future__ import annotations

import re
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fixtures.patience import HANGS
from tests.places import ROOT

ONE_SHOT = {"migrate"}
PINNED = re.compile(r":\d+\.\d+[\w.-]*$|@sha256:[0-9a-f]{64}$")
SECRET_NAME = re.compile(r"PASSWORD|SECRET|TOKEN|KEY|DATABASE_URL")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return compose["services"]


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_every_service_tells_its_health_or_ends(services: dict[str, dict[str, Any]]) -> None:
    for name, service in services.items():
        if name in ONE_SHOT:
            assert service["restart"] == "no"
        else:
            assert service["healthcheck"]["test"][0] == "CMD", name


def test_every_image_is_pinned(services: dict[str, dict[str, Any]], dockerfile: str) -> None:
    images = [service["image"] for service in services.values()] + re.findall(
        r"^FROM (\S+)", dockerfile, flags=re.MULTILINE
    )

    assert [image for image in images if not PINNED.search(image)] == []


def test_two_gateways_stand_behind_one_port(services: dict[str, dict[str, Any]]) -> None:
    gateways = sorted(name for name, service in services.items() if service.get("command", [""])[0] == "serve")
    proxy = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")

    assert len(gateways) == 2
    assert sorted(re.findall(r"^\s*server (\S+):8080", proxy, flags=re.MULTILINE)) == gateways
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert services["proxy"]["ports"] == ["${PUBLISH_ADDRESS:-127.0.0.1}:${ASSENT_PORT:-8080}:8080"]  # plain HTTP


def test_gateways_start_after_the_migrations_and_those_after_the_database(services: dict[str, dict[str, Any]]) -> None:
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    for name in ("gateway-a", "gateway-b"):
        assert services[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def test_no_secret_stands_in_the_file(services: dict[str, dict[str, Any]]) -> None:
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if SECRET_NAME.search(name):
                assert re.search(r"\$\{\w+:[?-]", value), name


def test_what_must_be_set_is_asked_for(services: dict[str, dict[str, Any]]) -> None:
    gateway = services["gateway-a"]["environment"]

    for name in ("ASSENT_DATABASE_URL", "ASSENT_SECRET", "ASSENT_OPERATIONS_TOKEN"):
        assert re.search(r"\$\{\w+:\?say .+\}", gateway[name])


def test_the_gateways_connect_as_a_role_that_row_security_binds(services: dict[str, dict[str, Any]]) -> None:
    roles = (ROOT / "deploy" / "roles.sh").read_text(encoding="utf-8")

    assert "//assent_app:" in services["gateway-a"]["environment"]["ASSENT_DATABASE_URL"]
    assert re.search(r"CREATE ROLE assent_app LOGIN NOSUPERUSER .*NOBYPASSRLS", roles)
    assert "//assent_owner:" in services["migrate"]["environment"]["ASSENT_DATABASE_URL"]


def test_every_mounted_file_is_in_the_checkout(services: dict[str, dict[str, Any]]) -> None:
    mounted = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    ours = {path for path in mounted if path.startswith("./")} - {"./assent.yaml"}  # the operator's own

    assert ours
    assert [path for path in ours if not (ROOT / path).is_file()] == []


def test_the_image_runs_without_root_from_pinned_requirements(dockerfile: str) -> None:
    final = dockerfile.rpartition("\nFROM ")[2]

    assert re.search(r"^USER [1-9]\d+:[1-9]\d+$", final, flags=re.MULTILINE)  # a name proves nothing to Kubernetes
    assert "HEALTHCHECK" in final
    assert "/healthz" in final
    for install in re.findall(r"pip install ([^&\n]*)", dockerfile):
        assert "--require-hashes" in install or "--no-index" in install


@pytest.mark.process
def test_the_linter_of_dockerfiles_has_nothing_to_say(tmp_path: Path) -> None:
    def lint(path: Path) -> subprocess.CompletedProcess[str]:
        words = [Path(sys.executable).with_name("hadolint"), "--no-color", "--failure-threshold", "style", path]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANGS)

    done = lint(ROOT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")
    spoiled = tmp_path / "Dockerfile"
    spoiled.write_text("FROM debian\nRUN cd /tmp && apt-get install curl\n")
    assert lint(spoiled).returncode == 1


def test_the_gateways_listen_where_the_proxy_can_reach_them() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for name in ("gateway-a", "gateway-b"):
        assert compose["services"][name]["environment"]["ASSENT_HOST"] == "0.0.0.0"


def test_a_restored_database_is_noticed_by_both_gateways_and_a_role_takes_backups(
    services: dict[str, dict[str, Any]],
) -> None:
    roles = (ROOT / "deploy" / "roles.sh").read_text(encoding="utf-8")

    for name in ("gateway-a", "gateway-b"):
        folder = services[name]["environment"]["ASSENT_STATE_DIR"]
        assert f"state:{folder}" in services[name]["volumes"]
        assert folder in (ROOT / "Dockerfile").read_text(encoding="utf-8")  # the gateway's account owns it
    assert re.search(r"CREATE ROLE assent_backup LOGIN NOSUPERUSER .*NOBYPASSRLS", roles)
    assert re.search(r"GRANT SELECT ON TABLES TO assent_backup", roles)


def test_the_gateways_believe_the_proxy_and_nobody_else_about_addresses(
    compose: dict[str, Any], services: dict[str, dict[str, Any]]
) -> None:
    address = ip_address(services["proxy"]["networks"]["default"]["ipv4_address"])
    [pool] = compose["networks"]["default"]["ipam"]["config"]

    for name in ("gateway-a", "gateway-b"):
        assert services[name]["environment"]["ASSENT_TRUSTED_PROXIES"] == str(address)
    assert address in ip_network(pool["subnet"])
    assert address not in ip_network(pool["ip_range"])  # or another service could get it first
