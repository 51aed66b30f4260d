"""The Helm chart: what Helm renders is what Kubernetes takes, and its containers run commands that BigMind has."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import bigmind
from bigmind.environment import PREFIX, Environment
from bigmind.environment.parts import PARTS
from bigmind.observability.metrics import describe_metrics
from tests.growing.server import COMPOSE, ROOT

CHART = ROOT / "packaging" / "helm" / "bigmind"
HELM = Path(sys.executable).parent / "helm"
KUBERNETES = "1.33"
LEAST = {"image.repository": "registry.example.com/bigmind", "secret.name": "bigmind"} | {
    "publicUrl": "https://bigmind.example.com"
}
ALL = {
    **LEAST,
    "ingress.enabled": "true",
    "ingress.host": "bigmind.example.com",
    "ingress.tlsSecret": "tls",
    "serviceMonitor.enabled": "true",
    "worker.autoscaling.prometheus": "http://prometheus.monitoring:9090",
    "secret.moreKeys": "{BIGMIND_EMAIL_URL,BIGMIND_OIDC_CLIENT_SECRET}",
    "variables.BIGMIND_TIME_ZONE": "Europe/Berlin",
    "variables.BIGMIND_RATE_LIMIT": "900",
    "imagePullSecrets[0].name": "registry",
    "image.digest": f"sha256:{'0' * 64}",
    "backups.claim": "backups",
}
PLAIN = {**LEAST, "web.autoscaling.enabled": "false", "migration.enabled": "false", "serviceAccount.name": "mine"}


def helm(*arguments: str, **values: str) -> subprocess.CompletedProcess[str]:
    chosen = [option for name, value in values.items() for option in ("--set", f"{name}={value}")]
    return subprocess.run([HELM, *arguments, *chosen], capture_output=True, text=True, timeout=60)


def render(**values: str) -> list[dict[str, Any]]:
    done = helm("template", "brain", str(CHART), "--namespace", "memory", **values)
    assert not done.returncode, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def containers(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the containers of all pods, by name."""
    pods = [one["spec"]["template"]["spec"] for one in documents if one["kind"] in {"Deployment", "Job"}]
    return {container["name"]: container for pod in pods for container in pod["containers"]}


@pytest.mark.parametrize("values", [LEAST, ALL, PLAIN], ids=["least", "all", "plain"])
def test_kubernetes_takes_all_that_is_render(values: dict[str, str]) -> None:
    assert not helm("lint", "--strict", str(CHART), **values).returncode
    documents = render(**values)

    # Of the operators' kinds Kubernetes itself has no schema.
    for document in [one for one in documents if one["kind"] not in {"ServiceMonitor", "ScaledObject"}]:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
    named = [(one["kind"], one["metadata"]["name"]) for one in documents]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"image.repository": ""}, "image.repository"),
        ({"secret.name": ""}, "secret.name"),
        ({"publicUrl": "bigmind.example.com"}, "publicUrl"),
        ({"mode": "personal"}, "mode"),
        ({"web.replica": "3"}, "replica"),
        ({"variables.PATH": "/bin"}, "PATH"),
        ({"ingress.enabled": "true"}, "ingress.host"),
    ],
)
def test_a_wrong_value_is_named_before_anything_is_installed(wrong: dict[str, str], said: str) -> None:
    refused = helm("template", "brain", str(CHART), **{**LEAST, **wrong})

    assert refused.returncode
    assert said in refused.stderr.replace("/", ".")


def test_every_part_runs_as_compose_runs_it_and_only_the_worker_and_the_migration_know_the_owner() -> None:
    parts = containers(render(**ALL))
    known = {PREFIX + name.upper() for name in Environment.model_fields}

    assert set(parts) == {*PARTS, "migrate"}
    for part in PARTS:
        assert parts[part]["args"] == COMPOSE["services"][part]["command"]
    for name, container in parts.items():
        variables = {one["name"] for one in container["env"]}
        assert variables <= known
        assert len(variables) == len(container["env"])
        assert ("BIGMIND_DATABASE_OWNER_URL" in variables) == (name in {"worker", "migrate"})
        assert {"BIGMIND_EMAIL_URL", "BIGMIND_TIME_ZONE", "BIGMIND_METRICS_TOKEN"} <= variables


