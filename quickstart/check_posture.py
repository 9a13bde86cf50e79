"""Checks of the reviews of settings: every rule over the simulated account or a table, and the playbooks' tools."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from check_reading import Account, refused, scripts_of
from package_calls import Check, Json, Package, jq, skill_findings

REVIEWS = ("bucket", "database", "disk", "function", "identity", "instance", "key", "trail")
REGION, OTHER_REGION = "us-east-1", "eu-west-1"

# States that the simulator cannot reach: a rule, a tool result, and the resources that the rule names.
BY_TABLE: list[tuple[str, str, Json, list[str]]] = [
    ("disk", "snapshot_sharing_not_blocked", {"snapshot_sharing": "unblocked"}, ["a"]),
    ("disk", "snapshot_sharing_not_blocked", {"snapshot_sharing": "block-all-sharing"}, []),
    ("disk", "snapshot_sharing_not_blocked", {"snapshot_sharing": None}, []),
    ("instance", "metadata_defaults_not_set", {"metadata_defaults": "no-preference"}, ["a"]),
    ("instance", "metadata_defaults_not_set", {"metadata_defaults": "required"}, []),
    ("instance", "image_sharing_not_blocked", {"image_sharing": "unblocked"}, ["a"]),
    ("instance", "image_sharing_not_blocked", {"image_sharing": "block-new-sharing"}, []),
    (
        "instance",
        "instance_with_several_interfaces",
        {"instances": [{"instance_id": f"i-{count}", "interfaces": count, "name": "n"} for count in (1, 2)]},
        ["i-2"],
    ),
    ("identity", "root_with_access_key", {"root": {"has_keys": True}}, ["a"]),
    ("identity", "root_with_access_key", {"root": {"has_keys": None}}, []),
    ("identity", "root_without_mfa", {"root": {"mfa": None}}, []),
    ("identity", "root_used_recently", {"root": {"unused_days": 0}}, ["a"]),
    ("identity", "root_used_recently", {"root": {"unused_days": 30}}, []),
    ("identity", "root_used_recently", {"root": {"unused_days": None}}, []),
    ("identity", "no_support_role", {"roles_known": True, "support_roles": []}, ["a"]),
    ("identity", "no_support_role", {"roles_known": False, "support_roles": []}, []),
    (
        "identity",
        "access_key_not_rotated",
        {"users": [{"name": "u", "keys": [{"number": number, "age_days": age} for number, age in ((1, 90), (2, 91))]}]},
        ["u/2"],
    ),
    (
        "identity",
        "access_key_unused",
        {
            "users": [
                {"name": "u", "keys": [{"number": number, "unused_days": days} for number, days in ((1, 45), (2, 46))]},
                {"name": "unread", "keys": None},
            ]
        },
        ["u/2"],
    ),
    (
        "identity",
        "password_unused",
        {"users": [{"name": f"u{days}", "console": True, "console_unused_days": days} for days in (None, 45, 46)]},
        ["u46"],
    ),
    ("identity", "weak_password_policy", {"password_policy": None}, []),
    ("database", "cluster_without_backups", {"clusters": [{"cluster_id": "c", "backup_days": 0}]}, ["c"]),
    ("trail", "region_not_recorded", {"trails_known": True, "trails": []}, ["a"]),
    ("trail", "region_not_recorded", {"trails_known": False, "trails": []}, []),
    ("trail", "region_not_recorded", {"trails_known": True, "trails": [{"logging": True}]}, []),
    (
        "trail",
        "management_events_not_recorded",
        {"trails_known": True, "trails": [{"logging": True, "events": None}]},
        ["a"],
    ),
    (
        "trail",
        "management_events_not_recorded",
        {"trails_known": True, "trails": [{"logging": True, "events": ["management read", "management write"]}]},
        [],
    ),
    ("trail", "object_reads_not_recorded", {"trails_known": True, "trails": [{"events": ["object write"]}]}, ["a"]),
    ("trail", "object_writes_not_recorded", {"trails_known": True, "trails": [{"events": ["object write"]}]}, []),
    (
        "trail",
        "trail_bucket_public",
        {
            "trails": [
                {"name": name, "home_region": home, "bucket": "b", "bucket_public": True}
                for name, home in (("t", "r"), ("s", "q"))
            ]
        },
        ["t"],
    ),
]


def rule_of(package: Package, review: str, rule_id: str) -> Json:
    """A rule of a review."""
    rules = package.skills[f"security.review_{review}_settings"]["analysis"]["findings"]
    [rule] = [rule for rule in rules if rule["rule_id"] == rule_id]
    return rule


def check_setting_rules(check: Check, package: Package) -> None:
    """Rules over tool results that are written here, and the rule of each review on what could not be read."""
    for review, rule_id, part, wanted in BY_TABLE:
        found = jq(rule_of(package, review, rule_id)["filter"], {"region": "r", "account_id": "a"} | part)
        seen = [item["resource_id"] for item in found]
        check.that(f"rule {rule_id} over {part}", seen == wanted, str(seen))
    unread = {"kind": "aws.x", "name": "n", "setting": "s", "operation": "Get", "reason": "AccessDenied"}
    for review in REVIEWS:
        rule = rule_of(package, review, f"{review}_settings_not_readable")
        found = jq(rule["filter"], {"region": "r", "account_id": "a", "unreadable": [unread]})
        check.that(
            f"{review} settings that could not be read are named", len(found) == 1 and "Get failed" in str(found)
        )


# Grants of policies: actions and resources, and what of them is too broad.
GRANTS: list[tuple[str, list[Json], list[str]]] = [
    ("a narrow policy", [{"Action": "s3:Get*", "Resource": "*"}], []),
    ("everything", [{"Action": "*", "Resource": "*"}], ["everything", "all of CloudTrail", "all of KMS", "any role"]),
    ("everything of one bucket", [{"Action": "*", "Resource": "arn:aws:s3:::b"}], []),
    ("all of a service", [{"Action": ["kms:*"], "Resource": ["*"]}], ["all of KMS"]),
    ("in other letters", [{"Action": "CloudTrail:*", "Resource": "*"}], ["all of CloudTrail"]),
    (
        "denied again",
        [{"Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "*", "Resource": "*"}],
        [],
    ),
    ("all but IAM", [{"NotAction": "iam:*", "Resource": "*"}], ["all of CloudTrail", "all of KMS", "any role"]),
    (
        "all but a bucket's deletion",
        [{"NotAction": ["s3:DeleteBucket"], "Resource": "*"}],
        ["everything", "all of CloudTrail", "all of KMS", "any role"],
    ),
    ("all but everything", [{"NotAction": "*", "Resource": "*"}], []),
    ("all but keys and trails", [{"NotAction": ["kms:Decrypt", "cloudtrail:*", "iam:*", "s*:*"], "Resource": "*"}], []),
    ("any role", [{"Action": "sts:AssumeRole", "Resource": "arn:aws:iam::*:role/*"}], ["any role"]),
    ("one role", [{"Action": "sts:AssumeRole", "Resource": "arn:aws:iam::1:role/r"}], []),
    (
        "roles denied",
        [{"Action": "sts:*", "Resource": "*"}, {"Effect": "Deny", "Action": "sts:AssumeRole", "Resource": "*"}],
        [],
    ),
]
TLS: dict[str, Json] = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "s3:*",
    "Resource": ["arn:aws:s3:::b", "arn:aws:s3:::b/*"],
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
# Statements, and whether they turn away every request without TLS.
PLAIN: list[tuple[str, Json, bool]] = [
    ("all of it", TLS, True),
    (
        "by a list and a boolean",
        TLS | {"Principal": {"AWS": ["*"]}, "Condition": {"Bool": {"aws:securetransport": False}}},
        True,
    ),
    ("uploads alone", TLS | {"Action": "s3:PutObject"}, False),
    ("the bucket without its objects", TLS | {"Resource": "arn:aws:s3:::b"}, False),
    ("one principal", TLS | {"Principal": {"AWS": "arn:aws:iam::1:root"}}, False),
    (
        "all but one principal",
        {key: value for key, value in TLS.items() if key != "Principal"} | {"NotPrincipal": {"AWS": "1"}},
        False,
    ),
    (
        "narrowed to a network",
        TLS | {"Condition": TLS["Condition"] | {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}},
        False,
    ),
    ("requests with TLS", TLS | {"Condition": {"Bool": {"aws:SecureTransport": "true"}}}, False),
    ("without a condition", {key: value for key, value in TLS.items() if key != "Condition"}, False),
    ("allowed instead", TLS | {"Effect": "Allow"}, False),
]
SECRETS: list[tuple[str, bool]] = [
    ("PASSWORD=correct-horse-battery", True),
    ("export DB_PASSWD='s3cr3t-value'", True),
    ("DATABASE_URL=postgres://app:hidden-word@db/ledger", True),
    ("-----BEGIN RSA " + "PRIVATE KEY-----", True),
    ("PASSWORD=$(aws secretsmanager get-secret-value)", False),
    ("PASSWORD=${DB_PASSWORD}", False),
    ('{"password": "correct-horse"}', True),
    ("password: correct-horse", True),
    ("SECRET_ARN=arn:aws:secretsmanager:r:1:secret:x", False),
    ("STAGE=production", False),
    ("https://example.com:443/path@2x.png", False),
]


def check_policies_and_secrets(check: Check) -> None:
    """What is too broad, what turns plain HTTP away, and what is a secret."""
    with scripts_of("aws-security") as script:
        identity, bucket, secrets = script("identity_policy"), script("bucket_policy"), script("secret_patterns")
        for name, parts, wanted in GRANTS:
            found = identity.broad_grants({"Statement": [{"Effect": "Allow"} | part for part in parts]})
            check.that(f"grants: {name}", found == wanted, str(found))
        for name, statement, turned_away in PLAIN:
            document = json.dumps({"Statement": [statement]})
            check.that(f"plain HTTP: {name}", bucket.denies_plain_http(document) == turned_away)
        for text, is_secret in SECRETS:
            check.that(f"secret: {text}", bool(secrets.secrets_in(text)) == is_secret, str(secrets.secrets_in(text)))


class Keys:
    """KMS, which refuses one setting of a key and has lost another key."""

    def describe_key(self, KeyId: str) -> Json:  # noqa: N803, as the SDK names it
        if KeyId == "gone":
            raise refused("NotFoundException", "DescribeKey")
        state = {"KeyManager": "CUSTOMER", "KeyState": "Enabled", "Origin": "AWS_KMS"}
        return {"KeyMetadata": {"KeyId": KeyId, "Arn": f"arn:{KeyId}"} | state}

    def get_key_rotation_status(self, KeyId: str) -> Json:  # noqa: N803, as the SDK names it
        if KeyId == "shut":
            raise refused("AccessDeniedException", "GetKeyRotationStatus")
        return {"KeyRotationEnabled": False}

    def get_key_policy(self, **_: Any) -> Json:
        return {"Policy": '{"Statement": []}'}

    def list_resource_tags(self, **_: Any) -> Json:
        return {"Tags": []}


def check_parts(check: Check) -> None:
    """A setting that is denied is null and named, and a resource that is gone is named; the rest is read."""
    account = Account({"kms": Keys()}, {"list_keys": [{"KeyId": name} for name in ("open", "shut", "gone")]})
    with scripts_of("aws-security") as script:
        call = SimpleNamespace(items=lambda _: [])
        found = script("read_key_settings").read_key_settings(call, account)
    seen = [(item["key_id"], item["rotates"], item["open_statements"]) for item in found["keys"]]
    check.that("a denied setting leaves the others", seen == [("open", False, []), ("shut", None, [])], str(seen))
    named = [(item["name"], item["setting"], item["operation"], item["reason"]) for item in found["unreadable"]]
    wanted = [
        ("gone", "every setting", "DescribeKey", "NotFoundException"),
        ("shut", "rotation", "GetKeyRotationStatus", "AccessDeniedException"),
    ]
    check.that("what was left out is named", named == wanted, str(named))
    check.that("an unknown setting is not changed", found["unrotated_keys"] == ["open"])


class Switch:
    """A setting of which one write is refused."""

    service, protected = "x", {"on": True}

    def __init__(self, refused_name: str) -> None:
        self._refused = refused_name
        self.on = {name: False for name in "abc"}

    def read(self, name: str) -> Json:
        return {"on": self.on[name]}

    def write(self, name: str, state: Json) -> str:
        if name == self._refused:
            raise refused("ThrottlingException", "Write")
        self.on[name] = state["on"]
        return "Write"


def check_setting_change_half_done(check: Check) -> None:
    """A change of settings that AWS interrupts is undone."""
    call = SimpleNamespace(dry_run=False, parameters={})
    with scripts_of("aws-security") as script:
        changes, switch = script("setting_changes"), Switch("c")
        try:
            changes.protect(call, Account({}, {}), switch, ["a", "b", "c"])
        except changes.ToolError as error:
            seen = (error.error_type, "nothing was changed" in str(error), switch.on)
            check.that(
                "an interrupted change of settings",
                seen == ("resource_error", True, dict.fromkeys("abc", False)),
                str(seen),
            )
        else:
            check.that("an interrupted change of settings fails", False)


# The tools of each playbook, where its readonly tool names the resources, and the parameter that takes them.
CHANGES: list[tuple[str, str, str, str | None, str | None]] = [
    ("block_bucket_access", "restore_bucket_access", "bucket", "blockable_buckets", "bucket_names"),
    ("encrypt_new_disks", "restore_disk_encryption", "disk", None, None),
    ("rotate_keys", "restore_key_rotation", "key", "unrotated_keys", "key_ids"),
    ("validate_trail_logs", "restore_log_validation", "trail", "unvalidated_trails", "trail_names"),
]


def check_setting_playbooks(check: Check, package: Package) -> None:
    """Each change and its undo, each twice, end where they began; a dry run changes nothing."""
    scope = {"region": REGION, "profile": ""}
    for do, undo, review, key, parameter in CHANGES:
        read = f"aws.read_{review}_settings"
        before = package.result(check, read, scope)
        names = before[key] if key else [REGION]
        given = scope | ({parameter: names} if parameter else {})
        check.that(f"{do} has something to change", bool(names))
        dry = package.result(check, f"aws.{do}", given | {"dry_run": True})
        check.that(f"{do}: a dry run does nothing", dry["planned"] == names and not dry["api_calls_made"], str(dry))
        done = package.result(check, f"aws.{do}", given)
        check.that(f"{do} changes all", [item["name"] for item in done["changed"]] == names, str(done))
        again = package.result(check, f"aws.{do}", given)
        check.that(f"{do} twice changes nothing", again["unchanged"] == names and not again["changed"])
        after = package.result(check, read, scope)
        check.that(f"{do} leaves nothing", not after[key] if key else after["encrypted_by_default"] is True)
        back = scope | {"changes": done["changed"]}
        restored = package.result(check, f"aws.{undo}", back)
        check.that(f"{undo} restores all", restored["setting_after"] == done["setting_before"], str(restored))
        twice = package.result(check, f"aws.{undo}", back)
        check.that(f"{undo} twice changes nothing", not twice["changed"] and not twice["api_calls_made"])
        check.that(f"{undo} ends where it began", package.result(check, read, scope) == before)
        evidence = package.playbooks[f"security.{do}"]["evidence_requirements"]
        check.that(f"{do}: the evidence asked for is there", set(evidence) <= set(done))
    wrong = package.run("aws.restore_key_rotation", scope | {"changes": [{"name": "k", "previous": {"on": False}}]})
    check.that("a previous state of another kind is refused", '"input_error"' in wrong.stderr, wrong.stderr)


def named(finding: Json) -> str:
    """A finding's resource, by its name."""
    return str(finding["resource_name"]).removeprefix("alias/")


