"""The checks of packages/aws-security compared with those of Prowler, over one simulated account.

    prowler.py --charter BINARY --prowler PROGRAM [--csv FILE]

Starts the quickstart's simulator (moto) in this process, builds the account of `estate.py` and `posture.py` in it,
ages some credentials, and has both judge it: Prowler (https://github.com/prowler-cloud/prowler, installed by the
reader from PyPI) by its program, Charter by the tools and rules of the package. Each row of the table is a check of
Prowler with the rule of Charter that asks the same; a verdict is a pair of check and resource. Differences are listed,
with their explanations in `EXPLAINED`; one without an explanation ends the run with exit code 1.

`--csv` reads the output of an earlier run of Prowler instead of running it. It fits only an account of the same ids,
so it is of use with `--endpoint`, which takes an account that is there already.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "quickstart"))

from package_calls import CHARTER, Check, Package, skill_findings  # noqa: E402

REGIONS = ("us-east-1", "eu-west-1")
ACCOUNT = "123456789012"
PROWLER_TIMEOUT_S = 3_600
WANTED_AGREEMENT = 0.98

Finding = dict[str, Any]
Predicate = Callable[[Finding], bool]


def _always(_finding: Finding) -> bool:
    return True


@dataclass(frozen=True)
class Pair:
    """A check of Prowler, and the rules of a skill that ask the same."""

    check: str
    skill: str
    rules: tuple[str, ...]
    holds: Predicate = _always


def _ports(finding: Finding) -> tuple[int, int]:
    text = str(finding["port"])
    if text in ("all", "any"):
        return (0, 65535)
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def admits(port: int) -> Predicate:
    """Whether a rule of a security group holds a TCP port. Like Prowler, a rule for every port counts by itself."""

    def holds(finding: Finding) -> bool:
        low, high = _ports(finding)
        return finding["protocol"] == "tcp" and finding["port"] != "all" and low <= port <= high

    return holds


def acl_admits(port: int) -> Predicate:
    """Whether an entry of a network ACL admits a port over TCP."""

    def holds(finding: Finding) -> bool:
        if finding["protocol"] not in ("tcp", "all"):
            return False
        ranges = str(finding["port"]).split(", ")
        return any(low <= port <= high for low, high in (_ports({"port": text}) for text in ranges))

    return holds


def gives(*permissions: str) -> Predicate:
    """Whether an ACL of a bucket gives one of the permissions, and no block ignores it."""

    def holds(finding: Finding) -> bool:
        given = {part.split(" ")[0] for part in str(finding["access"]).split(", ")}
        return finding["severity"] != "low" and bool(given & set(permissions))

    return holds


def demands(name: str) -> Predicate:
    """Whether a finding is about one demand of the password policy."""
    return lambda finding: finding.get("demand") == name


def _is_in_force(finding: Finding) -> bool:
    return bool(finding["severity"] != "low")


def _pairs(skill: str, rows: str) -> list[Pair]:
    """Rows of a check and its rules, without further conditions."""
    found = []
    for row in rows.split("\n"):
        words = row.split()
        if words:
            found.append(Pair(words[0], f"security.{skill}", tuple(words[1:])))
    return found


INGRESS, STORAGE = "security.detect_public_ingress", "security.detect_public_storage_access"
GROUP, ACL = ("open_security_group_ingress",), ("open_network_acl_entry",)
FROM_INTERNET = "ec2_securitygroup_allow_ingress_from_internet_to"
PASSWORD = ("weak_password_policy",)
IDENTITY = "security.review_identity_settings"

PAIRS: list[Pair] = [
    Pair(f"{FROM_INTERNET}_all_ports", INGRESS, GROUP, lambda item: item["port"] == "all"),
    Pair(f"{FROM_INTERNET}_tcp_port_22", INGRESS, GROUP, admits(22)),
    Pair(f"{FROM_INTERNET}_tcp_port_3389", INGRESS, GROUP, admits(3389)),
    Pair(f"{FROM_INTERNET}_tcp_port_mysql_3306", INGRESS, GROUP, admits(3306)),
    Pair(f"{FROM_INTERNET}_tcp_port_postgres_5432", INGRESS, GROUP, admits(5432)),
    Pair(f"{FROM_INTERNET}_tcp_port_redis_6379", INGRESS, GROUP, admits(6379)),
    Pair(f"{FROM_INTERNET}_tcp_port_memcached_11211", INGRESS, GROUP, admits(11211)),
    Pair(f"{FROM_INTERNET}_tcp_port_telnet_23", INGRESS, GROUP, admits(23)),
    Pair("ec2_networkacl_allow_ingress_any_port", INGRESS, ACL, lambda item: item["protocol"] == "all"),
    Pair("ec2_networkacl_allow_ingress_tcp_port_22", INGRESS, ACL, acl_admits(22)),
    Pair("ec2_networkacl_allow_ingress_tcp_port_3389", INGRESS, ACL, acl_admits(3389)),
    Pair("s3_bucket_public_access", STORAGE, ("public_bucket_acl", "public_bucket_policy"), _is_in_force),
    Pair("s3_bucket_public_list_acl", STORAGE, ("public_bucket_acl",), gives("READ", "READ_ACP", "FULL_CONTROL")),
    Pair("s3_bucket_public_write_acl", STORAGE, ("public_bucket_acl",), gives("WRITE", "WRITE_ACP", "FULL_CONTROL")),
    Pair(
        "s3_bucket_policy_public_write_access",
        STORAGE,
        ("public_bucket_policy",),
        lambda item: item["severity"] == "critical",
    ),
    *_pairs(
        "review_bucket_settings",
        """
        s3_account_level_public_access_blocks account_public_access_block_off
        s3_bucket_level_public_access_block bucket_public_access_block_off
        s3_bucket_default_encryption bucket_not_encrypted
        s3_bucket_kms_encryption bucket_not_encrypted bucket_without_kms_key
        s3_bucket_secure_transport_policy bucket_accepts_plain_http
        s3_bucket_object_versioning bucket_without_versioning
        s3_bucket_no_mfa_delete bucket_without_mfa_delete
        s3_bucket_server_access_logging_enabled bucket_without_access_logs
        s3_bucket_acl_prohibited bucket_with_acls
        s3_bucket_lifecycle_enabled bucket_without_lifecycle
        s3_bucket_object_lock bucket_without_object_lock
        """,
    ),
    *_pairs(
        "review_disk_settings",
        """
        ec2_ebs_default_encryption disk_encryption_not_default
        ec2_ebs_volume_encryption volume_not_encrypted
        ec2_ebs_volume_snapshots_exists volume_without_snapshot
        ec2_ebs_snapshots_encrypted snapshot_not_encrypted
        ec2_ebs_public_snapshot public_snapshot
        ec2_ebs_snapshot_account_block_public_access snapshot_sharing_not_blocked
        """,
    ),
    *_pairs(
        "review_instance_settings",
        """
        ec2_instance_imdsv2_enabled instance_without_imdsv2
        ec2_instance_secrets_user_data secret_in_user_data
        ec2_instance_public_ip instance_with_public_address
        ec2_instance_profile_attached instance_without_role
        ec2_instance_detailed_monitoring_enabled instance_without_detailed_monitoring
        ec2_instance_uses_single_eni instance_with_several_interfaces
        ec2_launch_template_imdsv2_required template_without_imdsv2
        ec2_launch_template_no_public_ip template_with_public_address
        ec2_launch_template_no_secrets secret_in_template
        ec2_ami_public public_image
        ec2_securitygroup_default_restrict_traffic default_group_with_rules
        ec2_instance_account_imdsv2_enabled metadata_defaults_not_set
        ec2_ami_account_block_public_access image_sharing_not_blocked
        """,
    ),
    Pair("iam_password_policy_minimum_length_14", IDENTITY, PASSWORD, demands("minimum_length")),
    Pair("iam_password_policy_lowercase", IDENTITY, PASSWORD, demands("lowercase")),
    Pair("iam_password_policy_uppercase", IDENTITY, PASSWORD, demands("uppercase")),
    Pair("iam_password_policy_number", IDENTITY, PASSWORD, demands("number")),
    Pair("iam_password_policy_symbol", IDENTITY, PASSWORD, demands("symbol")),
    Pair("iam_password_policy_reuse_24", IDENTITY, PASSWORD, demands("remembered")),
    Pair(
        "iam_password_policy_expires_passwords_within_90_days_or_less", IDENTITY, PASSWORD, demands("maximum_age_days")
    ),
    *_pairs(
        "review_identity_settings",
        """
        iam_root_mfa_enabled root_without_mfa
        iam_no_root_access_key root_with_access_key
        iam_avoid_root_usage root_used_recently
        iam_user_mfa_enabled_console_access user_without_mfa
        iam_rotate_access_key_90_days access_key_not_rotated
        iam_user_accesskey_unused access_key_unused
        iam_user_two_active_access_key user_with_two_keys
        iam_user_console_access_unused password_unused
        iam_policy_attached_only_to_group_or_roles policy_attached_to_user
        iam_user_administrator_access_policy administrator_user
        iam_group_administrator_access_policy administrator_group
        iam_role_administratoraccess_policy administrator_role
        iam_customer_attached_policy_no_administrative_privileges managed_policy_grants_everything
        iam_aws_attached_policy_no_administrative_privileges aws_policy_grants_everything
        iam_inline_policy_no_administrative_privileges inline_policy_grants_everything
        iam_policy_no_full_access_to_cloudtrail policy_grants_all_of_cloudtrail
        iam_policy_no_full_access_to_kms policy_grants_all_of_kms
        iam_no_custom_policy_permissive_role_assumption policy_assumes_any_role
        iam_support_role_created no_support_role
        iam_no_expired_server_certificates_stored expired_certificate
        """,
    ),
    *_pairs(
        "review_database_settings",
        """
        rds_instance_no_public_access public_database
        rds_instance_storage_encrypted database_not_encrypted
        rds_cluster_storage_encrypted cluster_not_encrypted
        rds_instance_backup_enabled database_without_backups
        rds_instance_deletion_protection database_without_deletion_protection
        rds_cluster_deletion_protection cluster_without_deletion_protection
        rds_instance_multi_az database_in_one_zone
        rds_cluster_multi_az cluster_in_one_zone
        rds_instance_iam_authentication_enabled database_without_iam_login
        rds_cluster_iam_authentication_enabled cluster_without_iam_login
        rds_instance_integration_cloudwatch_logs database_without_exported_logs
        rds_cluster_integration_cloudwatch_logs cluster_without_exported_logs
        rds_instance_default_admin database_with_proposed_user
        rds_cluster_default_admin cluster_with_proposed_user
        rds_instance_copy_tags_to_snapshots database_without_tag_copies
        rds_cluster_copy_tags_to_snapshots cluster_without_tag_copies
        rds_instance_minor_version_upgrade_enabled database_without_minor_upgrades
        rds_instance_enhanced_monitoring_enabled database_without_enhanced_monitoring
        rds_snapshots_public_access public_database_snapshot
        rds_snapshots_encrypted database_snapshot_not_encrypted
        """,
    ),
    *_pairs(
        "review_key_settings",
        """
        kms_cmk_rotation_enabled key_not_rotated
        kms_key_not_publicly_accessible key_open_to_everyone
        kms_cmk_not_deleted_unintentionally key_waits_for_deletion
        kms_cmk_are_used key_disabled
        kms_cmk_not_multi_region multi_region_key
        """,
    ),
    *_pairs(
        "review_trail_settings",
        """
        cloudtrail_multi_region_enabled region_not_recorded
        cloudtrail_multi_region_enabled_logging_management_events management_events_not_recorded
        cloudtrail_log_file_validation_enabled trail_without_validation
        cloudtrail_kms_encryption_enabled trail_without_kms_key
        cloudtrail_cloudwatch_logging_enabled trail_without_log_group
        cloudtrail_insights_exist trail_without_insights
        cloudtrail_logs_s3_bucket_is_not_publicly_accessible trail_bucket_public
        cloudtrail_logs_s3_bucket_access_logging_enabled trail_bucket_without_access_logs
        cloudtrail_bucket_requires_mfa_delete trail_bucket_without_mfa_delete
        cloudtrail_s3_dataevents_read_enabled object_reads_not_recorded
        cloudtrail_s3_dataevents_write_enabled object_writes_not_recorded
        """,
    ),
    *_pairs(
        "review_function_settings",
        """
        awslambda_function_not_publicly_accessible function_open_to_everyone
        awslambda_function_url_public function_url_without_authentication
        awslambda_function_url_cors_policy function_url_any_origin
        awslambda_function_no_secrets_in_variables secret_in_variables
        awslambda_function_using_supported_runtimes function_on_retired_runtime
        awslambda_function_inside_vpc function_outside_vpc
        awslambda_function_vpc_multi_az function_in_one_zone
        awslambda_function_no_dead_letter_queue function_without_dead_letter_queue
        awslambda_function_env_vars_not_encrypted_with_cmk function_variables_without_own_key
        """,
    ),
]


@dataclass(frozen=True)
class Explanation:
    """Why the two differ about the resources of a check that fit a pattern."""

    check: str
    resources: str
    why: str


EXPLAINED: list[Explanation] = [
    Explanation(
        f"{FROM_INTERNET}_tcp_port_22",
        "sg-*",
        "Prowler looks for 0.0.0.0/0 and misses a group that admits both halves of the world (posture-halves).",
    ),
    Explanation(
        "s3_bucket_public_access",
        "posture-all-but-one",
        "Prowler does not read NotPrincipal: an allowance for everyone but one account is public.",
    ),
    Explanation(
        "ec2_launch_template_imdsv2_required",
        "lt-*",
        "Prowler is content if any version of a template requires IMDSv2. Charter judges the default version, which"
        " launches use (posture-two-versions).",
    ),
    Explanation(
        "iam_customer_attached_policy_no_administrative_privileges",
        "posture-all-but-iam",
        "Prowler counts a policy of all actions but those of IAM as administrative."
        " Charter names what it grants: all of KMS, all of CloudTrail, any role.",
    ),
    Explanation(
        "iam_no_custom_policy_permissive_role_assumption",
        "posture-all-but-iam",
        "Prowler does not read NotAction here: all actions but those of IAM include sts:AssumeRole on every role.",
    ),
    Explanation(
        "rds_instance_*",
        "*-member",
        "Prowler repeats a cluster's setting for each of its instances. Charter names it once, at the cluster.",
    ),
    Explanation(
        "s3_account_level_public_access_blocks",
        "*",
        "Simulator: S3 Control puts the account before the host name, which the address of a simulator does not answer"
        " to. Prowler gets no answer and has no verdict; Charter leaves the account out at a private endpoint.",
    ),
    Explanation(
        "iam_root_mfa_enabled",
        "*",
        "Simulator: its credential report has no row of the root user, so Prowler has no verdict. Charter reads the"
        " account summary.",
    ),
    Explanation(
        "iam_user_console_access_unused",
        "posture-bob",
        "Simulator: its list of users has no date of the last sign-in, from which Prowler takes it. Charter reads the"
        " credential report.",
    ),
    Explanation(
        "s3_bucket_secure_transport_policy",
        "posture-half-tls",
        "Prowler is content with a policy that denies s3:PutObject without TLS, and leaves reads without TLS. Charter"
        " asks that every request be denied.",
    ),
    Explanation(
        "rds_instance_no_public_access",
        "*",
        "Prowler fails a publicly accessible instance only if its security group is open and its subnet public. Charter"
        " fails the setting itself, as AWS FSBP does (RDS.2); open groups are findings of their own.",
    ),
    Explanation(
        "cloudtrail_bucket_requires_mfa_delete",
        "posture-stopped",
        "Prowler leaves out trails whose logging is stopped. The bucket still has their logs.",
    ),
    Explanation(
        "cloudtrail_s3_dataevents_*",
        "* eu-west-1",
        "Prowler is content with one trail in any region. A trail of one region records nothing of another.",
    ),
    Explanation(
        "iam_user_accesskey_unused",
        "posture-carol/1",
        "Prowler passes a key that was never used, however old. Charter counts it as unused since it was made.",
    ),
]


@dataclass
class Row:
    """What both found of one check."""

    pair: Pair
    failed: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)

    @property
    def judged(self) -> set[str]:
        """Every resource that either of them has a verdict on."""
        return self.failed | self.passed | self.found

    @property
    def differing(self) -> set[str]:
        """The resources with different verdicts."""
        return self.failed ^ self.found


def short(identifier: str) -> str:
    """A resource by the last part of its ARN; the same for an id that is none."""
    return identifier.rpartition(":")[2].rpartition("/")[2] if identifier.startswith("arn:") else identifier


def of_charter(finding: Finding) -> str:
    """How a finding's resource is named in the table, with its region where the account is the resource."""
    identifier = str(finding["resource_id"])
    regional = finding["resource_type"] == "aws.account" and finding["rule_id"] in REGIONAL
    return f"{identifier} {finding['region']}" if regional else short(identifier)


