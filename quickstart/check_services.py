"""Check the packages github and kubernetes against simulated services: questions, findings, changes and their undo.

    check_services.py --charter BINARY [--proxy-port N]

Starts both simulations and a server with the two packages, asks every example
in words alone, compares the findings with those of the simulated data, and runs
each playbook: nothing may happen before its approval, and its rollback restores
the state. With --proxy-port, a `kubectl proxy` before a real API server takes
the simulated cluster's place; it must hold the objects of kubernetes_data.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from package_calls import PACKAGES, Check, Json
from run import Charter

HERE = Path(__file__).resolve().parent
GITHUB = "https://api.github.com"
NAMES = ("github", "kubernetes")
# The tokens of the simulations. No output of Charter may contain them.
SECRET = "simulated-token-4711"
WAITS = 3
CONFIG = """
[a2a]
public_url = "https://charter.example"
[tools]
python = "{python}"
environment = ["GITHUB_OWNER", "KUBERNETES_PROXY_PORT"]
plain = ["GITHUB_OWNER", "KUBERNETES_PROXY_PORT"]
[credentials.definitions.github]
kind = "static"
hosts = ["127.0.0.1:*"]
secret = {{ variable = "SIMULATED_SECRET" }}
[credentials.definitions.kubernetes]
kind = "static"
hosts = ["127.0.0.1:*"]
secret = {{ variable = "SIMULATED_SECRET" }}
"""

Findings = set[tuple[str, str, str]]

# The findings of each skill: rule, resource and severity.
EXPECTED: dict[str, Findings] = {
    "github.find_pull_requests_waiting_for_review": {
        ("waits_long", "acme-platform/web-shop#61", "medium"),
        ("waits_long", "acme-platform/billing-api#20", "medium"),
        ("waits", "acme-platform/billing-api#19", "low"),
    },
    "github.find_stale_issues": {
        ("stale_issue", "acme-platform/web-shop#12", "info"),
        ("stale_issue", "acme-platform/web-shop#31", "low"),
        ("stale_issue", "acme-platform/billing-api#7", "info"),
    },
    "github.find_failing_workflow_runs": {
        ("workflow_fails", "501@main", "high"),
        ("workflow_fails", "502@main", "high"),
        ("workflow_fails", "501@session-cache", "medium"),
    },
    "github.list_dependabot_alerts": {
        ("vulnerable_dependency", "acme-platform/web-shop/dependabot/4", "critical"),
        ("vulnerable_dependency", "acme-platform/billing-api/dependabot/2", "medium"),
    },
    "github.list_exposed_secrets": {
        ("exposed_secret", "acme-platform/billing-api/secret-scanning/1", "critical"),
        ("exposed_secret", "acme-platform/web-shop/secret-scanning/5", "medium"),
    },
    "github.list_code_scanning_alerts": {
        ("weakness", "acme-platform/web-shop/code-scanning/8", "high"),
        ("weakness", "acme-platform/billing-api/code-scanning/3", "low"),
    },
    "github.check_branch_protection": {
        ("protection_gap", "allows force pushes", "high"),
        ("protection_gap", "does not apply to admins", "low"),
    },
    "github.list_repository_admins": {("admin", "ann", "info"), ("admin", "deploy-bot", "info")},
    "github.list_releases": {
        ("release", "v2.5.0-rc1", "info"),
        ("release", "v2.4.1", "info"),
        ("release", "v2.4.0", "info"),
        ("release", "v2.3.9", "low"),
    },
    "kubernetes.find_failing_pods": {
        ("container_fails", "shop/web-frontend-6d5f8c7b9-fghij/web", "medium"),
        ("container_fails", "shop/cart-7c9d6b5f4-klmno/cart", "high"),
        ("container_fails", "shop/billing-api-5f7b8d9c6-pqrst/api", "high"),
        ("pod_without_node", "research/train-0", "high"),
        ("pod_failed", "shop/report-28999", "medium"),
        ("warning_event", "shop/cart-7c9d6b5f4-klmno/BackOff", "info"),
        ("warning_event", "shop/billing-api-5f7b8d9c6-pqrst/Failed", "info"),
        ("warning_event", "research/train-0/FailedScheduling", "info"),
    },
    "kubernetes.find_unavailable_deployments": {
        ("below_replicas", "shop/cart", "medium"),
        ("below_replicas", "shop/billing-api", "high"),
    },
    "kubernetes.check_nodes": {
        ("node_not_ready", "node-3", "critical"),
        ("node_cordoned", "node-3/unschedulable", "low"),
        ("node_under_pressure", "node-2/MemoryPressure", "high"),
    },
    "kubernetes.find_privileged_containers": {
        ("privileged_container", "observe/agent-x7x7x/agent", "high"),
        ("privileged_container", "shop/report-28999/report", "medium"),
        ("privileged_container", "shop/billing-api/api", "low"),
        ("privileged_container", "kube-system/kube-proxy-n1n1n/kube-proxy", "info"),
    },
    "kubernetes.find_exposed_services": {
        ("exposed_service", "shop/web-frontend", "high"),
        ("exposed_service", "shop/postgres", "medium"),
        ("exposed_service", "shop/admin", "low"),
        ("exposed_service", "observe/metrics", "medium"),
    },
    "kubernetes.check_quotas": {
        ("quota_used", "shop/compute/limits.memory", "high"),
        ("quota_used", "shop/compute/requests.cpu", "medium"),
    },
    "kubernetes.list_cluster_admins": {
        ("cluster_admin", "cluster-admin/Group/system:masters", "info"),
        ("cluster_admin", "deployer/ServiceAccount/shop/deployer", "medium"),
        ("cluster_admin", "ann-admin/User/ann", "low"),
    },
}


@dataclass(frozen=True)
class Change:
    """A playbook, where its effect is read, and the effect."""

    playbook: str
    parameters: dict[str, str]
    path: str
    field: str
    before: Json
    after: Json
    undone: bool = True


ISSUE = {"repository": "web-shop", "issue_number": "44"}
ISSUE_PATH = "/repos/acme-platform/web-shop/issues/44"
DEPLOYMENT = {"namespace": "shop", "deployment": "web-frontend"}
DEPLOYMENT_PATH = "/apis/apps/v1/namespaces/shop/deployments/web-frontend"
CHANGES = [
    Change("github.label_issue", ISSUE | {"label": "good first issue"}, ISSUE_PATH, "labels.0.name", None, "good first issue"),
    Change("github.close_stale_issue", ISSUE, ISSUE_PATH, "state", "open", "closed"),
    Change("github.lock_conversation", ISSUE | {"lock_reason": "too heated"}, ISSUE_PATH, "active_lock_reason", None, "too heated"),
    Change("kubernetes.scale_deployment", DEPLOYMENT | {"replicas": "5"}, DEPLOYMENT_PATH, "spec.replicas", 2, 5),
    Change("kubernetes.cordon_node", {"node": "node-1"}, "/api/v1/nodes/node-1", "spec.unschedulable", None, True),
    Change("kubernetes.uncordon_node", {"node": "node-3"}, "/api/v1/nodes/node-3", "spec.unschedulable", True, None),
    # Last, because it has no undo.
    Change("kubernetes.restart_deployment", DEPLOYMENT, DEPLOYMENT_PATH, "metadata.generation", 3, 4, undone=False),
]


class Service:
    """A service, asked directly."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(self, method: str, path: str, body: Json = None, kind: str = "application/json") -> Json:
        """The answer to one request."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {SECRET}", "content-type": kind}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", content, headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def field(self, path: str, field: str) -> Json:
        """A field of an object; None without it."""
        found = self.send("GET", path)
        for part in field.split("."):
            if isinstance(found, list):
                found = found[int(part)] if len(found) > int(part) else None
            else:
                found = found.get(part) if found else None
        return found


@contextmanager
def simulated(script: str) -> Iterator[int]:
    """The port of a simulation, which ends with the block."""
    command = [sys.executable, str(HERE / script), "--port", "0", "--token", SECRET]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        try:
            assert service.stdout is not None
            yield int(service.stdout.readline().rpartition(":")[2])
        finally:
            service.kill()


def package_at(name: str, github: int, folder: Path) -> Path:
    """A copy of a package; that of github calls the simulation."""
    copied = Path(shutil.copytree(PACKAGES / name, folder / name))
    if name == "github":
        for tool in (copied / "tools").iterdir():
            host = f"127.0.0.1:{github}"
            text = tool.read_text().replace(GITHUB, f"http://{host}").replace("[api.github.com]", f'["{host}"]')
            tool.write_text(text)
    return copied


class Subject:
    """The server under test, asked by its command line."""

    def __init__(self, check: Check, charter: Charter) -> None:
        self._check = check
        self._charter = charter

    def run(self, *arguments: str) -> tuple[int, Json]:
        """The exit code and the output of a command."""
        command = [*self._charter._command, *arguments, "--output", "json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        self._check.that(f"`{' '.join(arguments[:2])}` shows no token", SECRET not in done.stdout)
        return done.returncode, json.loads(done.stdout or "null")

    def answer(self, question: str) -> Json:
        """The metadata of the answer to a question."""
        code, answer = self.run("ask", question)
        self._check.that(f"`{question}` is answered", code in (0, WAITS), json.dumps(answer)[:400])
        return (answer or {}).get("metadata", {})

    def started(self, playbook: str, parameters: dict[str, str]) -> Json:
        """A run of a playbook whose plan is confirmed."""
        given = [part for name, value in parameters.items() for part in ("-p", f"{name}={value}")]
        _, run = self.run("playbook", "run", playbook, *given)
        if run["confirm"]:
            _, run = self.run("runs", "confirm", run["run_id"], "--digest", run["plan_digest"])
        return run

    def approved(self, run_id: str) -> Json:
        """The run after its one approval."""
        _, run = self.run("runs", "show", run_id)
        approval = run["approvals"][-1]
        self.run("approvals", "approve", approval["approval_id"], "--digest", approval["digest"])
        return self.run("runs", "show", run_id)[1]


def documents(package: str, folder: str) -> list[Json]:
    """The documents of one folder of a package."""
    return [yaml.safe_load(file.read_text()) for file in sorted((PACKAGES / package / folder).iterdir())]


def check_validity(check: Check, subject: Subject, folder: Path) -> None:
    """The packages have no problem, and can be imported again without losing an edit."""
    for name in NAMES:
        code, report = subject.run("package", "validate", str(folder / name))
        check.that(f"{name} is valid without warnings", code == 0 and not report.get("problems"), json.dumps(report)[:600])


def check_examples(check: Check, subject: Subject) -> None:
    """Each example reaches its document, in words alone, without a warning."""
    for name in NAMES:
        for skill in documents(name, "skills"):
            skill_id = skill["skill_id"]
            for example in skill["examples"]:
                metadata = subject.answer(example)
                first = metadata.get("verdict", {}).get("candidates", [{}])[0].get("id")
                check.that(f"`{example}` reaches {skill_id}", first == skill_id, str(first))
                check.that(f"`{example}` has no warning", not metadata.get("warnings"), str(metadata.get("warnings")))
                found = {(one["rule_id"], one["resource_id"], one["severity"]) for one in metadata.get("findings", [])}
                check.that(f"`{example}` has the findings of {skill_id}", found == EXPECTED[skill_id], str(found ^ EXPECTED[skill_id]))
                for finding in metadata.get("findings", []):
                    check.that(f"{finding['finding_id']} is rendered and proven", finding["rendered"]["title"] and finding["evidence_ids"])
        for playbook in documents(name, "playbooks"):
            playbook_id = playbook["playbook_id"]
            for example in playbook["examples"]:
                metadata = subject.answer(example)
                first = metadata.get("verdict", {}).get("candidates", [{}])[0].get("id")
                check.that(f"`{example}` reaches {playbook_id}", first == playbook_id, str(first))
                check.that(f"`{example}` opens a run", metadata.get("plan_digest"), str(metadata.get("verdict"))[:300])
                check.that(f"`{example}` gives every parameter", not metadata.get("missing_parameters"), str(metadata.get("missing_parameters")))


def check_changes(check: Check, subject: Subject, services: dict[str, Service]) -> None:
    """Nothing happens before the approval, the change after it, and the rollback restores the state."""
    for change in CHANGES:
        service = services[change.playbook.partition(".")[0]]

        def now(change: Change = change, service: Service = service) -> Json:
            return service.field(change.path, change.field)

        name, before = change.playbook, now()
        if change.undone:
            check.that(f"{name} starts from the data", before == change.before, str(before))
        run = subject.started(name, change.parameters)
        check.that(f"{name} waits for an approval", run["status"] == "awaiting_approval", json.dumps(run)[:400])
        check.that(f"{name} changes nothing before", now() == before, str(now()))
        run = subject.approved(run["run_id"])
        check.that(f"{name} completes", run["status"] == "completed", json.dumps(run.get("outcome"))[:600])
        if not change.undone:
            check.that(f"{name} has happened", now() == before + 1, str(now()))
            continue
        check.that(f"{name} has happened", now() == change.after, str(now()))
        _, back = subject.run("runs", "rollback", run["run_id"])
        back = subject.approved(back["run_id"])
        check.that(f"{name} is taken back", back["status"] == "completed" and now() == before, f"{back['status']} {now()}")


def check_cut_lists(check: Check, subject: Subject, cluster: Service) -> None:
    """An answer about a part of the cluster is shown as such."""
    cluster.send("POST", "/simulation", {"most": 1})
    for question in ("which pods are failing and why", "which resource quotas are nearly used up", "which nodes are not ready"):
        found = subject.answer(question)["findings"]
        cut = [one for one in found if one["rule_id"].endswith("_cut")]
        check.that(f"`{question}` shows that its list is incomplete", cut and "incomplete" in cut[0]["rendered"]["title"], str(found)[:400])
    cluster.send("POST", "/simulation", {"most": None})


def check_refusals(check: Check, subject: Subject, cluster: Service) -> None:
    """A scaling of another number than was approved is refused, and the cluster's own deployments are left alone."""
    run = subject.started("kubernetes.scale_deployment", DEPLOYMENT | {"replicas": "9"})
    cluster.send("PATCH", DEPLOYMENT_PATH, {"spec": {"replicas": 3}}, "application/merge-patch+json")
    run = subject.approved(run["run_id"])
    check.that("a scaling fails when the replicas changed meanwhile", run["status"] == "rolled_back", str(run["status"]))
    check.that("the other change stays", cluster.field(DEPLOYMENT_PATH, "spec.replicas") == 3)
    cluster.send("PATCH", DEPLOYMENT_PATH, {"spec": {"replicas": 2}}, "application/merge-patch+json")
    run = subject.started("kubernetes.restart_deployment", {"namespace": "kube-system", "deployment": "coredns"})
    check.that("a deployment of the cluster itself is not restarted", run["status"] in ("denied", "failed"), str(run["status"]))