def test_workers_alone_have_a_volume_for_backups_and_keys_of_their_own() -> None:
    chosen = {"backups.claim": "backups", "secret.workerKeys": "{BIGMIND_WEBHOOK_SECRET}"}
    documents = render(**{**LEAST, **chosen})
    pods = {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"]
        for one in documents
        if one["kind"] in {"Deployment", "Job"}
    }

    for part, pod in pods.items():
        (container,) = pod["containers"]
        mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        variables = {one["name"]: one.get("value") for one in container["env"]}
        assert ("backups" in mounted, "BIGMIND_WEBHOOK_SECRET" in variables) == (part == "worker",) * 2
        assert variables.get("BIGMIND_BACKUP_DIR") == mounted.get("backups")
    (volume,) = (one for one in pods["worker"]["volumes"] if one["name"] == "backups")
    assert volume["persistentVolumeClaim"] == {"claimName": "backups"}
    assert not any("BIGMIND_BACKUP_DIR" in str(one) for one in render(**LEAST))


def test_no_secret_stands_in_a_manifest() -> None:
    secret = {PREFIX + name.upper() for name, field in Environment.model_fields.items() if "Secret" in str(field)}

    for container in containers(render(**ALL)).values():
        assert all("valueFrom" in one for one in container["env"] if one["name"] in secret)


def test_no_container_is_root_or_writes_beside_its_home() -> None:
    for document in render(**ALL):
        if document["kind"] in {"Deployment", "Job"}:
            pod = document["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"]
            assert f"USER {pod['securityContext']['runAsUser']}:" in (ROOT / "Dockerfile").read_text()
            assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in pod["containers"])
            assert not pod["automountServiceAccountToken"]


def test_services_budgets_and_scalers_mean_pods_that_there_are() -> None:
    documents = render(**ALL)
    deployments = {one["metadata"]["name"]: one["spec"] for one in documents if one["kind"] == "Deployment"}
    labels = [spec["template"]["metadata"]["labels"] for spec in deployments.values()]

    for document in documents:
        spec = document.get("spec", {})
        if document["kind"] == "HorizontalPodAutoscaler":
            assert "replicas" not in deployments[spec["scaleTargetRef"]["name"]]
        elif document["kind"] in {"Service", "PodDisruptionBudget", "Deployment"}:
            chosen = spec["selector"].get("matchLabels", spec["selector"])
            assert sum(chosen.items() <= one.items() for one in labels) == 1


def test_keda_scales_workers_by_how_long_work_waits_instead_of_by_the_processor_alone() -> None:
    scalers = {one["kind"]: one["spec"] for one in render(**ALL) if one["metadata"]["name"].endswith("-worker")}
    plain = [one["kind"] for one in render(**LEAST)]

    triggers = {one["type"]: one["metadata"] for one in scalers["ScaledObject"]["triggers"]}
    assert "HorizontalPodAutoscaler" not in scalers
    assert set(triggers) == {"cpu", "prometheus"}
    asked = re.search(r"bigmind_\w+", triggers["prometheus"]["query"])
    assert asked is not None
    assert asked.group() in {one.name for one in describe_metrics()}
    assert (plain.count("HorizontalPodAutoscaler"), "ScaledObject" in plain) == (2, False)


def test_what_the_image_begins_with_is_named_by_its_digest() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()

    assert re.findall(r"^ARG PYTHON=\S+@sha256:[0-9a-f]{64}$", dockerfile, re.M)
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.M)) == {"${PYTHON}"}


def test_the_probe_of_a_part_without_a_port_believes_a_young_file_alone(tmp_path: Path) -> None:
    container = containers(render(**LEAST))["worker"]
    file = tmp_path / "alive"
    shell, option, script = container["livenessProbe"]["exec"]["command"]
    image = re.search(r"CMD (test .*)$", (ROOT / "Dockerfile").read_text(), re.M).group(1)
    assert script == image

    def is_well() -> bool:
        here = script.replace("/home/bigmind/.bigmind/run/alive", str(file))
        return not subprocess.run([shell, option, here], capture_output=True).returncode

    assert not is_well()
    file.touch()
    assert is_well()
    os.utime(file, (time.time() - 100,) * 2)
    assert not is_well()


def test_the_chart_goes_with_the_program_of_its_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["version"] == chart["appVersion"] == bigmind.__version__