REGIONAL = frozenset(
    [
        "disk_encryption_not_default",
        "snapshot_sharing_not_blocked",
        "metadata_defaults_not_set",
        "image_sharing_not_blocked",
        "region_not_recorded",
        "management_events_not_recorded",
        "object_reads_not_recorded",
        "object_writes_not_recorded",
    ]
)


def of_prowler(pair: Pair, row: dict[str, str]) -> str:
    """The same for a row of Prowler's output."""
    if set(pair.rules) & REGIONAL:
        return f"{ACCOUNT} {row['REGION']}"
    if row["CHECK_ID"] == "iam_no_expired_server_certificates_stored":
        return short(row["RESOURCE_UID"])
    name = row["RESOURCE_NAME"] or row["RESOURCE_UID"]
    return re.sub(r"(?:/AccessKey|-access-key-)(\d)$", r"/\1", short(name))


def prowler_rows(path: Path) -> list[dict[str, str]]:
    """The rows of Prowler's CSV output."""
    csv.field_size_limit(sys.maxsize)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=";"))


def run_prowler(program: str, folder: Path) -> Path:
    """Has Prowler judge the account; the path of its output."""
    checks = sorted({pair.check for pair in PAIRS})
    command = [program, "aws", "--no-banner", "--scan-unused-services", "--ignore-exit-code-3", "-M", "csv"]
    command += ["-o", str(folder), "-F", "prowler", "-f", *REGIONS, "-c", *checks]
    with (folder / "prowler.log").open("wb") as log:
        done = subprocess.run(
            command,
            stdout=log,
            stderr=log,
            timeout=PROWLER_TIMEOUT_S,
            check=False,
            env=os.environ | {"HOME": str(folder)},
        )
    output = folder / "prowler.csv"
    if not output.exists():
        text = (folder / "prowler.log").read_text(encoding="utf-8", errors="replace")
        raise SystemExit(f"prowler.py: {program} ended with {done.returncode} and without output:\n{text[-2000:]}")
    return output


