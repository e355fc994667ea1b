"""Claims about the manifests: Kubernetes takes them, one bot an account, least rights, they fit."""

import copy
import json
import re
import shutil
import subprocess
import urllib.parse

import pytest
import yaml

from bot.config.bot_config import finish, read_draft
from bot.io.run.runner import DRAIN_NS
from bot.io.status.control import TOKEN_NAME
from tests.builders.deploy.container import (
    DEPLOY,
    SERIES,
    compose,
    manifests,
    of_kind,
    pod,
    stages,
    understood,
)
from tests.builders.house.tree import ROOT
from venue.wire.instant import NS_PER_SECOND

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="make setup")

VERSIONS = ("1.30", "1.37")
"""The oldest that is meant, and the newest whose schemas there are."""

DEPLOYMENTS = of_kind("Deployment")
NAMES = [f"{each['kind']}/{each['metadata']['name']}" for each in manifests()]
SERIES_NAME = "laddermaker-aurelia-val"


def container(name: str):
    (only,) = pod(DEPLOYMENTS[name])["containers"]
    return only


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("manifest", manifests(), ids=NAMES)
def test_every_manifest_is_valid_by_the_schema(manifest, version):
    kubernetes_validate.validate(manifest, version, strict=True)


def test_the_schema_check_finds_a_misspelt_key():
    wrong = copy.deepcopy(DEPLOYMENTS["bot"])
    wrong["spec"]["strategey"] = wrong["spec"].pop("strategy")
    with pytest.raises(kubernetes_validate.ValidationError, match="strategey"):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("name", ["bot", "reaper"])
def test_there_is_one_pod_and_the_old_one_ends_before_the_new_one_starts(name):
    spec = DEPLOYMENTS[name]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]


def test_only_one_pod_can_mount_the_state():
    assert of_kind("PersistentVolumeClaim")["bot-state"]["spec"]["accessModes"] == [
        "ReadWriteOncePod"
    ]


@pytest.mark.parametrize("name", ["bot", "reaper"])
def test_a_container_has_least_privileges_and_bounded_resources(name):
    context = pod(DEPLOYMENTS[name])["securityContext"]
    user = stages()[-1].last("USER")
    assert user is not None
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == user.text
    assert context["runAsNonRoot"] is True
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(name)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(DEPLOYMENTS[name])["automountServiceAccountToken"] is False
    resources = container(name)["resources"]
    assert set(resources["requests"]) == set(resources["limits"]) == {"cpu", "memory"}


