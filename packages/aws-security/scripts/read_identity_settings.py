"""aws.read_identity_settings: the root user, passwords, keys, policies and roles of an account."""

from __future__ import annotations

import csv
import io
import json
import time
from datetime import datetime
from typing import Any

from bucket_policy import public_statements
from charter_aws import Aws, Call, JsonObject, ToolError, run, sorted_by, tags_of
from identity_policy import broad_grants, statements
from settings import Settings, days_since

ACCOUNT, USER, ROLE = "aws.account", "aws.iam.user", "aws.iam.role"
POLICY, CERTIFICATE = "aws.iam.policy", "aws.iam.server_certificate"
_ROOT = "<root_account>"
_REPORT_ATTEMPTS = 20
_REPORT_PAUSE_S = 1.0
_ADMINISTRATOR = "AdministratorAccess"
_SUPPORT = "AWSSupportAccess"
_GONE = {"NoSuchEntity"}


def _days(text: str | None) -> int | None:
    """The days since a moment of the credential report; none where it has no moment."""
    try:
        return days_since(datetime.fromisoformat((text or "").replace("Z", "+00:00")))
    except ValueError:
        return None


def _credential_rows(iam: Any) -> dict[str, JsonObject]:
    """The credential report, a row for each user."""
    for _ in range(_REPORT_ATTEMPTS):
        if iam.generate_credential_report().get("State") == "COMPLETE":
            content = iam.get_credential_report()["Content"].decode("utf-8")
            return {row["user"]: row for row in csv.DictReader(io.StringIO(content))}
        time.sleep(_REPORT_PAUSE_S)
    raise ToolError("timeout_error", "AWS did not finish the credential report", retryable=True)


def _keys(row: JsonObject) -> list[JsonObject]:
    found = []
    for number in ("1", "2"):
        if row.get(f"access_key_{number}_active") == "true":
            age = _days(row.get(f"access_key_{number}_last_rotated"))
            used = _days(row.get(f"access_key_{number}_last_used_date"))
            found.append(
                {
                    "number": int(number),
                    "age_days": age,
                    # A key that was never used is unused since it was made.
                    "unused_days": age if used is None else used,
                }
            )
    return found


def _credentials(row: JsonObject | None) -> JsonObject:
    """What the report shows of a user; nulls without a row."""
    if row is None:
        return {"console": None, "mfa": None, "console_unused_days": None, "keys": None}
    used = _days(row.get("password_last_used"))
    changed = _days(row.get("password_last_changed"))
    return {
        "console": row.get("password_enabled") == "true",
        "mfa": row.get("mfa_active") == "true",
        "console_unused_days": changed if used is None else used,
        "keys": _keys(row),
    }


def _root(settings: Settings, aws: Aws, iam: Any, row: JsonObject | None) -> JsonObject:
    summary = (
        settings.read(
            ACCOUNT,
            aws.account_id,
            "account summary",
            lambda: iam.get_account_summary()["SummaryMap"],
        )
        or {}
    )
    keys, mfa = summary.get("AccountAccessKeysPresent"), summary.get("AccountMFAEnabled")
    used = [_days((row or {}).get("password_last_used"))]
    used += [_days((row or {}).get(f"access_key_{key}_last_used_date")) for key in ("1", "2")]
    known = [days for days in used if days is not None]
    return {
        "has_keys": None if keys is None else bool(keys),
        "mfa": None if mfa is None else bool(mfa),
        "unused_days": min(known) if known else None,
    }


def _password_policy(iam: Any) -> JsonObject:
    found = iam.get_account_password_policy()["PasswordPolicy"]
    return {
        "minimum_length": int(found.get("MinimumPasswordLength") or 6),
        "lowercase": bool(found.get("RequireLowercaseCharacters")),
        "uppercase": bool(found.get("RequireUppercaseCharacters")),
        "number": bool(found.get("RequireNumbers")),
        "symbol": bool(found.get("RequireSymbols")),
        "remembered": int(found.get("PasswordReusePrevention") or 0),
        "maximum_age_days": int(found.get("MaxPasswordAge") or 0),
    }


# The password policy of AWS, for an account without one of its own.
_AWS_DEFAULT = {
    "minimum_length": 8,
    "lowercase": False,
    "uppercase": False,
    "number": False,
    "symbol": False,
    "remembered": 0,
    "maximum_age_days": 0,
}


def _details(iam: Any) -> JsonObject:
    """Users, groups, roles and policies with their documents."""
    lists = ("UserDetailList", "GroupDetailList", "RoleDetailList", "Policies")
    found: JsonObject = {name: [] for name in lists}
    for page in iam.get_paginator("get_account_authorization_details").paginate():
        for name in lists:
            found[name] += page.get(name, [])
    return found


def _is_administrator(holder: JsonObject) -> bool:
    """Whether AWS's policy for administrators is attached to a user, group or role."""
    names = {item["PolicyName"] for item in holder.get("AttachedManagedPolicies", [])}
    return _ADMINISTRATOR in names


