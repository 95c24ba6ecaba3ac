"""The manifests by Kubernetes' own schemas, with no field that it would drop; nothing here ran in a cluster."""

from __future__ import annotations

import copy
import re
import subprocess
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.policies.file.policy_book import config_check
from app.serve import STOPS_WITHIN
from channels import registry
from tests.deploy.programs import needs, place_of
from tests.deploy.shipped import IMAGE, KUBERNETES, compose, manifests, pods
from tests.fixtures.patience import HANGS
from tests.places import ROOT

OLDEST = "1.30"
NEWEST = "1.37"
INSTALLING = (ROOT / "docs/installing.md").read_text(encoding="utf-8")


def check(manifest: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_manifest_fits_its_schema(version: str) -> None:
    for manifest in manifests().values():
        check(manifest, version)


def test_a_misspelt_field_is_seen() -> None:
    manifest = copy.deepcopy(manifests()["Deployment/assent"])
    [gateway] = manifest["spec"]["template"]["spec"]["containers"]
    gateway["readinesProbe"] = gateway.pop("readinessProbe")
    with pytest.raises(kubernetes_validate.ValidationError, match="readinesProbe"):
        check(manifest, NEWEST)


def test_the_oldest_version_that_the_pages_name_is_the_one_that_is_checked() -> None:
    said = [INSTALLING, (KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8")]
    assert [re.findall(r"Kubernetes (\d\.\d+) or newer", page) for page in said] == [[OLDEST], [OLDEST]]


def test_kustomize_applies_everything_but_the_migration_which_comes_before() -> None:
    whole = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8"))
    assert set(whole) == {"apiVersion", "kind", "resources"}
    files = {path.name for path in KUBERNETES.glob("*.yaml")}
    assert set(whole["resources"]) == files - {"kustomization.yaml", "migrate.yaml"}
    for step in ("apply -f deploy/kubernetes/migrate.yaml", "job/assent-migrate", "apply -k deploy/kubernetes"):
        assert step in INSTALLING


@pytest.mark.process
@needs("kubectl")
def test_kustomize_itself_builds_just_what_the_files_say() -> None:
    command = [place_of("kubectl"), "kustomize", str(KUBERNETES)]
    built = subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANGS).stdout
    made = {f"{each['kind']}/{each['metadata']['name']}": each for each in yaml.safe_load_all(built)}
    assert made == {name: each for name, each in manifests().items() if name != "Job/assent-migrate"}
    for each in made.values():
        check(each, NEWEST)


def test_no_manifest_names_a_namespace() -> None:
    assert [name for name, each in manifests().items() if "namespace" in each["metadata"]] == []


def test_no_pod_runs_as_root_or_may_become_it() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    [(user, group)] = re.findall(r"^USER (\d+):(\d+)$", dockerfile, re.MULTILINE)
    found = dict(pods())
    assert set(found) == {"Deployment/assent", "Job/assent-migrate", "CronJob/assent-backup"}
    for name, pod in found.items():
        context = pod["securityContext"]
        assert (context["runAsNonRoot"], str(context["runAsUser"]), str(context["runAsGroup"])) == (
            True,
            user,
            group,
        ), name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            assert {"requests", "limits"} == set(container["resources"])
            assert {"mountPath": "/tmp", "name": "tmp"} in container["volumeMounts"]


def test_secrets_are_mounted_files_that_only_the_pod_s_user_reads_and_every_one_is_made_on_the_page() -> None:
    for name, pod in pods():
        held = {each["name"]: each.get("secret") or each.get("projected") for each in pod["volumes"]}
        assert held["secrets"]["defaultMode"] == 0o440, name
        for container in pod["containers"]:
            for each in container.get("env", ()):
                assert "valueFrom" not in each
                assert each["name"].endswith("_FILE") or not re.search("SECRET|TOKEN|URL|PASSWORD", each["name"])
    [gateway] = manifests()["Deployment/assent"]["spec"]["template"]["spec"]["containers"]
    mounted = {each["name"]: each["value"] for each in gateway["env"] if each["name"].endswith("_FILE")}
    assert mounted == {name: f"/run/secrets/assent/{name.removesuffix('_FILE')}" for name in mounted}
    made = re.search(r"create secret generic assent .*?\n\n", INSTALLING, re.DOTALL)
    assert made
    assert {f"{key}_FILE" for key in re.findall(r"--from-\w+=([A-Z_]+)", made[0])} == set(mounted)
    for name in ("assent-owner", "assent-backup"):
        assert f"create secret generic {name} " in INSTALLING


def test_the_file_in_the_config_map_loads_with_the_secrets_that_are_mounted(tmp_path: Any) -> None:
    written = manifests()["ConfigMap/assent-config"]["data"]["assent.yaml"]
    (tmp_path / "assent.yaml").write_text(written)
    [gateway] = manifests()["Deployment/assent"]["spec"]["template"]["spec"]["containers"]
    environ = dict[str, str]()
    for each in gateway["env"]:
        if each["name"].endswith("_FILE"):
            place = tmp_path / each["name"]
            place.write_text(f"xoxb-{'0' * 32}\n")
            environ[each["name"]] = str(place)
    faults = config_check(tmp_path / "assent.yaml", environ=environ, channel_types=registry.platforms())
    assert [str(fault) for fault in faults] == []


def test_a_pod_has_the_time_that_its_stop_takes() -> None:
    pod = manifests()["Deployment/assent"]["spec"]["template"]["spec"]
    [gateway] = pod["containers"]
    before = gateway["lifecycle"]["preStop"]["sleep"]["seconds"]
    grace = int(compose()["services"]["gateway-a"]["stop_grace_period"].removesuffix("s"))
    assert grace > STOPS_WITHIN
    assert pod["terminationGracePeriodSeconds"] >= before + grace


def test_what_selects_the_gateways_selects_them_and_nothing_else() -> None:
    deployment = manifests()["Deployment/assent"]["spec"]
    theirs = deployment["template"]["metadata"]["labels"]
    selectors = [
        deployment["selector"]["matchLabels"],
        manifests()["Service/assent"]["spec"]["selector"],
        manifests()["PodDisruptionBudget/assent"]["spec"]["selector"]["matchLabels"],
        *(each["labelSelector"]["matchLabels"] for each in deployment["template"]["spec"]["topologySpreadConstraints"]),
    ]
    assert all(each == theirs for each in selectors)
    others = [
        manifests()["Job/assent-migrate"]["spec"]["template"]["metadata"]["labels"],
        manifests()["CronJob/assent-backup"]["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"],
    ]
    policy = manifests()["NetworkPolicy/assent"]["spec"]["podSelector"]["matchLabels"]
    for labels in others:
        assert labels != theirs
        assert policy.items() <= labels.items()
    assert policy.items() <= theirs.items()
    assert deployment["replicas"] >= 2 > manifests()["PodDisruptionBudget/assent"]["spec"]["maxUnavailable"]


def test_what_is_mounted_is_there() -> None:
    claims = {
        each["metadata"]["name"] for name, each in manifests().items() if name.startswith("PersistentVolumeClaim/")
    }
    for _, pod in pods():
        volumes = {each["name"]: each for each in pod["volumes"]}
        for container in pod["containers"]:
            assert {each["name"] for each in container["volumeMounts"]} == set(volumes)
        for each in volumes.values():
            if "persistentVolumeClaim" in each:
                assert each["persistentVolumeClaim"]["claimName"] in claims
    assert manifests()["PersistentVolumeClaim/assent-state"]["spec"]["accessModes"] == ["ReadWriteMany"]


def test_every_part_runs_the_same_release() -> None:
    ours = {each["image"] for _, pod in pods() for each in pod["containers"] if each["image"].startswith(IMAGE)}
    ours |= {each["image"] for each in compose()["services"].values() if each.get("image", "").startswith(IMAGE)}
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version
    assert ours == {f"{IMAGE}:{version[1]}"}
    backup = next(each for name, pod in pods() if "backup" in name for each in pod["containers"])
    assert backup["image"] == compose()["services"]["postgres"]["image"]
