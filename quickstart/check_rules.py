"""Checks of package code that no simulator can be brought to exercise.

Tables of bucket policies, and a change of security groups that AWS interrupts.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from botocore.exceptions import ClientError
from package_calls import PACKAGES, Check

sys.path.insert(0, str(PACKAGES / "aws-security" / "scripts"))

_ALLOW = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}


def _narrowed(operator: str, key: str, value: Any) -> dict[str, Any]:
    return _ALLOW | {"Condition": {operator: {key: value}}}


# A statement, whether it is public, and whether it lets the public write.
POLICIES: list[tuple[str, dict[str, Any], bool, bool]] = [
    ("everyone reads", _ALLOW, True, False),
    ("everyone by AWS star", _ALLOW | {"Principal": {"AWS": ["*"]}}, True, False),
    ("everyone writes", _ALLOW | {"Action": ["s3:PutObject"]}, True, True),
    ("every action", _ALLOW | {"Action": "*"}, True, True),
    ("a wildcard that holds a write", _ALLOW | {"Action": "s3:Put*"}, True, True),
    ("an account", _ALLOW | {"Principal": {"AWS": "arn:aws:iam::111122223333:root"}}, False, False),
    ("a service", _ALLOW | {"Principal": {"Service": "cloudtrail.amazonaws.com"}}, False, False),
    ("a denial", _ALLOW | {"Effect": "Deny"}, False, False),
    ("one organisation", _narrowed("StringEquals", "aws:PrincipalOrgID", "o-abc"), False, False),
    ("one address range", _narrowed("IpAddress", "aws:SourceIp", ["203.0.113.0/24"]), False, False),
    ("every address", _narrowed("IpAddress", "aws:SourceIp", "0.0.0.0/0"), True, False),
    ("all but one range", _narrowed("NotIpAddress", "aws:SourceIp", "10.0.0.0/8"), True, False),
    ("any organisation", _narrowed("StringLike", "aws:PrincipalOrgID", "o-*"), True, False),
    ("a key that narrows nothing", _narrowed("Bool", "aws:SecureTransport", "true"), True, False),
    ("only if present", _narrowed("StringEqualsIfExists", "aws:SourceVpc", "vpc-1"), True, False),
]


def check_bucket_policies(check: Check) -> None:
    """Which policies count as public."""
    bucket_policy = importlib.import_module("bucket_policy")
    for name, statement, public, writes in POLICIES:
        found = bucket_policy.public_statements(json.dumps({"Statement": statement}))
        check.that(f"policy: {name}", bool(found) == public, str(found))
        check.that(f"policy writes: {name}", any(s["allows_write"] for s in found) == writes)


class _Interrupted:
    """Group changes of which one is refused."""

    def __init__(self, refused: str, undo_works: object = True) -> None:
        self.refused, self.undo_works = refused, undo_works
        self.in_force = {"sg-1", "sg-2", "sg-3"}

    @staticmethod
    def _error(operation: str) -> ClientError:
        return ClientError(
            {"Error": {"Code": "RequestLimitExceeded", "Message": "busy"}}, operation
        )

    def revoke(self, rule: Any) -> bool:
        if rule.group_id == self.refused:
            raise self._error("RevokeSecurityGroupIngress")
        self.in_force.discard(rule.group_id)
        return True

    def authorize(self, rule: Any) -> bool:
        if not self.undo_works:
            raise self._error("AuthorizeSecurityGroupIngress")
        self.in_force.add(rule.group_id)
        return True


def check_change_half_done(check: Check) -> None:
    """A change that AWS interrupts is undone, or says what could not be."""
    changes = importlib.import_module("group_changes")
    shape = importlib.import_module("ingress_rules").IngressRule
    rules = [shape(f"sg-{number}", "tcp", 22, 22, "0.0.0.0/0") for number in (1, 2, 3)]
    cases = [(True, "resource_error", True, {"sg-1", "sg-2", "sg-3"}, "nothing was changed")]
    cases += [(False, "execution_error", False, {"sg-3"}, "not undone: sg-2 tcp 0.0.0.0/0; sg-1")]
    for undo_works, error_type, retryable, in_force, says in cases:
        groups = _Interrupted("sg-3", undo_works)
        try:
            changes.apply_all(groups, rules, _Interrupted.revoke, _Interrupted.authorize)
        except changes.ToolError as error:
            seen = (error.error_type, error.retryable, groups.in_force)
            check.that(
                "an interrupted change", seen == (error_type, retryable, in_force), str(seen)
            )
            check.that("an interrupted change says so", says in str(error), str(error))
        else:
            check.that("an interrupted change fails", False)
