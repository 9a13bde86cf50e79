"""Run the packages' tools and filters against the simulator and check what they say.

For every skill: its readonly scripts by the tool protocol, their output against
the declared schema, its jq filters with the ``jq`` binary, every finding against
the template's placeholders. The findings of security.detect_public_ingress must
equal those of expected_findings.py; the write tools are locked, repeated, and
restored. Starts a simulator of its own and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parent / "packages"
SCRIPT_TIMEOUT_S = 120
COMPARED = ("rule_id", "resource_type", "resource_id", "protocol", "port", "cidr", "severity")
SEVERITIES = {"critical", "high", "medium", "low", "info"}
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
            [sys.executable, str(self.root / tool["implementation"]["script"])],
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


def jq(program: str, value: Json) -> list[Json]:
    """Everything a jq filter emits for a value."""
    done = subprocess.run(
        [os.environ.get("JQ", "jq"), "-c", program],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        timeout=SCRIPT_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"jq failed: {done.stderr}\n{program}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def bound(step: Json, skill: Json, given: Json) -> Json:
    """A step's parameters with the skill's defaults and the given values filled in."""
    values = {item["name"]: item.get("default") for item in skill["parameters"]} | given
    filled = {}
    for name, value in step["parameters"].items():
        found = REFERENCE.match(value) if isinstance(value, str) else None
        filled[name] = values[found[1]] if found else value
    return filled


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
    wanted = set(PLACEHOLDER.findall(json.dumps(package.templates[skill_id]["structure"])))
    for finding in findings:
        missing = {name for name in wanted - RUNTIME_PLACEHOLDERS if finding.get(name) is None}
        check.that(f"{skill_id} {finding['rule_id']} fills its template", not missing, str(missing))
        check.that(f"{skill_id} severity", finding["severity"] in SEVERITIES, finding["severity"])
    counts = {
        level: sum(1 for item in findings if item["severity"] == level)
        for level in sorted(SEVERITIES)
    }
    print(f"{skill_id} {given or ''}: {len(findings)} findings {counts}")
    return findings


def compared(findings: list[Json]) -> set[tuple[str, ...]]:
    """Findings reduced to what the independent script also computes."""
    return {tuple(finding[field] for field in COMPARED) for finding in findings}


def check_ingress(check: Check, package: Package, region: str) -> None:
    """The skill and the independent script find the same, nothing more, nothing less."""
    ours = skill_findings(check, package, "security.detect_public_ingress", region=region)
    script = [sys.executable, str(HERE / "expected_findings.py"), "--region", region]
    theirs = json.loads(subprocess.run(script, capture_output=True, text=True, check=True).stdout)
    check.that(f"ingress findings are unique in {region}", len(compared(ours)) == len(ours))
    missing, surplus = compared(theirs) - compared(ours), compared(ours) - compared(theirs)
    check.that(
        f"ingress findings equal the independent ones in {region}",
        not missing and not surplus,
        f"missing {missing} surplus {surplus}",
    )
    print(f"independent findings in {region}: {len(theirs)}")


def check_storage(check: Check, package: Package) -> None:
    """The estate's buckets are judged as they were made."""
    found = {
        (item["resource_id"].removeprefix("charter-demo-"), item["rule_id"], item["severity"])
        for item in skill_findings(check, package, "security.detect_public_storage_access")
    }
    bare = "bucket_without_public_access_block"
    wanted = {
        ("acl-read", "public_bucket_acl", "high"),
        ("acl-write", "public_bucket_acl", "critical"),
        ("eu-files", "public_bucket_acl", "high"),
        ("policy", "public_bucket_policy", "high"),
        ("drop-box", "public_bucket_policy", "critical"),
        ("held-back", "public_bucket_policy", "low"),
        ("bare", bare, "info"),
        ("vpc-only", bare, "info"),
    }
    check.that("bucket findings are the estate's", found == wanted, str(found ^ wanted))


def check_ranking(check: Check, package: Package) -> None:
    """What is reachable and in production comes first."""
    ranked = skill_findings(check, package, "security.rank_basic_exposure_findings")
    first = max(ranked, key=lambda item: item["score"])
    check.that(
        "demo-bastion ranks first",
        (first["resource_name"], first["score"]) == ("demo-bastion", 100),
        str(first),
    )
    check.that("scores stay in range", all(0 <= item["score"] <= 100 for item in ranked))


