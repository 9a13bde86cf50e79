"""Loading example packages and running their tools and filters, for the checks.

It plays the runtime's part by the tool protocol: a granted environment, one JSON
object in, one JSON value out. What the results ought to be is not known here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "packages"
# Where the path of the binary is taken from that runs filters.
CHARTER = "CHARTER_BINARY"
# Findings that one rule may emit.
MAX_FINDINGS = 10_000
SCRIPT_TIMEOUT_S = 120
SEVERITIES = ("critical", "high", "medium", "low", "info")
REFERENCE = re.compile(r"^\$\{user\.(\w+)\}$")
PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
# Given by the runtime, not by a finding.
RUNTIME_PLACEHOLDERS = {"evidence_id"}

Json = Any


class Check:
    """Counts what held and remembers what did not."""

    def __init__(self) -> None:
        self.passed = 0
        self.failures: list[str] = []

    def that(self, name: str, holds: object, detail: str = "") -> None:
        """Note one statement; ``detail`` is shown when it does not hold."""
        if holds:
            self.passed += 1
        else:
            self.failures.append(f"{name} {detail}".rstrip())
            print(f"FAIL {name} {detail}".rstrip())


class Package:
    """The documents of one package folder, by kind and id."""

    def __init__(self, name: str) -> None:
        self.root = PACKAGES / name
        self.tools = self._load("tools", "tool_id")
        self.skills = self._load("skills", "skill_id")
        self.templates = self._load("templates", "skill_id")
        self.playbooks = self._load("playbooks", "playbook_id")

    def _load(self, folder: str, key: str) -> dict[str, Json]:
        found = {}
        for path in sorted((self.root / folder).glob("*.yaml")):
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            for item in document if isinstance(document, list) else [document]:
                found[item[key]] = item
        return found

    def run(
        self, tool_id: str, parameters: Json, **overrides: str
    ) -> subprocess.CompletedProcess[str]:
        """One call of a tool, with only the environment that its document grants."""
        tool = self.tools[tool_id]
        everything = os.environ | overrides
        granted = {name: everything[name] for name in tool["environment"] if name in everything}
        dry_run = bool(parameters.get("dry_run", False))
        return subprocess.run(
            [sys.executable, str(self.root / tool["implementation"]["path"])],
            input=json.dumps({"parameters": parameters, "dry_run": dry_run}),
            env=granted
            | {"PYTHONPATH": str(self.root / "scripts"), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=self.root / "scripts",
            capture_output=True,
            text=True,
            timeout=SCRIPT_TIMEOUT_S,
            check=False,
        )

    def result(self, check: Check, tool_id: str, parameters: Json) -> Json:
        """A successful call's result, held against the tool's own schema."""
        done = self.run(tool_id, parameters)
        check.that(f"{tool_id} exits 0", done.returncode == 0, done.stderr[-300:])
        check.that(f"{tool_id} prints one line", done.stdout.count("\n") == 1)
        output = json.loads(done.stdout)
        problems = [
            error.message
            for error in Draft7Validator(self.tools[tool_id]["output_schema"]).iter_errors(output)
        ]
        check.that(f"{tool_id} fits its schema", not problems, str(problems[:3]))
        evidence = self.tools[tool_id]["evidence"]
        for field in ("native_id", "region", "account_id"):
            value = jq(evidence[field], {"parameters": parameters, "output": output})
            check.that(
                f"{tool_id} evidence.{field}",
                len(value) == 1 and isinstance(value[0], str) and value[0],
                str(value),
            )
        return output


def _bounded(process: str, program: str, parameters: Json) -> list[Json]:
    """What a process of the binary answers, which the runtime starts for a filter or template."""
    binary = os.environ.get(CHARTER, str(ROOT / "target" / "debug" / "charter"))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(program)
        file.flush()
        done = subprocess.run(
            [binary, process, file.name],
            input=json.dumps({"parameters": parameters}),
            capture_output=True,
            text=True,
            timeout=SCRIPT_TIMEOUT_S,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(f"{process} failed: {done.stderr}\n{program}")
    found: list[Json] = json.loads(done.stdout)
    return found


def jq(program: str, value: Json) -> list[Json]:
    """Everything a filter emits for a value, as the runtime filters."""
    return _bounded("__filter", program, {"input": value, "limit": MAX_FINDINGS})


def rendered(template: Json, values: list[Json]) -> list[Json]:
    """A template filled in with each set of values, as the runtime renders."""
    filled = _bounded("__render", json.dumps(template), {"values": values})
    return [one.get("value", one) for one in filled]


def bound(step: Json, skill: Json, given: Json) -> Json:
    """A step's parameters with the skill's defaults and the given values filled in."""
    values = {item["name"]: item.get("default") for item in skill["parameters"]} | given
    filled = {}
    for name, value in step["parameters"].items():
        found = REFERENCE.match(value) if isinstance(value, str) else None
        filled[name] = values[found[1]] if found else value
    return filled


def fills_template(check: Check, package: Package, skill_id: str, findings: list[Json]) -> None:
    """Every placeholder of the skill's template has a value in every finding."""
    wanted = set(PLACEHOLDER.findall(json.dumps(package.templates[skill_id]["structure"])))
    for finding in findings:
        missing = {name for name in wanted - RUNTIME_PLACEHOLDERS if finding.get(name) is None}
        check.that(f"{skill_id} {finding['rule_id']} fills its template", not missing, str(missing))
        check.that(f"{skill_id} severity", finding["severity"] in SEVERITIES, finding["severity"])


def skill_findings(check: Check, package: Package, skill_id: str, **given: Json) -> list[Json]:
    """Run a skill's plan and filters as the runtime would."""
    skill = package.skills[skill_id]
    outputs = {}
    for step in skill["execution_plan"]["steps"]:
        check.that(
            f"{skill_id} reads only", package.tools[step["tool_id"]]["tool_class"] == "readonly"
        )
        outputs[step["step_id"]] = package.result(check, step["tool_id"], bound(step, skill, given))
    findings = [
        {"rule_id": rule["rule_id"]} | finding
        for rule in skill["analysis"]["findings"]
        for finding in jq(rule["filter"], outputs[rule["from"]])
    ]
    fills_template(check, package, skill_id, findings)
    counts = {
        level: sum(1 for item in findings if item["severity"] == level) for level in SEVERITIES
    }
    print(f"{skill_id} {given or ''}: {len(findings)} findings {counts}")
    return findings