def charter_findings() -> list[Finding]:
    """The findings of every skill of the table in every region, each once."""
    check, package, found = Check(), Package("aws-security"), []
    for skill in sorted({pair.skill for pair in PAIRS}):
        for region in REGIONS:
            found += [item | {"skill": skill} for item in skill_findings(check, package, skill, region=region)]
    if check.failures:
        raise SystemExit(f"prowler.py: {len(check.failures)} calls of the package failed")
    return found


def compare(rows: Iterable[dict[str, str]], findings: list[Finding]) -> list[Row]:
    """A row for each pair."""
    by_check: dict[str, list[dict[str, str]]] = {}
    for item in rows:
        by_check.setdefault(item["CHECK_ID"], []).append(item)
    table = []
    for pair in PAIRS:
        row = Row(pair)
        for item in by_check.get(pair.check, []):
            target = {"FAIL": row.failed, "PASS": row.passed}.get(item["STATUS"])
            if target is not None:
                target.add(of_prowler(pair, item))
        row.passed -= row.failed
        row.found = {
            of_charter(item)
            for item in findings
            if item["skill"] == pair.skill and item["rule_id"] in pair.rules and pair.holds(item)
        }
        table.append(row)
    return table


def explanation_of(check: str, resource: str) -> Explanation | None:
    """The first explanation that a difference fits."""
    for item in EXPLAINED:
        if fnmatch.fnmatchcase(check, item.check) and fnmatch.fnmatchcase(resource, item.resources):
            return item
    return None


