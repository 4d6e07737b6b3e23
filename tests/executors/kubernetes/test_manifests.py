"""What any run turns into in a cluster holds against the schemas of real versions."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from importlib.resources import files

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from toolyard.core.errors import ConfigError, StartError
from toolyard.core.model import Command
from toolyard.core.placement import Run
from toolyard.core.sites import Placement, Site
from toolyard.executors.kubernetes import manifests, sidecars
from toolyard.executors.kubernetes.manifests import Ownership, label, slug
from toolyard.executors.kubernetes.options import OPTIONS, Options, read

VERSIONS = ("1.25", "1.37")
"""The oldest and the newest that we have the schemas of."""
OWNERSHIP = Ownership("hub", "one", "start", "yard", "0f0e")
OPTIONS_USED = Options(
    image="img:1", service_account="sa", pull_secret="reg", expose="ingress", ingress_class="nginx"
)
WEB = Run("web", Command(("serve",), (("KEY", "value"),)), Placement(port=8000))


@cache
def schema(version: str, kind: str, group: str) -> jsonschema_rs.Validator:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}.0-local-strict"
    found = json.loads((folder / f"{kind}-{group}.json").read_text())
    shared = json.loads((folder / "_definitions.json").read_text())

    def retrieve(uri: str) -> dict:
        assert uri.endswith("_definitions.json"), uri
        return shared

    return jsonschema_rs.Draft7Validator(found, retriever=retrieve, base_uri="json-schema:///x")


def check(manifest: dict, versions: tuple[str, ...] = VERSIONS) -> None:
    """Fail unless the manifest is what these versions take, with no field they do not know."""
    group = re.sub(r"^([^./]*)(?:\.[^/]*)?/", r"\1-", manifest["apiVersion"])
    for version in versions:
        problems = schema(version, manifest["kind"].lower(), group).iter_errors(manifest)
        assert [f"{each.instance_path}: {each.message}" for each in problems] == []


def every(run: Run, options: Options = OPTIONS_USED) -> list[dict]:
    found = [
        manifests.anchor(OWNERSHIP),
        manifests.pod(run, options, OWNERSHIP, "toolyard-x-1"),
        manifests.secret(run, OWNERSHIP, "toolyard-x-1"),
        manifests.isolation(run, OWNERSHIP, "toolyard-x-1"),
    ]
    if run.placement.port:
        found += [
            manifests.deployment(run, options, OWNERSHIP, "toolyard-x-1"),
            manifests.service(run, OWNERSHIP, "toolyard-x-1", "0a0b"),
            manifests.ingress(run, options, OWNERSHIP, "toolyard-x-1", "0a0b"),
        ]
    return found


words = st.text(max_size=80)
placements = st.builds(
    Placement,
    image=st.sampled_from(["", "registry.example.org/a/b:1"]),
    port=st.sampled_from([0, 1, 8000, 65535]),
    mounts=st.lists(
        st.sampled_from(["/a:/b", "/a:/c:rw", "pvc/claim:/d:rw", "secret/s:/e", "configmap/c:/f"]),
        unique=True,
    ).map(tuple),
    network=st.sampled_from(["", "none", "host"]),
    user=st.sampled_from(["", "0", "1000", "1000:1000", "image"]),
    memory=st.integers(0, 1 << 20),
    cpus=st.floats(0, 64),
    writable=st.booleans(),
)
variables = st.tuples(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]*", fullmatch=True), words)
commands = st.builds(
    Command,
    st.lists(words, min_size=1, max_size=4).map(tuple),
    st.lists(variables.filter(lambda pair: "\0" not in pair[1]), max_size=4).map(tuple),
    st.sampled_from([None, "/app"]),
)
runs = st.builds(Run, words, commands, placements, words)


@examples(60)
@given(runs)
def test_any_run_makes_manifests_that_real_clusters_take(run: Run) -> None:
    for manifest in every(run):
        check(manifest)
        assert len(json.dumps(manifest["metadata"]["labels"])) < 1000


@given(st.text())
def test_any_text_makes_a_label_and_a_name(text: str) -> None:
    assert re.fullmatch(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", label(text))
    assert len(label(text)) <= 63
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?", slug(text))


@given(st.text(max_size=80), st.text(max_size=80))
def test_two_texts_never_share_a_label(one: str, other: str) -> None:
    assert (label(one) == label(other)) == (one == other)


def test_a_schema_finds_a_misspelt_field() -> None:
    pod = manifests.pod(WEB, OPTIONS_USED, OWNERSHIP, "toolyard-x-1")
    pod["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(AssertionError, match="readinesProbe"):
        check(pod)


def test_values_of_the_environment_are_in_the_secret_alone() -> None:
    for manifest in every(Run("a", Command(("x",), (("TOKEN", "hunter2"),)), WEB.placement)):
        said = json.dumps(manifest)
        assert "hunter2" not in said
        if manifest["kind"] == "Secret":
            assert base64.b64decode(manifest["data"]["TOKEN"]) == b"hunter2"
        else:
            assert "TOKEN" not in said


def test_a_pod_keeps_to_the_restricted_standard_unless_told() -> None:
    spec = manifests.pod(WEB, OPTIONS_USED, OWNERSHIP, "x")["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"]["runAsUser"] != 0
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
    }


def test_a_dollar_sign_in_an_argument_stays_one() -> None:
    run = Run("a", Command(("sh", "-c", "echo $(HOME) $$ $")), Placement(image="i"))
    found = manifests.pod(run, Options(), OWNERSHIP, "x")["spec"]["containers"][0]["command"]
    assert found == ["sh", "-c", "echo $$(HOME) $$$$ $$"]


def test_an_image_starts_its_own_program_and_takes_the_arguments() -> None:
    run = Run("x", Command(("", "--verbose", "$HOME")), Placement(image="img"))
    found = manifests.pod(run, Options(), OWNERSHIP, "x")["spec"]["containers"][0]
    assert "command" not in found
    assert found["args"] == ["--verbose", "$$HOME"]


def test_a_pod_of_a_session_ends_by_itself_one_day_and_a_shared_one_does_not() -> None:
    def limit(owner: str, ttl: int) -> object:
        run = Run("a", Command(("x",)), Placement(image="i"), owner)
        return manifests.pod(run, Options(ttl=ttl), OWNERSHIP, "x")["spec"].get(
            "activeDeadlineSeconds"
        )

    assert (limit("session", 60), limit("session", 0), limit("", 60)) == (60, None, None)


def test_limits_are_those_of_the_server_or_else_of_the_executor() -> None:
    def limits(placement: Placement) -> dict:
        run = Run("a", Command(("x",)), placement)
        spec = manifests.pod(run, Options(image="i", memory=300, cpus=0.5), OWNERSHIP, "x")["spec"]
        return spec["containers"][0]["resources"]

    assert limits(Placement())["limits"] == {"memory": "300Mi", "cpu": "500m"}
    assert limits(Placement(memory=64, cpus=2))["limits"] == {"memory": "64Mi", "cpu": "2000m"}
    assert limits(Placement(memory=64, cpus=2))["requests"] == {"memory": "16Mi", "cpu": "500m"}


@pytest.mark.parametrize(
    ("placement", "env", "said"),
    [
        (Placement(), (), "names no image"),
        (Placement(image="i", user="root"), (), 'cannot run as "root"'),
        (Placement(image="i", mounts=("nonsense",)), (), "nonsense"),
        (Placement(image="i", network="blue"), (), 'no network "blue"'),
        (Placement(image="i"), (("A B", "c"),), 'the variable "A B"'),
        (Placement(image="i"), (("A", "b\0c"),), 'the variable "A"'),
    ],
)
def test_what_no_cluster_has_is_refused_with_a_hint(
    placement: Placement, env: tuple, said: str
) -> None:
    run = Run("a", Command(("x",), env), placement)
    with pytest.raises(StartError, match=said) as caught:
        every(run, Options())
    assert caught.value.hint


def test_an_argument_that_is_no_text_is_refused() -> None:
    run = Run("a", Command(("x", "\udcff")), Placement(image="i"))
    with pytest.raises(StartError, match="no text"):
        manifests.pod(run, Options(), OWNERSHIP, "x")


def site(**options: str) -> Site:
    return Site("yonder", "kubernetes", options=tuple(options.items()))


def test_an_unknown_option_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(ConfigError, match='unknown option "colour"') as caught:
        read(site(colour="blue"))
    assert all(name in caught.value.hint for name in OPTIONS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pull", "sometimes"),
        ("expose", "nodeport"),
        ("namespace", "Not A Name"),
        ("memory", "lots"),
        ("memory", "0"),
        ("ttl", "-1"),
        ("cpus", "nan"),
        ("wait", "0"),
        ("user", "root"),
        ("user", "99999999999"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_what_can(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f'{name} cannot be "{value}"') as caught:
        read(site(**{name: value}))
    assert caught.value.hint


@pytest.mark.parametrize("address", ["", "https://mcp.example.org", "{server}.example.org"])
def test_an_ingress_needs_an_address_with_the_server_in_it(address: str) -> None:
    with pytest.raises(ConfigError, match="ingress cannot be"):
        read(site(expose="ingress", ingress=address))


def test_an_ingress_leads_a_host_of_its_own_to_the_server() -> None:
    options = read(site(expose="ingress", ingress="https://{server}.mcp.example.org:8443/"))
    found = manifests.ingress(WEB, options, OWNERSHIP, "toolyard-web-1", "0a")
    assert found["spec"]["rules"][0]["host"] == "web.mcp.example.org"
    assert manifests.ingress_address(WEB, options) == "https://web.mcp.example.org:8443"


def test_the_rights_we_ship_are_what_a_cluster_takes_and_reach_no_other_namespace() -> None:
    found = list(yaml.safe_load_all(manifests.rights("elsewhere")))
    assert [each["kind"] for each in found] == ["ServiceAccount", "Role", "RoleBinding"]
    for each in found:
        check(each)
        assert each["metadata"]["namespace"] == "elsewhere"
    verbs = {verb for rule in found[1]["rules"] for verb in rule["verbs"]}
    assert verbs <= {"create", "delete", "get", "list", "watch"}


BESIDE = [
    Run("git", Command(("git-mcp",), (("TOKEN", "hunter2"),)), Placement(port=8001), "session"),
    Run("time", Command(("time-mcp",)), Placement(port=8002, mounts=("/a:/b",)), "session"),
    Run("shared", Command(("wiki",)), Placement(port=8003)),
    Run("talks", Command(("talks",)), Placement()),
]


@pytest.mark.parametrize(("native", "oldest"), [(False, "1.25"), (True, "1.29")])
def test_sidecars_are_rendered_for_an_agents_own_pod(native: bool, oldest: str) -> None:
    text = sidecars.render("claude", BESIDE, site(image="i:1", namespace="yard"), native=native)
    pod, deployment, service = yaml.safe_load_all(text)
    for each in (deployment, service):
        check(each)
    where = pod["spec"]["initContainers" if native else "containers"]
    assert [each["name"] for each in where] == ["git", "time"]
    assert where[0]["envFrom"] == [{"secretRef": {"name": "toolyard-git"}}]
    # The patch alone is no whole pod: the agent's own container comes from elsewhere.
    pod["spec"].setdefault("containers", []).append({"name": "agent", "image": "agent:1"})
    check(pod, (oldest, VERSIONS[-1]))
    assert "hunter2" not in text
    assert "kubectl create secret generic toolyard-git -n yard --from-literal=TOKEN=..." in text
    assert "# left out: talks" in text


def test_two_sidecars_on_one_port_are_refused() -> None:
    twice = [BESIDE[0], Run("other", Command(("x",)), Placement(port=8001), "session")]
    with pytest.raises(ConfigError, match="both want port 8001"):
        sidecars.render("claude", twice, site(image="i:1"))
