"""Checks what is deployed, with the tools that would read it and without an engine or a cluster.

The chart is linted and rendered by Helm, in its default form and with every setting used, and what comes out is
compared strictly with the schemas of Kubernetes' API by kubernetes-validate, for the oldest version that the chart
takes and a recent one; rules of this project are looked for in it. The compose file is compared with the Compose
Specification's schema. `make check-deploy` calls it.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import yaml

HERE = pathlib.Path(__file__).parent

# The oldest version that Chart.yaml takes, and a recent one.
VERSIONS = ("1.25", "1.34")

EVERY_SETTING = {
    "image": {
        "repository": "registry.example.com/charter",
        "tag": "1.2.3",
        "digest": f"sha256:{'5' * 64}",
        "pullSecrets": ["pull"],
    },
    "secrets": {"environment": ["charter-models"]},
    "drainSeconds": 90,
    "networkPolicy": {
        "clients": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
        "metrics": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
        "database": {"peers": [{"ipBlock": {"cidr": "10.0.0.0/24"}}], "port": 6432},
        "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": 443, "protocol": "TCP"}]}],
    },
    "podAnnotations": {"example.com/team": "platform"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "work", "operator": "Exists", "effect": "NoSchedule"}],
}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def rules(objects):
    """What must hold of every pod, whatever the settings."""
    pods = [(o, o["spec"]["template"]["spec"]) for o in objects if o["kind"] in ("Deployment", "Job")]
    assert len(pods) == 3, [o["metadata"]["name"] for o, _ in pods]
    for owner, pod in pods:
        name = owner["metadata"]["name"]
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault", name
        assert pod["automountServiceAccountToken"] is False, name
        for container in pod["containers"] + pod["initContainers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True, name
            assert security["allowPrivilegeEscalation"] is False, name
            assert security["capabilities"] == {"drop": ["ALL"]}, name
            assert "limits" in container["resources"], name
            for variable in container.get("env", []):
                secret = "URL" in variable["name"]
                assert ("value" in variable) != secret, f"{name}: {variable['name']}"
        covered = [o for o in objects if o["kind"] == "NetworkPolicy" and o["metadata"]["name"] == name]
        assert len(covered) == 1, f"{name} has no NetworkPolicy"
        if owner["kind"] == "Deployment":
            [container] = pod["containers"]
            paths = [container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
            assert paths == ["/healthz", "/healthz", "/readyz"], paths
            drain = next(int(v["value"]) for v in container["env"] if v["name"] == "CHARTER_REPLICA__DRAIN_S")
            assert pod["terminationGracePeriodSeconds"] > drain, name
            budgets = [o for o in objects if o["kind"] == "PodDisruptionBudget" and o["metadata"]["name"] == name]
            assert len(budgets) == 1, f"{name} has no PodDisruptionBudget"


def chart(helm):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        settings = folder / "every-setting.yaml"
        settings.write_text(yaml.safe_dump(EVERY_SETTING))
        for more in ([], ["--values", settings]):
            run(helm, "lint", "--strict", *more, HERE / "helm/charter")
            rendered = run(helm, "template", "c", HERE / "helm/charter", "--kube-version", "1.32.0", *more)
            file = folder / "rendered.yaml"
            file.write_text(rendered)
            for version in VERSIONS:
                found = run(sys.executable, "-m", "kubernetes_validate", "--strict", "-k", version, file)
                print(f"{found.count('passed')} objects fit Kubernetes {version}")
            rules([o for o in yaml.safe_load_all(rendered) if o])
            # A digest counts before a tag.
            image = EVERY_SETTING["image"]
            expected = f"{image['repository']}@{image['digest']}" if more else "charter:0.1.0"
            assert {line.split()[-1].strip('"') for line in rendered.splitlines() if " image: " in line} == {expected}
        wrong = subprocess.run(
            [str(helm), "lint", "--strict", "--set", "drainSeconds=soon", str(HERE / "helm/charter")], capture_output=True
        )
        assert wrong.returncode != 0, "a setting that does not fit is taken"


def compose(schema):
    services = yaml.safe_load((HERE / "compose.yaml").read_text())
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(services)
    for name, service in services["services"].items():
        if name == "db":
            continue
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert service["user"] == "10001:10001", name
        # Servers have the health check of the image; what ends by itself has none.
        serves = service["command"][:1] == ["serve"]
        assert service.get("healthcheck") == (None if serves else {"disable": True}), name
    print(f"compose.yaml: {len(services['services'])} services")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--helm", type=pathlib.Path, required=True)
    parser.add_argument("--compose-schema", type=pathlib.Path, required=True)
    given = parser.parse_args()
    chart(given.helm)
    compose(given.compose_schema)
    print("deploy: all checked")


main()
