"""Run the packages' tools and filters against the simulator and check what they say.

    check_tools.py --charter BINARY

For every skill: its readonly scripts by the tool protocol, their output against
the declared schema, its filters by the binary, every finding against the
template's placeholders. The findings of security.detect_public_ingress must
equal those of expected_findings.py; the write tools are locked, repeated, and
restored. Starts a simulator of its own and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import boto3
from check_filters import check_filters
from check_posture import (
    check_parts,
    check_policies_and_secrets,
    check_posture,
    check_setting_change_half_done,
    check_setting_playbooks,
    check_setting_rules,
)
from check_reading import check_reading
from check_rules import check_bucket_policies, check_change_half_done, check_repeated_lock
from jsonschema import Draft7Validator
from package_calls import CHARTER, Check, Json, Package, skill_findings

HERE = Path(__file__).resolve().parent
COMPARED = ("rule_id", "resource_type", "resource_id", "protocol", "port", "cidr", "severity")


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
        "the lockable rules by group are the lockable rules",
        [rule for group in surface["lockable_groups"] for rule in group["rules"]] == rules,
    )
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
    check.that(
        "a dry run shows the state that the lock leads to",
        (dry["security_group_state_before"], dry["security_group_state_after"])
        == (locked["security_group_state_before"], locked["security_group_state_after"]),
    )
    check.that("every rule is revoked", locked["revoked"] == rules)
    again = lock()
    check.that(
        "a second lock changes nothing",
        not again["revoked"] and len(again["already_absent"]) == len(rules),
    )
    empty = package.result(check, "aws.describe_public_ingress_surface", scope)
    check.that("nothing lockable is left", not empty["lockable_rules"])

    back = scope | {"rules": locked["revoked"]}
    undo = package.result(check, "aws.restore_security_group", back | {"dry_run": True})
    check.that(
        "a dry run shows the state that the restore leads to, and restores nothing",
        not undo["restored"]
        and undo["security_group_state_after"] == locked["security_group_state_before"],
    )
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
            script = package.root / tool["implementation"]["path"]
            check.that(f"{tool_id} has its script", script.is_file())
        for skill_id, skill in package.skills.items():
            for step in skill["execution_plan"]["steps"]:
                output = package.tools[step["tool_id"]]["output_schema"]
                if "unreadable" in output.get("properties", {}):
                    rules = [
                        rule
                        for rule in skill["analysis"]["findings"]
                        if rule["from"] == step["step_id"]
                    ]
                    told = any(".unreadable" in rule["filter"] for rule in rules)
                    check.that(f"{skill_id} {step['step_id']} says what could not be read", told)


def check_page(check: Check, package: Package) -> None:
    """The page of a package names all its rules, skills, tools and playbooks."""
    page = (HERE.parent / "docs" / "packages" / f"{package.root.name}.md").read_text(
        encoding="utf-8"
    )
    rules = [
        rule["rule_id"]
        for skill in package.skills.values()
        for rule in skill["analysis"]["findings"]
    ]
    for name in [*package.skills, *package.tools, *package.playbooks, *rules]:
        check.that(f"the page of {package.root.name} names {name}", f"`{name}`" in page)


def run_quickstart(script: str, *arguments: str) -> str:
    """One of the quickstart's scripts, which must succeed; its output."""
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def counted_estate() -> dict[str, int]:
    """How many resources of each kind the simulated regions hold."""
    count = {"buckets": len(boto3.client("s3", "us-east-1").list_buckets()["Buckets"])}
    for region in ("us-east-1", "eu-west-1"):
        ec2, elbv2 = boto3.client("ec2", region), boto3.client("elbv2", region)
        count |= {
            f"{region} rules": len(ec2.describe_security_group_rules()["SecurityGroupRules"]),
            f"{region} network ACLs": len(ec2.describe_network_acls()["NetworkAcls"]),
            f"{region} volumes": len(ec2.describe_volumes()["Volumes"]),
            f"{region} addresses": len(ec2.describe_addresses()["Addresses"]),
            f"{region} instances": len(ec2.describe_instances()["Reservations"]),
            f"{region} balancers": len(elbv2.describe_load_balancers()["LoadBalancers"]),
        }
    return count


def check_everything(check: Check) -> None:
    """All checks, in the order in which they build on each other."""
    security, cost = Package("aws-security"), Package("cost-hygiene")
    check_documents(check, [security, cost])
    check_page(check, security)
    check_bucket_policies(check)
    check_change_half_done(check)
    check_repeated_lock(check)
    check_reading(check)
    check_filters(check, security, cost)
    check_parts(check)
    check_policies_and_secrets(check)
    check_setting_change_half_done(check)
    check_setting_rules(check, security)
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
    run_quickstart("posture.py")
    run_quickstart("posture.py")
    check_posture(check, security)
    check_setting_playbooks(check, security)


def main() -> int:
    """Exit code 0 when everything held, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--charter", type=Path, required=True)
    os.environ[CHARTER] = str(parser.parse_args().charter.resolve())
    check = Check()
    with tempfile.TemporaryDirectory(prefix="charter-check-") as folder:
        place = ["--port", "0", "--state", folder]
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
