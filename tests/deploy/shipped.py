"""What ships to run the gateway with, read: manifests, the compose file, the unit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

KUBERNETES = ROOT / "deploy/kubernetes"
IMAGE = "assent-gateway"


@cache
def manifests() -> dict[str, dict[str, Any]]:
    """Read every manifest, by its kind and name, `Job/assent-migrate`; what belongs to kustomize alone is left out."""
    found = [
        each
        for path in sorted(KUBERNETES.glob("*.yaml"))
        if path.name != "kustomization.yaml"
        for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    ]
    named = {f"{each['kind']}/{each['metadata']['name']}": each for each in found}
    assert len(named) == len(found)
    return named


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what each workload runs: the pod's spec, by the workload's name."""
    for name, each in manifests().items():
        spec = each.get("spec", {})
        spec = spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec
        if "template" in spec:
            yield name, spec["template"]["spec"]


def gateways() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the containers of the manifests and of compose that run our image: its name and what it says."""
    for name, pod in pods():
        yield from ((name, each) for each in pod["containers"] if each["image"].startswith(IMAGE))
    for name, service in compose()["services"].items():
        if service.get("image", "").startswith(IMAGE):
            yield f"compose/{name}", service


@cache
def compose() -> dict[str, Any]:
    """Read docker-compose.yml."""
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