def show(table: list[Row], version: str) -> int:
    """Prints the table; returns the number of differences without an explanation."""
    width = max(len(row.pair.check) for row in table)
    print(f"\n{'check of Prowler ' + version:{width}}  resources  prowler  charter  agree  rules of Charter")
    verdicts = equal = unexplained = explained = 0
    notes: dict[str, list[str]] = {}
    for row in table:
        same = len(row.judged) - len(row.differing)
        print(
            f"{row.pair.check:{width}}  {len(row.judged):9}  {len(row.failed):7}  {len(row.found):7}"
            f"  {same:5}  {', '.join(row.pair.rules)}"
        )
        verdicts, equal = verdicts + len(row.judged), equal + same
        for resource in sorted(row.differing):
            who = "Prowler" if resource in row.failed else "Charter"
            known = explanation_of(row.pair.check, resource)
            explained, unexplained = explained + (known is not None), unexplained + (known is None)
            text = known.why if known else "NOT EXPLAINED"
            notes.setdefault(text, []).append(f"{row.pair.check} {resource}: only {who} fails it")
    for text, differences in notes.items():
        print(f"\n{text}")
        for line in differences:
            print(f"  {line}")
    print(
        f"\n{len(table)} checks, {verdicts} verdicts, {equal} equal ({equal / verdicts:.1%}), {explained} differences"
        f" explained, {unexplained} not; agreement after explained differences {(equal + explained) / verdicts:.1%}"
    )
    show_services(table)
    return unexplained if (equal + explained) / verdicts >= WANTED_AGREEMENT else max(unexplained, 1)


