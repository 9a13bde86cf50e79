"""A part of the Kubernetes API for the package kubernetes: one cluster, in memory.

    kubernetes_server.py [--port N] [--token TOKEN]

It takes the place of `kubectl proxy` with an API server behind it. Lists obey
`limit` and field selectors; deployments and nodes are patched by JSON Patch and
JSON Merge Patch, with the status codes of an API server: 415 for another type
of patch, 422 for a failed test, 404 for an unknown name. Each request needs the
token. Changes last as long as the process. `POST /simulation` with `{"most": N}`
cuts every list after N objects, as `limit` does in a large cluster.
"""

from __future__ import annotations

import argparse
import copy

import kubernetes_data as data
from local_http import Json, Refused, Request, serve

PATCHABLE = ("deployments", "nodes")


def failure(code: int, reason: str, message: str) -> Refused:
    """A failure in the form of the API."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": code}
    return Refused(code, message, status)


def field(found: Json, path: str) -> str:
    """The value of a field selector's path, as text; empty without one."""
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return "" if found is None else str(found)


def merged(target: Json, patch: Json) -> Json:
    """A JSON Merge Patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def patched(target: Json, operations: Json) -> Json:
    """The operations `test` and `replace` of a JSON Patch (RFC 6902), on members of objects."""
    if not isinstance(operations, list):
        raise failure(400, "BadRequest", "a JSON patch is a list")
    result = copy.deepcopy(target)
    for operation in operations:
        *parents, last = str(operation["path"]).removeprefix("/").split("/")
        place = result
        for part in parents:
            place = place[part]
        if operation["op"] not in ("test", "replace") or last not in place:
            raise failure(422, "Invalid", f"the operation {operation['op']} on {operation['path']} cannot be applied")
        if operation["op"] == "test" and place[last] != operation["value"]:
            raise failure(422, "Invalid", f"testing value {operation['path']} failed")
        place[last] = operation["value"]
    return result


class Cluster:
    """The objects of the cluster, with the changes so far."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._version = 1000
        self._most: int | None = None
        self._objects = data.objects()
        for items in self._objects.values():
            for item in items:
                item["metadata"] |= {"resourceVersion": self._next(), "generation": 1, "creationTimestamp": data.minutes_ago(6000)}

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def answer(self, request: Request) -> Json:
        """The answer to one request."""
        if request.headers.get("authorization") != f"Bearer {self._token}":
            raise failure(401, "Unauthorized", "Unauthorized")
        path = request.path
        prefix = "/".join(path[:2] if path[:1] == ("api",) else path[:3])
        rest = path[2:] if path[:1] == ("api",) else path[3:]
        match (request.method, rest):
            case ("POST", ()) if prefix == "simulation":
                self._most = request.body["most"]
                return {}
            case ("GET", (resource,)) if (prefix, resource) in self._objects:
                return self._list(prefix, resource, request)
            case ("GET" | "PATCH", ("namespaces", namespace, resource, name)) if (prefix, resource) in self._objects:
                return self._one(prefix, resource, namespace, name, request)
            case ("GET" | "PATCH", (resource, name)) if (prefix, resource) in self._objects:
                return self._one(prefix, resource, None, name, request)
        raise failure(404, "NotFound", "the server could not find the requested resource")

    def _list(self, prefix: str, resource: str, request: Request) -> Json:
        found = self._objects[(prefix, resource)]
        for condition in filter(None, request.query.get("fieldSelector", "").split(",")):
            path, _, value = condition.partition("=")
            found = [item for item in found if field(item, path) == value]
        limit = min(int(request.query.get("limit", "0")) or len(found), self._most or len(found))
        metadata: Json = {"resourceVersion": str(self._version)}
        if len(found) > limit:
            metadata |= {"continue": "more", "remainingItemCount": len(found) - limit}
        kind = f"{found[0]['kind']}List" if found else "List"
        items = [{name: value for name, value in item.items() if name not in ("kind", "apiVersion")} for item in found[:limit]]
        return {"kind": kind, "apiVersion": prefix.removeprefix("api/").removeprefix("apis/"), "metadata": metadata, "items": items}

    def _one(self, prefix: str, resource: str, namespace: str | None, name: str, request: Request) -> Json:
        items = self._objects[(prefix, resource)]
        for place, item in enumerate(items):
            if item["metadata"]["name"] == name and item["metadata"].get("namespace") == namespace:
                if request.method == "PATCH":
                    items[place] = self._changed(resource, item, request)
                return items[place]
        raise failure(404, "NotFound", f'{resource} "{name}" not found')

    def _changed(self, resource: str, item: Json, request: Request) -> Json:
        if resource not in PATCHABLE:
            raise failure(405, "MethodNotAllowed", f"{resource} are not patched here")
        match request.headers.get("content-type", "").partition(";")[0]:
            case "application/merge-patch+json":
                changed = merged(item, request.body)
            case "application/json-patch+json":
                changed = patched(item, request.body)
            case other:
                raise failure(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {other}")
        if changed["spec"].get("unschedulable") is False:
            del changed["spec"]["unschedulable"]
        if changed != item:
            generation = item["metadata"]["generation"] + (changed["spec"] != item["spec"])
            changed["metadata"] = changed["metadata"] | {"resourceVersion": self._next(), "generation": generation}
        return changed


def main() -> None:
    """Serve the cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=7630)
    parser.add_argument("--token", default="simulated")
    arguments = parser.parse_args()
    serve("the API server", arguments.port, Cluster(arguments.token).answer)


if __name__ == "__main__":
    main()