def _inline_policies(details: JsonObject) -> list[JsonObject]:
    kinds = (
        ("user", "UserDetailList", "UserName", "UserPolicyList"),
        ("group", "GroupDetailList", "GroupName", "GroupPolicyList"),
        ("role", "RoleDetailList", "RoleName", "RolePolicyList"),
    )
    return [
        {
            "owner_kind": kind,
            "owner": holder[key],
            "name": policy["PolicyName"],
            "grants": broad_grants(policy["PolicyDocument"]),
        }
        for kind, folder, key, inline in kinds
        for holder in details[folder]
        for policy in holder.get(inline) or []
    ]


def _managed_policy(policy: JsonObject) -> JsonObject:
    current = next(item for item in policy["PolicyVersionList"] if item["IsDefaultVersion"])
    return {
        "arn": policy["Arn"],
        "name": policy["Arn"].rpartition("/")[2],
        "of_aws": policy["Arn"].startswith("arn:aws:iam::aws:"),
        "attachments": policy["AttachmentCount"],
        "grants": broad_grants(current["Document"]),
    }


def _trusts_everyone(role: JsonObject) -> bool:
    """Whether anyone may assume a role. Identity providers have conditions of their own."""
    trusted = [
        statement
        for statement in statements(role.get("AssumeRolePolicyDocument") or {})
        if not isinstance(statement.get("Principal"), dict)
        or "Federated" not in statement["Principal"]
    ]
    return bool(public_statements(json.dumps({"Statement": trusted})))


def _role(role: JsonObject) -> JsonObject:
    return {
        "name": role["RoleName"],
        "arn": role["Arn"],
        "tags": tags_of(role),
        "of_service": role.get("Path", "/").startswith("/aws-service-role/"),
        "administrator": _is_administrator(role),
        "trusts_everyone": _trusts_everyone(role),
    }


def _user(user: JsonObject, rows: dict[str, JsonObject] | None) -> JsonObject:
    return {
        "name": user["UserName"],
        "arn": user["Arn"],
        "tags": tags_of(user),
        "administrator": _is_administrator(user),
        "attached_policies": sorted(
            item["PolicyName"] for item in user.get("AttachedManagedPolicies", [])
        ),
        "inline_policies": sorted(item["PolicyName"] for item in user.get("UserPolicyList") or []),
    } | _credentials(None if rows is None else rows.get(user["UserName"]))


def read_identity_settings(_call: Call, aws: Aws) -> JsonObject:
    """Everything that IAM decides for the whole account."""
    settings, iam = Settings(aws, _GONE), aws.client("iam")

    def of_account(setting: str, reading: Any, **absent: Any) -> Any:
        return settings.read(ACCOUNT, aws.account_id, setting, reading, **absent)

    # A missing report is a part like any other: keys and passwords stay unknown.
    rows = of_account("credential report", lambda: _credential_rows(iam))
    details = of_account("users, groups, roles and policies", lambda: _details(iam))
    details = details or {
        "UserDetailList": [],
        "GroupDetailList": [],
        "RoleDetailList": [],
        "Policies": [],
    }
    certificates = settings.pages(
        ACCOUNT, "iam", "list_server_certificates", "ServerCertificateMetadataList"
    )
    roles = details["RoleDetailList"]
    supporters = [
        role["RoleName"]
        for role in roles
        if any(item["PolicyName"] == _SUPPORT for item in role.get("AttachedManagedPolicies", []))
    ]
    in_use = [policy for policy in details["Policies"] if policy.get("AttachmentCount")]
    policies = settings.each(POLICY, in_use, "Arn", _managed_policy)
    return settings.report(
        root=_root(settings, aws, iam, None if rows is None else rows.get(_ROOT)),
        password_policy=of_account(
            "password policy",
            lambda: _password_policy(iam),
            absent=_GONE,
            default=_AWS_DEFAULT,
        ),
        users=sorted_by(
            settings.each(
                USER, details["UserDetailList"], "UserName", lambda item: _user(item, rows)
            ),
            "name",
        ),
        administrator_groups=sorted(
            group["GroupName"] for group in details["GroupDetailList"] if _is_administrator(group)
        ),
        roles=sorted_by(settings.each(ROLE, roles, "RoleName", _role), "name"),
        roles_known=bool(roles),
        support_roles=sorted(supporters),
        policies=sorted_by(policies, "arn"),
        inline_policies=sorted_by(_inline_policies(details), "owner_kind", "owner", "name"),
        certificates=[
            {
                "name": item["ServerCertificateName"],
                "arn": item["Arn"],
                "expired": (days_since(item.get("Expiration")) or -1) >= 0,
            }
            for item in sorted_by(certificates, "ServerCertificateName")
        ],
    )


if __name__ == "__main__":
    run(read_identity_settings)