SERVICES = {"rds": "RDS", "s3": "S3", "iam": "IAM", "kms": "KMS", "cloudtrail": "CloudTrail", "awslambda": "Lambda"}


def service_of(check: str) -> str:
    """The service of a check; EBS is a part of EC2 to Prowler."""
    return "EBS" if check.startswith("ec2_ebs_") else SERVICES.get(check.partition("_")[0], "EC2")


def show_services(table: list[Row]) -> None:
    """Prints the table by service, and how many checks the simulator gives no verdict on."""
    print(f"\n{'service':10}  checks  verdicts  failed by Prowler  failed by Charter  equal  explained")
    for service in sorted({service_of(row.pair.check) for row in table}):
        rows = [row for row in table if service_of(row.pair.check) == service]
        judged, differing = sum(len(row.judged) for row in rows), sum(len(row.differing) for row in rows)
        failed, found = sum(len(row.failed) for row in rows), sum(len(row.found) for row in rows)
        print(
            f"{service:10}  {len(rows):6}  {judged:8}  {failed:17}  {found:17}  {judged - differing:5}  {differing:9}"
        )
    silent = [row.pair.check for row in table if not row.judged]
    print(f"without a verdict, because the simulator has no answer: {', '.join(silent)}")


def age_credentials() -> None:
    """Makes credentials of the simulated account old, which no call can."""
    from moto.iam.models import iam_backends

    users = {user.name: user for user in iam_backends[ACCOUNT]["aws"].users.values()}
    long_ago, lately = (datetime.now(UTC) - timedelta(days=days) for days in (200, 3))
    [first, second] = users["posture-bob"].access_keys
    first.create_date, first.last_used = long_ago, lately
    second.last_used = lately
    [carol] = users["posture-carol"].access_keys
    carol.create_date = long_ago
    [robot] = users["posture-robot"].access_keys
    robot.create_date, robot.last_used = long_ago, long_ago
    users["posture-bob"].password_last_used = long_ago
    users["posture-ann"].password_last_used = lately


