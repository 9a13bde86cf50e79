"""Checks of package code that no simulator can be brought to exercise.

Tables of bucket policies, and a change of security groups that AWS interrupts.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from botocore.exceptions import ClientError
from bucket_policies import ALLOW, CHANGING, READING, WITHOUT_ACTION
from package_calls import PACKAGES, Check

sys.path.insert(0, str(PACKAGES / "aws-security" / "scripts"))


def check_bucket_policies(check: Check) -> None:
    """Which policies count as public, and which of those let the public change something."""
    bucket_policy = importlib.import_module("bucket_policy")

    def found(statements: Any) -> list[dict[str, Any]]:
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        public: list[dict[str, Any]] = bucket_policy.public_statements(policy)
        return public

    for name, statements, is_public in READING:
        public = found(statements)
        check.that(f"policy: {name}", bool(public) == is_public, str(public))
    for name, statements, changes in CHANGING:
        public = found(statements)
        seen = [item["allows_write"] for item in public]
        check.that(f"policy changes: {name}", seen == [changes], str(public))
    shown = found([ALLOW | {"Effect": "Deny"}, WITHOUT_ACTION | {"NotAction": "s3:DeleteBucket"}])
    wanted = [("#2", ["all but s3:DeleteBucket"])]
    check.that(
        "a public statement is named",
        [(item["statement"], item["actions"]) for item in shown] == wanted,
        str(shown),
    )


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


def check_repeated_lock(check: Check) -> None:
    """A repeated lock reads the rules of its earlier attempts, and of no other call, from a tag."""
    changes = importlib.import_module("group_changes")
    shape = importlib.import_module("ingress_rules").IngressRule
    rules = [shape("sg-1", "tcp", port, port, "0.0.0.0/0") for port in (22, 3389, 9200)]
    revoked = {rules[0].identity, rules[2].identity}
    call, other = changes.Call({}, False, "key"), changes.Call({}, False, "another")
    tag = changes._recorded(call, rules, revoked)
    check.that("a tag of a group fits", len(changes._recorded(call, rules * 166, revoked)) <= 256)
    found = changes._of_earlier_attempts(call, rules, tag)
    check.that("a repeat finds its rules", found == revoked, str(found))
    for name, by, value in (
        ("another call", other, tag),
        ("a group without the tag", call, ""),
        ("a tag of another form", call, "charter"),
        ("a tag with more rules", call, f"{tag}0"),
    ):
        found = changes._of_earlier_attempts(by, rules, value)
        check.that(f"{name} has no earlier rules", not found, str(found))