def check_cost(check: Check, package: Package) -> None:
    """Idle resources and prices are the estate's."""
    idle = skill_findings(check, package, "cost.detect_idle_resources", min_age_days=0)
    found = {(item["resource_name"], item["monthly_cost_usd"], item["severity"]) for item in idle}
    wanted = {
        ("demo-forgotten", 40.0, "medium"),
        ("demo-forgotten-fast", 272.5, "high"),
        ("demo-snapshot", 10.0, "low"),
        ("demo-spare-address", 3.65, "info"),
        ("demo-stopped", 0.8, "info"),
    }
    check.that("idle findings are the estate's", found == wanted, str(found ^ wanted))
    aged = skill_findings(check, package, "cost.detect_idle_resources")
    check.that("a new snapshot is not old", all(item["rule_id"] != "old_snapshot" for item in aged))
    outdated = skill_findings(check, package, "cost.detect_outdated_volume_types")
    # The simulator gives both instances an 8 GiB gp2 root volume.
    savings = sorted((item["size_gib"], item["monthly_saving_usd"]) for item in outdated)
    check.that(
        "gp2 volumes save what they should",
        savings == [(8, 0.16), (8, 0.16), (200, 4.0)],
        str(savings),
    )


def check_playbook(check: Check, package: Package) -> None:
    """Lock and restore, each twice, end where they began; a dry run changes nothing."""
    scope = {"region": "us-east-1", "profile": ""}
    surface = package.result(check, "aws.describe_public_ingress_surface", scope)
    rules = surface["lockable_rules"]
    check.that(
        "web and ICMP rules are not lockable",
        not {(r["protocol"], r["from_port"]) for r in rules}
        & {("tcp", 80), ("tcp", 443), ("icmp", -1)},
    )

    def lock(**extra: Json) -> Json:
        return package.result(check, "aws.lock_security_group", scope | {"rules": rules} | extra)

    dry = lock(dry_run=True)
    check.that(
        "a dry run plans everything and does nothing",
        dry["planned"] == rules and not dry["revoked"] and not dry["api_calls_made"],
    )
    locked = lock()
    check.that("every rule is revoked", locked["revoked"] == rules)
    again = lock()
    check.that(
        "a second lock changes nothing",
        not again["revoked"] and len(again["already_absent"]) == len(rules),
    )
    empty = package.result(check, "aws.describe_public_ingress_surface", scope)
    check.that("nothing lockable is left", not empty["lockable_rules"])

    back = scope | {"rules": locked["revoked"]}
    restored = package.result(check, "aws.restore_security_group", back)
    check.that("every rule is back", restored["restored"] == rules)
    check.that(
        "the state is the one before",
        restored["security_group_state_after"] == locked["security_group_state_before"],
    )
    twice = package.result(check, "aws.restore_security_group", back)
    check.that(
        "a second restore changes nothing", not twice["restored"] and not twice["api_calls_made"]
    )
    evidence = package.playbooks["security.remediate_public_exposure"]["evidence_requirements"]
    check.that("the evidence asked for is there", set(evidence) <= set(locked))
    print(f"playbook: {len(rules)} rules locked and restored")


def check_half_way(check: Check, package: Package) -> None:
    """A lock that meets an unknown group changes nothing at all."""
    scope = {"region": "us-east-1", "profile": ""}
    surface = package.result(check, "aws.describe_public_ingress_surface", scope)
    stray = dict(surface["lockable_rules"][0], group_id="sg-00000000000000000")
    done = package.run(
        "aws.lock_security_group", scope | {"rules": [*surface["lockable_rules"], stray]}
    )
    check.that(
        "an unknown group is an input error",
        json.loads(done.stderr.splitlines()[-1])["error_type"] == "input_error",
    )
    check.that(
        "nothing was revoked",
        package.result(check, "aws.describe_public_ingress_surface", scope) == surface,
    )