def test_the_namespace_admits_only_restricted_pods():
    labels = of_kind("Namespace")["laddermaker"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.parametrize("name", ["bot", "reaper"])
def test_a_pod_has_more_time_to_stop_than_a_drain_takes(name):
    grace_ns = pod(DEPLOYMENTS[name])["terminationGracePeriodSeconds"] * NS_PER_SECOND
    assert grace_ns >= DRAIN_NS + 5 * NS_PER_SECOND


@pytest.mark.parametrize(("name", "own"), [("bot", "bot-key"), ("reaper", "reaper-key")])
def test_a_pod_sees_only_its_own_key_and_a_valid_command(name, own):
    volumes = pod(DEPLOYMENTS[name])["volumes"]
    assert [v["secret"]["secretName"] for v in volumes if "secret" in v] == [own]
    assert "env" not in container(name)
    assert "envFrom" not in container(name)
    understood("bot", container(name)["args"])
    mounted = {mount["name"] for mount in container(name)["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod(DEPLOYMENTS[name])["volumes"]}


def test_liveness_asks_if_the_bot_decides_and_readiness_if_it_quotes():
    bot = container("bot")
    assert bot["startupProbe"]["exec"] == bot["livenessProbe"]["exec"]
    assert bot["livenessProbe"]["exec"]["command"] == ["bot-health", "--live"]
    ready = bot["readinessProbe"]["httpGet"]
    assert (ready["path"], ready["port"]) == ("/healthz", bot["ports"][0]["name"])
    assert ready["httpHeaders"] == [{"name": "Host", "value": "localhost"}]


def test_the_disruption_budget_spans_bot_and_reaper():
    budget = of_kind("PodDisruptionBudget")["bot-or-reaper"]["spec"]
    wanted = budget["selector"]["matchLabels"].items()
    for deployment in DEPLOYMENTS.values():
        assert wanted <= deployment["spec"]["template"]["metadata"]["labels"].items()
    assert budget["minAvailable"] == 1


def test_the_reaper_avoids_the_node_of_the_bot():
    rules = pod(DEPLOYMENTS["reaper"])["affinity"]["podAntiAffinity"]
    (rule,) = rules["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = rule["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert labels == DEPLOYMENTS["bot"]["spec"]["template"]["metadata"]["labels"]


def test_every_network_policy_selects_existing_pods():
    policies = of_kind("NetworkPolicy")
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in DEPLOYMENTS.values()]
    assert policies["nothing-else"]["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
    }
    for policy in policies.values():
        wanted = policy["spec"]["podSelector"].get("matchLabels", {}).items()
        assert any(wanted <= labels.items() for labels in pods)


def test_the_status_page_stays_reachable_when_the_bot_is_not_ready():
    service = of_kind("Service")["bot"]["spec"]
    assert service["publishNotReadyAddresses"] is True
    assert service["selector"] == DEPLOYMENTS["bot"]["spec"]["template"]["metadata"]["labels"]


def test_the_configuration_matches_mounts_and_host_names():
    draft = read_draft(SERIES / "bot.yaml")
    config = finish(draft)
    mounts = {m["name"]: m["mountPath"] for m in container("bot")["volumeMounts"]}
    assert str(config.venue.key.key_file) == f"{mounts['key']}/key"
    reaper_mounts = {m["name"]: m["mountPath"] for m in container("reaper")["volumeMounts"]}
    assert str(draft.reaper.key.key_file) == f"{reaper_mounts['key']}/key"
    url = urllib.parse.urlsplit(understood("bot", container("reaper")["args"])["url"])
    service = f"bot.{SERIES_NAME}.svc"
    assert {url.hostname, service} == set(config.status.allowed_hosts)
    assert url.port == config.status.port == container("bot")["ports"][0]["containerPort"]


def test_the_docs_forward_the_port_of_the_status_page_and_print_its_token():
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    port = container("bot")["ports"][0]["containerPort"]
    folder = understood("bot", container("bot")["args"])["state_dir"]
    assert f"port-forward deployment/bot {port}:{port}\n" in page
    assert f"exec deployment/bot -- cat {folder}/{TOKEN_NAME}\n" in page


def test_manifests_and_compose_file_use_one_image():
    (image,) = yaml.safe_load((SERIES / "kustomization.yaml").read_text())["images"]
    assert f"{image['name']}:{image['newTag']}" == compose()["services"]["bot"]["image"]
    assert {container(name)["image"] for name in DEPLOYMENTS} == {image["name"]}


def test_kustomize_puts_a_series_into_its_namespace():
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run(
        ["kubectl", "kustomize", str(SERIES)], capture_output=True, text=True, check=True
    )
    made = list(yaml.safe_load_all(done.stdout))
    for each in made:
        kubernetes_validate.validate(each, VERSIONS[-1], strict=True)
        if each["kind"] == "Namespace":
            assert each["metadata"]["name"] == SERIES_NAME
        else:
            assert each["metadata"]["namespace"] == SERIES_NAME
    (config,) = (each for each in made if each["kind"] == "ConfigMap")
    assert config["data"]["bot.yaml"] == (SERIES / "bot.yaml").read_text()
    modes = {
        volume["secret"]["defaultMode"]
        for each in made
        if each["kind"] == "Deployment"
        for volume in pod(each)["volumes"]
        if "secret" in volume
    }
    assert modes == {0o440}


def test_the_scrape_job_matches_service_and_rules():
    path = DEPLOY / "kubernetes/monitoring/scrape.yaml"
    (job,) = yaml.safe_load(path.read_text())["scrape_configs"]
    assert f'job="{job["job_name"]}"' in (DEPLOY / "prometheus/rules/alerts.yaml").read_text()
    (found,) = job["kubernetes_sd_configs"]
    assert found["role"] == "service"
    service = of_kind("Service")["bot"]
    annotation, port, _ = job["relabel_configs"]
    assert service["metadata"]["annotations"]["prometheus.io/scrape"] == annotation["regex"]
    assert [each["name"] for each in service["spec"]["ports"]] == [port["regex"]]
    key, _, value = found["selectors"][0]["label"].partition("=")
    assert service["metadata"]["labels"][key] == value


def test_the_page_tells_how_a_latch_is_reset_while_no_pod_of_the_bot_stays_up():
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    patch = re.search(r"patch deployment/bot --type json --patch '(.+?)'", page, re.DOTALL)
    assert patch is not None
    (step,) = json.loads(patch[1])
    deployment = DEPLOYMENTS["bot"]
    for place in step["path"].strip("/").split("/")[:-1]:
        deployment = deployment[int(place) if place.isdigit() else place]
    assert step["op"] == "replace"
    given = understood("bot", step["value"])
    run = understood("bot", deployment["args"])
    assert step["value"][0] == "reset"
    assert given["yes"]
    assert given["state_dir"] == run["state_dir"]
    assert [given["config"]] == run["configs"]