def check_posture(check: Check, package: Package) -> None:
    """Every rule names the bad resources of the account, and none names a sound one."""
    fired: set[str] = {rule_id for _, rule_id, _, wanted in BY_TABLE if wanted}
    for review in REVIEWS:
        skill = f"security.review_{review}_settings"
        found = skill_findings(check, package, skill, region=REGION)
        found += skill_findings(check, package, skill, region=OTHER_REGION)
        fired |= {item["rule_id"] for item in found}
        rules = {rule["rule_id"] for rule in package.skills[skill]["analysis"]["findings"]}
        silent = {rule for rule in rules - fired if not rule.endswith("_not_readable")}
        check.that(f"every rule on {review} settings finds something", not silent, str(silent))
        for rule_id, wanted in FOUND[review].items():
            seen = {named(item) for item in found if item["rule_id"] == rule_id and named(item).startswith("posture")}
            check.that(f"{rule_id} names what it should", seen == set(wanted), str(sorted(seen)))
        strays = {(item["rule_id"], named(item)) for item in found if named(item) in SOUND} - EXCEPTIONS
        check.that(f"sound resources have sound {review} settings", not strays, str(strays))


SOUND = {"posture-safe", "posture-sound", "posture-encrypted", "posture-cluster", "posture-audit", "posture-data"}
# Settings that the simulator cannot hold, or has by itself.
EXCEPTIONS = {
    ("bucket_without_mfa_delete", "posture-safe"),
    ("trail_bucket_without_mfa_delete", "posture-audit"),
    ("trail_without_log_group", "posture-audit"),
    ("cluster_in_one_zone", "posture-cluster"),
    ("database_without_enhanced_monitoring", "posture-sound"),
    ("function_without_dead_letter_queue", "posture-sound"),
    ("function_variables_without_own_key", "posture-sound"),
}
# The resources of `posture.py` that each rule names, in both regions.
FOUND: dict[str, dict[str, list[str]]] = {
    "bucket": {
        "bucket_public_access_block_off": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_not_encrypted": [
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_without_kms_key": ["posture-aes"],
        "bucket_accepts_plain_http": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_without_versioning": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_without_mfa_delete": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-safe",
            "posture-suspended",
        ],
        "bucket_without_access_logs": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_with_acls": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_without_lifecycle": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
        "bucket_without_object_lock": [
            "posture-aes",
            "posture-all-but-one",
            "posture-any-address",
            "posture-bare",
            "posture-half-the-world",
            "posture-half-tls",
            "posture-logs",
            "posture-one-account",
            "posture-org-only",
            "posture-suspended",
        ],
    },
    "database": {
        "public_database": ["posture-weak"],
        "database_not_encrypted": ["posture-weak"],
        "cluster_not_encrypted": ["posture-weak-cluster"],
        "database_without_backups": ["posture-weak"],
        "database_without_deletion_protection": ["posture-weak"],
        "cluster_without_deletion_protection": ["posture-weak-cluster"],
        "database_in_one_zone": ["posture-weak"],
        "cluster_in_one_zone": ["posture-cluster", "posture-weak-cluster"],
        "database_without_iam_login": ["posture-weak"],
        "cluster_without_iam_login": ["posture-weak-cluster"],
        "database_without_exported_logs": ["posture-cluster-member", "posture-weak", "posture-weak-cluster-member"],
        "cluster_without_exported_logs": ["posture-weak-cluster"],
        "database_with_proposed_user": ["posture-weak"],
        "cluster_with_proposed_user": ["posture-weak-cluster"],
        "database_without_tag_copies": ["posture-weak"],
        "cluster_without_tag_copies": ["posture-weak-cluster"],
        "database_without_minor_upgrades": ["posture-weak"],
        "database_without_enhanced_monitoring": [
            "posture-cluster-member",
            "posture-sound",
            "posture-weak",
            "posture-weak-cluster-member",
        ],
        "public_database_snapshot": ["posture-public"],
        "database_snapshot_not_encrypted": ["posture-cluster-copy", "posture-public"],
    },
    "disk": {
        "volume_not_encrypted": ["posture-forgotten", "posture-plain"],
        "volume_without_snapshot": ["posture-forgotten"],
        "snapshot_not_encrypted": ["posture-public", "posture-shared"],
        "public_snapshot": ["posture-public"],
    },
    "function": {
        "function_open_to_everyone": ["posture-open"],
        "function_url_without_authentication": ["posture-open"],
        "function_url_any_origin": ["posture-open"],
        "secret_in_variables": ["posture-open"],
        "function_on_retired_runtime": ["posture-open"],
        "function_outside_vpc": ["posture-any-bucket", "posture-bucket", "posture-open"],
        "function_in_one_zone": ["posture-one-zone"],
        "function_without_dead_letter_queue": [
            "posture-any-bucket",
            "posture-bucket",
            "posture-one-zone",
            "posture-open",
            "posture-sound",
        ],
        "function_variables_without_own_key": ["posture-open", "posture-sound"],
        "function_without_tracing": ["posture-any-bucket", "posture-bucket", "posture-one-zone", "posture-open"],
    },
    "identity": {
        "user_without_mfa": ["posture-bob"],
        "user_with_two_keys": ["posture-bob"],
        "policy_attached_to_user": ["posture-bob", "posture-carol", "posture-robot"],
        "administrator_user": ["posture-carol"],
        "administrator_group": ["posture-admins"],
        "administrator_role": ["posture-admin"],
        "role_open_to_everyone": ["posture-anyone"],
        "managed_policy_grants_everything": ["posture-everything", "posture-with-mfa"],
        "inline_policy_grants_everything": ["posture-worker/all"],
        "policy_grants_all_of_cloudtrail": [
            "posture-all-but-iam",
            "posture-everything",
            "posture-trails",
            "posture-with-mfa",
        ],
        "policy_grants_all_of_kms": ["posture-all-but-iam", "posture-everything", "posture-keys", "posture-with-mfa"],
        "policy_assumes_any_role": ["posture-all-but-iam", "posture-everything", "posture-roles", "posture-with-mfa"],
        "expired_certificate": ["posture-old"],
    },
    "instance": {
        "instance_without_imdsv2": ["posture-weak"],
        "secret_in_user_data": ["posture-weak"],
        "instance_with_public_address": ["posture-weak"],
        "instance_without_role": ["posture-weak", "posture-without-metadata"],
        "instance_without_detailed_monitoring": ["posture-weak", "posture-without-metadata"],
        "template_without_imdsv2": ["posture-two-versions", "posture-weak"],
        "template_with_public_address": ["posture-weak"],
        "secret_in_template": ["posture-weak"],
        "public_image": ["posture-public-image"],
    },
    "key": {
        "key_not_rotated": [
            "posture-everywhere",
            "posture-narrowed",
            "posture-open",
            "posture-shared",
            "posture-unrotated",
        ],
        "key_open_to_everyone": ["posture-open"],
        "key_waits_for_deletion": ["posture-waiting"],
        "key_disabled": ["posture-disabled"],
        "multi_region_key": ["posture-everywhere"],
    },
    "trail": {
        "trail_not_logging": ["posture-stopped"],
        "trail_without_validation": ["posture-plain", "posture-stopped"],
        "trail_without_kms_key": ["posture-plain", "posture-stopped"],
        "trail_without_log_group": ["posture-audit", "posture-plain", "posture-stopped"],
        "trail_without_insights": ["posture-plain"],
        "trail_bucket_public": ["posture-stopped"],
        "trail_bucket_without_access_logs": ["posture-plain", "posture-stopped"],
        "trail_bucket_without_mfa_delete": ["posture-audit", "posture-plain", "posture-stopped"],
    },
}
