"""The chart, and the plain manifests beside it: Kubernetes takes them, and they say the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from scripts.manifests import CHART, RENDERINGS, TARGET, digest, render
from tests.executors.kubernetes.test_manifests import check
from toolyard import __version__
from toolyard.settings import SETTINGS

WHOLE = ("toolyard.yaml", "with-postgresql.yaml")
FOREIGN = {"ServiceMonitor"}
"""Kinds that Kubernetes itself does not have, and has no schema of."""
# Before tests get a home of their own.
_BUILT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "toolyard-helm", "helm")
HELM = shutil.which("helm") or (str(_BUILT) if _BUILT.exists() else "")
VARIABLES = {setting.variable for setting in SETTINGS} | {"PGPASSWORD", "POD_IP"}
Manifests = dict[tuple[str, str], dict]


def manifests(text: str) -> Manifests:
    """The objects of a file, by kind and name."""
    objects = [manifest for manifest in yaml.safe_load_all(text) if manifest]
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects}


def plain(name: str) -> Manifests:
    """The objects of one of our files."""
    return manifests((TARGET / name).read_text("utf-8"))


def pod_of(objects: Manifests, kind: str = "Deployment", name: str = "toolyard") -> dict:
    """The pod that one of the objects makes."""
    pod: dict = objects[kind, name]["spec"]["template"]["spec"]
    return pod


def environment(pod: dict) -> dict[str, str | None]:
    """The variables of a pod; None for those that come from elsewhere."""
    return {variable["name"]: variable.get("value") for variable in pod["containers"][0]["env"]}


@pytest.fixture
def helm() -> str:
    """The Helm of this machine."""
    if not HELM:
        pytest.skip("there is no Helm; scripts/helm.sh builds one")
    return HELM


@pytest.mark.parametrize("name", RENDERINGS)
def test_plain_manifests_are_made_from_this_chart(name: str) -> None:
    assert f"sha256 {digest()}\n" in (TARGET / name).read_text("utf-8"), "run: make manifests"


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize("name", RENDERINGS)
def test_kubernetes_knows_every_field(name: str) -> None:
    checked = [manifest for (kind, _), manifest in plain(name).items() if kind not in FOREIGN]
    for manifest in checked:
        check(manifest)

    assert checked


@pytest.mark.parametrize("name", WHOLE)
def test_every_variable_of_the_hub_is_a_setting_of_ours(name: str) -> None:
    assert set(environment(pod_of(plain(name)))) <= VARIABLES


@pytest.mark.parametrize(
    ("file", "kind", "name"),
    [
        ("toolyard.yaml", "Deployment", "toolyard"),
        ("with-postgresql.yaml", "StatefulSet", "toolyard-postgresql"),
    ],
)
def test_a_pod_has_no_rights_and_a_read_only_root(file: str, kind: str, name: str) -> None:
    pod = pod_of(plain(file), kind, name)
    inner = pod["containers"][0]["securityContext"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert inner["readOnlyRootFilesystem"] is True
    assert inner["allowPrivilegeEscalation"] is False
    assert inner["capabilities"] == {"drop": ["ALL"]}


def test_an_update_takes_no_replica_away_before_its_successor_serves() -> None:
    objects = plain("toolyard.yaml")
    pod = pod_of(objects)
    delay = int(environment(pod)["TOOLYARD_DRAIN_DELAY"] or "")

    rolling = objects["Deployment", "toolyard"]["spec"]["strategy"]["rollingUpdate"]
    assert rolling["maxUnavailable"] == 0
    assert pod["terminationGracePeriodSeconds"] > delay + 30
    assert objects["PodDisruptionBudget", "toolyard"]["spec"]["maxUnavailable"] == 1


def test_probes_go_to_their_own_port() -> None:
    pod = pod_of(plain("toolyard.yaml"))
    container = pod["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert environment(pod)["TOOLYARD_PROBE_PORT"] == str(ports["probes"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] == "probes"


def test_replicas_with_a_database_have_a_door_that_only_they_reach() -> None:
    objects = plain("with-postgresql.yaml")
    pod = pod_of(objects)
    ports = {port["name"]: port["containerPort"] for port in pod["containers"][0]["ports"]}
    variables = environment(pod)
    rules = objects["NetworkPolicy", "toolyard"]["spec"]["ingress"]
    labels = objects["Deployment", "toolyard"]["spec"]["template"]["metadata"]["labels"]

    assert variables["TOOLYARD_PEER_PORT"] == str(ports["peers"])
    assert variables["TOOLYARD_PEER_HOST"] == "$(POD_IP)"
    assert [rule["from"] for rule in rules if rule["ports"] == [{"port": "peers"}]] == [
        [{"podSelector": {"matchLabels": labels}}]
    ]


def test_replicas_without_a_database_have_no_door_for_each_other() -> None:
    variables = environment(pod_of(plain("toolyard.yaml")))

    assert not {name for name in variables if "PEER" in name}


@pytest.mark.parametrize("name", RENDERINGS)
def test_no_secret_is_in_a_manifest(name: str) -> None:
    objects = plain(name)
    values = [
        variable.get("value")
        for (kind, made), _ in objects.items()
        if kind in ("Deployment", "StatefulSet")
        for variable in pod_of(objects, kind, made)["containers"][0]["env"]
        if any(word in variable["name"] for word in ("TOKEN", "KEY", "PASSWORD"))
    ]

    assert "Secret" not in {kind for kind, _ in objects}
    assert set(values) <= {None}


def test_with_a_database_no_file_of_servers_is_read() -> None:
    objects = plain("with-postgresql.yaml")
    variables = environment(pod_of(objects))

    assert variables["TOOLYARD_DATABASE"] == "postgresql://toolyard@toolyard-postgresql/toolyard"
    assert "TOOLYARD_CONFIG" not in variables
    assert ("ConfigMap", "toolyard") not in objects
    assert objects["Service", "toolyard-postgresql"]["spec"]["ports"][0]["port"] == 5432


@pytest.mark.parametrize("name", RENDERINGS)
def test_helm_renders_the_same(helm: str, name: str) -> None:
    text = (TARGET / name).read_text("utf-8")

    assert render(helm, *RENDERINGS[name]) == text.split("\n", 2)[2]


def test_values_reach_the_hub(helm: str) -> None:
    objects = manifests(
        render(
            helm,
            "--set=servers.docs.url=https://example.com/mcp",
            "--set=settings.TOOLYARD_EXPOSE=search",
            "--set=public=https://mcp.example.com",
            "--set=networkPolicy.from[0].namespaceSelector.matchLabels.team=web",
        )
    )
    for manifest in objects.values():
        check(manifest)
    servers = yaml.safe_load(objects["ConfigMap", "toolyard"]["data"]["servers.json"])
    variables = environment(pod_of(objects))

    assert servers == {"mcpServers": {"docs": {"url": "https://example.com/mcp"}}}
    assert variables["TOOLYARD_EXPOSE"] == "search"
    assert variables["TOOLYARD_PUBLIC"] == "https://mcp.example.com"


def test_other_servers_roll_the_replicas(helm: str) -> None:
    before, after = (
        manifests(render(helm, f"--set=servers.docs.url=https://{host}.example.com/mcp"))
        for host in ("one", "two")
    )

    def template(objects: Manifests) -> dict:
        template: dict = objects["Deployment", "toolyard"]["spec"]["template"]
        return template

    assert template(before) != template(after)


@pytest.mark.parametrize(
    "values",
    [
        ("--set=database.bundled=true", "--set=database.url=postgresql://db/x"),
        ("--set=database.bundled=true", "--set=servers.docs.url=https://example.com/mcp"),
    ],
)
def test_values_that_contradict_each_other_are_refused(helm: str, values: tuple[str, ...]) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        render(helm, *values)