def check_failures(check: Check, package: Package) -> None:
    """Failures come as one JSON object on the last line of standard error."""
    tool = "aws.describe_security_groups"
    cases: list[tuple[str, Json, dict[str, str], str, bool]] = [
        ("wrong type", {"region": 7}, {}, "input_error", False),
        (
            "unknown profile",
            {"region": "us-east-1", "profile": "no-such-profile"},
            {},
            "input_error",
            False,
        ),
        (
            "bad filter",
            {"region": "us-east-1", "filters": {"vpc-id": {}}},
            {},
            "input_error",
            False,
        ),
        (
            "unreachable",
            {"region": "us-east-1"},
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            "resource_error",
            True,
        ),
    ]
    for name, parameters, environment, error_type, retryable in cases:
        done = package.run(tool, parameters, **environment)
        last = json.loads(done.stderr.splitlines()[-1])
        seen = (done.returncode, done.stdout, last["error_type"], last["retryable"])
        check.that(
            f"failure: {name}", seen == (1, "", error_type, retryable), f"{seen} {last['message']}"
        )
    hostile = "us-east-1'; print('spliced') #\n\""
    done = package.run(tool, {"region": hostile})
    check.that(
        "a hostile value stays data", done.returncode == 1 and "spliced\n" not in done.stdout
    )


def check_documents(check: Check, packages: list[Package]) -> None:
    """What the documents promise each other."""
    shared = {(package.root / "scripts" / "charter_aws.py").read_bytes() for package in packages}
    check.that("charter_aws.py is the same in every package", len(shared) == 1)
    for package in packages:
        for tool_id, tool in package.tools.items():
            Draft7Validator.check_schema(tool["output_schema"])
            script = package.root / tool["implementation"]["script"]
            check.that(f"{tool_id} has its script", script.is_file())


def free_port() -> int:
    """A loopback port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_quickstart(script: str, *arguments: str) -> str:
    """One of the quickstart's scripts, which must succeed; its output."""
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def counted_estate() -> dict[str, int]:
    """How many resources of each kind the simulated regions hold."""
    probe = (
        "import boto3, json\n"
        "count = {}\n"
        "for region in ('us-east-1', 'eu-west-1'):\n"
        "    ec2, elb = boto3.client('ec2', region), boto3.client('elbv2', region)\n"
        "    for name, key in (('security_group_rules', 'SecurityGroupRules'), ('network_acls', 'NetworkAcls'),\n"
        "                      ('volumes', 'Volumes'), ('addresses', 'Addresses'), ('instances', 'Reservations')):\n"
        "        count[f'{region} {name}'] = len(getattr(ec2, f'describe_{name}')()[key])\n"
        "    count[f'{region} balancers'] = len(elb.describe_load_balancers()['LoadBalancers'])\n"
        "count['buckets'] = len(boto3.client('s3', 'us-east-1').list_buckets()['Buckets'])\n"
        "print(json.dumps(count))\n"
    )
    found: dict[str, int] = json.loads(
        subprocess.check_output([sys.executable, "-c", probe], text=True)
    )
    return found


def check_everything(check: Check) -> None:
    """All checks, in the order in which they build on each other."""
    security, cost = Package("aws-security"), Package("cost-hygiene")
    check_documents(check, [security, cost])
    run_quickstart("estate.py")
    first = counted_estate()
    run_quickstart("estate.py")
    check.that(
        "seeding twice adds nothing", counted_estate() == first, f"{first} {counted_estate()}"
    )
    steps: list[Callable[[], None]] = [
        lambda: check_ingress(check, security, "us-east-1"),
        lambda: check_ingress(check, security, "eu-west-1"),
        lambda: check_storage(check, security),
        lambda: check_ranking(check, security),
        lambda: check_cost(check, cost),
        lambda: check_playbook(check, security),
        lambda: check_half_way(check, security),
        lambda: check_ingress(check, security, "us-east-1"),
        lambda: check_failures(check, security),
    ]
    for step in steps:
        step()


def main() -> int:
    """Exit code 0 when everything held, 1 otherwise."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None).parse_args()
    check = Check()
    with tempfile.TemporaryDirectory(prefix="charter-check-") as folder:
        place = ["--port", str(free_port()), "--state", folder]
        os.environ |= {
            "AWS_ENDPOINT_URL": run_quickstart("simulator.py", "start", *place),
            "AWS_ACCESS_KEY_ID": "simulated",
            "AWS_SECRET_ACCESS_KEY": "simulated",
        }
        os.environ.pop("AWS_PROFILE", None)
        try:
            check_everything(check)
        finally:
            run_quickstart("simulator.py", "stop", *place)
    verdict = "ok" if not check.failures else f"{len(check.failures)} failed"
    print(f"check_tools: {verdict} · {check.passed} held")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
