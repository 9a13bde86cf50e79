"""Methods have the names of the operations that they call, by the rule in docs/guides/python.md#names-of-methods."""

from __future__ import annotations

import inspect
import json
import keyword
import re
from pathlib import Path
from typing import Any

import pytest

from charter_client import AsyncCharter, Charter
from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._streams import Stream
from charter_client._wire import Call
from conftest import ROOT

PATHS = json.loads((ROOT / "schemas" / "openapi.json").read_text(encoding="utf-8"))["paths"]
#: Methods without an operation of their own: they make several calls, or any, or none.
COMPOSED = {
    "carry_out",
    "close",
    "executor.carry_out",
    "executor.serve",
    "missions.wait",
    "runs.call_tool",
    "runs.wait",
    "send",
}


def methods(charter: Charter | AsyncCharter) -> dict[str, Any]:
    """The public methods of a client and of its groups, as `group.method`."""
    groups = {f"{name}.": value for name, value in vars(charter).items() if isinstance(value, (Blocking, Awaiting))}
    found = {}
    for prefix, holder in {"": charter, **groups}.items():
        for name, value in inspect.getmembers_static(type(holder)):
            is_method = isinstance(value, (operation, iteration)) or inspect.isfunction(value)
            if is_method and not name.startswith("_"):
                found[prefix + name] = value
    return found


def called(method: Any, directory: Path) -> tuple[str, str, bool]:
    """The tag and the id of the operation that a method calls, and whether it reads a stream."""
    samples: dict[str, object] = {
        "directory": directory,
        "file": directory / "file.txt",
        "parameters": {},
        "plan": {},
    }
    needed = [
        parameter.name
        for parameter in inspect.signature(method.build).parameters.values()
        if parameter.default is parameter.empty and parameter.name != "self"
    ]
    built = method.build(None, **{name: samples.get(name, "x") for name in needed})
    call = built if isinstance(built, Call) else built.call(None)
    fitting = [path for path in PATHS if call.method.lower() in PATHS[path] and fits(path, call.path)]
    assert fitting, f"no operation has {call.method} {call.path}"
    found = PATHS[min(fitting, key=lambda path: path.count("{"))][call.method.lower()]
    return found["tags"][0], found["operationId"], isinstance(built, Stream)


def fits(template: str, path: str) -> bool:
    """Whether a path is one of those that a template of the OpenAPI document describes."""
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) is not None


def name_of(tag: str, operation_id: str, streams: bool) -> str:
    """The name of the method that calls an operation, as `group.method`."""
    verb, *rest = operation_id.split("_")
    words = ["stream" if streams else verb, *rest]
    own = {tag, re.sub("ies$", "y", tag), tag.removesuffix("s")}
    name = "_".join(word for word in words if word not in own)
    return f"{tag}.{name}_" if keyword.iskeyword(name) else f"{tag}.{name}"


@pytest.mark.parametrize(
    ("tag", "operation_id", "streams", "name"),
    [
        ("runs", "get_run", False, "runs.get"),
        ("runs", "get_run_at", False, "runs.get_at"),
        ("runs", "set_run_parameters", False, "runs.set_parameters"),
        ("memories", "delete_memory", False, "memories.delete"),
        ("resolve", "resolve_skill", False, "resolve.skill"),
        ("missions", "list_mission_events", False, "missions.list_events"),
        ("missions", "list_mission_events", True, "missions.stream_events"),
        ("missions", "import_mission", False, "missions.import_"),
        ("requests", "create_request", True, "requests.stream"),
    ],
)
def test_an_operation_gives_a_method_its_name(tag: str, operation_id: str, streams: bool, name: str) -> None:
    assert name_of(tag, operation_id, streams) == name


def test_every_method_has_the_name_of_its_operation(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x", encoding="utf-8")
    with Charter("http://127.0.0.1:1") as charter:
        found = methods(charter)
    assert set(found) >= COMPOSED
    named = {name: name_of(*called(method, tmp_path)) for name, method in found.items() if name not in COMPOSED}
    assert {name: right for name, right in named.items() if name != right} == {}
    assert len(named) > 60


async def test_both_clients_have_the_same_methods() -> None:
    async with AsyncCharter("http://127.0.0.1:1") as awaited:
        with Charter("http://127.0.0.1:1") as charter:
            assert set(methods(awaited)) == set(methods(charter))