def build_account() -> str:
    """Serves a new simulated account from this process; its address."""
    os.environ |= {"MOTO_EC2_LOAD_DEFAULT_AMIS": "false", "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"}
    import boto3
    import estate
    import posture
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
    session = boto3.Session(aws_access_key_id="simulated", aws_secret_access_key="simulated")
    estate.build(session)
    posture.build(session)
    age_credentials()
    return os.environ["AWS_ENDPOINT_URL"]


def main() -> int:
    """Exit code 0 if every difference is explained, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--charter", type=Path, required=True)
    parser.add_argument("--prowler", default="prowler", help="the program of Prowler")
    parser.add_argument("--csv", type=Path, help="the output of an earlier run of Prowler")
    parser.add_argument("--endpoint", help="the address of a simulator whose account is built")
    arguments = parser.parse_args()
    os.environ[CHARTER] = str(arguments.charter.resolve())
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        os.environ.pop(name, None)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "simulated",
        "AWS_SECRET_ACCESS_KEY": "simulated",
        "AWS_DEFAULT_REGION": REGIONS[0],
    }
    if arguments.endpoint:
        os.environ["AWS_ENDPOINT_URL"] = arguments.endpoint
    else:
        build_account()
    findings = charter_findings()
    with tempfile.TemporaryDirectory(prefix="charter-prowler-") as folder:
        rows = prowler_rows(arguments.csv or run_prowler(arguments.prowler, Path(folder)))
    versions = {row["PROWLER_VERSION"] for row in rows}
    return 1 if show(compare(rows, findings), ", ".join(sorted(versions))) else 0


if __name__ == "__main__":
    sys.exit(main())
