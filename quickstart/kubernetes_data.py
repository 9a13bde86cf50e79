"""The cluster of the simulated API server: objects in the shapes of the Kubernetes API.

`objects` has them by resource. Each is complete enough to be created in a real
API server too, with its status written to the status subresource.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

Json = Any


def minutes_ago(minutes: int) -> str:
    """A time so many minutes before now, as the API writes it."""
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _container(name: str, image: str, **more: Json) -> Json:
    return {"name": name, "image": image, **more}


def _state(name: str, restarts: int, state: Json, last: Json | None = None) -> Json:
    found = {"name": name, "image": name, "imageID": "", "restartCount": restarts, "ready": "running" in state, "started": False, "state": state}
    return found | ({"lastState": last} if last else {})


def _pod(namespace: str, name: str, owner: str | None, spec: Json, phase: str, states: list[Json], **status: Json) -> Json:
    meta: Json = {"namespace": namespace, "name": name, "labels": {"app": owner or name}}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": "00000000-0000-4000-8000-000000000000"}
        meta["ownerReferences"] = [reference | {"controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": spec,
        "status": {"phase": phase, "containerStatuses": states, **status},
    }


_RUNNING: Json = {"running": {"startedAt": minutes_ago(600)}}
_SAFE: Json = {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False}


def _exit(code: int, reason: str) -> Json:
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": minutes_ago(30), "finishedAt": minutes_ago(29)}}


def pods() -> list[Json]:
    """Pods that run, crash, wait and fail."""
    safe = {"securityContext": _SAFE}
    web = {"nodeName": "node-1", "containers": [_container("web", "shop/web:2.4.1", **safe)]}
    cart = {"nodeName": "node-2", "containers": [_container("cart", "shop/cart:1.9", **safe)]}
    api = {"nodeName": "node-1", "containers": [_container("api", "shop/api:lastest")]}
    jobs = {"containers": [_container("train", "shop/train:7", resources={"requests": {"memory": "900Gi"}}, **safe)]}
    agent = {
        "nodeName": "node-2",
        "hostNetwork": True,
        "containers": [
            _container(
                "agent",
                "observe/agent:5",
                securityContext={"privileged": True, "runAsUser": 0},
                volumeMounts=[{"name": "root", "mountPath": "/host"}],
            )
        ],
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
    }
    proxy = {"nodeName": "node-1", "hostNetwork": True, "containers": [_container("kube-proxy", "kube-proxy:1", securityContext={"privileged": True})]}
    report = {"nodeName": "node-2", "restartPolicy": "Never", "containers": [_container("report", "shop/report:3", securityContext={"runAsUser": 0})]}
    unplaced = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 Insufficient memory.",
    }
    backoff = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
    pull = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "shop/api:lastest"'}}
    return [
        _pod("shop", "web-frontend-6d5f8c7b9-abcde", "web-frontend-6d5f8c7b9", web, "Running", [_state("web", 0, _RUNNING)]),
        _pod("shop", "web-frontend-6d5f8c7b9-fghij", "web-frontend-6d5f8c7b9", web, "Running", [_state("web", 9, _RUNNING, _exit(1, "Error"))]),
        _pod("shop", "cart-7c9d6b5f4-klmno", "cart-7c9d6b5f4", cart, "Running", [_state("cart", 23, backoff, _exit(137, "OOMKilled"))]),
        _pod("shop", "billing-api-5f7b8d9c6-pqrst", "billing-api-5f7b8d9c6", api, "Pending", [_state("api", 0, pull)]),
        _pod("research", "train-0", None, jobs, "Pending", [], conditions=[unplaced]),
        _pod("observe", "agent-x7x7x", None, agent, "Running", [_state("agent", 1, _RUNNING)]),
        _pod("kube-system", "kube-proxy-n1n1n", None, proxy, "Running", [_state("kube-proxy", 0, _RUNNING)]),
        _pod("shop", "report-28999", None, report, "Failed", [], reason="Evicted", message="The node was low on resource: memory."),
    ]


def deployments() -> list[Json]:
    """Deployments, of which two are below their replicas."""

    def one(namespace: str, name: str, wanted: int, available: int, updated: int, progressing: Json) -> Json:
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [_container(name, f"shop/{name}:1")]}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"replicas": wanted, "selector": {"matchLabels": {"app": name}}, "template": template},
            "status": {
                "observedGeneration": 1,
                "replicas": wanted,
                "updatedReplicas": updated,
                "readyReplicas": available,
                "availableReplicas": available,
                "unavailableReplicas": wanted - available,
                "conditions": [{"type": "Progressing", "lastUpdateTime": minutes_ago(60), "lastTransitionTime": minutes_ago(60), **progressing}],
            },
        }

    fine = {"status": "True", "reason": "NewReplicaSetAvailable", "message": "The replica set has progressed."}
    stuck = {"status": "False", "reason": "ProgressDeadlineExceeded", "message": 'ReplicaSet "billing-api-5f7b8d9c6" has timed out progressing.'}
    return [
        one("shop", "web-frontend", 2, 2, 2, fine),
        one("shop", "cart", 3, 2, 3, fine),
        one("shop", "billing-api", 2, 0, 1, stuck),
        one("research", "notebook", 0, 0, 0, fine),
        one("kube-system", "coredns", 2, 2, 2, fine),
    ]


def nodes() -> list[Json]:
    """A good node, one under pressure, and one that is gone and cordoned."""

    def one(name: str, unschedulable: bool, conditions: list[tuple[str, str, str]]) -> Json:
        spec: Json = {"unschedulable": True} if unschedulable else {}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "spec": spec,
            "status": {
                "conditions": [
                    {"type": kind, "status": status, "reason": kind, "message": message, "lastHeartbeatTime": minutes_ago(1), "lastTransitionTime": minutes_ago(90)}
                    for kind, status, message in conditions
                ]
            },
        }

    ready = ("Ready", "True", "kubelet is posting ready status")
    return [
        one("node-1", False, [("MemoryPressure", "False", "kubelet has sufficient memory available"), ready]),
        one("node-2", False, [("MemoryPressure", "True", "kubelet has insufficient memory available"), ready]),
        one("node-3", True, [("Ready", "Unknown", "Kubelet stopped posting node status.")]),
    ]


def services() -> list[Json]:
    """Services inside and outside of the cluster."""

    def one(namespace: str, name: str, kind: str, port: Json, status: Json | None = None, **more: Json) -> Json:
        annotations = more.pop("annotations", {})
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": namespace, "name": name, "annotations": annotations},
            "spec": {"type": kind, "selector": {"app": name}, "ports": [port], **more},
            "status": {"loadBalancer": status or {}},
        }

    def at(address: str) -> Json:
        return {"ingress": [{"ip": address}]}

    internal = {"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}
    return [
        one("shop", "web-frontend", "LoadBalancer", {"port": 443}, at("203.0.113.7")),
        one("shop", "postgres", "LoadBalancer", {"port": 5432}, at("203.0.113.8"), loadBalancerSourceRanges=["198.51.100.0/24"]),
        one("shop", "admin", "LoadBalancer", {"port": 8443}, at("10.0.4.9"), annotations=internal),
        one("observe", "metrics", "NodePort", {"port": 9090, "nodePort": 30090}),
        one("shop", "cart", "ClusterIP", {"port": 80}),
    ]


def quotas() -> list[Json]:
    """Quotas that are used up, nearly used up and hardly used."""

    def one(namespace: str, name: str, hard: Json, used: Json) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"hard": hard},
            "status": {"hard": hard, "used": used},
        }

    return [
        one("shop", "compute", {"limits.memory": "8Gi", "pods": "20", "requests.cpu": "4"}, {"limits.memory": "8Gi", "pods": "9", "requests.cpu": "3500m"}),
        one("research", "storage", {"requests.storage": "1Ti"}, {"requests.storage": "100Gi"}),
    ]


def events() -> list[Json]:
    """Events; the last one is no warning."""

    def one(namespace: str, pod: str, kind: str, reason: str, message: str, count: int) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": f"{pod}.{reason.lower()}"},
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": pod, "apiVersion": "v1"},
            "type": kind,
            "reason": reason,
            "message": message,
            "count": count,
            "firstTimestamp": minutes_ago(60),
            "lastTimestamp": minutes_ago(2),
            "source": {"component": "kubelet", "host": "node-2"},
        }

    return [
        one("shop", "cart-7c9d6b5f4-klmno", "Warning", "BackOff", "Back-off restarting failed container cart", 210),
        one("shop", "billing-api-5f7b8d9c6-pqrst", "Warning", "Failed", 'Failed to pull image "shop/api:lastest": not found', 14),
        one("research", "train-0", "Warning", "FailedScheduling", "0/3 nodes are available: 3 Insufficient memory.", 31),
        one("shop", "web-frontend-6d5f8c7b9-abcde", "Normal", "Started", "Started container web", 1),
    ]


def bindings() -> list[Json]:
    """Cluster role bindings."""

    def one(name: str, role: str, subject: Json) -> Json:
        group = "rbac.authorization.k8s.io"
        subject = subject if subject["kind"] == "ServiceAccount" else subject | {"apiGroup": group}
        return {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [subject],
        }

    return [
        one("cluster-admin", "cluster-admin", {"kind": "Group", "name": "system:masters"}),
        one("deployer", "cluster-admin", {"kind": "ServiceAccount", "name": "deployer", "namespace": "shop"}),
        one("ann-admin", "cluster-admin", {"kind": "User", "name": "ann"}),
        one("viewers", "view", {"kind": "Group", "name": "developers"}),
    ]


def objects() -> dict[tuple[str, str], list[Json]]:
    """All objects, by the prefix of their API and their resource."""
    return {
        ("api/v1", "pods"): pods(),
        ("api/v1", "nodes"): nodes(),
        ("api/v1", "services"): services(),
        ("api/v1", "resourcequotas"): quotas(),
        ("api/v1", "events"): events(),
        ("apis/apps/v1", "deployments"): deployments(),
        ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"): bindings(),
    }