def main() -> int:
    """Exit code 0 when everything held, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--charter", type=Path, required=True)
    parser.add_argument("--proxy-port", type=int)
    arguments = parser.parse_args()
    check = Check()
    with (
        tempfile.TemporaryDirectory(prefix="charter-services-") as name,
        simulated("github_server.py") as github,
        simulated("kubernetes_server.py") as simulation,
    ):
        folder, kubernetes = Path(name), arguments.proxy_port or simulation
        config = folder / "charter.toml"
        config.write_text(CONFIG.format(python=sys.executable))
        models = os.environ.get("CHARTER_MODEL__CACHE", str(HERE.parent / "target/models"))
        os.environ |= {
            "CHARTER_MODEL__CACHE": models,
            "SIMULATED_SECRET": SECRET,
            "GITHUB_OWNER": "acme-platform",
            "KUBERNETES_PROXY_PORT": str(kubernetes),
        }
        charter = Charter(arguments.charter.resolve(), config, folder / "data")
        subject = Subject(check, charter)
        for package in NAMES:
            package_at(package, github, folder)
        with charter.serving(folder / "server.log"):
            check_validity(check, subject, folder)
            for package in NAMES:
                code, report = subject.run("package", "register", str(folder / package))
                check.that(f"{package} is registered", code == 0, json.dumps(report)[:600])
            services = {"github": Service(github), "kubernetes": Service(kubernetes)}
            check_examples(check, subject)
            if not arguments.proxy_port:
                check_cut_lists(check, subject, services["kubernetes"])
            check_changes(check, subject, services)
            check_refusals(check, subject, services["kubernetes"])
    verdict = "ok" if not check.failures else f"{len(check.failures)} failed"
    print(f"check_services: {verdict} · {check.passed} held")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
